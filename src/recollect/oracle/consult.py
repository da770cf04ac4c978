"""Documents and files as a source: what a consultation gathers, reads, says and records.

The stages and their order are `runs/inquiry.py`; the record is `record.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.findings import Citation, Finding
from recollect.domain.ids import new_id
from recollect.domain.oracle import (
    NOT_IN_DOCUMENTS,
    CapabilityRequest,
    EventType,
    OracleConsultResult,
    OracleEvent,
    ProcessingMode,
)
from recollect.domain.rows import Rows
from recollect.domain.trajectory import Trajectory
from recollect.errors import ModelError, NotFoundError, RunInterruptedError
from recollect.library.environment import LibraryEnvironment
from recollect.library.leads import Leads
from recollect.library.material import FILE, Volume
from recollect.library.passages import MAX_TEXT_CHARS
from recollect.oracle.capabilities import gaps_of
from recollect.oracle.compose import compose, distinct, texts_of, with_tables
from recollect.oracle.direct import ask_once, look_once
from recollect.oracle.gather import Gathered, decide, gather
from recollect.oracle.record import coverage_of, record_of, store, tools_used
from recollect.oracle.recursive import LIMITS, listed, max_subcalls, own_planner
from recollect.oracle.request import ConsultRequest
from recollect.oracle.sessions import cache_of, take_up, write_answers
from recollect.oracle.shelves import Shelves
from recollect.providers.models.purse import Purse
from recollect.runs.budget import ANSWER_TIMEOUT_S
from recollect.runs.events import Words
from recollect.runs.inquiry import Inquiry, Texts
from recollect.runs.models import open_models
from recollect.runs.pieces import rows_room
from recollect.runs.roles import RECIPES, find_role
from recollect.runs.tables import standing_tables
from recollect.text.aim import wants_count

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace

Subscriber = Callable[[OracleEvent], Awaitable[None] | None]

#: Documents that are looked through for gaps when they don't answer.
_NAMED = 20
_WITHOUT_MODEL = "what follows was found without the model"
_CUT_SHORT = "reading step by step was cut short ({}); what follows is what a first look found"


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
    return await Consultation(workspace, context, request, on_event, purse, seconds).go()


class Consultation(Inquiry[OracleConsultResult]):
    """One consultation, and what it has come to so far; read when it ends, however it ends."""

    words = Words(
        thinking=EventType.ORACLE_CONSULTATION_THINKING,
        tool_call=EventType.ORACLE_RLM_TOOL_CALL,
        failed=EventType.ORACLE_CONSULTATION_FAILED,
        resume="it was cut short; ask again in the same session",
    )
    material_name = "a document"

    def __init__(
        self,
        workspace: Workspace,
        context: TenantContext,
        request: ConsultRequest,
        on_event: Subscriber | None,
        purse: Purse | None,
        seconds: float | None,
    ) -> None:
        settings, role = workspace.settings, find_role(request.agent)
        most_s = settings.budget.timeout_seconds or ANSWER_TIMEOUT_S
        self.workspace, self.request = workspace, request
        self.asker = context
        self.id: UUID = new_id()
        self.at = workspace.clock()
        self.shelves = Shelves(workspace, context)
        self.gathered: Gathered | None = None
        self.mode: ProcessingMode = "direct"
        #: The findings are sentences of a model, made for this question.
        self.spoken = False
        self.trajectory: Trajectory | None = None
        self.spans: list[tuple[str, int, int]] = []
        #: Tables that belong into the answer.
        self.tables: tuple[Rows, ...] = ()
        #: What models answered to calls, for the follow-ups of the session.
        self.answers: Mapping[str, Any] | None = None
        #: What was missing to answer.
        self.requests: list[CapabilityRequest] = []
        super().__init__(
            settings,
            request.problem,
            models=open_models(settings, request.model, opener=workspace.model),
            purse=purse or Purse(max_usd=settings.budget.max_usd),
            seconds=most_s if seconds is None else min(most_s, seconds),
            guidance=role.prompt if role and role.name in RECIPES else "",
            store=workspace.store,
            context=context,
            subscriber=on_event,
            event=partial(
                OracleEvent,
                consultation_id=self.id,
                session_id=request.session,
                workflow=request.workflow,
                agent=request.agent,
            ),
            now=workspace.clock,
        )

    # ---------------------------------------------------------------- the stages

    async def gather(self) -> None:
        """The documents that are named or that the library has about it, and the files."""
        request = self.request
        self.say(
            EventType.ORACLE_CONSULTATION_STARTED,
            problem=request.problem,
            depth_hint=request.depth_hint,
            model=self.models.name,
        )
        gathered = await gather(self.workspace, self.asker, request, self.shelves, seconds=self.left_s())
        self.gathered = gathered
        self.notes += [*self.shelves.notes, *gathered.late]
        tokens = gathered.tokens
        self.mode, reason = decide(request, tokens, self.settings)
        self.say(
            EventType.ORACLE_CONSULTATION_THINKING,
            thought=f"{self.mode}: {reason}",
            documents=[document.doc_id for document in gathered.documents[:50]],
            files=len(gathered.files),
            material_tokens=tokens,
        )

    async def look(self) -> Sequence[Finding]:
        """One look, one request, or the loop."""
        findings = await (self._once() if self.mode == "direct" else self._step_by_step())
        # What was read is at hand, also where an answer came from the cache.
        await self._open([doc_id for doc_id, _, _ in self.spans])
        # What a model chose is a choice already; without one, places that lie in each other are one.
        claimed = self.models.root is not None and any(finding.confidence > 0 for finding in findings)
        return findings if self.spoken or claimed else distinct(findings)

    async def _once(self) -> Sequence[Finding]:
        gathered, model = self._gathered, self.models.root
        if model is None or not gathered.material.entries:
            return await self._first_look()
        try:
            async with asyncio.timeout(self.left_s()):
                injected = await ask_once(
                    model,
                    self.question,
                    gathered.material,
                    gathered.leads,
                    max_tokens=self.request.max_input_tokens,
                    guidance=self.guidance,
                )
        except (ModelError, TimeoutError) as error:
            self.model_failed = True
            why = error if isinstance(error, ModelError) else "its time was over"
            self.notes.append(f"the model did not answer ({why}); this was found without it")
            return await self._first_look()
        if injected.dropped:
            self.notes.append(f"{injected.dropped} sentences of the model rested on nothing and were dropped")
        self.spans = [(volume.doc_id, first, last) for volume, first, last in injected.parts]
        self.spoken = bool(injected.findings) or not injected.dropped
        if self.spoken:
            return injected.findings
        self.model_failed = True
        self.notes.append(_WITHOUT_MODEL)
        return await self._first_look()

    async def _first_look(self) -> Sequence[Finding]:
        leads = self._gathered.leads
        self.spans += [(lead.doc_id, lead.line_start, lead.line_end) for lead in leads]
        return await look_once(self._gathered.material, leads)

    async def _step_by_step(self) -> Sequence[Finding]:
        models, material = self.models, self._gathered.material
        cache = cache_of(self.workspace, self.asker, self.request.session)
        if models.root:
            files = [file.doc_id for file in self._gathered.files]
            await take_up(self.workspace, self.asker, self.request.session, cache, files=files)
        before = set(cache.entries())
        gathered, read_most = self._gathered, self.settings.budget.rows_max_tokens
        profile = models.profile
        environment = LibraryEnvironment(
            material,
            leads=Leads(known=gathered.leads),
            model=models.sub_call,
            quotable=models.root is not None,
            room_chars=MAX_TEXT_CHARS if profile is None else profile.result_chars,
            max_rows_tokens=rows_room(gathered.mapped_tokens(profile), read_most) if profile else None,
            named=gathered.library is None,
            on_capability=self.miss,
        )
        planner = own_planner(self.question, models) or self.model_planner()
        assert planner is not None, "without a model the planner is our own"
        limits = replace(
            LIMITS,
            max_subcalls=max_subcalls(profile),
            timeout_s=self.left_s(),
            max_tokens=self.request.max_input_tokens,
        )
        try:
            ended = await self.loop(environment, planner, self.widened(limits), cache, listed(material))
        finally:
            # Also of a run that was cut short: its session goes on from there.
            self.answers = write_answers(cache, before, self.asker.roles) if models.root else None
        self.trajectory, self.spans = ended, ended.spans()
        self.notes += ended.notes
        self.tables = tuple(table for table in environment.book.answers if table.rows)
        for mapped in environment.book.sources:
            self.notes += [f"sections: {mapped.coverage}", *mapped.notes]
        if environment.book.sources and (others := gathered.others(environment.book.documents)):
            self.notes.append(f"{others:,} other documents of the library were not asked: others came nearer")
        if ended.error:
            self.notes.append(f"the run ended early: {ended.error}")
        opened = material.opened
        findings = self.place(
            ended.findings,
            spans=[(name, 1, len(volume.lines)) for name, volume in opened.items()],
            lines=lambda name: opened[name].lines if name in opened else None,
            cite=lambda name, first, last: opened[name].cite(first, last),
        )
        if ended.stopped_by == "done" or any(finding.confidence > 0 for finding in findings):
            return findings
        # A planner that failed is no reason to say that the documents don't.
        self.notes.append(_WITHOUT_MODEL if models.root else _CUT_SHORT.format(ended.stopped_by))
        return await self._first_look()

    async def read_again(self, citations: Sequence[Citation]) -> Texts:
        """Documents from the library, files as they were bundled a moment ago; of tables, too."""
        material = self._gathered.material
        rows = [row for table in self.tables for row in table.rows]
        cited = dict.fromkeys(
            citation.file_path
            for citation in (*citations, *(cited for row in rows for cited in row.citations))
        )
        files = {name: volume for name, volume in material.opened.items() if volume.kind == FILE}
        entries = material.entries
        documents = [name for name in cited if name in entries and entries[name].kind != FILE]
        texts = texts_of(files) | await self.shelves.texts(documents)
        self.tables, lost = standing_tables(self.tables, lambda kind, path: texts.get((kind, path)))
        self.notes += lost
        return texts

    async def conclude(self, findings: Sequence[Finding]) -> OracleConsultResult:
        """The answer, or that the documents do not say."""
        gathered, tables = self._gathered, self.tables
        # Where nobody but the engine chose what to say, the rows are the answer.
        by_rows = tables and self.trajectory is not None and not self.trajectory.planner.startswith("model:")
        answer = with_tables(
            await compose(self, () if by_rows else findings, threshold=gathered.material.threshold),
            tables,
            counted=bool(by_rows) and wants_count(self.question),
        )
        if gathered.late and self.stopped_by == "done":
            self.stopped_by = "timeout"
        read = {doc_id for doc_id, _, _ in self.spans}
        if not answer.text and self.request.doc_ids:
            # What a document that was named does not say may stand where it could not be read.
            named = [document.doc_id for document in gathered.documents[:_NAMED]]
            await self._open(named)
            read |= set(named)
        for volume in [volume for name, volume in gathered.material.opened.items() if name in read]:
            for description, about in gaps_of(volume).items():
                attempted = list(tools_used(self.trajectory))
                self.miss(description, {**about, "attempted_tools": attempted}, raised_by="engine")
        self.say(
            EventType.ORACLE_CONSULTATION_COMPLETED,
            found=bool(answer.text),
            citations=len(answer.citations),
            stopped_by=self.stopped_by,
            capability_requests=len(self.requests),
        )
        words = answer.text or NOT_IN_DOCUMENTS
        result = OracleConsultResult(
            answer=words,
            citations=answer.citations,
            found=bool(answer.text),
            coverage=coverage_of(gathered, self.spans),
            consultation=record_of(
                self, words, supported=any(citation.supports for citation in answer.citations)
            ),
            session=self.request.session,
            stopped_by=self.stopped_by,
            notes=tuple(dict.fromkeys(self.notes)),
        )
        await store(self, result.consultation, result)
        if self.trajectory is not None:
            # Among all runs, without their words: what was called, what it took and how it ended.
            self.workspace.events.record_run(self.asker, self.trajectory, query_id=self.id)
        return result

    async def keep_failure(self, error: BaseException) -> None:
        """The record of a consultation without an answer."""
        cut = isinstance(error, asyncio.CancelledError)
        failure = RunInterruptedError(Consultation.words.resume) if cut else error
        await store(self, record_of(self, None, failure), None)

    # ---------------------------------------------------------------- what they share

    @property
    def _gathered(self) -> Gathered:
        assert self.gathered is not None, "gathering comes first"
        return self.gathered

    @property
    def opened(self) -> Mapping[str, Volume]:
        """The documents and files that were read, by name."""
        return self._gathered.material.opened

    async def _open(self, doc_ids: Sequence[str]) -> None:
        for doc_id in dict.fromkeys(doc_ids):
            with suppress(NotFoundError):
                await self._gathered.material.open(doc_id)

    def miss(self, description: str, about: Mapping[str, Any], *, raised_by: str = "planner") -> None:
        """Something is missing; the same for the same document counts once."""
        same = (description, about.get("doc_id"))
        if any((request.description, request.context.get("doc_id")) == same for request in self.requests):
            return
        context = {**about, "problem": self.question}
        self.requests.append(
            CapabilityRequest(
                id=new_id(),
                at=self.workspace.clock(),
                description=description,
                raised_by=raised_by,
                context=context,
                consultation_id=self.id,
                workflow=self.request.workflow,
                agent=self.request.agent,
            )
        )
        self.say(
            EventType.ORACLE_CAPABILITY_REQUESTED,
            description=description,
            raised_by=raised_by,
            context=context,
        )
