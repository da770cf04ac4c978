"""The client's verbs that answer in words, and its faces for what they answered: `r.consultations`, `r.explorations`.

They check, hand over and decide nothing. How a consultation goes is oracle/consult.py, how an exploration does
codebase/explore.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Face, Session
from recollect.domain.codebase import ExplorePlan, RLMResult
from recollect.domain.findings import Answer
from recollect.domain.ids import parse_id
from recollect.domain.oracle import (
    Advice,
    CapabilityGroup,
    DryRun,
    OracleConsultation,
    OracleConsultResult,
    OracleEvent,
    Verification,
)
from recollect.domain.text import MAX_LIMIT, check_name, check_whole
from recollect.domain.trajectory import AskPlan
from recollect.errors import ForbiddenError, NotFoundError
from recollect.runs.events import Event

if TYPE_CHECKING:
    from recollect.codebase.explore import RLMOrchestrator
    from recollect.runs.ask import AskRequest
    from recollect.runs.source import Source
    from recollect.storage.store import Transaction


@checked
class OracleVerbs(Session):
    """Answers in words, with citations that were checked: from memories, documents and code."""

    async def ask(
        self,
        question: str,
        sources: Sequence[str] = ("memories", "library"),
        working_dir: str | PathLike[str] | None = None,
        depth: str = "auto",
        model: str | None = None,
        *,
        on_event: Callable[[Any], Awaitable[None] | None] | None = None,
    ) -> Answer:
        """Answer a question in words, from memories, documents and, with `working_dir`, the code below that folder.

        Lists come as lists, counts with their rows, comparisons as tables, and every part with its citations. When no
        source answers, `found` is False. No model is asked unless one is named, here or in the settings; `depth` is
        "quick", "thorough" or "auto", as in `oracle_consult`. All sources share one budget, that of
        the settings. `on_event` hears what the sources do, and gets an `AnswerPart` for each of
        them as soon as it has answered.
        """
        from recollect.runs.ask import AskRequest, ask

        request = AskRequest.check(
            question=question, sources=sources, working_dir=working_dir, depth=depth, model=model
        )
        return await ask(self.settings, await self._sources(request), request, on_event=on_event)

    async def ask_dry_run(
        self,
        question: str,
        sources: Sequence[str] = ("memories", "library"),
        working_dir: str | PathLike[str] | None = None,
        depth: str = "auto",
        model: str | None = None,
    ) -> AskPlan:
        """The most that `ask` would take in requests to a model, tokens and dollars, in all and of each source.

        That of memories has what a search takes that `root_model` plans. Needs no key.
        """
        from recollect.runs.ask import AskRequest, dry_run

        request = AskRequest.check(
            question=question, sources=sources, working_dir=working_dir, depth=depth, model=model
        )
        return await dry_run(self.settings, await self._sources(request), request)

    async def _sources(self, request: AskRequest) -> list[Source]:
        """What a question is put to, as this caller sees it."""
        from recollect.codebase.source import CodeSource
        from recollect.oracle.source import LibrarySource
        from recollect.retrieval.told import MemorySource

        workspace = await self._workspace()
        able: list[Source] = [
            kind(workspace, self._context)
            for kind in (MemorySource, LibrarySource)
            if kind.name in request.sources
        ]
        if request.working_dir is not None:
            able.append(CodeSource(self._orchestrator(request.working_dir, request.model)))
        return able

    async def oracle_consult(
        self,
        problem: str,
        depth_hint: str = "auto",
        working_dir: str | PathLike[str] | None = None,
        doc_ids: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        model: str | None = None,
        max_input_tokens: int | None = None,
        *,
        session: str | None = None,
        workflow: str | None = None,
        agent: str | None = None,
        on_event: Callable[[OracleEvent], Awaitable[None] | None] | None = None,
    ) -> OracleConsultResult:
        """Answer a problem from documents of the library and code of a folder, with citations that were checked.

        Without `doc_ids` the library is searched for what is about it; `files` are globs in `working_dir` (all of it
        when not given, `!glob` leaves out). `depth_hint` is "quick" (one look), "thorough" (read step by step) or
        "auto". No model is asked unless one is named, here or in the settings. Follow-ups in the same `session` reuse
        what was read. `on_event` hears what happens.
        """
        from recollect.oracle.consult import consult
        from recollect.oracle.request import ConsultRequest

        request = ConsultRequest.check(
            problem=problem, depth_hint=depth_hint, working_dir=working_dir, doc_ids=doc_ids, files=files,
            model=model, max_input_tokens=max_input_tokens, session=session, workflow=workflow, agent=agent,
        )  # fmt: skip
        return await consult(await self._workspace(), self._context, request, on_event=on_event)

    async def oracle_dry_run(
        self,
        problem: str,
        depth_hint: str = "auto",
        working_dir: str | PathLike[str] | None = None,
        doc_ids: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        model: str | None = None,
        max_input_tokens: int | None = None,
    ) -> DryRun:
        """What `oracle_consult` would read, and the most it would take in calls, tokens and dollars. Needs no key."""
        from recollect.oracle.dry_run import dry_run
        from recollect.oracle.request import ConsultRequest

        request = ConsultRequest.check(
            problem=problem, depth_hint=depth_hint, working_dir=working_dir, doc_ids=doc_ids, files=files,
            model=model, max_input_tokens=max_input_tokens,
        )  # fmt: skip
        return await dry_run(await self._workspace(), self._context, request)

    async def advise(
        self,
        task: str,
        *,
        agent: str | None = None,
        path: str | PathLike[str] | None = None,
        notes: str = "",
        files: Sequence[str] = (),
        fail_count: int = 0,
    ) -> Sequence[Advice]:
        """Whether a task is worth a consultation or an exploration: the triggers of recipes and presets that hold.

        `path` is the folder with the code, `notes` what the project says of itself, `files` those that a change
        touches, `fail_count` how often the task has failed; `agent` names one recipe or preset. Each advice has the
        arguments for `oracle_consult` or `explore`. No model is asked; words of a task are read in English.
        """
        from recollect.oracle.advice import advise

        return await advise(
            await self._workspace(), self._context, task,
            agent=agent, path=path, notes=notes, files=files, fail_count=fail_count,
        )  # fmt: skip

    async def capabilities(self, *, days: int | None = None, limit: int = 5) -> Sequence[CapabilityGroup]:
        """What consultations missed most, requests of one meaning together; of the last days, or of all time."""
        from recollect.oracle.capabilities import top_requests

        if days is not None:
            check_whole("days", days, most=36_500)
        return await top_requests(
            await self._workspace(),
            self._context,
            days=days,
            limit=check_whole("limit", limit, most=MAX_LIMIT),
        )

    async def verify(
        self,
        result: Mapping[str, Any] | OracleConsultResult | RLMResult,
        *,
        working_dir: str | PathLike[str] | None = None,
    ) -> Verification:
        """Read every citation of a result again: quoted, moved, stale or unsupported.

        `working_dir` is where cited files are now; the folder the result was made in when not given. The result of an
        exploration is verified without the database.
        """
        from recollect.oracle.verify import verify_result

        document = result.document() if isinstance(result, OracleConsultResult | RLMResult) else result
        folder = None if working_dir is None else str(working_dir)
        return await verify_result(
            self._workspace, self._context, document, working_dir=folder, allowed_roots=self.settings.roots
        )

    async def explore(
        self,
        path: str | PathLike[str],
        query: str = "",
        context_hints: Sequence[str] | None = None,
        *,
        task_id: str | None = None,
        preset: str | None = None,
        model: str | None = None,
        max_subcalls: int | None = None,
        max_subcalls_per_iteration: int | None = None,
        timeout_seconds: float | None = None,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        audit_dir: str | PathLike[str] | None = None,
        resume: bool = False,
        on_event: Callable[[Event], Awaitable[None] | None] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> RLMResult:
        """Answer a question about the code below a folder, with checked citations. Opens no database.

        `context_hints` are paths, symbols, globs, `file:line` and pasted stack traces to begin with; `preset` is 'repo
        mapper', 'architecture surveyor', 'debugger' or 'validation'. Limits that are not given are those of the
        settings. `resume` takes up a run of the same `task_id` that broke off. Where the store is open, as in a server,
        its events tell of it too.
        """
        orchestrator = self._orchestrator(path, model, audit_dir=audit_dir)
        return await orchestrator.explore(
            task_id, query, context_hints, max_subcalls, max_subcalls_per_iteration, timeout_seconds,
            max_tokens=max_tokens, max_usd=max_usd, preset=preset, resume=resume, on_event=on_event,
            on_progress=progress,
        )  # fmt: skip

    def _orchestrator(
        self,
        path: str | PathLike[str],
        model: str | None,
        audit_dir: str | PathLike[str] | None = None,
    ) -> RLMOrchestrator:
        """What explores a folder for this caller, with what this process has read before."""
        from recollect.codebase.explore import RLMOrchestrator
        from recollect.runs.cache import Cache

        self._shared.explored = self._shared.explored or Cache()
        workspace = self._open_workspace
        return RLMOrchestrator(
            path, settings=self.settings, model=model, audit_dir=audit_dir, cache=self._shared.explored,
            context=self._context, store=None if workspace is None else workspace.store,
        )  # fmt: skip

    async def explore_dry_run(
        self,
        path: str | PathLike[str],
        query: str = "",
        context_hints: Sequence[str] | None = None,
        *,
        task_id: str | None = None,
        preset: str | None = None,
        model: str | None = None,
        max_subcalls: int | None = None,
        max_subcalls_per_iteration: int | None = None,
        timeout_seconds: float | None = None,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        audit_dir: str | PathLike[str] | None = None,
    ) -> ExplorePlan:
        """Where `explore` would begin, and the most it would take in calls, tokens and dollars. Needs no key."""
        from recollect.codebase.dry_run import dry_run
        from recollect.codebase.explore import RLMOrchestrator
        from recollect.codebase.request import ExploreRequest

        request = ExploreRequest.check(
            self.settings, query=query, task_id=task_id, context_hints=context_hints, preset=preset,
            max_subcalls=max_subcalls, max_subcalls_per_iteration=max_subcalls_per_iteration,
            timeout_seconds=timeout_seconds, max_tokens=max_tokens, max_usd=max_usd,
        )  # fmt: skip
        orchestrator = RLMOrchestrator(path, settings=self.settings, audit_dir=audit_dir)
        return await dry_run(orchestrator, request, model)


@checked
class AsyncConsultations(Face):
    """What was asked and answered: the caller's own consultations, or all of the tenant's for an admin."""

    async def list(self, *, session: str | None = None, limit: int = 50) -> Sequence[OracleConsultation]:
        """The latest consultations, the newest first; of one session, or of all."""
        from recollect.storage import oracle

        check_whole("limit", limit, most=MAX_LIMIT)
        named = None if session is None else check_name(session, what="session")
        async with self._transaction() as tx:
            return await oracle.list_consultations(tx, session=named, limit=limit)

    async def get(self, id: UUID | str) -> OracleConsultResult:
        """A consultation with its answer and citations, as they were."""
        async with self._transaction() as tx:
            consultation, result = await _get(tx, parse_id(id))
        if result is None:
            raise NotFoundError(
                f"the consultation {str(consultation.id)!r} failed and has no answer: {consultation.error_message}"
            )
        return result

    async def events(self, id: UUID | str) -> Sequence[OracleEvent]:
        """What happened in a consultation, in order."""
        from recollect.storage import oracle

        async with self._transaction() as tx:
            return await oracle.list_events(tx, (await _get(tx, parse_id(id)))[0])

    async def repeat(self, id: UUID | str) -> OracleConsultResult:
        """Ask the same again, of the documents as they are now, in a session of its own."""
        from recollect.oracle.consult import consult
        from recollect.oracle.request import ConsultRequest

        async with self._transaction() as tx:
            past, _ = await _get(tx, parse_id(id))
        request = ConsultRequest.check(
            problem=past.problem, workflow=past.workflow, agent=past.agent, **past.settings
        )
        return await consult(await self._workspace(), self._context, request)

    async def end_session(self, session: str) -> None:
        """Forget what follow-ups of a session would reuse; its consultations stay. A day without one ends it, too."""
        from recollect.oracle.sessions import end_session

        named = check_name(session, what="session")
        await end_session(await self._workspace(), self._context, named)


async def _get(tx: Transaction, id: UUID) -> tuple[OracleConsultation, OracleConsultResult | None]:
    from recollect.storage import oracle

    consultation = await oracle.find_consultation(tx, id)
    if consultation is None:
        raise NotFoundError(f"no consultation {str(id)!r}; `recollect consultations` lists them")
    return consultation


@checked
class AsyncExplorations(Face):
    """Explorations that were made: those in the store, where one is open, and the records in `rlm_audit_dir`.

    Needs operator: whoever explores reads the machine's disk.
    """

    async def list(self, *, limit: int = 50) -> Sequence[RLMResult]:
        """The latest explorations, the newest first."""
        from recollect.codebase.audit import list_audits

        check_whole("limit", limit, most=MAX_LIMIT)
        audits = await asyncio.to_thread(list_audits, self._folder(), limit=limit)
        results = {result.task_id: result for result in await self._stored(None, limit)}
        for _, result in audits:
            results.setdefault(result.task_id, result)
        return sorted(results.values(), key=lambda result: result.trajectory.start_time, reverse=True)[:limit]

    async def get(self, task_id: str) -> RLMResult:
        """An exploration as it was, with its steps."""
        from recollect.codebase.audit import audit_path, read_audit, result_of

        file = audit_path(self._folder(), task_id)
        for result in await self._stored(task_id, 1):
            return result
        return result_of(await asyncio.to_thread(read_audit, file), file=str(file))

    async def replay(self, task_id: str) -> RLMResult:
        """Play an exploration again from its record: no tree is read and no model is asked."""
        from recollect.codebase.audit import replay_result

        return await replay_result(await self.get(task_id))

    async def _stored(self, task_id: str | None, limit: int) -> Sequence[RLMResult]:
        """What the store has, if it is open: exploring and reading records opens none."""
        from recollect.codebase.audit import audit_path, result_of
        from recollect.storage.oracle import list_explorations

        workspace, folder = self._client._open_workspace, self._folder()
        if workspace is None:
            return []
        async with workspace.store.transaction(self._context) as tx:
            documents = await list_explorations(tx, task=task_id, limit=limit)
        files = [audit_path(folder, document["task_id"]) for document in documents]
        return [
            result_of(document, file=str(file) if file.exists() else None)
            for document, file in zip(documents, files, strict=True)
        ]

    def _folder(self) -> Path:
        from recollect.codebase.explore import default_audit_dir

        if not self._context.is_operator:
            raise ForbiddenError(
                "only an operator may read the records of explorations; add 'operator' to the context's roles"
            )
        return default_audit_dir(self._client.settings)
