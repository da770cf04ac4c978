"""`recollect bench codebase`: every number is there, and the made-up tree is the same for the same seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.codebase.languages import language_of
from recollect.codebase.symbols import parse
from recollect.errors import InvalidInputError
from recollect_bench.codebase import Plan, run_codebase
from recollect_bench.codetree import make_tree
from recollect_bench.plots import write_plot
from recollect_bench.show import Show
from recollect_bench.tables import tables_of

QUIET = Show(quiet=True)


@pytest.mark.system
def test_everything_that_is_to_be_reached_is_measured(tmp_path: Path) -> None:
    result = run_codebase(Plan(lines=3_000, queries=1, repeat=1), show=QUIET)
    assert result.measures["lines"] >= 3_000
    assert result.measures["one_file_changed"]["parsed"] == 1
    assert result.measures["warm"]["answered_by_the_right_file"] == 1.0
    assert all(one["matches"] == one["ripgrep_matches"] for one in result.measures["grep"])
    assert [bar.bar for bar in result.bars] == [60.0, 2.0, 1000.0, 5.0]
    assert [table.title for table in tables_of(result)] == ["The tree", "Search, ms"]
    assert write_plot(result, tmp_path).read_bytes().startswith(b"\x89PNG")


@pytest.mark.system
def test_a_tree_of_ones_own_is_only_read(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def handle_errors():\n    pass\n")
    before = file.stat().st_mtime_ns
    result = run_codebase(Plan(queries=1, tree=tmp_path, repeat=1), show=QUIET)
    assert result.measures["files"] == 1
    assert result.measures["one_file_changed"] == {}
    assert (file.stat().st_mtime_ns, list(tmp_path.iterdir())) == (before, [file])
    with pytest.raises(InvalidInputError, match="is not a folder"):
        run_codebase(Plan(tree=tmp_path / "none"), show=QUIET)


def test_the_made_up_tree_parses_and_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first = make_tree(tmp_path / "a", lines=11_000, seed=3)
    assert make_tree(tmp_path / "b", lines=11_000, seed=3) == first
    files = sorted((tmp_path / "a").rglob("*.*"))
    assert len(files) == first.files
    languages = set()
    for file in files:
        data = file.read_bytes()
        assert data == (tmp_path / "b" / file.relative_to(tmp_path / "a")).read_bytes()
        language = language_of(file.name)
        assert language is not None
        languages.add(language)
        assert parse(data, language).definitions
    assert len(languages) == 7
