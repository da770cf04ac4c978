"""The running server: finding it, starting it, stopping it, and reading why it would not start.

A number in `postmaster.pid` proves nothing: it may belong to another program by now, to a zombie, or to a
server in another container. So a server counts as ours when its process is a `postgres` working in our data
directory, or when the lock that all its processes inherit is still held. Passwords, roles and databases are
in `databases`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from recollect.errors import (
    ConfigurationError,
    StoreBusyError,
    StoreCorruptedError,
    StoreError,
    StoreFullError,
)
from recollect.storage.embedded.folder import (
    POLL_S,
    Folder,
    corruption_advice,
    is_locked,
    reporting,
    try_lock,
)
from recollect.storage.embedded.server_settings import Account, as_arguments, run_as

# After `kill -9` of the postmaster its children need a second or two to notice and let go of shared memory.
_LEFTOVERS_S = 10.0
_LOG_MAX_BYTES = 5 << 20
_PROC = Path("/proc")

_CORRUPTION = re.compile(
    r"checkpoint record|incorrect checksum in control file|database files are incompatible|"
    r"not a valid data directory|control file|could not open (file|directory) \"(global|base|pg_\w+)[/\"]|"
    r"invalid (page|record)|could not read (file|from)|PANIC:|could not access status of transaction"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    """What a server wrote about itself into `postmaster.pid`."""

    pid: int
    started_at: datetime
    port: int
    socket: Path | None
    listen: str | None
    ready: bool


def read_pid_file(folder: Folder) -> Postmaster | None:
    """What the file says, whether or not it is still true; None if it is missing, empty or cut short."""
    try:
        lines = folder.pid_file.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
        pid = int(lines[0])
        if pid <= 1 or len(lines) < 6:
            return None
        return Postmaster(
            pid=pid,
            started_at=datetime.fromtimestamp(int(lines[2]), UTC),
            port=int(lines[3]),
            socket=Path(lines[4]) if lines[4] else None,
            listen=lines[5] or None,
            ready=len(lines) > 7 and lines[7].strip() == "ready",
        )
    except (OSError, ValueError, IndexError, OverflowError):
        return None


def find_postmaster(folder: Folder) -> Postmaster | None:
    """The server that runs on this data directory, as far as this process can see."""
    pid_file = read_pid_file(folder)
    if pid_file is not None and is_postmaster(pid_file.pid, folder.data):
        return pid_file
    return None


def is_postmaster(pid: int, data: Path) -> bool:
    """Whether this process lives, is a `postgres`, and works in this data directory."""
    if not is_alive(pid):
        return False
    if not _PROC.joinpath("self").exists():
        command = subprocess.run(
            ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
        return "postgres" in command and str(data) in command
    process = _PROC / str(pid)
    try:
        if process.joinpath("comm").read_text(encoding="utf-8", errors="replace").strip() != "postgres":
            return False
        return process.joinpath("cwd").samefile(data)
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie; a zombie child of ours is laid to rest."""
    try:
        fields = _PROC.joinpath(str(pid), "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        if _PROC.joinpath("self").exists():
            return False
        state = subprocess.run(
            ["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout.strip()
        return bool(state) and not state.startswith("Z")
    if fields[0] not in (b"Z", b"X"):
        return True
    if int(fields[1]) == os.getpid():
        # Happens when this program is a container's first process: orphans become its children.
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return False


def start(
    folder: Folder,
    *,
    bin_folder: Path,
    account: Account | None,
    settings: Mapping[str, str],
    socket_folder: Path,
    deadline: float,
) -> Postmaster:
    """Start the server and wait until it takes connections; the caller holds the start lock.

    The server's processes inherit the lock of `postgres.running`, so even one that can't be seen (another
    container, a postmaster killed a moment ago) keeps a second one off the data.
    """
    give_up_leftovers = time.monotonic() + _LEFTOVERS_S
    with reporting("write to", folder.running):
        running = os.open(folder.running, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not try_lock(running):
            if (seen := find_ready_postmaster(folder, deadline)) is not None:
                return seen
            if time.monotonic() > min(deadline, give_up_leftovers):
                raise StoreBusyError(
                    f"a server that can't be reached from here still uses {str(folder.data)!r}; "
                    "stop it (perhaps in another container) and try again"
                )
            time.sleep(POLL_S)
        while True:
            clear_leftovers(folder, socket_folder)
            log_from = _rotate_log(folder)
            pid = _spawn(folder, bin_folder=bin_folder, account=account, settings=settings, running=running)
            try:
                return wait_until_ready(folder, pid, deadline)
            except _EndedError:
                output = _log_since(folder, log_from)
            if (other := find_ready_postmaster(folder, deadline)) is not None:
                return other
            if "pre-existing shared memory block" in output and time.monotonic() < give_up_leftovers:
                time.sleep(0.2)
                continue
            raise diagnose(folder, output)
    finally:
        os.close(running)


class _EndedError(Exception):
    """The server ended before it was ready; the log says why. Never leaves this module."""


def _spawn(
    folder: Folder, *, bin_folder: Path, account: Account | None, settings: Mapping[str, str], running: int
) -> int:
    """Put the server into the background and give its process id.

    Not `pg_ctl`: it builds a shell line from the path without quoting it. Here the shell only forks, so that
    the server is no child of this program (which may outlive it and would owe it a `wait`), and forbids core
    files, which would hold memories in clear.
    """
    server: list[str | Path] = [bin_folder / "postgres", "-D", folder.data, *as_arguments(settings)]
    with reporting("write to", folder.log):
        log = os.open(
            folder.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    try:
        launched = run_as(
            account,
            ["/bin/sh", "-c", 'ulimit -c 0; "$@" </dev/null >&2 & echo $!', "sh", *server],
            pass_fds=(running,),
            stderr=log,
        )
    finally:
        os.close(log)
    if launched.returncode != 0:
        raise StoreError(f"the database server can't be launched; see {str(folder.log)!r}")
    return int(launched.stdout)


def find_ready_postmaster(folder: Folder, deadline: float) -> Postmaster | None:
    """The server that runs on this data directory, once it takes connections; None if there is none."""
    seen = find_postmaster(folder)
    if seen is None:
        return None
    try:
        return wait_until_ready(folder, seen.pid, deadline)
    except _EndedError:
        return None


def wait_until_ready(folder: Folder, pid: int, deadline: float) -> Postmaster:
    """Wait for the server with this process id; crash recovery may take its time."""
    while True:
        alive = is_alive(pid)
        pid_file = read_pid_file(folder)
        if alive and pid_file is not None and pid_file.pid == pid and pid_file.ready:
            return pid_file
        if not alive:
            raise _EndedError
        if time.monotonic() > deadline:
            raise StoreBusyError(
                f"the database in {str(folder.home)!r} is still starting (perhaps recovering from a crash); "
                f"try again later, its log is {str(folder.log)!r}"
            )
        time.sleep(POLL_S)


def clear_leftovers(folder: Folder, socket_folder: Path) -> None:
    """Remove what a dead server left: PostgreSQL itself trusts the process numbers in these files."""
    with reporting("remove leftovers in", folder.data):
        stale = read_pid_file(folder)
        folder.pid_file.unlink(missing_ok=True)
        port = stale.port if stale is not None else 5432
        for name in {f".s.PGSQL.{port}", ".s.PGSQL.5432"}:
            socket_folder.joinpath(name).unlink(missing_ok=True)
            socket_folder.joinpath(f"{name}.lock").unlink(missing_ok=True)


def stop_postmaster(folder: Folder, pid: int, deadline: float) -> None:
    """Ask the server to end its sessions and stop, and wait until every process of it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    while is_postmaster(pid, folder.data) or is_locked(folder.running):
        if time.monotonic() > deadline:
            raise StoreBusyError(f"the database server (process {pid}) is still stopping; try again later")
        time.sleep(POLL_S)


def diagnose(folder: Folder, output: str) -> StoreError | ConfigurationError:
    """The error that fits what the server said before it ended."""
    reasons = [
        line for line in output.splitlines() if re.search(r"\b(FATAL|PANIC|ERROR):|^\S+: error:", line)
    ]
    reason = re.sub(
        r"^.*?\b(?:FATAL|PANIC|ERROR|error): +", "", (reasons or output.splitlines() or ["no reason"])[-1]
    )
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return StoreFullError(
            f"the database in {str(folder.home)!r} can't start: no space left on the disk; "
            "free some and try again"
        )
    if re.search(r"configuration parameter|invalid value for parameter|outside the valid range", output):
        return ConfigurationError(f"the database server refuses a setting: {reason}")
    if "could not bind" in output or "could not create any TCP/IP sockets" in output:
        return StoreError(f"the database server can't listen there: {reason}; choose another port")
    if _CORRUPTION.search(output):
        return StoreCorruptedError(
            f"the data folder {str(folder.data)!r} is damaged: {reason}; {corruption_advice(folder)}"
        )
    return StoreError(f"the database server did not start: {reason}; its log is {str(folder.log)!r}")


def _rotate_log(folder: Folder) -> int:
    """Keep the log and one older one small; gives where the next start's lines begin."""
    try:
        size_bytes = folder.log.stat().st_size
    except FileNotFoundError:
        return 0
    if size_bytes <= _LOG_MAX_BYTES:
        return size_bytes
    with reporting("rename", folder.log):
        os.replace(folder.log, folder.log.with_name("postgres.log.1"))
    return 0


def _log_since(folder: Folder, offset: int) -> str:
    with reporting("read", folder.log), folder.log.open("rb") as log:
        log.seek(offset)
        return log.read().decode("utf-8", errors="replace")
