"""Which operating-system user the server runs as, and what that user can reach.

PostgreSQL refuses to run as root. A normal user runs it directly; root runs it as another system user,
who then owns the data directory and nothing else. This module knows users and permission bits, not
PostgreSQL.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.errors import StoreError

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
