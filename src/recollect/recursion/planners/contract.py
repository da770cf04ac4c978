"""The contract of planners: a `Situation` in, a `Plan` out. One plan is one step of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from recollect.domain.findings import Finding
from recollect.domain.trajectory import Choice, Step
from recollect.recursion.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What is left of the budget; None where there is no limit."""

    subcalls: int
    subcalls_this_step: int
    depth: int
    tokens: int | None
    usd: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a run stands when its planner is asked. `steps` are those so far, each with what its calls gave back."""

    query: str
    depth: int
    environment: Environment
    steps: Sequence[Step]
    findings: Sequence[Finding]
    remaining: Remaining
    last_texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that a planner wants."""

    tool: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do next. With `done` the run ends after these calls. None in `findings` keeps what the calls offer."""

    thought: str = ""
    calls: tuple[Call, ...] = ()
    findings: tuple[Finding, ...] | None = None
    next_direction: str = ""
    done: bool = False
    tokens: int = 0
    usd: float = 0.0
    model_calls: int = 0
    choice: Choice | None = None


class Planner(Protocol):
    """Decides the next step of a run. May raise `PlannerError`; the run then returns what it found."""

    @property
    def name(self) -> str:
        """`learned`, `model:<name>` or `replay`; goes into the record."""
        ...

    async def plan(self, situation: Situation) -> Plan:
        """The next step."""
        ...
