"""After deleting, no table, file or log of the home holds what every feature has seen."""

from __future__ import annotations

import pytest
from tests.reliability.deletion import WAYS, examine


@pytest.mark.system
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_of_what_was_deleted_but_what_the_receipt_names(way: str) -> None:
    found = examine(way)
    assert found["places"] > 5
    assert found["violations"] == []
