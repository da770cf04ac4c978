"""`recollect bench near`: its notes, and what counts as answered and as silent."""

from __future__ import annotations

from collections import Counter

import pytest

from recollect import Recollect
from recollect_bench.near import BARS, figures, outcome, read_rows

ROWS = read_rows()


def test_every_note_has_two_questions_of_its_own() -> None:
    questions = [row[name] for row in ROWS for name in ("asked", "near")]
    assert len(set(questions)) == len(questions) == 2 * len({row["note"] for row in ROWS})
    assert min(Counter(row["group"] for row in ROWS).values()) >= 8


@pytest.mark.system
def test_a_note_answers_its_own_question_and_not_the_one_about_somebody_else(
    default_store: Recollect,
) -> None:
    row = {"group": "owner", "note": "My gym card is in the blue bag.", "asked": "Where is my gym card?"}
    default_store.add(row["note"])
    same = outcome(default_store, row | {"near": "Where is my gym card?"})
    other = outcome(default_store, row | {"near": "How tall is the Eiffel tower?"})
    assert (same["answered first"], same["silent"], same["shown"]) == (True, False, [row["note"]])
    assert (other["silent"], other["shown"]) == (True, [])
    assert figures([same, other]) == {"notes": 2, "answered first": 1.0, "silent": 0.5}
    assert set(BARS) == {"answered first", "silent"}
