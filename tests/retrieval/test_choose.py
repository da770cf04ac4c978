"""Which rows are returned, and in what order."""

from __future__ import annotations

from recollect.retrieval.choose import _outdated_after


def test_what_is_outdated_stands_behind_what_outdates_it_and_before_what_is_worse() -> None:
    assert _outdated_after([1, 2, 3, 4], {1: 3}) == [2, 3, 1, 4]


def test_what_stands_behind_already_stays_where_it_is() -> None:
    assert _outdated_after([3, 1, 2], {1: 3}) == [3, 1, 2]


def test_what_is_outdated_by_something_that_is_not_returned_stays() -> None:
    assert _outdated_after([1, 2], {1: 9}) == [1, 2]


def test_a_chain_of_updates_ends_with_the_oldest() -> None:
    assert _outdated_after([1, 2, 3], {1: 3, 2: 3}) == [3, 1, 2]
