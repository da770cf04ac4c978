"""Loss of power: at any moment the disk has what was synced, and of what was written since nothing, or any part of it.

The real server runs with a library in front of its C library that writes down each call on its files (`disk.c`). Up
to any record of that log the disk as it was can be made: a write counts once a sync of its file that began later has
ended; a new name, a rename or a removal once any sync has (the journal of a file system is written in order). Whatever
is later is dropped; or, as a second form, kept for some sectors of 512 bytes and not for others. A server is started on
each such disk: all that had been acknowledged must be there, what was deleted must not, and every index must lead to
its rows.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from tests.reliability.preload import compiled, preloaded
from tests.reliability.results import kept

from recollect import Recollect, Settings
from recollect.errors import MemoryNotFoundError
from recollect.storage import embedded

HEAD = struct.Struct("=c3xIQQQ")
SECTOR_BYTES = 512
#: Changes of memories in one recording, and moments at which the power of it is lost.
CHANGES = 120
CUTS = 25


@dataclass(slots=True)
class File:
    """What is on the disk of a file, and what was written since, in order: an offset and bytes, or a new length."""

    synced: bytearray
    since: list[tuple[int, bytes | None]] = field(default_factory=list)
    #: How much of `since` each sync under way will have written, by process.
    syncing: dict[int, int] = field(default_factory=dict)

    def settle(self, count: int) -> None:
        """The first writes reach the disk."""
        for offset, data in self.since[:count]:
            apply(self.synced, offset, data)
        del self.since[:count]
        self.syncing = {process: left - count for process, left in self.syncing.items() if left > count}


def apply(content: bytearray, offset: int, data: bytes | None) -> None:
    """Write into a file's content, or set its length when there are no bytes."""
    end = offset if data is None else offset + len(data)
    if end > len(content):
        content.extend(bytes(end - len(content)))
    if data is None:
        del content[offset:]
    else:
        content[offset:end] = data


class Disk:
    """A data folder as the disk has it, moved on record by record."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._now: dict[str, File] = {}
        self._names: list[tuple[str, str, File | None]] = []
        self._syncing: dict[tuple[int, str], int] = {}
        for file in base.rglob("*"):
            if file.is_file():
                self._now[str(file.relative_to(base))] = File(bytearray(file.read_bytes()))
        self._durable = dict(self._now)

    def move(self, op: str, path: str, offset: int, data: bytes, process: int) -> None:
        """What one call did."""
        if op == "C":
            self._rename("", path, File(bytearray()))
        elif op == "R":
            if path in self._now:
                self._rename(path, data.decode(), self._now[path])
        elif op == "U":
            self._rename(path, "", None)
        elif op == "S":
            self._syncing[process, path] = len(self._names)
            if path in self._now:
                self._now[path].syncing[process] = len(self._now[path].since)
        elif op == "F":
            self._settle(self._syncing.pop((process, path), 0))
            if path in self._now and (count := self._now[path].syncing.pop(process, 0)):
                self._now[path].settle(count)
        elif path in self._now:
            file = self._now[path]
            if op == "W":
                file.since.append((offset, data))
            elif op == "T" or offset > self._length(file):
                file.since.append((offset, None))

    def _length(self, file: File) -> int:
        length = len(file.synced)
        for offset, data in file.since:
            length = offset if data is None else max(length, offset + len(data))
        return length

    def _rename(self, old: str, new: str, file: File | None) -> None:
        self._now.pop(old, None)
        if file is not None:
            self._now[new] = file
        self._names.append((old, new, file))

    def _settle(self, count: int) -> None:
        """The journal reaches the disk: names up to here."""
        for old, new, file in self._names[:count]:
            self._durable.pop(old, None)
            if file is not None:
                self._durable[new] = file
        del self._names[:count]
        self._syncing = {key: max(0, left - count) for key, left in self._syncing.items()}

    def write(self, target: Path, *, torn: random.Random | None) -> None:
        """Make the folder as a server finds it when the power is back; `torn` keeps parts of what was not synced."""
        shutil.rmtree(target)
        subprocess.run(["cp", "-a", self._base, target], check=True)
        owner = self._base.stat()
        for file in target.rglob("*"):
            if file.is_file() and str(file.relative_to(target)) not in self._durable:
                file.unlink()
        for path, one in self._durable.items():
            content = bytearray(one.synced)
            for offset, data in one.since if torn else ():
                for start in range(0, len(data or b"x"), SECTOR_BYTES):
                    if torn is not None and torn.random() < 0.5:
                        part = None if data is None else data[start : start + SECTOR_BYTES]
                        apply(content, offset + start, part)
            file = target / path
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o600)
            os.chown(file, owner.st_uid, owner.st_gid)


def records(log: Path) -> Iterator[tuple[str, str, int, bytes, int]]:
    """The log, record by record."""
    with log.open("rb") as file:
        while head := file.read(HEAD.size):
            op, path, offset, length, process = HEAD.unpack(head)
            yield op.decode(), file.read(path).decode(), offset, file.read(length), process


class Writer:
    """One client that changes memories, and says in the log what it begins and what was acknowledged."""

    def __init__(self, client: Recollect, log: int) -> None:
        self._client, self._log = client, log
        self._texts: dict[str, str] = {}

    def say(self, op: bytes, **change: Any) -> None:
        """A record of our own between those of the server."""
        data = json.dumps(change).encode()
        os.write(self._log, HEAD.pack(op, 0, 0, len(data), 0) + data)

    def change(self, number: int) -> None:
        """Add, update or delete."""
        text = f"Parcel {number} was handed over."
        kind = random.choices(["add", "update", "delete"], weights=[5, 3, 1])[0] if self._texts else "add"
        if kind == "add":
            self.say(b"B", id=None)
            id = str(self._client.add(text).id)
        else:
            id = random.choice(list(self._texts))
            self.say(b"B", id=id, text=text if kind == "update" else None)
            if kind == "update":
                self._client.update(id, text=text)
            else:
                self._client.delete(id, vacuum=random.random() < 0.3)
        if kind == "delete":
            self.say(b"A", id=id, text=None)
            del self._texts[id]
        else:
            self.say(b"A", id=id, text=text)
            self._texts[id] = text


@contextmanager
def recording(changes: int, server: dict[str, str]) -> Iterator[tuple[Path, Path, Path]]:
    """A home as it was before, the log of what its server then did, and an empty home beside them."""
    with (
        embedded.temporary_home() as home,
        embedded.temporary_home() as other,
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        folder.chmod(0o711)
        log = folder / "log"
        log.touch()
        log.chmod(0o666)
        settings = Settings(home=home, embedder="wordllama")
        with Recollect(settings=settings) as client:
            client.add("Here before.")
        embedded.stop(home)
        subprocess.run(["cp", "-a", home, folder / "home"], check=True)
        data = str(home / "postgres")
        with preloaded(compiled("disk", folder), DISK_LOG=str(log), DISK_ROOT=data):
            owner = embedded.ensure_running(home, settings=server).owner
        opened = os.open(log, os.O_WRONLY | os.O_APPEND)
        with Recollect(settings=settings) as client, psycopg.connect(owner, autocommit=True) as admin:
            writer = Writer(client, opened)
            for number in range(changes):
                writer.change(number)
                if random.random() < 0.04:
                    admin.execute("checkpoint")
        os.close(opened)
        embedded.stop(home)
        yield folder / "home", log, other


def examine(
    *, changes: int = CHANGES, cuts: int = CUTS, server: dict[str, str] | None = None
) -> dict[str, Any]:
    """Record once, lose the power at so many moments, and look what is there."""
    violations: list[str] = []
    with recording(changes, server or {"checkpoint_timeout": "30s"}) as (base, log, other):
        everything = list(records(log))
        acknowledged = [n for n, record in enumerate(everything) if record[0] == "A"]
        # Right behind an acknowledgement nothing may be missing; elsewhere anything may be half done.
        strict = random.sample(acknowledged, min(len(acknowledged), cuts // 2))
        moments = sorted(strict + random.sample(range(acknowledged[0], len(everything)), cuts - cuts // 2))
        disk, done = Disk(base / "postgres"), 0
        known: dict[str, str | None] = {}
        under_way = None
        for moment in moments:
            for op, path, offset, data, process in everything[done : moment + 1]:
                if op == "B":
                    under_way = json.loads(data)
                elif op == "A":
                    change, under_way = json.loads(data), None
                    known[change["id"]] = change["text"]
                else:
                    disk.move(op, path, offset, data, process)
            done = moment + 1
            for torn in (None, random.Random(moment)):
                subprocess.run(["cp", "-a", f"{base}/.", other], check=True)
                disk.write(other / "postgres", torn=torn)
                found = missing(other, known, under_way)
                form = "torn" if torn else "dropped"
                violations += [f"record {moment} of {len(everything)}, {form}: {one}" for one in found]
                embedded.stop(other)
    return {
        "calls": len(everything),
        "acknowledged": len(acknowledged),
        "losses": 2 * len(moments),
        "violations": violations,
    }


def missing(home: Path, known: dict[str, str | None], under_way: dict[str, Any] | None) -> list[str]:
    """What should be on a disk after the power is back, and is not, or the other way about."""
    wrong = []
    with Recollect(settings=Settings(home=home, embedder="wordllama")) as client:
        for id, text in known.items():
            allowed = {text}
            if under_way is not None and under_way["id"] == id:
                allowed.add(under_way["text"])
            try:
                found: str | None = client.get(id).text
            except MemoryNotFoundError:
                found = None
            if found not in allowed:
                wrong.append(f"memory {id} says {found!r} instead of {text!r}")
        wrong += [
            check.detail for check in client.doctor(indexes=True) if check.name == "indexes" and not check.ok
        ]
    return wrong


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """Recording after recording, until the power was lost a thousand times."""
    while sum(line["losses"] for line in kept("power")) < (options.count or 1_000):
        yield examine()
