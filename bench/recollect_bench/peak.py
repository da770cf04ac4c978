"""How much memory something takes at its peak: this process, and the database server beside it.

Read from /proc a few times a second. Pages that the server's processes share count once (proportional set size); where
there is no /proc, this process alone is known, from the operating system's own account.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_EVERY_S = 0.25
_PROC = Path("/proc")


@dataclass(slots=True)
class Peak:
    """The most that was seen, in megabytes: both together at one moment, and each by itself."""

    together_mb: float = 0.0
    process_mb: float = 0.0
    server_mb: float = 0.0

    def see(self, process_mb: float, server_mb: float) -> None:
        """One look."""
        self.together_mb = max(self.together_mb, process_mb + server_mb)
        self.process_mb = max(self.process_mb, process_mb)
        self.server_mb = max(self.server_mb, server_mb)


@contextmanager
def watch_memory(server_pid: int | None) -> Iterator[Peak]:
    """Watch while the block runs."""
    peak = Peak()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_EVERY_S):
            peak.see(_pss_mb("self"), sum(map(_pss_mb, _family(server_pid))))

    watcher = threading.Thread(target=look, name="memory", daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()
        if not peak.process_mb:
            peak.see(_own_peak_mb(), 0.0)


def _family(pid: int | None) -> list[str]:
    """The server and the processes it has started."""
    if pid is None or not _PROC.is_dir():
        return []
    try:
        threads = (_PROC / str(pid) / "task").iterdir()
        children = [child for one in threads for child in (one / "children").read_text().split()]
    except OSError:
        return []
    return [str(pid), *children]


def family_mb(pid: int) -> float:
    """What a process and those it has started hold at this moment; 0 where there is no /proc."""
    return sum(map(_pss_mb, _family(pid)))


def _pss_mb(pid: str) -> float:
    try:
        lines = (_PROC / pid / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def _own_peak_mb() -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 1024
