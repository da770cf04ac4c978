"""From findings to an answer to read: extractive without a model, in a model's words with one.

Every sentence carries the marks of its citations, and `Synthesis.citations` is what they stand for. Without a model
nothing is said that a finding does not say. With one, sentences that cite nothing are dropped, and if none is left
the extractive answer stands. Both are bounded by `max_chars`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated

from recollect.domain.findings import Citation, CitationStatus, Finding
from recollect.domain.quoting import quoted
from recollect.providers import prices
from recollect.providers.models.contract import AtMost
from recollect.providers.prices import cost_usd
from recollect.providers.tokens import count_tokens
from recollect.recursion.fences import fence, new_boundary

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

MAX_CHARS = 4_000
#: Findings one request shows, the surest first.
_SHOWN = 40
_SHOWN_CHARS = 600
_OUTPUT_TOKENS = 800
_CELL_CHARS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """An answer, the citations its marks stand for (the first is [1]), and what making it cost."""

    text: str
    citations: tuple[Citation, ...]
    left_out: int = 0
    tokens: int = 0
    usd: float = 0.0
    model_calls: int = 0


def synthesise(findings: Sequence[Finding], *, max_chars: int = MAX_CHARS) -> Synthesis:
    """Findings under their groups, the surest first, each text once; what doesn't fit is counted, not cut."""
    marks = _Marks()
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


def compare(findings: Sequence[Finding], *, max_chars: int = MAX_CHARS, per_group: int = 3) -> Synthesis:
    """The groups side by side, as a Markdown table: one row each, with the surest things found for it."""
    marks = _Marks()
    lines = ["| group | found |", "|---|---|"]
    used = sum(len(line) + 1 for line in lines)
    left_out = 0
    for group, members in groups(findings).items():
        tried = marks.copy()
        cells = [f"{_cell(_words(one))}{tried.of(one.citations)}" for one in members[:per_group]]
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
    found: dict[str | None, list[Finding]] = {}
    seen: set[tuple[str | None, str]] = set()
    for finding in sorted(findings, key=lambda one: -one.confidence):
        same = (finding.group, " ".join(_words(finding).split()).casefold())
        if same not in seen and same[1]:
            seen.add(same)
            found.setdefault(finding.group, []).append(finding)
    return found


class _Marks:
    """Numbers for citations, in the order in which they are first used."""

    def __init__(self, numbers: dict[Citation, int] | None = None) -> None:
        self._numbers = numbers or {}

    def copy(self) -> _Marks:
        """To try a line that may not fit."""
        return _Marks(dict(self._numbers))

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(self._numbers)

    def of(self, citations: Sequence[Citation]) -> str:
        """` [1][2]`, with a word for those that don't hold."""
        marks = []
        for citation in citations:
            number = self._numbers.setdefault(citation, len(self._numbers) + 1)
            doubt = citation.status in {CitationStatus.STALE, CitationStatus.UNSUPPORTED}
            marks.append(f"[{number}{f', {citation.status.value}' if doubt else ''}]")
        return f" {''.join(marks)}" if marks else ""


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
    """What the model is asked for."""

    sentences: Annotated[list[ModelSentence], AtMost(12)] = field(default_factory=list)


@cache
def instructions() -> str:
    """What the model is told."""
    return resources.files(__package__).joinpath("synthesise.md").read_text(encoding="utf-8")


def worst_cost(model: ChatModel, query: str, findings: Sequence[Finding]) -> tuple[int, float]:
    """The most that putting the findings into words may take, in tokens and dollars."""
    told, asked = _request(query, _shown(findings))
    counted = count_tokens(told) + count_tokens(asked)
    return prices.worst_cost(model.name, counted_tokens=counted, max_output_tokens=_OUTPUT_TOKENS)


def _shown(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for members in groups(findings).values() for finding in members][:_SHOWN]


def _request(query: str, shown: Sequence[Finding]) -> tuple[str, str]:
    """What the model is told, and what it is shown."""
    boundary = new_boundary()
    listed = "\n".join(f"[{number}] {_listed(finding)}" for number, finding in enumerate(shown, 1))
    asked = f"{fence('question', query, boundary)}\n\n{fence('findings', listed, boundary)}"
    return instructions().replace("{boundary}", boundary), asked


async def synthesise_with_model(
    model: ChatModel, query: str, findings: Sequence[Finding], *, max_chars: int = MAX_CHARS
) -> Synthesis:
    """An answer in the model's words, each sentence with its citations. Raises a `ModelError` when it gave none."""
    shown = _shown(findings)
    if not shown:
        return synthesise(findings, max_chars=max_chars)
    answer = await model.answer(*_request(query, shown), ModelSynthesis, max_tokens=_OUTPUT_TOKENS)
    spent = answer.input_tokens + answer.output_tokens
    usd = cost_usd(model.name, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
    marks = _Marks()
    sentences: list[str] = []
    used = 0
    for sentence in answer.value.sentences:
        text = _one_line(sentence.text)
        rests_on = list(dict.fromkeys(sentence.sources))
        if not text or not rests_on or not all(1 <= number <= len(shown) for number in rests_on):
            continue
        cited = [citation for number in rests_on for citation in shown[number - 1].citations]
        tried = marks.copy()
        line = f"{text}{tried.of(cited)}"
        if used + len(line) + 1 > max_chars:
            break
        marks = tried
        sentences.append(line)
        used += len(line) + 1
    if not sentences:
        plain = synthesise(findings, max_chars=max_chars)
        return Synthesis(
            text=plain.text,
            citations=plain.citations,
            left_out=plain.left_out,
            tokens=spent,
            usd=usd,
            model_calls=1,
        )
    return Synthesis(
        text="\n".join(sentences),
        citations=marks.citations,
        left_out=len(findings) - len(shown),
        tokens=spent,
        usd=usd,
        model_calls=1,
    )


def _listed(finding: Finding) -> str:
    about = f"({_one_line(finding.group)}) " if finding.group else ""
    evidence = _one_line(finding.evidence)
    words = _one_line(_words(finding))
    quoted = "" if evidence in {"", words} else f" | {evidence}"
    return f"{about}{words}{quoted}"[:_SHOWN_CHARS]
