"""The systemd unit of the server's page is the file that is checked, and systemd finds no fault with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
UNIT = ROOT / "docs_src" / "server" / "recollect.service"


def test_the_page_shows_the_unit() -> None:
    page = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    assert (
        f"<!-- docs_src/server/recollect.service -->\n```ini\n{UNIT.read_text(encoding='utf-8')}```\n" in page
    )


@pytest.mark.system
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    """With the program where it is here, and a user that this machine has."""
    here = str(Path(sys.executable).parent)
    text = (
        UNIT.read_text(encoding="utf-8")
        .replace("/opt/recollect/bin", here)
        .replace("User=recollect", "User=root")
    )
    copy = tmp_path / "recollect.service"
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "recollect" in line]
    assert (done.returncode, ours) == (0, [])
