"""A planner for questions that want all of something: it maps the question over the material, and stops.

For models that plan badly: they read one section at a time, which is all that rows ask of them.
"""

from __future__ import annotations

from recollect.runs.planners.contract import Call, Plan, Situation


class RowsPlanner:
    """Takes the environment's own offer to map a question; what its calls offer is what was found."""

    name = "rows"

    async def plan(self, situation: Situation) -> Plan:
        """The mapping in the first step, then the end."""
        if situation.steps:
            return Plan(done=True)
        offers = situation.environment.actions(situation.query, situation.depth, 0)
        mapping = next((offer for offer in offers if offer.template.startswith("map_")), None)
        if mapping is None:
            return Plan(done=True)
        calls = tuple(Call(tool=tool, parameters=given) for tool, given in mapping.calls)
        return Plan(thought=mapping.thought, calls=calls, next_direction=mapping.template)
