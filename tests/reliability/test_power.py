"""A short form of `python -m tests.reliability power`, and that it would notice."""

from __future__ import annotations

import pytest
from tests.reliability import power
from tests.reliability.preload import has_compiler

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        not has_compiler(), reason="the library that writes calls down is made by a C compiler"
    ),
]


def test_what_was_acknowledged_outlives_a_loss_of_power() -> None:
    assert power.examine(changes=20, cuts=3)["violations"] == []


def test_a_server_that_does_not_wait_for_the_disk_is_found_out() -> None:
    found = power.examine(changes=20, cuts=6, server={"synchronous_commit": "off", "wal_writer_delay": "10s"})
    assert any("instead of" in one for one in found["violations"])
