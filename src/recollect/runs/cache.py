"""Answers of tools, kept while a session lasts: the same call on the same material runs once.

The key is the environment's name, the tool, its parameters in canonical JSON, and the hash of the material that it
reads: a change of the material makes it another call. Two equal calls at the same time are one; when the one that runs
is cancelled, or its budget refuses it, one of those that wait takes over. A failure is told to all who wait for it and
is not kept. `clear()` forgets everything.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from recollect.runs.environment import Observation

#: The texts of a few hundred full answers.
MAX_ENTRIES = 1_024
MAX_CHARS = 20_000_000


class CacheKey(NamedTuple):
    """What makes two calls the same."""

    environment: str
    tool: str
    parameters: str
    content_hash: str


class NotRunError(Exception):
    """The call was not run at all, so nobody who waits for it has learnt anything. Never leaves the engine."""


@dataclass(slots=True)
class _Flight:
    """A call under way. The future ends with an observation, an error, or None: somebody else must run it."""

    depth: int
    landed: asyncio.Future[Observation | Exception | None]


def canonical(value: Any) -> str:
    """JSON in one spelling: keys sorted, no blanks, ASCII only. Raises for what JSON can't say."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def cache_key(environment: str, tool: str, parameters: Mapping[str, Any], content_hash: str) -> CacheKey:
    """The key of a call."""
    return CacheKey(environment, tool, canonical(dict(parameters)), content_hash)


class Cache:
    """The least recently used answers go first when there are too many. One event loop at a time."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_chars: int = MAX_CHARS) -> None:
        self._max_entries = max_entries
        self._max_chars = max_chars
        self._chars = 0
        self._entries: OrderedDict[CacheKey, tuple[Observation, int]] = OrderedDict()
        self._flights: dict[CacheKey, _Flight] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: CacheKey) -> Observation | None:
        """What is kept for a call."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: CacheKey, observation: Observation) -> None:
        """Keep an answer, and forget others for it."""
        chars = len(observation.text) + len(json.dumps(observation.value)) + len(key.parameters)
        chars += sum(len(finding.evidence) + len(finding.description) for finding in observation.findings)
        self._drop(key)
        if chars > self._max_chars or self._max_entries < 1:
            return
        self._entries[key] = (observation, chars)
        self._chars += chars
        while len(self._entries) > self._max_entries or self._chars > self._max_chars:
            self._drop(next(iter(self._entries)))

    def entries(self) -> dict[CacheKey, Observation]:
        """Everything that is kept, the least recently used first."""
        return {key: observation for key, (observation, _) in self._entries.items()}

    def clear(self) -> None:
        """Forget every answer; calls under way go on."""
        self._entries.clear()
        self._chars = 0

    async def answer(
        self,
        key: CacheKey,
        run: Callable[[], Awaitable[Observation]],
        *,
        depth: int = 0,
    ) -> Observation:
        """What is kept, or what another call of the same key is about to get, or else what `run` gives.

        What is passing is handed to those who wait for it, and not kept.

        Waiting is for calls of the same depth or deeper only. A call waits for the calls of the run it started, which
        are deeper; if those could wait for it in turn, both would wait for ever.
        """
        while True:
            kept = self.find(key)
            if kept is not None:
                return kept
            flight = self._flights.get(key)
            if flight is None:
                return await self._fly(key, run, depth)
            if flight.depth < depth:
                return await run()
            landed = await asyncio.shield(flight.landed)
            if isinstance(landed, Exception):
                raise landed
            if landed is not None:
                return landed

    async def _fly(self, key: CacheKey, run: Callable[[], Awaitable[Observation]], depth: int) -> Observation:
        flight = _Flight(depth, asyncio.get_running_loop().create_future())
        self._flights[key] = flight
        landed: Observation | Exception | None = None
        try:
            landed = await run()
            if not landed.passing:
                self.put(key, landed)
            return landed
        except NotRunError:
            raise
        except Exception as error:
            landed = error
            raise
        finally:
            del self._flights[key]
            if not flight.landed.done():
                flight.landed.set_result(landed)

    def _drop(self, key: CacheKey) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._chars -= entry[1]
