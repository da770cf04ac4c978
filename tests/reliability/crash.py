"""The database is killed under writers, as `recollect doctor --crash` does, in slices of so many rounds."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from tests.reliability.results import kept, use_disk

from recollect import AsyncRecollect, Settings
from recollect.doctor.crash import examine_crashes
from recollect.storage.embedded import temporary_home

#: After so many, indexes are compared with tables and the next store begins.
ROUNDS = 50
#: It must answer again within so many seconds after each kill.
WITHIN_S = 10.0


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """Fifty rounds at a time, until there were a thousand."""
    left = (options.count or 1_000) - sum(line["rounds"] for line in kept("crash"))
    use_disk()
    while left > 0:
        left -= ROUNDS
        with temporary_home() as home:
            yield asyncio.run(_kill(Settings(home=home, embedder="wordllama")))


async def _kill(settings: Settings) -> dict[str, Any]:
    async with AsyncRecollect(settings=settings) as client:
        found = await examine_crashes(client, settings.home, rounds=ROUNDS)
        checks = [check for check in await client.doctor(indexes=True) if not check.ok]
    times = sorted(found.restarts_s)
    late = [f"answered again after {time:.1f} s" for time in times if time > WITHIN_S]
    lost = [f"{found.lost} acknowledged memories were lost"] if found.lost else []
    return {
        "load": round(os.getloadavg()[1], 1),
        "rounds": len(times),
        "acknowledged": len(found.acknowledged),
        "lost": found.lost,
        "broken": found.broken,
        "median_s": round(times[len(times) // 2], 2),
        "slowest_s": round(times[-1], 2),
        "late": late,
        "violations": [*lost, *(f"{check.name}: {check.detail}" for check in checks)],
    }
