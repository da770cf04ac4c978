"""Attacks that try to read: with no caller, a garbled one, a forged one, and around the policies."""

# ruff: noqa: S608 - statements are put together here on purpose; none of their parts comes from a caller.

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

from psycopg import sql

from recollect.doctor import rules
from recollect.doctor.arena import (
    ADMINS_ONLY,
    GLOBAL_TABLES,
    TENANT_WIDE,
    Arena,
    Attack,
    Attacker,
    Tally,
    attack,
    describe,
    readable_scopes,
)
from recollect.doctor.world import World

ATTACKS: list[Attack] = []


@attack("without a caller no table shows a row", ATTACKS)
def no_caller_sees_nothing(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """A transaction that does not say who asks."""
    with attacker.posing_as(None):
        for name, rows in attacker.counts(arena.protected).items():
            tally.note(name, rows)


@attack("a tenant without a caller shows no row of a scope", ATTACKS)
def tenant_alone_sees_nothing(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """A transaction that names a tenant but nobody in it."""
    wide = [table for table in arena.protected if table.parent in TENANT_WIDE]
    others = [table for table in arena.protected if table.parent not in TENANT_WIDE]
    with attacker.posing_as(None):
        _say(attacker, arena.mine.tenant_id, None)
        counts = attacker.counts(others) | attacker.counts(wide, _FOREIGN, [arena.mine.tenant_id])
        for name, rows in counts.items():
            tally.note(name, rows)


_FOREIGN = "tenant_id is distinct from %s"


def _say(attacker: Attacker, tenant: str | None, caller: str | None) -> bool:
    """Set the two settings to anything at all; False when the database refuses even that."""
    for name, value in (("tenant", tenant), ("caller", caller)):
        if value is not None:
            statement = sql.SQL("set local {} = {}").format(
                sql.Identifier("recollect", name), sql.Literal(value)
            )
            if attacker.attempt(statement, keep=True).refused:
                return False
    return True


def _garbled(world: World) -> Iterator[tuple[str, str]]:
    """Pairs of settings that name nobody, though some look like it."""
    tenant = world.tenant_id
    everybody: list[object] = [
        ["ana"], {"ana": 1}, 0, -1, 1e300, True, [], {}, "", " ", "ana ", " ana", "ANA", "aná", "ana\u200b", "ａｎａ",
        "ana' or '1'='1", "ana\"}", "%", "_", "*", "a" * 1_000_000,
    ]  # fmt: skip
    for user in everybody:
        yield tenant, json.dumps({"user": user, "admin": False})
    raw = ["", " ", "null", "0", "true", '"ana"', "[]", '["ana"]', "{", "}", '{"user": "ana"', "{'user': 'ana'}",
           '{"user": "ana",}', '{"user": "\\u0000"}', '{"user": "\\ud800"}', "admin", "NaN", '{"admin": "perhaps"}',
           '{"admin": {}}', '{"admin": [true]}', '{"Admin": true}', '{"admin ": true}', '{"ADMIN": true}',
           '{"leads": "team/api"}', '{"leads": {"0": 5}}', '{"leads": [["team", "api"]]}', '{"leads": [[5]]}',
           '{"leads": [[99999999, "api"]]}', '{"leads": ["team/api"]}', '{"leads": [[7, "%"]]}', '{"leads": 7}',
           '{"leads": [[5, null]]}', '{"agent": "bot"}', '{"session": "s1"}', '{"agent": null, "session": null}',
           '{"a":' * 5_000 + "1" + "}" * 5_000, "[" * 100_000]  # fmt: skip
    for caller in raw:
        yield tenant, caller
    admin = json.dumps({"user": "ana", "admin": True, "leads": [[7, tenant]]})
    wrong = [
        "", " ", "%", "_", "*", "null", "'", "\\", tenant.upper(), tenant + " ", " " + tenant, tenant + "\u200b",
        tenant[:-1], tenant + "%", f"{tenant}' or '1'='1", f"{{{tenant}}}", "x" * 1_000_000, str(uuid4()),
    ]  # fmt: skip
    for other in wrong:
        yield other, admin


@attack("garbled settings show no row", ATTACKS)
def garbled_settings_see_nothing(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Settings that can't be read give an error or nothing, never somebody's rows."""
    tables = [table for table in arena.protected if table.name == table.parent or table.name.endswith("_0")]
    for tenant, caller in _garbled(arena.mine):
        with attacker.posing_as(None):
            rows = 0
            if _say(attacker, tenant, caller):
                # The tenant's own two tables open with the tenant's name alone.
                wide = tenant == arena.mine.tenant_id
                others = [table for table in tables if not (wide and table.parent in TENANT_WIDE)]
                rows = sum(attacker.counts(others).values())
            tally.note(f"{tenant[:40]!r} {caller[:60]!r}", rows)


@attack("every caller sees exactly the rows the rules allow", ATTACKS)
def every_caller_sees_exactly_what_the_rules_say(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Each kind of caller, each table and partition: the visible rows are those of the visible scopes."""
    world, members = arena.mine, [table for table in arena.protected if table.parent == "membership"]
    named = [table for table in arena.protected if "tenant_id" in table.columns]
    nameless = [table for table in arena.protected if "tenant_id" not in table.columns]
    scoped = [table for table in arena.scoped if table not in members]
    personal = [table for table in arena.protected if "user_id" in table.columns and table not in members]
    secret = [table for table in arena.protected if table.parent in ADMINS_ONLY]
    for context in world.callers():
        allowed = list(readable_scopes(world, context))
        managed = list(rules.managed(world.places, world.belongings, context))
        expected = {name: len(allowed) * rows for name, rows in _PER_SCOPE.items()}
        expected["membership"] = sum(
            b.scope_id in managed or b.user_id == context.user_id for b in world.belongings
        )
        with attacker.posing_as(context):
            findings = {
                "of other tenants": attacker.counts(named, _FOREIGN, [world.tenant_id]),
                "of nobody's": attacker.counts(nameless) if nameless else {},
                "of hidden scopes": attacker.counts(scoped, "not (scope_id = any(%s))", [allowed]),
                "of other members": attacker.counts(
                    members, "not (scope_id = any(%s) or user_id = %s)", [managed, context.user_id or ""]
                ),
                "of other users": {}
                if context.is_admin
                else attacker.counts(personal, "user_id is distinct from %s", [context.user_id or ""]),
                "of the admins": {} if context.is_admin else attacker.counts(secret),
            }
            visible = attacker.counts(named)
        for kind, counts in findings.items():
            for name, rows in counts.items():
                tally.note(f"{name} {kind} as {describe(context)}", rows)
        for name, rows in expected.items():
            # Hidden from those who may see it is no leak, but no less wrong.
            tally.note(f"{name} missing as {describe(context)}", max(rows - visible[name], 0))


#: How many rows a world has in each scope.
_PER_SCOPE = {
    "memory": 2, "embedding": 1, "posting": 1, "mention": 1, "history": 1, "conversation": 1, "tally": 1, "scope": 1,
    "entity": 1, "entity_key": 1, "conflict": 1, "summary": 1, "summary_source": 1,
    "document": 1, "section": 1, "passage": 1, "passage_posting": 1,
}  # fmt: skip


def _forgeries(arena: Arena) -> list[str]:
    """Statements that claim more than the caller has."""
    scopes = ",".join(str(place.id) for place in (*arena.mine.places, *arena.theirs.places))
    other = arena.theirs.tenant_id
    return [
        f"set local recollect.scopes = '{scopes}'",
        f"set local recollect.visible_scopes = '{scopes}'",
        "set local recollect.admin = 'true'",
        f"set local app.tenant = '{other}'",
        "set local row_security = off",
        "set row_security = off",
        "set local session_replication_role = replica",
        "set local role postgres",
        "set local role recollect_owner",
        "set role none",
        "set local session authorization postgres",
        "reset session authorization",
        "set local is_superuser = on",
        "set local search_path = pg_temp, recollect, public",
        "set local default_transaction_read_only = off",
        "alter role current_user bypassrls",
        "alter role current_user superuser",
        "select set_config('role', 'postgres', true)",
        "select set_config('row_security', 'off', true)",
        "select set_config('recollect.roles', 'admin', true)",
        "set local plan_cache_mode = force_generic_plan",
        "set local enable_seqscan = off",
    ]


@attack("forged settings and roles add no row", ATTACKS)
def forged_settings_add_nothing(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Whatever a stranger sets beside the two settings, no row more appears."""
    stranger = arena.mine.as_user("zoe")
    for statement in _forgeries(arena):
        with attacker.posing_as(stranger):
            attacker.attempt(statement, keep=True)
            rows = sum(attacker.counts(arena.scoped).values())
        tally.note(statement[:60], rows)


def _shadows(world: World) -> list[str]:
    """Temporary objects named like the real ones, that would make a stranger the lead of everything."""
    tenant = world.tenant_id
    members = " union all ".join(
        f"select '{tenant}'::text, 'zoe'::text, '{place.id}'::uuid, 'lead'::text, now()"
        for place in world.places
    )
    return [
        "create temp table scope as select * from recollect.scope",
        f"insert into pg_temp.scope select '{tenant}', '{world.places[0].id}', 2, 'zoe', '', null, now()",
        "create temp table membership as select * from recollect.membership",
        f"insert into pg_temp.membership {members}",
        f"create function pg_temp.caller_tenant() returns text language sql as $$ select '{tenant}' $$",
        "create function pg_temp.caller_is_admin() returns boolean language sql as 'select true'",
        "create function pg_temp.caller() returns jsonb language sql as $$ select '{\"admin\": true}'::jsonb $$",
        "create function pg_temp.caller_scopes(text) returns uuid[] language sql as"
        " 'select array_agg(scope_id) from pg_temp.membership'",
        "create function pg_temp.current_setting(text, boolean) returns text language sql as"
        f" $$ select case $1 when 'recollect.tenant' then '{tenant}' else '{{\"admin\": true}}' end $$",
        "create function pg_temp.always(text, text) returns boolean language sql as 'select true'",
        "create operator pg_temp.= (leftarg = text, rightarg = text, function = pg_temp.always)",
        "set local search_path = pg_temp, recollect, pg_catalog",
    ]


@attack("temporary tables, functions and operators fool no policy", ATTACKS)
def shadows_fool_nobody(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Policies and functions with their owner's rights must not pick up the attacker's own objects."""
    tables = [table for table in arena.scoped if table.parent != "membership"]
    for context in (arena.mine.as_user("zoe"), arena.mine.as_user("ana")):
        allowed = list(readable_scopes(arena.mine, context))
        with attacker.posing_as(context):
            for statement in _shadows(arena.mine):
                attacker.attempt(statement, keep=True)
                rows = sum(attacker.counts(tables, "not (scope_id = any(%s))", [allowed]).values())
                tally.note(f"{statement[:50]} as {describe(context)}", rows)
            outcome = attacker.attempt("select unnest(recollect.caller_scopes('visible'))")
            tally.note("caller_scopes", len({row[0] for row in outcome.values} - set(allowed)))


@attack("a function in WHERE sees no hidden row", ATTACKS)
def spies_are_kept_behind_the_policies(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """A cheap function in WHERE would see rows before the policy if the planner ran it first."""
    seen: list[str] = []
    attacker.connection.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
    with attacker.posing_as(arena.mine.as_user("ana")):
        attacker.attempt("set local client_min_messages = notice", keep=True)
        attacker.attempt(
            "create function pg_temp.spy(seen text) returns boolean cost 0.0000001 language plpgsql as"
            " $$ begin raise notice '%', left(seen, 40); return true; end $$",
            keep=True,
        )
        leakproof = attacker.attempt("alter function pg_temp.spy(text) leakproof")
        tally.expect("a leakproof function of one's own", leakproof.refused)
        counts = attacker.counts(arena.protected)
        for table in arena.protected:
            visible = counts[table.name]
            seen.clear()
            attacker.attempt(
                sql.SQL("select count(*) from {} t where pg_temp.spy(t::text)").format(table.identifier)
            )
            tally.note(table.name, max(len(seen) - visible, 0))


@attack("COPY TO writes no hidden row", ATTACKS)
def copies_hold_nothing_more(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """COPY TO of every table, as a member: as many lines as SELECT shows, none of another tenant."""
    token = arena.theirs.token.encode()
    with attacker.posing_as(arena.mine.as_user("ana")):
        for table in arena.protected:
            visible = attacker.count(table)
            lines = foreign = 0
            statement = sql.SQL("copy (select * from {}) to stdout").format(table.identifier)
            whole = sql.SQL("copy {} to stdout").format(table.identifier)
            for form in (statement, whole) if table.kind == "r" else (statement,):
                with attacker.connection.cursor().copy(form) as copy:
                    data = b"".join(bytes(chunk) for chunk in copy)
                lines = max(lines, data.count(b"\n"))
                foreign += data.count(token)
            tally.note(table.name, max(lines - visible, 0) + foreign)


@attack("caller_scopes() names scopes of the set tenant only", ATTACKS)
def caller_scopes_stays_in_its_tenant(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """The one function with its owner's rights names no scope of a tenant that was not set."""
    mine = {place.id for place in arena.mine.places}
    for context in arena.mine.callers():
        for kind in ("visible", "writable", "managed", "", "all", "'"):
            with attacker.posing_as(context):
                outcome = attacker.attempt("select unnest(recollect.caller_scopes(%s))", [kind])
            tally.note(f"{kind!r} as {describe(context)}", len({row[0] for row in outcome.values} - mine))
    with attacker.posing_as(None):
        outcome = attacker.attempt("select unnest(recollect.caller_scopes('visible'))")
        tally.note("nobody", outcome.rows)


@attack("statistics, sequences and statement texts show nothing")
def statistics_show_nothing(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Samples of column values, kept for the planner, and texts of other connections' statements.

    Row estimates of EXPLAIN are out of scope: they tell how many rows there may be, never what is in them.
    """
    with attacker.posing_as(arena.mine.admin):
        for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
            outcome = attacker.attempt(
                f"select 1 from {view} where schemaname = 'recollect' and tablename <> all(%s)",
                [sorted(GLOBAL_TABLES)],
            )
            tally.note(view, outcome.rows)
        for table in ("pg_statistic", "pg_statistic_ext_data", "pg_authid"):
            outcome = attacker.attempt(f"select * from pg_catalog.{table} limit 1")
            tally.expect(table, outcome.refused)
        sequences = attacker.attempt(
            "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'recollect' and c.relkind = 'S'"
        )
        tally.note("sequences", sequences.rows)
        for token in (arena.theirs.token, arena.mine.token):
            texts = attacker.attempt(
                "select 1 from pg_stat_activity where pid <> pg_backend_pid() and strpos(query, %s) > 0",
                [token],
            )
            tally.note("statement texts with a memory in them", texts.rows)
