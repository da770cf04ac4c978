"""What happened in a tenant, for whoever watches: `Happening`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class MemoryEvent(StrEnum):
    """What can happen to memories. Consultations have event types of their own (domain/oracle.py)."""

    ADDED = "memory_added"
    UPDATED = "memory_updated"
    SUPERSEDED = "memory_superseded"
    RESTORED = "memory_restored"
    DELETED = "memory_deleted"


class ExplorationEvent(StrEnum):
    """What an exploration of code tells while it goes on."""

    STARTED = "exploration_started"
    THINKING = "exploration_thinking"
    TOOL_CALL = "exploration_tool_call"
    FINDING = "exploration_finding"
    BUDGET = "exploration_budget"
    COMPLETED = "exploration_completed"
    FAILED = "exploration_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened. `detail` has ids and counts of memories, never their text; `scope` is where it was.

    Of a consultation or an exploration, `detail` is what it tells while it goes on, and only its user and admins hear
    of it.
    """

    id: UUID
    at: datetime
    type: str
    user: str
    scope: str | None
    detail: Mapping[str, Any]
