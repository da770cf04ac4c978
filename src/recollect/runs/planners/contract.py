"""The contract of planners: a `Situation` in, a `Plan` out. One plan is one step of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from recollect.domain.findings import Finding
from recollect.domain.trajectory import CallRecord, Choice, Step
from recollect.providers.models.purse import Purse
from recollect.runs.environment import Environment


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
class CallAnswer:
    """A call's record, and what is not in it: the text for the planner, what it offers, the limit that refused it."""

    record: CallRecord
    text: str
    findings: tuple[Finding, ...] = ()
    refused_by: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a run stands when its planner is asked. `steps` are those so far, each with what its calls gave back.

    `observed` and `memos` have an entry for each step: what its calls gave back to read, in their order, and what its
    plan asked to be handed back. `offered` is all that calls have offered so far, taken or not. A planner that asks a
    model charges it to `purse`, which sends no request that the budget has no room for.
    """

    query: str
    depth: int
    environment: Environment
    steps: Sequence[Step]
    findings: Sequence[Finding]
    remaining: Remaining
    offered: Sequence[Finding] = ()
    observed: Sequence[Sequence[CallAnswer]] = ()
    memos: Sequence[Any] = ()
    purse: Purse = field(default_factory=Purse)

    def answers(self) -> Iterator[tuple[int, int, CallAnswer]]:
        """What every call so far gave back, with its step and its place there, both counted from 1."""
        for step, answers in zip(self.steps, self.observed, strict=True):
            for place, answer in enumerate(answers, 1):
                yield step.iteration, place, answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that a planner wants."""

    tool: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do next. With `done` the run ends after these calls. None in `findings` keeps what the calls offer.

    `memo` is handed back with the next situations; no record has it.

    A planner that gives findings of its own reads what the calls give back and claims it in the next plan; if a limit
    ends the run before that, what they offered is kept after all.
    """

    thought: str = ""
    calls: tuple[Call, ...] = ()
    findings: tuple[Finding, ...] | None = None
    next_direction: str = ""
    done: bool = False
    choice: Choice | None = None
    memo: Any = None
    notes: tuple[str, ...] = ()


class EndOfRunError(Exception):
    """The run ends here: a limit was met, or a planner that replays a record knows so. Never leaves the engine."""

    def __init__(self, stopped_by: str, error: str | None = None) -> None:
        super().__init__(stopped_by)
        self.stopped_by = stopped_by
        self.error = error


class Planner(Protocol):
    """Decides the next step of a run. May raise `PlannerError`; the run then returns what it found.

    One planner serves a run and its children at the same time, so it keeps nothing between two questions. If it has
    `policy_label` and `notes`, these go into the record of each run.
    """

    @property
    def name(self) -> str:
        """`learned`, `model:<name>` or `replay`; goes into the record."""
        ...

    async def plan(self, situation: Situation) -> Plan:
        """The next step."""
        ...
