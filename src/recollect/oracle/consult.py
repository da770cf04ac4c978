"""A consultation from the question to the checked answer: gather, measure, decide, run, synthesise, verify, record.

Whatever a model or a limit does, somebody asked a question: what can be answered without a model is, and `notes` and
`stopped_by` say what went wrong. Only bad input and a store that fails raise.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.findings import Citation, Finding
from recollect.domain.ids import new_id
from recollect.domain.oracle import (
    CapabilityRequest,
    EventType,
    OracleConsultation,
    OracleConsultResult,
    OracleEvent,
    ProcessingMode,
)
from recollect.domain.rows import Rows
from recollect.domain.trajectory import Trajectory
from recollect.errors import ModelError, NotFoundError, RunInterruptedError
from recollect.library.material import FILE
from recollect.oracle.capabilities import Wanted
from recollect.oracle.compose import Answered, compose, distinct, texts_of, with_tables
from recollect.oracle.coverage import calls_of, coverage_of, spans_read
from recollect.oracle.decide import decide
from recollect.oracle.direct import ask_once, look_once
from recollect.oracle.gather import Gathered, gather
from recollect.oracle.recipes import find_recipe
from recollect.oracle.recursive import explore, limits_of
from recollect.oracle.request import ConsultRequest
from recollect.oracle.sessions import cache_of, take_up, write_answers
from recollect.oracle.shelves import Shelves
from recollect.providers.models.purse import Purse
from recollect.runs.citations import standing
from recollect.runs.events import Announcer, Words
from recollect.runs.models import open_models
from recollect.runs.router import ComplexityRouter
from recollect.runs.synthesis import NO_MORE_QUESTIONS
from recollect.runs.tables import standing_tables
from recollect.storage import oracle as storage

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

_log = logging.getLogger("recollect.oracle")

Subscriber = Callable[[OracleEvent], Awaitable[None] | None]

_WORDS = Words(
    thinking=EventType.ORACLE_CONSULTATION_THINKING,
    tool_call=EventType.ORACLE_RLM_TOOL_CALL,
    failed=EventType.ORACLE_CONSULTATION_FAILED,
    resume="it was cut short; ask again in the same session",
)
_READING_TOOLS = ("query_subset", "summarize")
#: Documents that are looked through for gaps when they don't answer.
_NAMED = 20


@dataclass(slots=True, kw_only=True)
class _Work:
    """What a consultation has come to so far; read when it ends, however it ends."""

    mode: ProcessingMode = "direct"
    findings: tuple[Finding, ...] = ()
    #: The findings are sentences of a model, made for this question.
    spoken: bool = False
    stopped_by: str = "done"
    trajectory: Trajectory | None = None
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Tables that belong into the answer.
    tables: tuple[Rows, ...] = ()
    #: What models answered to calls, for the follow-ups of the session.
    answers: Mapping[str, Any] | None = None


async def consult(
    workspace: Workspace,
    context: TenantContext,
    request: ConsultRequest,
    *,
    on_event: Subscriber | None = None,
    purse: Purse | None = None,
    seconds: float | None = None,
) -> OracleConsultResult:
    """Answer a problem from documents and code, with citations that were read again.

    `purse` and `seconds` are what it may use where it is not the only one that is asked.
    """
    return await _Consultation(workspace, context, request, on_event, purse, seconds).go()


class _Consultation:
    """One consultation."""

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        request: ConsultRequest,
        on_event: Subscriber | None,
        purse: Purse | None,
        seconds: float | None,
    ) -> None:
        self._workspace = workspace
        self._context = context
        self._request = request
        self._id: UUID = new_id()
        self._at = workspace.clock()
        self._started = time.monotonic()
        self._purse = purse or Purse(max_usd=workspace.settings.model_max_usd)
        self._seconds = seconds
        models = open_models(workspace.settings, request.model, opener=workspace.model)
        self._models = models.charged_to(self._purse)
        self._work = _Work(notes=list(models.notes))
        self._model_failed = False
        recipe = find_recipe(request.agent)
        self._guidance = recipe.prompt if recipe else ""
        self._announcer = Announcer(
            workspace.store,
            context,
            words=_WORDS,
            make=self._event,
            subscriber=on_event,
        )
        self._wanted = Wanted(
            problem=request.problem,
            consultation_id=self._id,
            workflow=request.workflow,
            agent=request.agent,
            now=workspace.clock,
            on_request=self._requested,
        )

    async def go(self) -> OracleConsultResult:
        """Everything, in order."""
        gathered: Gathered | None = None
        try:
            gathered = await self._gather()
            await self._run(gathered)
            result = await self._conclude(gathered)
        except (Exception, asyncio.CancelledError) as error:
            # Whoever cancels waits for this: what models have answered is there when it is asked again.
            self._announcer.fail(error)
            cut = isinstance(error, asyncio.CancelledError)
            failure = RunInterruptedError(_WORDS.resume) if cut else error
            await self._store(self._record(gathered, None, failure), None, gathered)
            raise
        finally:
            await self._announcer.close()
        return result

    # ---------------------------------------------------------------- the stages

    async def _gather(self) -> Gathered:
        workspace, request = self._workspace, self._request
        self._announcer.say(
            EventType.ORACLE_CONSULTATION_STARTED,
            problem=request.problem,
            depth_hint=request.depth_hint,
            model=self._models.name,
        )
        embedder = None
        if request.working_dir is not None:
            embedder = (await workspace.open_space(self._context)).embedder
        shelves = Shelves(workspace, self._context)
        gathered = await gather(
            request,
            shelves,
            embedder=embedder,
            allowed_roots=workspace.settings.roots,
        )
        self._work.notes += shelves.notes
        self._work.mode, reason = decide(
            request.problem,
            depth_hint=request.depth_hint,
            tokens=gathered.tokens,
            router=ComplexityRouter(threshold=workspace.settings.recursion_threshold),
        )
        self._announcer.say(
            EventType.ORACLE_CONSULTATION_THINKING,
            thought=f"{self._work.mode}: {reason}",
            documents=[document.doc_id for document in gathered.documents[:50]],
            files=len(gathered.files),
            material_tokens=gathered.tokens,
        )
        return gathered

    async def _run(self, gathered: Gathered) -> None:
        if self._work.mode == "direct":
            await self._direct(gathered)
        else:
            await self._recursive(gathered)

    async def _direct(self, gathered: Gathered) -> None:
        work, model = self._work, self._models.root
        if model is not None and gathered.material.entries:
            try:
                injected = await ask_once(
                    model,
                    self._request.problem,
                    gathered.material,
                    gathered.leads,
                    max_tokens=self._request.max_input_tokens,
                    guidance=self._guidance,
                )
                if injected.dropped:
                    work.notes.append(
                        f"{injected.dropped} sentences of the model rested on nothing and were dropped"
                    )
                work.spans = [(volume.doc_id, first, last) for volume, first, last in injected.parts]
                if injected.findings or not injected.dropped:
                    work.findings, work.spoken = injected.findings, True
                    return
                self._model_failed = True
                work.notes.append("what follows was found without the model")
            except ModelError as error:
                self._without_model(error)
        await self._look(gathered)

    async def _look(self, gathered: Gathered) -> None:
        self._work.findings = await look_once(gathered.material, gathered.leads)
        self._work.spans += [(lead.doc_id, lead.line_start, lead.line_end) for lead in gathered.leads]

    async def _recursive(self, gathered: Gathered) -> None:
        models = self._models
        work, settings = self._work, self._workspace.settings
        cache = cache_of(self._workspace, self._context, self._request.session)
        if models.root:
            files = [file.doc_id for file in gathered.files]
            await take_up(self._workspace, self._context, self._request.session, cache, files=files)
        before = set(cache.entries())
        try:
            explored = await explore(
                self._request.problem,
                gathered.material,
                gathered.leads,
                limits=limits_of(
                    settings,
                    models.profile,
                    max_tokens=self._request.max_input_tokens,
                    seconds=self._seconds,
                ),
                cache=cache,
                models=models,
                guidance=self._guidance,
                max_rows_tokens=settings.rows_max_tokens,
                on_event=self._announcer,
                on_capability=lambda what, about: self._wanted.add(what, about, raised_by="planner"),
            )
        finally:
            # Also of a run that was cut short: its session goes on from there.
            work.answers = write_answers(cache, before, self._context.roles) if models.root else None
        work.findings, work.trajectory = explored.findings, explored.trajectory
        work.stopped_by = explored.stopped_by
        work.spans = spans_read(explored.trajectory)
        work.notes += explored.trajectory.notes
        work.tables = tuple(table for table in explored.tables if table.rows)
        for mapped in explored.mapped:
            work.notes += [f"sections: {mapped.coverage}", *mapped.notes]
        if explored.error:
            work.notes.append(f"the run ended early: {explored.error}")
        if explored.unplaced:
            work.notes.append(
                f"{explored.unplaced} findings of the model quote no line of a document and were dropped"
            )
        if explored.stopped_by != "done" and not any(finding.confidence > 0 for finding in explored.findings):
            # A planner that failed is no reason to say that the documents don't.
            if models.root:
                work.notes.append("what follows was found without the model")
            await self._look(gathered)

    async def _conclude(self, gathered: Gathered) -> OracleConsultResult:
        work, material = self._work, gathered.material
        spoken = work.spoken
        # What a model chose is a choice already; without one, places that lie in each other are one.
        claimed = self._models.root is not None and any(finding.confidence > 0 for finding in work.findings)
        chosen = work.findings if spoken or claimed else distinct(work.findings)
        await self._open(gathered)
        cited = [one.citations for one in chosen] + [
            row.citations for table in work.tables for row in table.rows
        ]
        texts = await self._read_again(gathered, cited)

        def present(kind: str, path: str) -> str | None:
            return texts.get((kind, path))

        kept, notes = standing(chosen, present)
        tables, lost = standing_tables(work.tables, present)
        work.notes += [*notes, *lost]
        # A model that fell silent once is not asked to put the rest into words.
        silent = self._model_failed or work.stopped_by in NO_MORE_QUESTIONS
        model = None if silent else self._models.root
        # Where nobody but the engine chose what to say, the rows are the answer.
        by_rows = tables and work.trajectory is not None and not work.trajectory.planner.startswith("model:")
        answered = await compose(
            self._request.problem,
            () if by_rows else kept,
            threshold=material.threshold,
            model=model,
            spoken=spoken,
            guidance=self._guidance,
        )
        answered = with_tables(answered, tables)
        work.notes += answered.notes
        read = {doc_id for doc_id, _, _ in work.spans}
        if not answered.found:
            # What a document that was named does not say may stand where it could not be read.
            read |= await self._open_named(gathered)
        self._wanted.add_gaps(
            [one for name, one in material.opened.items() if name in read], attempted_tools=self._tools_used()
        )
        self._announcer.say(
            EventType.ORACLE_CONSULTATION_COMPLETED,
            found=answered.found,
            citations=len(answered.citations),
            stopped_by=work.stopped_by,
            capability_requests=len(self._wanted.requests),
        )
        consultation = self._record(gathered, answered)
        result = OracleConsultResult(
            answer=answered.text,
            citations=answered.citations,
            found=answered.found,
            coverage=coverage_of(gathered, work.spans),
            consultation=consultation,
            session=self._request.session,
            stopped_by=work.stopped_by,
            notes=tuple(dict.fromkeys(work.notes)),
        )
        await self._store(consultation, result, gathered)
        return result

    # ---------------------------------------------------------------- what they share

    async def _open(self, gathered: Gathered) -> None:
        """Have what was read at hand, also where an answer came from the cache."""
        for doc_id in dict.fromkeys(one for one, _, _ in self._work.spans):
            with suppress(NotFoundError):
                await gathered.material.open(doc_id)

    async def _open_named(self, gathered: Gathered) -> set[str]:
        """The documents that were named, at hand; not all of a long list."""
        named = [document.doc_id for document in gathered.documents[:_NAMED]] if self._request.doc_ids else []
        for doc_id in named:
            with suppress(NotFoundError):
                await gathered.material.open(doc_id)
        return set(named)

    async def _read_again(
        self, gathered: Gathered, citations: Sequence[Sequence[Citation]]
    ) -> dict[tuple[str, str], str]:
        """What is cited, as it is now: documents from the library, files as they were bundled a moment ago."""
        entries = gathered.material.entries
        cited = dict.fromkeys(one.file_path for some in citations for one in some)
        files = {name: one for name, one in gathered.material.opened.items() if one.kind == FILE}
        documents = [one for one in cited if one in entries and entries[one].kind != FILE]
        return texts_of(files) | await Shelves(self._workspace, self._context).texts(documents)

    def _without_model(self, error: ModelError) -> None:
        self._model_failed = True
        self._work.notes.append(f"the model did not answer ({error}); this was found without it")

    def _event(self, type: str, number: int, detail: Mapping[str, Any]) -> OracleEvent:
        return OracleEvent(
            type=EventType(type),
            consultation_id=self._id,
            session_id=self._request.session,
            number=number,
            at=self._workspace.clock(),
            workflow=self._request.workflow,
            agent=self._request.agent,
            detail=detail,
        )

    def _requested(self, request: CapabilityRequest) -> None:
        self._announcer.say(
            EventType.ORACLE_CAPABILITY_REQUESTED,
            description=request.description,
            raised_by=request.raised_by,
            context=dict(request.context),
        )

    def _tokens(self) -> dict[str, int]:
        """By model, and in all; cached and reasoning tokens, which are among them, where there were any."""
        tokens: dict[str, int] = {}
        for name, spent in self._purse.by_model.items():
            tokens |= {f"{name}:input": spent.input_tokens, f"{name}:output": spent.output_tokens}
            apart = {f"{name}:cached": spent.cached_tokens, f"{name}:reasoning": spent.reasoning_tokens}
            tokens |= {key: count for key, count in apart.items() if count}
        return {**tokens, "total": self._purse.spent.tokens}

    def _tools_used(self) -> tuple[str, ...]:
        if self._work.trajectory is None:
            return ()
        return tuple(dict.fromkeys(call.tool for call in calls_of(self._work.trajectory) if not call.refused))

    def _record(
        self, gathered: Gathered | None, answered: Answered | None, error: BaseException | None = None
    ) -> OracleConsultation:
        work = self._work
        consulted = list(dict.fromkeys(doc_id for doc_id, _, _ in work.spans))
        entries = gathered.material.entries if gathered else {}
        files = [one for one in consulted if one in entries and entries[one].kind == FILE]
        calls = calls_of(work.trajectory) if work.trajectory else []
        return OracleConsultation(
            id=self._id,
            timestamp=self._at,
            problem=self._request.problem,
            advice=answered.text if answered else None,
            model=self._models.name,
            session_id=self._request.session,
            tokens=self._tokens(),
            cost_usd=None if self._purse.spent.unpriced else self._purse.spent.usd,
            files_consulted=tuple(files),
            outcome="success" if error is None else "error",
            error_message=None if error is None else str(error)[:1_000],
            depth_hint=self._request.depth_hint,
            processing_mode=work.mode,
            tools_used=self._tools_used(),
            recursive_calls=sum(call.tool in _READING_TOOLS and not call.refused for call in calls)
            + sum(call.child is not None for call in calls),
            capability_requests=tuple(request.document() for request in self._wanted.requests),
            docs_consulted=tuple(one for one in consulted if one not in files),
            workflow=self._request.workflow,
            agent=self._request.agent,
            duration_ms=round((time.monotonic() - self._started) * 1_000, 3),
            settings=self._request.settings(),
        )

    async def _store(
        self, consultation: OracleConsultation, result: OracleConsultResult | None, gathered: Gathered | None
    ) -> None:
        """Keep it; a record that can't be kept costs nobody the answer."""
        user = self._context.user_id
        if user is None and not self._context.is_admin:
            _log.debug("a consultation of a caller without a user is not kept")
            return
        keys = (
            []
            if gathered is None
            else await Shelves(self._workspace, self._context).keys(
                [one for one in consultation.docs_consulted if one in gathered.material.entries]
            )
        )
        try:
            async with self._workspace.store.transaction(self._context) as tx:
                await storage.insert_consultation(
                    tx,
                    consultation,
                    user=user or "",
                    documents=keys,
                    result=result,
                    events=self._announcer.said,
                    requests=self._wanted.requests,
                    answers=self._work.answers,
                )
        except Exception as error:
            _log.warning("a consultation could not be kept", exc_info=error)
