"""The client's face for past consultations: `r.consultations`. Asking is `r.oracle_consult`.

Checks, hands over, decides nothing. How a consultation goes is oracle/consult.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.client.arguments import check_whole, checked
from recollect.domain.ids import parse_id
from recollect.domain.oracle import OracleConsultation, OracleConsultResult, OracleEvent
from recollect.domain.text import check_name
from recollect.errors import NotFoundError

if TYPE_CHECKING:
    from recollect.client.host import Host

MAX_LIMIT = 1_000


@checked
class AsyncConsultations:
    """What was asked and answered: the caller's own consultations, or all of the tenant's for an admin."""

    def __init__(self, client: Host) -> None:
        self._client = client

    async def list(self, *, session: str | None = None, limit: int = 50) -> Sequence[OracleConsultation]:
        """The latest consultations, the newest first; of one session, or of all."""
        from recollect.storage import oracle

        check_whole("limit", limit, most=MAX_LIMIT)
        named = None if session is None else check_name(session, what="session")
        workspace = await self._client._workspace()
        async with workspace.store.transaction(self._client.tenant_context) as tx:
            return await oracle.list_consultations(tx, session=named, limit=limit)

    async def get(self, id: UUID | str) -> OracleConsultResult:
        """A consultation with its answer and citations, as they were."""
        from recollect.storage import oracle

        wanted = parse_id(id)
        workspace = await self._client._workspace()
        async with workspace.store.transaction(self._client.tenant_context) as tx:
            consultation = await oracle.find_consultation(tx, wanted)
        if consultation is None:
            raise NotFoundError(f"no consultation {str(wanted)!r}; `recollect consultations` lists them")
        if consultation[1] is None:
            raise NotFoundError(
                f"the consultation {str(wanted)!r} failed and has no answer: {consultation[0].error_message}"
            )
        return consultation[1]

    async def events(self, id: UUID | str) -> Sequence[OracleEvent]:
        """What happened in a consultation, in order."""
        from recollect.storage import oracle

        wanted = parse_id(id)
        workspace = await self._client._workspace()
        async with workspace.store.transaction(self._client.tenant_context) as tx:
            consultation = await oracle.find_consultation(tx, wanted)
            if consultation is None:
                raise NotFoundError(f"no consultation {str(wanted)!r}; `recollect consultations` lists them")
            return await oracle.list_events(tx, consultation[0])

    async def repeat(self, id: UUID | str) -> OracleConsultResult:
        """Ask the same again, of the documents as they are now, in a session of its own."""
        from recollect.domain.ids import new_id
        from recollect.oracle.consult import consult
        from recollect.oracle.request import ConsultRequest
        from recollect.storage import oracle

        wanted = parse_id(id)
        workspace, context = await self._client._workspace(), self._client.tenant_context
        async with workspace.store.transaction(context) as tx:
            consultation = await oracle.find_consultation(tx, wanted)
        if consultation is None:
            raise NotFoundError(f"no consultation {str(wanted)!r}; `recollect consultations` lists them")
        past = consultation[0]
        request = ConsultRequest.again(
            past.problem, past.settings, session=str(new_id()), workflow=past.workflow, agent=past.agent
        )
        return await consult(workspace, context, request)

    async def end_session(self, session: str) -> None:
        """Forget what follow-ups of a session would reuse; its consultations stay. A day without one ends it, too."""
        from recollect.oracle.sessions import end_session

        named = check_name(session, what="session")
        await end_session(await self._client._workspace(), self._client.tenant_context, named)
