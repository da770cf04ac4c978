"""Names that were guessed and turned out right become aliases.

A misspelt or shortened name in a question is read as a similar one. When a memory about that entity then served,
the caller meant it, and the next question finds it by the alias. Guesses stay in this process, and not for long: the
words of questions are not stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.domain.learning import Guess, RetrievalEvent
from recollect.storage import entities as storage

if TYPE_CHECKING:
    from recollect.storage.store import Transaction

#: Searches whose guesses are kept; somebody who reports a use later than that teaches no alias.
_KEPT = 1_000
#: How sure an alias is that proved right once; the short form of a name is as sure.
PROVEN = 0.95


class Guesses:
    """The guesses of the latest searches."""

    def __init__(self) -> None:
        self._by_search: OrderedDict[UUID, tuple[Guess, ...]] = OrderedDict()

    def note(self, event: RetrievalEvent) -> None:
        """Remember what a search guessed, if it did."""
        if event.guesses:
            self._by_search[event.query_id] = event.guesses
            if len(self._by_search) > _KEPT:
                self._by_search.popitem(last=False)

    async def confirm(self, tx: Transaction, query_id: UUID, memory_ids: Collection[UUID]) -> None:
        """Memories of a search served: learn the guesses about what they name."""
        guesses = self._by_search.get(query_id, ())
        if not guesses or not memory_ids:
            return
        named = await storage.named_among(tx, [guess.entity for guess in guesses], memory_ids)
        for guess in guesses:
            if guess.entity in named:
                await storage.learn_alias(
                    tx, guess.alias, guess.entity, confidence=max(guess.confidence, PROVEN)
                )
