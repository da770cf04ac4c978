"""The files of a home folder: their names, their permissions, their locks, and whether they are whole.

It knows files, not processes: who runs is in `process`. Damage is reported, never repaired.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from recollect.errors import StoreBusyError, StoreCorruptedError, StoreError, StoreFullError
from recollect.storage.embedded.server_settings import MAJOR_VERSION, Account, find_blocked_folder

OWNER_ROLE = "postgres"
APP_ROLE = "recollect_app"
POLL_S = 0.02
# The size PostgreSQL always gives this file (PG_CONTROL_FILE_SIZE).
_CONTROL_FILE_BYTES = 8192
_REMEDY = "set RECOLLECT_HOME to a folder of your own that you can write to"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Folder:
    """The paths below one home; its links are resolved, so that one store has one socket path however it is reached."""

    def __init__(self, home: Path) -> None:
        self.home = Path(os.path.realpath(home.expanduser()))
        self.data = self.home / "postgres"
        #: A data directory in the making.
        self.unfinished = self.home / "postgres.new"
        #: Locked around starts and stops.
        self.lock = self.home / "postgres.lock"
        #: Locked by the server's own processes.
        self.running = self.home / "postgres.running"
        self.log = self.home / "postgres.log"
        self.secrets = self.home / "secrets.json"
        #: The owner's password, while `initdb` needs it.
        self.password_file = self.home / "postgres.password"
        #: What the running server says about itself.
        self.pid_file = self.data / "postmaster.pid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """The two passwords; kept out of any printed form."""

    owner: str = field(repr=False)
    app: str = field(repr=False)


@contextmanager
def reporting(what: str, path: Path, remedy: str = _REMEDY) -> Iterator[None]:
    """Turn the system's refusals about files into errors that say what to do."""
    try:
        yield
    except OSError as error:
        raise _store_error(error, what, path, remedy) from error


def _store_error(error: OSError, what: str, path: Path, remedy: str = _REMEDY) -> StoreError:
    if error.errno in _FULL:
        return StoreFullError(
            f"can't {what} {str(path)!r}: no space left on the disk; free some and try again"
        )
    reason = os.strerror(error.errno).lower() if error.errno is not None else str(error)
    return StoreError(f"can't {what} {str(path)!r}: {reason}; {remedy}")


def check_owner(folder: Folder) -> None:
    """Refuse a home of another user, or one that other users can write to: they could exchange its files."""
    info = folder.home.stat()
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(f"{str(folder.home)!r} is not a folder; set RECOLLECT_HOME to another one")
    if info.st_uid != os.geteuid():
        raise StoreError(
            f"the folder {str(folder.home)!r} belongs to user id {info.st_uid}, not to you; "
            "run recollect as that user, or set RECOLLECT_HOME to a folder of your own"
        )
    if info.st_mode & stat.S_IWOTH:
        raise StoreError(
            f"every user of this machine can write to {str(folder.home)!r}; "
            "run `chmod o-w` on it, or set RECOLLECT_HOME to a folder of your own"
        )


def make_home(folder: Folder) -> None:
    """Create the home if it is missing: closed to others, but root's server user has to pass through."""
    as_root = os.geteuid() == 0
    with reporting("create the folder", folder.home):
        folder.home.mkdir(mode=0o711 if as_root else 0o700, parents=True, exist_ok=True)
        check_owner(folder)
        mode = stat.S_IMODE(folder.home.stat().st_mode)
        if as_root and not mode & stat.S_IXOTH:
            folder.home.chmod(mode | stat.S_IXOTH)
        if as_root:
            # They can pass through; what an earlier version made below must be closed.
            for name in ("cache", "dashboard", "models", "telemetry"):
                with suppress(FileNotFoundError):
                    (folder.home / name).chmod(0o700)


@contextmanager
def start_lock(folder: Folder, deadline: float) -> Iterator[int]:
    """Hold the home's lock until the block ends or this process dies, however it dies.

    Gives the descriptor: a child that inherits it keeps the lock beyond its parent's end.
    """
    with reporting("write to", folder.lock):
        descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"another process is starting or stopping the database in {str(folder.home)!r}; "
                    "try again later"
                )
            time.sleep(POLL_S)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file if nobody holds it."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of this file."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def find_secrets(folder: Folder) -> Secrets | None:
    """The passwords, None if there is no file, an error if it can't be read."""
    try:
        text = folder.secrets.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise _store_error(error, "read", folder.secrets) from error
    try:
        content = json.loads(text)
        return Secrets(owner=str(content[OWNER_ROLE]), app=str(content[APP_ROLE]))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"the password file {str(folder.secrets)!r} can't be read; {password_advice()}"
        ) from error


def password_advice() -> str:
    """What to do about lost passwords: whoever owns the files may set new ones, and nothing else is lost."""
    return (
        "put back the copy that belongs to this database, or set new passwords with "
        "`recollect.storage.embedded.reset_passwords(home)`; the memories are untouched"
    )


def new_secrets() -> Secrets:
    """Two fresh passwords; their alphabet needs no quoting anywhere."""
    return Secrets(owner=secrets.token_urlsafe(32), app=secrets.token_urlsafe(32))


def save_secrets(folder: Folder, values: Secrets) -> None:
    """Replace the password file in one step."""
    part = folder.secrets.with_name("secrets.json.new")
    with reporting("write", folder.secrets):
        with suppress(FileNotFoundError):
            part.unlink()
        write_private(part, json.dumps({OWNER_ROLE: values.owner, APP_ROLE: values.app}, indent=1) + "\n")
        os.replace(part, folder.secrets)
        sync_path(folder.home)


def write_private(path: Path, text: str) -> None:
    """Write a new file, durable and readable by its owner alone from the first moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_path(path: Path) -> None:
    """Make a file's content, or a rename in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def has_data(folder: Folder) -> bool:
    """Whether a database is there; raises when there is one that is damaged.

    An empty data folder counts as none only if no password was ever made: otherwise something was there, and
    a fresh database in its place would look like lost memories.
    """
    data = folder.data
    if not os.path.lexists(data):
        return False
    if not data.is_dir():
        raise _damaged(folder, "is not a folder")
    if not any(data.iterdir()) and not folder.secrets.exists():
        return False
    try:
        version = (data / "PG_VERSION").read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        raise _damaged(folder, "has no readable PG_VERSION") from None
    if version != MAJOR_VERSION:
        raise _damaged(folder, f"was made by PostgreSQL {version!r}, and this is {MAJOR_VERSION}")
    try:
        control_bytes = (data / "global" / "pg_control").stat().st_size
    except FileNotFoundError:
        raise _damaged(folder, "has no global/pg_control") from None
    if control_bytes != _CONTROL_FILE_BYTES:
        raise _damaged(folder, f"has a global/pg_control of {control_bytes} bytes, not {_CONTROL_FILE_BYTES}")
    return True


def check_data_owner(folder: Folder) -> None:
    """A normal user's server runs as that user and needs the data directory to be theirs."""
    owner_uid = folder.data.stat().st_uid
    if os.geteuid() not in (0, owner_uid):
        raise StoreError(
            f"the data folder {str(folder.data)!r} belongs to user id {owner_uid}, not to you; "
            "run recollect as that user, or set RECOLLECT_HOME to a folder of your own"
        )


def corruption_advice(folder: Folder) -> str:
    """The way out of a damaged data folder."""
    return (
        f"nothing was changed; move {str(folder.data)!r} away (keep it) and bring back a backup "
        "with `recollect db restore`"
    )


def _damaged(folder: Folder, how: str) -> StoreCorruptedError:
    return StoreCorruptedError(f"the data folder {str(folder.data)!r} {how}; {corruption_advice(folder)}")


_SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
_PREFIX = "recollect-"


def choose_socket_folder(folder: Folder, account: Account | None) -> Path:
    """A folder for the socket that nobody but the server's user can enter; created if need be."""
    if _fits(folder.data):
        return folder.data
    uid = os.geteuid() if account is None else account.uid
    # The same name at every start, so that a program that was connected finds the restarted server again.
    name = f"{_PREFIX}{uid}-{hashlib.sha256(os.fsencode(folder.home)).hexdigest()[:16]}"
    bases = (tempfile.gettempdir(), "/tmp")  # noqa: S108  a private folder in it, checked to be ours
    for base in dict.fromkeys(Path(base).resolve() for base in bases):
        if not _fits(base / name) or not base.is_dir() or find_blocked_folder(base, account) is not None:
            continue
        with reporting("create a folder for the socket in", base):
            return _private_folder(base, name, account)
    raise StoreError(
        f"the path {str(folder.home)!r} is too long for a socket, and so is the temporary directory's; "
        "set RECOLLECT_HOME or TMPDIR to a shorter path"
    )


def forget_socket_folder(folder: Folder, socket_folder: Path | None) -> None:
    """Remove the folder of a stopped server from the temporary directory, if it is one."""
    if socket_folder is None or socket_folder == folder.data or not socket_folder.name.startswith(_PREFIX):
        return
    try:
        socket_folder.rmdir()
    except OSError:
        # Gone already, or not empty: then it is not ours to remove.
        return


def quoted(path: Path) -> str:
    """The path as the one element of the list `unix_socket_directories`."""
    return '"' + str(path).replace('"', '""') + '"'


def _fits(path: Path) -> bool:
    # libpq reads a comma in a host as the border between two hosts, and its strings are UTF-8.
    try:
        encoded = str(path / ".s.PGSQL.65535").encode()
    except UnicodeEncodeError:
        return False
    return b"," not in encoded and len(encoded) <= _SOCKET_PATH_BYTES


def _private_folder(base: Path, name: str, account: Account | None) -> Path:
    path = base / name
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not _is_private(path, account):
            # Somebody else took the name. It can't be taken back, but it need not be used.
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return path


def _is_private(path: Path, account: Account | None) -> bool:
    info = path.lstat()
    owners = {os.geteuid()} if account is None else {os.geteuid(), account.uid}
    return stat.S_ISDIR(info.st_mode) and info.st_uid in owners and not info.st_mode & 0o077
