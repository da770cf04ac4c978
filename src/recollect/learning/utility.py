"""Which memories are worth recalling: `MemoryUtilityTrainer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.learning.rewards import BaselineEMA

if TYPE_CHECKING:
    from recollect.storage.store import Transaction


async def read_baseline(tx: Transaction) -> BaselineEMA:
    """The tenant's running mean of rewards."""
    from recollect.storage import learning as storage

    row = await storage.utility_state(tx)
    return BaselineEMA() if row is None else BaselineEMA(value=row["baseline"], count=row["count"])
