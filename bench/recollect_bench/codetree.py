"""A made-up source tree of any size: believable code in seven languages, the same for the same seed.

Modules import each other, functions call those of the modules they import, types have methods, and comments speak of
what the names say. Nothing in it runs; everything in it parses. What is measured on it is `codebase.py`'s business.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOUNS = """
account address archive article asset batch budget buffer calendar campaign carrier catalog channel charge claim
client cluster column comment contract coupon course courier credit currency customer dashboard deadline delivery
deposit device discount document draft employee endpoint engine event exchange expense factor feature feed
filter folder forecast format gateway grant group handler header holiday image index inventory invoice item
journal keyword label layer ledger lesson license limit listing location locker margin market measure member message
meter mirror module mortgage network notice offer order outlet page parcel partner patient payment payroll
permit phase pipeline policy portal position premium price printer profile project promise quota quote rating receipt
record refund region report request reserve resource result retailer review reward role route salary sample schedule
school score segment sensor server session shelf shipment signal site snapshot source statement station stock storage
stream student summary supplier survey tariff task tax teacher template tenant terminal ticket timeline token topic
trade trail transfer trip user vault vendor vehicle venue version visit voucher warehouse warranty weight widget
""".split()
VERBS = """
accept adjust allocate apply approve assign balance build cancel capture charge check classify collect combine
compare compute confirm convert count create decode delete deliver detect dispatch encode estimate evaluate expand
export extract fetch filter find format gather group import inspect load lookup measure merge migrate normalize notify
open parse plan prepare process publish quote rank read rebuild reconcile record reduce refresh register release
render repair replace report reserve resolve restore retry round route sample save scan schedule select send settle
sign sort split start stop store submit summarize track transfer translate update upload validate verify write
""".split()
ADJECTIVES = """
active annual available bulk cached combined current daily default delayed draft expired external final foreign
frozen hidden initial internal late local manual missing monthly nested open partial pending previous primary public
recurring regional remote secure shared signed stale temporary total unpaid urgent valid weekly
""".split()
REASONS = (
    "because {noun}s may arrive out of order",
    "so that a {adjective} {noun} is never counted twice",
    "unless the {noun} was closed by its owner",
    "with the {adjective} {noun} left as it is",
    "when the {noun} has no {other} yet",
    "before the {adjective} {other} is sent",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one language writes the things a made-up file is made of."""

    suffix: str
    share: int
    camel: bool
    head: str
    imports: str
    comment: str
    type_open: str
    type_close: str
    function_open: str
    method_open: str
    close: str
    lines: Sequence[str]
    block_open: Sequence[str]
    block_close: str


DIALECTS = {
    "python": Dialect(
        suffix="py",
        share=34,
        camel=False,
        head='"""{sentence}"""\n',
        imports="from {package}.{module} import {name}",
        comment="# {sentence}",
        type_open='class {type}:\n    """{sentence}"""\n',
        type_close="",
        function_open='def {name}({a}, {b}=None):\n    """{sentence}"""',
        method_open='    def {name}(self, {a}, {b}=0):\n        """{sentence}"""',
        close="return {a}\n",
        lines=(
            "{x} = {call}({a}, {b})",
            "{x} = [{a}.{field} for {a} in {b}]",
            "self_{x} = {a}.{field} + {n}",
            'log.debug("{words} %s", {a})',
            "{b}.{field}.update({x}={n})",
            "{call}({a}.{field})",
        ),
        block_open=("if {a} is not None and {b}:", "for {x} in {call}({b}):", "with {a}.{field}() as {x}:"),
        block_close="",
    ),
    "typescript": Dialect(
        suffix="ts",
        share=16,
        camel=True,
        head="// {sentence}\n",
        imports='import {{ {name} }} from "../{package}/{module}";',
        comment="// {sentence}",
        type_open="/** {sentence} */\nexport class {type} {{\n  private {a}: number = {n};\n",
        type_close="}\n",
        function_open="/** {sentence} */\nexport function {name}({a}: any, {b}?: string): any {{",
        method_open="  /** {sentence} */\n  public {name}({a}: string, {b}: number): any {{",
        close="return {a};\n}}\n",
        lines=(
            "const {x}{n} = {call}({a}, {b});",
            "{a}.{field} = {n} + {b}.length;",
            "items.push({{ {x}: {a}.{field} }});",
            'console.debug("{words}", {a});',
            "await {call}({a}.{field});",
        ),
        block_open=("if ({a} && {b}.{field} > {n}) {{", "for (const {x} of {call}({b})) {{"),
        block_close="}}",
    ),
    "java": Dialect(
        suffix="java",
        share=16,
        camel=True,
        head="package com.example;\n",
        imports="import com.example.{package}.{module}.{type};",
        comment="// {sentence}",
        type_open="/** {sentence} */\npublic class {type} {{\n    private int {a} = {n};\n",
        type_close="}\n",
        function_open="",
        method_open="    /** {sentence} */\n    public Object {name}(Object {a}, int {b}) {{",
        close="return {a};\n    }}\n",
        lines=(
            "Object {x}{n} = {call}({a}, {b});",
            "this.{a} = {b} + {n};",
            'LOG.debug("{words}", {a});',
            "{call}({a}.get{type}(), {n});",
            "total += {b} * {n};",
        ),
        block_open=("if ({a} != null && {b} > {n}) {{", "for (Object {x} : {call}({b}, {n})) {{"),
        block_close="}}",
    ),
    "go": Dialect(
        suffix="go",
        share=12,
        camel=True,
        head="package {package}\n",
        imports='import "example.com/{package}"',
        comment="// {sentence}",
        type_open="// {type} {sentence}\ntype {type} struct {{\n\t{a} int\n\t{b} string\n}}\n",
        type_close="",
        function_open="// {name} {sentence}\nfunc {name}({a} *{type}, {b} string) error {{",
        method_open="// {name} {sentence}\nfunc (s *{type}) {name}({a} int, {b} string) error {{",
        close="return nil\n}}\n",
        lines=(
            "{x}{n} := {call}({a}, {b})",
            "{a}.{field} = {n}",
            'log.Printf("{words} %v", {a})',
            "_ = {call}({x}, {n})",
        ),
        block_open=("if {a}.{field} > {n} {{", "for _, {x} := range {call}({b}) {{"),
        block_close="}}",
    ),
    "c": Dialect(
        suffix="c",
        share=10,
        camel=False,
        head="#include <stdio.h>\n",
        imports='#include "{package}/{module}.h"',
        comment="/* {sentence} */",
        type_open="/* {sentence} */\nstruct {name} {{\n    int {a};\n    char *{b};\n}};\n",
        type_close="",
        function_open="/* {sentence} */\nint {name}(struct {a} *{a}, const char *{b})\n{{",
        method_open="",
        close="return {n};\n}}\n",
        lines=(
            "int {x}{n} = {call}({a}, {b});",
            "{a}->{field} = {n};",
            'fprintf(stderr, "{words} %d\\n", {a}->{field});',
            "{call}({a}->{field}, {n});",
        ),
        block_open=("if ({a} && {a}->{field} > {n}) {{", "while ({call}({b}, {n})) {{"),
        block_close="}}",
    ),
    "rust": Dialect(
        suffix="rs",
        share=6,
        camel=False,
        head="//! {sentence}\n",
        imports="use crate::{package}::{module}::{name};",
        comment="// {sentence}",
        type_open="/// {sentence}\npub struct {type} {{ {a}: u32, {b}: String }}\n\nimpl {type} {{\n",
        type_close="}\n",
        function_open="/// {sentence}\npub fn {name}({a}: &{type}, {b}: u32) -> u32 {{",
        method_open="    /// {sentence}\n    pub fn {name}(&self, {a}: u32, {b}: u32) -> u32 {{",
        close="{n}\n}}\n",
        lines=(
            "let {x}{n} = {call}({a}, {b});",
            "self::{call}(&{a}, {n});",
            'println!("{words} {{}}", {b});',
        ),
        block_open=("if {b} > {n} {{", "for {x} in {call}({a}, {b}) {{"),
        block_close="}}",
    ),
    "ruby": Dialect(
        suffix="rb",
        share=6,
        camel=False,
        head="# {sentence}\n",
        imports='require_relative "../{package}/{module}"',
        comment="# {sentence}",
        type_open="# {sentence}\nclass {type}\n  attr_reader :{a}\n",
        type_close="end\n",
        function_open="# {sentence}\ndef {name}({a}, {b} = nil)",
        method_open="  # {sentence}\n  def {name}({a}, {b} = {n})",
        close="{a}\nend\n",
        lines=(
            "{x} = {call}({a}, {b})",
            "{a}.{field} = {n}",
            'logger.debug("{words}")',
            "{call}({a}.{field})",
        ),
        block_open=("if {a} && {b}", "{call}({b}).each do |{x}|"),
        block_close="end",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeTree:
    """What was written: files, lines, and questions with the path that answers each."""

    files: int
    lines: int
    questions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Module:
    path: str
    package: str
    name: str
    language: str
    functions: tuple[str, ...]
    type: str


def make_tree(root: Path, *, lines: int, seed: int = 7, questions: int = 10) -> MadeTree:
    """Write a tree of at least so many lines below a folder."""
    luck = random.Random(seed)  # noqa: S311 - believable, not secret
    per_file = 260
    # The last function of a file makes it a little longer.
    modules = _modules(luck, max(1, round(lines / per_file * 0.8)))
    by_language: dict[str, list[_Module]] = {}
    for module in modules:
        by_language.setdefault(module.language, []).append(module)
    written = 0
    asked: list[tuple[str, str]] = []
    ask_every = max(1, len(modules) // questions)
    number = 0
    while number < len(modules) or written < lines:
        again = number // len(modules)
        module = modules[number % len(modules)]
        path = module.path if not again else module.path.replace(".", f"_{again}.")
        text, sentence = _file(luck, module, by_language[module.language], per_file)
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written += text.rstrip().count("\n") + 1
        if number % ask_every == ask_every // 2 and len(asked) < questions:
            asked.append((f"Where does {module.functions[0]} {sentence}?", path))
        number += 1
    return MadeTree(files=number, lines=written, questions=tuple(asked))


def _modules(luck: random.Random, count: int) -> list[_Module]:
    languages = list(DIALECTS)
    shares = [DIALECTS[language].share for language in languages]
    packages = [f"{noun}s" for noun in luck.sample(NOUNS, min(len(NOUNS), max(3, count // 25)))]
    modules = []
    for number in range(count):
        language = luck.choices(languages, shares)[0]
        package = packages[number % len(packages)]
        name = f"{luck.choice(ADJECTIVES)}_{luck.choice(NOUNS)}_{number}"
        functions = tuple(
            _spelled(
                [luck.choice(VERBS), luck.choice(ADJECTIVES), luck.choice(NOUNS)], DIALECTS[language].camel
            )
            for _ in range(14)
        )
        kind = "".join(word.capitalize() for word in name.split("_"))
        path = f"{package}/{name}.{DIALECTS[language].suffix}"
        modules.append(_Module(path, package, name, language, functions, kind))
    return modules


def _spelled(words: Sequence[str], camel: bool) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:]) if camel else "_".join(words)


def _file(luck: random.Random, module: _Module, others: Sequence[_Module], per_file: int) -> tuple[str, str]:
    """A file's text, and what its first function does, in words."""
    dialect = DIALECTS[module.language]
    friends = luck.sample(others, min(len(others), 4))
    callable_names = [*module.functions, *(name for friend in friends for name in friend.functions[:3])]
    text = [dialect.head.format(sentence=_sentence(luck), package=module.package)]
    for friend in friends:
        text.append(dialect.imports.format(package=friend.package, module=friend.name, name=friend.functions[0],
                                           type=friend.type))  # fmt: skip
    text.append("")
    first = _sentence(luck)
    height = len(text)
    if dialect.function_open:
        for number, name in enumerate(module.functions[:8]):
            said = first if number == 0 else _sentence(luck)
            block = _function(
                luck, dialect, dialect.function_open, name, module.type, callable_names, said, 1
            )
            text.append(block)
            height += block.count("\n") + 1
    text.append(dialect.type_open.format(**_words(luck, module.type, module.functions[8], first, 0)))
    names = list(module.functions if not dialect.function_open else module.functions[8:])
    turn = 0
    while dialect.method_open and (height < per_file or not turn):
        name = names[turn % len(names)] + ("" if turn < len(names) else str(turn))
        said = first if turn == 0 and not dialect.function_open else _sentence(luck)
        block = _function(luck, dialect, dialect.method_open, name, module.type, callable_names, said, 2)
        text.append(block)
        height += block.count("\n") + 1
        turn += 1
    if dialect.type_close and dialect.method_open:
        text.append(dialect.type_close)
    return "\n".join(text) + "\n", first.lower().rstrip(".")


def _function(
    luck: random.Random,
    dialect: Dialect,
    opening: str,
    name: str,
    type: str,
    callable_names: Sequence[str],
    sentence: str,
    depth: int,
) -> str:
    words = _words(luck, type, name, sentence, luck.randrange(100))
    indent = "    "
    lines = [opening.format(**words)]
    body = indent * depth
    for _ in range(luck.randint(3, 6)):
        lines.append(body + dialect.comment.format(sentence=_sentence(luck)))
        for _ in range(luck.randint(1, 3)):
            lines.append(body + luck.choice(dialect.lines).format(**words, call=luck.choice(callable_names)))
        lines.append(body + luck.choice(dialect.block_open).format(**words, call=luck.choice(callable_names)))
        for _ in range(luck.randint(1, 3)):
            lines.append(
                body + indent + luck.choice(dialect.lines).format(**words, call=luck.choice(callable_names))
            )
        if dialect.block_close:
            lines.append(body + dialect.block_close.format())
    lines.append(body + dialect.close.format(**words))
    return "\n".join(lines)


def _words(luck: random.Random, type: str, name: str, sentence: str, number: int) -> dict[str, str | int]:
    first, second, third = luck.sample(NOUNS, 3)
    return {
        "a": first,
        "b": second,
        "x": f"{luck.choice(ADJECTIVES)}_{third}",
        "field": luck.choice(NOUNS),
        "n": number,
        "name": name,
        "type": type,
        "sentence": sentence,
        "words": f"{luck.choice(VERBS)} {luck.choice(ADJECTIVES)} {third}",
    }


def _sentence(luck: random.Random) -> str:
    verb, adjective, noun = luck.choice(VERBS), luck.choice(ADJECTIVES), luck.choice(NOUNS)
    reason = luck.choice(REASONS).format(
        noun=luck.choice(NOUNS), other=luck.choice(NOUNS), adjective=luck.choice(ADJECTIVES)
    )
    return f"{verb.capitalize()} the {adjective} {noun} {reason}."
