"""The shards of one tenant, on the machine where they lie: what is to be done with the rows of a tenant alone."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import StoreError
from recollect.storage.connections import Connection
from recollect.storage.store import Row, compose

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
    row = await (await connection.execute(compose("store_form"))).fetchone()
    return row is not None and row["form"] == "cluster" and row["citus"]


async def vacuum(connection: Connection, tenant: str, tables: Sequence[str], *, rewrite_bytes: int) -> str:
    """Take dead rows out of the tenant's shards, and out of no others; small ones are rewritten."""
    found = await connection.execute(_SHARDS, [[f"recollect.{table}" for table in tables], tenant])
    shards = await found.fetchall()
    sizes = await _run(connection, shards, "select pg_total_relation_size('{}')")
    rewrite = sum(map(int, sizes)) <= rewrite_bytes
    superuser = await (await connection.execute(compose("may_edit_catalog"))).fetchone()
    if superuser and superuser["superuser"]:
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
