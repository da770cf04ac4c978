"""From findings to an answer to read: extractive without a model, in a model's words with one.

Every sentence carries the marks of its citations, and `Synthesis.citations` is what they stand for. Without a model
nothing is said that a finding does not say, within `max_chars`. With one, all findings that hold are shown in the order
in which they were found, as far as the model's window goes; it answers in sentences (a small one) or in paragraphs,
lists, tables and code, each with its sources. What cites nothing is dropped, and if nothing is left the extractive
answer stands.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from recollect.domain.context import quoted
from recollect.domain.findings import Citation, CitationStatus, Finding
from recollect.errors import ModelError
from recollect.providers.models.contract import AtMost
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.runs.fences import fence, new_boundary, preface, read_prompt

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel, Profile

#: Of an answer without a model: a longer one is a listing.
MAX_CHARS = 4_000
#: A long memory is whole in a cell; a page is not.
_CELL_CHARS = 400
#: Things that a comparison says of one group.
_PER_GROUP = 3
#: How blocks of Markdown end that are no paragraph.
_BLOCK_ENDS = ("|", "```", "~~~")
#: From so many marks in a row on only the first and the last are written.
LONG_RUN = 6
#: Ends of a run after which a model is not asked for an answer: it failed, its budget is used up, or nobody waits.
NO_MORE_QUESTIONS = frozenset({"planner", "tokens", "usd", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """An answer, and the citations its marks stand for (the first is [1]).

    `left_out` findings did not fit, and `dropped` sentences or blocks of a model rested on nothing.
    """

    text: str
    citations: tuple[Citation, ...]
    left_out: int = 0
    dropped: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about it."""
        notes = []
        if self.left_out:
            notes.append(f"{self.left_out} findings did not fit into the answer")
        if self.dropped:
            notes.append(f"{self.dropped} passages of the model's answer rested on nothing and were dropped")
        return tuple(notes)


def synthesise(findings: Sequence[Finding], *, max_chars: int = MAX_CHARS) -> Synthesis:
    """Findings under their groups, the surest first, each text once; what doesn't fit is counted, not cut."""
    marks = Marks()
    lines: list[str] = []
    used = 0
    left_out = 0
    grouped = groups(findings)
    several = len(grouped) > 1 or None not in grouped
    for group, members in grouped.items():
        heading = f"{group or 'Other'}:" if several else None
        for finding in members:
            tried = marks.copy()
            line = f"- {_one_line(_words(finding))}{tried.of(finding.citations)}"
            cost = len(line) + 1 + (len(heading) + 1 if heading else 0)
            if used + cost > max_chars:
                left_out += 1
                continue
            if heading:
                lines.append(heading)
                heading = None
            marks = tried
            lines.append(line)
            used += cost
    return Synthesis(text="\n".join(lines), citations=marks.citations, left_out=left_out)


def compare(findings: Sequence[Finding], *, max_chars: int = MAX_CHARS) -> Synthesis:
    """The groups side by side, as a Markdown table: one row each, with the surest things found for it."""
    marks = Marks()
    lines = ["| group | found |", "|---|---|"]
    used = sum(len(line) + 1 for line in lines)
    left_out = 0
    for group, members in groups(findings).items():
        tried = marks.copy()
        cells = [f"{_cell(_words(member))}{tried.of(member.citations)}" for member in members[:_PER_GROUP]]
        row = f"| {_cell(group or 'other')} | {'<br>'.join(cells)} |"
        left_out += len(members) - len(cells)
        if used + len(row) + 1 > max_chars:
            left_out += len(cells)
            continue
        marks = tried
        lines.append(row)
        used += len(row) + 1
    return Synthesis(
        text="\n".join(lines) if len(lines) > 2 and max_chars > 0 else "",
        citations=marks.citations,
        left_out=left_out,
    )


def groups(findings: Sequence[Finding]) -> dict[str | None, list[Finding]]:
    """Findings by group: the group with the surest finding first, and in it the surest first; each text once."""
    by_group: dict[str | None, list[Finding]] = {}
    seen: set[tuple[str | None, str]] = set()
    for finding in sorted(findings, key=lambda finding: -finding.confidence):
        same = (finding.group, " ".join(_words(finding).split()).casefold())
        if same not in seen and same[1]:
            seen.add(same)
            by_group.setdefault(finding.group, []).append(finding)
    return by_group


class Marks:
    """Numbers for citations, in the order in which they are first used; `numbers` are given already."""

    def __init__(self, numbers: dict[Citation, int] | None = None) -> None:
        self._numbers = numbers or {}

    def copy(self) -> Marks:
        """To try a line that may not fit."""
        return Marks(dict(self._numbers))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the numbers stand for."""
        return tuple(self._numbers)

    def of(self, citations: Sequence[Citation]) -> str:
        """` [1][2]`, with a word for those that don't hold; a long run of them by its ends, ` [1]-[40]`."""
        marks: list[tuple[int, str]] = []
        for citation in citations:
            number = self._numbers.setdefault(citation, len(self._numbers) + 1)
            doubt = citation.status in {CitationStatus.STALE, CitationStatus.UNSUPPORTED}
            marks.append((number, f", {citation.status.value}" if doubt else ""))
        if not marks:
            return ""
        if len(marks) > LONG_RUN:
            return f" {''.join(_runs(sorted(set(marks))))}"
        return f" {''.join(f'[{number}{doubt}]' for number, doubt in marks)}"

    def behind(self, text: str, citations: Sequence[Citation]) -> str:
        """A passage with its marks at the end; behind a table or a piece of code they are a paragraph."""
        marks = self.of(citations)
        return f"{text}\n\n{marks.strip()}" if text.endswith(_BLOCK_ENDS) and marks else f"{text}{marks}"


def _runs(marks: Sequence[tuple[int, str]]) -> Iterator[str]:
    place = 0
    while place < len(marks):
        end = place
        while end + 1 < len(marks) and marks[end + 1] == (marks[end][0] + 1, "") and not marks[end][1]:
            end += 1
        if end - place >= LONG_RUN:
            yield f"[{marks[place][0]}]-[{marks[end][0]}]"
        else:
            yield "".join(f"[{number}{doubt}]" for number, doubt in marks[place : end + 1])
        place = end + 1


def _words(finding: Finding) -> str:
    return finding.description or finding.evidence


def _one_line(text: str) -> str:
    return " ".join(quoted(text).split())


def _cell(text: str) -> str:
    line = _one_line(text).replace("|", "\\|")
    return line if len(line) <= _CELL_CHARS else f"{line[: _CELL_CHARS - 1]}…"


# ------------------------------------------------------------ with a model


@dataclass(frozen=True, slots=True)
class ModelSentence:
    """One sentence, and the numbers of the findings it rests on."""

    text: Annotated[str, AtMost(300)]
    sources: Annotated[list[int], AtMost(8)]


@dataclass(frozen=True, slots=True)
class ModelSynthesis:
    """What a small model is asked for: it would lose itself in anything longer."""

    sentences: Annotated[list[ModelSentence], AtMost(12)] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelBlock:
    """A paragraph, list, table or piece of code in Markdown, and the numbers of the findings it rests on."""

    text: str
    sources: list[int]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What any other model is asked for."""

    blocks: list[ModelBlock]


_SENTENCES = {
    "length": "Write at most eight sentences, in the language of the question.",
    "advice": "Give no advice.",
    "sources": "Each sentence lists the numbers of the findings it rests on, and every part of it is in one of those.",
}
_BLOCKS = {
    "length": (
        "Answer in the language of the question, as long as the question needs and no longer. The answer is made of\n"
        "blocks of Markdown: a paragraph, a list, a table or a piece of code each. Use a table to compare, a list to\n"
        "enumerate; when all of something is asked for, give all that was found. Begin with the answer itself."
    ),
    "advice": "Where advice is asked for, give it, and say on which findings it rests.",
    "sources": (
        "Each block lists in `sources` the numbers of the findings it rests on, and every part of it is in one of\n"
        "  those. Inside the text put the number of a finding in square brackets behind what it proves: [3]."
    ),
}
_MARK = re.compile(r"(?<![\w\])])\[(\d+(?:\s*,\s*\d+)*)\]")


def instructions(profile: Profile, guidance: str = "") -> str:
    """What the model is told; `guidance` is what whoever asked wants beside that."""
    prompt = read_prompt(__package__, "synthesise.md")
    for name, text in (_SENTENCES if profile.shape == "small" else _BLOCKS).items():
        prompt = prompt.replace(f"{{{name}}}", text)
    return f"{prompt}\n{guidance}".strip()


async def put_into_words(
    model: ChatModel | None,
    question: str,
    findings: Sequence[Finding],
    *,
    guidance: str = "",
    seconds: float | None = None,
) -> tuple[Synthesis | None, tuple[str, ...]]:
    """A model's answer, and what a reader should know; None without one, when it fails, or when its time is over."""
    if model is None or not findings or (seconds is not None and seconds <= 0):
        return None, ()
    try:
        async with asyncio.timeout(seconds):
            made = await synthesise_with_model(model, question, findings, guidance=guidance)
    except (ModelError, TimeoutError) as error:
        why = str(error) if isinstance(error, ModelError) else "its time was over"
        return None, (f"the model did not put the findings into words ({why}); they are listed as they are",)
    return made if made.text else None, made.notes


async def synthesise_with_model(
    model: ChatModel, query: str, findings: Sequence[Finding], *, guidance: str = ""
) -> Synthesis:
    """An answer in the model's words, each part with its citations. Raises a `ModelError` when it gave none."""
    profile = model.profile
    prompt = instructions(profile, guidance)
    listed, text = _request(query, findings, profile, prompt)
    if not listed:
        return synthesise(findings)
    small = profile.shape == "small"
    form: Any = ModelSynthesis if small else ModelAnswer
    answer = await model.answer(prompt, text, form, max_tokens=profile.answer_tokens)
    marks = Marks()
    parts: list[str] = []
    dropped = 0
    for part in answer.value.sentences if small else answer.value.blocks:
        words = _one_line(part.text) if small else part.text.strip()
        named = (
            [int(digits) for mark in _MARK.findall(words) for digits in mark.split(",")] if not small else []
        )
        known = {
            number: listed[number - 1].citations
            for number in dict.fromkeys([*part.sources, *named])
            if 1 <= number <= len(listed)
        }
        if not words or not part.sources or not all(number in known for number in part.sources):
            dropped += bool(words)
            continue
        parts.append(_marked(words, known, marks))
    if not parts:
        return replace(synthesise(findings), dropped=dropped)
    holding = sum(finding.confidence > 0 for finding in findings)
    return Synthesis(
        text=("\n" if small else "\n\n").join(parts),
        citations=marks.citations,
        left_out=max(holding - len(listed), 0),
        dropped=dropped,
    )


def _marked(words: str, known: dict[int, tuple[Citation, ...]], marks: Marks) -> str:
    """A passage with the marks of its citations: where the model put numbers, else at its end."""
    placed = False

    def mark(match: re.Match[str]) -> str:
        nonlocal placed
        numbers = [int(digits) for digits in match[1].split(",")]
        if not all(number in known for number in numbers):
            return match[0]
        placed = True
        return marks.of([citation for number in numbers for citation in known[number]]).strip()

    text = _MARK.sub(mark, words)
    if placed:
        return text
    return marks.behind(words, [citation for cited in known.values() for citation in cited])


def _request(
    query: str, findings: Sequence[Finding], profile: Profile, prompt: str
) -> tuple[list[Finding], str]:
    """The findings that one request shows, each once and in their order, and its text."""
    boundary = new_boundary()
    question = fence("question", first_tokens(query, max(profile.part_tokens // 4, 64)), boundary)
    room = profile.input_tokens(profile.output_tokens(profile.answer_tokens))
    room -= count_tokens(prompt) + count_tokens(question) + 200
    most_chars = {"small": 600, "medium": 1_500, "large": 6_000}[profile.shape]
    shown: list[Finding] = []
    lines: list[str] = []
    seen: set[tuple[str | None, str]] = set()
    for finding in findings:
        same = (finding.group, _one_line(f"{_words(finding)} {finding.evidence}").casefold())
        if finding.confidence <= 0 or same in seen or not same[1]:
            continue
        seen.add(same)
        line = f"[{len(shown) + 1}] {_listed(finding, most_chars)}"
        room -= count_tokens(line) + 1
        if room < 0 or len(shown) >= profile.findings:
            break
        shown.append(finding)
        lines.append(line)
    listed = fence("findings", "\n".join(lines), boundary)
    return shown, f"{preface(boundary)}\n\n{question}\n\n{listed}"


def _listed(finding: Finding, most_chars: int) -> str:
    """A finding in a line, its words as they stand: a model that is shown code may have to repeat it."""
    group, words, evidence = (
        " ".join(text.split()) for text in (finding.group or "", _words(finding), finding.evidence)
    )
    about = f"({group}) " if group else ""
    return f"{about}{words}{f' | {evidence}' if evidence not in ('', words) else ''}"[:most_chars]
