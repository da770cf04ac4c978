"""A sample of the faults that `python -m tests.reliability files` tries."""

from __future__ import annotations

import pytest
from tests.reliability.files import run
from tests.reliability.preload import has_compiler

pytestmark = [
    pytest.mark.skipif(not has_compiler(), reason="the library that fails is made by a C compiler"),
]


def test_an_export_whose_disk_fails_anywhere_is_whole_or_as_it_was() -> None:
    found = run("export")
    assert found["faults"] > 0
    assert found["violations"] == []


@pytest.mark.system
@pytest.mark.parametrize("name", ["backup", "forget_user", "library.add a PDF", "restore", "start"])
def test_no_call_leaves_anything_behind_when_a_file_or_a_process_fails(name: str) -> None:
    found = run(name, stride=29)
    assert found["faults"] > 0
    assert found["violations"] == []
