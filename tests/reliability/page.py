"""bench/RELIABILITY.md out of what the examinations have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HEAD = """# What was tried to break the store, and what came of it

Written by `python -m tests.reliability page` from the files in [results/reliability](results/reliability) and
[results/poisoning.json](results/poisoning.json); each row says which command measured it. Short forms of all of these
run with the system tests. What is promised, and what is not, is in [SECURITY.md](../SECURITY.md).

| examination | command | date | counts | to reach | violations |
|---|---|---|---|---|---|
"""

NOT_YET = """
## What is not examined yet

Histories of several clients under pauses and clock jumps, scripted interleavings of two callers, loss of power (writes
after the last fsync), faults of files and processes, and an hour's soak. The server that comes with the package has no
`amcheck`, so indexes are not compared with their tables after crashes.
"""


def _bar(wanted: str, reached: bool) -> str:
    return f"{wanted}: {'reached' if reached else 'not reached yet'}"


def _crash(one: Mapping[str, Any]) -> tuple[str, str, str]:
    counts = (
        f"{one['rounds']:,} rounds in {one['runs']} runs, {one['lost']} of {one['acknowledged']:,} acknowledged"
        f" memories lost, {one['broken']:,} calls under way broke off, slowest answer after {one['slowest_s']:g} s"
    )
    reached = one["rounds"] >= 1_000 and not one["lost"] and one["slowest_s"] <= 10
    return (
        "recollect doctor --crash --rounds N",
        counts,
        _bar("1,000 rounds, 0 lost, back within 10 s", reached),
    )


def _faults(one: Mapping[str, Any]) -> tuple[str, str, str]:
    which = "every position" if one["stride"] == 1 else f"every {one['stride']}th position"
    counts = (
        f"{one['faults']:,} faults of {one['kinds']} kinds at {which} of {one['verbs']} verbs;"
        f" {one['answered']:,} were answered all the same"
    )
    wanted = _bar("every position of every verb", one["stride"] == 1 and not one["violations"])
    return f"python -m tests.reliability faults --stride {one['stride']}", counts, wanted


def _fuzz(one: Mapping[str, Any]) -> tuple[str, str, str]:
    counts = f"{one['calls']:,} calls of {one['functions']} functions with right and wrong values"
    wanted = _bar("100,000 calls, every exception one of ours", one["calls"] >= 100_000)
    return "python -m tests.reliability fuzz", counts, wanted


ROWS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], tuple[str, str, str]]]] = {
    "crash": ("the database is killed under writers", _crash),
    "faults": ("a fault at the n-th exchange with the database", _faults),
    "fuzz": ("anything as an argument", _fuzz),
}


def write_page(results: Path, target: Path) -> None:
    """Write the page from every result that is there."""
    lines = [HEAD]
    for name, (title, row) in ROWS.items():
        for file in sorted(results.glob(f"{name}*.json")):
            one = json.loads(file.read_text(encoding="utf-8"))
            command, counts, wanted = row(one)
            found = "; ".join(one["violations"]) or "0"
            lines.append(f"| {title} | `{command}` | {one['date']} | {counts} | {wanted} | {found} |\n")
    attacks = json.loads((results.parent / "poisoning.json").read_text(encoding="utf-8"))["measures"]
    kinds = {kind: row for kind, row in attacks.items() if "effects" in row}
    made, taken = (sum(row[what] for row in kinds.values()) for what in ("attacks", "effects"))
    counts = f"{made} attacks of {len(kinds)} kinds: {', '.join(kinds)}"
    lines.append(
        f"| stored text that means harm | `recollect bench poisoning` | see [RESULTS.md](RESULTS.md) | {counts}"
        f" | 0 take effect | {taken} |\n"
    )
    target.write_text("".join(lines) + NOT_YET, encoding="utf-8")
