"""The client's faces for past runs: `r.consultations` and `r.explorations`.

Checks, hands over, decides nothing. How a consultation goes is oracle/consult.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.face import Face
from recollect.domain.codebase import RLMResult
from recollect.domain.ids import parse_id
from recollect.domain.oracle import OracleConsultation, OracleConsultResult, OracleEvent
from recollect.domain.text import MAX_LIMIT, check_name, check_whole
from recollect.errors import ForbiddenError, NotFoundError

if TYPE_CHECKING:
    from recollect.storage.store import Transaction


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
        from recollect.domain.ids import new_id
        from recollect.oracle.consult import consult
        from recollect.oracle.request import ConsultRequest

        async with self._transaction() as tx:
            past, _ = await _get(tx, parse_id(id))
        request = ConsultRequest.again(
            past.problem, past.settings, session=str(new_id()), workflow=past.workflow, agent=past.agent
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
        found = {result.task_id: result for result in await self._stored(None, limit)}
        for _, result in audits:
            found.setdefault(result.task_id, result)
        return sorted(found.values(), key=lambda one: one.trajectory.start_time, reverse=True)[:limit]

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
        files = [audit_path(folder, one["task_id"]) for one in documents]
        return [
            result_of(one, file=str(file) if file.exists() else None)
            for one, file in zip(documents, files, strict=True)
        ]

    def _folder(self) -> Path:
        from recollect.codebase.explore import default_audit_dir

        if not self._context.is_operator:
            raise ForbiddenError(
                "only an operator may read the records of explorations; add 'operator' to the context's roles"
            )
        return default_audit_dir(self._client.settings)
