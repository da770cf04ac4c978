"""The page about reading text shows an example that runs by itself, and what it really prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs_src" / "text"


def test_the_page_shows_the_example_and_what_it_prints() -> None:
    page = (ROOT / "docs" / "text.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```\n", page, re.DOTALL))
    assert sorted(blocks) == ["docs_src/text/reading.out", "docs_src/text/reading.py"]
    for file, text in blocks.items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, file


def test_the_example_runs_and_loads_nothing_of_the_store() -> None:
    example = (EXAMPLES / "reading.py").read_text(encoding="utf-8")
    loaded = (
        "\nimport sys\nnames = [name.split('.') for name in sys.modules]\n"
        "print(sorted({name[1] for name in names if name[0] == 'recollect' and name[1:]}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", example + loaded], capture_output=True, text=True, check=True, timeout=120
    )
    *printed, modules = done.stdout.splitlines(keepends=True)
    assert "".join(printed) == (EXAMPLES / "reading.out").read_text(encoding="utf-8")
    assert modules == "['domain', 'text']\n"
