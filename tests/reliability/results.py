"""What the examinations found: a line of JSON for each part, added to bench/results/reliability/<name>.jsonl.

Long examinations run in slices, so a file grows line by line; nothing in it is written by hand.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.conftest import MEMORY_DISK, NOSYNC

from recollect import Recollect, Settings
from recollect.storage.embedded import ensure_running, temporary_home

FOLDER = Path("bench/results/reliability").resolve()


def use_disk() -> None:
    """Put homes on the disk, where a restart takes as long as a user's."""
    if os.environ.get("TMPDIR") == str(MEMORY_DISK):
        del os.environ["TMPDIR"]
        tempfile.tempdir = None


def keep(name: str, document: Mapping[str, Any]) -> None:
    """Add one line, with today's date."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"date": datetime.now(UTC).date().isoformat(), **document})
    with (FOLDER / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def kept(name: str, by: str = "") -> list[dict[str, Any]]:
    """Every line so far; `by` names fields of which only the newest line of each value counts."""
    file = FOLDER / f"{name}.jsonl"
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    fields = by.split()
    return list({tuple(map(line.get, fields)): line for line in lines}.values()) if by else lines


@contextmanager
def open_store() -> Iterator[tuple[Recollect, Settings]]:
    """A store that waits for no disk, gone afterwards."""
    with temporary_home() as home:
        ensure_running(home, sync=False, settings=NOSYNC)
        settings = Settings(home=home, embedder="wordllama")
        with Recollect(settings=settings) as store:
            yield store, settings
