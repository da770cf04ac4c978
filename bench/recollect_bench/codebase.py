"""How a large source tree is mapped, explored and searched: time, memory, and ripgrep on the same tree.

The tree is made up (`codetree.py`), or one of yours. Cold is a home without an index; warm is the same tree again.
Explorations run without a model, each from the folder to the checked answer. Memory is what this process and those it
started hold at the same moment, shared pages counted for each of them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect_bench.codetree import make_tree
from recollect_bench.result import Bar, Result, describe_environment

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect_bench.show import Show

#: Patterns to search with: a rare name, a word with something behind it, a class of names, either case, two words.
PATTERNS = (
    "retryExternal",
    r"return \w+;$",
    r"reconcile_\w+_(ledger|invoice)",
    "(?i)URGENT",
    r"so that a \w+ order",
)
_LOOK_EVERY_S = 0.05
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure: a made-up tree of so many lines, or a folder."""

    lines: int = 1_000_000
    queries: int = 10
    seed: int = 7
    tree: Path | None = None
    #: Each pattern is searched for so many times; the median counts.
    repeat: int = 5


def run_codebase(plan: Plan, *, show: Show) -> Result:
    """Map, explore and search."""
    environment = describe_environment()
    with tempfile.TemporaryDirectory(prefix="recollect-codebase-") as folder:
        place = Path(folder)
        root, questions = _tree(plan, place, show)
        measures, bars = _measure(root, questions, place / "home", plan.repeat, show)
    arguments = {
        "lines": plan.lines,
        "queries": plan.queries,
        "seed": plan.seed,
        "made_up": plan.tree is None,
    }
    return Result(
        bench="codebase", arguments=arguments, measures=measures, bars=bars, environment=environment
    )


def _tree(plan: Plan, place: Path, show: Show) -> tuple[Path, list[tuple[str, str]]]:
    """The tree, and questions with the path that answers each ("" when that is not known)."""
    if plan.tree is not None:
        if not plan.tree.is_dir():
            raise InvalidInputError(f"--tree {str(plan.tree)!r} is not a folder")
        asked = ["Where are errors handled?", "How is the configuration read?", "Which code writes files?"]
        return plan.tree, [(asked[number % len(asked)], "") for number in range(plan.queries)]
    show.say(f"making a tree of {plan.lines:,} lines")
    made = make_tree(place / "tree", lines=plan.lines, seed=plan.seed, questions=plan.queries)
    return place / "tree", list(made.questions)


def _measure(
    root: Path, questions: Sequence[tuple[str, str]], home: Path, repeat: int, show: Show
) -> tuple[dict[str, Any], list[Bar]]:
    with _watch() as cold_peak:
        cold = _map(root, home, show)
    changed = _change_one(root, home)
    with _watch() as warm_peak:
        times, found = _explore(root, questions, home, show)
    searches = _search(root, repeat, show)
    # None when ripgrep is not installed.
    ratios = [one["ours_s"] / one["ripgrep_s"] for one in searches if one["ripgrep_s"]]
    measures: dict[str, Any] = {
        "files": cold["files"],
        "lines": cold["lines"],
        "definitions": cold["definitions"],
        "edges": cold["edges"],
        "cold": {"map_s": cold["seconds"], "peak_mb": cold_peak[0]},
        "one_file_changed": changed,
        "warm": {
            "explore_s": {"median": statistics.median(times), "worst": max(times), "all": times},
            "answered_by_the_right_file": found,
            "peak_mb": warm_peak[0],
        },
        "grep": searches,
        "grep_ratio": {"median": statistics.median(ratios), "worst": max(ratios)} if ratios else None,
    }
    bars = [
        Bar(name="cold map, s", value=cold["seconds"], bar=60.0, at_most=True),
        Bar(name="warm exploration, worst, s", value=max(times), bar=2.0, at_most=True),
        Bar(name="memory at the peak, MB", value=max(cold_peak[0], warm_peak[0]), bar=1000.0, at_most=True),
    ]
    if ratios:
        bars.append(Bar(name="grep / ripgrep, worst pattern", value=max(ratios), bar=5.0, at_most=True))
    return measures, bars


def _map(root: Path, home: Path, show: Show) -> dict[str, Any]:
    """Index a tree nobody has seen, and draw its map."""
    from recollect.codebase.index import CodeIndex
    from recollect.codebase.outline import draw
    from recollect.codebase.tree import open_tree

    begun = time.perf_counter()
    tree = open_tree(root)
    with show.stage("mapping the tree", len(tree.files())) as progress:
        index = CodeIndex.open(tree, _store(home), progress=progress)
    with index:
        draw(index)
        seconds = time.perf_counter() - begun
        return {
            "seconds": seconds,
            "files": len(index.files),
            "lines": index.lines,
            "definitions": len(index.definition_files),
            "edges": len(index.graph.sources),
        }


def _change_one(root: Path, home: Path) -> dict[str, Any]:
    """Open the index again after one file has changed; the file is put back afterwards."""
    from recollect.codebase.index import CodeIndex
    from recollect.codebase.tree import open_tree

    if root.parent != home.parent:
        # Not our tree: nothing in it is touched.
        return {}
    file = root / open_tree(root).files()[0].path
    before = file.read_bytes()
    file.write_bytes(before + b"\n\n")
    begun = time.perf_counter()
    with CodeIndex.open(open_tree(root), _store(home)) as index:
        seconds = time.perf_counter() - begun
        parsed = index.refreshed.parsed
    file.write_bytes(before)
    CodeIndex.open(open_tree(root), _store(home)).close()
    return {"seconds": seconds, "parsed": parsed}


def _explore(
    root: Path, questions: Sequence[tuple[str, str]], home: Path, show: Show
) -> tuple[list[float], float | None]:
    """Seconds of each exploration, from nothing but the folder and the index; and how many named the right file."""
    from recollect.codebase.explore import RLMOrchestrator

    times: list[float] = []
    right: list[bool] = []
    with show.stage("exploring", len(questions)) as progress:
        for number, (question, path) in enumerate(questions):
            begun = time.perf_counter()
            # A new one each time: nothing is left in its cache.
            orchestrator = RLMOrchestrator(root, settings=_settings(home), audit_dir=home / "audit")
            result = asyncio.run(orchestrator.explore(f"bench-{number}", question))
            times.append(time.perf_counter() - begun)
            cited = [citation.file_path for citation in result.citations]
            right += [path in cited] if path else []
            progress(number + 1, len(questions))
    return times, sum(right) / len(right) if right else None


def _settings(home: Path) -> Settings:
    from recollect.config import Settings

    # Nothing of the caller's environment: there is no model here.
    return Settings.load(home=home, environ={}, cwd=home)


def _store(home: Path) -> Path:
    return home / "cache" / "codebase"


# ---------------------------------------------------------------- search


def _search(root: Path, repeat: int, show: Show) -> list[dict[str, Any]]:
    """Each pattern with our search and with ripgrep in turns; the median of each, walking the tree included in both."""
    from recollect.codebase.grep import MAX_MATCHES, grep
    from recollect.codebase.tree import open_tree

    program = _ripgrep()
    rows = []
    with show.stage("searching", len(PATTERNS)) as progress:
        for number, pattern in enumerate(PATTERNS):
            ours: list[float] = []
            theirs: list[float] = []
            matches = lines = 0
            for _ in range(repeat):
                begun = time.perf_counter()
                found = grep(open_tree(root), pattern, limit=MAX_MATCHES, context_lines=0)
                ours.append(time.perf_counter() - begun)
                matches = len(found.matches)
                if program is not None:
                    begun = time.perf_counter()
                    lines = _ripgrep_lines(program, pattern, root)
                    theirs.append(time.perf_counter() - begun)
            rows.append(
                {
                    "pattern": pattern,
                    "ours_s": statistics.median(ours),
                    "ripgrep_s": statistics.median(theirs) if theirs else None,
                    "matches": matches,
                    "ripgrep_matches": lines,
                }
            )
            progress(number + 1, len(PATTERNS))
    return rows


def _ripgrep() -> str | None:
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.exists() else shutil.which("rg")


def _ripgrep_lines(program: str, pattern: str, root: Path) -> int:
    command = [program, "--no-config", "--line-number", "--no-heading", "--regexp", pattern, str(root)]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout.count(b"\n")


# ---------------------------------------------------------------- memory


@contextmanager
def _watch() -> Iterator[list[float]]:
    """The most that this process and those it started held together, in megabytes."""
    peak = [_together_mb()]
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            peak[0] = max(peak[0], _together_mb())

    watcher = threading.Thread(target=look, name="memory", daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()
        peak[0] = max(peak[0], _together_mb())


def _together_mb() -> float:
    """Resident memory of this process and its children; of this one alone where there is no /proc."""
    if not _PROC.is_dir():
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (2**20 if sys.platform == "darwin" else 1024)
    return sum(map(_resident_mb, _family(os.getpid())))


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            tasks = list((_PROC / str(one) / "task").iterdir())
        except OSError:
            continue
        for task in tasks:
            try:
                found += [int(child) for child in (task / "children").read_text().split()]
            except (OSError, ValueError):
                continue
    return found


def _resident_mb(pid: int) -> float:
    try:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
