"""The command line on a real store: one home per run of the tests, one tenant per test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

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


@pytest.fixture(scope="session")
def cli_home() -> Iterator[Path]:
    with embedded.temporary_home() as home:
        yield home


@pytest.fixture(scope="session")
def cli_environ(cli_home: Path) -> dict[str, str]:
    """Nothing of the caller's own settings, and the embedder that opens fastest."""
    own = {name: "" for name in os.environ if name.startswith("RECOLLECT_")}
    return {
        **own,
        "RECOLLECT_HOME": str(cli_home),
        "RECOLLECT_EMBEDDER": "wordllama",
        "RECOLLECT_USER": "tess",
    }


@pytest.fixture
def cli(cli_environ: dict[str, str]) -> Shell:
    """The command line in a tenant of its own."""
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    shell = Shell({**cli_environ, "RECOLLECT_TENANT": tenant})
    shell("tenants", "create", tenant)
    return shell


@pytest.fixture
def remember(cli: Shell) -> Callable[..., str]:
    """Adds a text and gives its id."""
    return lambda text, *options: cli("add", text, *options).out.strip()
