"""Budgets of explorations: whatever limits there are and whatever a planner wants, no limit is passed by one call."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codebase.shop import FILES
from tests.profiles import examples

from recollect.codebase.budget import SubCallBudgetManager
from recollect.codebase.environment import CodebaseEnvironment
from recollect.codebase.surface import REPLToolSurface
from recollect.codebase.tree import SourceFile, SourceText, SourceTree
from recollect.domain.trajectory import Trajectory
from recollect.errors import BudgetExhaustedError, InvalidInputError, ModelBudgetError, SourceNotFoundError
from recollect.providers.models import Answer, Profile
from recollect.providers.models.profiles import Price
from recollect.providers.models.purse import Purse, Spent
from recollect.runs.engine import run
from recollect.runs.environment import CallContext, Observation, Tool
from recollect.runs.planners.contract import Call, Plan, Situation


class MemoryTree(SourceTree):
    """The shop without a disk: a thousand runs over it take seconds."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))

    def files(self) -> tuple[SourceFile, ...]:
        return tuple(
            SourceFile(path=path, size=len(text), mtime_ns=0, inode=0, language="python")
            for path, text in FILES.items()
        )

    def find(self, path: str) -> SourceFile | None:
        return next((file for file in self.files() if file.path == path), None)

    def resolve(self, path: Any) -> str:
        if path != "." and path not in FILES:
            raise SourceNotFoundError(f"no {path!r}")
        return str(path)

    def read_bytes(self, path: str, *, limit: int = 0) -> bytes:
        return FILES[self.resolve(path)].encode()

    def read(self, path: str, start: int | None = None, end: int | None = None) -> SourceText:
        lines = self.read_bytes(path).decode().split("\n")
        first = start or 1
        kept = lines[first - 1 : end]
        return SourceText(
            path=path,
            text="\n".join(kept),
            first_line=first,
            last_line=first + len(kept) - 1,
            total_lines=len(lines),
            sha256="",
        )


class Sage:
    """A chat model that answers at once and charges what it read and wrote, if its purse has room for it."""

    name = "openai:gpt-4.1-mini"
    profile = Profile(name=name, price=Price(input_usd=0.4, output_usd=1.6))

    def __init__(self, purse: Purse | None = None, asked: list[int] | None = None) -> None:
        self.purse = purse or Purse()
        #: Tokens of each request, whichever purse it was charged to.
        self.asked = [] if asked is None else asked

    def charged_to(self, purse: Purse) -> Sage:
        return Sage(purse, self.asked)

    async def answer(self, instructions: str, text: str, output: Any, *, max_tokens: int = 0) -> Answer[Any]:
        worst = self.profile.worst(900, max_tokens)
        if word := self.purse.refusal(*worst):
            raise ModelBudgetError("too dear", limit=word)
        self.purse.hold(*worst)
        await asyncio.sleep(0)
        self.asked.append(900 + max_tokens)
        usd = self.profile.worst(900, max_tokens)[1]
        spent = Spent(requests=1, input_tokens=900, output_tokens=max_tokens, usd=usd)
        self.purse.settle(self.name, worst, spent)
        return Answer(value=output(answer="so", quotes=[]), spent=spent, mode="test")

    async def close(self) -> None:
        """Nothing is open."""


class Watched:
    """An environment that counts what really runs: in all, at the same time, and for each step of each run."""

    name = "codebase"

    def __init__(self, environment: CodebaseEnvironment) -> None:
        self._environment = environment
        self.ran = 0
        self.tools = {
            name: replace(tool, run=self._counted(tool)) for name, tool in environment.tools.items()
        }

    def content_hash(self, tool: str, parameters: Any) -> str:
        return self._environment.content_hash(tool, parameters)

    def actions(self, query: str, depth: int, step: int) -> tuple[()]:
        return ()

    def _counted(self, tool: Tool) -> Any:
        async def counted(parameters: Any, context: CallContext) -> Observation:
            self.ran += 1
            await asyncio.sleep(0)
            return await tool.run(parameters, context)

        return counted


class Rogue:
    """A planner that misbehaves by lot: it floods, repeats, recurses, asks for nonsense, pays, raises, never ends."""

    name = "rogue"

    def __init__(self, seed: int) -> None:
        self._lots = random.Random(seed)

    async def plan(self, situation: Situation) -> Plan:
        lots = self._lots
        if lots.random() < 0.03:
            raise RuntimeError("no idea")
        calls = tuple(self._call() for _ in range(lots.choice((0, 1, 2, 3, 5, 20))))
        if lots.random() < 0.3 and situation.purse.refusal(200, 0.001) is None:
            situation.purse.hold(200, 0.001)
            spent = Spent(requests=1, input_tokens=200, usd=0.001)
            situation.purse.settle("a model", (200, 0.001), spent)
        return Plan(thought="more", calls=calls, done=lots.random() < 0.05)

    def _call(self) -> Call:
        lots = self._lots
        return Call(
            tool=lots.choice(("read_file", "read_file", "list_files", "llm_query", "llm_query", "dig")),
            parameters=lots.choice(
                (
                    {"path": lots.choice(list(FILES)), "start_line": lots.randint(1, 9)},
                    {"directory": ".", "recursive": True},
                    {"prompt": f"what {lots.randint(1, 5)}?", "context": "some text"},
                    {"prompt": f"why {lots.randint(1, 9)}?", "context": ""},
                    {"path": "../../etc/passwd"},
                    {"start_line": "none"},
                )
            ),
        )


def steps_of(ended: Trajectory) -> list[Any]:
    """Every step of a run and of the runs below it."""
    waiting, found = [ended], []
    while waiting:
        for step in waiting.pop().steps:
            found.append(step)
            waiting += [call.child for call in step.tool_calls if call.child is not None]
    return found


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples: a loop and its threads cost more than a run."""
    logging.disable(logging.WARNING)
    with asyncio.Runner() as made:
        yield made
    logging.disable(logging.NOTSET)


@settings(
    max_examples=examples(1_000),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
@given(
    seed=st.integers(0, 2**32),
    max_subcalls=st.integers(0, 25),
    per_iteration=st.integers(0, 9),
    max_tokens=st.none() | st.integers(0, 40_000),
    max_usd=st.none() | st.integers(0, 40).map(lambda tenths: tenths / 1_000),
)
def test_no_limit_is_ever_passed_by_one_call(
    runner: asyncio.Runner,
    seed: int,
    max_subcalls: int,
    per_iteration: int,
    max_tokens: int | None,
    max_usd: float | None,
) -> None:
    sage = Sage()
    environment = Watched(CodebaseEnvironment(MemoryTree(), model=sage))
    limits = SubCallBudgetManager(
        max_subcalls, per_iteration, 60, max_tokens=max_tokens, max_usd=max_usd
    ).limits
    ended = runner.run(
        run("what is this?", environment=environment, planner=Rogue(seed), limits=limits)  # type: ignore[arg-type]
    )
    usage = ended.usage
    assert environment.ran <= usage.subcalls <= max_subcalls
    assert usage.max_depth <= limits.max_depth
    assert max_tokens is None or usage.tokens <= max_tokens
    assert max_usd is None or usage.usd <= max_usd + 1e-9
    for step in steps_of(ended):
        assert sum(not (call.cached or call.refused) for call in step.tool_calls) <= per_iteration
    if max_subcalls == 0 or per_iteration == 0 or max_tokens == 0 or max_usd == 0:
        assert environment.ran == 0
        assert sage.asked == []
    read = sum(call.tokens for step in steps_of(ended) for call in step.tool_calls)
    assert read == sum(sage.asked), "what models used is counted once"


def test_the_manager_counts_and_limits_as_the_engine_does() -> None:
    manager = SubCallBudgetManager(3, 2, timeout_seconds=60)
    manager.start_iteration()
    assert manager.reserve() is not None
    assert manager.remaining().subcalls_this_step == 1
    held = manager.reserve()
    assert held is not None
    assert manager.reserve() is None
    held.close()
    assert (manager.subcall_count, manager.remaining_subcalls) == (2, 1)
    manager.start_iteration()
    assert manager.reserve() is not None
    assert manager.exhausted() == "subcalls"
    assert manager.remaining_seconds is not None


@pytest.mark.parametrize("value", [-1, 1.5, True, "many"])
def test_limits_that_make_no_sense_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="max_subcalls"):
        SubCallBudgetManager(max_subcalls=value)


def test_a_tool_that_walks_a_slow_tree_ends_with_the_time_of_its_budget(tmp_path: Path) -> None:
    """Which files there are is asked before a tool runs, and a walk of a large tree takes seconds."""
    (tmp_path / "a.py").write_text("x = 1\n")
    gate = threading.Event()

    class Slow(SourceTree):
        def files(self) -> Sequence[SourceFile]:
            gate.wait(60)
            return super().files()

    async def outline() -> None:
        environment = CodebaseEnvironment(Slow(tmp_path))
        surface = REPLToolSurface(environment, budget=SubCallBudgetManager(timeout_seconds=0.2))
        with pytest.raises(BudgetExhaustedError, match="time of the budget"):
            await surface.outline()
        assert not gate.is_set()
        gate.set()

    asyncio.run(outline())
