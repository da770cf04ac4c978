"""The page about times says what is true."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.text.times import extract_temporal_scope, find_times, read_times

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "time.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| (open|\d[\d :-]+) \| (open|\d[\d :-]+) \|$", PAGE, re.MULTILINE)
NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)


def test_the_table_of_phrases_is_found() -> None:
    assert len(ROWS) > 25


@pytest.mark.parametrize(("phrase", "start", "end"), ROWS)
def test_a_phrase_of_the_page_is_read_as_it_says(phrase: str, start: str, end: str) -> None:
    found = extract_temporal_scope(phrase, now=NOW)
    assert found is not None
    for moment, wanted in ((found.start, start), (found.end, end)):
        expected = None if wanted == "open" else datetime.fromisoformat(wanted).replace(tzinfo=UTC)
        assert (moment and moment.replace(microsecond=0)) == expected


def test_the_example_of_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "time.md", "exec"), {})
    wanted = re.findall(r"print\(.*\)  # (.*)", code)
    assert capsys.readouterr().out.splitlines() == wanted


def test_what_the_page_calls_no_time_is_none() -> None:
    [listed] = re.findall(r"left alone: (.*?),\ntelephone", PAGE, re.DOTALL)
    phrases = re.findall(r'"([^"]+)"', listed)
    assert phrases
    assert [phrase for phrase in phrases if find_times(phrase, now=NOW)] == []


def test_contradictions_end_as_the_page_says() -> None:
    turned = read_times("between 2024 and 2020", now=NOW)
    assert turned.scope is not None
    assert turned.notes
    ignored = read_times("after 2024 and before 2020", now=NOW)
    assert ignored.scope is None
    assert ignored.notes
