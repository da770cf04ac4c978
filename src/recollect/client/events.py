"""The client's faces for what goes on: `r.events`, which a server tells at `/v1/events`, and `r.traces`.

Checks, hands over, decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.ids import parse_id
from recollect.domain.memory import check_time
from recollect.domain.overview import OUTCOMES, Happening, Trace, TraceFilter
from recollect.domain.text import MAX_LIMIT, check_name, check_whole
from recollect.errors import InvalidInputError, NotFoundError

#: No search takes longer.
_HOUR_MS = 3_600_000
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)


@checked
class AsyncEvents(Face):
    """What happened to memories and in consultations during the last week, as far as the caller may know."""

    async def list(
        self,
        *,
        after: UUID | str | None = None,
        since: datetime | str | None = None,
        types: Sequence[str] | None = None,
        limit: int = 100,
    ) -> Sequence[Happening]:
        """What happened, the oldest first: `after` an event that was heard of, `since` a moment, or all of it."""
        from recollect.storage import happenings

        check_whole("limit", limit, most=MAX_LIMIT)
        if after is not None and since is not None:
            raise InvalidInputError("give either 'after' or 'since', not both")
        async with self._transaction() as tx:
            begin = check_time(since, "since") or _LONG_AGO
            if after is not None:
                begin = await happenings.get_moment(tx, parse_id(after, what="after"))
            return await happenings.happened_since(tx, begin, types=types, limit=limit)


@checked
class AsyncTraces(Face):
    """Searches as they were recorded: the caller's own, or all of the tenant's for an admin."""

    async def list(
        self,
        *,
        user: str | None = None,
        since: datetime | str | None = None,
        before: datetime | str | None = None,
        found: bool | None = None,
        outcome: str | None = None,
        min_ms: int | None = None,
        text: str | None = None,
        limit: int = 50,
    ) -> Sequence[Trace]:
        """The latest searches, the newest first: of one user, of a time, that found something or nothing.

        `outcome` is what came of them (used, context, refined, ignored, feedback), `min_ms` how long they took at
        least, `text` stands in the question, which is known only where the tenant keeps questions.
        """
        from recollect.storage.happenings import list_traces

        check_whole("limit", limit, most=MAX_LIMIT)
        if outcome is not None and outcome not in OUTCOMES:
            raise InvalidInputError(f"no outcome {outcome!r}; there are {', '.join(OUTCOMES)}")
        wanted = TraceFilter(
            user=None if user is None else check_name(user, what="user"),
            since=check_time(since, "since"),
            before=check_time(before, "before"),
            found=found,
            outcome=outcome,
            min_ms=None if min_ms is None else check_whole("min_ms", min_ms, least=0, most=_HOUR_MS),
            text=None if text is None else check_name(text, what="text"),
        )
        async with self._transaction(recorded=True) as tx:
            return await list_traces(tx, wanted, limit=limit)

    async def get(self, id: UUID | str) -> Trace:
        """One search, by the `query_id` of its results, with what it returned."""
        from recollect.storage.happenings import find_trace

        wanted = parse_id(id)
        async with self._transaction(recorded=True) as tx:
            trace = await find_trace(tx, wanted)
        if trace is None:
            raise NotFoundError(f"no search {str(wanted)!r}; `recollect traces list` shows them")
        return trace
