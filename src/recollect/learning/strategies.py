"""What was learned, as searches use it: the weights that rank one, and the policy that decomposes it.

`StrategyBook.strategy_for` gives the experiment's weights, the user's, the tenant's, or the table's; whoever draws lots
also says with which probability: without propensities nothing could be learned from what was logged.
`PolicyBook.policy_for` gives the tenant's policy, never another tenant's, else the base. Both are asked once a search.
What they need is read once and kept for a while, so that a search pays nothing for it; a change made here is seen here
at once, one made elsewhere within `TTL_S`.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID

from recollect.domain.learning import EXPLORE_TILT, Choice
from recollect.domain.query import SIGNALS, QueryType, Strategy
from recollect.learning.decomposition import TrainingState, read_active
from recollect.learning.policy import DecompositionPolicy, base_policy
from recollect.learning.runs import MEMORY

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Transaction

TTL_S = 30.0
#: Callers whose weights are kept in memory, a few hundred bytes each; tenants whose policies are, ten kilobytes each.
_MAX_CALLERS, _MAX_TENANTS = 10_000, 2_000
T = TypeVar("T")


class _Book(Generic[T]):
    """What was read of a tenant, by tenant and something else, kept for a while."""

    def __init__(
        self,
        most: int,
        *,
        enabled: bool = True,
        explore: float = 0.0,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.enabled = enabled
        self.explore = explore
        self._most = most
        self._timer = timer
        self._known: dict[tuple[str, str], tuple[T, float]] = {}

    def forget(self, tenant_id: str) -> None:
        """Ask the store again: something was learned, started or stopped in this tenant."""
        for key in [key for key in self._known if key[0] == tenant_id]:
            del self._known[key]

    async def _look_up(self, tx: Transaction, detail: str, read: Callable[[], Awaitable[T]]) -> T:
        key, now = (tx.context.tenant_id, detail), self._timer()
        known = self._known.get(key)
        if known is not None and now < known[1]:
            return known[0]
        value = await read()
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = (value, now + TTL_S)
        return value


class PolicyBook(_Book[DecompositionPolicy]):
    """Decomposition policies of the tenants that asked lately.

    `explore` is the share of choices that may be drawn by lot; a tenant whose training has come further draws less.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(_MAX_TENANTS, **options)

    async def policy_for(self, tx: Transaction) -> DecompositionPolicy:
        """The policy of the caller's tenant."""

        async def read() -> DecompositionPolicy:
            row = await tx.get_row("decomposition_policy", environment=MEMORY)
            state = TrainingState() if row["training"] is None else TrainingState.read(row["training"])
            return read_active(row).exploring(min(self.explore, state.exploration_rate))

        return await self._look_up(tx, MEMORY, read) if self.enabled else base_policy()


@dataclass(frozen=True, slots=True)
class _Known:
    """What replaces the table for one caller."""

    learned: Mapping[tuple[str, str], Mapping[str, float]]
    experiment: Mapping[str, Any] | None


class StrategyBook(_Book[_Known]):
    """Strategies of all callers of a workspace, as far as they were asked for lately."""

    def __init__(self, *, draw: Callable[[], float] = random.random, **options: Any) -> None:
        super().__init__(_MAX_CALLERS, **options)
        self._draw = draw

    async def strategy_for(
        self, tx: Transaction, query_type: QueryType, default: Strategy, query_id: UUID
    ) -> Choice:
        """The strategy of a question, with its arm and propensity for the event.

        `default` is the table's; its name says which kind of question this is, and stays.
        """
        if not self.enabled:
            return Choice(strategy=default)
        known = await self._look_up(tx, tx.context.user_id or "", lambda: _read_known(tx))
        usual = _learned(known, tx.context, default)
        if known.experiment is not None:
            return _drawn(known.experiment, tx.context, query_id, usual)
        if self.explore > 0:
            return self._explored(usual)
        return Choice(strategy=usual)

    def _explored(self, usual: Strategy) -> Choice:
        """Now and then a ranking that leans towards one signal, drawn with a known probability."""
        drawn = self._draw()
        if drawn >= self.explore:
            return Choice(strategy=usual, propensity=1.0 - self.explore)
        signal = SIGNALS[min(int(drawn / self.explore * len(SIGNALS)), len(SIGNALS) - 1)]
        weights = tilted(usual.weights, signal)
        return Choice(
            strategy=Strategy(name=usual.name, weights=weights, source="explore"),
            arm=f"explore/{signal}",
            propensity=self.explore / len(SIGNALS),
        )


async def _read_known(tx: Transaction) -> _Known:
    row = await tx.get_row("learned_choices", user=tx.context.user_id or "")
    policies = [p for p in row["policies"] or () if _are_weights(p["weights"])]
    experiment = row["experiment"]
    return _Known(
        learned={(p["user"], p["strategy"]): p["weights"] for p in policies},
        experiment=experiment if experiment and _is_plan(experiment["plan"]) else None,
    )


def _are_weights(weights: Mapping[str, Any]) -> bool:
    """Whether a row can be ranked by; one that can't must not break every search of its tenant."""
    return all(isinstance(weights.get(name), int | float) for name in SIGNALS)


def _is_plan(plan: Mapping[str, Any]) -> bool:
    return bool(plan.get("order")) and {"unit", "arms", "shares"} <= set(plan)


def tilted(weights: Mapping[str, float], signal: str) -> dict[str, float]:
    """The weights with more of one signal and in proportion less of the others."""
    return {
        name: (1 - EXPLORE_TILT) * weights.get(name, 0.0) + (EXPLORE_TILT if name == signal else 0.0)
        for name in SIGNALS
    }


def _learned(known: _Known, context: TenantContext, default: Strategy) -> Strategy:
    for user in (context.user_id or "", ""):
        weights = known.learned.get((user, default.name))
        if weights is not None:
            return Strategy(name=default.name, weights=weights, source="learned")
    return default


def _drawn(experiment: Mapping[str, Any], context: TenantContext, query_id: UUID, usual: Strategy) -> Choice:
    name, plan = experiment["name"], experiment["plan"]
    arm, share = assign(name, plan, context, query_id)
    if arm is None:
        return Choice(strategy=usual, propensity=share)
    weights = arm_weights(plan["arms"][arm], usual.name)
    strategy = usual if weights is None else Strategy(name=usual.name, weights=weights, source="experiment")
    return Choice(strategy=strategy, arm=f"{name}/{arm}", propensity=share)


def arm_weights(arm: Mapping[str, Any], strategy: str) -> Mapping[str, float] | None:
    """What an arm says about a kind of question: weights for it, weights for all, or nothing."""
    if strategy in arm:
        given: Mapping[str, float] = arm[strategy]
        return given
    return {name: arm[name] for name in SIGNALS} if all(name in arm for name in SIGNALS) else None


def assign(
    name: str, plan: Mapping[str, Any], context: TenantContext, query_id: UUID
) -> tuple[str | None, float]:
    """The arm of a caller or question and its share; (None, the rest) for who is not in the experiment.

    By hash: the same user (session, question) always gets the same arm, on every machine, with nothing stored.
    """
    user, session = context.user_id or "", context.session_id or ""
    subject = {"user": user, "session": f"{user}\0{session}", "query": str(query_id)}[plan["unit"]]
    digest = hashlib.blake2b(f"{context.tenant_id}\0{name}\0{subject}".encode(), digest_size=8).digest()
    point = int.from_bytes(digest, "big") / 2**64
    reached = 0.0
    for arm in plan["order"]:
        share: float = plan["shares"][arm]
        reached += share
        if point < reached:
            return arm, share
    rest = 1.0 - reached
    if rest > 1e-9:
        return None, rest
    return plan["order"][-1], share  # the shares add up to 1 but for rounding
