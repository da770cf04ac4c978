"""The client's face for what was asked: `r.traces`.

Checks, hands over, decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.face import Face
from recollect.domain.ids import parse_id
from recollect.domain.memory import check_time
from recollect.domain.overview import Trace
from recollect.domain.text import MAX_LIMIT, check_name, check_whole
from recollect.errors import NotFoundError


@checked
class AsyncTraces(Face):
    """Searches as they were recorded: the caller's own, or all of the tenant's for an admin."""

    async def list(
        self,
        *,
        user: str | None = None,
        since: datetime | str | None = None,
        before: datetime | str | None = None,
        silent: bool = False,
        limit: int = 50,
    ) -> Sequence[Trace]:
        """The latest searches, the newest first; of one user, of a time, or only those that found nothing."""
        from recollect.storage.happenings import list_traces

        check_whole("limit", limit, most=MAX_LIMIT)
        whose = None if user is None else check_name(user, what="user")
        begin, end = check_time(since, "since"), check_time(before, "before")
        async with self._transaction(recorded=True) as tx:
            return await list_traces(tx, limit=limit, user=whose, since=begin, before=end, silent=silent)

    async def get(self, id: UUID | str) -> Trace:
        """One search, by the `query_id` of its results, with what it returned."""
        from recollect.storage.happenings import find_trace

        wanted = parse_id(id)
        async with self._transaction(recorded=True) as tx:
            trace = await find_trace(tx, wanted)
        if trace is None:
            raise NotFoundError(f"no search {str(wanted)!r}; `recollect traces list` shows them")
        return trace
