"""A workspace of the test's own, and events made by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from recollect import Recollect, Settings, TenantContext
from recollect.client.portal import Portal
from recollect.domain.ids import new_id
from recollect.domain.learning import RetrievalEvent, ShownHit
from recollect.domain.query import Category, QueryType, Strategy
from recollect.retrieval.understand import STRATEGY_WEIGHTS
from recollect.workspace import Workspace

T = TypeVar("T")
NOON = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Bench:
    """An open workspace on a loop of its own."""

    workspace: Workspace
    portal: Portal

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self.portal.run(wait())

    def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a plain function on the workspace's loop."""

        async def go() -> Any:
            return function(*args, **named)

        return self.portal.run(go())

    def flush(self) -> None:
        self.run(self.workspace.events.flush())


@pytest.fixture
def bench(settings: Settings, store: Recollect, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr("recollect.learning.training.MIN_EVENTS", 100)
    portal = Portal()

    async def open_workspace() -> Workspace:
        return await Workspace.open(settings)

    opened = Bench(portal.run(open_workspace()), portal)
    yield opened
    opened.run(opened.workspace.close())
    portal.close()


@pytest.fixture
def rows(owner_conninfo: str, tenant_id: str) -> Callable[..., list[dict[str, Any]]]:
    """What a table holds of the test's tenant, as the database's owner sees it."""

    def read(table: str, order: str = "1") -> list[dict[str, Any]]:
        with psycopg.connect(owner_conninfo, row_factory=dict_row) as connection:
            statement = f"select * from recollect.{table} where tenant_id = %s order by {order}"
            return connection.execute(statement.encode(), [tenant_id]).fetchall()

    return read


def who(tenant_id: str, user_id: str | None = "ana", **parts: Any) -> TenantContext:
    return TenantContext(tenant_id=tenant_id, user_id=user_id, **parts)


def event(
    hits: Sequence[UUID] = (),
    *,
    terms: Sequence[str] = ("launch", "date"),
    at: datetime = NOON,
    signals: Sequence[dict[str, float]] | None = None,
    **parts: Any,
) -> RetrievalEvent:
    """A search that returned these memories, in this order."""
    shown = tuple(
        ShownHit(
            id=id,
            place=place,
            score=0.9,
            signals=signals[place - 1] if signals else {"semantic_similarity": 0.5},
        )
        for place, id in enumerate(hits, 1)
    )
    return RetrievalEvent(
        query_id=new_id(),
        at=at,
        query_type=QueryType(category=Category.EXPLORATORY),
        strategy=Strategy(name="exploratory", weights=STRATEGY_WEIGHTS["exploratory"]),
        hits=shown,
        terms=tuple(terms),
        **parts,
    )
