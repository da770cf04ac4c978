"""How long each stage of a search takes, by the stage's name, which is also its span's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from recollect import telemetry


class Stopwatch:
    """Milliseconds by name; a name that comes again adds up."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time the block takes."""
        started = time.perf_counter()
        try:
            with telemetry.span(name):
                yield
        finally:
            self.ms[name] = self.ms.get(name, 0.0) + (time.perf_counter() - started) * 1000

    def stop(self) -> dict[str, float]:
        """All stages, and the whole as `total`."""
        return {**self.ms, "total": (time.perf_counter() - self._started) * 1000}
