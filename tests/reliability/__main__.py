"""Long examinations, by command: `python -m tests.reliability faults`; `page` writes bench/RELIABILITY.md from them.

Each goes on where its last run ended and adds what it finds to bench/results/reliability/, line by line.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import time

from tests.reliability import results

#: Each is a module with `slices`, which yields what one part of the examination found.
EXAMINATIONS = ("crash", "deletion", "faults", "files", "fuzz", "histories", "power", "races", "soak")


def main() -> int:
    """Run one examination and keep what it found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("examination", choices=[*EXAMINATIONS, "page"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no part after so long")
    parser.add_argument("--only", nargs="*", default=[], help="these verbs, functions or kinds alone, again")
    parser.add_argument("--stride", type=int, default=1, help="faults: try every so manieth position only")
    parser.add_argument("--count", type=int, help="so many calls, rounds, operations or (soak) seconds")
    options = parser.parse_args()
    # What is tried again is said at every fault.
    logging.getLogger("recollect").setLevel(logging.ERROR)
    if options.examination == "page":
        from tests.reliability import page

        page.write_page()
        return 0
    began, wrong = time.monotonic(), False
    for document in importlib.import_module(f"tests.reliability.{options.examination}").slices(options):
        results.keep(options.examination, document)
        print(json.dumps(document), flush=True)
        wrong |= bool(document["violations"])
        if time.monotonic() - began > options.seconds:
            break
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
