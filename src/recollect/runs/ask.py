"""`ask`: a question to memories, documents and code, and one answer in words with citations.

Every source answers by its own means: memories by search, documents by a consultation, code by an exploration. A source
that has no answer is silent; when all are, the answer is that it is not known.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING

from recollect.domain.findings import NOT_KNOWN, Answer, AnswerPart, Citation
from recollect.domain.oracle import DEPTH_HINTS, MAX_PROBLEM_CHARS, DepthHint
from recollect.domain.text import check_text
from recollect.domain.trajectory import AskPlan
from recollect.errors import InvalidInputError
from recollect.providers.models.purse import Purse
from recollect.runs.bounds import NOTHING, Bound
from recollect.runs.budget import ANSWER_TIMEOUT_S
from recollect.runs.source import HEADINGS, Hearer, Question, Source, Told
from recollect.text.aim import read_aim

if TYPE_CHECKING:
    from recollect.config import Settings

MEMORIES, LIBRARY = "memories", "library"
SOURCES = (MEMORIES, LIBRARY)
#: Every source stops by itself in time; this is for saying, and recording, what it has come to.
_LAST_WORDS_S = 5.0
_MARK = re.compile(r"\[(\d+)(?=[\],])")
#: A block of code in Markdown: a [1] in it is no mark.
CODE = re.compile(r"(?ms)^([ \t]*(?:```|~~~).*?^[ \t]*(?:```|~~~)[ \t]*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """A question that was checked."""

    question: str
    sources: tuple[str, ...]
    working_dir: str | None
    depth: DepthHint
    model: str | None

    @classmethod
    def check(
        cls,
        *,
        question: str,
        sources: Sequence[str],
        working_dir: str | PathLike[str] | None,
        depth: str,
        model: str | None,
    ) -> AskRequest:
        """The request, or an error that says what is wrong."""
        names = (sources,) if isinstance(sources, str) else tuple(dict.fromkeys(sources))
        if strange := [name for name in names if name not in SOURCES]:
            raise InvalidInputError(
                f"unknown source {strange[0]!r}: 'memories' and 'library' can be asked, and code by `working_dir`"
            )
        if not names and working_dir is None:
            raise InvalidInputError("nothing is asked: name a source, or a `working_dir` with code")
        if depth not in DEPTH_HINTS:
            raise InvalidInputError(f"depth must be one of {', '.join(DEPTH_HINTS)}, not {depth!r}")
        return cls(
            question=check_text(question, what="question", limit=MAX_PROBLEM_CHARS),
            sources=names,
            working_dir=None if working_dir is None else fspath(working_dir),
            depth=depth,
            model=model,
        )


async def ask(
    settings: Settings, sources: Sequence[Source], request: AskRequest, *, on_event: Hearer | None = None
) -> Answer:
    """Have every source answer, one after the other on one budget, and say it as one.

    `on_event` hears what they do, and each answer when it is there.
    """
    question = _question(settings, request, on_event)
    answers: dict[str, Told] = {}
    texts: dict[str, str] = {}
    citations: dict[Citation, int] = {}
    for source in sources:
        answer = answers[source.name] = await _told(source, question)
        if answer.text and (answer.sure or not texts):
            before = len(citations)
            texts[source.name] = _renumbered(answer, citations)
            await _hand_out(on_event, source.name, texts[source.name], tuple(citations)[before:], before)
    parts = [
        text if len(texts) == 1 else f"**{HEADINGS.get(name, name)}**\n\n{text}"
        for name, text in texts.items()
    ]
    spent = question.purse.spent
    return Answer(
        question=request.question,
        text="\n\n".join(parts) or NOT_KNOWN,
        found=bool(parts),
        citations=tuple(citations),
        sources=tuple(texts),
        coverage={name: answer.coverage for name, answer in answers.items()},
        notes=tuple(dict.fromkeys(note for name in answers for note in _notes(name, answers[name], texts))),
        cost_usd=None if spent.unpriced else spent.usd,
    )


def _question(settings: Settings, request: AskRequest, on_event: Hearer | None = None) -> Question:
    return Question(
        text=request.question,
        aim=read_aim(request.question),
        depth=request.depth,
        model=request.model,
        purse=Purse(max_usd=settings.budget.max_usd),
        deadline=time.monotonic() + (settings.budget.timeout_seconds or ANSWER_TIMEOUT_S),
        on_event=on_event,
    )


async def dry_run(settings: Settings, sources: Sequence[Source], request: AskRequest) -> AskPlan:
    """The most that an answer of these sources may take, all of them together on one budget."""
    question = _question(settings, request)
    plans = {source.name: await source.plan(question) for source in sources}
    bound = sum((Bound.of(plan) for plan in plans.values()), NOTHING)
    if bound.usd is not None and settings.budget.max_usd is not None:
        bound = replace(bound, usd=min(bound.usd, settings.budget.max_usd))
    return AskPlan(
        question=request.question,
        sources=plans,
        model=next((plan.model for plan in plans.values() if plan.model), ""),
        material_tokens=sum(plan.material_tokens for plan in plans.values()),
        notes=tuple(dict.fromkeys(f"{name}: {note}" for name, plan in plans.items() for note in plan.notes)),
        **bound.limits(),
    )


def _notes(name: str, answer: Told, texts: Mapping[str, str]) -> tuple[str, ...]:
    """What to know of a source; of one that was not heard, only that."""
    if answer.text and name not in texts:
        return (f"{name}: what came nearest does not answer it",)
    return answer.notes


async def _told(source: Source, question: Question) -> Told:
    """What a source answers. One that has no time any more, or does not end in it, has no answer, and that is said."""
    if question.seconds_left() > 0:
        wall = asyncio.timeout(question.seconds_left() + _LAST_WORDS_S)
        try:
            async with wall:
                return await source.tell(question)
        except TimeoutError:
            if not wall.expired():
                raise
    return Told(notes=(f"{source.name}: the time was over before there was an answer",))


async def _hand_out(
    on_event: Hearer | None, source: str, text: str, citations: tuple[Citation, ...], before: int
) -> None:
    """What one source answers, to who listens."""
    if on_event is not None:
        heard = on_event(AnswerPart(source=source, text=text, first_mark=before + 1, citations=citations))
        if inspect.isawaitable(heard):
            await heard


def _renumbered(answer: Told, citations: dict[Citation, int]) -> str:
    """The words of one source with its marks counted on from those of the sources before it."""
    numbers = {
        place: citations.setdefault(citation, len(citations) + 1)
        for place, citation in enumerate(answer.citations, 1)
    }

    def counted(words: str) -> str:
        return _MARK.sub(lambda mark: f"[{numbers.get(int(mark[1]), int(mark[1]))}", words)

    parts = enumerate(CODE.split(answer.text))
    return "".join(part if place % 2 else counted(part) for place, part in parts)
