"""Turn a store into a cluster, in place, one step after another.

Each step is a transaction of its own, over all machines, and is found done when the command is run again: a run that
was killed goes on where it stopped. Meanwhile the store is closed to everybody (`recollect.store.form`).

The three partitioned tables become plain ones, whose shards take the place of partitions: a twin without indexes is
sharded, each partition is copied into it and dropped in one transaction, and at last the twin takes the table's name,
keys, indexes and policies. The other tables are handed to Citus as they are, those first that others refer to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from psycopg import sql

from recollect.errors import InvalidInputError, StoreError
from recollect.storage.cluster.session import (
    Session,
    check_citus,
    form_of,
    has_citus,
    named,
    nodes_of,
    one_by_one,
    session,
)
from recollect.storage.endpoint import APP_ROLE, app_password

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


Progress = Callable[[int, int | None], None]
#: A shard holds the tenants of one hash range; twice to four times the nodes one hopes for is Citus' own advice.
DEFAULT_SHARDS = 32
#: Small tables that every node has whole.
REFERENCE = ("migration", "store", "space")
PARTITIONED = ("memory", "embedding", "posting")
#: What is kept of a memory is kept in its scope (refuse_strays() on one machine).
_OF_MEMORY = ("embedding", "posting", "mention")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of the way to a cluster: what it does, how many bytes it moves, and the doing."""

    text: str
    bytes: int
    run: Callable[[Session], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is left to do, on which nodes."""

    nodes: tuple[str, ...]
    shards: int
    steps: tuple[Step, ...]

    @property
    def bytes(self) -> int:
        """How many bytes will move."""
        return sum(step.bytes for step in self.steps)


def plan(owner: str, *, shards: int | None = None) -> Plan:
    """What `distribute` would do; changes nothing."""
    with session(owner) as connection:
        return _plan(connection, shards)


def distribute(owner: str, *, shards: int | None = None, progress: Progress | None = None) -> Plan:
    """Turn a store into a cluster, or go on with it; `progress` hears how many steps are done, of how many."""
    with session(owner) as connection:
        todo = _plan(connection, shards)
        for number, step in enumerate(todo.steps):
            if progress:
                progress(number, len(todo.steps))
            with one_by_one(connection):
                step.run(connection)
    return todo


def spread_again(owner: str) -> bool:
    """A backup of a cluster comes back as a cluster without shards: spread it, where Citus is."""
    with session(owner) as connection:
        if form_of(connection) == "single" or not has_citus(connection):
            return False
    distribute(owner)
    return True


def _plan(connection: Session, shards: int | None) -> Plan:
    if shards is not None and not 1 <= shards <= 4096:
        raise InvalidInputError(f"{shards} shards make no sense; 8 to 128 do (default {DEFAULT_SHARDS})")
    check_citus(connection)
    form = form_of(connection)
    tables = _in_order(connection)
    left = [step for table in tables for step in _table_steps(connection, table, shards or DEFAULT_SHARDS)]
    holders = [node for node in nodes_of(connection) if node["shouldhaveshards"]]
    names = tuple(f"{node['nodename']}:{node['nodeport']}" for node in holders)
    steps = [Step(text="functions and policies: the form of a cluster", bytes=0, run=refresh)]
    # A backup of a cluster comes back as a cluster without shards.
    if form != "cluster" or left:
        steps = [
            Step(text="the store: closed to its users", bytes=0, run=_close),
            *steps,
            *_reference_steps(connection),
            *left,
            Step(text="vectors, terms and names: bound to their memories", bytes=0, run=_bind),
            Step(text="the coordinator: what was copied is removed", bytes=0, run=_empty),
            Step(text="the store: open", bytes=0, run=_open),
        ]
    return Plan(nodes=names, shards=shards or DEFAULT_SHARDS, steps=tuple(steps))


def _close(connection: Session) -> None:
    connection.execute("update recollect.store set form = 'distributing'")
    # Who is connected still believes in one machine.
    connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s and datname = current_database()",
        [APP_ROLE],
    )
    if not [node for node in nodes_of(connection) if node["groupid"] == 0]:
        connection.execute(
            "select citus_set_coordinator_host(coalesce(host(inet_server_addr()), 'localhost'), inet_server_port())"
        )


def refresh(connection: Session) -> None:
    """Give functions and the policies of shards the form of a cluster; migrations write that of one machine."""
    text = resources.files("recollect.storage.sql").joinpath("cluster.sql").read_text(encoding="utf-8")
    connection.execute(text.encode())
    for name in (
        "caller()",
        "caller_tenant()",
        "caller_is_admin()",
        "caller_scopes(text)",
        "author_in(uuid, smallint)",
        "has_written(text)",
    ):
        connection.execute("select create_distributed_function(%s)", [f"recollect.{name}"])
    for table in sorted(_distributed(connection)):
        connection.execute("call recollect.shard_policies(%s)", [table])
    if connection.info.password:
        # Where the workers ask for a password, the coordinator shows that of the application role.
        secret = f"password={app_password(connection.info.password)}"
        connection.execute(
            "insert into pg_dist_authinfo (nodeid, rolename, authinfo) values (0, %s, %s)"
            " on conflict (nodeid, rolename) do update set authinfo = excluded.authinfo",
            [APP_ROLE, secret],
        )
    # Settings of a transaction reach the shards.
    connection.execute(
        sql.SQL("alter role {} in database {} set citus.propagate_set_commands = 'local'").format(
            sql.Identifier(APP_ROLE), sql.Identifier(connection.info.dbname)
        )
    )


def _reference_steps(connection: Session) -> list[Step]:
    done = _distributed(connection)

    def copy(table: str) -> Callable[[Session], None]:
        def run(connection: Session) -> None:
            connection.execute("select create_reference_table(%s)", [f"recollect.{table}"])

        return run

    return [
        Step(text=f"{table}: a copy on every node", bytes=0, run=copy(table))
        for table in REFERENCE
        if table not in done
    ]


def _distributed(connection: Session) -> set[str]:
    rows = connection.execute(
        "select c.relname from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid"
        " where c.relnamespace = 'recollect'::regnamespace"
    ).fetchall()
    return {row["relname"] for row in rows}


def _in_order(connection: Session) -> list[str]:
    """The tables with tenants' data, each after those it refers to."""
    rows = connection.execute(
        "select c.relname, array(select distinct f.relname::text"
        "   from pg_constraint k join pg_class f on f.oid = k.confrelid"
        "   where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs"
        " from pg_class c where c.relnamespace = 'recollect'::regnamespace and c.relkind in ('r', 'p')"
        " and not c.relispartition and right(c.relname, %s) <> %s order by c.relname",
        [len(TWIN), TWIN],
    ).fetchall()
    needs = {row["relname"]: set(row["needs"]) for row in rows if row["relname"] not in REFERENCE}
    ordered: list[str] = []
    while needs:
        ready = sorted(name for name, wanted in needs.items() if wanted <= set(ordered))
        if not ready:
            raise StoreError(f"tables refer to each other in a circle: {', '.join(sorted(needs))}")
        # Everything is placed beside the tenant, which comes first.
        ordered += ready
        for name in ready:
            del needs[name]
    return sorted(ordered, key=lambda name: name != "tenant")


def _table_steps(connection: Session, table: str, shards: int) -> list[Step]:
    if table in _distributed(connection):
        return []
    size = _bytes(connection, table)
    if table not in PARTITIONED or _is_plain(connection, table):
        return [
            Step(text=f"{table}: over {shards} shards", bytes=size, run=lambda c: _shard(c, table, shards))
        ]
    steps = []
    if connection.execute("select to_regclass(%s) as twin", [f"recollect.{table}{TWIN}"]).fetchone() == {
        "twin": None
    }:
        steps.append(Step(text=f"{table}: shards to copy into", bytes=0, run=lambda c: make_twin(c, table)))
    for partition in _partitions(connection, table):
        steps.append(
            Step(
                text=f"{partition}: into the shards of {table}",
                bytes=_bytes(connection, partition),
                run=lambda c, p=partition: copy_partition(c, table, p),  # type: ignore[misc]
            )
        )
    steps.append(
        Step(text=f"{table}: indexes and policies", bytes=0, run=lambda c: replace_by_twin(c, table))
    )
    return steps


def _is_plain(connection: Session, table: str) -> bool:
    rows = connection.execute(
        "select from pg_class where oid = %s::regclass and relkind = 'r'", [f"recollect.{table}"]
    )
    return rows.rowcount > 0


def _bytes(connection: Session, table: str) -> int:
    row = connection.execute(
        "select pg_total_relation_size(%s::regclass) as bytes", [f"recollect.{table}"]
    ).fetchone()
    assert row is not None
    size: int = row["bytes"]
    return size


def _partitions(connection: Session, table: str) -> list[str]:
    rows = connection.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = %s::regclass order by c.oid",
        [f"recollect.{table}"],
    ).fetchall()
    return [row["relname"] for row in rows]


def _shard(connection: Session, table: str, shards: int) -> None:
    _drop_triggers(connection, table)
    connection.execute("call recollect.shard_policies(%s)", [table])
    # The first one says how many shards there are; the others lie beside it.
    where = (
        "shard_count => %(shards)s, colocate_with => 'none'"
        if table == "tenant"
        else "colocate_with => 'recollect.tenant'"
    )
    connection.execute(
        f"select create_distributed_table(%(table)s, 'tenant_id', {where})".encode(),
        {"table": f"recollect.{table}", "shards": shards},
    )


def _drop_triggers(connection: Session, table: str) -> None:
    for name in ("inserted", "updated"):
        connection.execute(
            sql.SQL("drop trigger if exists {} on {}").format(sql.Identifier(name), named(table))
        )


def _bind(connection: Session) -> None:
    """On one machine a trigger sees to it, once for a statement; on shards a foreign key does."""
    connection.execute("alter table recollect.memory drop constraint if exists memory_in_scope cascade")
    connection.execute(
        "alter table recollect.memory add constraint memory_in_scope unique (tenant_id, memory_id, scope_id)"
    )
    # Erasing a memory takes its vectors by this.
    connection.execute(
        "create index if not exists embedding_memory on recollect.embedding (tenant_id, memory_id)"
    )
    for table in _OF_MEMORY:
        connection.execute(
            sql.SQL(
                "alter table {} add constraint {} foreign key (tenant_id, memory_id, scope_id)"
                " references recollect.memory (tenant_id, memory_id, scope_id) on delete cascade"
            ).format(named(table), sql.Identifier(f"{table}_of_memory"))
        )


def _empty(connection: Session) -> None:
    """Citus copies a table's rows to the shards and leaves them where they were, out of sight."""
    for table in sorted(_distributed(connection)):
        connection.execute("select truncate_local_data_after_distributing_table(%s)", [f"recollect.{table}"])


def _open(connection: Session) -> None:
    connection.execute("update recollect.store set form = 'cluster'")
