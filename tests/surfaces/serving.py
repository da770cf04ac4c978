"""`recollect serve` as a process, for tests."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(environ: dict[str, str], *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server without its dashboard, which takes longest to start and has tests of its own."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "recollect.surfaces.cli.main",
            "serve",
            "--port",
            "0",
            "--no-dashboard",
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"answers at (http://127\.0\.0\.1:\d+)/v1", line)
        assert found, (line, process.stderr.read() if process.stderr and process.poll() is not None else "")
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()
