"""Back up a store into one file, and bring it back.

Works on any PostgreSQL by the owner's connection string, with the programs of the embedded one. It moves the
schema `recollect` (and `recollect_*`) as it is and knows nothing of what is in it but its version; roles and the
extension belong to the server and are expected there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RecollectError,
    StoreBusyError,
    StoreCorruptedError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
    StoreUnsupportedError,
)
from recollect.storage.embedded.folder import reporting, sync_path
from recollect.storage.embedded.server_settings import binary
from recollect.storage.migrations import check_version

SCHEMA = "recollect"
# What other parts of Recollect keep beside the main schema, such as a job queue's tables.
_MORE_SCHEMAS = "recollect_*"
# `replace` has to wait for transactions that still read the old tables, but not for one somebody forgot.
_LOCK_TIMEOUT_S = 30
# Written by every pg_dump since 17, unknown to the servers before it, and the default anyway.
_SETTING_OF_17 = b"SET transaction_timeout = 0;\n"

_NOT_RUN = "try again, or install recollect anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What was written or brought back."""

    path: Path
    size_bytes: int
    tables: int
    elapsed_s: float


def backup(endpoint_owner_conninfo: str, target: Path, *, overwrite: bool = False) -> BackupReport:
    """Write the store into `target`, readable by its owner alone; the file appears whole or not at all."""
    began = time.monotonic()
    if target.is_dir():
        raise InvalidInputError(f"{str(target)!r} is a folder; name a file in it")
    if os.path.lexists(target) and not overwrite:
        raise ConflictError(
            f"{str(target)!r} exists already; choose another name, or overwrite it on purpose"
        )
    target = target.absolute()
    with reporting("write to", target, "name another file"):
        descriptor, name = tempfile.mkstemp(
            prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent
        )
        part = Path(name)
        try:
            os.close(descriptor)
            _dump(endpoint_owner_conninfo, part, target)
            tables = len(_tables_in(part))
            sync_path(part)
            os.replace(part, target)
            sync_path(target.parent)
        finally:
            part.unlink(missing_ok=True)
    return _report(target, tables, began)


def restore(endpoint_owner_conninfo: str, source: Path, *, replace: bool = False) -> BackupReport:
    """Bring a backup into an empty database, or with `replace` in the place of what is there.

    All in one transaction: whatever goes wrong, the database stays as it was.
    """
    began = time.monotonic()
    if not source.is_file():
        raise NotFoundError(f"there is no backup file {str(source)!r}")
    with reporting("read", source, "the database is as it was, try again"):
        return _restore(endpoint_owner_conninfo, source, replace=replace, began=began)


def _restore(endpoint_owner_conninfo: str, source: Path, *, replace: bool, began: float) -> BackupReport:
    tables = _tables_in(source)
    # Once it is in its place, a store that can't be opened could not be replaced either.
    check_version(_version_in(source))
    existing = _existing_schemas(endpoint_owner_conninfo)
    if not replace and existing.get(SCHEMA, 0) > 0:
        raise ConflictError(
            f"the database already holds {existing[SCHEMA]} tables of a store; "
            "restore into an empty database, or replace it on purpose (a backup first is wise)"
        )
    _replay(endpoint_owner_conninfo, source, _preamble(list(existing), replace=replace))
    _analyze(endpoint_owner_conninfo)
    return _report(source, len(tables), began)


def _report(path: Path, tables: int, began: float) -> BackupReport:
    return BackupReport(
        path=path, size_bytes=path.stat().st_size, tables=tables, elapsed_s=time.monotonic() - began
    )


def _dump(conninfo: str, part: Path, target: Path) -> None:
    options = ["--format=custom", "--no-owner", "--no-password", f"--file={part}"]
    options += [f"--schema={SCHEMA}", f"--schema={_MORE_SCHEMAS}"]
    command, environment = _command("pg_dump", options, conninfo)
    with reporting("run", Path(command[0]), _NOT_RUN):
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
    if done.returncode != 0:
        raise _dump_error(done.stderr.decode("utf-8", errors="replace"), target)


def _command(program: str, arguments: list[str], conninfo: str) -> tuple[list[str], dict[str, str]]:
    """The command line and environment; the password is in the latter, for everybody can read the former."""
    try:
        parameters: dict[str, Any] = dict(conninfo_to_dict(conninfo))
    except psycopg.ProgrammingError as error:
        raise StoreUnreachableError(f"the database's address can't be read: {error}") from error
    environment = _environment()
    if (password := parameters.pop("password", None)) is not None:
        environment["PGPASSWORD"] = str(password)
    return [str(binary(program)), *arguments, f"--dbname={make_conninfo('', **parameters)}"], environment


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    # The messages are read below, so they must not be translated.
    return {**kept, "LC_ALL": "C", "PGAPPNAME": "recollect backup"}


def _tables_in(source: Path) -> list[str]:
    """The tables of a backup file, by its table of contents."""
    contents = _read(source, "--list")
    if not re.search(rf"^\d+; \d+ \d+ SCHEMA - {SCHEMA} ", contents, flags=re.MULTILINE):
        raise InvalidInputError(f"{str(source)!r} is a database dump, but not one of a Recollect store")
    return re.findall(r"^\d+; \d+ \d+ TABLE (?!DATA |ATTACH )(\S+ \S+)", contents, flags=re.MULTILINE)


def _version_in(source: Path) -> int | None:
    """The schema version of a backup file, by the migrations it lists."""
    rows = _read(source, "--data-only", f"--schema={SCHEMA}", "--table=migration", "--file=-")
    return max(map(int, re.findall(r"^(\d+)\t(?:pre|post)\t", rows, flags=re.MULTILINE)), default=None)


def _read(source: Path, *options: str) -> str:
    program = binary("pg_restore")
    with reporting("run", program, _NOT_RUN):
        read = subprocess.run(
            [program, *options, os.fspath(source.absolute())],
            env=_environment(),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if read.returncode != 0:
        raise _broken(source, read.stderr)
    return read.stdout


def _existing_schemas(conninfo: str) -> dict[str, int]:
    """The store's schemas in the database, each with its number of tables."""
    question = """
        select n.nspname, count(c.oid) from pg_namespace n
        left join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p')
        where n.nspname = %(name)s or starts_with(n.nspname, %(name)s || '_') group by 1"""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            return {name: int(count) for name, count in connection.execute(question, {"name": SCHEMA})}
    except psycopg.Error as error:
        raise StoreUnreachableError(f"the database can't be reached: {str(error).strip()}") from error


def _preamble(schemas: list[str], *, replace: bool) -> bytes:
    """Make room inside the transaction that restores; without `replace` only for schemas that are empty."""
    behaviour = sql.SQL("cascade" if replace else "restrict")
    statements = [
        sql.SQL("begin;\nset client_min_messages = error;\n").as_string(),
        f"set local lock_timeout = '{_LOCK_TIMEOUT_S}s';\n",
        *(
            sql.SQL("drop schema {} {};\n").format(sql.Identifier(name), behaviour).as_string()
            for name in schemas
        ),
        "create extension if not exists vector;\n",
    ]
    return "".join(statements).encode()


def _replay(conninfo: str, source: Path, preamble: bytes) -> None:
    """Feed the backup to the database as SQL and commit only when all of it went through.

    `pg_restore --single-transaction` can't first drop what the backup does not know: the transaction is ours.
    """
    command, environment = _command(
        "psql",
        ["--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output=/dev/null"],
        conninfo,
    )
    with tempfile.TemporaryFile() as reader_output, tempfile.TemporaryFile() as writer_output:
        program = binary("pg_restore")
        with (
            reporting("run", program, _NOT_RUN),
            subprocess.Popen(
                [program, "--no-owner", "--file=-", os.fspath(source.absolute())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=reader_output,
            ) as reader,
            subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=writer_output,
            ) as writer,
        ):
            if reader.stdout is None or writer.stdin is None:
                raise AssertionError("both pipes were asked for")
            try:
                writer.stdin.write(preamble)
                writer.stdin.write(reader.stdout.read(1 << 16).replace(_SETTING_OF_17, b"", 1))
                shutil.copyfileobj(reader.stdout, writer.stdin, 1 << 20)
                if reader.wait() == 0:
                    writer.stdin.write(b"\ncommit;\n")
                writer.stdin.close()
            except BrokenPipeError:
                # The database refused something and psql has left; its words are read below.
                reader.kill()
                with suppress(BrokenPipeError):
                    writer.stdin.close()
            refused = writer.wait() != 0
        # A backup that ends in the middle of a row makes both fail; below zero the reader was stopped above.
        if reader.returncode > 0:
            raise _broken(source, _text(reader_output))
        if refused:
            raise _replay_error(_text(writer_output))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


def _analyze(conninfo: str) -> None:
    """Give the planner its statistics; a dump has none, and the first searches would be slow."""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("set client_min_messages = error")
            connection.execute("analyze")
    except psycopg.Error as error:
        raise StoreError(f"the backup is restored, but `analyze` failed: {error}") from error


def _broken(source: Path, output: str) -> StoreCorruptedError:
    return StoreCorruptedError(
        f"the backup {str(source)!r} is damaged or incomplete ({_last_line(output)}); "
        "the database is as it was, try another backup"
    )


def _dump_error(text: str, target: Path) -> RecollectError:
    if "No space left on device" in text:
        return StoreFullError(f"can't write the backup {str(target)!r}: no space left on the disk")
    if "no matching schemas" in text:
        return NotFoundError(f"the database has no schema {SCHEMA!r}, so there is nothing to back up")
    if "server version mismatch" in text:
        return StoreUnsupportedError(
            "the server is newer than the installed pg_dump; use the server's own pg_dump"
        )
    if "row-level security" in text:
        return StoreUnsupportedError(
            "the role may not read every tenant's rows; back up as a superuser or a role with BYPASSRLS"
        )
    if "connection to server" in text:
        return StoreUnreachableError(f"the database can't be reached: {_last_line(text)}")
    return StoreError(f"the backup failed: {_last_line(text)}")


def _replay_error(output: str) -> RecollectError:
    reason = re.sub(r"^.*?\b(?:ERROR|FATAL|error): +", "", _first_error(output))
    if "No space left on device" in output:
        return StoreFullError("no space left on the database's disk; the database is as it was")
    if "lock timeout" in output:
        return StoreBusyError(
            "other programs use the store; close them and restore again (nothing was changed)"
        )
    if "other objects depend on it" in output:
        return ConflictError(
            "the database already holds parts of a store; restore into an empty one, or replace it"
        )
    return StoreError(f"the backup can't be restored here, and the database is as it was: {reason}")


def _first_error(output: str) -> str:
    return next(
        (line for line in output.splitlines() if re.search(r"ERROR:|FATAL:|error:", line)), _last_line(output)
    )


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no reason given")
