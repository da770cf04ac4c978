"""The machines of a cluster: what lies on them, one more of them, and an even share for each.

Moving shards is Citus' own work (`citus_rebalance_start`); here it is started, watched and put into words.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psycopg

from recollect.errors import ConflictError, InvalidInputError, StoreError, StoreUnreachableError
from recollect.storage.cluster.distribute import Progress
from recollect.storage.cluster.session import Session, check_citus, form_of, has_citus, nodes_of, session

_POLL_S = 1.0
_SHARDS = (
    "select p.groupid, count(*) as shards from pg_dist_placement p join pg_dist_shard s using (shardid)"
    " where s.logicalrelid = 'recollect.memory'::regclass group by p.groupid"
)
_SIZES = "select nodeid, success, result from run_command_on_all_nodes('select pg_database_size(current_database())')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine: its shards (of each table as many), the bytes of the database there, and whether it answers."""

    name: str
    coordinator: bool
    answers: bool
    shards: int
    bytes: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A cluster at a glance. balance: the fullest node's bytes over the mean of those with shards; 1.0 is even."""

    citus: str
    nodes: tuple[Node, ...]
    shards: int
    balance: float | None


def status(owner: str) -> ClusterStatus | None:
    """What the cluster looks like; None for a store on one machine."""
    with session(owner) as connection:
        if form_of(connection) != "cluster" or not has_citus(connection):
            return None
        counts = {row["groupid"]: row["shards"] for row in connection.execute(_SHARDS.encode())}
        sizes = {row["nodeid"]: row for row in connection.execute(_SIZES.encode())}
        nodes = tuple(_node(node, counts, sizes) for node in nodes_of(connection))
        version = connection.execute("select extversion from pg_extension where extname = 'citus'").fetchone()
        assert version is not None
    filled = [node.bytes for node in nodes if node.shards and node.bytes is not None]
    return ClusterStatus(
        citus=version["extversion"].partition("-")[0],
        nodes=nodes,
        shards=sum(counts.values()),
        balance=round(max(filled) * len(filled) / sum(filled), 3) if filled else None,
    )


def _node(node: dict[str, Any], counts: dict[int, int], sizes: dict[int, dict[str, Any]]) -> Node:
    size = sizes.get(node["nodeid"], {"success": False, "result": "not active"})
    return Node(
        name=f"{node['nodename']}:{node['nodeport']}",
        coordinator=node["groupid"] == 0,
        answers=size["success"],
        shards=counts.get(node["groupid"], 0),
        bytes=int(size["result"]) if size["success"] else None,
        error=None if size["success"] else " ".join(size["result"].split()),
    )


def add_node(owner: str, address: str) -> bool:
    """Make a machine part of the cluster; False if it is already. It gets shards by `rebalance`."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        host, port = address, "5432"
    if not host:
        raise InvalidInputError(f"{address!r} names no machine; write host:port")
    with session(owner) as connection:
        check_citus(connection)
        known = {(node["nodename"], node["nodeport"]) for node in nodes_of(connection)}
        if (host, int(port)) in known:
            return False
        try:
            connection.execute("select citus_add_node(%s, %s)", [host, int(port)])
        except psycopg.errors.InsufficientPrivilege:
            raise
        except (psycopg.OperationalError, psycopg.InternalError, psycopg.ProgrammingError) as error:
            raise StoreUnreachableError(
                f"{host}:{port} can't become a node ({' '.join(str(error).split())[:300]}); it needs PostgreSQL with "
                f"Citus and pgvector, a database {connection.info.dbname!r} with the extension, and to let "
                "the coordinator in"
            ) from error
    return True


def rebalance(owner: str, *, progress: Progress | None = None) -> int:
    """Give every node its share of the shards, while the store is in use; returns how many moves were made."""
    with session(owner) as connection:
        check_citus(connection)
        if form_of(connection) != "cluster":
            raise ConflictError("this store is on one machine; `recollect db distribute` makes it a cluster")
        row = connection.execute(
            "select citus_rebalance_start(shard_transfer_mode => %s::citus.shard_transfer_mode) as job",
            [_transfer_mode(connection)],
        ).fetchone()
        if row is None or row["job"] is None:
            return 0
        return _watch(connection, row["job"], progress)


def _transfer_mode(connection: Session) -> str:
    """With a logical log shards move while they are written to; without, writes to a shard wait until it has moved."""
    rows = connection.execute("select result from run_command_on_all_nodes('show wal_level')").fetchall()
    return "auto" if all(row["result"] == "logical" for row in rows) else "block_writes"


def _watch(connection: Session, job: int, progress: Progress | None) -> int:
    while True:
        rows = connection.execute(
            "select j.state, t.status, t.message from pg_dist_background_job j"
            " join pg_dist_background_task t using (job_id) where job_id = %s",
            [job],
        ).fetchall()
        done = len([row for row in rows if row["status"] == "done"])
        if progress:
            progress(done, len(rows))
        state = rows[0]["state"] if rows else "finished"
        if state in ("failed", "cancelled"):
            reasons = {" ".join(row["message"].split()) for row in rows if row["message"]}
            raise StoreError(
                f"rebalancing stopped after {done} of {len(rows)} moves ({'; '.join(sorted(reasons))[:400]}); "
                "nothing is lost: every shard is whole where it was or where it went. Run it again"
            )
        if state == "finished":
            return done
        time.sleep(_POLL_S)
