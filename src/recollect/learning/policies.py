"""Which policy decomposes a tenant's questions: its own, else the base, else the prior.

Read once per tenant and kept for a while, like the strategies of `strategies.StrategyBook`: what is learned here is
used here at once, what another process learned within `TTL_S`. A tenant's policy is never given to another tenant.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.learning.decomposition import TrainingState, read_active
from recollect.learning.policy import DecompositionPolicy, base_policy
from recollect.storage import runs as storage

if TYPE_CHECKING:
    from recollect.storage.store import Transaction

TTL_S = 30.0
#: Tenants whose policies are kept in memory; about ten kilobytes each.
_MAX_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class _Known:
    policy: DecompositionPolicy
    until: float


class PolicyBook:
    """Decomposition policies of the tenants that asked lately.

    `explore` is the share of choices that may be drawn by lot; a tenant whose training has come further draws less.
    """

    def __init__(
        self,
        *,
        enabled: bool = True,
        explore: float = 0.0,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.enabled = enabled
        self.explore = explore
        self._timer = timer
        self._known: dict[tuple[str, str], _Known] = {}

    async def policy_for(self, tx: Transaction, environment: str = "memory") -> DecompositionPolicy:
        """The policy of the caller's tenant."""
        if not self.enabled:
            return base_policy()
        key = (tx.context.tenant_id, environment)
        now = self._timer()
        known = self._known.get(key)
        if known is not None and now < known.until:
            return known.policy
        row = await storage.read_decomposition(tx, environment)
        state = TrainingState() if row["training"] is None else TrainingState.read(row["training"])
        policy = read_active(row).exploring(min(self.explore, state.exploration_rate))
        if len(self._known) >= _MAX_KEPT:
            self._known.clear()
        self._known[key] = _Known(policy, now + TTL_S)
        return policy

    def forget(self, tenant_id: str) -> None:
        """Ask the store again: something was learned in this tenant."""
        for key in [key for key in self._known if key[0] == tenant_id]:
            del self._known[key]
