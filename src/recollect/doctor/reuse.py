"""Attacks on what a connection keeps: settings, prepared statements, cursors, temporary tables, the pool."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import cycle, islice

import psycopg
from psycopg import sql

from recollect.config import Settings
from recollect.doctor.arena import Arena, Attack, Attacker, Tally, attack
from recollect.domain.results import Check
from recollect.errors import RecollectError
from recollect.storage.sql import queries
from recollect.storage.store import Store, Transaction, caller_settings

_TEXTS = "select text from recollect.memory"

#: The one setting that a query may change, and only for its own transaction.
_BREADTH = re.compile(r"set_config\('hnsw\.ef_search', (?:\{breadth\}|%\(breadth\)s), true\)")

ATTACKS: list[Attack] = []


@attack("who asked is forgotten with the transaction", ATTACKS)
def settings_end_with_the_transaction(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """After commit, rollback, error and savepoint the connection is nobody's again."""
    connection = attacker.connection
    say = caller_settings(arena.mine.admin)
    for ending in ("commit", "rollback"):
        connection.execute("begin")
        connection.execute(say)
        connection.execute(ending)
        tally.note(f"after {ending}", _rows(attacker))
    connection.execute("begin")
    connection.execute(say)
    try:
        connection.execute("select 1 / 0")
    except psycopg.Error:
        connection.execute("rollback")
    tally.note("after an error", _rows(attacker))
    connection.execute("begin")
    connection.execute("savepoint before")
    connection.execute(say)
    connection.execute("rollback to savepoint before")
    tally.note("after a rollback to a savepoint", _rows(attacker))
    connection.execute("rollback")
    with attacker.posing_as(arena.theirs.admin):
        connection.execute("savepoint inner_caller")
        connection.execute(say)
        connection.execute("rollback to savepoint inner_caller")
        outcome = attacker.attempt(
            "select 1 from recollect.memory where tenant_id = %s", [arena.mine.tenant_id]
        )
        tally.note("the caller of a savepoint that was rolled back", outcome.rows)


def _rows(attacker: Attacker) -> int:
    return len(attacker.connection.execute(_TEXTS).fetchall())


@attack("a prepared statement shows the rows of who runs it", ATTACKS)
def prepared_statements_follow_the_caller(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """A statement prepared for one tenant and run for another, with plans made once and plans made each time."""
    callers = [arena.theirs.admin, arena.mine.admin, arena.mine.as_user("ana"), arena.mine.as_user("zoe")]
    for mode in ("auto", "force_generic_plan", "force_custom_plan"):
        attacker.connection.execute(f"set plan_cache_mode = {mode}")
        for maker in callers:
            with attacker.posing_as(maker):
                attacker.connection.execute(f"prepare spied as {_TEXTS}")
                for _ in range(6):
                    attacker.connection.execute("execute spied")
            for context in callers:
                with attacker.posing_as(context):
                    fresh = {row[0] for row in attacker.connection.execute(_TEXTS)}
                    again = {row[0] for row in attacker.connection.execute("execute spied")}
                tally.note(f"{mode}, as {context.user_id}", len(again ^ fresh))
            attacker.connection.execute("deallocate spied")


@attack("no cursor or session setting outlives its caller", ATTACKS)
def cursors_end_with_the_transaction(arena: Arena, attacker: Attacker, tally: Tally) -> None:
    """A cursor shows what its own caller saw, so it must not outlive the transaction.

    WITH HOLD would keep rows in the connection on purpose, and no policy reaches them there: nothing in this
    program declares a cursor, prepares under a name, or sets anything but how widely an index looks around, and that
    until the transaction ends.
    """
    with attacker.posing_as(arena.theirs.admin):
        attacker.connection.execute(f"declare spied cursor for {_TEXTS}")
    with attacker.posing_as(arena.mine.admin):
        tally.note("a cursor of the transaction before", attacker.attempt("fetch all from spied").rows)
    for name, text in queries().items():
        words = _BREADTH.sub("", f" {' '.join(text.lower().split())} ")
        for forbidden in (
            " with hold",
            " declare ",
            " prepare ",
            "set_config(",
            " set session ",
            " discard ",
            " listen ",
        ):
            tally.expect(f"query {name} has {forbidden.strip()!r}", forbidden not in words)


async def one_connection_serves_many_callers(arena: Arena, settings: Settings) -> Check:
    """The program's own pool with a single connection, callers in turns, some of them failing half-way."""
    tally = Tally("a pooled connection carries nothing from one caller to the next")
    store = await Store.open(
        settings.home,
        settings.database_url,
        pool_size=1,
        statement_timeout_s=settings.statement_timeout_s,
    )
    try:
        for number, spoil in enumerate(islice(cycle(_SPOILERS), 4 * len(_SPOILERS))):
            before, after = (arena.theirs, arena.mine) if number % 2 else (arena.mine, arena.theirs)
            try:
                async with store.transaction(before.admin) as tx:
                    await spoil(tx)
            except (RecollectError, psycopg.Error, RuntimeError, asyncio.CancelledError):
                pass  # the spoilers fail on purpose
            for context in (after.as_user("zoe"), after.as_user("ana"), after.admin):
                async with store.transaction(context) as tx:
                    tally.note(
                        f"{spoil.__name__}, then {context.user_id}", await _strange_rows(tx, before.token)
                    )
    finally:
        await store.close()
    return tally.check()


async def _strange_rows(tx: Transaction, token: str) -> int:
    await tx.make_staging()
    cursor = await tx.connection.execute(
        "select (select count(*) from recollect.memory where tenant_id <> %s or strpos(text, %s) > 0)"
        " + (select count(*) from stage_memory) + (select count(*) from stage_posting)"
        " + (select count(*) from pg_cursors where is_holdable) as strange",
        [tx.context.tenant_id, token],
    )
    row = await cursor.fetchone()
    assert row is not None
    strange: int = row["strange"]
    return strange


async def _read(tx: Transaction) -> None:
    await tx.connection.execute(_TEXTS)


async def _fail(tx: Transaction) -> None:
    await tx.connection.execute(_TEXTS)
    raise RuntimeError("on purpose")


async def _break(tx: Transaction) -> None:
    await tx.connection.execute("select 1 / 0")


async def _cancel(tx: Transaction) -> None:
    await tx.connection.execute(_TEXTS)
    raise asyncio.CancelledError


async def _claim_the_session(tx: Transaction) -> None:
    """What a careless SET without LOCAL would leave behind."""
    for name in ("tenant", "caller"):
        setting = await tx.connection.execute("select current_setting(%s) as value", [f"recollect.{name}"])
        [row] = await setting.fetchall()
        await tx.connection.execute(
            sql.SQL("set session {} = {}").format(sql.Identifier("recollect", name), row["value"])
        )


async def _stage(tx: Transaction) -> None:
    await tx.make_staging()
    await tx.connection.execute("insert into stage_posting (terms, tfs, dl) values ('left behind', '1 1', 2)")
    await tx.connection.execute("insert into stage_memory (text) values ('left behind')")


async def _prepare(tx: Transaction) -> None:
    for _ in range(8):  # beyond the driver's threshold, so that the server keeps a plan
        await tx.connection.execute(_TEXTS, prepare=True)


async def _nest(tx: Transaction) -> None:
    try:
        async with tx.connection.transaction():
            await tx.connection.execute("select 1 / 0")
    except psycopg.Error:
        await tx.connection.execute(_TEXTS)


_SPOILERS: tuple[Callable[[Transaction], Awaitable[None]], ...] = (
    _read,
    _fail,
    _break,
    _cancel,
    _claim_the_session,
    _stage,
    _prepare,
    _nest,
)
