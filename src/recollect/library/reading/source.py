"""Source code: the file as it is, with a section for each definition at its top level.

Cheap on purpose: Python by its own parser, other languages by how a line starts. Symbols, references and grammars are
the business of the codebase environment.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from recollect.domain.library import ReadDocument
from recollect.library.reading.markdown import split_pages
from recollect.library.reading.sections import Heading, make_document

PYTHON_EXTENSIONS = frozenset({"py", "pyi"})
SOURCE_EXTENSIONS = PYTHON_EXTENSIONS | frozenset(
    "js mjs cjs jsx ts tsx go rs java kt kts scala c h cc cpp cxx hpp hh cs rb php swift m mm sh bash zsh fish lua pl"
    " pm r jl ex exs erl hs ml mli clj cljs dart groovy sql vue svelte zig nim css scss less proto tf ps1 bat cmake"
    " gradle dockerfile makefile".split()
)
_DEFINITION = re.compile(
    r"(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|sealed|open|async"
    r"|unsafe|extern|inline|virtual|partial|data|const) ){0,5}"
    r"(?:function\*?|class|interface|enum|struct|trait|impl|union|namespace|module|package|record|object|protocol|type|def"
    r"|defmodule|fn|func|fun|sub|macro_rules!|message|service|resource|(?i:create (?:or replace )?\w+))\b[^=;]{0,200}"
)
#: `int main(int argc, char **argv)`, `static void *grow(...)`: before the parenthesis a return type and a name.
_C_FUNCTION = re.compile(r"[A-Za-z_][\w:<>,*&~]*[ *&][\w:<>,*&~ ]*")
_C_LIKE = frozenset("c h cc cpp cxx hpp hh m mm java cs".split())
_NO_DEFINITION = re.compile(
    r"(?:return|else|if|for|while|switch|case|throw|goto|typedef|using|import|delete|new)\b"
)
_MAX_LINE_CHARS = 500
#: Beyond it Python's own parser takes gigabytes; such a file was made by a program.
_MAX_PARSED_CHARS = 2_000_000


def read_source(text: str, *, title: str, extension: str) -> ReadDocument:
    """A canonical text of code. `title` is the file's name."""
    lines, pages = split_pages(text)
    headings: list[Heading] | None = None
    if extension in PYTHON_EXTENSIONS and len(text) <= _MAX_PARSED_CHARS:
        headings = _python_definitions("\n".join(lines))
    if headings is None:
        headings = _definitions(lines, extension)
    return make_document("code", title, lines, headings, pages=pages)


def _python_definitions(text: str) -> list[Heading] | None:
    """Functions and classes of a module, from their first decorator on; None when it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a text's own questionable escapes are not our warnings
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    headings: list[Heading] = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            word = "class" if isinstance(node, ast.ClassDef) else "def"
            if not headings or line > headings[-1].line:
                headings.append(Heading(line=line, level=1, text=f"{word} {node.name}"))
    return headings


def _definitions(lines: Sequence[str], extension: str) -> list[Heading]:
    headings = []
    for number, line in enumerate(lines, start=1):
        if not line or line[0] in " \t#/*}" or len(line) > _MAX_LINE_CHARS or _NO_DEFINITION.match(line):
            continue
        matched = _DEFINITION.match(line)
        if matched is None and extension in _C_LIKE and not line.rstrip().endswith(";"):
            before, parenthesis, _ = line.partition("(")
            matched = _C_FUNCTION.fullmatch(before) if parenthesis else None
        if matched is not None:
            text = line.split("{")[0].split("(")[0].strip().rstrip(":")
            headings.append(Heading(line=number, level=1, text=text or line.strip()))
    return headings
