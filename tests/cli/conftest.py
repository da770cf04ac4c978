"""The command line on the session's store, in a tenant per test, or as a newcomer on a store of its own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recollect import Settings
from recollect.storage import embedded


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


@dataclass(frozen=True)
class Shell:
    """Runs the command line: in this process, or as a process of its own."""

    environ: dict[str, str]

    def __call__(self, *args: str, input: str | bytes | None = None, code: int = 0, **environ: str) -> Done:
        from recollect.surfaces.cli.main import app

        result = CliRunner().invoke(
            app, list(args), input=input, env={**self.environ, **environ}, prog_name="recollect"
        )
        done = Done(result.exit_code, result.stdout, result.stderr)
        assert done.code == code, (args, done)
        return done

    def process(self, *args: str, input: bytes = b"", code: int = 0, **environ: str) -> Done:
        finished = subprocess.run(
            [sys.executable, "-m", "recollect.surfaces.cli.main", *args],
            input=input,
            capture_output=True,
            env={**os.environ, **self.environ, **environ},
            check=False,
        )
        done = Done(finished.returncode, finished.stdout.decode(), finished.stderr.decode())
        assert done.code == code, (args, done)
        return done


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command sets up logging for its process, which here is the tests' own."""
    root, ours = logging.getLogger(), logging.getLogger("recollect")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.fixture(scope="session")
def cli_environ(settings: Settings) -> dict[str, str]:
    """The session's store, by environment variables."""
    return {
        "RECOLLECT_HOME": str(settings.home),
        "RECOLLECT_DATABASE_URL": settings.database_url or "",
        "RECOLLECT_EMBEDDER": settings.embedder,
        "RECOLLECT_USER": "tess",
    }


@pytest.fixture
def cli(cli_environ: dict[str, str], tenant_id: str) -> Shell:
    """The command line in a tenant of its own."""
    return Shell({**cli_environ, "RECOLLECT_TENANT": tenant_id})


@pytest.fixture(scope="module")
def newcomer(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[dict[str, str]]:
    """The environment of somebody who has just installed it: a home of its own, and nothing set."""
    with new_home() as home:
        embedded.ensure_running(home, sync=False, settings={"fsync": "off", "full_page_writes": "off"})
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "UV_RUN"))
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
        yield {**own, "PATH": path, "RECOLLECT_HOME": str(home)}


@pytest.fixture
def remember(cli: Shell) -> Callable[..., str]:
    """Adds a text and gives its id."""
    return lambda text, *options: cli("add", text, *options).out.strip()
