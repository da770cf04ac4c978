"""What a run tells while it goes on, and that nobody who listens can hurt it."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from rooms import Rooms, call, look, now_s, play, script

from recollect.runs.budget import Limits
from recollect.runs.engine import run
from recollect.runs.events import CallEnded, Event, FindingAdded, RunEnded, RunStarted
from recollect.runs.planners.contract import Plan


def watch(planner: object, **options: object) -> list[Event]:
    events: list[Event] = []
    play(run("?", environment=Rooms(), planner=planner, on_event=events.append, **options))  # type: ignore[arg-type]
    return events


def test_a_run_tells_its_story_in_order() -> None:
    events = watch(script(Plan(thought="begin", calls=look(1))))
    assert [event.type for event in events] == [
        "run_started",
        "step_planned",
        "call_started",
        "call_ended",
        "finding_added",
        "budget_updated",
        "step_planned",
        "budget_updated",
        "run_ended",
    ]
    assert len({event.run_id for event in events}) == 1


def test_children_tell_theirs_to_the_same_listener() -> None:
    events = watch(script(Plan(calls=(call("ask", question="below?"),)), d1=[Plan(calls=look(1))]))
    above, below = [event for event in events if isinstance(event, RunStarted)]
    assert (above.depth, above.parent_id) == (0, None)
    assert (below.depth, below.parent_id, below.query) == (1, above.run_id, "below?")
    assert [event.depth for event in events if isinstance(event, RunEnded)] == [1, 0]
    assert [event.depth for event in events if isinstance(event, FindingAdded)] == [1, 0]


def test_every_event_is_json() -> None:
    events = watch(script(Plan(calls=(*look(1), call("fall"), call("fly")))))
    for event in events:
        document = json.loads(json.dumps(event.document()))
        assert document["type"] == event.type
        assert document["run_id"] == str(event.run_id)
    errors = [event.error for event in events if isinstance(event, CallEnded)]
    assert sum(error is not None for error in errors) == 2


def test_a_listener_that_raises_is_logged_once_and_hurts_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("deaf")

    with caplog.at_level(logging.WARNING):
        result = play(run("?", environment=Rooms(), planner=script(Plan(calls=look(1, 2))), on_event=broken))
    assert len(result.findings) == 2
    [logged] = [one for one in caplog.records if "subscriber" in one.message]
    assert logged.exc_info is None, "a line, and no page of traceback on somebody's terminal"


def test_a_listener_may_be_asynchronous_and_gets_everything_in_order() -> None:
    heard: list[str] = []

    async def listen(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event.type)

    play(run("?", environment=Rooms(), planner=script(Plan(calls=look(1))), on_event=listen))
    assert heard[0] == "run_started"
    assert heard[-1] == "run_ended"
    assert len(heard) == 9


def test_a_listener_that_hangs_does_not_hold_the_run(caplog: pytest.LogCaptureFixture) -> None:
    async def hang(event: Event) -> None:
        await asyncio.Event().wait()

    async def scenario() -> float:
        began = now_s()
        await run("?", environment=Rooms(), planner=script(Plan(calls=look(1))), on_event=hang, clock=now_s)
        return now_s() - began

    assert play(scenario()) <= 1.0, "of toy time: what a listener may take to catch up"
    assert [one.exc_info for one in caplog.records if "subscriber" in one.message] == [None]


def test_a_cancelled_run_tells_its_end() -> None:
    events: list[Event] = []

    async def scenario() -> None:
        planner = script(Plan(calls=(call("wait", room=1),)))
        limits = Limits(timeout_s=None, sub_call_timeout_s=None)
        running = asyncio.create_task(
            run("?", environment=Rooms(), planner=planner, on_event=events.append, limits=limits)
        )
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    play(scenario())
    assert isinstance(events[-1], RunEnded)
    assert events[-1].stopped_by == "cancelled"
