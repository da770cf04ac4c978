"""Attacks that try to write where they may not, to gain rights, or to learn something from how they are refused."""

# ruff: noqa: S608 - statements are put together here on purpose; none of their parts comes from a caller.

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any
from uuid import UUID, uuid4

from psycopg import sql

from recollect.doctor.arena import (
    Arena,
    Attack,
    Attacker,
    Outcome,
    Table,
    Tally,
    attack,
    describe,
    readable_scopes,
    writable_scopes,
)
from recollect.doctor.world import SPACE_ID, World, digest
from recollect.domain.tenancy import TenantContext

Attempt = tuple[TenantContext, str, dict[str, Any]]

_MEMORY = (
    "insert into recollect.memory (tenant_id, memory_id, scope_id, layer, type, text, digest, importance, created_at,"
    " since, conversation_id, position) values (%(tenant)s, %(id)s, %(scope)s, 2, 'episodic', 'x', %(digest)s, 0.5,"
    " now(), now(), %(conversation)s, 0)"
)
_DOCUMENT = (
    "insert into recollect.document (tenant_id, document_id, scope_id, layer, name, title, kind, digest, lines, tokens,"
    " state) values (%(tenant)s, %(id)s, %(scope)s, 2, 'x', 'x', 'text', %(digest)s, 1, 1, 'ready')"
)
_ROWS = {
    "memory": _MEMORY,
    "embedding": "insert into recollect.embedding values"
    f" (%(tenant)s, {SPACE_ID}, %(memory)s, 9, %(scope)s, now(), now(), '[1,0,0]')",
    "posting": "insert into recollect.posting values (%(tenant)s, 'x', %(memory)s, %(scope)s, 1, 1)",
    "mention": "insert into recollect.mention values (%(tenant)s, 'x', %(memory)s, %(scope)s)",
    "entity": "insert into recollect.entity values (%(tenant)s, 'x', %(scope)s, 'x', 'thing', 'found')",
    "entity_key": "insert into recollect.entity_key values (%(tenant)s, 'x', 'word', 'x', %(scope)s)",
    "conflict": "insert into recollect.conflict values (%(tenant)s, %(id)s, %(id)s, %(scope)s, 'x')",
    "summary": "insert into recollect.summary values (%(tenant)s, %(id)s, %(scope)s, 'scope', 'x', now())",
    "summary_source": "insert into recollect.summary_source values"
    " (%(tenant)s, %(id)s, %(id)s, %(scope)s, '\\x00')",
    "history": "insert into recollect.history values (%(tenant)s, %(id)s, %(id)s, %(scope)s, 'updated', now())",
    "conversation": "insert into recollect.conversation values (%(tenant)s, %(id)s, %(scope)s, 'x', 1)",
    "document": _DOCUMENT,
    # A section belongs to a document of its scope, so one comes with it.
    "section": f"with made as ({_DOCUMENT} returning document_id) insert into recollect.section (tenant_id,"
    " document_id, section, scope_id, number, level, heading, path, line_start, line_end, tokens, digest, text)"
    " select %(tenant)s, document_id, 0, %(scope)s, 0, 0, 'x', 'x', 1, 1, 1, %(digest)s, 'x' from made"
    # Without it a cluster would copy the row to its shard, which row-level security forbids to everybody.
    " on conflict do nothing",
    "passage": "insert into recollect.passage values"
    f" (%(tenant)s, {SPACE_ID}, %(id)s, 0, 0, %(scope)s, 0, 0, 1, '[1,0,0]')",
    "passage_posting": "insert into recollect.passage_posting values"
    " (%(tenant)s, 'x', %(id)s, 0, 0, %(scope)s, 1, 1)",
    "tally": "insert into recollect.tally values (%(tenant)s, %(scope)s, 1, 1, 1)"
    " on conflict (tenant_id, scope_id) do update set memories = 99",
}
_EVENT = (
    "insert into recollect.event (tenant_id, event_id, type, by_user, scope_id)"
    " values (%(tenant)s, %(id)s, 'memory_added', 'ana', %(scope)s)"
)
_SCOPE = (
    "insert into recollect.scope (tenant_id, scope_id, layer, name, owner, parent_id)"
    " values (%(tenant)s, %(id)s, %(layer)s, %(name)s, %(owner)s, %(parent)s)"
)
_TRIGGER = "suppress_redundant_updates_trigger"
_MEMBER = (
    "insert into recollect.membership (tenant_id, user_id, scope_id, role)"
    " values (%(tenant)s, %(user)s, %(scope)s, %(role)s)"
)

ATTACKS: list[Attack] = []


def _values(world: World, scope: UUID, **more: Any) -> dict[str, Any]:
    return {
        "tenant": world.tenant_id,
        "scope": scope,
        "id": uuid4(),
        "memory": world.memories.get(scope) or uuid4(),
        "digest": digest(str(uuid4())),
        "conversation": None,
    } | more


@attack("rows are accepted only in the scopes a caller may write to", ATTACKS)
def rows_stay_out_of_other_scopes(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Inserting into every scope, as every caller: accepted exactly where the rules allow writing."""
    mine = arena.mine
    thorough = [mine.as_user("ana"), mine.as_user("cleo"), mine.as_user(agent_id="crawler"), mine.admin]
    for context in arena.mine.callers():
        may = writable_scopes(arena.mine, context)
        with attacker.posing_as(context):
            # One table's policy is like another's: all of them for some callers, one of them for all.
            every = context in thorough
            for place in arena.mine.places:
                for table, statement in _ROWS.items() if every else [("mention", _ROWS["mention"])]:
                    done = attacker.attempt(statement, _values(arena.mine, place.id))
                    fits = done.refused != (place.id in may)
                    tally.expect(
                        f"insert into {table}, {place.layer.value}/{place.name} as {describe(context)}",
                        fits,
                    )
            for place in arena.theirs.places[:1]:
                for table, statement in _ROWS.items():
                    done = attacker.attempt(statement, _values(arena.theirs, place.id))
                    tally.expect(
                        f"insert into {table} of another tenant as {describe(context)}", done.refused
                    )


@attack("hidden and read-only rows can be neither changed nor removed", ATTACKS)
def rows_of_others_stay_as_they_are(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Updates and deletes of what is hidden or only readable, on every table and partition: nothing changes."""
    theirs = arena.theirs.tenant_id
    for context in (
        arena.mine.as_user("ana"),
        arena.mine.as_user("cleo"),
        arena.mine.as_user("zoe"),
        arena.mine.admin,
    ):
        closed = [p.id for p in arena.mine.places if p.id not in writable_scopes(arena.mine, context)]
        with attacker.posing_as(context):
            for table in arena.scoped:
                name = f"{table.name} as {describe(context)}"
                for verb, done in _touch(attacker, table, "tenant_id = %s", [theirs]):
                    tally.note(f"{verb} of another tenant's {name}", done.rows)
                # A scope's own row follows the rules for its parent instead.
                if table.parent not in {"scope", "membership"}:
                    for verb, done in _touch(attacker, table, "scope_id = any(%s)", [closed]):
                        tally.note(f"{verb} in closed scopes of {name}", done.rows)


def _touch(
    attacker: Attacker, table: Table, condition: str, values: list[Any]
) -> Iterator[tuple[str, Outcome]]:
    name = table.identifier
    for verb, statement in (
        ("update", "update {} set tenant_id = tenant_id where "),
        ("delete", "delete from {} where "),
        ("lock", "select 1 from {} where "),
    ):
        tail = condition + (" for update" if verb == "lock" else "")
        yield verb, attacker.attempt(sql.SQL(statement + tail).format(name), values)


@attack("own rows can't be moved to another tenant or a closed scope", ATTACKS)
def rows_can_not_be_moved_out(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Giving one's own rows to another tenant, or planting them in a scope one may not write to."""
    mine, ana = arena.mine, arena.mine.as_user("ana")
    own = mine.place("user/ana").id
    targets = [mine.place("team/web").id, mine.place("org/west").id, mine.place("user/bob").id, uuid4()]
    with attacker.posing_as(ana):
        for table in arena.scoped:
            if table.parent in {"scope", "membership"}:
                continue
            moved = attacker.attempt(
                sql.SQL("update {} set tenant_id = %s where scope_id = %s").format(table.identifier),
                [arena.theirs.tenant_id, own],
            )
            tally.note(f"{table.name} to another tenant", moved.rows)
            for target in targets:
                planted = attacker.attempt(
                    sql.SQL("update {} set scope_id = %s where scope_id = %s").format(table.identifier),
                    [target, own],
                )
                tally.note(f"{table.name} to a closed scope", planted.rows)


def _scope(
    caller: TenantContext, world: World, layer: int, name: str, parent: UUID | None, owner: str = ""
) -> Attempt:
    values = {
        "tenant": world.tenant_id,
        "id": uuid4(),
        "layer": layer,
        "name": name,
        "owner": owner,
        "parent": parent,
    }
    return caller, _SCOPE, values


def _member(caller: TenantContext, world: World, user: str, written: str, role: str) -> Attempt:
    scope = world.place(written).id
    return caller, _MEMBER, {"tenant": world.tenant_id, "user": user, "scope": scope, "role": role}


def _joining(arena: Arena) -> Iterator[Attempt]:
    """Becoming a member or a lead by oneself."""
    mine, company = arena.mine, f"company/{arena.mine.tenant_id}"
    ana, cleo, zoe = mine.as_user("ana"), mine.as_user("cleo"), mine.as_user("zoe")
    yield _member(zoe, mine, "zoe", "team/api", "member")
    yield _member(ana, mine, "ana", "team/web", "member")
    yield _member(ana, mine, "zoe", "team/api", "member")
    yield _member(ana, mine, "ana", "org/west", "lead")
    yield _member(ana, mine, "ana", "user/bob", "member")
    yield _member(ana, mine, "bob", "user/ana", "lead")
    yield _member(cleo, mine, "cleo", "team/sea", "lead")
    yield _member(cleo, mine, "cleo", company, "lead")
    yield _member(cleo, mine, "cleo", "user/ana", "member")
    yield _member(mine.admin, arena.theirs, "root", "team/api", "member")
    yield ana, "update recollect.membership set role = 'lead'", {}
    yield ana, "update recollect.membership set role = 'lead' where user_id = 'ana'", {}
    yield ana, "update recollect.membership set user_id = 'ana' where user_id <> 'ana'", {}
    yield ana, "delete from recollect.membership where user_id <> 'ana'", {}
    yield zoe, "delete from recollect.membership", {}
    sea = {"to": mine.place("team/sea").id}
    yield cleo, "update recollect.membership set scope_id = %(to)s where user_id = 'cleo'", sea


def _planting(arena: Arena) -> Iterator[Attempt]:
    """Scopes under somebody else's parent or in somebody else's name."""
    mine, theirs, place = arena.mine, arena.theirs, arena.mine.place
    ana, cleo, zoe = mine.as_user("ana"), mine.as_user("cleo"), mine.as_user("zoe")
    company, api = place(f"company/{mine.tenant_id}").id, place("team/api").id
    yield _scope(zoe, mine, 5, "x", company)
    yield _scope(ana, mine, 4, "x", api)
    yield _scope(cleo, mine, 5, "x", place("org/east").id)
    yield _scope(cleo, mine, 6, "x", company)
    yield _scope(ana, mine, 2, "eve", None)
    yield _scope(ana, mine, 2, "ana", api, owner="x")
    # A personal scope below a lead's team would hand its owner's memories to the lead.
    yield _scope(cleo, mine, 2, "eve", api)
    yield _scope(cleo, mine, 3, "x", api, owner="eve")
    yield _scope(cleo, mine, 1, "x", api, owner="eve")
    # A child nobody else sees would keep its parent from ever being erased.
    yield _scope(ana, mine, 3, "x", place("user/bob").id, owner="ana")
    yield _scope(ana, mine, 3, "x", place("org/west").id, owner="ana")
    yield _scope(ana, mine, 3, "x", None, owner="bob")
    yield _scope(ana, mine, 1, "x", None)
    yield _scope(mine.as_user("ana", agent_id="bot"), mine, 1, "x", None, owner="ana")
    yield _scope(mine.as_user(agent_id="crawler"), mine, 1, "x", None)
    yield _scope(mine.as_user(), mine, 1, "x", None)
    yield _scope(mine.admin, mine, 5, "x", theirs.place("org/west").id)
    yield _scope(mine.admin, theirs, 5, "x", theirs.place("org/west").id)


def _seizing(arena: Arena) -> Iterator[Attempt]:
    """Scopes moved or renamed, and rows changed blindly."""
    mine, place = arena.mine, arena.mine.place
    ana, cleo, zoe = mine.as_user("ana"), mine.as_user("cleo"), mine.as_user("zoe")
    # Without WHERE the policy for reading does not apply: only the one for writing stands.
    for caller in (zoe, mine.as_user(), mine.as_user(agent_id="thief")):
        yield caller, "update recollect.scope set parent_id = null", {}
        yield caller, "delete from recollect.scope", {}
        yield caller, "update recollect.memory set text = 'x'", {}
        yield caller, "delete from recollect.memory", {}
    inside = mine.as_user("ana", agent_id="thief", session_id="x")
    yield inside, "update recollect.scope set parent_id = null where layer in (1, 3)", {}
    moved = "update recollect.scope set parent_id = %(to)s where scope_id = %(id)s"
    west, east = place("org/west").id, place("org/east").id
    yield cleo, moved, {"to": west, "id": place("team/sea").id}
    yield cleo, moved, {"to": east, "id": place("team/web").id}
    yield cleo, moved, {"to": west, "id": place("user/ana").id}
    yield ana, moved, {"to": place("user/ana").id, "id": place("team/api").id}
    yield cleo, "update recollect.scope set layer = 2, name = 'eve' where name = 'api'", {}
    # A turn of one's own in a conversation one may only read.
    company = place(f"company/{mine.tenant_id}").id
    foreign = arena.theirs.conversations[arena.theirs.places[0].id]
    yield ana, _MEMORY, _values(mine, place("user/ana").id, conversation=mine.conversations[company])
    yield mine.admin, _MEMORY, _values(mine, place("user/ana").id, conversation=foreign)
    # Terms, vectors and names of one's own on somebody else's memory, by inserting them or by moving them.
    own = place("user/ana").id
    for other in (mine.memories[place("user/bob").id], mine.memories[company], uuid4()):
        at = _values(mine, own) | {"memory": other}
        for table in ("posting", "embedding", "mention"):
            yield ana, _ROWS[table], at
            yield ana, f"update recollect.{table} set memory_id = %(memory)s where scope_id = %(scope)s", at
    for closed in ("user/bob", "team/web"):
        yield ana, _EVENT, _values(mine, place(closed).id)


def _ruling(arena: Arena) -> Iterator[Attempt]:
    """The tenant, its retention, the store."""
    mine, ana, admin = arena.mine, arena.mine.as_user("ana"), arena.mine.admin
    for caller in (ana, admin):
        yield (
            caller,
            "insert into recollect.tenant (tenant_id, name) values (%(id)s, 'x')",
            {"id": str(uuid4())},
        )
        yield caller, "update recollect.tenant set name = 'x'", {}
        yield caller, "delete from recollect.tenant", {}
    yield ana, "update recollect.tenant set recursion_enabled = false", {}
    yield admin, "update recollect.tenant set recursion_enabled = false, tenant_id = 'x'", {}
    keep = {"tenant": mine.tenant_id}
    yield ana, "insert into recollect.retention (tenant_id, layer, days) values (%(tenant)s, 1, 1)", keep
    yield ana, "update recollect.retention set days = 1", {}
    yield admin, "update recollect.retention set tenant_id = %(to)s", {"to": arena.theirs.tenant_id}
    yield admin, "update recollect.space set state = 'retired'", {}
    yield admin, "update recollect.store set terms_version = 0", {}
    yield admin, "delete from recollect.migration", {}


_USURPATIONS = (_joining, _planting, _seizing, _ruling)


@attack("nobody makes themselves a member, a lead or an owner", ATTACKS)
def nobody_gains_rights(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Memberships, scopes, tenants and store-wide tables, changed by those who may not."""
    for context, statement, values in chain.from_iterable(kind(arena) for kind in _USURPATIONS):
        with attacker.posing_as(context):
            done = attacker.attempt(statement, values)
        details = " ".join(
            str(value) for key, value in values.items() if key in {"name", "user", "role", "layer"}
        )
        tally.note(f"{statement[:60]} {details} as {describe(context)}", done.rows)
    tally.note("the victim of a rename", _renamed(attacker, arena.mine))


def _renamed(attacker: Attacker, world: World) -> int:
    """Rename whatever may be renamed to one's own name, and see whether hidden rows come to light."""
    thief = world.as_user(agent_id="crawler")
    allowed = list(readable_scopes(world, thief))
    with attacker.posing_as(thief):
        attacker.attempt("delete from recollect.scope where name = 'crawler'", keep=True)
        attacker.attempt("update recollect.scope set name = 'crawler'", keep=True)
        outcome = attacker.attempt("select 1 from recollect.memory where not (scope_id = any(%s))", [allowed])
    return outcome.rows


def _takeovers(arena: Arena) -> Iterator[str]:
    """Statements for the owner of a database, tried by the application role."""
    for table in arena.tables:
        name = f"recollect.{table.name}"
        for verb in ("truncate {}", "drop table {}", "alter table {} disable row level security",
                     "alter table {} no force row level security", "alter table {} add column x text",
                     "create policy x on {} using (true)", "drop policy readable on {}",
                     "alter policy readable on {} using (true)", "alter table {} owner to current_user",
                     "create index on {} (tenant_id)"):  # fmt: skip
            if table.name == table.parent or "row level" in verb or "truncate" in verb:
                yield verb.format(name)
        yield f"create trigger x before insert on {name} for each row execute function {_TRIGGER}()"
        yield f"create rule x as on select to {name} do instead select 1"
    yield from (
        "create table recollect.x (a int)",
        "create view recollect.x as select 1",
        "create function recollect.x() returns int language sql as 'select 1'",
        "create or replace function recollect.caller_tenant() returns text language sql as $$ select 'x' $$",
        "create or replace function recollect.caller_is_admin() returns boolean language sql as 'select true'",
        "alter function recollect.caller_scopes(text) set search_path = pg_temp",
        "alter function recollect.caller_scopes(text) owner to current_user",
        "call recollect.protect('memory', 'true', 'true')",
        "create schema x",
        "create schema recollect_app",
        "create table public.x (a int)",
        "drop schema recollect cascade",
        "alter schema recollect owner to current_user",
        "create extension dblink",
        "create role x superuser",
        "grant pg_read_all_data to current_user",
        "alter system set fsync = off",
        "copy (select 1) to program 'true'",
        "copy (select 1) to '/dev/null'",
        "select pg_read_file('PG_VERSION')",
        "select pg_ls_dir('.')",
        "select lo_import('/dev/null')",
        "create event trigger x on ddl_command_start execute function suppress_redundant_updates_trigger()",
        "create publication x for all tables",
    )


@attack("no table, policy, function or file can be taken over", ATTACKS)
def nothing_can_be_taken_over(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """Every right of an owner is refused, table by table."""
    with attacker.posing_as(arena.mine.admin):
        for statement in _takeovers(arena):
            tally.expect(statement, attacker.attempt(statement).refused)
        for table in arena.tables:
            # A GRANT of what one does not have is no error, only a warning: see what came of it.
            attacker.attempt(sql.SQL("grant all on {} to public").format(table.identifier), keep=True)
            given = attacker.attempt(
                "select has_table_privilege('public', %s, 'select')", [f"recollect.{table.name}"]
            )
            tally.expect(f"grant all on {table.name}", given.values == [(False,)])


@attack("refusals are the same for what exists and what does not", ATTACKS)
def refusals_say_nothing(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """A probe with a real id, digest or name of somebody else is refused in the same words as one with a random one."""
    mine, theirs = arena.mine, arena.theirs
    hidden, foreign = mine.place("team/web"), theirs.place("team/web")
    text = f"{mine.token} team/web of all"
    for context in (mine.as_user("ana"), mine.as_user("zoe"), mine.admin):
        probes: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = []
        for table, statement in _ROWS.items():
            at = {**_values(theirs, foreign.id), "id": theirs.memories[foreign.id]}
            probes.append(
                (f"{table} of another tenant", statement, at, {**at, "id": uuid4(), "scope": uuid4()})
            )
            # One's own tenant with the other's scope: the foreign key must not tell that it exists.
            here = _values(mine, foreign.id)
            probes.append((f"{table} with a foreign scope", statement, here, {**here, "scope": uuid4()}))
            if not context.is_admin:
                real = _values(mine, hidden.id, digest=digest(text)) | {"id": mine.memories[hidden.id]}
                probes.append((f"{table} in a hidden scope", statement, real, _values(mine, uuid4())))
        member = {"tenant": mine.tenant_id, "user": "x", "role": "member"}
        probes.append(("membership", _MEMBER, {**member, "scope": foreign.id}, {**member, "scope": uuid4()}))
        child = {"tenant": mine.tenant_id, "id": uuid4(), "layer": 5, "name": "x", "owner": ""}
        probes.append(("parent", _SCOPE, {**child, "parent": foreign.id}, {**child, "parent": uuid4()}))
        with attacker.posing_as(context):
            for what, statement, real, random in probes:
                first, second = attacker.attempt(statement, real), attacker.attempt(statement, random)
                # An admin may write anything into the own tenant where no foreign key stands in the way.
                refused = first.refused or (context.is_admin and real["tenant"] == mine.tenant_id)
                tally.expect(f"{what} as {describe(context)}", refused and _shape(first) == _shape(second))


def _shape(outcome: Outcome) -> tuple[str | None, str]:
    """An error without the values in it; a partition's number follows from the tenant, not from a row."""
    return outcome.sqlstate, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|_\d+\b", "?", outcome.message)
