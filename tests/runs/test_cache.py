"""The cache: one spelling of a call, bounded, and equal calls at the same time run once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.runs.cache import Cache, CacheKey, NotRunError, cache_key, canonical
from recollect.runs.environment import Observation

KEY = cache_key("rooms", "look", {"room": 1}, "v1")


class Work:
    """Counts how often it really runs, and waits until it is let go."""

    def __init__(self) -> None:
        self.ran = 0
        self.go = asyncio.Event()

    async def __call__(self) -> Observation:
        self.ran += 1
        await self.go.wait()
        return Observation(value=self.ran)


async def begin(*works: Callable[[], Awaitable[Observation]]) -> list[asyncio.Task[Observation]]:
    tasks = []
    for work in works:
        tasks.append(asyncio.create_task(work()))  # type: ignore[arg-type]
        for _ in range(3):
            await asyncio.sleep(0)
    return tasks


JSON = (
    st.none()
    | st.integers()
    | st.text(max_size=5)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=3)
)


@settings(
    max_examples=examples(100), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5))
def test_the_order_of_parameters_does_not_matter(parameters: dict[str, object]) -> None:
    turned = dict(reversed(parameters.items()))
    assert cache_key("e", "t", parameters, "h") == cache_key("e", "t", turned, "h")
    assert canonical(parameters).isascii()


@pytest.mark.parametrize(
    "other",
    [
        cache_key("cellars", "look", {"room": 1}, "v1"),
        cache_key("rooms", "peek", {"room": 1}, "v1"),
        cache_key("rooms", "look", {"room": "1"}, "v1"),
        cache_key("rooms", "look", {"room": 1}, "v2"),
    ],
)
def test_every_part_of_the_key_counts(other: CacheKey) -> None:
    cache = Cache()
    cache.put(KEY, Observation(value="here"))
    assert cache.find(other) is None
    assert cache.find(KEY) == Observation(value="here")


def test_the_least_used_goes_first_when_there_are_too_many() -> None:
    cache = Cache(max_entries=2)
    keys = [cache_key("rooms", "look", {"room": room}, "v") for room in range(3)]
    for key in keys[:2]:
        cache.put(key, Observation(value=1))
    cache.find(keys[0])
    cache.put(keys[2], Observation(value=1))
    assert [cache.find(key) is not None for key in keys] == [True, False, True]


def test_large_answers_push_others_out_and_too_large_ones_are_not_kept() -> None:
    cache = Cache(max_chars=200)
    keys = [cache_key("rooms", "look", {"room": room}, "v") for room in range(3)]
    cache.put(keys[0], Observation(value=1, text="a" * 90))
    cache.put(keys[1], Observation(value=1, text="b" * 90))
    assert len(cache) == 1
    cache.put(keys[2], Observation(value=1, text="c" * 900))
    assert [cache.find(key) is not None for key in keys] == [False, True, False]
    cache.clear()
    assert len(cache) == 0


def test_equal_calls_at_the_same_time_run_once() -> None:
    async def scenario() -> None:
        cache, work = Cache(), Work()
        tasks = await begin(*[lambda: cache.answer(KEY, work)] * 5)
        work.go.set()
        answers = await asyncio.gather(*tasks)
        assert work.ran == 1
        assert [answer.value for answer in answers] == [1] * 5

    asyncio.run(scenario())


def test_when_the_first_is_cancelled_one_of_the_others_takes_over() -> None:
    async def scenario() -> None:
        cache, work = Cache(), Work()
        first, *others = await begin(*[lambda: cache.answer(KEY, work)] * 4)
        first.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        work.go.set()
        answers = await asyncio.gather(*others)
        assert work.ran == 2
        assert [answer.value for answer in answers] == [2] * 3

    asyncio.run(scenario())


def test_when_one_who_waits_is_cancelled_nobody_else_notices() -> None:
    async def scenario() -> None:
        cache, work = Cache(), Work()
        first, second, third = await begin(*[lambda: cache.answer(KEY, work)] * 3)
        second.cancel()
        await asyncio.sleep(0)
        work.go.set()
        assert await first is await third
        assert work.ran == 1

    asyncio.run(scenario())


def test_a_failure_is_told_to_all_who_wait_and_not_kept() -> None:
    async def scenario() -> None:
        cache = Cache()
        ran = 0

        async def fail() -> Observation:
            nonlocal ran
            ran += 1
            await asyncio.sleep(0)
            raise LookupError("no such room")

        answers = await asyncio.gather(*[cache.answer(KEY, fail) for _ in range(3)], return_exceptions=True)
        assert [type(answer) for answer in answers] == [LookupError] * 3
        assert ran == 1
        with pytest.raises(LookupError):
            await cache.answer(KEY, fail)
        assert ran == 2

    asyncio.run(scenario())


def test_who_is_refused_leaves_the_call_to_those_who_can_afford_it() -> None:
    async def scenario() -> None:
        cache, work = Cache(), Work()
        hold = asyncio.Event()

        async def refuse() -> Observation:
            await hold.wait()
            raise NotRunError("no budget")

        poor, rich = await begin(lambda: cache.answer(KEY, refuse), lambda: cache.answer(KEY, work))
        hold.set()
        work.go.set()
        with pytest.raises(NotRunError):
            await poor
        assert (await rich).value == 1

    asyncio.run(scenario())


def test_a_deeper_call_never_waits_for_one_above_it() -> None:
    async def scenario() -> None:
        cache = Cache()

        async def inner() -> Observation:
            return Observation(value="inner")

        async def outer() -> Observation:
            below = await cache.answer(KEY, inner, depth=1)
            return Observation(value=["outer", below.value])

        async with asyncio.timeout(5):
            answer = await cache.answer(KEY, outer, depth=0)
        assert answer.value == ["outer", "inner"]

    asyncio.run(scenario())


def test_what_should_not_be_kept_is_not() -> None:
    async def scenario() -> None:
        cache, work = Cache(), Work()
        work.go.set()

        async def pass_by() -> Observation:
            return replace(await work(), passing=True)

        await cache.answer(KEY, pass_by)
        assert cache.find(KEY) is None
        await cache.answer(KEY, work)
        assert cache.find(KEY) == Observation(value=2)

    asyncio.run(scenario())
