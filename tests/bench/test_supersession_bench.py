"""`recollect bench supersession`: what its pairs are, and that talk retires nothing that it does not change."""

from __future__ import annotations

from collections import Counter

import pytest

from recollect import Recollect
from recollect_bench.supersession import read_cases, state

TALK = [case for case in read_cases() if case["half"] == "talk"]
#: Updates in talk that the rules read today. More is better; the order of hits answers for the rest.
CAUGHT = 8


def test_pairs_have_ids_of_their_own_and_half_of_the_talk_changes_nothing() -> None:
    cases = read_cases()
    assert len({case["id"] for case in cases}) == len(cases)
    traps = Counter(case["about"] for case in TALK if not case["retire"])
    assert len(TALK) >= 60
    assert traps.total() >= len(TALK) / 2
    assert {"joke", "other person", "plan", "no change", "hearsay"} <= set(traps)


@pytest.mark.system
@pytest.mark.parametrize("update", [True, False])
def test_talk_retires_what_it_replaces_or_nothing(client: Recollect, update: bool) -> None:
    outcomes = [state(client, case) for case in TALK if bool(case["retire"]) is update]
    assert [outcome.id for outcome in outcomes if outcome.wrong] == []
    assert sum(outcome.retired for outcome in outcomes) >= (CAUGHT if update else 0)
