"""Attacks that need no data: whether the walls are there at all, on every table the catalogue knows."""

from __future__ import annotations

from collections.abc import Callable

from recollect.doctor.arena import GLOBAL_TABLES, Arena, Tally
from recollect.domain.results import Check
from recollect.storage.endpoint import APP_ROLE

#: The only functions of the schema the application may call, and whether they run with their owner's rights.
_FUNCTIONS = {
    "author_in": False,
    "caller_rights": False,  # on a cluster
    "enter": False,
    "caller": False, "caller_tenant": False, "caller_is_admin": False, "caller_scopes": True, "enqueue": False,
    "forget_consultations": True,
    "forget_traces": True,
    "key_context": True,
    "refuse_strays": True,  # a trigger's
}  # fmt: skip
_COMMANDS = {"r": "select", "a": "insert", "w": "update", "d": "delete"}


def row_level_security_is_forced(arena: Arena) -> Check:
    """Every table and every partition: a partition can be named directly."""
    tally = Tally("row-level security is enabled and forced on every table and partition")
    for table in arena.protected:
        if table.kind in {"r", "p"}:
            tally.expect(f"{table.name} is not enabled", table.enabled)
            tally.expect(f"{table.name} is not forced", table.forced)
    return tally.check()


def policies_name_the_tenant(arena: Arena) -> Check:
    """Policies of the application role exist for all four commands, and each begins with the caller's tenant."""
    tally = Tally("every table has policies for the application role that name the tenant")
    with arena.attacker() as attacker:
        rows = attacker.connection.execute(
            "select c.relname, p.polcmd::text, p.polpermissive, p.polroles @> array[r.oid] or p.polroles = '{0}',"
            " pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)"
            " from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace"
            " cross join pg_roles r where n.nspname = 'recollect' and r.rolname = %s",
            [APP_ROLE],
        ).fetchall()
    for table in arena.protected:
        if table.kind not in {"r", "p"}:
            continue
        own = [row for row in rows if row[0] == table.name and row[3]]
        for command in _COMMANDS:
            found = any(row[1] in {command, "*"} for row in own)
            tally.expect(f"{table.name} has no policy for {_COMMANDS[command]}", found)
        for _, command, permissive, _, using, checking in own:
            named = all(
                "caller_tenant()" in part or "'recollect.tenant'" in part
                for part in (using, checking)
                if part is not None
            )
            tally.expect(f"a policy of {table.name} ({command}) lets tenants pass", named or not permissive)
    return tally.check()


def rights_are_few(arena: Arena) -> Check:
    """The application role owns nothing, may create nothing, and writes to no store-wide table."""
    tally = Tally("the application role owns nothing and may create nothing")
    with arena.attacker() as attacker:
        one = attacker.connection.execute(
            "select r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolcreatedb, r.rolreplication,"
            " exists (select from pg_auth_members m where m.member = r.oid),"
            " exists (select from pg_class c where c.relowner = r.oid and c.relpersistence <> 't'),"
            " exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
            "   where p.proowner = r.oid and n.nspname !~ '^pg_temp'),"
            " exists (select from pg_namespace n where n.nspowner = r.oid),"
            " has_database_privilege(r.oid, current_database(), 'create'),"
            " exists (select from pg_namespace n where n.nspname !~ '^pg_(toast_)?temp'"
            "   and has_schema_privilege(r.oid, n.oid, 'create'))"
            " from pg_roles r where r.rolname = current_user"
        ).fetchone()
        names = ("is a superuser", "bypasses row-level security", "may create roles", "may create databases",
                 "may replicate", "is a member of other roles", "owns tables", "owns functions", "owns a schema",
                 "may create schemas", "may create in a schema")  # fmt: skip
        for name, bad in zip(names, one or [True] * len(names), strict=True):
            tally.expect(f"the role {name}", not bad)
        extra = attacker.connection.execute(
            "select c.relname, x.privilege from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " cross join unnest(array['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) x(privilege)"
            " where n.nspname = 'recollect' and c.relkind in ('r', 'p', 'v', 'm', 'f')"
            " and has_table_privilege(c.oid, x.privilege)"
        ).fetchall()
    allowed = {"INSERT", "UPDATE", "DELETE"}
    for table in arena.tables:
        for name, privilege in extra:
            if name == table.name:
                tally.expect(f"{privilege} on {name}", privilege in allowed and name not in GLOBAL_TABLES)
    return tally.check()


def functions_are_few(arena: Arena) -> Check:
    """Functions with their owner's rights walk through every wall: they are few, and their search path is fixed."""
    tally = Tally("no function or view reaches around the policies")
    with arena.attacker() as attacker:
        rows = attacker.connection.execute(
            "select p.proname, p.prosecdef, has_function_privilege(p.oid, 'execute'),"
            " coalesce(array_to_string(p.proconfig, ' '), '')"
            " from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'recollect'"
        ).fetchall()
        views = attacker.connection.execute(
            "select c.relname, c.relkind::text,"
            " coalesce(array_to_string(c.reloptions, ' '), '') ~ 'security_invoker=(true|on)',"
            " has_table_privilege(c.oid, 'select')"
            " from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'recollect' and c.relkind in ('v', 'm', 'f')"
        ).fetchall()
    for name, definer, callable_, settings in rows:
        tally.expect(f"{name}() may be called", not callable_ or name in _FUNCTIONS)
        tally.expect(f"{name}() runs as its owner", not definer or _FUNCTIONS.get(name, False))
        tally.expect(f"{name}() has no search_path of its own", "search_path=" in settings)
        tally.expect(f"{name}() looks for temporary objects first", settings.rstrip().endswith("pg_temp"))
    for name, kind, invoker, readable in views:
        # Stored results and foreign rows know no policies at all.
        tally.expect(f"{name} shows rows past the policies", not readable or (kind == "v" and invoker))
    return tally.check()


ATTACKS: tuple[Callable[[Arena], Check], ...] = (
    row_level_security_is_forced,
    policies_name_the_tenant,
    rights_are_few,
    functions_are_few,
)
