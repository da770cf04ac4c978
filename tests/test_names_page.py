"""Pages that name parts of the package name what there is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = re.compile(r"`(recollect(?:\.\w+)+)`")
FILE = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|sql))?|[a-z_]+\.py)`")


@pytest.mark.parametrize("name", sorted(set(NAMED.findall((ROOT / "docs" / "names.md").read_text("utf-8")))))
def test_a_name_of_the_page_can_be_imported(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(import_module(module), attribute)


def test_the_files_that_a_call_goes_through_are_there() -> None:
    named = set(FILE.findall((ROOT / "docs" / "architecture.md").read_text("utf-8")))
    assert len(named) > 40
    source = ROOT / "src" / "recollect"
    assert [one for one in sorted(named) if not (source / one).exists() and not (ROOT / one).exists()] == []
