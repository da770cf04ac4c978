"""Long examinations, by command: `python -m tests.reliability faults`; `page` writes bench/RELIABILITY.md from them.

Each writes what it found to bench/results/reliability/, with the date and the counts; nothing is written by hand.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.conftest import NOSYNC
from tests.reliability import faults

from recollect import Recollect, Settings
from recollect.storage.embedded import ensure_running, temporary_home
from recollect.verbs import VERBS

RESULTS = Path("bench/results/reliability")


def examine_faults(options: argparse.Namespace) -> dict[str, Any]:
    """Every kind of fault at every position of every verb."""
    verbs = [verb for verb in VERBS if not options.only or verb.name in options.only]
    with temporary_home() as home, tempfile.TemporaryDirectory() as folder:
        ensure_running(home, sync=False, settings=NOSYNC)
        settings = Settings(home=home, embedder="wordllama")
        with Recollect(settings=settings) as store:
            tally = faults.examine(
                store, settings, Path(folder), verbs=verbs, stride=options.stride, tell=print
            )
    return {"kinds": len(faults.KINDS), "stride": options.stride, **asdict(tally)}


EXAMINATIONS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {"faults": examine_faults}


def main() -> int:
    """Run one examination and keep what it found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("examination", choices=sorted(EXAMINATIONS))
    parser.add_argument("--stride", type=int, default=1, help="try every so manieth position only")
    parser.add_argument("--only", nargs="*", help="these verbs alone")
    options = parser.parse_args()
    # What is tried again is said at every fault.
    logging.getLogger("recollect").setLevel(logging.ERROR)
    found = EXAMINATIONS[options.examination](options)
    RESULTS.mkdir(parents=True, exist_ok=True)
    document = {"date": datetime.now(UTC).date().isoformat(), **found}
    (RESULTS / f"{options.examination}.json").write_text(
        json.dumps(document, indent=1) + "\n", encoding="utf-8"
    )
    print(json.dumps(document, indent=1))
    return 1 if found.get("violations") else 0


if __name__ == "__main__":
    sys.exit(main())
