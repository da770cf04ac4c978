"""Two callers, step by step: one stops at each of its exchanges with the database in turn, while the other works.

As PostgreSQL's isolation tester: the order of the steps is fixed, over real connections, and whoever waits for a lock
of the other is let wait. Afterwards both have an answer or an error of ours, the store is consistent, and what the pair
promises holds.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import psycopg
from tests.reliability.faults import CONSISTENT, _active, injection
from tests.reliability.histories import dump
from tests.reliability.results import kept, open_store

from recollect import AsyncRecollect, Memory, Recollect, Settings, TenantContext
from recollect.errors import MemoryNotFoundError, NotFoundError, RecollectError
from recollect.storage import migrations
from recollect.storage.endpoint import open_door

Step = Callable[[], Awaitable[Any]]
WAITING = """
select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
"""


@dataclass(slots=True)
class Gate:
    """Stops its task when it is about to speak to the database for the n-th time."""

    position: int
    calls: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, wait: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """One exchange, after a stop if it is the one."""
        self.calls += 1
        if self.calls == self.position:
            self.reached.set()
            await self.opened.wait()
        return await wait(*args, **named)


class Scene:
    """A tenant with what a pair of callers works on, made anew for every order of steps."""

    def __init__(self, store: Recollect, settings: Settings) -> None:
        self.store, self.settings = store, settings
        owner = open_door(settings.home, settings.database_url).owner
        assert owner is not None
        self.conninfo = owner
        self.owner = psycopg.connect(owner, autocommit=True)

    async def set(self) -> None:
        """Two clients of a new tenant, a memory with a marker, and one beside it."""
        self.tenant = f"t-{uuid4().hex[:12]}"
        self.marker = f"Zy{uuid4().hex[:8]}"
        await asyncio.to_thread(self.store.tenants.create, self.tenant)
        # An order of steps that embeds anew leaves the store with the other embedder.
        settings = self.settings.replace(embedder=self.embedder() or self.settings.embedder)
        self.first, self.second = (
            AsyncRecollect(
                settings=settings,
                context=TenantContext(tenant_id=self.tenant, user_id="ana", roles=("admin", "operator")),
            )
            for _ in range(2)
        )
        self.memory = await self.text(f"Ana met {self.marker} in Lisbon.")
        self.other = await self.text("Ana drinks green tea.")
        await self.second.open()

    def embedder(self) -> str | None:
        """What the store is embedded with, if it is by now."""
        spaces = self.owner.execute("select name from recollect.space where state = 'active'").fetchall()
        return spaces[0][0] if spaces else None

    async def text(self, text: str) -> UUID:
        """Add a memory."""
        memory = await self.first.add(text)
        assert isinstance(memory, Memory)
        return memory.id

    async def clear(self) -> None:
        """Close the clients, and forget the tenant: what works on all of them would take longer every time."""
        await self.first.close()
        await self.second.close()
        with suppress(NotFoundError):  # forgotten by the pair itself
            await asyncio.to_thread(self.store.tenants.forget, self.tenant)

    def marked(self) -> list[str]:
        """The tables that hold the marker, in any spelling."""
        return [name for name, rows in dump(self.owner) if self.marker.lower() in rows.lower()]

    async def found(self) -> Memory | None:
        """The memory, if it is there."""
        try:
            return await self.first.get(self.memory)
        except MemoryNotFoundError:
            return None


# What the callers do ------------------------------------------------------------------------------


async def search(client: AsyncRecollect, scene: Scene) -> None:
    """Search, and write down that it was done."""
    await client.search(f"Whom did Ana meet in Lisbon? {scene.marker}")
    await (await client._workspace()).events.flush()


async def delete(client: AsyncRecollect, scene: Scene) -> None:
    await client.delete(scene.memory, vacuum=False)


async def update(client: AsyncRecollect, scene: Scene) -> None:
    await client.update(scene.memory, text=f"Ana met {scene.marker} in Porto.")


async def supersede(client: AsyncRecollect, scene: Scene) -> None:
    await client.supersede(scene.memory, by=scene.other)


async def add(client: AsyncRecollect, scene: Scene) -> None:
    await client.add(f"Ana wrote to {scene.marker}.")


async def forget(client: AsyncRecollect, scene: Scene) -> None:
    await client.forget_user("ana")


async def forget_all(client: AsyncRecollect, scene: Scene) -> None:
    await client.tenants.forget(scene.tenant)


async def reembed(client: AsyncRecollect, scene: Scene) -> None:
    """Embed the store anew, with the other of two embedders."""
    await client.reembed("wordllama" if scene.embedder() == "minilm" else "minilm")


async def migrate(client: AsyncRecollect, scene: Scene) -> None:
    """What a newer program does on its first start, while this one runs: its next migration, exchange by exchange."""
    newer = migrations.newest_version() + 1
    async with await psycopg.AsyncConnection.connect(scene.conninfo, autocommit=True) as owner:
        await owner.execute("begin")
        column = f"newer_{uuid4().hex[:8]}"
        await owner.execute(f"alter table recollect.memory add column {column} text")
        await owner.execute(f"create table recollect.{column} (tenant_id text not null, value text)")
        await owner.execute(f"alter table recollect.{column} enable row level security")
        await owner.execute(
            "insert into recollect.migration (version, phase, name, checksum) values (%s, 'pre', %s, '')"
            " on conflict do nothing",
            [newer, column],
        )
        await owner.execute("commit")
        await owner.execute(f"alter table recollect.memory drop column {column}")
        await owner.execute(f"drop table recollect.{column}")
        await owner.execute("delete from recollect.migration where version = %s", [newer])


# What must hold afterwards --------------------------------------------------------------------------


async def gone(scene: Scene, outcomes: list[Any]) -> Iterator[str]:
    """The deleted memory is nowhere."""
    return iter([f"left in {table}" for table in scene.marked()])


async def both(scene: Scene, outcomes: list[Any]) -> Iterator[str]:
    """Whatever was answered took effect."""
    memory = await scene.found()
    wrong = []
    if memory is None:
        wrong.append("the memory is gone")
    elif outcomes == [None, None] and (memory.superseded_by != scene.other or "Porto" not in memory.text):
        wrong.append(f"one change is lost: {memory.text!r}, superseded by {memory.superseded_by}")
    return iter(wrong)


async def whole_or_nothing(scene: Scene, outcomes: list[Any]) -> Iterator[str]:
    """What was added is there with all that belongs to it, or nothing of it is."""
    texts = scene.owner.execute(
        "select text from recollect.memory where tenant_id = %s and text like 'Ana wrote%%'", [scene.tenant]
    ).fetchall()
    if texts:
        return iter([])
    return iter([f"left in {table} without its memory" for table in scene.marked()])


async def consistent(scene: Scene, outcomes: list[Any]) -> Iterator[str]:
    """Nothing beyond what is looked at after every race."""
    return iter([])


async def answered(scene: Scene, outcomes: list[Any]) -> Iterator[str]:
    """An older process goes on as if nothing had happened."""
    return iter([f"the older process was refused: {one!r}" for one in outcomes if one is not None])


Work = Callable[[AsyncRecollect, Scene], Awaitable[None]]
PAIRS: dict[str, tuple[Work, Work, Callable[[Scene, list[Any]], Awaitable[Iterator[str]]]]] = {
    "delete against search": (delete, search, gone),
    "supersede against update": (supersede, update, both),
    "update against delete": (update, delete, gone),
    "forget user against add": (forget, add, whole_or_nothing),
    "forget tenant against add": (forget_all, add, whole_or_nothing),
    "add against the same add": (add, add, consistent),
    "reembed against delete": (reembed, delete, gone),
    "migrate against add": (migrate, add, answered),
    "migrate against search": (migrate, search, answered),
    "migrate against delete": (migrate, delete, answered),
}  # fmt: skip


async def race(scene: Scene, stopped: Step, other: Step, position: int) -> list[Any] | None:
    """What both answer or raise when one stops at a position; None if it never comes that far."""
    gate = Gate(position)

    async def under_gate() -> Any:
        _active.set(gate)  # type: ignore[arg-type]
        return await stopped()

    first = asyncio.create_task(under_gate())
    reached = asyncio.create_task(gate.reached.wait())
    await asyncio.wait({first, reached}, return_when=asyncio.FIRST_COMPLETED)
    if not gate.reached.is_set():
        reached.cancel()
        await asyncio.wait({first})
        return None
    second = asyncio.create_task(other())  # type: ignore[arg-type]
    while not second.done():
        await asyncio.wait({second}, timeout=0.02)
        [[waiting]] = scene.owner.execute(WAITING).fetchall()
        if waiting:
            break
    gate.opened.set()
    return list(await asyncio.gather(first, second, return_exceptions=True))


async def examine(scene: Scene, name: str, *, stride: int = 1) -> dict[str, Any]:
    """Every order of steps of one pair, either of them stopped."""
    one, other, promise = PAIRS[name]
    orders, refused, violations = 0, 0, []
    with injection():
        for turned in (False, True):
            for position in range(1, 1_000, stride):
                await scene.set()
                callers = [lambda: one(scene.first, scene), lambda: other(scene.second, scene)]
                stopped, free = reversed(callers) if turned else callers
                outcomes = await race(scene, stopped, free, position)
                if outcomes is not None:
                    orders += 1
                    refused += sum(outcome is not None for outcome in outcomes)
                    wrong = [
                        f"raised {outcome!r}"
                        for outcome in outcomes
                        if outcome is not None and not isinstance(outcome, RecollectError)
                    ]
                    wrong += await promise(scene, outcomes)
                    values = {"tenant": scene.tenant, "name": "recollect"}
                    wrong += [
                        f"left behind: {rows} times {found}"
                        for found, rows in scene.owner.execute(CONSISTENT, values)
                        if rows and "transaction" not in found
                    ]
                    who = (other if turned else one).__name__
                    violations += [f"{name}, {who} stopped at {position}: {found}" for found in wrong]
                await scene.clear()
                if outcomes is None:
                    break
    return {"pair": name, "orders": orders, "refused": refused, "violations": violations}


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """Every pair that was not examined yet."""
    done = {line["pair"] for line in kept("races")}
    for name in options.only or [name for name in PAIRS if name not in done]:
        with open_store() as (store, settings):
            scene = Scene(store, settings)
            with closing(scene.owner):
                yield asyncio.run(examine(scene, name))
