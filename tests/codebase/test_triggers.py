"""When an exploration is worth it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.codebase.shop import lay_out

from recollect.codebase.triggers import should_explore
from recollect.errors import InvalidInputError


def test_a_small_plain_question_is_not_worth_it() -> None:
    decision = should_explore("what does price_of return?", context_tokens=5_000, fail_count=4)
    assert not decision
    assert decision.reasons == ()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"context_tokens": 100_001}, "more than 100,000"),
        ({"fail_count": 5}, "failed 5 times"),
        ({"explicit": True}, "asked for"),
        ({"query": "who calls price_of?"}, "dependencies"),
        ({"query": "trace a request from the router to the database"}, "dependencies"),
        ({"query": "what would a change of Cart affect?"}, "dependencies"),
        ({"query": "find all usages of the deprecated API"}, "dependencies"),
        ({"query": "how do shop/cart.py and shop/prices.py fit together?"}, "2 files"),
        ({"query": "why?", "files": ["a.py", "b.py", "c.py"]}, "3 files"),
    ],
)
def test_any_one_of_the_marks_is_enough(arguments: dict[str, object], reason: str) -> None:
    decision = should_explore(**arguments)  # type: ignore[arg-type]
    assert decision.explore
    assert reason in decision.reasons[0]


@pytest.mark.parametrize("arguments", [{"context_tokens": 100_000}, {"fail_count": 4}, {}])
def test_at_the_mark_itself_it_is_not(arguments: dict[str, int]) -> None:
    assert not should_explore("what is this?", **arguments)  # type: ignore[arg-type]


def test_the_size_of_a_tree_is_looked_up(tmp_path: Path) -> None:
    root = lay_out(tmp_path)
    assert not should_explore("what is sold?", root=root)
    (root / "big.py").write_text("x = 1  # a line of a large file\n" * 12_000, encoding="utf-8")
    assert should_explore("what is sold?", root=root)


@pytest.mark.parametrize("arguments", [{"fail_count": -1}, {"context_tokens": "many"}, {"fail_count": True}])
def test_numbers_that_make_no_sense_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        should_explore("why?", **arguments)  # type: ignore[arg-type]
