"""When things happened: measured while a run goes on (`Times`), or read from its record (`RecordedTimes`).

The engine asks here and nowhere else, so that a replay has the record's own times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.trajectory import Trajectory

#: The time by the clock.
utc_now = partial(datetime.now, UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """Something that has begun; `end()` says when it ended, and how many milliseconds it took."""

    started_at: datetime
    end: Callable[[], tuple[datetime, float]]


class Times:
    """The times and the id of one run, measured by a steady clock and the one on the wall."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], datetime] = utc_now
    ) -> None:
        self.clock, self.wall = clock, wall

    def run_id(self) -> UUID:
        """The run's id."""
        return new_id()

    def run(self) -> Span:
        """The run begins."""
        return self.begin()

    def begin(self) -> Span:
        """Anything begins."""
        began, started_at = self.clock(), self.wall()

        def end() -> tuple[datetime, float]:
            took_s = max(0.0, self.clock() - began)
            # The wall clock may be set back meanwhile; the end is the beginning and what the steady clock says.
            return started_at + timedelta(seconds=took_s), round(took_s * 1_000, 3)

        return Span(started_at, end)

    def step(self, iteration: int) -> Span:
        """A step begins; the first is 1."""
        return self.begin()


class RecordedTimes(Times):
    """Those of a record."""

    def __init__(self, record: Trajectory) -> None:
        super().__init__()
        self.record = record

    def run_id(self) -> UUID:
        """The record's."""
        return self.record.id

    def run(self) -> Span:
        """As it was."""
        return _was(self.record.started_at, self.record.ended_at, self.record.usage.wall_time_ms)

    def step(self, iteration: int) -> Span:
        """As it was; a step that is not in the record takes no time at its end."""
        if iteration > len(self.record.steps):
            return _was(self.record.ended_at, self.record.ended_at, 0.0)
        step = self.record.steps[iteration - 1]
        return _was(step.started_at, step.started_at, step.duration_ms)


def _was(started_at: datetime, ended_at: datetime, duration_ms: float) -> Span:
    return Span(started_at, lambda: (ended_at, duration_ms))
