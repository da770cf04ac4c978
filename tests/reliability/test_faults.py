"""A sample of the faults that `python -m tests.reliability faults` tries."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reliability.faults import BY_NAME, KINDS, examine

from recollect import Recollect, Settings


@pytest.mark.parametrize("kind", KINDS)
def test_an_add_under_any_fault_is_stored_as_a_whole_or_not_at_all(
    store: Recollect, settings: Settings, tmp_path: Path, kind: str
) -> None:
    tally = examine(store, settings, tmp_path, BY_NAME["add"], kinds=[kind], stride=5)
    assert tally.faults > 0
    assert tally.violations == []


@pytest.mark.system
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_no_verb_leaves_anything_behind_after_a_fault(
    store: Recollect, settings: Settings, tmp_path: Path, name: str
) -> None:
    tally = examine(store, settings, tmp_path, BY_NAME[name], stride=23)
    assert tally.violations == []


@pytest.mark.system
@pytest.mark.parametrize("name", sorted(name for name, verb in BY_NAME.items() if verb.repeats))
def test_a_verb_that_only_reads_answers_wherever_its_connection_is_lost(
    store: Recollect, settings: Settings, tmp_path: Path, name: str
) -> None:
    tally = examine(store, settings, tmp_path, BY_NAME[name], kinds=["lost before", "lost after"], stride=3)
    assert tally.answered == tally.faults
    assert tally.violations == []
