"""`recollect bench temporal`: what counts as read rightly, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recollect.domain.query import TimeRange
from recollect.errors import InvalidInputError
from recollect_bench.cli import app
from recollect_bench.show import Show
from recollect_bench.temporal import is_met, run_temporal


def case(id: str, text: str, *accept: tuple[str | None, str | None]) -> dict[str, Any]:
    return {
        "id": id,
        "text": text,
        "now": "2024-05-15T00:00:00",
        "accept": [list(reading) for reading in accept],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cases = [
        case("DateParser-0", "what was yesterday?", ("2024-05-14", "2024-05-14")),
        case("DateParser-2", "in May", ("2025-05-01", "2025-06-01"), ("2024-05-01", "2024-06-01")),
        case("DatePeriodParser-0", "since March", ("2024-03-01", None)),
        case("DatePeriodParser-2", "no time at all", ("2024-03-01", "2024-03-02")),
    ]
    (tmp_path / "cases_dev.json").write_text(json.dumps(cases), encoding="utf-8")
    return tmp_path


def span(start: tuple[int, int] | None, end: tuple[int, int] | None) -> TimeRange:
    moments = [None if day is None else datetime(2024, *day, tzinfo=UTC) for day in (start, end)]
    return TimeRange(start=moments[0], end=moments[1], phrase="")


@pytest.mark.parametrize(
    ("found", "reading", "met"),
    [
        (span((5, 1), (5, 2)), (date(2024, 5, 1), date(2024, 5, 1)), True),
        (span((5, 1), (5, 2)), (date(2024, 5, 1), date(2024, 5, 2)), True),
        (span((5, 1), (5, 3)), (date(2024, 5, 1), date(2024, 5, 1)), False),
        (span((5, 2), (5, 3)), (date(2024, 5, 1), date(2024, 5, 3)), False),
        (span((5, 1), None), (date(2024, 5, 1), None), True),
        (span((5, 1), None), (date(2024, 5, 1), date(2024, 5, 2)), False),
        (span(None, (5, 1)), (None, date(2024, 5, 1)), True),
        (span(None, (5, 1)), (date(2024, 4, 1), date(2024, 5, 1)), False),
        (None, (date(2024, 5, 1), date(2024, 5, 2)), False),
    ],
)
def test_a_reading_is_met_by_its_first_day_and_an_end_within_one_day(
    found: TimeRange | None, reading: tuple[date | None, date | None], met: bool
) -> None:
    assert is_met(found, reading) is met


def test_shares_are_counted_over_all_and_by_kind_and_misses_are_named(folder: Path) -> None:
    result = run_temporal(folder, show=Show(quiet=True))
    assert result.measures["accuracy"] == {
        "all": {"cases": 4, "right": 0.75},
        "Date": {"cases": 2, "right": 1.0},
        "DatePeriod": {"cases": 2, "right": 0.5},
    }
    assert result.measures["missed"] == ["DatePeriodParser-2"]
    assert [bar.reached for bar in result.bars] == [True]
    assert (
        run_temporal(folder / "cases_dev.json", show=Show(quiet=True)).measures["accuracy"]["all"]["cases"]
        == 4
    )


@pytest.mark.system
def test_the_command_prints_one_document_and_writes_what_the_report_shows(folder: Path) -> None:
    results = folder / "results"
    program = Path(sys.executable).with_name("recollect")
    done = subprocess.run(
        [program, "bench", "temporal", "--data", str(folder), "--out", str(results), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((results / "temporal.json").read_text(encoding="utf-8"))
    assert (results / "temporal.png").read_bytes().startswith(b"\x89PNG")
    assert CliRunner().invoke(app, ["report", "--results", str(results)]).exit_code == 0
    page = (folder / "RESULTS.md").read_text(encoding="utf-8")
    assert "| temporal | time phrases read rightly | 0.750 | >= 0.75 | reached |" in page
    assert "| DatePeriod | 2 | 0.500 |" in page


def test_without_cases_or_with_other_data_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"there is no 'cases\*\.json'"):
        run_temporal(tmp_path, show=Show(quiet=True))
    (tmp_path / "cases.json").write_text('[{"question": "?"}]', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="has not the shape"):
        run_temporal(tmp_path, show=Show(quiet=True))
