"""The systemd unit of the server's page: systemd finds no fault with it, and its commands do what it says."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from configparser import RawConfigParser
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from recollect.storage import embedded

ROOT = Path(__file__).resolve().parents[3]
UNIT = ROOT / "docs_src" / "server" / "recollect.service"


def test_the_page_shows_the_unit() -> None:
    page = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    assert (
        f"<!-- docs_src/server/recollect.service -->\n```ini\n{UNIT.read_text(encoding='utf-8')}```\n" in page
    )


def here() -> str:
    """The unit with the program where it is here."""
    return UNIT.read_text(encoding="utf-8").replace("/opt/recollect/bin", str(Path(sys.executable).parent))


@pytest.mark.system
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    """For a user that this machine has."""
    copy = tmp_path / "recollect.service"
    copy.write_text(here().replace("User=recollect", "User=root"), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "recollect" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.fixture
def home(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[Path]:
    with new_home() as folder:
        yield folder


@pytest.mark.system
def test_the_commands_of_the_unit_start_say_so_stop_and_leave_nothing_behind(
    home: Path, tmp_path: Path
) -> None:
    """As systemd runs them: nearly no environment, a socket to report to, SIGTERM to the process alone."""
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(here())
    service = unit["Service"]
    assert (service["Type"], service["KillMode"]) == ("notify", "process")
    assert service["Environment"] == "RECOLLECT_HOME=/var/lib/recollect"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(120)
        environ = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
            "LANG": "C.UTF-8",
            "RECOLLECT_HOME": str(home),
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
        }
        command = shlex.split(service["ExecStart"].replace("--port 8484", "--port 0"))
        with subprocess.Popen(command, env=environ, cwd="/", stdout=subprocess.PIPE, text=True) as server:
            try:
                assert manager.recv(100) == b"READY=1"
                assert server.stdout is not None
                url = server.stdout.readline().split()[-1].removesuffix("/v1")
                assert httpx.get(f"{url}/readyz", trust_env=False, timeout=60).json() == {"status": "ready"}
            finally:
                os.kill(server.pid, signal.SIGTERM)
            assert server.wait(60) == 0
    assert embedded.status(home).running
    subprocess.run(
        shlex.split(service["ExecStopPost"]), env=environ, cwd="/", check=True, capture_output=True
    )
    assert not embedded.status(home).running
