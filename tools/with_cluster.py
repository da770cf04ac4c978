"""Run a command against a Citus cluster on this machine: a coordinator and two workers, gone afterwards.

    uv run python tools/with_cluster.py pytest -m "" tests/storage/test_cluster.py

The servers are those of the PostgreSQL that `PG_CONFIG` names, or `pg_config` on the path, with Citus and pgvector
installed in it. The coordinator's address reaches the command as RECOLLECT_TEST_CLUSTER_URL. Where there is no Citus
the command is not run, and the exit code is 3.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from recollect.storage.embedded import temporary_home
from recollect.storage.embedded.server_settings import choose_account

NO_CITUS = 3
WORKERS = 2
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": "150",
    "max_prepared_transactions": "200",
    "max_locks_per_transaction": "256",
    "fsync": "off",
}


def find_binaries() -> Path | None:
    """The programs of a PostgreSQL that has Citus and pgvector."""
    program = os.environ.get("PG_CONFIG") or shutil.which("pg_config")
    if program is None:
        return None

    def ask(what: str) -> Path:
        return Path(
            subprocess.run([program, what], capture_output=True, text=True, check=True).stdout.strip()
        )

    extensions = ask("--sharedir") / "extension"
    has_both = all((extensions / f"{name}.control").exists() for name in ("citus", "vector"))
    return ask("--bindir") if has_both else None


@contextmanager
def server(binaries: Path, folder: Path) -> Iterator[int]:
    """A PostgreSQL with Citus in its first database; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    data = folder / f"node-{port}"
    account = choose_account(data)
    user: dict[str, Any] = (
        {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}
    )

    def run(*command: object) -> None:
        subprocess.run(
            [str(part) for part in command], check=True, stdout=subprocess.DEVNULL, cwd="/", **user
        )

    run(binaries / "initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync")
    options = " ".join(f"-c {name}='{value}'" for name, value in {**SETTINGS, "port": port}.items())
    run(binaries / "pg_ctl", "--pgdata", data, "--log", data / "log", "--wait", "--options", options, "start")
    try:
        with psycopg.connect(address(port), autocommit=True) as connection:
            connection.execute("create extension citus")
        yield port
    finally:
        run(binaries / "pg_ctl", "--pgdata", data, "--mode", "immediate", "stop")


def address(port: int) -> str:
    """The owner's URL of a server on this machine."""
    return f"postgresql://postgres@127.0.0.1:{port}/postgres"


def main() -> int:
    """Start, run, stop; the exit code is the command's."""
    command = sys.argv[1:]
    if not command:
        print(__doc__)
        return 2
    binaries = find_binaries()
    if binaries is None:
        print(
            "no PostgreSQL with Citus and pgvector was found (PG_CONFIG names its pg_config); nothing was run"
        )
        return NO_CITUS
    with temporary_home() as home, ExitStack() as stack:
        folder = home / "cluster"
        account = choose_account(folder)
        folder.mkdir()
        if account is not None:
            os.chown(folder, account.uid, account.gid)
        [first, *others] = [stack.enter_context(server(binaries, folder)) for _ in range(1 + WORKERS)]
        with psycopg.connect(address(first), autocommit=True) as connection:
            connection.execute("select citus_set_coordinator_host('127.0.0.1', %s)", [first])
            for port in others:
                connection.execute("select citus_add_node('127.0.0.1', %s)", [port])
        environment = {**os.environ, "RECOLLECT_TEST_CLUSTER_URL": address(first)}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
