"""The page about the engine shows a file that runs, and what it really prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from recollect.domain.trajectory import STOPPED_BY

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs_src" / "runs"
PAGE = ROOT / "docs" / "recursion.md"


def test_the_page_shows_the_example_and_what_it_prints() -> None:
    blocks = dict(
        re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    )
    assert sorted(blocks) == sorted(str(file.relative_to(ROOT)) for file in EXAMPLES.iterdir())
    for file, text in blocks.items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, file


def test_the_example_prints_what_the_page_shows() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "shelf.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (EXAMPLES / "shelf.out").read_text(encoding="utf-8")


def test_the_page_explains_every_way_a_run_can_end() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for word in STOPPED_BY:
        assert f"`{word}`" in page, word
