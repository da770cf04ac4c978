"""bench/RELIABILITY.md out of what the examinations have written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.reliability.deletion import WAYS
from tests.reliability.faults import BY_NAME, KINDS, newest
from tests.reliability.files import CASES
from tests.reliability.races import PAIRS
from tests.reliability.results import FOLDER, kept

from recollect.client.verbs import VERBS

HEAD = """# What was tried to break the store, and what came of it

Written by `python -m tests.reliability page` from the files in [results/reliability](results/reliability) and
[results/poisoning.json](results/poisoning.json); each row says which command measured it. Short forms of all of these
run with the system tests. What is promised, and what is not, is in [SECURITY.md](../SECURITY.md).

| examination | command | dates | counts | to reach | violations |
|---|---|---|---|---|---|
"""
NOT_YET = """
## What is not examined

Faults of files are tried below the home and beside it, not in the files of Python and its packages. Vector indexes are
not compared with their tables: they answer by likeness. In a recording for loss of power the creation of the store is
not included, only what the server does afterwards.
"""
Lines = list[dict[str, Any]]


def _sum(lines: Lines, name: str) -> int:
    return sum(line[name] for line in lines)


def _crash(lines: Lines) -> tuple[str, bool]:
    rounds, lost, late = _sum(lines, "rounds"), _sum(lines, "lost"), sum(len(line["late"]) for line in lines)
    slowest = max(line["slowest_s"] for line in lines)
    loads = [line["load"] for line in lines if "load" in line]
    busy = f" (load of the machine up to {max(loads):g})" if loads else ""
    counts = (
        f"{rounds:,} rounds, {lost} of {_sum(lines, 'acknowledged'):,} acknowledged memories lost,"
        f" {_sum(lines, 'broken'):,} calls under way broke off; it answered again after {slowest:g} s at most,"
        f" in {late} rounds later than 10 s{busy}; every index was compared with its table after each 50 rounds"
    )
    return counts, rounds >= 1_000 and not lost and not late


def _faults(lines: Lines) -> tuple[str, bool]:
    parts = newest(lines)
    missing = {
        verb.name for verb in VERBS for kind in KINDS if parts.get((verb.name, kind), {}).get("stride") != 1
    }
    lines = list({id(line): line for line in parts.values()}.values())
    counts = (
        f"{_sum(lines, 'faults'):,} faults of {len(KINDS)} kinds; every position of {len(BY_NAME) - len(missing)} of"
        f" {len(BY_NAME)} verbs; {_sum(lines, 'answered'):,} were answered all the same"
    )
    return counts, not missing


def _files(lines: Lines) -> tuple[str, bool]:
    close = {line["case"] for line in lines if line["stride"] == 1} & set(CASES)
    counts = (
        f"{_sum(lines, 'faults'):,} faults of {lines[0]['kinds']} kinds; every position of {len(close)} of"
        f" {len(CASES)} calls that work with files or processes; {_sum(lines, 'answered'):,} were answered all the same"
    )
    return counts, close >= set(CASES)


def _fuzz(lines: Lines) -> tuple[str, bool]:
    calls, functions = _sum(lines, "calls"), len({line["call"] for line in lines})
    return f"{calls:,} calls of {functions} functions with right and wrong values", calls >= 100_000


def _histories(lines: Lines) -> tuple[str, bool]:
    by_kind: Counter[str] = Counter()
    for line in lines:
        by_kind[line["kind"]] += line["operations"]
    told = ", ".join(f"{kind} {count:,}" for kind, count in by_kind.items())
    counts = f"operations: {told}; {_sum(lines, 'unanswered'):,} of them without an answer"
    return counts, min(by_kind.values()) >= 10_000


def _races(lines: Lines) -> tuple[str, bool]:
    counts = f"{_sum(lines, 'orders'):,} orders of steps of {len(lines)} of {len(PAIRS)} pairs"
    return counts, {line["pair"] for line in lines} >= set(PAIRS)


def _power(lines: Lines) -> tuple[str, bool]:
    counts = (
        f"{_sum(lines, 'losses'):,} losses of power at moments of {len(lines)} recordings with"
        f" {_sum(lines, 'calls'):,} calls on files and {_sum(lines, 'acknowledged'):,} acknowledged changes"
    )
    return counts, True


def _soak(lines: Lines) -> tuple[str, bool]:
    last = lines[-1]
    grown = ", ".join(f"{name} {by:g}" for name, by in last["grown"].items())
    counts = f"{last['calls']:,} calls in {last['seconds']:,} s; last quarter against the second: {grown}"
    return counts, last["seconds"] >= 3_600


def _deletion(lines: Lines) -> tuple[str, bool]:
    told = ", ".join(f"{line['way']} {line['places']} places before, {line['left']} after" for line in lines)
    return told, {line["way"] for line in lines} >= set(WAYS)


#: By name of the examination: what it is, what is to be reached, by which field newer lines replace older ones.
ROWS: Mapping[str, tuple[str, str, str, Callable[[Lines], tuple[str, bool]]]] = {
    "crash": (
        "the database is killed under writers", "1,000 rounds, 0 lost, back within 10 s in each", "", _crash,
    ),
    "faults": ("a fault at the n-th exchange with the database", "every position of every verb", "verb kind", _faults),
    "files": (
        "a call on a file, or the begin of a process, that fails at the n-th step", "every position", "case", _files,
    ),
    "histories": (
        "several processes change the same memories while processes are paused, killed, clocks jump",
        "10,000 operations per kind of fault", "", _histories,
    ),
    "races": (
        "two callers, one stopped at each of its exchanges with the database while the other works",
        "delete and search, supersede and update, forget and add, reembed and delete, migrate and an older process",
        "pair", _races,
    ),
    "power": (
        "the power is lost: writes after the last sync are dropped, or torn",
        "nothing acknowledged is lost, every index leads to its rows", "", _power,
    ),
    "deletion": (
        "a marker that every feature has seen is deleted", "0 places left, or named in the receipt", "way", _deletion,
    ),
    "soak": ("ordinary work of a client and a server", "an hour, memory and handles flat", "", _soak),
    "fuzz": ("anything as an argument", "100,000 calls, every exception one of ours", "", _fuzz),
}  # fmt: skip


def write_page() -> None:
    """Write the page from every result that is there."""
    text = [HEAD]
    for name, (title, wanted, by, row) in ROWS.items():
        lines = kept(name, by)
        if not lines:
            text.append(f"| {title} | `python -m tests.reliability {name}` | | not run yet | {wanted} | |\n")
            continue
        counts, reached = row(lines)
        wrong = [one for line in lines for one in line["violations"]]
        bar = f"{wanted}: {'reached' if reached and not wrong else 'not reached yet'}"
        text.append(
            f"| {title} | `python -m tests.reliability {name}` | {_dates(lines)} | {counts} | {bar}"
            f" | {'; '.join(wrong) or 0} |\n"
        )
    attacks = json.loads((FOLDER.parent / "poisoning.json").read_text(encoding="utf-8"))["measures"]
    kinds = {kind: row for kind, row in attacks.items() if "effects" in row}
    made, taken = (sum(row[what] for row in kinds.values()) for what in ("attacks", "effects"))
    counts = f"{made} attacks of {len(kinds)} kinds: {', '.join(kinds)}"
    text.append(
        f"| stored text that means harm | `recollect bench poisoning` | see [RESULTS.md](RESULTS.md) | {counts}"
        f" | 0 take effect | {taken} |\n"
    )
    (FOLDER.parent.parent / "RELIABILITY.md").write_text("".join(text) + NOT_YET, encoding="utf-8")


def _dates(lines: Iterable[Mapping[str, Any]]) -> str:
    dates = sorted({line["date"] for line in lines})
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
