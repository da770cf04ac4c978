"""Pages of docs/ and the examples in docs_src/ that they show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"<!-- (?P<file>\S+) -->\n```\w*\n(?P<text>.*?)```\n", re.DOTALL)


def shown_on(page: str) -> dict[str, str]:
    """The examples of a page, by file; it must have no other blocks."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = {block["file"]: block["text"] for block in _BLOCK.finditer(text)}
    assert text.count("```") == 2 * len(shown)
    return shown


def examples(folder: str) -> dict[str, str]:
    """What the files of an example are."""
    files = sorted(file for file in (ROOT / "docs_src" / folder).iterdir() if file.is_file())
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}


def printed(file: Path, env: dict[str, str], cwd: Path) -> str:
    """What an example prints, a program or a script of the shell."""
    command = ["sh", "-eu", str(file)] if file.suffix == ".sh" else [sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
