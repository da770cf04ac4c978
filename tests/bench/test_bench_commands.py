"""`recollect bench` as a command: one JSON document, files with plots, the page made of them."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect_bench.cli import app
from recollect_bench.plots import write_plot
from recollect_bench.report import ABOUT, render_report
from recollect_bench.result import Bar, Result, describe_environment, read_result

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench" / "results"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("recollect")
    return subprocess.run([program, "bench", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.system
def test_start_measures_real_processes_and_writes_what_it_prints(tmp_path: Path) -> None:
    done = command("start", "--repeat", "1", "--embedder", "wordllama", "--json", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "start-wordllama.json").read_text(encoding="utf-8"))
    assert (tmp_path / "start-wordllama.png").read_bytes().startswith(b"\x89PNG")
    for name in ("search_running", "search_stopped", "import", "import_client", "first_ever"):
        assert document["measures"][name]["median"] > 0
    assert {bar["bar"] for bar in document["bars"]} == {2.0, 0.15}


def test_locomo_on_the_command_line_shows_recall_and_bars(locomo_file: Path, bench_home: Path) -> None:
    done = command("locomo", "--data", str(locomo_file), "--embedder", "wordllama", "--home", str(bench_home))
    assert done.returncode == 0, done.stderr
    assert "single-hop" in done.stdout
    # Whether so few questions reach the bar says nothing; that it is held against one does.
    assert re.search(r"evidence recall@10 .* >= 0\.84 +(?:reached|missed)", done.stdout)
    assert "storing" in done.stderr


def test_a_data_set_that_is_not_there_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    done = command("locomo", "--data", str(tmp_path / "none.json"), "--json")
    assert done.returncode == 2
    assert json.loads(done.stderr)["error"]["code"] == "invalid_input"
    assert done.stdout == ""


def test_sizes_that_are_no_numbers_are_refused() -> None:
    done = CliRunner().invoke(app, ["growth", "--sizes", "1k"])
    assert "is not a list of numbers" in str(done.exception)


def example(**changes: object) -> Result:
    fields = {
        "bench": "longmemeval",
        "arguments": {"embedder": "arctic"},
        "measures": {
            "unit": "session",
            "memories": 3,
            "recall": {"all": {"questions": 2, "@5": 0.123456, "@10": 1.0}},
            "ingest_per_s": None,
            "search_ms": {"p50": 1.0, "p95": 2.0},
        },
        "bars": [Bar(name="speed", value=2.5, bar=2, at_most=True), Bar(name="recall", value=0.8, bar=0.8)],
        "environment": describe_environment(),
    }
    return Result(**(fields | changes))  # type: ignore[arg-type]


def test_a_bar_is_reached_on_its_own_side_only() -> None:
    assert [bar.reached for bar in example().bars] == [False, True]
    assert [bar.wanted for bar in example().bars] == ["<= 2", ">= 0.8"]


def test_a_result_reads_back_as_it_was_written_and_names_no_host_or_path(tmp_path: Path) -> None:
    file = example().write(tmp_path)
    again = read_result(file)
    assert again.as_document() == json.loads(file.read_text(encoding="utf-8"))
    assert again.measures["recall"]["all"]["@5"] == 0.1235
    text = file.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert socket.gethostname() not in text


def test_the_page_says_reached_and_missed_and_shows_the_plot(tmp_path: Path) -> None:
    results = tmp_path / "results"
    result = example()
    result.write(results)
    write_plot(result, results)
    done = CliRunner().invoke(app, ["report", "--results", str(results), "--json"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| longmemeval | speed | 2.500 | <= 2 | missed |" in page
    assert "| longmemeval | recall | 0.800 | >= 0.8 | reached |" in page
    assert "| all | 2 | 0.123 | 1.000 |" in page
    assert "](results/longmemeval.png)" in page


def test_the_page_of_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", "--results", str(tmp_path)])
    assert "run a benchmark with --out first" in str(done.exception)


def test_without_matplotlib_there_is_a_remark_and_no_plot(
    tmp_path: Path, bench_home: Path, locomo_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = ["--data", str(locomo_file), "--embedder", "wordllama", "--home", str(bench_home)]
    done = CliRunner().invoke(app, ["locomo", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.exception
    assert "pip install matplotlib" in done.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["locomo-wordllama.json"]


def test_the_committed_page_is_what_the_committed_results_give() -> None:
    page = (ROOT / "bench" / "RESULTS.md").read_text(encoding="utf-8")
    assert page == render_report(RESULTS)


def test_committed_results_come_from_whole_data_sets_and_name_no_place() -> None:
    for file in RESULTS.glob("*.json"):
        result = read_result(file)
        limit = result.arguments.get("limit_questions")
        # Unless the page itself says that it is a part.
        assert limit is None or f"--limit-questions {limit}" in ABOUT[result.bench][2], file.name
        text = file.read_text(encoding="utf-8")
        assert not any(place in text for place in ("/home", "/tmp", "/root", "/work", "://"))
