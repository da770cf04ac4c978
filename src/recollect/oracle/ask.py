"""`ask`: a question to memories, documents and code, and one answer in words with citations.

Every source answers by its own means: memories by search, documents by a consultation, code by an exploration. A source
that has no answer is silent; when all are, the answer is that it is not known.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from recollect.domain.answer import NOT_KNOWN, Answer, AnswerPart
from recollect.domain.findings import Citation
from recollect.domain.oracle import DEPTH_HINTS
from recollect.domain.text import check_text
from recollect.errors import InvalidInputError
from recollect.oracle.request import MAX_PROBLEM_CHARS
from recollect.oracle.told import NARROW, WIDE, Told, tell_memories, tell_rows
from recollect.providers.models.purse import Purse
from recollect.runs.dense import wants_rows
from recollect.runs.models import Models, open_models
from recollect.text.aim import read_aim

if TYPE_CHECKING:
    from recollect.domain.codebase import RLMResult
    from recollect.domain.oracle import OracleConsultResult
    from recollect.domain.results import SearchResults
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

MEMORIES, LIBRARY, CODE = "memories", "library", "code"
SOURCES = (MEMORIES, LIBRARY)
HEADINGS = {MEMORIES: "Memories", LIBRARY: "Documents", CODE: "Code"}
#: Hears of what happens: events of consultations and explorations, and parts of the answer.
Hearer = Callable[[Any], Awaitable[None] | None]
_MARK = re.compile(r"\[(\d+)(?=[\],])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What answers, as the client has it."""

    search: Callable[..., Awaitable[SearchResults]]
    oracle_consult: Callable[..., Awaitable[OracleConsultResult]]
    explore: Callable[..., Awaitable[RLMResult]]
    #: Whether the library holds anything.
    has_documents: Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """A question that was checked."""

    question: str
    sources: tuple[str, ...]
    working_dir: str | None
    depth: str
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
        asked = (sources,) if isinstance(sources, str) else tuple(dict.fromkeys(sources))
        if strange := [name for name in asked if name not in SOURCES]:
            raise InvalidInputError(
                f"unknown source {strange[0]!r}: 'memories' and 'library' can be asked, and code by `working_dir`"
            )
        if not asked and working_dir is None:
            raise InvalidInputError("nothing is asked: name a source, or a `working_dir` with code")
        if depth not in DEPTH_HINTS:
            raise InvalidInputError(f"depth must be one of {', '.join(DEPTH_HINTS)}, not {depth!r}")
        return cls(
            question=check_text(question, what="question", limit=MAX_PROBLEM_CHARS),
            sources=asked,
            working_dir=None if working_dir is None else fspath(working_dir),
            depth=depth,
            model=model,
        )


async def ask(
    workspace: Workspace,
    context: TenantContext,
    sources: Sources,
    request: AskRequest,
    *,
    on_event: Hearer | None = None,
) -> Answer:
    """Have every source answer, and say it as one. `on_event` hears what they do, and each answer when it is there."""
    run = _Run(workspace, context, sources, request, on_event)
    if MEMORIES in request.sources:
        await run.ask_memories()
    if LIBRARY in request.sources:
        await run.ask_library()
    if request.working_dir is not None:
        await run.ask_code(request.working_dir)
    return run.answer()


class _Run:
    """What the sources told so far."""

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        sources: Sources,
        request: AskRequest,
        on_event: Hearer | None,
    ) -> None:
        self._workspace, self._context = workspace, context
        self._sources, self._request, self._on_event = sources, request, on_event
        self._told: dict[str, str] = {}
        self._citations: dict[Citation, int] = {}
        self._coverage: dict[str, dict[str, Any]] = {}
        self._notes: list[str] = []
        self._costs: list[float | None] = []

    async def ask_memories(self) -> None:
        settings, question = self._workspace.settings, self._request.question
        aim = read_aim(question)
        purse = Purse(max_usd=settings.model_max_usd)
        models = Models()
        if self._request.depth != "quick":
            models = open_models(settings, self._request.model, opener=self._workspace.model)
        model = models.charged_to(purse).root
        told: Told | None = None
        covered: dict[str, Any] = {}
        notes: tuple[str, ...] = ()
        if model is not None and wants_rows(question):
            told, covered = await tell_rows(self._workspace, self._context, question, aim, model)
        if told is None:
            results = await self._sources.search(question, limit=WIDE if aim.want.several else NARROW)
            told = await tell_memories(question, results, aim, model)
            covered, notes = {**covered, "found": len(results)}, results.notes
        await self._take(MEMORIES, told, covered, notes)
        spent = purse.spent
        self._costs.append(None if spent.unpriced else spent.usd)

    async def ask_library(self) -> None:
        if not await self._sources.has_documents():
            await self._take(LIBRARY, None, {"documents": 0}, ())
            return
        result = await self._sources.oracle_consult(
            self._request.question, self._request.depth, model=self._request.model, on_event=self._on_event
        )
        told = Told(text=result.answer, citations=result.citations) if result.found else None
        await self._take(LIBRARY, told, result.coverage.document(), result.notes if result.found else ())
        self._costs.append(result.consultation.cost_usd)

    async def ask_code(self, folder: str) -> None:
        result = await self._sources.explore(
            folder, self._request.question, model=self._request.model, on_event=self._on_event
        )
        told = Told(text=result.synthesis, citations=result.citations) if result.success else None
        await self._take(CODE, told, {"files": len(result.files)}, result.notes if result.success else ())
        self._costs.append(result.usage.usd)

    async def _take(
        self, source: str, told: Told | None, coverage: Mapping[str, Any], notes: Sequence[str]
    ) -> None:
        self._coverage[source] = dict(coverage)
        self._notes += notes
        if told is None:
            return
        self._notes += told.notes
        before = len(self._citations)
        self._told[source] = _renumbered(told, self._citations)
        if self._on_event is not None:
            part = AnswerPart(
                source=source,
                text=self._told[source],
                first_mark=before + 1,
                citations=tuple(self._citations)[before:],
            )
            heard = self._on_event(part)
            if inspect.isawaitable(heard):
                await heard

    def answer(self) -> Answer:
        parts = [
            text if len(self._told) == 1 else f"**{HEADINGS[source]}**\n\n{text}"
            for source, text in self._told.items()
        ]
        return Answer(
            question=self._request.question,
            text="\n\n".join(parts) or NOT_KNOWN,
            found=bool(parts),
            citations=tuple(self._citations),
            sources=tuple(self._told),
            coverage=self._coverage,
            notes=tuple(dict.fromkeys(self._notes)),
            cost_usd=None if None in self._costs else round(sum(filter(None, self._costs)), 9),
        )


def _renumbered(told: Told, citations: dict[Citation, int]) -> str:
    """The words of one source with its marks counted on from those of the sources before it."""
    numbers = {
        place: citations.setdefault(citation, len(citations) + 1)
        for place, citation in enumerate(told.citations, 1)
    }
    return _MARK.sub(lambda mark: f"[{numbers.get(int(mark[1]), int(mark[1]))}", told.text)
