"""When to consult and when to explore: the triggers of recipes and presets, held against a task.

Each trigger is a sentence in the recipe's or preset's own file; here stands, in the same order, what it is seen by: the
words of the task (English), the documents of the library that it names, files, failures, the size of the code. Nothing
is asked and nothing is read but the names of documents, so it is cheap enough to ask before every step.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING

from recollect.codebase.triggers import failed_often, files_in, large_context, several_files, tree_tokens
from recollect.domain.oracle import MAX_PROBLEM_CHARS, Advice
from recollect.domain.text import check_text, check_whole
from recollect.errors import InvalidInputError
from recollect.library import shelf
from recollect.runs.roles import PRESETS, get_role
from recollect.text.sentences import split_sentences

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

#: Parts of a document's name that say what it is, not what it is about.
_KINDS = frozenset(
    "doc docs documentation guide manual reference handbook notes readme api the and for md txt pdf html".split()
)
_WORD = re.compile(r"[a-z0-9]+")
_TRACE = re.compile(
    r"Traceback \(most recent call last\)|^\s+(?:at .+\(|File \".+\", line \d+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is known of a task: its words, the documents it and the project's notes name, and how it has gone."""

    text: str
    notes: str = ""
    documents: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tokens: int = 0
    fail_count: int = 0


#: What a trigger is seen by: a reason in words, or nothing.
Sign = Callable[[Task], str]


def _words(pattern: str) -> Sign:
    form = re.compile(pattern, re.IGNORECASE | re.VERBOSE)

    def sign(task: Task) -> str:
        match = form.search(task.text)
        return f"it says {match[0]!r}" if match else ""

    return sign


def _named(task: Task) -> str:
    return f"the library has {', '.join(task.documents[:5])}" if task.documents else ""


def _only_noted(task: Task) -> str:
    """Documents that the notes name in one sentence alone: that is no explanation."""
    sentences = [set(_WORD.findall(sentence.casefold())) for sentence in split_sentences(task.notes)]
    bare = [
        document for document in task.noted if sum(_subject(document) <= words for words in sentences) < 2
    ]
    return f"the notes only name {', '.join(bare[:5])}" if bare else ""


def _touched(task: Task) -> str:
    return f"it changes {', '.join(task.files[:3])}; {_named(task)}" if task.files and task.documents else ""


def _traced(task: Task) -> str:
    return "it holds a stack trace" if _TRACE.search(task.text) else ""


#: For each recipe and preset, the signs of its triggers in the order of its file.
SIGNS: dict[str, tuple[Sign, Sign, Sign]] = {
    "architect": (
        _named,
        _only_noted,
        _words(r"\b(?:design|interface|api|schema|endpoint|structure|architect\w*|decide)\b"),
    ),
    "reviewer": (
        _words(
            r"\b(?:not\ sure|unsure|uncertain|idiomatic|anti-?pattern"
            r"|is\ (?:this|it|that)\b.{0,60}\b(?:correct|right|ok|okay|safe))\b"
        ),
        _touched,
        _words(
            r"\b(?:best\ practices?|recommended|guidelines?|according\ to|docs?\ says?|documentation\ says?)\b"
        ),
    ),
    "spec builder": (
        _words(r"\b(?:(?:white\ ?)?papers?|arxiv|research)\b"),
        _words(r"\b(?:rfc(?:\ ?\d+)?|standards?|iso\ ?\d+|w3c|ietf|specifications?)\b"),
        _words(r"\b(?:compare\w*|comparison|competitors?|alternatives?|versus|vs)\b"),
    ),
    "repo mapper": (
        lambda task: large_context(task.tokens),
        _words(r"\b(?:first\ time|new\ to|unfamiliar|onboard\w*|overview|get\ to\ know)\b"),
        _words(r"\b(?:plan|roadmap|estimate|where\ to\ (?:start|begin))\b"),
    ),
    "architecture surveyor": (
        lambda task: several_files(task.text, task.files),
        _words(r"\b(?:depend\w*|impact|affect\w*|touch(?:es|ed)?|break)\b"),
        _words(r"\b(?:layers?|layering|violations?|circular|cycles?)\b"),
    ),
    "debugger": (
        lambda task: failed_often(task.fail_count),
        _traced,
        _words(r"\b(?:came\ back|comes\ back|still\ fails?|fails?\ again|again|regress\w*|recurr\w*)\b"),
    ),
    "validation": (
        _words(r"\b(?:integration|end-to-end|e2e)\ tests?\b"),
        _words(r"\b(?:which|what)\ tests?\b"),
        _words(r"\btests?\b.{0,60}\b(?:fail\w*|broke\w*|red|flaky)\b"),
    ),
}


async def advise(
    workspace: Workspace,
    context: TenantContext,
    text: str,
    *,
    agent: str | None = None,
    path: str | PathLike[str] | None = None,
    notes: str = "",
    files: Sequence[str] = (),
    fail_count: int = 0,
) -> list[Advice]:
    """The recipes and presets whose triggers hold for a task, those with the most first; of one `agent`, or of all."""
    if agent is not None and agent not in SIGNS:
        raise InvalidInputError(f"there is no recipe or preset {agent!r}; there are {', '.join(SIGNS)}")
    check_whole("fail_count", fail_count, least=0)
    checked = check_text(text, what="task", limit=MAX_PROBLEM_CHARS)
    async with workspace.store.transaction(context) as tx:
        names = [document.name for document in await shelf.list_documents(tx)]
    task = Task(
        text=checked,
        notes=notes,
        documents=_names_in(checked, names),
        noted=_names_in(notes, names),
        files=files_in(checked, files),
        tokens=0 if path is None else await asyncio.to_thread(tree_tokens, path),
        fail_count=fail_count,
    )
    advice = []
    for name in SIGNS if agent is None else (agent,):
        seen = [sign(task) for sign in SIGNS[name]]
        signs = [pair for pair in zip(get_role(name).triggers, seen, strict=True) if pair[1]]
        if signs:
            advice.append(_advice(name, task, signs, path))
    return sorted(advice, key=lambda advised: -len(advised.triggers))


def _advice(
    name: str, task: Task, signs: Sequence[tuple[str, str]], path: str | PathLike[str] | None
) -> Advice:
    triggers, reasons = zip(*signs, strict=True)
    if name in PRESETS:
        more = {} if path is None else {"path": fspath(path)}
        given = {"query": task.text, "preset": name, **more}
        return Advice(verb="explore", agent=name, triggers=triggers, reasons=reasons, arguments=given)
    documents = task.documents or task.noted
    named = {"doc_ids": list(documents)} if documents else {}
    given = get_role(name).ask(task.text, **named)
    return Advice(verb="oracle_consult", agent=name, triggers=triggers, reasons=reasons, arguments=given)


def _names_in(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """The documents whose subject a text names."""
    words = set(_WORD.findall(text.casefold()))
    return tuple(name for name in names if (subject := _subject(name)) and subject <= words)


def _subject(name: str) -> set[str]:
    return {word for word in _WORD.findall(name.casefold()) if word not in _KINDS and not word.isdigit()}
