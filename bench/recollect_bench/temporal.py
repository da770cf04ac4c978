"""Time phrases: texts with the moment they were written at, and the ranges that count as read rightly.

Every `cases*.json` in the folder is measured: a list of `text`, `now` and `accept`, a list of readings as two dates,
None for an open side. A reading is met when the start is the same day and the end is within one day of it, for some
ends name the last day and others the day after. No store is involved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.domain.query import TimeRange
from recollect.errors import InvalidInputError
from recollect.text.times import extract_temporal_scope
from recollect_bench.questions import ALL, latency
from recollect_bench.result import Bar, Result, describe_environment, fingerprint, read_json

if TYPE_CHECKING:
    from recollect_bench.show import Show

#: The share of all cases to reach.
WANTED = 0.75
_DAY = timedelta(days=1)


def run_temporal(folder: Path, *, show: Show) -> Result:
    """Read every text, compare, count by kind."""
    environment = describe_environment()
    files, cases = read_cases(folder)
    kinds: dict[str, list[bool]] = {ALL: []}
    took_ms, missed = [], []
    with show.stage("reading", len(cases)) as progress:
        for number, case in enumerate(cases, 1):
            started = time.perf_counter()
            found = extract_temporal_scope(case["text"], now=case["now"])
            took_ms.append((time.perf_counter() - started) * 1000)
            right = any(is_met(found, reading) for reading in case["accept"])
            for kind in (ALL, case["kind"]):
                kinds.setdefault(kind, []).append(right)
            if not right:
                missed.append(case["id"])
            progress(number, None)
    accuracy = {
        kind: {"cases": len(rights), "right": sum(rights) / len(rights)} for kind, rights in kinds.items()
    }
    return Result(
        bench="temporal",
        arguments={"data": fingerprint(*files)},
        measures={"accuracy": accuracy, "reading_ms": latency(took_ms), "missed": missed},
        bars=[Bar(name="time phrases read rightly", value=accuracy[ALL]["right"], bar=WANTED)],
        environment=environment,
    )


def is_met(found: TimeRange | None, reading: Sequence[date | None]) -> bool:
    """Whether a range is the one wanted."""
    if found is None:
        return False
    start, end = reading
    if (found.start is None) != (start is None) or (found.end is None) != (end is None):
        return False
    if found.start is not None and found.start.date() != start:
        return False
    if found.end is None or end is None:
        return True
    return abs(found.end - datetime(end.year, end.month, end.day, tzinfo=UTC)) <= _DAY


def read_cases(folder: Path) -> tuple[list[Path], list[Mapping[str, Any]]]:
    """The files of a folder and the cases in them; a file is taken for itself."""
    files = [folder] if folder.is_file() else sorted(folder.glob("cases*.json"))
    if not files:
        raise InvalidInputError(
            f"there is no 'cases*.json' in {str(folder)!r}; pass the folder that has them"
        )
    return files, [case for file in files for case in _read_file(file)]


def _read_file(file: Path) -> list[Mapping[str, Any]]:
    document = read_json(file, what="data")
    try:
        return [_case(number, case) for number, case in enumerate(document)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"{file.name!r} has not the shape this benchmark reads: {error!r}") from error


def _case(number: int, case: Mapping[str, Any]) -> Mapping[str, Any]:
    now = datetime.fromisoformat(case["now"])
    name = str(case.get("id", number))
    return {
        "id": name,
        # "DatePeriodParser-12" is a case about periods.
        "kind": str(case.get("kind") or (name.rpartition("-")[0] or "other").removesuffix("Parser")),
        "text": case["text"],
        "now": now if now.tzinfo else now.replace(tzinfo=UTC),
        "accept": [tuple(day and date.fromisoformat(day) for day in reading) for reading in case["accept"]],
    }
