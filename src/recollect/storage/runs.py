"""Rows of runs, and of the policies that decide what a run does.

A run is its user's own and the admin's (row-level security), like the search it served. What may be kept of one is
decided in `learning/runs.py`, what is learned from it in `learning/decomposition.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.learning import DecompositionStatus, RunSummary
from recollect.storage.learning import to_json
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Transaction


async def insert_runs(tx: Transaction, *, user: str, session: str, runs: Sequence[Mapping[str, Any]]) -> int:
    """Store runs; those that met a memory that is gone are left out."""
    return await tx.execute("insert_runs", user=user, session=session, runs=to_json(runs))


async def record_outcome(tx: Transaction, run: UUID, *, outcome: str, quality: float | None) -> bool:
    """Say what came of a run; False when there is none that the caller may know of."""
    return await tx.execute("record_run_outcome", run=run, outcome=outcome, quality=quality) > 0


async def pending_runs(tx: Transaction, *, environment: str, settled: datetime, limit: int) -> list[Row]:
    """The latest runs with an outcome that training has not seen, the oldest first."""
    rows = await tx.fetch("pending_runs", environment=environment, settled=settled, limit=limit)
    return rows[::-1]


async def settle_runs(tx: Transaction, runs: Sequence[Mapping[str, Any]], *, trained: bool) -> None:
    """Note what training took runs for (run_id, outcome, quality, reward), and whether it is done with them."""
    if runs:
        await tx.execute("settle_runs", runs=to_json(runs), trained=trained)


async def list_runs(tx: Transaction, limit: int) -> list[RunSummary]:
    """The latest runs, the newest first."""
    return [_summary(row) for row in await tx.fetch("list_runs", limit=limit)]


async def find_run(tx: Transaction, run: UUID) -> tuple[RunSummary, Mapping[str, Any]] | None:
    """A run and what was kept of its trajectory."""
    row = await tx.fetch_one("find_run", run=run)
    return None if row is None else (_summary(row), row["trajectory"])


async def count_runs(tx: Transaction) -> list[Row]:
    """Runs by environment, those that trained, and their mean reward."""
    return await tx.fetch("run_counts")


def _summary(row: Row) -> RunSummary:
    return from_row(RunSummary, row, id=row["run_id"])


# Policies -----------------------------------------------------------------------------------------


async def read_decomposition(tx: Transaction, environment: str) -> Row:
    """`active`: the id and document of the tenant's policy, or None; `training`: how training stands, or None."""
    row = await tx.fetch_one("decomposition_policy", environment=environment)
    assert row is not None
    return row


async def save_decomposition(
    tx: Transaction,
    *,
    id: UUID,
    environment: str,
    document: Mapping[str, Any],
    evaluation: Mapping[str, Any],
    runs: int,
    active: bool,
    at: datetime,
) -> None:
    """Store a policy; a candidate replaces the last candidate, an active one replaces both."""
    states = ["candidate", "active"] if active else ["candidate"]
    await tx.execute("retire_decomposition", environment=environment, states=states)
    await tx.execute(
        "insert_decomposition",
        id=id,
        environment=environment,
        weights=to_json(document),
        evaluation=to_json(evaluation),
        events=runs,
        state="active" if active else "candidate",
        at=at,
    )


async def save_training(tx: Transaction, *, environment: str, training: Mapping[str, Any], runs: int) -> None:
    """Keep how training stands."""
    await tx.execute(
        "save_decomposition_state",
        id=new_id(),
        environment=environment,
        training=to_json(training),
        events=runs,
    )


async def list_decompositions(tx: Transaction) -> list[DecompositionStatus]:
    """Decomposition policies in use, and the last ones that were turned down."""
    return [
        from_row(
            DecompositionStatus,
            row,
            id=row["policy_id"],
            environment=row["category"],
            runs=row["events"],
        )
        for row in await tx.fetch("list_decompositions")
    ]


#: Entities of each kind that tasks are made about; a sample by name, the same every time.
SAMPLE = 300


async def spoken_in_scopes(tx: Transaction, now: datetime) -> list[Row]:
    """Entities by layer and scope: entity, name, layer, label, ids."""
    return await tx.fetch("bootstrap_scopes", now=now, limit=SAMPLE)


async def spoken_entities(tx: Transaction, now: datetime) -> list[Row]:
    """Entities with their memories: entity, name, ids."""
    return await tx.fetch("bootstrap_entities", now=now, limit=SAMPLE)


async def spoken_in_periods(tx: Transaction, now: datetime) -> list[Row]:
    """Entities by quarter of a year: entity, name, quarter, ids."""
    return await tx.fetch("bootstrap_periods", now=now, limit=SAMPLE)


async def bridges(tx: Transaction, now: datetime) -> list[Row]:
    """Entities that lead to others: entity, name, kind of the other, first and second memories."""
    return await tx.fetch("bootstrap_bridges", now=now, limit=SAMPLE)
