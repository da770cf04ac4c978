"""What a fresh process costs: `recollect search` from nothing to an answer, and `import recollect`.

Every number is of processes that end afterwards; the model's graph and Python's bytecode are on the disk, as they are
from the second time on. The very first call, which makes the database and the graph, is measured too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import StoreError
from recollect.storage import embedded
from recollect_bench.result import Bar, Result, describe_environment

if TYPE_CHECKING:
    from recollect_bench.show import Show

FACT = "The billing service keeps its invoices in PostgreSQL."
QUESTION = "Where are the invoices kept?"
_TIMED_IMPORT = "import time; begun = time.perf_counter(); {}; print(time.perf_counter() - begun)"


def run_start(*, repeat: int, embedder: str, show: Show) -> Result:
    """Start and stop, again and again."""
    environment = describe_environment() | {"embedder": embedder}
    with embedded.temporary_home() as home, show.stage("starting processes", 4 * repeat) as progress:
        environ = plain_environment(home, embedder)
        first = [_timed(["add", FACT], home, environ)]
        stopped, running = [], []
        for number in range(repeat):
            embedded.stop(home)
            stopped.append(_timed(["search", QUESTION, "--threshold", "0"], home, environ))
            running.append(_timed(["search", QUESTION, "--threshold", "0"], home, environ))
            progress(2 * (number + 1), None)
        imports, clients = [], []
        for number in range(repeat):
            imports.append(_import_s("import recollect", home, environ))
            clients.append(_import_s("from recollect import Recollect", home, environ))
            progress(2 * (repeat + number + 1), None)
    seconds = {
        "search_running": running,
        "search_stopped": stopped,
        "first_ever": first,
        "import": imports,
        "import_client": clients,
    }
    measures: dict[str, Any] = {
        name: {"median": statistics.median(times), "all": times} for name, times in seconds.items()
    }
    bars = [
        Bar(
            name="cold search, the server runs, s",
            value=measures["search_running"]["median"],
            bar=2.0,
            at_most=True,
        ),
        Bar(
            name="cold search, the server is stopped, s",
            value=measures["search_stopped"]["median"],
            bar=2.0,
            at_most=True,
        ),
        Bar(name="import recollect, s", value=measures["import"]["median"], bar=0.15, at_most=True),
    ]
    arguments = {"repeat": repeat, "embedder": embedder}
    return Result(bench="start", arguments=arguments, measures=measures, bars=bars, environment=environment)


def plain_environment(home: Path, embedder: str) -> dict[str, str]:
    """The caller's environment without the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return {**kept, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": embedder}


def _timed(arguments: Sequence[str], home: Path, environ: Mapping[str, str]) -> float:
    """Seconds one command takes, from starting the process to its end; it must find what it looks for."""
    started = time.perf_counter()
    # In the home, so that no recollect.toml of the current folder is read.
    done = subprocess.run(
        [*_program(), *arguments, "--json"], capture_output=True, env=environ, cwd=home, check=False
    )
    seconds = time.perf_counter() - started
    if done.returncode != 0 or FACT not in done.stdout.decode():
        said = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
        raise StoreError(f"`recollect {arguments[0]}` did not answer in the benchmark: {said[-500:]}")
    return seconds


def _program() -> list[str]:
    """The installed command of this Python, or its module where only the package is there."""
    script = Path(sys.executable).with_name("recollect")
    return [str(script)] if script.exists() else [sys.executable, "-m", "recollect.surfaces.cli.main"]


def _import_s(statement: str, home: Path, environ: Mapping[str, str]) -> float:
    """Seconds an import takes inside a fresh interpreter, whose own start is not counted."""
    command = [sys.executable, "-c", _TIMED_IMPORT.format(statement)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=home, check=True)
    return float(done.stdout)
