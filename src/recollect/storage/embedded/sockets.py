"""Where the server's socket lives: in the data directory, or close to it in spirit when that path won't do.

A socket's path may be about a hundred bytes long. A longer one goes to a folder of the temporary directory
that only the server's user can enter. Anybody may create names there, so it is checked to be ours.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from recollect.errors import StoreError
from recollect.storage.embedded.account import Account, find_blocked_folder
from recollect.storage.embedded.folder import Folder, reporting

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
