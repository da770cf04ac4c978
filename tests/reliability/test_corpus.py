"""What once led to an outcome of its own is tried again: it still answers or raises one of our errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.reliability.fuzz import CORPUS, read
from tests.surfaces.test_fuzzed_calls import CALLS, refuses_or_answers

from recollect import Recollect


@pytest.mark.system
def test_whatever_was_found_by_chance_is_refused_or_answered(
    client: Recollect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    assert len(lines) > 500
    for line in lines:
        if line["call"] in CALLS:
            refuses_or_answers(client, line["call"], read(line["values"]))
