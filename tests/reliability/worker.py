"""One process of a history: a few callers who change and read the same memories, and write down what came of it.

`python -m tests.reliability.worker NAME LOG` takes orders from its input, a line of JSON each, and writes a line to LOG
before and after every operation; whatever kills it leaves what was begun. With RECOLLECT_URL it asks a server, and
sends every memory with an idempotency key until there is an answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import httpx

from recollect import AsyncRecollect
from recollect.errors import ConflictError, MemoryNotFoundError, RecollectError

CALLERS = 3
#: How often each kind of operation is drawn.
WEIGHTS = {"add": 10, "update": 24, "supersede": 9, "restore": 9, "delete": 6, "get": 22, "search": 20}
PEOPLE = ("Ana", "Bruno", "Carla", "Dmitri", "Elif", "Farid", "Greta", "Hugo")
THINGS = ("kettle", "ladder", "drum", "lamp", "map", "violin", "tent", "scale")


def person_and_thing(slot: int) -> tuple[str, str]:
    """What the memories of a slot are about."""
    return PEOPLE[slot % len(PEOPLE)], THINGS[slot // len(PEOPLE) % len(THINGS)]


def new_text(slot: int) -> str:
    """A text that nobody has written before."""
    person, thing = person_and_thing(slot)
    return f"{person} keeps the {thing} in locker K{uuid4().hex[:12].upper()}."


class Worker:
    """The callers of one process."""

    def __init__(self, name: str, log: int, client: AsyncRecollect) -> None:
        self._name = name
        self._log = log
        self._client = client
        self._http: httpx.AsyncClient | None = None
        settings = client.settings
        if settings.url is not None:
            headers = {"Authorization": f"Bearer {settings.api_key}"}
            self._http = httpx.AsyncClient(
                base_url=settings.url, headers=headers, trust_env=False, timeout=30
            )
        #: The memories of the present order: id and slot.
        self._known: list[tuple[str, int]] = []
        self._elder = ""

    async def carry_out(self, order: Mapping[str, Any]) -> None:
        """So many operations, by callers side by side."""
        self._known = [(id, slot) for id, slot in order["memories"]]
        self._elder = order["elder"]
        each = order["operations"] // CALLERS
        await asyncio.gather(*(self._call(f"{self._name}.{n}", each) for n in range(CALLERS)))

    async def _call(self, caller: str, count: int) -> None:
        for _ in range(count):
            kind = random.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
            id, slot = random.choice(self._known)
            if kind == "add":
                slot = random.getrandbits(31)  # nothing else is asked for by it
            text = new_text(slot) if kind in {"add", "update"} else ""
            number = uuid4().hex
            begun = {"n": number, "client": caller, "kind": kind, "slot": slot, "text": text}
            self._write({**begun, "memory": "" if kind == "add" else id, "begun": time.monotonic()})
            result = await self._operate(kind, id, slot, text)
            self._write({"n": number, "ended": time.monotonic(), **result})
            if kind == "add" and result["outcome"] == "ok":
                self._known.append((result["memory"], slot))

    async def _operate(self, kind: str, id: str, slot: int, text: str) -> dict[str, Any]:
        """What came of an operation, as the checker knows it."""
        try:
            return {"outcome": "ok", **await self._ask(kind, UUID(id), slot, text)}
        except MemoryNotFoundError:
            return {"outcome": "absent"}
        except ConflictError as error:
            return {"outcome": "refused" if kind == "restore" else "unknown", "error": str(error)}
        except (RecollectError, httpx.HTTPError) as error:
            return {"outcome": "unknown", "error": repr(error)}

    async def _ask(self, kind: str, id: UUID, slot: int, text: str) -> dict[str, Any]:
        if kind == "add":
            return {"memory": await self._add(slot, text)}
        if kind == "search":
            person, thing = person_and_thing(slot)
            hits = await self._client.search(
                f"Where does {person} keep the {thing}?", filters={"metadata.slot": slot}, limit=50
            )
            return {"text": next((hit.text for hit in hits if hit.id == id), "")}
        if kind == "get":
            memory = await self._client.get(id)
            return {"text": memory.text, "retired": memory.superseded_by is not None}
        if kind == "update":
            await self._client.update(id, text=text)
        elif kind == "supersede":
            await self._client.supersede(id, by=self._elder)
        elif kind == "restore":
            await self._client.restore(id)
        else:
            await self._client.delete(id, vacuum=False)
        return {}

    async def _add(self, slot: int, text: str) -> str:
        # Turns of a conversation are never merged: what is stored twice is there twice.
        fields = {"conversation": f"talk {slot}", "metadata": {"slot": slot}}
        if self._http is None:
            return str((await self._client.add(text, **fields)).id)
        key, failed = uuid4().hex, None
        for _ in range(6):
            try:
                answer = await self._http.post(
                    "/v1/memories", json={"text": text, **fields}, headers={"Idempotency-Key": key}
                )
            except httpx.HTTPError as error:
                failed = repr(error)
            else:
                if answer.status_code == 201:
                    return str(answer.json()["id"])
                failed = answer.text
            await asyncio.sleep(0.5)
        raise ConflictError(f"no answer to an add: {failed}")

    def _write(self, line: Mapping[str, Any]) -> None:
        os.write(self._log, json.dumps(line).encode() + b"\n")


async def main(name: str, log: str) -> None:
    """Carry out orders until there are no more."""
    loop = asyncio.get_running_loop()
    async with AsyncRecollect() as client:
        worker = Worker(name, os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), client)
        print("ready", flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            await worker.carry_out(json.loads(line))
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
