"""Parsing many files in processes of their own, as many as there are cores.

Each thread keeps a process busy and takes its answers. A process that dies or hangs costs the file it was at, which
gets a note, and another takes its place. They are started as programs, not forked: the caller may have threads, and
need not guard its main module.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from recollect.codebase.tree import SourceFile
from recollect.codebase.worker import READY, Parsed, parse_file
from recollect.files.jail import Jail
from recollect.providers.runtime import usable_cores

#: Less than this is parsed here: starting processes would take longer.
_FEW_BYTES = 400_000
_BATCH_BYTES = 200_000
_BATCH_FILES = 50
#: A file may keep its process so long, on a machine that has other work as well.
_FILE_TIMEOUT_S = 120.0
_WATCH_EVERY_S = 1.0
#: Of the parent's environment a parser needs only what finds libraries.
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "LANG")

#: A process that parses, and the pipe to it.
_Worker = tuple[subprocess.Popen[bytes], Connection]


def parse_files(
    root: Path, files: Sequence[SourceFile], *, workers: int | None = None
) -> Generator[Parsed, None, None]:
    """Parse files in no particular order. Ending the iteration early ends the processes."""
    wanted = usable_cores() if workers is None else workers
    size = sum(file.size for file in files)
    if wanted <= 1 or size < _FEW_BYTES:
        yield from _parse_here(root, files)
        return
    batches = _batches(files)
    yield from _Pool(root, batches, min(wanted, len(batches))).results()


def _batches(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Neighbouring files together; small batches, so that no process works on long after the others are done."""
    batches: list[list[SourceFile]] = []
    size = _BATCH_BYTES
    for file in files:
        if size >= _BATCH_BYTES or len(batches[-1]) >= _BATCH_FILES:
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += file.size
    return batches


def _parse_here(root: Path, files: Sequence[SourceFile]) -> Iterator[Parsed]:
    with Jail(root) as jail:
        for file in files:
            yield parse_file(jail, file.path, file.language)


class _Pool:
    """Threads that each keep a process busy, and the results that wait to be taken."""

    def __init__(self, root: Path, batches: Sequence[Sequence[SourceFile]], size: int) -> None:
        self._root = root
        self._waiting: queue.SimpleQueue[Sequence[SourceFile]] = queue.SimpleQueue()
        for batch in batches:
            self._waiting.put(batch)
        # Bounded: records that nobody has stored yet would fill the memory.
        self._results: queue.Queue[Parsed | None] = queue.Queue(maxsize=256)
        self._ended = threading.Event()
        #: Since when each process is at its file.
        self._busy: dict[subprocess.Popen[bytes], float] = {}
        self._threads = [threading.Thread(target=self._keep_busy, daemon=True) for _ in range(size)]

    def results(self) -> Iterator[Parsed]:
        for thread in self._threads:
            thread.start()
        left = len(self._threads)
        try:
            while left:
                try:
                    parsed = self._results.get(timeout=_WATCH_EVERY_S)
                except queue.Empty:
                    self._end_hanging()
                    continue
                if parsed is None:
                    left -= 1
                else:
                    yield parsed
        finally:
            self._ended.set()
            for process in tuple(self._busy):
                process.kill()
            while any(thread.is_alive() for thread in self._threads):
                try:
                    self._results.get(timeout=0.05)
                except queue.Empty:
                    continue

    def _end_hanging(self) -> None:
        now = time.monotonic()
        for process, since in tuple(self._busy.items()):
            if now - since > _FILE_TIMEOUT_S:
                process.kill()

    def _keep_busy(self) -> None:
        worker: _Worker | None = None
        try:
            while not self._ended.is_set():
                try:
                    batch = self._waiting.get_nowait()
                except queue.Empty:
                    return
                while batch and not self._ended.is_set():
                    worker = worker or _start(self._root)
                    if worker is None:
                        # Slower, and a grammar's fault would be ours, but it works.
                        for parsed in _parse_here(self._root, batch):
                            self._results.put(parsed)
                            if self._ended.is_set():
                                break
                        break
                    done = self._give(worker, batch)
                    if done < len(batch):
                        _end(worker)
                        worker = None
                        self._results.put((batch[done].path, "", "its parser ended or hung on it"))
                        done += 1
                    batch = batch[done:]
        finally:
            if worker is not None:
                _end(worker)
            self._results.put(None)

    def _give(self, worker: _Worker, batch: Sequence[SourceFile]) -> int:
        """Have a batch parsed; how many of its files were answered before the process ended, if it did."""
        process, pipe = worker
        done = 0
        try:
            pipe.send([(file.path, file.language) for file in batch])
            for _ in batch:
                self._busy[process] = time.monotonic()
                self._results.put(pipe.recv())
                done += 1
        except (OSError, EOFError):
            return done
        finally:
            self._busy.pop(process, None)
        return done


def _start(root: Path) -> _Worker | None:
    """A process that is ready; None where none can be started, or where it is no Python that starts."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    ours, theirs = Pipe()
    with theirs:
        try:
            process = subprocess.Popen(
                # -P: the current folder may be the tree itself, and its modules are not ours to run.
                [
                    sys.executable,
                    "-P",
                    "-s",
                    "-m",
                    "recollect.codebase.worker",
                    str(root),
                    str(theirs.fileno()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    **kept,
                    "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONUTF8": "1",
                },
            )
        except OSError:
            ours.close()
            return None
    with suppress(OSError, EOFError):
        if ours.recv() == READY:
            return process, ours
    _end((process, ours))
    return None


def _end(worker: _Worker) -> None:
    process, pipe = worker
    process.kill()
    pipe.close()
    process.wait()
