"""Create, start, join, stop and describe the embedded server: the story the other modules play a part in.

Joining a running server takes one connection. Everything else happens under the home's lock, so any number of
programs may do it at once, and whichever is killed, the next one can finish the job.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from recollect.errors import ConfigurationError, ConflictError, StoreError, StoreUnsupportedError
from recollect.storage.embedded import process
from recollect.storage.embedded.folder import (
    APP_ROLE,
    OWNER_ROLE,
    Folder,
    Secrets,
    check_data_owner,
    check_owner,
    choose_socket_folder,
    find_secrets,
    forget_socket_folder,
    has_data,
    is_locked,
    make_home,
    new_secrets,
    password_advice,
    quoted,
    reporting,
    save_secrets,
    start_lock,
)
from recollect.storage.embedded.process import Postmaster
from recollect.storage.embedded.server_settings import (
    Account,
    binary,
    choose_account,
    find_blocked_folder,
    give,
    reachable_bin_folder,
    server_settings,
)

_DEFAULT_PORT = 5432


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How to reach a database as its owner and as the application role.

    Both are libpq connection strings and hold a password, so neither is shown in the printed form.
    """

    owner: str = field(repr=False)
    app: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What can be said about the server of a home without connecting to it."""

    running: bool
    pid: int | None
    version: str | None
    data: Path
    socket: Path | None
    port: int | None
    size_bytes: int | None
    started_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What the caller of `ensure_running` asked for."""

    database: str
    sync: bool
    listen: str | None
    port: int | None
    settings: Mapping[str, str] | None


def ensure_running(
    home: Path,
    *,
    database: str = "recollect",
    timeout_s: float = 120.0,
    sync: bool = True,
    listen: str | None = None,
    port: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> Endpoint:
    """Create the server on first use, start it if it is stopped, join it if it runs.

    `sync=False` is for stores that may be lost at a power cut. `listen` opens TCP on a loopback address, on
    `port` or on any free one. `settings` are server settings. They matter to the call that starts the server;
    one that joins takes it as it is, but asking it to listen where it does not is an error.
    """
    from recollect.storage.embedded import databases

    folder = _checked_folder(home)
    wish = _Wish(database=_checked_name(database), sync=sync, listen=listen, port=port, settings=settings)
    _check_listen(wish)
    if (joined := _try_join(folder, wish)) is not None:
        return joined
    deadline = time.monotonic() + timeout_s
    make_home(folder)
    with start_lock(folder, deadline) as lock:
        if (joined := _try_join(folder, wish)) is not None:
            return joined
        ready_postmaster = process.find_ready_postmaster(folder, deadline)
        if ready_postmaster is None:
            ready_postmaster = _create_and_start(folder, wish, lock=lock, deadline=deadline)
        secrets = find_secrets(folder)
        if secrets is None:
            raise StoreError(f"the password file {str(folder.secrets)!r} is missing; {password_advice()}")
        endpoint = _endpoint(ready_postmaster, secrets, wish)
        databases.prepare(
            folder,
            maintenance=_conninfo(ready_postmaster, wish, OWNER_ROLE, secrets.owner, "postgres"),
            owner=endpoint.owner,
            database=wish.database,
            secrets=secrets,
            deadline=deadline,
        )
        return endpoint


def stop(home: Path, *, timeout_s: float = 30.0) -> bool:
    """Stop the server, ending its sessions; False if none was running."""
    folder = _checked_folder(home)
    with reporting("read", folder.home):
        if not folder.home.is_dir():
            return False
        check_owner(folder)
    deadline = time.monotonic() + timeout_s
    with start_lock(folder, deadline):
        return _stop_locked(folder, deadline)


def status(home: Path) -> ServerStatus:
    """Whether the server runs, and where; never starts or changes anything."""
    folder = _checked_folder(home)
    postmaster = process.find_postmaster(folder)
    if postmaster is None and is_locked(folder.running):
        # It runs where this process can't see it, such as in another container on the same files.
        postmaster = process.read_pid_file(folder)
    with reporting("read", folder.home):
        created = folder.data.is_dir()
    return ServerStatus(
        running=postmaster is not None,
        pid=None if postmaster is None else postmaster.pid,
        version=_server_version() if created else None,
        data=folder.data,
        socket=None if postmaster is None else postmaster.socket,
        port=None if postmaster is None else postmaster.port,
        size_bytes=_size_bytes(folder.data) if created else None,
        started_at=None if postmaster is None else postmaster.started_at,
    )


def has_crashed(home: Path) -> bool:
    """Whether the server ended without having been stopped: one that is stopped takes its process number away."""
    folder = _checked_folder(home)
    return folder.pid_file.exists() and process.find_postmaster(folder) is None


def reset_passwords(home: Path, *, timeout_s: float = 120.0) -> None:
    """Set new passwords after `secrets.json` was lost; stops the server, loses nothing else.

    No password is asked for: whoever may write the data files as their owner has every right already.
    """
    from recollect.storage.embedded import databases

    folder = _checked_folder(home)
    deadline = time.monotonic() + timeout_s
    make_home(folder)
    with start_lock(folder, deadline) as lock:
        if not has_data(folder):
            raise StoreError(f"there is no database in {str(folder.home)!r}")
        check_data_owner(folder)
        _stop_locked(folder, deadline)
        account = choose_account(folder.data)
        bin_folder = _bin_folder(folder, account)
        process.clear_leftovers(folder, folder.data)
        secrets = new_secrets()
        databases.set_owner_password(
            folder, bin_folder=bin_folder, account=account, password=secrets.owner, lock=lock
        )
        # The application role gets its new password at the next start.
        save_secrets(folder, secrets)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home for tests and trials; at the end its server is stopped and the folder removed.

    Not pytest's `tmp_path`: as root that lies in a folder the server's user can't enter.
    """
    home = Path(tempfile.mkdtemp(prefix="recollect-home-"))
    if os.geteuid() == 0:
        home.chmod(0o711)
    try:
        yield home
    finally:
        stop(home)
        shutil.rmtree(home)


def _checked_folder(home: Path) -> Folder:
    if sys.platform == "win32":
        raise StoreUnsupportedError(
            "the embedded PostgreSQL runs on Linux and macOS; "
            "set RECOLLECT_DATABASE_URL to a PostgreSQL of your own"
        )
    folder = Folder(home)
    if "\n" in str(folder.home):
        raise ConfigurationError(
            f"the path {str(folder.home)!r} has a line break; set RECOLLECT_HOME to another"
        )
    return folder


def _checked_name(database: str) -> str:
    # PostgreSQL cuts longer names in silence, and two stores would become one.
    if not 0 < len(database.encode()) <= 63 or "\0" in database:
        raise ConfigurationError(f"{database!r} can't be the name of a database: 1 to 63 bytes, no NUL")
    return database


def _check_listen(wish: _Wish) -> None:
    if wish.listen is None:
        if wish.port is not None:
            raise ConfigurationError("a port needs an address to listen on; pass listen='127.0.0.1' too")
        return
    try:
        loopback = wish.listen == "localhost" or ipaddress.ip_address(wish.listen).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ConfigurationError(
            f"the embedded server listens on this machine only, not on {wish.listen!r}; use '127.0.0.1', "
            "or set RECOLLECT_DATABASE_URL to a PostgreSQL of your own"
        )


def _try_join(folder: Folder, wish: _Wish) -> Endpoint | None:
    """The endpoint of a running server that has all that is asked for; None if it takes more than joining."""
    from recollect.storage.embedded import databases

    with reporting("read", folder.home):
        if not folder.home.exists():
            return None
        check_owner(folder)
        pid_file = process.read_pid_file(folder)
    secrets = find_secrets(folder)
    if pid_file is None or not pid_file.ready or secrets is None or not _serves(pid_file, wish):
        return None
    endpoint = _endpoint(pid_file, secrets, wish)
    return endpoint if databases.is_prepared(endpoint.app) else None


def _serves(postmaster: Postmaster, wish: _Wish) -> bool:
    if wish.listen is None:
        return postmaster.socket is not None
    return postmaster.listen == wish.listen and wish.port in (None, postmaster.port)


def _endpoint(postmaster: Postmaster, secrets: Secrets, wish: _Wish) -> Endpoint:
    if not _serves(postmaster, wish):
        raise ConflictError(
            f"the server (process {postmaster.pid}) runs already and does not listen on {wish.listen!r}, "
            f"port {wish.port or 'any'}; stop it with `recollect db stop` first"
        )
    return Endpoint(
        owner=_conninfo(postmaster, wish, OWNER_ROLE, secrets.owner, wish.database),
        app=_conninfo(postmaster, wish, APP_ROLE, secrets.app, wish.database),
    )


def _conninfo(postmaster: Postmaster, wish: _Wish, role: str, password: str, database: str) -> str:
    from psycopg.conninfo import make_conninfo

    host = str(postmaster.socket) if wish.listen is None else wish.listen
    return make_conninfo("", host=host, port=postmaster.port, dbname=database, user=role, password=password)


def _create_and_start(folder: Folder, wish: _Wish, *, lock: int, deadline: float) -> Postmaster:
    from recollect.storage.embedded import databases

    settings = server_settings(sync=wish.sync, extra=wish.settings)
    with reporting("read", folder.data):
        exists = has_data(folder)
        if exists:
            check_data_owner(folder)
        account = choose_account(folder.data)
        bin_folder = _bin_folder(folder, account)
    if exists:
        if find_secrets(folder) is None:
            raise StoreError(f"the password file {str(folder.secrets)!r} is missing; {password_advice()}")
        if account is not None and folder.data.stat().st_uid != account.uid:
            # Brought back by root from a copy: still our own folder, and useless unless its server owns it.
            with reporting("change the owner of", folder.data):
                give(folder.data, account)
    else:
        secrets = _secrets_for_new_data(folder)
        databases.create_cluster(
            folder, bin_folder=bin_folder, account=account, secrets=secrets, sync=wish.sync, lock=lock
        )
    socket_folder = choose_socket_folder(folder, account)
    settings |= {
        "unix_socket_directories": quoted(socket_folder),
        "listen_addresses": wish.listen or "",
        "port": str(_port(wish)),
    }
    return process.start(
        folder,
        bin_folder=bin_folder,
        account=account,
        settings=settings,
        socket_folder=socket_folder,
        deadline=deadline,
    )


def _secrets_for_new_data(folder: Folder) -> Secrets:
    """The passwords there are, for a data folder moved away may come back; else new ones."""
    try:
        known = find_secrets(folder)
    except StoreError:
        known = None
    if known is None:
        known = new_secrets()
        save_secrets(folder, known)
    return known


def _bin_folder(folder: Folder, account: Account | None) -> Path:
    blocked = find_blocked_folder(folder.home, account)
    if blocked is not None and account is not None:
        raise StoreError(
            f"PostgreSQL does not run as root, and the user {account.name!r} it runs as instead can't enter "
            f"{str(blocked)!r}; set RECOLLECT_HOME to a folder outside of it (such as '/var/lib/recollect'), "
            f"or run `chmod o+x` on it"
        )
    with reporting("copy the database programs into", folder.home):
        return reachable_bin_folder(folder.home, account)


def _port(wish: _Wish) -> int:
    if wish.listen is None:
        # Without TCP it is only a part of the socket's name.
        return _DEFAULT_PORT
    if wish.port is not None:
        return wish.port
    family = socket.AF_INET6 if ":" in wish.listen else socket.AF_INET
    with socket.socket(family) as free:
        free.bind((wish.listen, 0))
        return int(free.getsockname()[1])


def _stop_locked(folder: Folder, deadline: float) -> bool:
    postmaster = process.find_postmaster(folder)
    if postmaster is None:
        return False
    process.stop_postmaster(folder, postmaster.pid, deadline)
    forget_socket_folder(folder, postmaster.socket)
    return True


def _server_version() -> str | None:
    try:
        output = subprocess.run(
            [binary("postgres"), "--version"], capture_output=True, text=True, check=False
        )
    except (StoreUnsupportedError, OSError):
        return None
    return output.stdout.split()[-1] if output.stdout else None


def _size_bytes(data: Path) -> int:
    """The space the data takes; files may vanish while they are counted."""
    total_bytes = 0
    for parent, _, names in os.walk(data):
        for name in names:
            try:
                info = os.lstat(os.path.join(parent, name))
            except FileNotFoundError:
                continue
            if stat.S_ISREG(info.st_mode):
                total_bytes += info.st_blocks * 512
    return total_bytes
