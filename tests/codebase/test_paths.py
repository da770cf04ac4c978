"""Questions that follow something through the code: the path along calls is told, and all of it is cited."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from tests.codebase.shop import lay_out

from recollect import RLMOrchestrator, RLMResult, Settings
from recollect.codebase.calls import Calls, find_path
from recollect.codebase.words import asks_for_path

LETTERS = {
    "post/counter.py": '''"""Where letters are handed in."""

from post.sorting import sort_letter


class Letter:
    """A letter that somebody hands in at the counter."""

    def __init__(self, town):
        self.town = town


def hand_in(letter):
    """Take a letter at the counter and see to it that it is sorted."""
    return sort_letter(letter)
''',
    "post/sorting.py": '''"""Bags."""

from post.delivery import carry_to_door


def sort_letter(letter):
    """Choose the bag by the town."""
    return carry_to_door(letter, bag=letter.town[:1])
''',
    "post/delivery.py": '''"""Rounds."""


def carry_to_door(letter, bag):
    """Deliver a letter at the door of the person it is addressed to."""
    return f"{letter} from bag {bag}"
''',
    "post/stamps.py": '''"""Stamps."""


def price_of_stamp(weight):
    """What a stamp costs for a weight."""
    return 80 if weight < 20 else 100
''',
}


def explore(tmp_path: Path, question: str) -> RLMResult:
    """Ask about the post office."""
    root = lay_out(tmp_path / "tree", LETTERS)
    explorer = RLMOrchestrator(root, settings=Settings(home=tmp_path / "home"))
    return asyncio.run(explorer.explore("trace", question))


def test_the_path_of_what_happens_is_told_in_the_order_of_the_calls_and_all_of_it_is_cited(
    tmp_path: Path,
) -> None:
    result = explore(tmp_path, "What happens with a letter from the counter until it is delivered at a door?")
    assert (
        result.synthesis.splitlines()[0]
        == "Called in this order: `hand_in` -> `sort_letter` -> `carry_to_door`"
    )
    cited = {one.source_file for one in result.findings}
    assert {"post/counter.py", "post/sorting.py", "post/delivery.py"} <= cited


def test_a_type_does_not_lead_where_it_is_asked_what_happens(tmp_path: Path) -> None:
    result = explore(tmp_path, "What happens when somebody hands in a letter at the counter?")
    assert "hand_in" in result.findings[0].description


def test_a_question_for_one_place_tells_of_no_path(tmp_path: Path) -> None:
    result = explore(tmp_path, "Where is the price of a stamp set?")
    assert "Called in this order" not in result.synthesis


@pytest.mark.parametrize(
    ("question", "follows"),
    [
        ("What happens when a user presses tab?", True),
        ("From calling the shortcut to the bytes going out: which functions does it pass through?", True),
        ("How does a value given in the environment end up in the settings?", True),
        ("What runs, in order, when the server starts?", True),
        ("How is a token turned into the current user?", True),
        ("Where is the default timeout set?", False),
        ("Why is there a marker object instead of None?", False),
        ("Which function picks the encoding?", False),
    ],
)
def test_the_form_of_a_question_tells_whether_it_follows_something(question: str, follows: bool) -> None:
    assert asks_for_path(question) is follows


def calls_of(*pairs: tuple[int, int], weight: float = 1.0) -> Calls:
    """Calls between numbered definitions."""
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    return Calls(edges[:, 0], edges[:, 1], np.full(len(pairs), weight), np.ones(len(pairs), np.bool_))


def test_the_path_is_the_way_that_the_most_answers_lie_on() -> None:
    calls = calls_of((1, 2), (2, 3), (1, 9), (4, 5))
    assert find_path(calls, [3, 4, 2, 5, 1], dict.fromkeys(range(10), 0.0)) == [1, 2, 3]


def test_one_definition_that_does_not_answer_may_lie_between_two_that_do() -> None:
    calls = calls_of((1, 7), (7, 2), (1, 8), (8, 2))
    assert find_path(calls, [1, 2], {1: 5.0, 2: 4.0, 7: 1.0, 8: 2.0}) == [1, 8, 2]


def test_definitions_that_call_each_other_end_no_search() -> None:
    calls = calls_of((1, 2), (2, 1), (2, 3), (3, 1))
    assert find_path(calls, [1, 2, 3], dict.fromkeys((1, 2, 3), 0.0)) == [1, 2, 3]


def test_a_call_that_may_mean_many_is_no_step() -> None:
    assert find_path(calls_of((1, 2), weight=0.25), [1, 2], {1: 1.0, 2: 1.0}) == []
