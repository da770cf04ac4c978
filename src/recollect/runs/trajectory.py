"""The record of a run as JSON, out and in, and playing it again.

`replay` runs the engine itself: plans come from the record (`planners/replay.py`), and so do the results of calls and
the times. No model is asked and no material is read; the same record comes out, byte for byte. The shape is that of
`domain/trajectory.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from recollect.domain.trajectory import STOPPED_BY, VERSION, Trajectory
from recollect.errors import InvalidInputError
from recollect.runs.budget import Budget, Limits
from recollect.runs.cache import Cache
from recollect.runs.engine import Loop
from recollect.runs.events import Publisher
from recollect.runs.planners.contract import Call, CallAnswer, Plan
from recollect.runs.planners.replay import ReplayPlanner
from recollect.runs.times import RecordedTimes, Span

#: The record itself says where the run ended; no limit may end its replay before.
_ENDLESS = Limits(
    max_subcalls=10**9,
    max_subcalls_per_step=10**9,
    max_steps=10**9,
    max_depth=10**9,
    timeout_s=None,
    sub_call_timeout_s=None,
    planner_timeout_s=None,
    max_idle_steps=10**9,
    max_findings=10**9,
)


def to_json(trajectory: Trajectory) -> str:
    """A record as text, always in the same spelling: ASCII, so that any text in it survives any file."""
    return json.dumps(trajectory.document(), allow_nan=False, separators=(",", ":"))


def read_trajectory(document: Mapping[str, Any] | str | bytes) -> Trajectory:
    """A record from its JSON, as text or as values. `InvalidInputError` says what is wrong with it."""
    values = _parse(document) if isinstance(document, (str, bytes)) else document
    if not isinstance(values, Mapping) or "steps" not in values:
        raise InvalidInputError("this is no record of a run: it has no 'steps'")
    version = values.get("version")
    if version != VERSION:
        raise InvalidInputError(
            f"the record has version {version!r} and this Recollect reads {VERSION}; a newer one may have written it"
        )
    try:
        record = Trajectory.read(values)
        record.document()
    except KeyError as error:
        raise InvalidInputError(f"the record is damaged: something in it has no {error}") from error
    except (AttributeError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the record is damaged: {error}") from error
    if record.stopped_by not in STOPPED_BY:
        raise InvalidInputError(f"the record is damaged: {record.stopped_by!r} is no way for a run to end")
    return record


def _parse(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise InvalidInputError("the record is damaged: it is not UTF-8") from error
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg:
            raise InvalidInputError(
                f"the record breaks off at line {error.lineno}, column {error.colno}: it was not written to its end; "
                "run the question again"
            ) from error
        raise InvalidInputError(f"the record is damaged: {error}") from error


async def replay(document: Mapping[str, Any] | str | bytes | Trajectory) -> Trajectory:
    """Play a recorded run again, from its record alone."""
    record = document if isinstance(document, Trajectory) else read_trajectory(document)
    budget = Budget(_ENDLESS)
    budget.depth = record.depth
    #: The name of the material, and nothing else of it.
    environment: Any = SimpleNamespace(name=record.environment)
    loop = _Replay(
        query=record.query,
        environment=environment,
        planner=ReplayPlanner(record),
        budget=budget,
        cache=Cache(),
        publisher=Publisher(None),
        times=RecordedTimes(record),
        calls=RecordedCalls(record),
        limits=record.limits,
    )
    return await loop.go()


class _Replay(Loop):
    """The record says how it ended, and its planner says so: a run may be cut short in the step meant as its last."""

    def _over(self, plan: Plan) -> str | None:
        return None


class RecordedCalls:
    """Gives back what the record says, and plays the runs that calls started."""

    def __init__(self, record: Trajectory) -> None:
        self._record = record

    async def answer(self, call: Call, *, span: Span, iteration: int, place: int) -> CallAnswer:
        """The recorded outcome."""
        recorded = self._record.steps[iteration - 1].tool_calls[place]
        child = None if recorded.child is None else await replay(recorded.child)
        return CallAnswer(record=replace(recorded, child=child), text="")
