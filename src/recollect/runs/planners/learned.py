"""A planner without a language model: it draws one of the environment's actions by a learned policy.

The record of a step says what was drawn, what else could have been, and how likely it was: training and off-policy
evaluation need all of it (`learning/decomposition.py`). The policy itself is `learning/policy.py`.
"""

from __future__ import annotations

import hashlib
import random

from recollect.domain.trajectory import Choice
from recollect.learning.policy import DecompositionPolicy, clean_options
from recollect.runs.environment import Action
from recollect.runs.planners.contract import Call, Plan, Situation

__all__ = ["LearnedPlanner"]


class LearnedPlanner:
    """Draws by `policy`; `explore` overrides its rate of exploration, 0 takes the best.

    Serves any number of runs and their children. What is drawn depends on the seed and the situation alone, not on
    which of two runs at the same time asked first.
    """

    def __init__(
        self,
        policy: DecompositionPolicy,
        rng: random.Random | None = None,
        *,
        explore: float | None = None,
    ) -> None:
        self.policy = policy if explore is None else policy.exploring(explore)
        self._seed = (rng or random.SystemRandom()).getrandbits(64)

    @property
    def name(self) -> str:
        """Goes into the record."""
        return "learned"

    async def plan(self, situation: Situation) -> Plan:
        """The next step: one action's calls, or the end when there is nothing left to do."""
        taken = situation.environment.actions(situation.query, situation.depth, len(situation.steps))
        actions: dict[str, Action] = {}
        for action in taken:
            actions.setdefault(action.template, action)
        if not actions:
            return Plan(thought="nothing is left to try", done=True)
        # The share of the sub-calls that is left, of those this run has and had.
        used = sum(not call.cached for step in situation.steps for call in step.tool_calls)
        unused = max(situation.remaining.subcalls, 0)
        left = unused / (unused + used) if unused + used else 0.0
        options = clean_options({name: {"left": left, **action.features} for name, action in actions.items()})
        template, probability = self.policy.draw(options, self._lots(situation))
        action = actions[template]
        return Plan(
            thought=action.thought,
            calls=tuple(Call(tool=tool, parameters=parameters) for tool, parameters in action.calls),
            next_direction=template,
            done=action.done,
            choice=Choice(
                template=template,
                probability=probability,
                features=options[template],
                options=options,
            ),
        )

    def _lots(self, situation: Situation) -> random.Random:
        """Lots of this situation's own."""
        seed = f"{self._seed}\0{situation.depth}\0{len(situation.steps)}\0{situation.query}"
        digest = hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return random.Random(int.from_bytes(digest, "big"))  # noqa: S311 - lots, not secrets
