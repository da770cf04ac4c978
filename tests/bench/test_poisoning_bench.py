"""`recollect bench poisoning`: what it attacks with, and that one attack of each kind takes no effect."""

from __future__ import annotations

from collections import Counter

import pytest

from recollect import Recollect
from recollect_bench.poisoning import effects, read_attacks

ATTACKS = read_attacks()
FIRST = {attack["kind"]: attack for attack in reversed(ATTACKS)}


def test_attacks_have_ids_of_their_own_and_come_through_every_door() -> None:
    assert len({attack["id"] for attack in ATTACKS}) == len(ATTACKS)
    assert {attack["door"] for attack in ATTACKS} == {"memory", "document", "code"}
    assert min(Counter(attack["kind"] for attack in ATTACKS).values()) >= 5


@pytest.mark.system
@pytest.mark.parametrize("attack", FIRST.values(), ids=FIRST)
def test_no_kind_of_attack_takes_effect(default_store: Recollect, attack: dict[str, object]) -> None:
    assert list(effects(default_store, attack)) == []
