"""The reference pages say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_committed_pages_are_fresh_whatever_the_terminal_and_the_environment(tmp_path: Path) -> None:
    environ = {
        "COLUMNS": "40",
        "LANG": "C",
        "NO_COLOR": "1",
        "RECOLLECT_HOME": str(tmp_path),
        "HOME": str(tmp_path),
    }
    command = [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_and_every_error_is_on_its_page() -> None:
    from recollect import errors
    from recollect.config import Settings

    settings = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    for row in Settings(home=ROOT, user="user").describe():
        assert f"`{row.variable}`" in settings
        assert row.help.replace("<", "&lt;") in settings
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    for cls in classes:
        if issubclass(cls, errors.RecollectError):
            assert f"`{cls.__name__}` | `{cls.code}`" in page
