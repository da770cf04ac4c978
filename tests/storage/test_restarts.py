"""A server that dies, recovers or has no room, under programs that go on: real servers, killed for real."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest

from recollect import Recollect, Settings
from recollect.errors import StoreBusyError
from recollect.storage import embedded

pytestmark = pytest.mark.system  # servers are killed

NewHome = Callable[[], AbstractContextManager[Path]]


@pytest.fixture
def home(new_home: NewHome) -> Iterator[Path]:
    """A store of its own, whose server may die."""
    with new_home() as folder:
        yield folder


def settings_of(home: Path, **changes: object) -> Settings:
    return Settings(home=home, embedder="wordllama").replace(**changes)


# ---------------------------------------------------------------- opening while it recovers


@contextmanager
def recovering(owner: str) -> Iterator[None]:
    """A crash of one process, and one that will not go: for five seconds the server turns everybody away."""
    with psycopg.connect(owner) as stuck, psycopg.connect(owner) as crashing:
        os.kill(stuck.info.backend_pid, signal.SIGSTOP)
        os.kill(crashing.info.backend_pid, signal.SIGKILL)
        while True:
            try:
                psycopg.connect(owner).close()
            except psycopg.OperationalError as error:
                if "in recovery mode" in str(error):
                    break
        yield


def test_opening_waits_for_a_server_that_recovers_from_a_crash(home: Path) -> None:
    with Recollect(settings=settings_of(home)) as client:
        client.add("Kept before the crash.")
    with recovering(embedded.ensure_running(home).owner), Recollect(settings=settings_of(home)) as client:
        assert [memory.text for memory in client.list()] == ["Kept before the crash."]


def test_opening_gives_up_on_a_recovery_when_start_timeout_s_is_over(home: Path) -> None:
    with recovering(embedded.ensure_running(home).owner):
        began = time.monotonic()
        with pytest.raises(StoreBusyError, match="recovering from a crash"):
            Recollect(settings=settings_of(home, start_timeout_s=0.5)).open()
        assert time.monotonic() - began < 4
