"""The schema and the queries, as the catalogue and the .sql files have them: fit for isolation and for sharding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.conftest import ON_CLUSTER

from recollect import Recollect, TenantContext
from recollect.doctor.arena import GLOBAL_TABLES, TENANT_WIDE, Arena, Table, readable_scopes
from recollect.doctor.health import doctor_queries
from recollect.storage import search
from recollect.storage.endpoint import Door
from recollect.storage.rows import MEMORY_COLUMNS
from recollect.storage.sql import compose, queries
from recollect.storage.store import WRITTEN

SCHEMA = resources.files("recollect.storage.sql").joinpath("schema.sql").read_text(encoding="utf-8")
PARTITIONED = re.findall(r"create table recollect\.(\w+) \([^;]*?\) partition by hash", SCHEMA)
TABLES = sorted(
    {
        *re.findall(r"create table recollect\.(\w+)", SCHEMA),
        *(f"{name}_{n}" for name in PARTITIONED for n in range(0 if ON_CLUSTER else 16)),
    }
)
PROTECTED = [name for name in TABLES if name not in GLOBAL_TABLES]


@pytest.fixture
def owner(owner_conninfo: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(owner_conninfo) as connection:
        yield connection


def test_the_tables_tested_here_are_all_there_are(arena: Arena) -> None:
    assert [table.name for table in arena.tables] == TABLES


def find(arena: Arena, name: str) -> Table:
    return next(table for table in arena.tables if table.name == name)


def test_no_table_shows_anything_to_nobody_or_anything_of_others(arena: Arena) -> None:
    tables = [find(arena, name) for name in PROTECTED]
    scoped = [table for table in tables if "scope_id" in table.columns and table.parent != "membership"]
    ana = arena.mine.as_user("ana")
    others = "tenant_id is distinct from %s"
    looks: list[tuple[TenantContext | None, list[Table], str, list[Any]]] = [
        (None, tables, "true", []),
        (arena.mine.admin, tables, others, [arena.mine.tenant_id]),
        (ana, tables, others, [arena.mine.tenant_id]),
        (ana, scoped, "not (scope_id = any(%s))", [list(readable_scopes(arena.mine, ana))]),
    ]
    leaks = []
    with arena.attacker() as attacker:
        for caller, looked_at, condition, values in looks:
            with attacker.posing_as(caller):
                rows = attacker.counts(looked_at, condition, values)
            leaks += [(name, condition, number) for name, number in rows.items() if number]
    assert len(scoped) > (15 if ON_CLUSTER else 50)
    assert leaks == []


def test_row_level_security_is_enabled_and_forced_on_every_table(arena: Arena) -> None:
    tables = [find(arena, name) for name in PROTECTED]
    assert [table.name for table in tables if not (table.enabled and table.forced)] == []


def test_every_table_shows_its_own_rows_so_that_the_tests_above_mean_something(arena: Arena) -> None:
    names = [name for name in PROTECTED if not re.search(r"_\d+$", name)]
    with arena.attacker() as attacker, attacker.posing_as(arena.mine.admin):
        rows = {name: attacker.count(find(arena, name)) for name in names}
    assert {name: n for name, n in rows.items() if n < (1 if name in TENANT_WIDE else 5)} == {}


def test_every_key_of_tenant_data_starts_with_the_tenant(
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    keys = owner.execute(
        "select c.relname, i.relname, a.attname from pg_index x join pg_class c on c.oid = x.indrelid"
        " join pg_class i on i.oid = x.indexrelid"
        " join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]"
        " where c.relnamespace = 'recollect'::regnamespace and x.indisunique"
    ).fetchall()
    wrong = [key for key in keys if key[0] not in GLOBAL_TABLES and key[2] != "tenant_id"]
    assert len(keys) > (40 if ON_CLUSTER else 50)
    assert wrong == []


def test_every_index_of_tenant_data_but_those_of_vectors_starts_with_the_tenant(
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    indexes = owner.execute(
        "select c.relname, i.relname, a.attname, m.amname from pg_index x join pg_class c on c.oid = x.indrelid"
        " join pg_class i on i.oid = x.indexrelid join pg_am m on m.oid = i.relam"
        " left join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]"
        " where c.relnamespace = 'recollect'::regnamespace"
    ).fetchall()
    assert {row[3] for row in indexes} <= {"btree", "hnsw"}
    assert [r for r in indexes if r[0] not in GLOBAL_TABLES and r[3] == "btree" and r[2] != "tenant_id"] == []


def test_every_foreign_key_of_tenant_data_starts_with_the_tenant_on_both_sides(
    owner: psycopg.Connection[tuple[object, ...]],
) -> None:
    keys = owner.execute(
        "select c.conrelid::regclass::text, f.attname, t.attname from pg_constraint c"
        " join pg_attribute f on f.attrelid = c.conrelid and f.attnum = c.conkey[1]"
        " join pg_attribute t on t.attrelid = c.confrelid and t.attnum = c.confkey[1]"
        " where c.connamespace = 'recollect'::regnamespace and c.contype = 'f'"
    ).fetchall()
    assert len(keys) > 6
    assert [key for key in keys if key[1:] != ("tenant_id", "tenant_id")] == []


def test_store_wide_tables_do_not_name_a_tenant(arena: Arena) -> None:
    assert [table.name for table in arena.tables if table.is_global and "tenant_id" in table.columns] == []
    assert [table.name for table in arena.protected if "tenant_id" not in table.columns] == []


# A name with a bracket behind it is a function, which looks for its rows itself.
USE = re.compile(
    r"\b(?:from|join|into|update)\s+recollect\.(\w+)\b(?!\()(?:\s+(?:as\s+)?(?!set\b|where\b|on\b|order\b)([a-z]\w*))?"
)


def test_every_query_of_tenant_data_names_the_tenant() -> None:
    wrong = []
    for name, written in queries().items():
        # Search names the tenant's partitions through slots.
        text = re.sub(r"\{(memory|posting|embedding)\}", r"recollect.\1", written)
        wrong += [
            (name, table, alias)
            for table, alias in USE.findall(text)
            if table not in GLOBAL_TABLES and (f"{alias}.tenant_id" if alias else "tenant_id") not in text
        ]
    assert wrong == []


SLOTS: dict[str, sql.Composable] = {
    "columns": MEMORY_COLUMNS,
    "where": sql.SQL("true"),
    "after": sql.SQL("<"),
    "order": sql.SQL("m.created_at"),
    "dense_where": sql.SQL("true"),
    "dense_join": sql.SQL(""),
    "dimensions": sql.Literal(256),
    "space": sql.Literal(1),
    "scopes_p": sql.SQL("and p.scope_id = any(%(scopes)s::uuid[])"),
    "scopes_e": sql.SQL("and e.scope_id = any(%(scopes)s::uuid[])"),
    "scopes_n": sql.SQL("and n.scope_id = any(%(scopes)s::uuid[])"),
    "scopes_m": sql.SQL("m.scope_id = any(%(scopes)s::uuid[])"),
    "scan": sql.Literal(300),
    "limit": sql.Literal(30),
    "type": sql.Literal("summary"),
    "source": sql.Literal("summaries"),
    "scopes_t": sql.SQL("and t.scope_id = any(%(scopes)s::uuid[])"),
    "common": sql.Literal(20),
    "about_limit": sql.Literal(5),
    "naming_limit": sql.Literal(20),
    "nearest": sql.Literal(1000),
    "nearness": sql.SQL(""),
    "later_limit": sql.Literal(6),
    "breadth": sql.Literal("60"),
    "dense": sql.SQL("select null::uuid as memory_id, null::float8 as distance where false"),
    "table": sql.SQL("recollect.memory"),
    **search.tables(None if ON_CLUSTER else 0),
    "written": WRITTEN[ON_CLUSTER],
    "assignments": sql.SQL("importance = %(new_importance)s"),
}


#: The statements whose vectors are looked up in one of several ways.
FORMS = {
    "candidates": ["dense_exact", "dense_index"],
    "grouped": ["exact_by_scope", "index_by_scope", "exact_by_period", "index_by_period"],
}


def numbered(text: str) -> str:
    """Named placeholders as the server's numbered ones."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    return re.sub(r"%\((\w+)\)[sb]", number, text).replace("%%", "%")


@pytest.fixture(scope="module")
def app(store: Recollect, door: Door) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(door.app, autocommit=True) as connection:
        connection.execute(compose("create_staging").as_string(connection).encode())
        yield connection


def is_part(name: str) -> bool:
    """Whether a text is a part of other statements, which are prepared with it."""
    parts = {"about", "links", "measured", *FORMS["grouped"]}
    return name in parts or name.startswith(("groups_of_", "worded_by_"))


def filled(name: str, form: str, app: psycopg.Connection[tuple[object, ...]]) -> str:
    """The statement as it is sent, in one of its forms."""
    text = queries()[name]
    if not re.search(r"\{\w+\}", text):
        return text
    slots = dict(SLOTS)
    slots["about"] = sql.SQL(queries()["about"])  # type: ignore[arg-type]
    slots["links"] = sql.SQL(queries()["links"] if name == "linked" else "null")  # type: ignore[arg-type]
    slots["measured"] = sql.SQL(queries()["measured"]).format(**slots)  # type: ignore[arg-type]
    slots["later"] = sql.SQL(queries()["said_later"]).format(**SLOTS)  # type: ignore[arg-type]
    if name == "grouped":
        by = form.rpartition("_")[2]
        slots["grouping"] = sql.SQL(queries()[f"groups_of_{by}s"])  # type: ignore[arg-type]
        slots["worded"] = sql.SQL(queries()[f"worded_by_{by}"]).format(**SLOTS)  # type: ignore[arg-type]
    if form:
        slots["dense"] = sql.SQL(queries()[form]).format(**SLOTS)  # type: ignore[arg-type]
        parts = ("found_by_entity", "found_by_time", "found_by_type", "found_nothing")
        found = [sql.SQL(queries()[part]).format(**SLOTS) for part in parts]  # type: ignore[arg-type]
        slots["found"] = sql.SQL("({})").format(sql.SQL(") union all (").join(found))
    return sql.SQL(text).format(**slots).as_string(app)  # type: ignore[arg-type]


def prepare(app: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    if text.startswith("copy "):
        with app.transaction(force_rollback=True), app.cursor().copy(text.encode()) as copy:
            copy.set_types([])
        return
    app.execute(f"prepare tried as {numbered(text)}".encode())
    app.execute("deallocate tried")


def test_every_named_query_can_be_prepared(app: psycopg.Connection[tuple[object, ...]]) -> None:
    refused = {}
    # The fixture ran `create_staging`.
    tried = [name for name in sorted(queries()) if name != "create_staging" and not is_part(name)]
    assert len(tried) > 200
    for name in tried:
        for form in FORMS.get(name, [""]):
            try:
                prepare(app, filled(name, form, app))
            except (psycopg.Error, KeyError) as error:
                refused[f"{name} {form}".strip()] = f"{type(error).__name__}: {error}"
    assert refused == {}


def test_every_query_of_the_doctor_can_be_prepared(app: psycopg.Connection[tuple[object, ...]]) -> None:
    refused = {}
    for name, text in doctor_queries().items():
        try:
            prepare(app, text)
        except psycopg.Error as error:
            refused[name] = f"{type(error).__name__}: {error}"
    assert doctor_queries()
    assert refused == {}
