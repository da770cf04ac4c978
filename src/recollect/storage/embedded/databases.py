"""What is inside the server before Recollect's own schema: the cluster, the roles, a database, the extension.

Every step may have been done before, wholly or half, by a process that was killed: each can be repeated.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import StoreError, StoreUnreachableError
from recollect.storage.connections import CONNECT_TIMEOUT_S, connect
from recollect.storage.embedded.folder import (
    APP_ROLE,
    OWNER_ROLE,
    Folder,
    Secrets,
    password_advice,
    reporting,
    sync_path,
    write_private,
)
from recollect.storage.embedded.process import diagnose
from recollect.storage.embedded.server_settings import (
    SCRAM_ITERATIONS,
    Account,
    as_arguments,
    give,
    run_as,
    server_settings,
)
from recollect.storage.faults import is_crowded, is_starting, translate


def create_cluster(
    folder: Folder, *, bin_folder: Path, account: Account | None, secrets: Secrets, sync: bool, lock: int
) -> None:
    """Make the data directory aside and move it into place when it is complete.

    `initdb` inherits the start lock: if this process is killed, the next one waits until the orphan has ended
    before it clears away what is left.
    """
    with reporting("create", folder.unfinished):
        _discard_unfinished(folder)
        folder.unfinished.mkdir(mode=0o700)
        give(folder.unfinished, account)
        write_private(folder.password_file, secrets.owner + "\n")
        if account is not None:
            os.chown(folder.password_file, account.uid, account.gid, follow_symlinks=False)
    command: list[str | Path] = [bin_folder / "initdb", "-D", folder.unfinished]
    command += [
        "-U",
        OWNER_ROLE,
        "--pwfile",
        folder.password_file,
        "-c",
        f"scram_iterations={SCRAM_ITERATIONS}",
    ]
    command += [
        *("--auth", "scram-sha-256", "--encoding", "UTF8", "--data-checksums", "--no-instructions"),
        # Sorts by code point and knows upper and lower case beyond ASCII, the same on every system.
        *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
    ]
    if not sync:
        command.append("--no-sync")
    made = run_as(account, command, pass_fds=(lock,))
    if made.returncode != 0:
        _discard_unfinished(folder)
        raise diagnose(folder, made.stdout + made.stderr)
    with reporting("create", folder.data):
        folder.password_file.unlink()
        os.rename(folder.unfinished, folder.data)
        sync_path(folder.home)


def _discard_unfinished(folder: Folder) -> None:
    folder.password_file.unlink(missing_ok=True)
    if folder.unfinished.exists():
        shutil.rmtree(folder.unfinished)


def set_owner_password(
    folder: Folder, *, bin_folder: Path, account: Account | None, password: str, lock: int
) -> None:
    """Give the owner another password while the server is stopped; owning the files is proof enough."""
    command: list[str | Path] = [bin_folder / "postgres", "--single", "-D", folder.data]
    command += [*as_arguments(server_settings(sync=True, extra=None)), "postgres"]
    done = run_as(
        account, command, pass_fds=(lock,), text_in=f"alter role {OWNER_ROLE} password '{password}'\n"
    )
    if done.returncode != 0 or "ERROR:" in done.stderr:
        raise diagnose(folder, done.stderr)


def is_prepared(app_conninfo: str) -> bool:
    """Whether the application role gets in, which `prepare` allows only after everything else is done."""
    try:
        with psycopg.connect(app_conninfo, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True) as connection:
            return connection.info.parameter_status("is_superuser") == "off"
    except psycopg.Error:
        return False


def prepare(
    folder: Folder, *, maintenance: str, owner: str, database: str, secrets: Secrets, deadline: float
) -> None:
    """Create or correct the application role, the database, its rights and its extension."""
    role, name = sql.Identifier(APP_ROLE), sql.Identifier(database)
    rights = sql.SQL("login nosuperuser nobypassrls nocreatedb nocreaterole noreplication")
    try:
        with _connect(folder, maintenance, deadline) as connection:
            known = connection.execute("select from pg_roles where rolname = %s", [APP_ROLE]).fetchone()
            verb = sql.SQL("create" if known is None else "alter")
            password = sql.Literal(secrets.app)
            connection.execute(sql.SQL("{} role {} {} password {}").format(verb, role, rights, password))
            existing = connection.execute("select from pg_database where datname = %s", [database]).fetchone()
            if existing is None:
                # Closed at first: by default everybody may connect, and getting in is the sign of being done.
                connection.execute(sql.SQL("create database {} allow_connections false").format(name))
            for other in sorted({"postgres", "template1", database}):
                connection.execute(
                    sql.SQL("revoke all on database {} from public").format(sql.Identifier(other))
                )
            connection.execute(sql.SQL("alter database {} allow_connections true").format(name))
        with _connect(folder, owner, deadline) as connection:
            connection.execute("set client_min_messages = warning")
            connection.execute("create extension if not exists vector with schema public")
            # A newer wheel may carry a newer extension than the one this database was made with.
            connection.execute("alter extension vector update")
            connection.execute("revoke create on schema public from public")
            connection.execute(sql.SQL("grant connect on database {} to {}").format(name, role))
    except psycopg.Error as error:
        raise translate(error) from error


def _connect(folder: Folder, conninfo: str, deadline: float) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        return connect(conninfo, deadline=deadline)
    except psycopg.OperationalError as error:
        if is_crowded(error) or is_starting(error):
            raise
        if "password authentication failed" in str(error):
            raise StoreError(
                f"the password file {str(folder.secrets)!r} does not belong to this database; "
                f"{password_advice()}"
            ) from error
        raise StoreUnreachableError(
            f"the database server in {str(folder.home)!r} runs but does not answer: {str(error).strip()}; "
            "stop it with `recollect db stop` and try again"
        ) from error
