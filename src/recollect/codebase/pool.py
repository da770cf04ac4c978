"""Parsing many files in processes of their own, as many as there are cores.

One thread keeps one process busy and takes its answers. A process that dies or hangs costs the file it was at, which
gets a note, and another takes its place. They are started as programs, not forked: the caller may have threads, and
need not guard its main module.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from recollect.codebase.records import FileRecord
from recollect.codebase.tree import SourceFile
from recollect.codebase.worker import READY, answer, read_frame, unpack_frame, write_frame
from recollect.files.jail import Jail
from recollect.providers.runtime import usable_cores

#: Less than this is parsed here: starting processes would take longer.
_FEW_BYTES = 400_000
_BATCH_BYTES = 200_000
_BATCH_FILES = 50
#: One file may keep its process so long, on a machine that has other work as well.
_FILE_TIMEOUT_S = 120.0
_WATCH_EVERY_S = 1.0
#: Of the parent's environment a parser needs only what finds libraries.
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "LANG")

#: A path, its content's hash, its record; or a path, nothing, and why there is no record.
Parsed = tuple[str, str, FileRecord | str]


def parse_files(
    root: Path, files: Sequence[SourceFile], *, workers: int | None = None
) -> Generator[Parsed, None, None]:
    """Parse files in no particular order. Ending the iteration early ends the processes."""
    wanted = usable_cores() if workers is None else workers
    size = sum(file.size for file in files)
    if wanted <= 1 or size < _FEW_BYTES:
        with Jail(root) as jail:
            for file in files:
                yield _parsed(answer(jail, file.path, file.language)[4:])
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


def _parsed(body: bytes) -> Parsed:
    head, record = unpack_frame(body)
    return (head["path"], head["sha256"], record) if record is not None else (head["path"], "", head["why"])


class _Pool:
    """Threads that each keep one process busy, and what they have found."""

    def __init__(self, root: Path, batches: Sequence[Sequence[SourceFile]], size: int) -> None:
        self._root = root
        self._waiting: queue.SimpleQueue[Sequence[SourceFile]] = queue.SimpleQueue()
        for batch in batches:
            self._waiting.put(batch)
        # Bounded: records that nobody has stored yet would fill the memory.
        self._found: queue.Queue[Parsed | None] = queue.Queue(maxsize=256)
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
                    found = self._found.get(timeout=_WATCH_EVERY_S)
                except queue.Empty:
                    self._end_hanging()
                    continue
                if found is None:
                    left -= 1
                else:
                    yield found
        finally:
            self._ended.set()
            for process in tuple(self._busy):
                process.kill()
            while any(thread.is_alive() for thread in self._threads):
                try:
                    self._found.get(timeout=0.05)
                except queue.Empty:
                    continue

    def _end_hanging(self) -> None:
        now = time.monotonic()
        for process, since in tuple(self._busy.items()):
            if now - since > _FILE_TIMEOUT_S:
                process.kill()

    def _keep_busy(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        try:
            while not self._ended.is_set():
                try:
                    batch = self._waiting.get_nowait()
                except queue.Empty:
                    return
                while batch and not self._ended.is_set():
                    if process is None:
                        process = _start(self._root)
                    if process is None:
                        self._parse_here(batch)
                        break
                    done = self._give(process, batch)
                    if done < len(batch):
                        _end(process)
                        process = None
                        self._found.put((batch[done].path, "", "its parser ended or hung on it"))
                        done += 1
                    batch = batch[done:]
        finally:
            if process is not None:
                _end(process)
            self._found.put(None)

    def _parse_here(self, batch: Sequence[SourceFile]) -> None:
        """Where no process can be started: slower, and a grammar's fault would be ours, but it works."""
        with Jail(self._root) as jail:
            for file in batch:
                if not self._ended.is_set():
                    self._found.put(_parsed(answer(jail, file.path, file.language)[4:]))

    def _give(self, process: subprocess.Popen[bytes], batch: Sequence[SourceFile]) -> int:
        """Have a batch parsed; how many of its files were answered before the process ended, if it did."""
        assert process.stdin is not None
        assert process.stdout is not None
        done = 0
        try:
            write_frame(process.stdin, json.dumps([[file.path, file.language] for file in batch]).encode())
            for _ in batch:
                self._busy[process] = time.monotonic()
                body = read_frame(process.stdout)
                if body is None:
                    return done
                self._found.put(_parsed(body))
                done += 1
        except (OSError, ValueError):
            return done
        finally:
            self._busy.pop(process, None)
        return done


def _start(root: Path) -> subprocess.Popen[bytes] | None:
    """A process that is ready; None where none can be started, or where it is no Python that starts."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        process = subprocess.Popen(
            # -P: the current folder may be the tree itself, and its modules are not ours to run.
            [sys.executable, "-P", "-s", "-m", "recollect.codebase.worker", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **kept,
                "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONUTF8": "1",
            },
        )
    except OSError:
        return None
    assert process.stdout is not None
    if read_frame(process.stdout) == READY:
        return process
    _end(process)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue
    process.wait()
