"""Histories, as Jepsen makes them: processes change and read the same memories while something goes wrong.

Two clients of the store and one of a server add, update, supersede, restore, delete, get and search; meanwhile
processes are paused, killed, or their clocks jump. Afterwards the checker says whether every memory's operations can
have happened one after the other, and the tables whether anything is there twice, or though it was deleted.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from tests.reliability.checker import Operation, check
from tests.reliability.preload import compiled, has_compiler, preloaded
from tests.reliability.results import kept
from tests.reliability.worker import new_text

from recollect import Recollect, Settings
from recollect.errors import MemoryNotFoundError, StoreError
from recollect.storage import embedded

KINDS = ("pause", "kill", "clock")
OPERATIONS = 600
MEMORIES = 40
#: How far off clients' clocks are, in seconds, each time they jump; less than a day apart, after which an idempotency
#: key is forgotten.
OFFSETS_S = (-36_000, -3_600, -61, -1, 1, 61, 3_600, 36_000)
#: How far the database's clock jumps. A step back stops its timers for as long (a deadlock is not found, a statement
#: not ended): PostgreSQL reckons them by the wall clock.
STEPS_S = (-31, -1, 1, 61, 3_600, 86_400)
#: How long nothing goes wrong, from and to; after a kill there must be time to come back and work.
EVERY_S = {"calm": (60.0, 60.0), "pause": (0.1, 0.8), "kill": (1.0, 6.0), "clock": (0.1, 0.8)}
TOKEN = re.compile(r"K[0-9A-F]{12}")


class Process:
    """A process of the history, which can be told what to do, and started again."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self._command, self._environ = command, environ
        self.start()

    def start(self) -> None:
        """Start it, and wait until it says something."""
        self.process = subprocess.Popen(
            self._command,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.heard()

    def tell(self, order: dict[str, Any]) -> None:
        """Give it an order."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def heard(self) -> str:
        """What it says next; nothing if it was killed."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def restart(self) -> None:
        """End it if it still lives, and start it again."""
        self.end()
        self.start()

    def end(self) -> None:
        """End it for good."""
        self.process.kill()
        self.process.communicate()


class Clock:
    """The offset of the processes that share it."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(8))
        file.chmod(0o644)
        with file.open("r+b") as opened:
            self._page = mmap.mmap(opened.fileno(), 8)

    def set(self, seconds: int) -> None:
        """Jump."""
        self._page[:8] = struct.pack("q", seconds)

    @property
    def offset_s(self) -> int:
        """How far off it is now."""
        return int(struct.unpack("q", self._page[:8])[0])


class World:
    """A store, its clients and its server, in processes of their own."""

    def __init__(self, kind: str, home: Path, folder: Path, stack: ExitStack) -> None:
        self.kind, self.home, self._log = kind, home, folder / "log"
        self.clocks = [Clock(folder / "database-clock"), Clock(folder / "client-clock")]
        environ = {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "wordllama"}
        if kind == "clock":
            library = compiled("clock", folder)
            stack.enter_context(preloaded(library, CLOCK_OFFSET=str(folder / "database-clock")))
            environ |= {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(folder / "client-clock")}
        embedded.ensure_running(home)
        self.client = stack.enter_context(Recollect(settings=Settings(home=home, embedder="wordllama")))
        token = self.client.keys.create("history", user=self.client.settings.user, roles=("admin",)).token
        port = str(random.randint(20_000, 60_000))
        serve = [
            sys.executable,
            "-m",
            "recollect.surfaces.cli.main",
            "serve",
            "--no-dashboard",
            "--port",
            port,
        ]
        work = [sys.executable, "-m", "tests.reliability.worker"]
        far = {**environ, "RECOLLECT_URL": f"http://127.0.0.1:{port}", "RECOLLECT_API_KEY": token}
        self.server = Process(serve, environ)
        self.workers = [
            Process([*work, name, str(self._log)], far if name == "far" else environ)
            for name in ("near", "other", "far")
        ]
        for process in (self.server, *self.workers):
            stack.callback(process.end)
        self.operations: list[Operation] = []
        self.unanswered: set[str] = set()
        self._read = 0
        self._orders = 0

    def run(self) -> int:
        """One order for every worker, with what goes wrong meanwhile; gives how many operations there were."""
        slots = range(self._orders * MEMORIES, (self._orders + 1) * MEMORIES)
        self._orders += 1
        memories = [(self._add(slot), slot) for slot in slots]
        elder = str(self.client.add(f"Ivo keeps the register, page {time.monotonic_ns()}.").id)
        over = threading.Event()
        trouble = threading.Thread(target=self._trouble, args=(over,))
        for worker in self.workers:
            order = {"memories": memories, "elder": elder, "operations": OPERATIONS // len(self.workers)}
            worker.tell(order)
        trouble.start()
        for worker in self.workers:
            if not worker.heard():
                worker.restart()
        over.set()
        trouble.join()
        self.clocks[1].set(0)
        done = self._collect()
        for id in {one.memory for one in self.operations[-done:]} if done else ():
            self._look(id)
        return done

    def _add(self, slot: int) -> str:
        text, begun = new_text(slot), time.monotonic()
        id = str(self.client.add(text, conversation=f"talk {slot}", metadata={"slot": slot}).id)
        self._note("add", id, begun, text=text)
        return id

    def _look(self, id: str) -> None:
        begun = time.monotonic()
        try:
            memory = self.client.get(id)
        except MemoryNotFoundError:
            self._note("get", id, begun, outcome="absent")
        else:
            self._note("get", id, begun, text=memory.text, retired=memory.superseded_by is not None)

    def _note(self, kind: str, id: str, begun: float, *, outcome: str = "ok", **rest: Any) -> None:
        self.operations.append(
            Operation(
                client="last",
                kind=kind,
                memory=id,
                begun=begun,
                ended=time.monotonic(),
                outcome=outcome,
                **rest,
            )
        )

    def _collect(self) -> int:
        """Read what the workers wrote since the last time."""
        begun: dict[str, dict[str, Any]] = {}
        with self._log.open("rb") as log:
            log.seek(self._read)
            for line in log.read().splitlines():
                entry = json.loads(line)
                begun[entry["n"]] = {**begun.get(entry["n"], {}), **entry}
            self._read = log.tell()
        for entry in begun.values():
            answered = entry.get("outcome", "unknown") != "unknown"
            if entry["kind"] == "add" and not answered:
                self.unanswered.add(entry["text"])
                continue
            fields = {name: entry[name] for name in ("client", "kind", "memory", "begun", "text")}
            if answered:
                fields |= {"ended": entry["ended"], "outcome": entry["outcome"]}
            self.operations.append(Operation(**fields, retired=entry.get("retired", False)))
        return len(begun)

    def _trouble(self, over: threading.Event) -> None:
        """Let something go wrong until the workers are done."""
        ended_one = False
        while not over.wait(random.uniform(*EVERY_S[self.kind])):
            if self.kind == "clock":
                if random.random() < 0.5:
                    self.clocks[1].set(random.choice(OFFSETS_S))
                else:
                    self.clocks[0].set(self.clocks[0].offset_s + random.choice(STEPS_S))
            elif self.kind == "pause":
                self._pause(over)
            elif self.kind == "kill":
                with suppress(ProcessLookupError):
                    target = random.random()
                    if target < 0.15 and not ended_one:
                        ended_one = True
                        os.kill(random.choice(self.workers).process.pid, signal.SIGKILL)
                    elif target < 0.3:
                        self.server.restart()
                    elif (pid := embedded.status(self.home).pid) is not None:
                        os.kill(pid, signal.SIGKILL)

    def _pause(self, over: threading.Event) -> None:
        """Stop the database with all its processes, or one of the others, for a moment."""
        pid = embedded.status(self.home).pid
        assert pid is not None
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        backends = [int(child) for child in children]
        others = [one.process.pid for one in (self.server, *self.workers)]
        paused = random.choice([[pid, *backends], random.sample(backends, 1), *([other] for other in others)])
        try:
            for one in paused:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGSTOP)
            over.wait(random.uniform(0.05, 1.0))
        finally:
            for one in paused:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGCONT)

    def wrong(self) -> list[str]:
        """Everything that can't be: what the checker finds, and what the tables hold."""
        found = check(self.operations)
        gone = {one.memory for one in self.operations if one.client == "last" and one.outcome == "absent"}
        erased = {
            token
            for one in self.operations
            if one.memory in gone and one.kind in {"add", "update"}
            for token in TOKEN.findall(one.text)
        }
        with psycopg.connect(embedded.ensure_running(self.home).owner, autocommit=True) as owner:
            texts = Counter(text for (text,) in owner.execute("select text from recollect.memory"))
            for table, rows in dump(owner):
                found += [f"{token} is left in {table}" for token in set(TOKEN.findall(rows)) & erased]
        found += [f"stored {count} times: {text}" for text, count in texts.items() if count > 1]
        return found


def dump(owner: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """Every table of the store, as text."""
    tables = owner.execute(
        "select c.oid::regclass::text, c.relname from pg_class c where c.relkind in ('r', 'm')"
        " and c.relnamespace in ('recollect'::regnamespace, 'public'::regnamespace)"
    ).fetchall()
    for name, _ in tables:
        schema, table = name.split(".") if "." in name else ("public", name)
        statement = sql.SQL("copy {} to stdout").format(sql.Identifier(schema, table.strip('"')))
        with owner.cursor().copy(statement) as copy:
            yield name, b"".join(bytes(part) for part in copy).decode()


@contextmanager
def world(kind: str) -> Iterator[World]:
    """A world for a history under one kind of fault, gone afterwards."""
    with embedded.temporary_home() as home, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        Path(folder).chmod(0o711)
        yield World(kind, home, Path(folder), stack)


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """A few orders for one kind of fault after the other, until each has ten thousand operations."""
    wanted = options.count or 10_000
    while True:
        done: Counter[str] = Counter()
        for line in kept("histories"):
            done[line["kind"]] += line["operations"]
        least, kind = min((done[kind], kind) for kind in options.only or KINDS)
        if least >= wanted:
            return
        yield examine(kind, orders=6)


def examine(kind: str, *, orders: int) -> dict[str, Any]:
    """So many orders in one world, and what is wrong with them."""
    if kind == "clock" and not has_compiler():
        raise StoreError("clocks jump by a library that needs a C compiler")
    with world(kind) as one:
        operations = sum(one.run() for _ in range(orders))
        outcomes = Counter(operation.outcome for operation in one.operations)
        return {
            "kind": kind,
            "operations": operations,
            "unanswered": outcomes["unknown"] + len(one.unanswered),
            "violations": one.wrong(),
        }
