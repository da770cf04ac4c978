"""A long time of ordinary work: what the processes hold of memory, handles and connections must not grow."""

from __future__ import annotations

import os
import random
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import psycopg
from tests.surfaces.serving import serving

from recollect import Recollect, Settings
from recollect.errors import MemoryNotFoundError
from recollect.storage.embedded import ensure_running, temporary_home

#: By how much the last quarter may exceed the second: caches that fill, and pages that a heap keeps.
GROWTH = 1.10
#: A store that grows takes more memory for good reasons, so its size stays the same.
MEMORIES = 300


def held(process: int) -> tuple[int, int]:
    """The resident kilobytes and open handles of a process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    kilobytes = int(status.split("VmRSS:")[1].split()[0])
    return kilobytes, len(os.listdir(f"/proc/{process}/fd"))


def work(client: Recollect, ids: list[Any]) -> None:
    """A few calls, as an agent makes them."""
    number = random.randrange(1_000)
    ids.append(client.add(f"Crate {uuid4().hex[:8]} of order {number} is in hall {number % 7}.").id)
    client.search(f"Which hall is order {number} in?")
    client.context("What is in hall 3?")
    with suppress(MemoryNotFoundError):
        client.update(random.choice(ids), importance=0.7)
    client.list(limit=20)
    if len(ids) > MEMORIES:
        client.delete(ids.pop(0), vacuum=False)


def growth(samples: list[int]) -> float:
    """How much larger the last quarter is than the second."""
    quarter = max(1, len(samples) // 4)
    return median(samples[-quarter:]) / max(1, median(samples[quarter : 2 * quarter]))


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """An hour, or so many seconds as `--count` says, of a client and a server."""
    seconds = options.count or 3_600
    samples: dict[str, list[int]] = {}
    calls = 0
    with temporary_home() as home:
        owner = ensure_running(home).owner
        environ = {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "wordllama"}
        settings = Settings(home=home, embedder="wordllama")
        with Recollect(settings=settings) as near, serving(environ) as (server, url):
            token = near.keys.create("soak", user="ana").token
            with (
                Recollect(url=url, api_key=token) as far,
                psycopg.connect(owner, autocommit=True) as admin,
            ):
                ids: dict[Recollect, list[Any]] = {near: [], far: []}
                ends, sample_at = time.monotonic() + seconds, 0.0
                while time.monotonic() < ends:
                    for client, own in ids.items():
                        work(client, own)
                        calls += 6
                    if time.monotonic() < sample_at:
                        continue
                    sample_at = time.monotonic() + seconds / 120
                    [[connections]] = admin.execute("select count(*) from pg_stat_activity").fetchall()
                    values = {"connections": connections}
                    for name, process in {"client": os.getpid(), "server": server.pid}.items():
                        values[f"{name}_kb"], values[f"{name}_handles"] = held(process)
                    for name, value in values.items():
                        samples.setdefault(name, []).append(value)
    grown = {name: round(growth(values), 3) for name, values in samples.items()}
    yield {
        "seconds": seconds,
        "calls": calls,
        "grown": grown,
        "violations": [f"{name} grew {by:g} times" for name, by in grown.items() if by > GROWTH],
    }
