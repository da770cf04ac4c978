"""Short forms of `python -m tests.reliability histories` and `races`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.reliability import histories, races
from tests.reliability.preload import has_compiler
from tests.reliability.results import open_store

from recollect import Recollect, Settings

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def own_store() -> Iterator[tuple[Recollect, Settings]]:
    with open_store() as opened:
        yield opened


@pytest.mark.parametrize("kind", histories.KINDS)
def test_a_history_of_several_processes_can_have_happened(kind: str) -> None:
    if kind == "clock" and not has_compiler():
        pytest.skip("clocks jump by a library that needs a C compiler")
    found = histories.examine(kind, orders=1)
    assert found["operations"] > 100
    assert found["violations"] == []


@pytest.mark.parametrize("name", races.PAIRS)
def test_two_callers_race_and_nothing_is_half_done(own_store: tuple[Recollect, Settings], name: str) -> None:
    scene = races.Scene(*own_store)
    with closing(scene.owner):
        found = asyncio.run(races.examine(scene, name, stride=17))
    assert found["orders"] > 1
    assert found["violations"] == []
