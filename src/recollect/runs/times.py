"""When things happened: measured while a run goes on (`LiveTimes`), or read from its record (`RecordedTimes`).

The engine asks here and nowhere else, by the place of a step or call in the run, so that a replay has the record's own
times whatever order its tasks end in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol
from uuid import UUID

from recollect.domain.ids import new_id
from recollect.domain.trajectory import Trajectory

#: The time by the clock.
utc_now = partial(datetime.now, UTC)


class Span(Protocol):
    """Something that has begun."""

    @property
    def started_at(self) -> datetime:
        """When it began."""
        ...

    def end(self) -> tuple[datetime, float]:
        """When it ended, and how many milliseconds it took."""
        ...


class Times(Protocol):
    """The times, and the id, of one run."""

    def run_id(self) -> UUID:
        """The run's id."""
        ...

    def run(self) -> Span:
        """The run begins."""
        ...

    def step(self, iteration: int) -> Span:
        """A step begins; the first is 1."""
        ...

    def call(self, iteration: int, place: int) -> Span:
        """A call begins; the first of a step is 0."""
        ...

    def child(self, iteration: int, place: int) -> Times:
        """Of the run that this call starts."""
        ...


@dataclass(frozen=True, slots=True)
class _Running:
    started_at: datetime
    began: float
    clock: Callable[[], float]

    def end(self) -> tuple[datetime, float]:
        took_s = max(0.0, self.clock() - self.began)
        # The wall clock may be set back meanwhile; the end is the beginning and what the steady clock says.
        return self.started_at + timedelta(seconds=took_s), round(took_s * 1_000, 3)


@dataclass(frozen=True, slots=True)
class LiveTimes:
    """Measured."""

    clock: Callable[[], float]
    wall: Callable[[], datetime]

    def run_id(self) -> UUID:
        """A new one."""
        return new_id()

    def run(self) -> Span:
        """Begins now."""
        return _Running(self.wall(), self.clock(), self.clock)

    def step(self, iteration: int) -> Span:
        """Begins now."""
        return self.run()

    def call(self, iteration: int, place: int) -> Span:
        """Begins now."""
        return self.run()

    def child(self, iteration: int, place: int) -> Times:
        """The same clocks."""
        return self


@dataclass(frozen=True, slots=True)
class _Recorded:
    started_at: datetime
    ended_at: datetime
    duration_ms: float

    def end(self) -> tuple[datetime, float]:
        return self.ended_at, self.duration_ms


@dataclass(frozen=True, slots=True)
class RecordedTimes:
    """Those of a record."""

    record: Trajectory

    def run_id(self) -> UUID:
        """The record's."""
        return self.record.id

    def run(self) -> Span:
        """As it was."""
        record = self.record
        return _Recorded(record.started_at, record.ended_at, record.usage.wall_time_ms)

    def step(self, iteration: int) -> Span:
        """As it was; a step that is not in the record takes no time at its end."""
        if iteration > len(self.record.steps):
            return _Recorded(self.record.ended_at, self.record.ended_at, 0.0)
        step = self.record.steps[iteration - 1]
        return _Recorded(step.started_at, step.started_at, step.duration_ms)

    def call(self, iteration: int, place: int) -> Span:
        """As it was."""
        call = self.record.steps[iteration - 1].tool_calls[place]
        return _Recorded(call.started_at, call.started_at, call.duration_ms)

    def child(self, iteration: int, place: int) -> Times:
        """Of the recorded child."""
        child = self.record.steps[iteration - 1].tool_calls[place].child
        assert child is not None
        return RecordedTimes(child)
