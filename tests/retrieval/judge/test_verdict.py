"""What the judge reads: little when that may do, and what may have replaced the best."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from recollect.domain.query import Aim, Want
from recollect.retrieval.judge import rows_to_read
from recollect.retrieval.judge.verdict import FIRST, LATER, NARROW, WIDE
from recollect.retrieval.rank import Pool

ONE = Aim(want=Want.ONE)


def pool_of(size: int, replacing: dict[int, float] | None = None) -> Pool:
    """Candidates of one kind; `replacing` says which of them are like one of the best, and how much."""
    return Pool(
        ids=[UUID(int=number) for number in range(size)],
        cosine=np.full(size, 0.6),
        bm25=np.zeros(size),
        matched=np.zeros(size, dtype=np.int64),
        idf=np.zeros(0),
        conversation=[None] * size,
        position=np.full(size, -1, dtype=np.int64),
        speaker=[None] * size,
        layer=np.full(size, 2, dtype=np.int64),
        replacing=None
        if replacing is None
        else np.array([replacing.get(row, np.nan) for row in range(size)]),
    )


def test_one_thing_is_looked_for_among_few_and_among_more_only_if_need_be() -> None:
    reading = rows_to_read(ONE, pool_of(60), range(60), limit=10, threshold=0.7)
    assert reading.rows == list(range(FIRST))
    assert reading.further == list(range(FIRST, NARROW))


def test_the_likeliest_to_replace_one_of_the_best_are_read_at_once_however_far_down() -> None:
    likely = {50: 0.9, 51: 0.7, 52: 0.8, 5: 0.85, 53: 0.95, 54: 0.6, 0: 0.99}
    reading = rows_to_read(ONE, pool_of(60, likely), range(60), limit=10, threshold=0.7)
    assert reading.rows == [*range(FIRST), 53, 50, 5, 52]
    assert len(reading.rows) == FIRST + LATER
    assert 5 not in reading.further, "nothing is read twice"


def test_who_lowers_the_threshold_has_as_many_read_as_are_wanted() -> None:
    reading = rows_to_read(ONE, pool_of(60), range(60), limit=20, threshold=0.0)
    assert (len(reading.rows), reading.further) == (25, [])
    reading = rows_to_read(ONE, pool_of(300), range(300), limit=200, threshold=0.0)
    assert len(reading.rows) == WIDE


def test_all_of_a_kind_are_looked_for_widely() -> None:
    sure, unsure = Aim(want=Want.ALL, several=1.0), Aim(want=Want.ALL, several=0.2)
    reading = rows_to_read(sure, pool_of(60), range(60), limit=10, threshold=0.7)
    assert (len(reading.rows), reading.further) == (WIDE, [])
    assert NARROW < len(rows_to_read(unsure, pool_of(60), range(60), limit=10, threshold=0.7).rows) < WIDE / 2


def test_a_pool_of_one_is_read_whole() -> None:
    reading = rows_to_read(ONE, pool_of(1, {}), range(1), limit=10, threshold=0.7)
    assert (reading.rows, reading.further) == ([0], [])
