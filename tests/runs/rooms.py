"""A toy environment of numbered rooms that say something, a planner that follows a list, and a loop with toy time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st
from pydantic import BaseModel, Field

from recollect.domain.findings import Citation, Finding, span_hash
from recollect.providers.models.purse import Purse, Spent
from recollect.runs.environment import Action, CallContext, Observation, Tool
from recollect.runs.planners.contract import Call, Plan, Situation


class Room(BaseModel):
    room: int = Field(ge=0)


class Question(BaseModel):
    question: str


class Nothing(BaseModel):
    pass


def says(room: int) -> str:
    return f"In room {room} hangs a picture of {room * 7 % 10} horses."


def finding(room: int, group: str | None = None) -> Finding:
    text = says(room)
    return Finding(
        description=f"room {room}",
        evidence=text,
        source_file=f"room/{room}",
        confidence=1.0 / (1 + room),
        group=group,
        citations=(
            Citation(
                kind="room",
                file_path=f"room/{room}",
                line_start=0,
                line_end=0,
                content_hash=span_hash(text),
                quote=text,
            ),
        ),
    )


@dataclass
class Rooms:
    """`entered` lists the rooms that were really looked at; `gate` holds those who wait."""

    name: str = "rooms"
    size: int = 100
    version: str = "v1"
    worst_tokens: int = 0
    real_tokens: int = 5
    usd: float = 0.0
    entered: list[int] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    extra: dict[str, Tool] = field(default_factory=dict)

    @property
    def tools(self) -> Mapping[str, Tool]:
        made = [
            Tool(
                name="look",
                description="What a room says.",
                parameters=Room,
                run=self._look,
                worst=lambda parameters: (self.worst_tokens, self.usd),
            ),
            Tool(name="ask", description="Ask again, one level deeper.", parameters=Question, run=self._ask),
            Tool(name="wait", description="Wait for the gate.", parameters=Room, run=self._wait),
            Tool(name="fall", description="Always fails.", parameters=Nothing, run=self._fall),
            Tool(name="shout", description="Says far too much.", parameters=Nothing, run=self._shout),
        ]
        return {tool.name: tool for tool in made} | self.extra

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        return self.version

    def actions(self, query: str, depth: int, step: int) -> Sequence[Action]:
        return ()

    async def _look(self, room: Room, context: CallContext) -> Observation:
        await asyncio.sleep(0)
        if room.room >= self.size:
            raise LookupError(f"no room {room.room}")
        self.entered.append(room.room)
        pay(context.purse, self.real_tokens, self.usd)
        return Observation(
            value={"room": room.room, "says": says(room.room)},
            text=says(room.room),
            findings=(finding(room.room),),
        )

    async def _ask(self, question: Question, context: CallContext) -> Observation:
        run = await context.recurse(question.question)
        return Observation(
            value=[one.description for one in run.findings],
            findings=run.findings,
            text=f"{len(run.findings)}",
        )

    async def _wait(self, room: Room, context: CallContext) -> Observation:
        self.entered.append(room.room)
        await self.gate.wait()
        return Observation(value=room.room, findings=(finding(room.room),))

    async def _fall(self, nothing: Nothing, context: CallContext) -> Observation:
        raise RuntimeError("the floor gave way")

    async def _shout(self, nothing: Nothing, context: CallContext) -> Observation:
        return Observation(value="A" * 200_000, text="A" * 200_000)


def pay(purse: Purse, tokens: int, usd: float = 0.0, *, requests: int = 1) -> None:
    """What a model does when its server has answered a request."""
    purse.hold(tokens, usd)
    purse.settle("a model", (tokens, usd), Spent(requests=requests, input_tokens=tokens, usd=usd))


def look(*rooms: int) -> tuple[Call, ...]:
    return tuple(Call(tool="look", parameters={"room": room}) for room in rooms)


def call(tool: str, **parameters: Any) -> Call:
    return Call(tool=tool, parameters=parameters)


@dataclass
class Scripted:
    """Plans from a list, by depth and step; `done` when the list is over. Each may be a function of the situation."""

    plans: Mapping[int, Sequence[Plan | Callable[[Situation], Awaitable[Plan] | Plan]]]
    name: str = "scripted"
    situations: list[Situation] = field(default_factory=list)

    async def plan(self, situation: Situation) -> Plan:
        self.situations.append(situation)
        listed = self.plans.get(situation.depth, ())
        if len(situation.steps) >= len(listed):
            return Plan(thought="that was all", done=True)
        planned = listed[len(situation.steps)]
        if isinstance(planned, Plan):
            return planned
        answer = planned(situation)
        return answer if isinstance(answer, Plan) else await answer


def script(*plans: Plan | Callable[[Situation], Awaitable[Plan] | Plan], **deeper: Any) -> Scripted:
    return Scripted({0: plans, **{int(name[1:]): value for name, value in deeper.items()}})


class Misbehaving:
    """Plays trees of calls that hypothesis made; a question's words say which tree it is."""

    name = "misbehaving"

    def __init__(self, steps: Any, *, root: str = "root") -> None:
        self.trees: dict[str, Any] = {root: steps}

    async def plan(self, situation: Situation) -> Plan:
        steps = self.trees[situation.query]
        at = len(situation.steps)
        if at >= len(steps):
            return Plan(done=True)
        planned = []
        for place, (tool, what) in enumerate(steps[at]):
            if tool == "ask":
                question = f"{situation.query}.{at}.{place}"
                self.trees[question] = what
                planned.append(call("ask", question=question))
            elif tool == "look":
                planned.extend(look(what))
            else:
                planned.append(call(tool, room=-1))
        return Plan(calls=tuple(planned))


def planned_steps() -> st.SearchStrategy[Any]:
    """Steps of calls, good and bad, some of which ask a question with steps of its own."""
    leaves = st.tuples(
        st.sampled_from(["look", "look", "look", "fall", "nowhere", "wrong"]), st.integers(0, 6)
    )
    calls = st.recursive(
        leaves,
        lambda inner: st.tuples(st.just("ask"), st.lists(st.lists(inner, max_size=3), max_size=2)),
        max_leaves=8,
    )
    return st.lists(st.lists(calls, max_size=5), max_size=6)


T = TypeVar("T")


class _Patient(selectors.DefaultSelector):
    """Instead of waiting it says how long it would have waited."""

    slept_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout:
            self.slept_s += timeout
        return super().select(0 if timeout is not None else 5)


class ToyTimeLoop(asyncio.SelectorEventLoop):
    """Time passes only when there is nothing to do, and then at once: a time limit never depends on the machine."""

    def __init__(self) -> None:
        self.patient = _Patient()
        super().__init__(self.patient)

    def time(self) -> float:
        return self.patient.slept_s


def now_s() -> float:
    """The loop's time, for budgets."""
    return asyncio.get_running_loop().time()


def play(scenario: Coroutine[Any, Any, T]) -> T:
    """Run it on toy time, and fail if it leaves a task behind."""

    async def watched() -> T:
        result = await scenario
        for _ in range(5):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"
        return result

    with asyncio.Runner(loop_factory=ToyTimeLoop) as runner:
        return runner.run(watched())
