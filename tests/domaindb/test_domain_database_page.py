"""The page about the domain database shows files that run, and what they really print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.storage import embedded

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs_src" / "domain_database"


def run(command: list[str], environ: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_shows_the_examples_and_what_they_print() -> None:
    page = (ROOT / "docs" / "domain-database.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```\n", page, re.DOTALL))
    assert sorted(blocks) == sorted(str(file.relative_to(ROOT)) for file in EXAMPLES.iterdir())
    for file, text in blocks.items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, file


@pytest.mark.system
def test_the_examples_print_what_the_page_shows(tmp_path: Path) -> None:
    with embedded.temporary_home() as home:
        embedded.ensure_running(home, sync=False, settings={"fsync": "off", "full_page_writes": "off"})
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "PATH": path, "RECOLLECT_HOME": str(home)}
        made = run([sys.executable, str(EXAMPLES / "shop.py")], environ, tmp_path)
        assert made == (EXAMPLES / "shop.out").read_text(encoding="utf-8")
        asked = run(["sh", "-eu", str(EXAMPLES / "file.sh")], environ, tmp_path)
        assert asked == (EXAMPLES / "file.out").read_text(encoding="utf-8")
