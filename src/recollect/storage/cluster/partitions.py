"""A partitioned table becomes a plain one, whose shards take the place of partitions.

A twin without indexes is sharded, each partition is copied into it and dropped in one transaction, and at last the
twin takes the table's name, keys, indexes and policies. Called by `distribute`, a step at a time.
"""

from __future__ import annotations

from psycopg import sql

from recollect.storage.cluster.session import Session, named
from recollect.storage.endpoint import APP_ROLE

TWIN = "_sharded"


def make_twin(connection: Session, table: str) -> None:
    """An empty, sharded table with the same columns."""
    twin = table + TWIN
    connection.execute(
        sql.SQL("create table {} (like {} including all excluding indexes)").format(named(twin), named(table))
    )
    rows = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and attstattarget = 0",
        [f"recollect.{table}"],
    ).fetchall()
    for row in rows:
        column = sql.Identifier(row["attname"])
        connection.execute(
            sql.SQL("alter table {} alter column {} set statistics 0").format(named(twin), column)
        )
    connection.execute(
        "select create_distributed_table(%s, 'tenant_id', colocate_with => 'recollect.tenant')",
        [f"recollect.{twin}"],
    )


def copy_partition(connection: Session, table: str, partition: str) -> None:
    """Bring a partition's rows into the shards, and drop it."""
    rows = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
        " and attgenerated = '' order by attnum",
        [f"recollect.{table}"],
    ).fetchall()
    columns = sql.SQL(", ").join(sql.Identifier(row["attname"]) for row in rows)
    connection.execute(
        sql.SQL("insert into {} ({}) select {} from {}").format(
            named(table + TWIN), columns, columns, named(partition)
        )
    )
    connection.execute(sql.SQL("drop table {}").format(named(partition)))


def replace_by_twin(connection: Session, table: str) -> None:
    """Let the twin take the table's place, with everything that hung on it."""
    source = f"recollect.{table}"
    indexes = connection.execute(
        "select replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') as text from pg_index i"
        " where i.indrelid = %s::regclass and not exists (select from pg_constraint k where k.conindid = i.indexrelid)",
        [source],
    ).fetchall()
    keys = connection.execute(
        "select conname, pg_get_constraintdef(oid) as text from pg_constraint where conrelid = %s::regclass"
        " and contype in ('p', 'u', 'f') and conparentid = 0 order by contype desc",
        [source],
    ).fetchall()
    policies = connection.execute(
        "select polname, case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'"
        " when 'd' then 'delete' else 'all' end as command,"
        " (select string_agg(quote_ident(rolname), ', ') from pg_roles where oid = any(polroles)) as roles,"
        " 'using (' || recollect.sharded(pg_get_expr(polqual, polrelid)) || ')' as reads,"
        " 'with check (' || recollect.sharded(pg_get_expr(polwithcheck, polrelid)) || ')' as writes"
        " from pg_policy where polrelid = %s::regclass",
        [source],
    ).fetchall()
    connection.execute(sql.SQL("drop table {}").format(named(table)))
    connection.execute(
        sql.SQL("alter table {} rename to {}").format(named(table + TWIN), sql.Identifier(table))
    )
    for key in sorted(keys, key=lambda key: "FOREIGN" in key["text"]):
        connection.execute(
            sql.SQL("alter table {} add constraint {} {}").format(
                named(table), sql.Identifier(key["conname"]), sql.SQL(key["text"])
            )
        )
    for index in indexes:
        connection.execute(index["text"].encode())
    for verb in ("enable", "force"):
        connection.execute(
            sql.SQL("alter table {} {} row level security").format(named(table), sql.SQL(verb))
        )
    for policy in policies:
        connection.execute(
            sql.SQL("create policy {} on {} for {} to {} {} {}").format(
                sql.Identifier(policy["polname"]),
                named(table),
                *(sql.SQL(policy[part] or "") for part in ("command", "roles", "reads", "writes")),
            )
        )
    connection.execute(
        sql.SQL("grant select, insert, update, delete on {} to {}").format(
            named(table), sql.Identifier(APP_ROLE)
        )
    )
