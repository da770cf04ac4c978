"""A world of two kinds of questions, each with one split that answers it: what a policy can learn without a store."""

from __future__ import annotations

import random
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from recollect.domain.trajectory import CallRecord, Step, Trajectory, Usage
from recollect.learning.policy import DecompositionPolicy
from recollect.runs.environment import Action, Tool
from recollect.runs.planners.contract import Remaining, Situation
from recollect.runs.planners.learned import LearnedPlanner

T = TypeVar("T")
NOON = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)
#: Each look reads so much; the four of the thorough policy are all that can be wasted.
LOOK_TOKENS = 1_000
#: What answers which kind of question.
RIGHT = {"compare": "by_scope", "follow": "bridge"}


@dataclass
class ToyEnvironment:
    """Offers every split, whatever the question; `used` says what was tried."""

    kind: str
    used: list[str] = field(default_factory=list)
    name: str = "memory"
    tools: Mapping[str, Tool] = field(default_factory=dict)

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        return ""

    def actions(self, query: str, depth: int, step: int) -> Sequence[Action]:
        shared = {
            "bias": 1.0,
            "comparison": float(self.kind == "compare"),
            "multi_hop": float(self.kind == "follow"),
            "found": float(bool(self.used)),
        }
        looks = [name for name in ("search", "by_scope", "bridge") if name not in self.used]
        offers = [
            Action(template=name, calls=((name, {"query": query}),), features={**shared, "repeated": 0.0})
            for name in looks
        ]
        end = Action(template="stop", calls=(), features={**shared, "repeated": 0.0}, done=True)
        return [*offers, end]


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine that waits for nothing gives back; a loop for each would cost more than the runs."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")


def run_toy(
    kind: str, policy: DecompositionPolicy, rng: random.Random, *, number: int = 0
) -> tuple[bool, Trajectory]:
    """Whether the question was answered, and the record; a later `number` is a later run."""
    began = NOON + timedelta(seconds=number)
    environment = ToyEnvironment(kind)
    planner = LearnedPlanner(policy, rng)
    steps: list[Step] = []
    while True:
        situation = Situation(
            query=f"a secret question to {kind}",
            depth=0,
            environment=environment,
            steps=steps,
            findings=(),
            remaining=Remaining(
                subcalls=10, subcalls_this_step=5, depth=3, tokens=None, usd=None, seconds=None
            ),
        )
        plan = finished(planner.plan(situation))
        assert plan.choice is not None
        environment.used += [call.tool for call in plan.calls]
        calls = tuple(
            CallRecord(
                tool=call.tool,
                parameters=call.parameters,
                started_at=began,
                duration_ms=1.0,
                result={"text": "a secret memory"},
                tokens=LOOK_TOKENS,
            )
            for call in plan.calls
        )
        steps.append(
            Step(
                iteration=len(steps),
                thought="a secret thought",
                tool_calls=calls,
                findings=(),
                next_direction="",
                started_at=began,
                duration_ms=1.0,
                done=plan.done,
                choice=plan.choice,
            )
        )
        if plan.done:
            break
    trajectory = Trajectory(
        id=UUID(int=rng.getrandbits(128)),
        environment="memory",
        planner=planner.name,
        query=f"a secret question to {kind}",
        depth=0,
        started_at=began,
        ended_at=began,
        steps=tuple(steps),
        findings=(),
        stopped_by="done",
        usage=Usage(subcalls=len(environment.used), tokens=LOOK_TOKENS * len(environment.used)),
        policy=policy.name,
    )
    return RIGHT[kind] in environment.used, trajectory
