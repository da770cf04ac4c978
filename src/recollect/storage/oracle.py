"""Rows of consultations and explorations, of what happened in them, and of what they missed.

Both are their user's own and the admin's (row-level security). The events and requests of a consultation go with it,
and it goes with any document it quotes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.oracle import (
    CapabilityRequest,
    EventType,
    OracleConsultation,
    OracleConsultResult,
    OracleEvent,
)
from recollect.storage.rows import from_row
from recollect.storage.store import Transaction


async def insert_consultation(
    tx: Transaction,
    consultation: OracleConsultation,
    *,
    user: str,
    documents: Sequence[str],
    result: OracleConsultResult | None,
    events: Sequence[OracleEvent],
    requests: Sequence[CapabilityRequest],
    answers: Mapping[str, Any] | None = None,
) -> bool:
    """Store a consultation whole; False when a document that it quotes was removed meanwhile.

    `answers` is what models said to its calls, for the follow-ups of its session.
    """
    record = consultation.document()
    stored = await tx.execute(
        "insert_consultation",
        id=consultation.id,
        user=user,
        session=consultation.session_id,
        at=consultation.timestamp,
        outcome=consultation.outcome,
        documents=list(documents),
        document=_json({**record, "answers": answers} if answers else record),
        result=None if result is None else _json(_without_record(result)),
    )
    if not stored:
        return False
    if events:
        happened = _json([event.document() for event in events])
        await tx.execute("insert_consultation_events", id=consultation.id, user=user, events=happened)
    if requests:
        missing = _json([request.document() for request in requests])
        await tx.execute("insert_capability_requests", id=consultation.id, user=user, requests=missing)
    return True


async def insert_exploration(
    tx: Transaction, document: Mapping[str, Any], *, id: UUID, user: str, at: datetime
) -> None:
    """Store the record of an exploration, in place of an earlier one of its task by the same user."""
    task = document["task_id"]
    await tx.execute("replace_exploration", user=user, task=task)
    await tx.execute(
        "insert_consultation",
        id=id,
        user=user,
        session=task,
        at=at,
        outcome="success",
        documents=[],
        document=_json(document),
        result=None,
    )


async def list_explorations(
    tx: Transaction, *, task: str | None = None, limit: int
) -> list[Mapping[str, Any]]:
    """The records of the latest explorations, the newest first; of one task, or of all."""
    return [row["document"] for row in await tx.fetch("list_explorations", task=task, limit=limit)]


async def list_consultations(tx: Transaction, *, session: str | None, limit: int) -> list[OracleConsultation]:
    """The latest consultations, the newest first."""
    rows = await tx.fetch("list_consultations", session=session, limit=limit)
    return [OracleConsultation.read(row["document"]) for row in rows]


async def session_answers(
    tx: Transaction, *, session: str, user: str, since: datetime, limit: int
) -> list[Mapping[str, Any]]:
    """What models answered to the calls of a user's session since then, or since it was ended; the oldest first."""
    rows = await tx.fetch("session_answers", session=session, user=user, since=since, limit=limit)
    return [row["answers"] for row in rows if isinstance(row["answers"], Mapping)]


async def find_consultation(
    tx: Transaction, id: UUID
) -> tuple[OracleConsultation, OracleConsultResult | None] | None:
    """A consultation, and its result if it did not fail."""
    row = await tx.fetch_one("find_consultation", id=id)
    if row is None:
        return None
    consultation = OracleConsultation.read(row["document"])
    if row["result"] is None:
        return consultation, None
    return consultation, OracleConsultResult.read({**row["result"], "consultation": row["document"]})


async def list_events(tx: Transaction, consultation: OracleConsultation) -> list[OracleEvent]:
    """What happened in a consultation, in order."""
    return [
        from_row(
            OracleEvent,
            row,
            type=EventType(row["type"]),
            consultation_id=consultation.id,
            session_id=consultation.session_id,
            workflow=consultation.workflow,
            agent=consultation.agent,
        )
        for row in await tx.fetch("list_consultation_events", id=consultation.id)
    ]


async def list_capability_requests(
    tx: Transaction, *, since: datetime | None, limit: int
) -> list[CapabilityRequest]:
    """What was missing since a moment, the newest first."""
    return [
        from_row(CapabilityRequest, row, id=row["request_id"])
        for row in await tx.fetch("list_capability_requests", since=since, limit=limit)
    ]


async def forget_documents(tx: Transaction, documents: Sequence[UUID]) -> int:
    """Erase the consultations that quote documents which are gone, whoever asked; returns how many."""
    row = await tx.fetch_one("forget_consultations", documents=[str(document) for document in documents])
    return int(row["consultations"]) if row else 0


def _without_record(result: OracleConsultResult) -> dict[str, Any]:
    """The result as it is stored beside its record, which is not stored twice."""
    document = result.document()
    del document["consultation"]
    return document


def _json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    # What documents hold may not be storable as JSON in PostgreSQL: a NUL is the only such character.
    return json.dumps(value, allow_nan=False).replace("\\u0000", "\\ufffd")
