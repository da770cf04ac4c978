"""The owner's connection to a cluster's coordinator, and the shards of one tenant on their machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from recollect.errors import StoreError, StoreUnreachableError, StoreUnsupportedError
from recollect.storage.connections import Connection
from recollect.storage.faults import translated
from recollect.storage.store import Row

Session = psycopg.Connection[dict[str, Any]]
#: The least version of Citus for PostgreSQL 18, and the one this was tried with.
LEAST_CITUS = 14


def named(table: str) -> sql.Identifier:
    """A table of the store, for SQL."""
    return sql.Identifier("recollect", table)


@contextmanager
def session(owner: str) -> Iterator[Session]:
    """The owner's connection to the coordinator."""
    with translated(), psycopg.connect(owner, autocommit=True, row_factory=dict_row) as connection:
        # Deparsed policies name what they mean.
        connection.execute("set search_path = pg_catalog; set client_min_messages = warning")
        yield connection


@contextmanager
def one_by_one(connection: Session) -> Iterator[None]:
    """A transaction with one connection to each node, so that every statement sees what was made before it."""
    with connection.transaction():
        connection.execute("set local citus.multi_shard_modify_mode = 'sequential'")
        yield


def has_citus(connection: Session) -> bool:
    """Whether the extension is there."""
    return connection.execute("select from pg_extension where extname = 'citus'").rowcount > 0


def check_citus(connection: Session) -> None:
    """A coordinator with a Citus that is new enough, whose nodes all answer."""
    row = connection.execute(
        "select (select e.extversion from pg_extension e where e.extname = 'citus') as installed,"
        " exists (select from pg_available_extensions a where a.name = 'citus') as available"
    ).fetchone()
    assert row is not None
    if row["installed"] is None:
        raise StoreUnsupportedError(
            "this database has no Citus; "
            + (
                "`create extension citus` on the coordinator and on every worker first"
                if row["available"]
                else f"a cluster needs PostgreSQL with Citus {LEAST_CITUS} or newer on every machine"
            )
        )
    if int(row["installed"].partition(".")[0]) < LEAST_CITUS:
        raise StoreUnsupportedError(
            f"Citus {row['installed'].partition('-')[0]} is too old; recollect needs {LEAST_CITUS} "
            "(`alter extension citus update` after the upgrade, on every node)"
        )
    here = connection.execute("select groupid from pg_dist_local_group").fetchone()
    if here is None or here["groupid"] != 0:
        raise StoreUnsupportedError("this URL leads to a worker; give that of the coordinator")
    for name, answer in _dead_nodes(connection):
        raise StoreUnreachableError(
            f"the node {name} does not answer ({answer}); bring it back, then run this again"
        )


def _dead_nodes(connection: Session) -> list[tuple[str, str]]:
    rows = connection.execute(
        "select nodename, nodeport, success, result from run_command_on_all_nodes('select 1') r"
        " join pg_dist_node n using (nodeid) where not success"
    ).fetchall()
    return [(f"{row['nodename']}:{row['nodeport']}", " ".join(row["result"].split())) for row in rows]


def nodes_of(connection: Session) -> list[dict[str, Any]]:
    """All machines of the cluster, the coordinator first."""
    return connection.execute(
        "select nodeid, groupid, nodename, nodeport, isactive, shouldhaveshards from pg_dist_node"
        " where noderole = 'primary' order by groupid"
    ).fetchall()


def form_of(connection: Session) -> str:
    """Whether the store is on one machine, on the way, or on many."""
    row = connection.execute("select form from recollect.store").fetchone()
    if row is None:
        raise StoreError("the store has no description of itself; restore a backup")
    form: str = row["form"]
    return form


_SHARDS = """
select n.nodename, n.nodeport, shard_name(s.logicalrelid, s.shardid) as name
from pg_dist_shard s
join pg_dist_placement p using (shardid)
join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
where s.logicalrelid = any(%s::regclass[]) and s.shardminvalue = (
    select a.shardminvalue from pg_dist_shard a
    where a.shardid = get_shard_id_for_distribution_column('recollect.memory', %s::text))
"""
_RUN = "select * from master_run_on_worker(%s::text[], %s::int[], %s::text[], false)"


async def is_cluster(connection: Connection) -> bool:
    """Whether the store's tables lie on other machines."""
    rows = await connection.fetch("store_form")
    return bool(rows) and rows[0]["form"] == "cluster" and rows[0]["citus"]


async def vacuum(connection: Connection, tenant: str, tables: Sequence[str], *, rewrite_bytes: int) -> str:
    """Take dead rows out of the tenant's shards, and out of no others; small ones are rewritten."""
    cursor = await connection.execute(_SHARDS, [[f"recollect.{table}" for table in tables], tenant])
    shards = await cursor.fetchall()
    sizes = await _run(connection, shards, "select pg_total_relation_size('{}')")
    rewrite = sum(map(int, sizes)) <= rewrite_bytes
    [role] = await connection.fetch("may_edit_catalog")
    if role["superuser"]:
        await _run(connection, shards, "delete from pg_catalog.pg_statistic where starelid = '{}'::regclass")
    await _run(connection, shards, "vacuum (full, analyze) {}" if rewrite else "vacuum (analyze) {}")
    return "rewritten" if rewrite else "vacuumed"


async def _run(connection: Connection, shards: Sequence[Row], command: str) -> list[str]:
    """Run a command for each shard where it lies; `{}` stands for its name."""
    values = [
        [shard["nodename"] for shard in shards],
        [shard["nodeport"] for shard in shards],
        [command.format(shard["name"].replace("'", "''")) for shard in shards],
    ]
    rows = await (await connection.execute(_RUN, values)).fetchall()
    for row in rows:
        if not row["success"]:
            raise StoreError(f"a shard on {row['node_name']}:{row['node_port']} failed: {row['result']}")
    return [row["result"] for row in rows]
