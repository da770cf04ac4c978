"""The adversarial suite: attacks on the walls between tenants, scopes and users of a live store.

Two throw-away tenants are made, attacked and forgotten again; other tenants' rows are only ever counted.
The attacks that need no data (are the walls there at all) are here, the others in `reads`, `writes`, `reuse` (what
connections keep) and `front_door` (through the program's own features). Known and accepted: whoever can run SQL as the
application may say who is asking (the application is trusted with that, and with nothing else); whoever already knows
the id of a hidden memory of the same tenant can learn that it exists by inserting one with that id; and EXPLAIN's row
estimates tell how much there is, not what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import psycopg

from recollect.doctor import front_door, reads, reuse, writes
from recollect.doctor.arena import GLOBAL_TABLES, Arena, Attack, Attacker, Tally, attack, read_tables
from recollect.doctor.world import forget_world, new_world, store_world
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.errors import RecollectError
from recollect.storage.endpoint import APP_ROLE
from recollect.workspace import Workspace

#: The only functions of the schema the application may call, and whether they run with their owner's rights.
_FUNCTIONS = {
    "author_in": False,
    "caller_rights": False,  # on a cluster
    "has_written": False,  # on a cluster
    "enter": False,
    "caller": False, "caller_tenant": False, "caller_is_admin": False, "caller_scopes": True, "enqueue": False,
    "forget_consultations": True,
    "forget_traces": True,
    "key_context": True,
    "refuse_strays": True,  # a trigger's
}  # fmt: skip
_COMMANDS = {"r": "select", "a": "insert", "w": "update", "d": "delete"}

ATTACKS: list[Attack] = []


@attack("row-level security is enabled and forced on every table and partition", ATTACKS)
def row_level_security_is_forced(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Every table and every partition: a partition can be named directly."""
    for table in arena.protected:
        if table.kind in {"r", "p"}:
            tally.expect(f"{table.name} is not enabled", table.enabled)
            tally.expect(f"{table.name} is not forced", table.forced)


@attack("every table has policies for the application role that name the tenant", ATTACKS)
def policies_name_the_tenant(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Policies of the application role exist for all four commands, and each begins with the caller's tenant."""
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
            covered = any(row[1] in {command, "*"} for row in own)
            tally.expect(f"{table.name} has no policy for {_COMMANDS[command]}", covered)
        for _, command, permissive, _, using, checking in own:
            named = all(
                "caller_tenant()" in part or "'recollect.tenant'" in part
                for part in (using, checking)
                if part is not None
            )
            tally.expect(f"a policy of {table.name} ({command}) lets tenants pass", named or not permissive)


@attack("the application role owns nothing and may create nothing", ATTACKS)
def rights_are_few(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """The application role owns nothing, may create nothing, and writes to no store-wide table."""
    rights = attacker.connection.execute(
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
    for name, bad in zip(names, rights or [True] * len(names), strict=True):
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


@attack("no function or view reaches around the policies", ATTACKS)
def functions_are_few(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Functions with their owner's rights walk through every wall: they are few, and their search path is fixed."""
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


#: These need no rows of the suite's own.
_WITHOUT_WORLDS = (*ATTACKS, reads.no_caller_sees_nothing)


async def examine_isolation(workspace: Workspace, context: TenantContext) -> list[Check]:
    """Attack the store; one Check per kind of attack, ok when no row leaked."""
    arena = await asyncio.to_thread(_survey, workspace.store.door.app)
    owner = workspace.store.door.owner
    if owner is None or not context.is_operator:
        checks = [await _carry_out(attack, arena) for attack in _WITHOUT_WORLDS]
        why = "the operator role" if owner is not None else "the database owner's URL"
        return [
            *checks,
            Check(name="isolation: attacks", ok=True, detail=f"skipped: throw-away tenants need {why}"),
        ]
    try:
        for world in (arena.mine, arena.theirs):
            await asyncio.to_thread(store_world, owner, world)
        attacks = (*ATTACKS, *reads.ATTACKS, *writes.ATTACKS, *reuse.ATTACKS)
        checks = [await _carry_out(attack, arena) for attack in attacks]
        checks.append(
            await _observe(
                lambda: reuse.one_connection_serves_many_callers(arena, workspace.settings), "pool"
            )
        )
        for visit in front_door.ATTACKS:
            checks.append(await _observe(lambda visit=visit: visit(workspace, arena), visit.__name__))  # type: ignore[misc]
        # Last: by now the program's own statements about the two tenants have been run.
        checks.append(await _carry_out(reads.statistics_show_nothing, arena))
        return checks
    finally:
        for world in (arena.mine, arena.theirs):
            await asyncio.shield(asyncio.to_thread(forget_world, owner, world))


def _survey(app: str) -> Arena:
    with psycopg.connect(app, autocommit=True) as connection:
        return Arena(app=app, mine=new_world(), theirs=new_world(), tables=read_tables(connection))


async def _carry_out(attack: Attack, arena: Arena) -> Check:
    return await _observe(lambda: asyncio.to_thread(attack, arena), attack.__name__)


async def _observe(attack: Callable[[], Awaitable[Check]], name: str) -> Check:
    """An attack that can't be carried out proves nothing, so it is not ok."""
    try:
        return await attack()
    except (RecollectError, psycopg.Error) as error:
        tally = Tally(
            name.replace("_", " "), advice="mend this first, then run `recollect doctor --isolation` again"
        )
        tally.expect(f"could not be carried out: {' '.join(str(error).split())[:200]}", holds=False)
        return tally.check()
