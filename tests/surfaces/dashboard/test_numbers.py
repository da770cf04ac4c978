"""Numbers as pages show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.surfaces.dashboard.widgets import round_to_sum


@given(st.lists(st.floats(0, 1_000), max_size=9), st.sampled_from([0, 2]))
def test_rounded_parts_add_up_to_the_rounded_whole(parts: list[float], digits: int) -> None:
    shown = round_to_sum(parts, digits=digits)
    assert sum(shown) == pytest.approx(round(sum(parts) * 10**digits) / 10**digits)
    assert all(abs(one - part) <= 10**-digits + 1e-6 for one, part in zip(shown, parts, strict=True))


def test_the_parts_of_a_score_are_not_a_hundredth_more_than_the_score() -> None:
    assert round_to_sum([0.4288, 0.1664, 0.1568, 0.1312, 0.0968], digits=2) == [0.43, 0.16, 0.16, 0.13, 0.1]
