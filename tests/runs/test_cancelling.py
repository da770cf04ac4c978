"""Ending a run from outside, at any moment: what was found comes back, and no task is left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from rooms import Rooms, Scripted, call, look, now_s, play, script

from recollect.domain.trajectory import Trajectory
from recollect.runs.budget import Limits
from recollect.runs.cache import Cache
from recollect.runs.engine import run
from recollect.runs.environment import CallContext, Observation, Tool
from recollect.runs.planners.contract import Plan, Situation


class Nothing(BaseModel):
    pass


def found(result: Trajectory) -> list[str]:
    return [one.description for one in result.findings]


async def until(condition: Any) -> None:
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


def test_a_hanging_tool_is_given_up_and_the_rest_goes_on() -> None:
    async def scenario() -> None:
        rooms = Rooms()
        planner = script(Plan(calls=(call("wait", room=1), *look(2))), Plan(calls=look(3)))
        result = await run("?", environment=rooms, planner=planner, limits=Limits(sub_call_timeout_s=3))
        assert found(result) == ["room 2", "room 3"]
        assert result.stopped_by == "done"
        assert result.steps[0].tool_calls[0].error == "no answer within 3 s"

    play(scenario())


def test_the_wall_clock_returns_what_was_found() -> None:
    async def scenario() -> None:
        rooms = Rooms()
        planner = script(Plan(calls=look(1)), Plan(calls=(*look(2), call("wait", room=3))))
        result = await run("?", environment=rooms, planner=planner, limits=Limits(timeout_s=5), clock=now_s)
        assert result.stopped_by == "timeout"
        assert found(result) == ["room 1", "room 2"]
        cut = result.steps[-1].tool_calls[1]
        assert (cut.tool, cut.error) == ("wait", "cut short: the run ended before the call did")
        assert result.usage.subcalls == 3

    play(scenario())


def test_the_wall_clock_holds_while_a_planner_thinks() -> None:
    async def think(situation: Situation) -> Plan:
        await asyncio.Event().wait()
        return Plan()

    async def scenario() -> None:
        planner = script(Plan(calls=look(1)), think)
        result = await run("?", environment=Rooms(), planner=planner, limits=Limits(timeout_s=5), clock=now_s)
        assert (result.stopped_by, found(result)) == ("timeout", ["room 1"])

    play(scenario())


def test_a_stop_event_makes_the_run_return() -> None:
    async def scenario() -> None:
        rooms = Rooms()
        stop = asyncio.Event()
        planner = script(Plan(calls=look(1)), Plan(calls=(call("wait", room=3),)))
        running = asyncio.create_task(run("?", environment=rooms, planner=planner, stop=stop))
        await until(lambda: 3 in rooms.entered)
        stop.set()
        result = await running
        assert (result.stopped_by, found(result)) == ("cancelled", ["room 1"])

    play(scenario())


def test_a_stop_event_interrupts_a_planner() -> None:
    async def think(situation: Situation) -> Plan:
        stop.set()
        await asyncio.Event().wait()
        return Plan()

    stop = asyncio.Event()

    async def scenario() -> None:
        result = await run("?", environment=Rooms(), planner=script(Plan(calls=look(1)), think), stop=stop)
        assert (result.stopped_by, found(result)) == ("cancelled", ["room 1"])

    play(scenario())


def test_cancelling_the_task_hands_the_record_to_on_end_and_stays_a_cancellation() -> None:
    async def scenario() -> None:
        rooms = Rooms()
        ended: list[Trajectory] = []
        planner = script(Plan(calls=look(1)), Plan(calls=(*look(2), call("wait", room=3))))
        running = asyncio.create_task(run("?", environment=rooms, planner=planner, on_end=ended.append))
        await until(lambda: {2, 3} <= set(rooms.entered))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        [result] = ended
        assert result.stopped_by == "cancelled"
        assert found(result) == ["room 1", "room 2"]
        assert len(result.steps) == 2

    play(scenario())


def test_cancelling_from_far_above_keeps_what_children_found() -> None:
    async def scenario() -> None:
        rooms = Rooms()
        ended: list[Trajectory] = []
        ask = call("ask", question="deeper?")
        planner = Scripted(
            {
                0: [Plan(calls=(*look(1), ask))],
                1: [Plan(calls=look(2)), Plan(calls=(ask,))],
                2: [Plan(calls=look(3)), Plan(calls=(call("wait", room=4),))],
            }
        )
        running = asyncio.create_task(run("?", environment=rooms, planner=planner, on_end=ended.append))
        await until(lambda: 4 in rooms.entered)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        [result] = ended
        assert found(result) == ["room 1", "room 2", "room 3"]
        child = result.steps[0].tool_calls[1].child
        assert child is not None
        assert child.stopped_by == "cancelled"
        assert result.usage.subcalls == 6
        assert result.usage.max_depth == 2

    play(scenario())


@pytest.mark.parametrize("moment", range(0, 60))
def test_cancelling_at_any_await_loses_nothing_and_leaves_nothing(moment: int) -> None:
    async def scenario() -> None:
        rooms = Rooms()
        ended: list[Trajectory] = []
        planner = Scripted(
            {
                0: [
                    Plan(calls=look(1)),
                    Plan(calls=(*look(2), call("ask", question="?"))),
                    Plan(calls=look(5)),
                ],
                1: [Plan(calls=look(3)), Plan(calls=look(4))],
            }
        )
        running = asyncio.create_task(run("?", environment=rooms, planner=planner, on_end=ended.append))
        for _ in range(moment):
            await asyncio.sleep(0)
        was_done = running.done()
        running.cancel()
        outcome = await asyncio.gather(running, return_exceptions=True)
        if moment == 0:
            assert ended == [], "it never began"
        else:
            [result] = ended
            assert isinstance(outcome[0], Trajectory if was_done else (Trajectory, asyncio.CancelledError))
            assert set(found(result)) == {f"room {room}" for room in rooms.entered}
            assert result.usage.subcalls <= 6

    play(scenario())


def test_a_tool_that_ignores_its_cancellation_does_not_hold_the_run(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        rooms = Rooms()
        leave = asyncio.Event()

        async def deaf(nothing: Any, context: CallContext) -> Observation:
            while not leave.is_set():
                try:
                    await leave.wait()
                except asyncio.CancelledError:
                    continue
            return Observation(value=1)

        rooms.extra["deaf"] = Tool(name="deaf", description="", parameters=Nothing, run=deaf)
        planner = script(Plan(calls=(call("deaf"), *look(1))), Plan(calls=look(2)))
        result = await run("?", environment=rooms, planner=planner, limits=Limits(sub_call_timeout_s=3))
        assert found(result) == ["room 1", "room 2"]
        assert "left behind" in caplog.text
        leave.set()

    play(scenario())


def test_a_tool_that_cancels_itself_is_only_that_call() -> None:
    async def suicidal(nothing: Any, context: CallContext) -> Observation:
        raise asyncio.CancelledError

    async def scenario() -> None:
        rooms = Rooms()
        rooms.extra["odd"] = Tool(name="odd", description="", parameters=Nothing, run=suicidal)
        result = await run("?", environment=rooms, planner=script(Plan(calls=(call("odd"), *look(1)))))
        assert found(result) == ["room 1"]
        assert result.steps[0].tool_calls[0].error == "the call cancelled itself"

    play(scenario())


def test_a_cancelled_run_leaves_its_shared_call_to_the_one_that_waits_for_it() -> None:
    async def scenario() -> None:
        rooms = Rooms()
        cache = Cache()
        planner = script(Plan(calls=(call("wait", room=1),)))
        first = asyncio.create_task(run("?", environment=rooms, planner=planner, cache=cache))
        await until(lambda: rooms.entered == [1])
        second = asyncio.create_task(run("?", environment=rooms, planner=planner, cache=cache))
        for _ in range(20):
            await asyncio.sleep(0)
        assert rooms.entered == [1], "the second waits for the first"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await until(lambda: rooms.entered == [1, 1])
        rooms.gate.set()
        result = await second
        assert found(result) == ["room 1"]
        assert not result.steps[0].tool_calls[0].cached

    play(scenario())
