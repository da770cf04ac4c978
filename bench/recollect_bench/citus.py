"""Servers of a Citus cluster on this machine, gone afterwards: for tests, for benchmarks, for trying things out.

They are those of the PostgreSQL that `PG_CONFIG` names, or `pg_config` on the path, with Citus and pgvector installed
in it. A server can be broken off, come back, have a replica and be replaced by it: PostgreSQL's own tools do all that.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from recollect.errors import StoreUnsupportedError
from recollect.storage.embedded import temporary_home
from recollect.storage.embedded.server_settings import choose_account, give, run_as

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": "150",
    "max_prepared_transactions": "200",
    "max_locks_per_transaction": "256",
    # A busy machine takes its time to let a node in.
    "citus.node_connection_timeout": "120000",
    "fsync": "off",
}


def find_binaries() -> Path | None:
    """The programs of a PostgreSQL that has Citus and pgvector."""
    program = os.environ.get("PG_CONFIG") or shutil.which("pg_config")
    if program is None:
        return None

    def ask(what: str) -> Path:
        told = subprocess.run([program, what], capture_output=True, text=True, check=True)
        return Path(told.stdout.strip())

    extensions = ask("--sharedir") / "extension"
    has_both = all((extensions / f"{name}.control").exists() for name in ("citus", "vector"))
    return ask("--bindir") if has_both else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A PostgreSQL of this machine; whoever is root runs it as another user."""

    binaries: Path
    data: Path
    port: int

    @classmethod
    def make(cls, binaries: Path, folder: Path) -> Server:
        """A server on a free port, with Citus in its first database."""
        made = cls._at_free_port(binaries, folder)
        made._run(
            "initdb", "--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"
        )
        made.start()
        with psycopg.connect(made.url, autocommit=True) as connection:
            connection.execute("create extension citus")
        return made

    @classmethod
    def _at_free_port(cls, binaries: Path, folder: Path) -> Server:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        return cls(binaries=binaries, data=folder / f"node-{port}", port=port)

    @property
    def url(self) -> str:
        """The owner's URL."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def address(self) -> str:
        """As other nodes know it."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = " ".join(f"-c {name}='{value}'" for name, value in {**SETTINGS, "port": self.port}.items())
        self._run("pg_ctl", "--log", self.data / "log", "--wait", "--options", options, "start")

    def kill(self) -> None:
        """End it at once, as if the machine had stopped; whatever was under way is undone when it starts again."""
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "--mode", "immediate", "stop")

    def make_replica(self) -> Server:
        """A running streaming replica; from now on a commit waits until it has it, too."""
        replica = self._at_free_port(self.binaries, self.data.parent)
        replica._run("pg_basebackup", "--write-recovery-conf", "--dbname", self.url, "--checkpoint", "fast")
        replica.start()
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")
            while not connection.execute(
                "select from pg_stat_replication where sync_state = 'sync'"
            ).rowcount:
                time.sleep(0.1)
        return replica

    def promote(self) -> None:
        """Let a replica take writes: alone, it waits for no other."""
        self._run("pg_ctl", "--wait", "promote")
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("alter system reset synchronous_standby_names")
            connection.execute("select pg_reload_conf()")

    def _run(self, program: str, *arguments: object) -> None:
        command: list[str | Path] = [self.binaries / program, "--pgdata", self.data, *map(str, arguments)]
        done = run_as(choose_account(self.data.parent), command)
        if done.returncode:
            raise StoreUnsupportedError(f"{program} failed: {done.stderr.strip()[-500:]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A coordinator and servers that are, or may become, its workers."""

    coordinator: Server
    workers: Sequence[Server]


@contextmanager
def local_cluster(workers: int, *, joined: bool = True) -> Iterator[Cluster]:
    """A coordinator and workers; `joined` says whether the coordinator knows the workers already."""
    binaries = find_binaries()
    if binaries is None:
        raise StoreUnsupportedError(
            "no PostgreSQL with Citus and pgvector was found; PG_CONFIG names the pg_config of one"
        )
    with temporary_home() as home:
        folder = home / "cluster"
        folder.mkdir()
        give(folder, choose_account(folder))
        try:
            first, *others = [Server.make(binaries, folder) for _ in range(1 + workers)]
            with psycopg.connect(first.url, autocommit=True) as connection:
                connection.execute("select citus_set_coordinator_host('127.0.0.1', %s)", [first.port])
                for worker in others if joined else ():
                    connection.execute("select citus_add_node('127.0.0.1', %s)", [worker.port])
            yield Cluster(coordinator=first, workers=others)
        finally:
            # Replicas, too, and those that were made before one could not be.
            for data in folder.glob("node-*"):
                Server(binaries=binaries, data=data, port=int(data.name.partition("-")[2])).kill()
