"""A home for benchmarks over data sets, and data sets small enough to know the answers by heart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from recollect.storage.embedded import ensure_running
from recollect_bench.show import Show

QUIET = Show(quiet=True)


@pytest.fixture(scope="module")
def bench_home(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[Path]:
    with new_home() as home:
        # Nobody measures anything here; what would wait for the disk need not.
        ensure_running(home, sync=False)
        yield home


def turn(number: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    return {"dia_id": number, "speaker": speaker, "text": text, **more}


def question(text: str, *evidence: str, category: int = 4) -> dict[str, Any]:
    return {"question": text, "answer": "", "evidence": list(evidence), "category": category}


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    first = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            turn("D1:1", "Ana", "The lighthouse keeper painted every window green last spring."),
            turn("D1:2", "Ben", "My tomatoes were eaten by snails again."),
        ],
        "session_2_date_time": "10:05 am on 2 June, 2023",
        "session_2": [
            turn("D2:1", "Ben", "Look at this one.", blip_caption="a wooden canoe on a frozen lake"),
            turn("D2:2", "Ana", "We leave for Lisbon on the night train."),
        ],
    }
    second = {
        "session_1_date_time": "9:00 am on 1 January, 2024",
        "session_1": [
            turn("D1:1", "Chen", "The violin teacher retired in autumn."),
            turn("D1:2", "Dora", "Our chess club meets above the bakery."),
        ],
    }
    samples = [
        {
            "sample_id": "conv-a",
            "conversation": first,
            "qa": [
                question("The lighthouse keeper painted every window green last spring.", "D1:1"),
                question("a wooden canoe on a frozen lake", "D2:1", category=2),
                question("We leave for Lisbon on the night train.", "D9:9", category=1),
                question("Is anything of this known?", category=3),
            ],
        },
        {
            "sample_id": "conv-b",
            "conversation": second,
            "qa": [question("The violin teacher retired in autumn.", "D1:1; D1:2", category=5)],
        },
    ]
    file = tmp_path / "tiny.json"
    file.write_text(json.dumps(samples), encoding="utf-8")
    return file
