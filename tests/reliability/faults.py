"""A fault at the n-th step, as SQLite is tested: each time a verb speaks to the database, that once goes wrong.

For every verb, kind of fault and position: the verb answers or raises one of our errors, the store holds all of the
change or nothing of it, nothing is left behind (a connection, a transaction, a row without its memory), and the next
call works. A verb that only reads is asked again and answers when its connection was lost. `python -m tests.reliability
faults` tries all positions of all verbs.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import lookup
from psycopg.pq import TransactionStatus
from tests.reliability.results import kept, open_store
from tests.surfaces.test_every_verb import World

from recollect import AsyncRecollect, Recollect, Settings
from recollect.client.verbs import VERBS, Verb, arguments_of
from recollect.errors import RecollectError
from recollect.storage.endpoint import open_door

#: Refusals of the server, by its own codes.
REFUSALS = {"disk full": "53100", "not allowed": "42501", "too slow": "57014"}
KINDS = ("lost before", "lost after", "cancelled", *REFUSALS)

#: These work in several steps, each of which is whole or absent: a folder's documents, a consultation and its events.
IN_STEPS = {
    "consolidate", "context", "explore", "forget_user", "learning.bootstrap", "learning.train", "library.add_folder",
    "library.resume", "oracle_consult", "consultations.repeat", "search", "sweep", "tenants.forget",
}  # fmt: skip
#: What is noted beside the call in its own time, and what is there as long as any memory needs it.
NOTES = {
    "retrieval_event", "retrieval_hit", "event", "reply", "run", "consultation_event", "tally", "entity", "entity_key",
}  # fmt: skip

#: What must have been called before a verb's example can be, each time: verbs, with what differs from their examples.
Call = tuple[str, Mapping[str, Any]]
_TEAM: Call = ("scopes.create", {})
_NO_EXPERIMENT: Call = ("learning.reset", {})
_EXPERIMENT: Call = ("learning.start_experiment", {})
BEFORE: Mapping[str, Sequence[Call]] = {
    "explorations.get": [("explore", {})],
    "explorations.replay": [("explore", {})],
    "learning.report": [_EXPERIMENT],
    "learning.start_experiment": [_NO_EXPERIMENT],
    "learning.stop_experiment": [_NO_EXPERIMENT, _EXPERIMENT],
    "entities.alias": [("entities.declare", {})],
    "entities.forget": [("entities.declare", {})],
    "entities.graph": [("add", {})],
    "tenants.create": [("tenants.forget", {})],
    "tenants.forget": [("tenants.create", {})],
    "scopes.create": [("scopes.delete", {"scope": "team/api"})],
    "scopes.move": [_TEAM],
    "scopes.delete": [("scopes.create", {"scope": "project/apollo"})],
    "members.list": [_TEAM],
    "members.add": [_TEAM, ("members.remove", {})],
    "members.remove": [_TEAM, ("members.add", {})],
}
BY_NAME = {verb.name: verb for verb in VERBS}

CONSISTENT = """
select 'a tally that is wrong' as found, count(*) as rows from recollect.scope s
    left join recollect.tally t using (tenant_id, scope_id)
    cross join lateral (select count(*) as memories from recollect.memory m
        where m.tenant_id = s.tenant_id and m.scope_id = s.scope_id) m
    where s.tenant_id = %(tenant)s and coalesce(t.memories, 0) <> m.memories
union all select 'a posting without its memory', count(*) from recollect.posting x
    where x.tenant_id = %(tenant)s and not exists (select from recollect.memory m
        where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id)
union all select 'a vector without its memory', count(*) from recollect.embedding x
    where x.tenant_id = %(tenant)s and not exists (select from recollect.memory m
        where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id)
union all select 'a name that nothing mentions', count(*) from recollect.entity x
    where x.tenant_id = %(tenant)s and x.source = 'found' and not exists (select from recollect.mention m
        where m.tenant_id = x.tenant_id and m.entity = x.entity)
union all select 'a memory without its vector', count(*) from recollect.memory x
    where x.tenant_id = %(tenant)s and not exists (select from recollect.embedding m
        where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id)
union all select 'a transaction left open', count(*) from pg_stat_activity a
    where a.datname = current_database() and a.application_name = %(name)s
        and a.state like 'idle in transaction%%'
"""


@dataclass(slots=True)
class Fault:
    """What goes wrong the n-th time that its task speaks to the database; without a kind it only counts."""

    kind: str = ""
    position: int = 0
    calls: int = 0
    task: asyncio.Task[Any] | None = None

    async def wait(
        self, wait: Callable[..., Any], connection: Any, generator: Any, *rest: Any, **named: Any
    ) -> Any:
        """One exchange with the server, or what becomes of it."""
        self.calls += 1
        if self.calls != self.position:
            return await wait(connection, generator, *rest, **named)
        if self.kind in REFUSALS:
            refuse(connection, REFUSALS[self.kind])
        if self.kind == "cancelled" and self.task is not None:
            self.task.cancel()
        if self.kind == "lost before":
            sever(connection)
        answer = await wait(connection, generator, *rest, **named)
        if self.kind == "lost after":
            connection.pgconn.finish()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return answer


_active: ContextVar[Fault | None] = ContextVar("fault", default=None)


@contextmanager
def injection() -> Iterator[None]:
    """While it lasts, whatever runs under a fault meets it."""
    original = psycopg.AsyncConnection.wait

    async def wait(connection: Any, generator: Any, *rest: Any, **named: Any) -> Any:
        fault = _active.get()
        if fault is None:
            return await original(connection, generator, *rest, **named)
        return await fault.wait(original, connection, generator, *rest, **named)

    psycopg.AsyncConnection.wait = wait  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        psycopg.AsyncConnection.wait = original  # type: ignore[method-assign]


def sever(connection: Any) -> None:
    """Cut the line under a connection that does not know it yet."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def refuse(connection: Any, code: str) -> None:
    """Have the server itself fail, so that it undoes the transaction, and raise what the driver would."""
    if connection.pgconn.transaction_status in (TransactionStatus.IDLE, TransactionStatus.INTRANS):
        block = f"do $$ begin raise exception 'out of luck' using errcode = '{code}'; end $$"
        connection.pgconn.exec_(block.encode())
    raise lookup(code)("out of luck")


def renewed(value: Any, number: str, *, said: bool = False) -> Any:
    """An example whose texts nobody has stored before, or adding them would only strengthen what is there."""
    if isinstance(value, dict):
        return {name: renewed(one, number, said=name in {"text", "content"}) for name, one in value.items()}
    if isinstance(value, list):
        return [renewed(one, number) for one in value]
    return f"{value} {number}" if said and isinstance(value, str) else value


@dataclass(slots=True)
class Tally:
    """How many faults struck, how often the verb answered all the same, and what should not have been."""

    faults: int = 0
    answered: int = 0
    violations: list[str] = field(default_factory=list)


class Trial:
    """Verbs of one client under faults, and what the store says afterwards."""

    def __init__(self, store: Recollect, settings: Settings, folder: Path) -> None:
        self.world = World(store, folder)
        self.world.inside.add("Whoever lists events finds this one.")
        self._settings = settings
        self._runs = 0
        owner = open_door(settings.home, settings.database_url).owner
        assert owner is not None
        self._owner = psycopg.connect(owner, autocommit=True)
        tables = self._owner.execute(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'"
            " where c.relnamespace = 'recollect'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        ).fetchall()
        self._counts = sql.SQL(" union all ").join(
            sql.SQL("select {}, count(*) from recollect.{} where tenant_id = %(tenant)s").format(
                sql.Literal(name), sql.Identifier(name)
            )
            for (name,) in tables
            if name not in NOTES
        )

    async def run(self, verb: Verb, kinds: Collection[str], *, stride: int, tally: Tally) -> None:
        """One verb, its every `stride`-th exchange with the database failing in turn."""
        async with AsyncRecollect(settings=self._settings, context=self.world.context) as client:
            # The first makes a scope, opens a session, trains a model.
            await self._change(client, verb, Fault())
            answer, whole = await self._change(client, verb, Fault())
            if isinstance(answer, Exception):
                tally.violations.append(f"{verb.name} refused its example without any fault: {answer!r}")
                return
            for kind in kinds:
                for position in range(1, 10_000, stride):
                    fault = Fault(kind, position)
                    outcome, change = await self._change(client, verb, fault)
                    if fault.calls < position:
                        break
                    tally.faults += 1
                    tally.answered += not isinstance(outcome, BaseException)
                    tally.violations += [
                        f"{verb.name}, {kind} at {position}: {wrong}"
                        for wrong in self._wrong(verb, kind, outcome, change, whole)
                    ]

    async def _change(
        self, client: AsyncRecollect, verb: Verb, fault: Fault
    ) -> tuple[Any, Mapping[str, int]]:
        """What a verb answers or raises under a fault, and what it changes."""
        self._runs += 1
        for name, other in BEFORE.get(verb.name, ()):
            example = await asyncio.to_thread(self.world.example, BY_NAME[name])
            with suppress(RecollectError):
                await BY_NAME[name].bind(client)(**arguments_of(BY_NAME[name], {**example, **other}))
        example = await asyncio.to_thread(self.world.example, verb)
        given = arguments_of(verb, renewed(example, str(1_000 + self._runs)))
        before = self._rows()

        async def under_fault() -> Any:
            fault.task = asyncio.current_task()
            _active.set(fault)
            return await verb.bind(client)(**given)

        try:
            outcome = await asyncio.create_task(under_fault())
        except (Exception, asyncio.CancelledError) as error:
            outcome = error
        after = self._rows()
        return outcome, {name: after[name] - before[name] for name in after if after[name] != before[name]}

    def _rows(self) -> dict[str, int]:
        return dict(self._owner.execute(self._counts, {"tenant": self.world.tenant}).fetchall())

    def _wrong(
        self, verb: Verb, kind: str, outcome: Any, change: Mapping[str, int], whole: Mapping[str, int]
    ) -> Iterator[str]:
        cancelled = kind == "cancelled" and isinstance(outcome, asyncio.CancelledError)
        if isinstance(outcome, BaseException) and not isinstance(outcome, RecollectError) and not cancelled:
            yield f"raised {outcome!r}"
        elif verb.repeats and kind.startswith("lost") and isinstance(outcome, BaseException):
            yield f"was not asked again: {outcome!r}"
        if verb.name not in IN_STEPS and change and change != whole:
            yield f"neither all nor nothing: {dict(change)} instead of {dict(whole)}"
        values = {"tenant": self.world.tenant, "name": "recollect"}
        for found, rows in self._owner.execute(CONSISTENT, values).fetchall():
            if rows:
                yield f"left behind: {rows} times {found}"

    def close(self) -> None:
        """Let go of the look behind the curtain."""
        self._owner.close()


def examine(
    store: Recollect,
    settings: Settings,
    folder: Path,
    verb: Verb,
    *,
    kinds: Collection[str] = KINDS,
    stride: int = 1,
) -> Tally:
    """Every fault at every `stride`-th position of a verb."""
    tally = Tally()
    with injection(), closing(Trial(store, settings, folder)) as trial:
        asyncio.run(trial.run(verb, kinds, stride=stride, tally=tally))
    return tally


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """Every kind of fault at every position of each verb that was not examined so closely yet, a kind at a time."""
    done = {part for part, line in newest(kept("faults")).items() if line["stride"] <= options.stride}
    with open_store() as (store, settings), tempfile.TemporaryDirectory() as folder:
        for name in options.only or BY_NAME:
            for kind in KINDS:
                if (name, kind) in done and not options.only:
                    continue
                tally = examine(
                    store, settings, Path(folder), BY_NAME[name], kinds=[kind], stride=options.stride
                )
                yield {"verb": name, "kind": kind, "stride": options.stride, **asdict(tally)}


def newest(lines: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """By verb and kind of fault the last line that is about it; one without a kind is about all of them."""
    return {
        (line["verb"], kind): line for line in lines for kind in ([line["kind"]] if "kind" in line else KINDS)
    }
