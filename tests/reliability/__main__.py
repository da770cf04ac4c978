"""Long examinations, by command: `python -m tests.reliability faults`; `page` writes bench/RELIABILITY.md from them.

Each writes what it found to bench/results/reliability/, with the date and the counts; nothing there is written by hand.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from tests.conftest import NOSYNC
from tests.reliability import faults
from tests.reliability.page import write_page
from tests.surfaces.test_fuzzed_calls import CALLS, arguments, found, refuses_or_answers

from recollect import Recollect, Settings, TenantContext
from recollect.storage.embedded import ensure_running, temporary_home

RESULTS = Path("bench/results/reliability")
CRASHES = re.compile(
    r"(?P<rounds>\d+) rounds of kill -9 under (?P<writers>\d+) writers: (?P<lost>\d+) of (?P<acknowledged>\d+)"
    r" .* lost, (?P<broken>\d+) calls .* after (?P<median_s>[\d.]+) s, (?P<slowest_s>[\d.]+) s at most"
)


@contextmanager
def open_store() -> Iterator[tuple[Recollect, Settings]]:
    """A store that waits for no disk, gone afterwards."""
    with temporary_home() as home:
        ensure_running(home, sync=False, settings=NOSYNC)
        settings = Settings(home=home, embedder="wordllama")
        with Recollect(settings=settings) as store:
            yield store, settings


def examine_faults(options: argparse.Namespace) -> dict[str, Any]:
    """Every kind of fault at every position of every verb."""
    verbs = [faults.BY_NAME[name] for name in options.only or faults.BY_NAME]
    with open_store() as (store, settings), tempfile.TemporaryDirectory() as folder:
        tally = faults.examine(store, settings, Path(folder), verbs=verbs, stride=options.stride, tell=print)
    return {"kinds": len(faults.KINDS), "stride": options.stride, **asdict(tally)}


def examine_calls(options: argparse.Namespace) -> dict[str, Any]:
    """Every public call with right and wrong values: it answers or raises one of our errors."""
    calls, violations = 0, []

    def examine(client: Recollect, call: str) -> None:
        @hypothesis_settings(
            max_examples=options.examples,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(arguments(found(call)))
        def attempt(values: dict[str, Any]) -> None:
            nonlocal calls
            calls += 1
            refuses_or_answers(client, call, values)

        attempt()

    with open_store() as (store, _), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for call in CALLS:
            tenant = f"fuzz-{call.replace('.', '-')}"
            store.tenants.create(tenant)
            context = TenantContext(tenant_id=tenant, user_id="ana", roles=("admin", "operator"))
            try:
                examine(store.for_context(context), call)
            except Exception as error:
                violations.append(f"{call}: {error!r}")
            print(f"{call}: {calls} calls so far; {violations or 'no violation'}")
    return {"functions": len(CALLS), "calls": calls, "violations": violations}


def examine_crashes(options: argparse.Namespace) -> dict[str, Any]:
    """`recollect doctor --crash`, or what runs of it have written already."""
    command = ["recollect", "doctor", "--crash", "--rounds", str(options.rounds), "--json"]
    texts = [Path(file).read_text(encoding="utf-8") for file in options.read]
    if not texts:
        with temporary_home() as home:
            environment = {**os.environ, "RECOLLECT_HOME": str(home)}
            run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
            texts = [run.stdout]
    details = [
        check["detail"]
        for line in "".join(texts).splitlines()
        for check in json.loads(line)["checks"]
        if check["name"] == "crash"
    ]
    runs = [match.groupdict() for match in map(CRASHES.match, details) if match]
    sums = {
        name: sum(int(run[name]) for run in runs) for name in ("rounds", "lost", "acknowledged", "broken")
    }
    return {
        "runs": len(runs),
        **sums,
        "slowest_s": max(float(run["slowest_s"]) for run in runs),
        "violations": [detail for detail, run in zip(details, runs, strict=True) if run["lost"] != "0"],
    }


EXAMINATIONS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "crash": examine_crashes,
    "faults": examine_faults,
    "fuzz": examine_calls,
}


def main() -> int:
    """Run one examination and keep what it found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("examination", choices=[*EXAMINATIONS, "page"])
    parser.add_argument("--part", default="", help="keep the result beside that of other parts")
    parser.add_argument("--stride", type=int, default=1, help="faults: try every so manieth position only")
    parser.add_argument("--only", nargs="*", help="faults: these verbs alone")
    parser.add_argument("--examples", type=int, default=1_000, help="fuzz: so many calls of each function")
    parser.add_argument("--rounds", type=int, default=1_000, help="crash: how often the database is killed")
    parser.add_argument(
        "--read", nargs="*", default=[], help="crash: outputs of `recollect doctor --crash --json`"
    )
    options = parser.parse_args()
    # What is tried again is said at every fault.
    logging.getLogger("recollect").setLevel(logging.ERROR)
    results = RESULTS.resolve()
    if options.examination == "page":
        write_page(results, results.parent.parent / "RELIABILITY.md")
        return 0
    outcome = EXAMINATIONS[options.examination](options)
    results.mkdir(parents=True, exist_ok=True)
    document = {"date": datetime.now(UTC).date().isoformat(), **outcome}
    file = results / f"{options.examination}{options.part and f'-{options.part}'}.json"
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document, indent=1))
    return 1 if outcome["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
