"""Orders."""
from __future__ import annotations

import json as js
from .money import (Amount, round_up as up)  # both

LIMIT = 10


@cached
def total(order: Order, *, tax: float = 0.2) -> Amount:
    """The sum of an order.

    More.
    """
    def add(line):
        return line.price
    return up(sum(map(add, order.lines)))


class Order(Base, mixins.Dated):
    """Something that was bought."""

    state: str = "new"

    async def pay(self, amount):
        local = amount
        await self.gateway.charge(amount)
