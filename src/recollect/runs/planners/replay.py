"""A planner that says what a record says, step by step, and ends the run as the record ends."""

from __future__ import annotations

from recollect.domain.trajectory import Trajectory
from recollect.providers.models.purse import Spent
from recollect.runs.planners.contract import Call, EndOfRunError, Plan, Situation

__all__ = ["ReplayPlanner"]


class ReplayPlanner:
    """Of one recorded run; its plans bring the findings that the record has."""

    def __init__(self, record: Trajectory) -> None:
        self.name = record.planner
        self.policy_label = record.policy
        self.notes = record.notes
        self._record = record

    async def plan(self, situation: Situation) -> Plan:
        """The record's plan of this step; `EndOfRunError` after its last."""
        at, record = len(situation.steps), self._record
        if at >= len(record.steps):
            raise EndOfRunError(record.stopped_by, record.error)
        step = record.steps[at]
        if step.planner_tokens or step.planner_usd or step.planner_calls:
            spent = Spent(requests=step.planner_calls, input_tokens=step.planner_tokens, usd=step.planner_usd)
            situation.purse.settle(record.planner, (0, 0.0), spent)
        before = len(record.steps[at - 1].findings) if at else 0
        return Plan(
            thought=step.thought,
            calls=tuple(Call(tool=call.tool, parameters=call.parameters) for call in step.tool_calls),
            findings=step.findings[before:],
            next_direction=step.next_direction,
            done=step.done,
            choice=step.choice,
        )
