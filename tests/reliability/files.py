"""A file or a process that fails at the n-th step: each call on a file, and each process begun, goes wrong once.

A library of our own stands before the C library (`fail.c`), so every call counts, also those of SQLite and numpy. For
whatever works with files or processes, every kind of fault and every position: it answers or raises one of our errors,
files are whole or as they were, nothing is left behind (a temporary file, a process that nobody waited for, an open
handle), and the next call works. `python -m tests.reliability files` tries all of them.
"""

from __future__ import annotations

import ctypes
import errno
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.codebase.shop import lay_out
from tests.conftest import NOSYNC
from tests.library.pdf_writing import paragraph, write_pdf
from tests.reliability.faults import Tally
from tests.reliability.preload import compiled
from tests.reliability.results import kept

from recollect import Recollect, Settings, TenantContext
from recollect.errors import RecollectError
from recollect.storage import embedded
from recollect.storage.backup import backup, restore

WRITES, OPENS, READS, PROCESSES = 1, 2, 4, 8
#: Which calls fail, with which error, and for a process: it does not begin, can't be run, is killed at once.
KINDS = {
    "disk full": (WRITES, errno.ENOSPC, 0),
    "not allowed": (OPENS, errno.EACCES, 0),
    "broken disk": (READS | WRITES, errno.EIO, 0),
    "no process": (PROCESSES, errno.EAGAIN, 0),
    "can't be run": (PROCESSES, errno.EACCES, 1),
    "killed": (PROCESSES, 0, 2),
}
#: More handles than before are a leak; a few more connections are none.
SPARE_HANDLES = 8
QUESTION = "How is the discount of the season taken off a price?"


class Scene:
    """A store, documents and code in one folder, below which files fail."""

    def __init__(self, root: Path) -> None:
        self.home, self.work, self.temporary = root / "home", root / "work", root / "tmp"
        self.work.mkdir()
        self.fresh = root / "fresh"
        self.code = lay_out(self.work / "code")
        self.docs = self.work / "docs"
        self.docs.mkdir()
        self.saved, self.lines = self.work / "saved", self.work / "lines.jsonl"
        self.owner = embedded.ensure_running(self.home, sync=False, settings=NOSYNC).owner
        settings = Settings(home=self.home, embedder="wordllama")
        self.store = Recollect(settings=settings)
        self.client = self.store.for_context(
            TenantContext(tenant_id="local", user_id="ana", roles=("operator",))
        )
        self.client.add("Ana drinks green tea.")
        self.client.export_jsonl(self.lines)
        backup(self.owner, self.saved)
        self.spare = embedded.ensure_running(self.home, database="spare").owner
        restore(self.spare, self.saved)
        self.tables = self._tables()
        #: What libraries keep among temporary files, fault or not.
        self.usual: set[str] = set()

    def renew(self) -> None:
        """Something new to add, to read and to start, so that no answer is remembered from the last time."""
        number = uuid4().hex[:8]
        self.client.add(f"Ana's parcel {number} has arrived.")
        (self.docs / "start.md").write_text(f"# Start\n\nPress button {number}.\n", encoding="utf-8")
        (self.docs / "start.pdf").write_bytes(write_pdf([paragraph([f"Press the red button {number}."])]))
        (self.code / "new.py").write_text(
            f"def season_{number}(price):\n    return price\n", encoding="utf-8"
        )

    def whole(self) -> Iterator[str]:
        """What is not as it was before or should be now."""
        if names := sorted({path.name for path in self.temporary.iterdir()} - self.usual):
            yield f"left behind: {names}"
        there = {"code", "docs", "lines.jsonl", "saved"}
        if names := sorted({path.name for path in self.work.iterdir()} - there):
            yield f"left behind: {names}"
        for line in self.lines.read_text(encoding="utf-8").splitlines() or ["an empty file"]:
            try:
                json.loads(line)
            except ValueError:
                yield f"half an export: {line[:60]!r}"
        if self._tables() != self.tables:
            yield "a restored database is not whole"
        if waited_for := children():
            yield f"processes that nobody waited for: {waited_for}"

    def _tables(self) -> list[Any]:
        import psycopg

        with psycopg.connect(self.spare, autocommit=True) as connection:
            return connection.execute(
                "select count(*) from pg_class where relnamespace = 'recollect'::regnamespace"
            ).fetchall()

    def close(self) -> None:
        """End everything."""
        self.store.close()
        for home in (self.fresh, self.home):
            embedded.stop(home)


def children() -> list[str]:
    """The processes of this one, but for the readers of code that it keeps."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for process in (task / "children").read_text(encoding="ascii").split():
            state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            if state == "Z":
                found.append(process)
    return found


# What works with files and processes --------------------------------------------------------------------


def first_start(scene: Scene) -> None:
    embedded.ensure_running(scene.fresh, sync=False, settings=NOSYNC)


def anew(scene: Scene) -> None:
    """Take back a first start."""
    embedded.stop(scene.fresh)
    shutil.rmtree(scene.fresh, ignore_errors=True)


def stopped(scene: Scene) -> None:
    """A home whose server rests."""
    first_start(scene)
    embedded.stop(scene.fresh)


def nothing(scene: Scene) -> None:
    """Nothing is needed before."""


def explored(scene: Scene) -> None:
    """An exploration to be found again or forgotten."""
    scene.client.explore(scene.code, QUESTION, task_id="task")


Step = Callable[[Scene], Any]
CASES: dict[str, tuple[Step, Step]] = {
    "first start": (anew, first_start),
    "start": (stopped, first_start),
    "stop": (first_start, lambda scene: embedded.stop(scene.fresh)),
    "backup": (nothing, lambda scene: backup(scene.owner, scene.saved, overwrite=True)),
    "restore": (nothing, lambda scene: restore(scene.spare, scene.saved, replace=True)),
    "export": (nothing, lambda scene: scene.client.export_jsonl(scene.lines)),
    "import": (nothing, lambda scene: scene.client.import_jsonl(scene.lines)),
    "library.add": (nothing, lambda scene: scene.client.library.add(scene.docs / "start.md")),
    "library.add a PDF": (nothing, lambda scene: scene.client.library.add(scene.docs / "start.pdf")),
    "library.add_folder": (nothing, lambda scene: scene.client.library.add_folder(scene.docs)),
    "explore": (nothing, lambda scene: scene.client.explore(scene.code, QUESTION, task_id=uuid4().hex)),
    "explore_dry_run": (nothing, lambda scene: scene.client.explore_dry_run(scene.code, QUESTION)),
    "ask about code": (nothing, lambda scene: scene.client.ask(QUESTION, working_dir=scene.code)),
    "oracle_consult": (
        nothing, lambda scene: scene.client.oracle_consult(QUESTION, doc_ids=[], working_dir=scene.code),
    ),
    "advise": (nothing, lambda scene: scene.client.advise(QUESTION, path=scene.code)),
    "explorations.list": (explored, lambda scene: scene.client.explorations.list()),
    "forget_user": (explored, lambda scene: scene.client.forget_user("ana")),
}  # fmt: skip


def examine(scene: Scene, name: str, *, stride: int = 1) -> Tally:
    """One case, each `stride`-th call of each kind failing in turn."""
    library, tally = ctypes.CDLL(None), Tally()
    library.fail_calls.restype = ctypes.c_long
    before, call = CASES[name]

    def attempt(which: int, error: int, fate: int, position: int) -> tuple[Any, int]:
        scene.renew()
        before(scene)
        library.fail_arm(which, error, fate, ctypes.c_long(position))
        try:
            return call(scene), library.fail_calls()
        except Exception as raised:
            return raised, library.fail_calls()
        finally:
            library.fail_arm(0, 0, 0, ctypes.c_long(0))

    for _ in range(2):  # The first loads modules and opens connections.
        outcome, _ = attempt(0, 0, 0, 0)
        if isinstance(outcome, Exception):
            tally.violations.append(f"{name} failed without any fault: {outcome!r}")
            return tally
    scene.usual = {path.name for path in scene.temporary.iterdir()}
    handles = len(os.listdir("/proc/self/fd"))
    for kind, (which, error, fate) in KINDS.items():
        for position in range(1, 100_000, stride):
            outcome, calls = attempt(which, error, fate, position)
            if calls < position:
                break
            tally.faults += 1
            tally.answered += not isinstance(outcome, Exception)
            wrong = list(scene.whole())
            if isinstance(outcome, Exception) and not isinstance(outcome, RecollectError):
                wrong.append(f"raised {outcome!r}")
            after, _ = attempt(0, 0, 0, 0)
            if isinstance(after, Exception):
                wrong.append(f"the next call raised {after!r}")
            tally.violations += [f"{name}, {kind} at {position}: {found}" for found in wrong]
    if (now := len(os.listdir("/proc/self/fd"))) > handles + SPARE_HANDLES:
        tally.violations.append(f"{name}: {now} open handles instead of {handles}")
    return tally


def child(name: str, stride: int) -> None:
    """One case in a process of its own, which has the library."""
    root = Path(os.environ["FAIL_ROOT"])
    del os.environ["LD_PRELOAD"]
    logging.getLogger("recollect").setLevel(logging.CRITICAL)
    scene = Scene(root)
    try:
        found = examine(scene, name, stride=stride)
    finally:
        scene.close()
    print(json.dumps({"case": name, "stride": stride, "kinds": len(KINDS), **asdict(found)}))


def run(name: str, *, stride: int = 1) -> dict[str, Any]:
    """What the examination of one case finds."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        (root / "tmp").mkdir(parents=True)
        for place in (Path(folder), root):
            place.chmod(0o711)  # the server's user passes through
        environ = {
            **os.environ,
            "LD_PRELOAD": str(compiled("fail", Path(folder))),
            "FAIL_ROOT": str(root),
            "TMPDIR": str(root / "tmp"),
        }
        command = [sys.executable, "-m", "tests.reliability.files", name, str(stride)]
        said = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(io.StringIO(said).readlines()[-1])
    return found


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """Every case that was not examined so closely yet."""
    done = {line["case"] for line in kept("files", by="case") if line["stride"] <= options.stride}
    for name in options.only or [name for name in CASES if name not in done]:
        yield run(name, stride=options.stride)


if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]))
