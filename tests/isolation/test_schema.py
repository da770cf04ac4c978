"""The schema and the queries, as the catalogue and the .sql files have them: fit for isolation and for sharding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import psycopg
import pytest
from psycopg import sql

from recollect import Recollect
from recollect.doctor.arena import GLOBAL_TABLES, TENANT_WIDE, Arena, Table, readable_scopes
from recollect.doctor.health import doctor_queries
from recollect.storage.endpoint import Door
from recollect.storage.rows import MEMORY_COLUMNS
from recollect.storage.sql import queries
from recollect.storage.store import compose

SCHEMA = resources.files("recollect.storage.sql").joinpath("schema.sql").read_text(encoding="utf-8")
PARTITIONED = re.findall(r"create table recollect\.(\w+) \([^;]*?\) partition by hash", SCHEMA)
TABLES = sorted(
    {
        *re.findall(r"create table recollect\.(\w+)", SCHEMA),
        *(f"{name}_{n}" for name in PARTITIONED for n in range(16)),
    }
)
PROTECTED = [name for name in TABLES if name not in GLOBAL_TABLES]


@pytest.fixture
def owner(owner_conninfo: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(owner_conninfo) as connection:
        yield connection


def test_the_tables_tested_here_are_all_there_are(arena: Arena) -> None:
    assert [table.name for table in arena.tables] == sorted([*TABLES, "migration"])


def find(arena: Arena, name: str) -> Table:
    return next(table for table in arena.tables if table.name == name)


@pytest.mark.parametrize("name", PROTECTED)
def test_a_table_shows_nothing_to_nobody_and_nothing_of_others(name: str, arena: Arena) -> None:
    table = find(arena, name)
    assert table.enabled
    assert table.forced
    ana = arena.mine.as_user("ana")
    with arena.attacker() as attacker:
        with attacker.posing_as(None):
            assert attacker.count(table) == 0
        with attacker.posing_as(arena.mine.admin):
            assert attacker.count(table, "tenant_id is distinct from %s", [arena.mine.tenant_id]) == 0
        with attacker.posing_as(ana):
            assert attacker.count(table, "tenant_id is distinct from %s", [arena.mine.tenant_id]) == 0
            if "scope_id" in table.columns and table.parent != "membership":
                allowed = list(readable_scopes(arena.mine, ana))
                assert attacker.count(table, "not (scope_id = any(%s))", [allowed]) == 0


@pytest.mark.parametrize("name", [name for name in PROTECTED if not re.search(r"_\d+$", name)])
def test_a_table_shows_its_own_rows_so_that_the_tests_above_mean_something(name: str, arena: Arena) -> None:
    with arena.attacker() as attacker, attacker.posing_as(arena.mine.admin):
        assert attacker.count(find(arena, name)) >= (1 if name in TENANT_WIDE else 5)


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
    assert len(keys) > 50
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


@pytest.mark.parametrize("name", sorted(queries()))
def test_a_query_of_tenant_data_names_the_tenant(name: str) -> None:
    # Search names the tenant's partitions through slots.
    text = re.sub(r"\{(memory|posting|embedding)\}", r"recollect.\1", queries()[name])
    for table, alias in USE.findall(text):
        if table not in GLOBAL_TABLES:
            assert (f"{alias}.tenant_id" if alias else "tenant_id") in text, f"{table} {alias}"


SLOTS: dict[str, sql.Composable] = {
    "columns": MEMORY_COLUMNS,
    "where": sql.SQL("true"),
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
    "table": sql.SQL("recollect.memory"),
    "memory": sql.SQL("recollect.memory_0"),
    "posting": sql.SQL("recollect.posting_0"),
    "embedding": sql.SQL("recollect.embedding_0"),
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


@pytest.fixture
def app(store: Recollect, door: Door) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(door.app, autocommit=True) as connection:
        connection.execute(compose("create_staging").as_string(connection).encode())
        yield connection


@pytest.mark.parametrize("name", sorted(queries()))
def test_a_named_query_can_be_prepared(name: str, app: psycopg.Connection[tuple[object, ...]]) -> None:
    text = queries()[name]
    if name == "create_staging":
        return  # the fixture ran it
    if name in {"about", "links", "measured"}:
        return  # parts of `candidates` and `linked`
    if text.startswith("copy "):
        with app.transaction(force_rollback=True), app.cursor().copy(text.encode()) as copy:
            copy.set_types([])
        return
    if name in FORMS["grouped"] or name.startswith(("groups_of_", "worded_by_")):
        return  # parts of `grouped`
    forms = FORMS.get(name, [""])
    for form in forms:
        slots = dict(SLOTS)
        slots["about"] = sql.SQL(queries()["about"])  # type: ignore[arg-type]
        slots["links"] = sql.SQL(queries()["links"] if name == "linked" else "null")  # type: ignore[arg-type]
        slots["measured"] = sql.SQL(queries()["measured"]).format(**slots)  # type: ignore[arg-type]
        if name == "grouped":
            by = form.rpartition("_")[2]
            slots["grouping"] = sql.SQL(queries()[f"groups_of_{by}s"])  # type: ignore[arg-type]
            slots["worded"] = sql.SQL(queries()[f"worded_by_{by}"]).format(**SLOTS)  # type: ignore[arg-type]
        if form:
            slots["dense"] = sql.SQL(queries()[form]).format(**SLOTS)  # type: ignore[arg-type]
            parts = ("found_by_entity", "found_by_time", "found_by_type", "found_nothing")
            found = [sql.SQL(queries()[part]).format(**SLOTS) for part in parts]  # type: ignore[arg-type]
            slots["found"] = sql.SQL("({})").format(sql.SQL(") union all (").join(found))
        filled = sql.SQL(text).format(**slots).as_string(app) if re.search(r"\{\w+\}", text) else text  # type: ignore[arg-type]
        app.execute(f"prepare tried as {numbered(filled)}".encode())
        app.execute("deallocate tried")


@pytest.mark.parametrize("name", sorted(doctor_queries()))
def test_a_query_of_the_doctor_can_be_prepared(
    name: str, app: psycopg.Connection[tuple[object, ...]]
) -> None:
    app.execute(f"prepare tried as {numbered(doctor_queries()[name])}".encode())
