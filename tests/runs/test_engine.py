"""The loop: what planners see, what calls become, what stops a run, and that nothing found is lost."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from rooms import Misbehaving, Rooms, Scripted, call, finding, look, pay, planned_steps, play, says, script
from tests.profiles import examples

from recollect.domain.trajectory import STOPPED_BY, CallRecord, Trajectory
from recollect.errors import PlannerError
from recollect.runs.budget import Budget, Limits
from recollect.runs.cache import Cache
from recollect.runs.engine import MAX_PLANNED_CALLS, run
from recollect.runs.environment import CallContext, Observation, Tool
from recollect.runs.planners.contract import Call, Plan, Situation


def explore(planner: Any, environment: Rooms | None = None, **options: Any) -> Trajectory:
    return play(run("what hangs where?", environment=environment or Rooms(), planner=planner, **options))


def found(result: Trajectory) -> list[str]:
    return [one.description for one in result.findings]


def calls(result: Trajectory) -> list[CallRecord]:
    return [one for step in result.steps for one in step.tool_calls]


def test_a_run_looks_finds_and_records() -> None:
    rooms = Rooms()
    result = explore(script(Plan(thought="begin", calls=look(3)), Plan(calls=look(4))), rooms)

    assert found(result) == ["room 3", "room 4"]
    assert result.stopped_by == "done"
    assert rooms.entered == [3, 4]
    first, second, last = result.steps
    assert (first.iteration, first.thought, len(first.findings)) == (1, "begin", 1)
    assert [one.description for one in second.findings] == ["room 3", "room 4"]
    assert (last.done, last.tool_calls) == (True, ())
    [record] = first.tool_calls
    assert record.result == {"room": 3, "says": says(3)}
    assert record.tokens == 5
    usage = result.usage
    assert (usage.subcalls, usage.tokens, usage.cached_subcalls, usage.max_depth) == (2, 10, 0, 0)


def test_results_go_back_to_the_planner() -> None:
    planner = script(Plan(calls=(*look(3), call("fall"))), Plan(calls=look(4)))
    explore(planner)

    first, second, third = planner.situations
    assert first.steps == ()
    assert tuple(one.text for one in second.observed[-1]) == (
        says(3),
        "error: RuntimeError: the floor gave way",
    )
    assert second.steps[0].tool_calls[0].result["says"] == says(3)
    assert [one.description for one in third.findings] == ["room 3", "room 4"]
    assert first.remaining.subcalls - third.remaining.subcalls == 3


def test_the_calls_of_a_step_run_at_the_same_time() -> None:
    rooms = Rooms()

    async def open_when_both_are_in(nothing: Any, context: CallContext) -> Observation:
        while len(rooms.entered) < 2:  # noqa: ASYNC110 - the rooms know nothing of events
            await asyncio.sleep(0)
        rooms.gate.set()
        return Observation(value="open")

    rooms.extra["open"] = Tool(name="open", description="", parameters=Nothing, run=open_when_both_are_in)
    step = Plan(calls=(call("wait", room=1), call("wait", room=2), call("open")), done=True)
    assert found(explore(script(step), rooms)) == ["room 1", "room 2"]


class Nothing(BaseModel):
    pass


def test_one_failing_call_does_not_hurt_the_others() -> None:
    result = explore(script(Plan(calls=(call("fall"), *look(1), call("look", room=1_000), *look(2)))))

    assert found(result) == ["room 1", "room 2"]
    assert [one.error for one in calls(result)] == [
        "RuntimeError: the floor gave way",
        None,
        "LookupError: no room 1000",
        None,
    ]
    assert result.stopped_by == "done"
    assert result.usage.subcalls == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Call(tool="fly", parameters={}), "there is no tool 'fly'; there are ask, fall, look"),
        (call("look", room=-1), "room: Input should be greater than or equal to 0"),
        (call("look"), "room: Field required"),
        (Call(tool="look", parameters=["no mapping"]), "can't be read"),  # type: ignore[arg-type]
        (Call(tool="look", parameters=None), "can't be read"),  # type: ignore[arg-type]
        (Call(tool="look", parameters={"room": object()}), "room: Input should be a valid integer"),
        (Call(tool=None, parameters={}), "there is no tool None"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_call_is_counted_and_told_to_the_planner(wrong: Call, message: str) -> None:
    planner = script(Plan(calls=(wrong,)), Plan(calls=look(2)))
    result = explore(planner)

    error = calls(result)[0].error
    assert error is not None
    assert message in error
    assert message in planner.situations[1].observed[-1][0].text
    assert found(result) == ["room 2"]
    assert result.usage.subcalls == 2


def test_findings_accumulate_and_the_same_one_counts_once() -> None:
    result = explore(script(Plan(calls=look(1, 2)), Plan(calls=look(2, 3)), Plan(calls=look(1))))
    assert found(result) == ["room 1", "room 2", "room 3"]


def test_the_same_words_for_two_groups_are_two_findings() -> None:
    both = (finding(1, "red"), finding(1, "blue"), finding(1, "red"))
    result = explore(script(Plan(findings=both, done=True)))
    assert [one.group for one in result.findings] == ["red", "blue"]


def test_a_planner_with_findings_of_its_own_takes_what_it_wants_of_those_offered() -> None:
    planner = script(Plan(calls=look(1, 2), findings=()), Plan(findings=(finding(2),), done=True))
    assert found(explore(planner)) == ["room 2"]


def test_what_a_planner_could_not_read_any_more_is_kept() -> None:
    planner = script(Plan(calls=look(1), findings=()), Plan(calls=look(2, 3), findings=(finding(1),)))
    result = explore(planner, limits=Limits(max_subcalls=3))

    assert result.stopped_by == "subcalls"
    assert found(result) == ["room 1", "room 2", "room 3"]
    assert len(result.steps[-1].findings) == 3


@pytest.mark.parametrize(
    ("limits", "word", "entered"),
    [
        (Limits(max_subcalls=0), "subcalls", 0),
        (Limits(max_subcalls_per_step=0), "subcalls", 0),
        (Limits(max_steps=0), "steps", 0),
        (Limits(max_tokens=0), "tokens", 0),
        (Limits(max_usd=0), "usd", 0),
        (Limits(timeout_s=0), "timeout", 0),
        (Limits(max_subcalls=3), "subcalls", 3),
        (Limits(max_steps=2), "steps", 4),
        (Limits(max_tokens=17), "tokens", 3),
        (Limits(max_usd=0.07), "usd", 3),
    ],
)
def test_a_limit_ends_the_run_to_the_call_and_keeps_what_was_found(
    limits: Limits, word: str, entered: int
) -> None:
    rooms = Rooms(worst_tokens=5, usd=0.02)
    endless = Scripted({0: [Plan(calls=look(2 * step, 2 * step + 1)) for step in range(40)]})
    result = explore(endless, rooms, limits=limits)

    assert result.stopped_by == word
    assert len(rooms.entered) == len(result.findings) == entered
    assert result.usage.subcalls == entered
    assert result.error is None


def test_calls_beyond_the_step_s_allowance_are_refused_and_not_counted() -> None:
    rooms = Rooms()
    result = explore(
        script(Plan(calls=look(*range(5))), Plan(calls=look(5))),
        rooms,
        limits=Limits(max_subcalls_per_step=3),
    )

    assert [one.refused for one in calls(result)] == [False, False, False, True, True, False]
    assert rooms.entered == [0, 1, 2, 5]
    assert result.usage.subcalls == 4


def test_a_cached_call_is_free_and_counted() -> None:
    rooms = Rooms()
    cache = Cache()
    limits = Limits(max_subcalls=1)
    again = script(Plan(calls=look(1)), Plan(calls=look(1)))
    first = explore(again, rooms, cache=cache, limits=limits)
    assert first.stopped_by == "subcalls"

    second = explore(script(Plan(calls=look(1, 1)), Plan(calls=look(2))), rooms, cache=cache, limits=limits)
    assert [one.cached for one in calls(second)] == [True, True, False]
    assert found(second) == ["room 1", "room 2"]
    assert rooms.entered == [1, 2]
    usage = second.usage
    assert (usage.subcalls, usage.cached_subcalls, usage.tokens) == (1, 2, 5)


def test_changed_material_is_looked_at_again() -> None:
    rooms = Rooms()
    cache = Cache()
    explore(script(Plan(calls=look(1))), rooms, cache=cache)
    rooms.version = "v2"
    result = explore(script(Plan(calls=look(1))), rooms, cache=cache)
    assert not calls(result)[0].cached
    assert rooms.entered == [1, 1]


def test_a_planner_that_repeats_itself_is_stopped() -> None:
    rooms = Rooms()
    result = explore(Scripted({0: [Plan(calls=look(1))] * 100}), rooms)

    assert result.stopped_by == "no_progress"
    assert rooms.entered == [1]
    assert len(result.steps) == 4
    assert found(result) == ["room 1"]


@pytest.mark.parametrize("plan", [Plan(thought="hm"), Plan(calls=(call("fall"),)), Plan(findings=())])
def test_a_planner_that_gets_nowhere_is_stopped(plan: Plan) -> None:
    result = explore(Scripted({0: [plan] * 100}))
    assert result.stopped_by == "no_progress"
    assert len(result.steps) == 3


def test_a_planner_that_can_t_afford_anything_is_stopped_by_the_limit() -> None:
    rooms = Rooms(worst_tokens=50)
    result = explore(Scripted({0: [Plan(calls=look(1))] * 9}), rooms, limits=Limits(max_tokens=20))
    assert result.stopped_by == "tokens"
    assert rooms.entered == []
    assert [one.error for one in calls(result)] == ["refused: the budget has no room for it (tokens)"] * 3


def test_a_planner_that_floods_is_bounded() -> None:
    result = explore(script(Plan(calls=look(*range(5_000)))), limits=Limits(max_subcalls_per_step=2))
    assert len(calls(result)) == MAX_PLANNED_CALLS
    assert found(result) == ["room 0", "room 1"]
    assert "wanted 5000 calls" in result.notes[0]


def test_what_a_planner_raises_ends_the_run_with_what_was_found() -> None:
    def fail(situation: Situation) -> Plan:
        pay(situation.purse, 11, 0.5, requests=2)
        raise PlannerError("i don't know")

    budget = Budget(Limits())
    result = explore(script(Plan(calls=look(1)), fail), budget=budget)
    assert (result.stopped_by, result.error) == ("planner", "i don't know")
    assert found(result) == ["room 1"]
    usage = result.usage
    assert (usage.tokens, usage.usd, usage.model_calls) == (16, 0.5, 2)
    assert (budget.purse.spent.tokens, budget.purse.spent.usd) == (16, 0.5)


@pytest.mark.parametrize("broken", [lambda situation: 1 / 0, lambda situation: asyncio.sleep(0, "a plan")])
def test_a_broken_planner_ends_the_run_with_what_was_found(broken: Any) -> None:
    result = explore(script(Plan(calls=look(1)), broken))
    assert result.stopped_by == "planner"
    assert result.error
    assert found(result) == ["room 1"]


def test_a_hanging_planner_ends_the_run_with_what_was_found() -> None:
    async def hang(situation: Situation) -> Plan:
        situation.purse.hold(100, 0.0)
        await asyncio.Event().wait()
        return Plan()

    result = explore(script(Plan(calls=look(1)), hang), limits=Limits(planner_timeout_s=2))
    assert (result.stopped_by, result.error) == ("planner", "no plan within 2 s")
    assert found(result) == ["room 1"]
    assert result.usage.tokens == 105, "a request that was sent has to be paid"


def test_a_planner_pays_from_the_same_budget() -> None:
    asked: list[bool] = []

    def costly(situation: Situation) -> Plan:
        word = situation.purse.refusal(40, 0.0)
        asked.append(word is None)
        if word is not None:
            raise PlannerError("too dear", limit=word)
        pay(situation.purse, 30)
        return Plan(calls=look(len(asked)))

    result = explore(Scripted({0: [costly] * 9}), limits=Limits(max_tokens=100))
    assert asked == [True, True, False]
    assert result.stopped_by == "tokens"
    assert result.usage.tokens == 70
    assert found(result) == ["room 1", "room 2"]


def test_an_answer_too_long_is_cut_and_says_so() -> None:
    planner = script(Plan(calls=(call("shout"),)))
    result = explore(planner)
    [record] = calls(result)
    assert record.result == {"truncated_chars": 150_002, "beginning": '"' + "A" * 49_999}
    text = planner.situations[1].observed[-1][0].text
    assert text.startswith("AAA")
    assert text.endswith("[truncated: 50000 of 200000 characters]")
    assert result.notes == ("an answer of shout was cut to 50000 characters",)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), {"a": object()}])
def test_a_result_that_json_can_t_say_is_an_error_of_that_call(value: object) -> None:
    async def odd(nothing: Any, context: CallContext) -> Observation:
        return Observation(value=value)

    rooms = Rooms()
    rooms.extra["odd"] = Tool(name="odd", description="", parameters=Nothing, run=odd)
    result = explore(script(Plan(calls=(call("odd"), *look(1)))), rooms)
    assert calls(result)[0].error
    assert found(result) == ["room 1"]


@pytest.mark.parametrize(
    "broken",
    [
        {"worst": lambda parameters: (-1, 0.0)},
        {"worst": lambda parameters: (1 / 0, 0.0)},
        {"worst": lambda parameters: (0, float("inf"))},
        {"run": lambda parameters, context: None},
        {"run": lambda parameters, context: asyncio.sleep(0, "no observation")},
        {"run": lambda parameters, context: asyncio.sleep(0, Observation(value=1, tokens=-3))},
    ],
)
def test_a_broken_tool_is_an_error_of_its_calls_and_the_sums_stay_right(broken: dict[str, Any]) -> None:
    rooms = Rooms()
    good = Tool(name="odd", description="", parameters=Nothing, run=rooms._shout)
    rooms.extra["odd"] = replace(good, **broken)
    budget = Budget(Limits())
    result = explore(script(Plan(calls=(call("odd"), *look(1)))), rooms, budget=budget)
    assert calls(result)[0].error
    assert found(result) == ["room 1"]
    assert result.usage.subcalls == budget.spent_subcalls == 2
    assert result.usage.tokens == budget.purse.spent.tokens


def test_an_environment_that_can_t_hash_its_material_works_without_the_cache() -> None:
    class Unhashed(Rooms):
        def content_hash(self, tool: str, parameters: Any) -> str:
            raise OSError("no disk")

    rooms = Unhashed()
    result = explore(script(Plan(calls=look(1, 1))), rooms)
    assert rooms.entered == [1, 1]
    assert result.usage.subcalls == 2


def test_an_environment_that_breaks_ends_the_run_with_what_was_found(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Rooms):
        broken = False

        @property
        def tools(self) -> Any:
            if self.broken:
                raise OSError("the house burnt down")
            return super().tools

    rooms = Broken()

    def burn(situation: Situation) -> Plan:
        rooms.broken = True
        return Plan(calls=look(2))

    with caplog.at_level(logging.CRITICAL):
        result = explore(script(Plan(calls=look(1)), burn, burn, burn), rooms)
    assert found(result) == ["room 1"]
    assert "OSError: the house burnt down" in str(calls(result)[-1].error)


def test_findings_are_bounded() -> None:
    result = explore(script(Plan(calls=look(1, 2, 3, 4))), limits=Limits(max_findings=3))
    assert len(result.findings) == 3
    assert "more to find" in result.notes[0]


# ------------------------------------------------------------ deeper


def test_a_call_can_start_a_run_on_the_same_budget() -> None:
    rooms = Rooms()
    planner = script(Plan(calls=(call("ask", question="below?"), *look(1))), d1=[Plan(calls=look(1, 7))])
    result = explore(planner, rooms, limits=Limits(max_subcalls=10))

    assert found(result) == ["room 1", "room 7"]
    child = calls(result)[0].child
    assert child is not None
    assert (child.query, child.depth, child.stopped_by) == ("below?", 1, "done")
    assert [one.description for one in child.findings] == ["room 1", "room 7"]
    assert rooms.entered == [1, 7], "the child's look at room 1 was answered by its parent's"
    usage = result.usage
    assert (usage.subcalls, usage.cached_subcalls, usage.max_depth) == (3, 1, 1)
    assert calls(result)[0].tokens == 0
    assert usage.tokens == 10


def test_a_child_can_t_spend_more_than_its_parent_has() -> None:
    rooms = Rooms()
    planner = Scripted(
        {0: [Plan(calls=(call("ask", question="?"),))], 1: [Plan(calls=look(step)) for step in range(30)]}
    )
    result = explore(planner, rooms, limits=Limits(max_subcalls=5))
    child = calls(result)[0].child
    assert child is not None
    assert child.stopped_by == result.stopped_by == "subcalls"
    assert rooms.entered == [0, 1, 2, 3]
    assert len(result.findings) == 4


def test_a_call_beyond_the_depth_limit_is_refused_and_only_that_call() -> None:
    deeper = Plan(calls=(call("ask", question="deeper?"), *look(9)))
    planner = Scripted({depth: [deeper] for depth in range(9)})
    result = explore(planner, limits=Limits(max_depth=2))

    assert result.stopped_by == "done"
    assert found(result) == ["room 9"]
    depths = []
    record = calls(result)[0]
    while record.child is not None:
        depths.append(record.child.depth)
        record = record.child.steps[0].tool_calls[0]
    assert depths == [1, 2]
    assert record.refused
    assert "depth 3 is beyond the limit of 2" in str(record.error)
    assert result.usage.subcalls == 3
    assert result.usage.max_depth == 2


def test_a_run_that_would_begin_too_deep_does_not_begin() -> None:
    result = explore(script(Plan(calls=look(1))), limits=Limits(max_depth=1), depth=2)
    assert (result.stopped_by, result.findings) == ("depth", ())


def test_a_run_that_asks_itself_the_same_question_does_not_wait_for_itself() -> None:
    same = Plan(calls=(call("ask", question="the same?"),))
    result = explore(Scripted({0: [same], 1: [same], 2: [same], 3: [Plan(calls=look(1))]}))
    assert found(result) == ["room 1"]
    assert result.usage.max_depth == 3


def test_a_call_starts_one_run_at_most() -> None:
    async def twice(nothing: Any, context: CallContext) -> Observation:
        await context.recurse("one?")
        await context.recurse("two?")
        return Observation(value=1)

    rooms = Rooms()
    rooms.extra["twice"] = Tool(name="twice", description="", parameters=Nothing, run=twice)
    result = explore(script(Plan(calls=(call("twice"),)), d1=[Plan(calls=look(4))]), rooms)
    assert "starts one run at most" in str(calls(result)[0].error)
    assert found(result) == ["room 4"], "what the first found before the call failed is kept"


def test_part_of_an_answer_is_not_kept_for_the_whole() -> None:
    cache = Cache()
    rooms = Rooms()
    ask = Plan(calls=(call("ask", question="?"),))
    short = Scripted({0: [ask], 1: [Plan(calls=look(1)), Plan(calls=look(2))]})
    explore(short, rooms, cache=cache, limits=Limits(max_subcalls=2))
    whole = explore(short, rooms, cache=cache)
    assert found(whole) == ["room 1", "room 2"]
    assert [one.cached for one in calls(whole)] == [False]
    again = explore(short, rooms, cache=cache)
    assert [one.cached for one in calls(again)] == [True]
    assert found(again) == ["room 1", "room 2"]


def test_runs_one_after_another_can_share_a_budget() -> None:
    rooms = Rooms()
    budget = Budget(Limits(max_subcalls=3))
    first = explore(script(Plan(calls=look(1, 2))), rooms, budget=budget)
    second = explore(script(Plan(calls=look(3, 4))), rooms, budget=budget)
    assert rooms.entered == [1, 2, 3]
    assert (first.usage.subcalls, second.usage.subcalls) == (2, 1)
    assert second.stopped_by == "subcalls"


# ------------------------------------------------------------ whatever planners do

SMALL = st.builds(
    Limits,
    max_subcalls=st.integers(0, 14),
    max_subcalls_per_step=st.integers(0, 4),
    max_steps=st.integers(0, 5),
    max_depth=st.integers(0, 2),
    max_tokens=st.none() | st.integers(0, 60),
    max_usd=st.none() | st.integers(0, 9).map(lambda cents: cents / 100),
    timeout_s=st.none(),
)


@settings(
    max_examples=examples(250), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(planned_steps(), SMALL)
def test_no_planner_gets_past_a_limit_and_the_record_adds_up(steps: Any, limits: Limits) -> None:
    rooms = Rooms(worst_tokens=9, real_tokens=5, usd=0.01)
    budget = Budget(limits)
    logging.disable(logging.WARNING)
    try:
        result = asyncio.run(run("root", environment=rooms, planner=Misbehaving(steps), budget=budget))
    finally:
        logging.disable(logging.NOTSET)

    usage = result.usage
    assert result.stopped_by in STOPPED_BY
    assert usage.subcalls == budget.spent_subcalls <= limits.max_subcalls
    assert len(rooms.entered) <= usage.subcalls
    assert usage.tokens == budget.purse.spent.tokens
    if limits.max_tokens is not None:
        assert usage.tokens <= limits.max_tokens
    assert usage.usd == pytest.approx(budget.purse.spent.usd)
    if limits.max_usd is not None:
        assert usage.usd <= limits.max_usd + 1e-9
    assert usage.max_depth <= limits.max_depth
    assert len(result.steps) <= limits.max_steps
    assert {f"room {room}" for room in rooms.entered} == set(found(result))
    for step in result.steps:
        ran = [one for one in step.tool_calls if not (one.cached or one.refused)]
        assert len(ran) <= limits.max_subcalls_per_step
