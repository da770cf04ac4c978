"""The record of a run: out and in without loss, and played again byte for byte."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rooms import Misbehaving, Rooms, Scripted, call, finding, look, now_s, pay, planned_steps, play, script
from tests.profiles import examples

from recollect.domain.findings import Citation, CitationStatus, Finding
from recollect.domain.trajectory import STOPPED_BY, CallRecord, Choice, Step, Trajectory, Usage
from recollect.errors import InvalidInputError, PlannerError
from recollect.runs.budget import Limits
from recollect.runs.engine import run
from recollect.runs.planners.contract import Plan, Situation
from recollect.runs.trajectory import read_trajectory, replay, to_json

TEXT = st.text(max_size=8)
NUMBER = st.floats(0, 1e6, allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
MOMENT = st.datetimes(
    datetime(2000, 1, 1),
    datetime(2100, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
)
CITATIONS = st.builds(
    Citation,
    kind=TEXT,
    file_path=TEXT,
    line_start=st.integers(0, 9),
    line_end=st.integers(0, 9),
    content_hash=TEXT,
    quote=TEXT,
    pages=st.none() | st.tuples(st.integers(1, 9), st.integers(1, 9)),
    status=st.sampled_from(CitationStatus),
)
FINDINGS = st.lists(
    st.builds(
        Finding,
        description=TEXT,
        evidence=TEXT,
        source_file=TEXT,
        line_range=st.none() | st.tuples(st.integers(1, 9), st.integers(1, 9)),
        confidence=st.floats(0, 1),
        group=st.none() | TEXT,
        citations=st.lists(CITATIONS, max_size=2).map(tuple),
    ),
    max_size=2,
)
FEATURES = st.dictionaries(TEXT, NUMBER, max_size=2)
CHOICES = st.none() | st.builds(
    Choice,
    template=TEXT,
    probability=st.floats(0, 1),
    features=FEATURES,
    options=st.dictionaries(TEXT, FEATURES, max_size=2),
)


def call_records(children: st.SearchStrategy[Trajectory | None]) -> st.SearchStrategy[CallRecord]:
    return st.builds(
        CallRecord,
        tool=TEXT,
        parameters=st.dictionaries(TEXT, JSON, max_size=2),
        started_at=MOMENT,
        duration_ms=NUMBER,
        result=JSON,
        error=st.none() | TEXT,
        cached=st.booleans(),
        refused=st.booleans(),
        model_call=st.booleans(),
        tokens=st.integers(0, 9),
        usd=NUMBER,
        child=children,
    )


@st.composite
def trajectories(draw: Any, depth: int = 0) -> Trajectory:
    children = st.none() if depth else st.none() | trajectories(1)
    steps: list[Step] = []
    found: tuple[Finding, ...] = ()
    for iteration in range(1, draw(st.integers(0, 2)) + 1):
        found += tuple(draw(FINDINGS))
        steps.append(
            Step(
                iteration=iteration,
                thought=draw(TEXT),
                tool_calls=tuple(draw(st.lists(call_records(children), max_size=2))),
                findings=found,
                next_direction=draw(TEXT),
                started_at=draw(MOMENT),
                duration_ms=draw(NUMBER),
                done=draw(st.booleans()),
                planner_tokens=draw(st.integers(0, 9)),
                planner_usd=draw(NUMBER),
                planner_calls=draw(st.integers(0, 3)),
                choice=draw(CHOICES),
            )
        )
    return Trajectory(
        id=UUID(int=draw(st.integers(0, 2**128 - 1))),
        environment=draw(TEXT),
        planner=draw(TEXT),
        query=draw(TEXT),
        depth=depth,
        started_at=draw(MOMENT),
        ended_at=draw(MOMENT),
        steps=tuple(steps),
        findings=tuple(draw(FINDINGS)),
        stopped_by=draw(st.sampled_from(STOPPED_BY)),
        usage=Usage(subcalls=draw(st.integers(0, 99)), usd=draw(NUMBER), wall_time_ms=draw(NUMBER)),
        error=draw(st.none() | TEXT),
        policy=draw(st.none() | TEXT),
        notes=tuple(draw(st.lists(TEXT, max_size=2))),
        limits=draw(st.dictionaries(TEXT, st.none() | st.integers(0, 9), max_size=2)),
    )


@settings(
    max_examples=examples(50), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(trajectories())
def test_a_record_comes_back_as_it_went(record: Trajectory) -> None:
    written = to_json(record)
    assert read_trajectory(written) == record
    assert read_trajectory(record.document()) == record
    assert to_json(read_trajectory(written.encode())) == written


# ------------------------------------------------------------ replay


def recorded(planner: Any, **options: Any) -> Trajectory:
    rooms = options.pop("environment", None) or Rooms()
    return play(run("what hangs where?", environment=rooms, planner=planner, clock=now_s, **options))


def again(record: Trajectory) -> Trajectory:
    return asyncio.run(replay(to_json(record)))


def pay_and_fail(situation: Situation) -> Plan:
    pay(situation.purse, 40, 0.2, requests=2)
    raise PlannerError("lost")


def choose_and_pay(situation: Situation) -> Plan:
    pay(situation.purse, 3)
    return Plan(calls=look(1), choice=Choice(template="t", probability=0.5, features={"a": 1.0}))


def cut() -> Trajectory:
    async def scenario() -> Trajectory:
        rooms = Rooms()
        ended: list[Trajectory] = []
        planner = Scripted(
            {
                0: [Plan(calls=(call("ask", question="?"),), done=True)],
                1: [Plan(calls=(*look(2), call("wait", room=3)))],
            }
        )
        running = asyncio.create_task(run("?", environment=rooms, planner=planner, on_end=ended.append))
        while 2 not in rooms.entered:  # noqa: ASYNC110 - the rooms know nothing of events
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return ended[0]

    return play(scenario())


RUNS = {
    "plain": lambda: recorded(script(Plan(thought="begin", calls=look(1, 2)), Plan(calls=look(2, 3)))),
    "nested": lambda: recorded(
        script(
            Plan(calls=(call("ask", question="?"), call("ask", question="?"))), d1=[Plan(calls=look(1, 4))]
        )
    ),
    "faults": lambda: recorded(
        script(Plan(calls=(call("fall"), call("fly"), call("look", room=-1), *look(1), call("shout"))))
    ),
    "chosen": lambda: recorded(script(choose_and_pay)),
    "claimed": lambda: recorded(
        script(Plan(calls=look(1), findings=()), Plan(findings=(finding(1),), done=True))
    ),
    "unread": lambda: recorded(script(Plan(calls=look(1), findings=())), limits=Limits(max_subcalls=1)),
    "refused": lambda: recorded(script(Plan(calls=look(1, 2, 3), done=True)), limits=Limits(max_subcalls=2)),
    "too deep": lambda: recorded(
        script(Plan(calls=(call("ask", question="?"),))), limits=Limits(max_depth=0)
    ),
    "idle": lambda: recorded(Scripted({0: [Plan(thought="hm")] * 9})),
    "planner": lambda: recorded(script(Plan(calls=look(1)), pay_and_fail)),
    "nothing": lambda: recorded(script(), limits=Limits(max_subcalls=0)),
    "timeout": lambda: recorded(
        script(Plan(calls=(*look(1), call("wait", room=2)), done=True)), limits=Limits(timeout_s=4)
    ),
    "cancelled": cut,
}


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_plays_again_byte_for_byte(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        record = RUNS[name]()
        result = again(record)
    assert to_json(result) == to_json(record)
    assert (result.findings, result.stopped_by, result.error) == (
        record.findings,
        record.stopped_by,
        record.error,
    )


@settings(
    max_examples=examples(40), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(planned_steps())
def test_whatever_a_planner_did_plays_again_byte_for_byte(steps: Any) -> None:
    logging.disable(logging.WARNING)
    try:
        record = recorded(Misbehaving(steps, root="what hangs where?"), limits=Limits(max_subcalls=9))
    finally:
        logging.disable(logging.NOTSET)
    assert to_json(again(record)) == to_json(record)


def test_a_replay_counts_and_collects_for_itself() -> None:
    record = recorded(script(Plan(calls=look(1, 2)), Plan(calls=look(3))))
    document = record.document()
    document["usage"] = {**document["usage"], "subcalls": 99, "tokens": 99}
    result = asyncio.run(replay(document))
    assert (result.usage.subcalls, result.usage.tokens) == (3, 15)


# ------------------------------------------------------------ damaged records


def test_a_record_that_was_not_written_to_its_end_says_so() -> None:
    written = to_json(recorded(script(Plan(calls=look(1)))))
    for end in range(1, len(written) - 1, 37):
        with pytest.raises(InvalidInputError, match=r"the record (breaks off|is damaged)"):
            read_trajectory(written[:end])
    with pytest.raises(InvalidInputError, match=r"breaks off at line 1, column .* run the question again"):
        read_trajectory(written[: len(written) // 2])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda document: document.pop("steps"), "no record of a run"),
        (lambda document: document.pop("id"), "has no 'id'"),
        (lambda document: document["steps"][0].pop("tool_calls"), "has no 'tool_calls'"),
        (lambda document: document.update(version=2), "version 2 .* a newer one"),
        (lambda document: document.update(started_at="yesterday"), "damaged"),
        (lambda document: document.update(started_at=7), "damaged"),
        (lambda document: document.update(usage={"cats": 1}), "damaged"),
        (lambda document: document.update(findings=7), "damaged"),
        (lambda document: document.update(stopped_by="boredom"), "no way for a run to end"),
    ],
)
def test_a_damaged_record_says_what_is_wrong(damage: Any, message: str) -> None:
    document = json.loads(to_json(recorded(script(Plan(calls=look(1))))))
    damage(document)
    with pytest.raises(InvalidInputError, match=message):
        read_trajectory(document)


@pytest.mark.parametrize("document", ["", "[]", "null", b"\xff\xfe", "{'no': 'json'}"])
def test_what_is_no_record_is_refused(document: Any) -> None:
    with pytest.raises(InvalidInputError):
        read_trajectory(document)
