"""The stages of one exploration: what it opens, looks at, says and records. Their order is `runs/inquiry.py`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect import telemetry
from recollect.codebase.audit import audit_document, write_audit
from recollect.codebase.budget import explore_limits
from recollect.codebase.environment import CodebaseEnvironment
from recollect.codebase.evidence import Pages
from recollect.codebase.journal import Journal, JournaledEnvironment, JournaledPlanner, Past, read_journal
from recollect.codebase.planner import Course, RLMAgent
from recollect.codebase.query import read_query
from recollect.codebase.refine import is_use, path_of, refine, refused_answers
from recollect.codebase.request import ExploreRequest
from recollect.codebase.secrets import mask, mask_values
from recollect.codebase.synthesis import ResultSynthesizer
from recollect.codebase.tree import open_tree
from recollect.codebase.view import ROOM_CHARS
from recollect.config import Settings
from recollect.domain.codebase import ExplorationTrajectory, RLMResult, RLMUsage
from recollect.domain.findings import Citation, Finding
from recollect.domain.ids import new_id
from recollect.domain.overview import ExplorationEvent
from recollect.domain.trajectory import Trajectory
from recollect.errors import EmbedderError
from recollect.providers.models.purse import Purse
from recollect.runs.events import Subscriber, Words
from recollect.runs.inquiry import Inquiry, Texts
from recollect.runs.models import open_models
from recollect.runs.synthesis import Synthesis

if TYPE_CHECKING:
    from recollect.codebase.explore import RLMOrchestrator
    from recollect.codebase.index import CodeIndex
    from recollect.providers.embedders import Embedder
    from recollect.storage.store import Transaction

_log = logging.getLogger("recollect.codebase")

Progress = Callable[[int, int | None], None]
#: What is kept of the wall clock for reading citations again and writing the record.
_RESERVE_S = 0.2
_NOT_DONE = "This code does not seem to do that."
_CALLED = "Called in this order: "
#: The embedder of definitions. It is local: no line of a tree leaves the machine for it.
EMBEDDER = "arctic"
_EMBEDDERS: dict[str, Embedder] = {}


class Exploration(Inquiry[RLMResult]):
    """One exploration."""

    words = Words(
        thinking=ExplorationEvent.THINKING,
        tool_call=ExplorationEvent.TOOL_CALL,
        failed=ExplorationEvent.FAILED,
        resume="it was cut short; resume the task to go on",
        finding=ExplorationEvent.FINDING,
        budget=ExplorationEvent.BUDGET,
    )
    engine_events = True
    material_name = "the tree"

    def __init__(
        self,
        orchestrator: RLMOrchestrator,
        request: ExploreRequest,
        *,
        on_event: Subscriber | None,
        on_progress: Progress | None,
        purse: Purse | None,
        resume: bool,
    ) -> None:
        settings, limit_s = orchestrator.settings, request.timeout_seconds
        usd = request.max_usd if request.max_usd is not None else settings.budget.max_usd
        super().__init__(
            settings,
            request.query,
            models=open_models(settings, orchestrator.model),
            purse=purse or Purse(max_usd=usd, max_tokens=request.max_tokens),
            seconds=limit_s - min(_RESERVE_S, limit_s * 0.1),
            guidance=request.preset.prompt if request.preset else "",
            store=orchestrator.store,
            context=orchestrator.context,
            subscriber=on_event,
            event=self._event,
        )
        self._orchestrator, self._request = orchestrator, request
        self._query = read_query(request.query, request.context_hints)
        self._on_progress, self._resume = on_progress, resume
        self._requests: list[Mapping[str, Any]] = []
        self._refused = False
        self._journal = Journal(orchestrator.audit_dir, request.task_id)
        self._past = Past()
        self._index: CodeIndex | None = None
        self._embedder: Embedder | None = None
        self._agent = self._make_agent()

    # ---------------------------------------------------------------- the stages

    async def gather(self) -> None:
        """The tree and its index, and what is known of a run that broke off."""
        self.say(ExplorationEvent.STARTED, query=self.question)
        self._tree = await asyncio.to_thread(
            open_tree, self._orchestrator.root, allowed_roots=self.settings.roots
        )
        if self._resume:
            self._read_past()
        self._index = await self._open()
        self._embedder = await self._open_embedder()

    async def look(self) -> Sequence[Finding]:
        """The loop, and of what it found what answers the question."""
        self._record = await self._run()
        return await asyncio.to_thread(self._choose)

    async def read_again(self, citations: Sequence[Citation]) -> Texts:
        """The files as they are now."""
        pages, places = Pages(self._tree), {(citation.kind, citation.file_path) for citation in citations}
        texts = await asyncio.to_thread(lambda: {place: pages.text(place[1]) for place in places})
        return {place: text for place, text in texts.items() if text is not None}

    async def conclude(self, findings: Sequence[Finding]) -> RLMResult:
        """The answer and its audit."""
        result = self._result(tuple(findings), await self._synthesise(findings))
        telemetry.explored(
            result.usage.wall_time_seconds * 1_000,
            subcalls=result.usage.subcall_count,
            cache_hit_rate=result.usage.cache_hit_rate,
            stopped_by=result.stopped_by,
        )
        document = await asyncio.to_thread(audit_document, result, self._request, by=self._orchestrator.by)
        await self._store(result, document)
        result = await asyncio.to_thread(self._export, result, document)
        self.say(
            ExplorationEvent.COMPLETED,
            success=result.success,
            citations=len(result.citations),
            findings=len(findings),
            stopped_by=result.stopped_by,
            subcalls=result.usage.subcall_count,
        )
        return result

    async def close(self) -> None:
        """Of a run that is cancelled the journal stays: it can be taken up."""
        self._journal.close(remove=False)
        if self._index is not None:
            self._index.close()
        await self.models.close()

    async def _open(self) -> CodeIndex | None:
        """The index, within the wall clock; without it names are looked up by searching."""
        from recollect.codebase.index import CodeIndex

        left = self.left_s()
        opening = asyncio.to_thread(
            CodeIndex.open,
            self._tree,
            self._orchestrator.index_dir,
            progress=self._on_progress,
            deadline_s=max(left * 0.8, 0.05),
        )
        try:
            return await asyncio.wait_for(opening, max(left * 0.9, 0.05))
        except TimeoutError:
            why = "was not ready in time"
        except Exception as error:
            _log.warning("the index of a tree can't be used", exc_info=error)
            why = f"can't be used ({error})"
        self.notes.append(f"the index {why}; names were looked up by searching")
        return None

    async def _open_embedder(self) -> Embedder | None:
        """What compares the question with definitions, whatever embedder the store has: its scores are known."""
        if not self._query.is_question:
            return None
        try:
            opening = asyncio.to_thread(_opened_embedder, self.settings)
            return await asyncio.wait_for(opening, max(self.left_s() * 0.5, 0.05))
        except (EmbedderError, TimeoutError) as error:
            why = str(error) or "the embedder was not ready in time"
            self.notes.append(f"definitions were ranked by words and calls, not by meaning: {why}")
            return None

    async def _run(self) -> Trajectory:
        models, cache = self.models, self._orchestrator.cache
        environment = CodebaseEnvironment(
            self._tree,
            self._index,
            model=models.sub_call,
            cacheable=self.settings.rlm_cache_enabled,
            masked=models.root is not None,
            room_chars=ROOM_CHARS if models.root is None else models.root.profile.result_chars,
            seconds_left=self.left_s,
            embedder=self._embedder,
            on_capability=self._missed,
        )
        limits = explore_limits(**{**self._request.limits, "timeout_seconds": self.left_s()})
        limits, spent = self._past.left_of(limits)
        self._past.fill(cache, environment.name)
        await asyncio.to_thread(
            self._journal.begin,
            {"query": mask(self.question), "root": str(self._tree.root), "by": self._orchestrator.by},
            append=self._past.resumed,
        )
        hints = "\n".join(f"- {hint[:1_000]}" for hint in self._request.context_hints)
        return await self.loop(
            JournaledEnvironment(environment, self._journal, spent=spent),
            JournaledPlanner(self._agent, self._journal, self._past, spent=spent),
            self.widened(limits),
            cache,
            f"Begin with:\n{hints}" if hints else "",
        )

    def _choose(self) -> tuple[Finding, ...]:
        """What answers the question, at the lines that say so."""
        pages, record, claims = Pages(self._tree), self._record, self._agent.claims
        chosen = self.place(
            [finding for finding in record.findings if finding in claims],
            spans=record.spans(),
            lines=pages.lines,
            cite=pages.cite,
        )
        if any(claim.confidence > 0 for claim in chosen):
            # What a search calls its matches is no part of the tree that a claim could speak for.
            return tuple(
                replace(
                    claim,
                    evidence=claim.citations[0].quote,
                    group=claim.source_file if claim.group is None or is_use(claim) else claim.group,
                )
                for claim in chosen
            )
        preset = self._request.preset
        if preset is None and (nearest := refused_answers(record)):
            self._refused = True
            self.notes.append(f"this code does not seem to do that; nearest: {', '.join(nearest)}")
            return ()
        rest = [finding for finding in record.findings if finding not in claims]
        return refine(record, rest, self._query, pages, tests=preset is not None and preset.tests)

    async def _synthesise(self, findings: Sequence[Finding]) -> Synthesis:
        # Only what the model itself found is put into its words.
        spoke = bool(self._agent.claims) and self._agent.model_failure is None
        synthesizer = ResultSynthesizer(self.speaker() if spoke else None)
        made = await synthesizer.synthesise(
            self.question, findings, seconds=self.left_s(), guidance=self.guidance
        )
        self.notes += synthesizer.notes
        if not made.text:
            return replace(made, text=_NOT_DONE if self._refused else "Nothing in this tree speaks about it.")
        path = path_of(self._record)
        if path and not synthesizer.in_words:
            return replace(made, text=f"{_CALLED}{' -> '.join(f'`{name}`' for name in path)}\n{made.text}")
        return made

    def _result(self, findings: tuple[Finding, ...], synthesis: Synthesis) -> RLMResult:
        record, failure = self._record, self._agent.model_failure
        cited = (*synthesis.citations, *(citation for finding in findings for citation in finding.citations))
        error = record.error or failure
        if failure:
            self.notes.append(f"the model failed ({failure}); the rest was found without it")
        if not findings and error is None:
            error = "nothing was found" if record.stopped_by == "done" else f"stopped by {record.stopped_by}"
        self.notes += self._left_out()
        past, used, spent = self._past, record.usage, self.purse.spent
        return RLMResult(
            task_id=self._request.task_id,
            success=bool(findings),
            findings=findings,
            synthesis=synthesis.text,
            trajectory=ExplorationTrajectory.of(record),
            # Sub-calls as the record has them; what models used as it was counted where requests are sent.
            usage=RLMUsage(
                subcall_count=used.subcalls + past.subcalls,
                cached_subcalls=used.cached_subcalls,
                total_tokens=spent.tokens + past.tokens,
                wall_time_seconds=round(time.monotonic() - self.began, 3),
                model_calls=spent.requests + past.model_calls,
                usd=round(spent.usd + past.usd, 9),
                cached_tokens=spent.cached_tokens,
                reasoning_tokens=spent.reasoning_tokens,
            ),
            citations=tuple(dict.fromkeys(cited)),
            error=error,
            query=self._request.query,
            root=str(self._tree.root),
            stopped_by=record.stopped_by,
            model=self.models.name,
            notes=tuple(dict.fromkeys([*self.notes, *record.notes])),
            capability_requests=tuple(self._requests),
            record=record,
        )

    def _left_out(self) -> list[str]:
        """Files that could not be read, apart from pictures and the like."""
        if not self._tree.was_walked:
            return []
        skipped = [file for file in self._tree.skipped if "binary" not in file.why]
        few = "; ".join(f"{file.path}: {file.why}" for file in skipped[:3])
        more = f"; and {len(skipped) - 3} more" if len(skipped) > 3 else ""
        return [f"{len(skipped)} files were left out ({few}{more})"] if skipped else []

    async def _store(self, result: RLMResult, document: Mapping[str, Any]) -> None:
        """The record in the database."""

        async def insert(tx: Transaction, user: str) -> None:
            # Most explorations have no database: its driver is loaded for those that do.
            from recollect.storage.oracle import insert_exploration

            await insert_exploration(tx, document, id=new_id(), user=user, at=result.trajectory.start_time)

        await self.keep(insert)

    def _export(self, result: RLMResult, document: Mapping[str, Any]) -> RLMResult:
        """Write the record as a file; one that can't be written costs nobody the answer."""
        try:
            written = write_audit(self._orchestrator.audit_dir, self._request.task_id, document)
        except (OSError, ValueError) as error:
            self._journal.close(remove=False)
            return replace(result, notes=(*result.notes, f"the record could not be written: {error}"))
        self._journal.close(remove=True)
        return replace(result, audit_file=str(written))

    # ---------------------------------------------------------------- what they share

    def _make_agent(self) -> RLMAgent:
        request, preset = self._request, self._request.preset
        course = Course(question=request.query, hints=request.context_hints)
        if preset is not None:
            # A preset's own question is about everything, and so is its map; a question of one's own has a focus.
            focused = request.query != preset.question or bool(request.context_hints)
            course = replace(course, focused=focused, reads=preset.reads, uses=preset.uses)
        return RLMAgent(course, model=self.model_planner())

    def _read_past(self) -> None:
        past = read_journal(
            self._orchestrator.audit_dir,
            self._request.task_id,
            query=self.question,
            root=str(self._tree.root),
        )
        if past is None:
            self.notes.append("there was nothing to resume; the exploration began anew")
            return
        self._past = past
        self.notes.append(f"resumed; {past.subcalls} sub-calls were made before")
        past.narrow(self.purse)

    def _event(self, *, number: int, detail: Mapping[str, Any], **_: Any) -> Any:
        """As explorations tell it, secrets masked."""
        return mask_values({"task_id": self._request.task_id, "number": number, "detail": dict(detail)})

    def _missed(self, description: str, context: Mapping[str, Any]) -> None:
        about = {**context, "problem": self._request.query}
        self._requests.append({"description": description, "context": about})
        self.notes.append(f"missing: {description}")


def _opened_embedder(settings: Settings) -> Embedder:
    """Opened once in a process: it takes half a second, and any thread may use it."""
    from recollect.providers.embedders import open_embedder

    if EMBEDDER not in _EMBEDDERS:
        _EMBEDDERS[EMBEDDER] = open_embedder(EMBEDDER, cache_dir=settings.home / "models")
    return _EMBEDDERS[EMBEDDER]
