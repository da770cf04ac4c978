"""What makes two schemas equal, as the database's own catalogue says it."""

from __future__ import annotations

from typing import Any

import psycopg

#: Rows of text; names of tables stand in for their oids.
CATALOGUE = {
    "tables": """
        select c.relname, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.relispartition,
            pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), c.relreplident, c.relacl::text, c.reloptions
        from pg_class c where c.relnamespace = 'recollect'::regnamespace""",
    "columns": """
        select c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstattarget,
            a.attcollation::regcollation::text, pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity,
            a.attacl::text
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = 'recollect'::regnamespace and a.attnum > 0 and not a.attisdropped""",
    "constraints": """
        select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated, condeferrable
        from pg_constraint where connamespace = 'recollect'::regnamespace""",
    "indexes": """
        select tablename, indexname, indexdef from pg_indexes where schemaname = 'recollect'""",
    "policies": """
        select tablename, policyname, permissive, roles::text, cmd, qual, with_check from pg_policies
        where schemaname = 'recollect'""",
    "functions": """
        select p.proname, pg_get_function_identity_arguments(p.oid), pg_get_functiondef(p.oid), p.proacl::text
        from pg_proc p where p.pronamespace = 'recollect'::regnamespace""",
    "triggers": """
        select tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid) from pg_trigger t
        join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'recollect'::regnamespace and not t.tgisinternal""",
    "types": """
        select typname, typtype from pg_type where typnamespace = 'recollect'::regnamespace""",
    "schema": "select nspname, nspacl::text from pg_namespace where nspname = 'recollect'",
    "store": "select count(*) from recollect.store",
}


def catalogue(conninfo: str) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(conninfo) as connection:
        # A different path would print the same definition in another way.
        connection.execute("set search_path = pg_catalog")
        return {
            name: sorted(connection.execute(query).fetchall(), key=repr)  # type: ignore[call-overload]
            for name, query in CATALOGUE.items()
        }
