"""`recollect bench answers`: the judge's verdicts beside labels, and the command's words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from recollect.errors import InvalidInputError
from recollect_bench.answers import auc, run_answers
from recollect_bench.show import Show
from recollect_bench.tables import tables_of

PAIRS = [
    ("Where does Ana live?", "Ana lives in Lisbon, close to the river.", 1, "talk"),
    ("Where does Ana live?", "The printer is out of paper again.", 0, "talk"),
    ("Who repairs the boiler?", "The boiler is repaired by Mr Weber.", 1, "house"),
    ("Who repairs the boiler?", "Lunch is at noon on Fridays.", 0, "house"),
]


def write(folder: Path, lines: list[str]) -> None:
    with gzip.open(folder / "valid.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))


def test_the_judge_tells_plain_answers_from_plain_strangers(tmp_path: Path) -> None:
    write(
        tmp_path,
        [json.dumps(dict(zip(("question", "text", "label", "source"), pair, strict=True))) for pair in PAIRS],
    )
    result = run_answers(tmp_path, limit=None, show=Show(quiet=True))
    assert result.measures["told"] == {
        "all": {"pairs": 4, "auc": 1.0},
        "house": {"pairs": 2, "auc": 1.0},
        "talk": {"pairs": 2, "auc": 1.0},
    }
    assert ["talk", "2", "1.000"] in tables_of(result)[0].rows


def test_the_chance_counts_pairs_and_halves_ties() -> None:
    assert auc([(2.0, True), (1.0, False)]) == 1.0
    assert auc([(1.0, True), (1.0, False)]) == 0.5
    assert auc([(0.0, True), (3.0, True), (1.0, False)]) == 0.5
    assert auc([(1.0, True)]) is None


def test_other_data_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"there is no 'valid\.jsonl\.gz'"):
        run_answers(tmp_path, limit=None, show=Show(quiet=True))
    write(tmp_path, ['{"question": "?"}'])
    with pytest.raises(InvalidInputError, match="has not the shape"):
        run_answers(tmp_path, limit=None, show=Show(quiet=True))
