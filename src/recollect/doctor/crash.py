"""Kill the database under writers, again and again: it must come back, with all that was acknowledged.

It runs on a store of its own, never on one that holds anything: whoever calls it makes that store and throws it away.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Protocol
from uuid import UUID

from recollect.domain.results import Check
from recollect.errors import MemoryNotFoundError, StoreError, StoreUnreachableError
from recollect.storage import embedded

WRITERS = 3
#: The server is killed at any moment of the first so many seconds of writing.
_LATEST_S = 0.5
#: A store that does not answer for so long after a kill is given up.
_PATIENCE_S = 120.0


class Client(Protocol):
    """What is asked of the client under which the server dies."""

    async def add(self, text_or_messages: str, /) -> Any:
        """Store a memory."""

    async def get(self, memory_id: UUID, /) -> Any:
        """Read it again."""


@dataclass(slots=True, kw_only=True)
class Crashes:
    """What came of killing the server: what was acknowledged and lost, and when it answered again."""

    acknowledged: list[UUID] = field(default_factory=list)
    restarts_s: list[float] = field(default_factory=list)
    broken: int = 0
    lost: int = 0

    def check(self) -> Check:
        """What the kills have shown, as one check."""
        return Check(
            name="crash",
            ok=self.lost == 0,
            detail=f"{len(self.restarts_s)} rounds of kill -9 under {WRITERS} writers: {self.lost} of"
            f" {len(self.acknowledged)} acknowledged memories lost, {self.broken} calls under way broke off; it"
            f" answered again after {median(self.restarts_s):.2f} s, {max(self.restarts_s):.2f} s at most",
            advice="the disk may not keep what it says is written; move RECOLLECT_HOME to another"
            if self.lost
            else "",
        )


async def examine_crashes(
    client: Client, home: Path, *, rounds: int, progress: Callable[[int, int], object] | None = None
) -> Crashes:
    """Kill the server of a home so many times; tells what was lost and how long it took to answer again."""
    tally = Crashes()
    texts = (f"Parcel {number} was handed over." for number in count())
    # The first one waits for the embedder, which is not to be measured.
    tally.acknowledged.append((await client.add(next(texts))).id)
    for done in range(rounds):
        await _kill_once(client, home, texts, tally)
        if progress is not None:
            progress(done + 1, rounds)
    for memory_id in tally.acknowledged:
        try:
            await client.get(memory_id)
        except MemoryNotFoundError:
            tally.lost += 1
    return tally


async def _find_server(home: Path) -> int:
    """The process of the server; one that has just begun is seen a moment later than it answers."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        pid = (await asyncio.to_thread(embedded.status, home)).pid
        if pid is not None:
            return pid
        await asyncio.sleep(0.05)
    raise StoreUnreachableError(f"the database server in {str(home)!r} is gone before it was killed")


async def _kill_once(client: Client, home: Path, texts: Iterator[str], tally: Crashes) -> None:
    """One round: writers write, the server is killed, and each of them goes on until it was answered again."""
    killed_at = float("inf")
    answered: list[float] = []

    async def write() -> None:
        while True:
            began = time.monotonic()
            try:
                memory = await client.add(next(texts))
            except StoreError:
                # It was under way when the server died.
                tally.broken += 1
                if began - killed_at > _PATIENCE_S:
                    raise
                continue
            tally.acknowledged.append(memory.id)
            if began > killed_at:
                answered.append(time.monotonic())
                return

    writers = [asyncio.create_task(write()) for _ in range(WRITERS)]
    await asyncio.sleep(random.uniform(0, _LATEST_S))  # noqa: S311
    os.kill(await _find_server(home), signal.SIGKILL)
    killed_at = time.monotonic()
    await asyncio.gather(*writers)
    tally.restarts_s.append(min(answered) - killed_at)
