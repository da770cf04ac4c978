"""`recollect bench everyday`: what counts as answered, and the command on a world small enough to know by heart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recollect.errors import InvalidInputError
from recollect_bench.cli import app
from recollect_bench.everyday import FIGURES, figures, run_everyday, weigh
from recollect_bench.show import Show


def asked(kind: str, *answers: str, **more: Any) -> dict[str, Any]:
    return {"id": "q", "as": "ana", "kind": kind, "question": "?", "answers": list(answers), **more}


@pytest.mark.parametrize(
    ("question", "keys", "right", "fresh", "junk"),
    [
        (asked("fact", "a"), ["a", "x"], True, None, 1),
        (asked("fact", "a"), ["x", "a"], False, None, 1),
        (asked("fact", "a"), [], False, None, 0),
        (asked("update", "new", stale=["old"]), ["new", "old"], True, True, 0),
        (asked("update", "new", stale=["old"]), ["old", "new"], False, False, 0),
        (asked("update", "new", stale=["old"]), ["x", "new"], False, True, 1),
        (asked("update", "new", stale=["old"]), [], False, False, 0),
        (asked("list", "a", "b", related=["r"]), ["r", "b", "x", "a"], True, None, 1),
        (asked("compare", "a", "b"), ["a"], False, None, 0),
        (asked("count", "a", stale=["old"]), ["a"], True, True, 0),
        (asked("absent"), [], True, None, 0),
        (asked("absent", related=["r"]), ["r"], False, None, 0),
    ],
)
def test_a_question_is_right_by_its_kind_and_fresh_when_no_outdated_item_leads(
    question: dict[str, Any], keys: list[str], right: bool, fresh: bool | None, junk: int
) -> None:
    outcome = weigh(question, keys)
    assert (outcome.right, outcome.fresh, outcome.junk) == (right, fresh, junk)


def test_figures_are_shares_of_the_questions_that_count_for_them_and_everyday_is_their_mean() -> None:
    outcomes = [
        weigh(asked("fact", "a"), ["a"]),
        weigh(asked("update", "new", stale=["old"]), ["old", "new", "x"]),
        weigh(asked("past", "a"), ["x", "y"]),
        weigh(asked("absent"), []),
    ]
    assert figures(outcomes) == {
        "questions": 4,
        "first": pytest.approx(1 / 3),
        "complete": None,
        "silent": 1.0,
        "fresh": 0.0,
        "junk": 0.75,
        "everyday": pytest.approx((1 / 3 + 1 + 0) / 3),
    }


def world() -> dict[str, Any]:
    def said(key: str, text: str, day: str, user: str = "ana", **more: str) -> dict[str, str]:
        return {"key": key, "user": user, "text": text, "created_at": f"2026-{day}T10:00:00+00:00", **more}

    return {
        "name": "tiny",
        "now": "2026-11-16T12:00:00+00:00",
        "scopes": [{"scope": "team/kiln", "members": ["ana", "ben"]}],
        "items": [
            said(
                "kiln",
                "The lighthouse keeper painted the kiln green.",
                "03-01",
                conversation="c",
                speaker="Ana",
            ),
            {
                "key": "glaze",
                "scope": "team/kiln",
                "text": "Glazes are ordered from Moser.",
                "type": "semantic",
            },
            said("canoe", "My wooden canoe is on the frozen lake.", "04-01", user="ben"),
        ],
        "questions": [
            asked("fact", "kiln") | {"question": "The lighthouse keeper painted the kiln green."},
            asked("list", "glaze", "canoe") | {"question": "Glazes are ordered from Moser.", "as": "ana"},
            asked("person", "canoe") | {"question": "My wooden canoe is on the frozen lake.", "as": "ben"},
            asked("absent") | {"question": "Who won the chess tournament in Reykjavik?"},
        ],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "tiny.json").write_text(json.dumps(world()), encoding="utf-8")
    return tmp_path / "worlds"


@pytest.mark.system
def test_the_command_asks_each_user_on_a_default_store_and_the_report_shows_its_figures(
    folder: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    program = Path(sys.executable).with_name("recollect")
    done = subprocess.run(
        [program, "bench", "everyday", "--data", str(folder), "--out", str(results), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    # Ben's canoe is his own: no list of Ana's is complete with it.
    found = {name: document["measures"]["figures"]["tiny"][name] for name in FIGURES}
    assert found == {"first": 1.0, "complete": 0.0, "silent": 1.0, "fresh": None}
    assert document["measures"]["missed"] == ["tiny q"]
    assert document["measures"]["kinds"]["list"] == {"questions": 1, "figure": "complete", "right": 0.0}
    assert document == json.loads((results / "everyday.json").read_text(encoding="utf-8"))
    assert (results / "everyday.png").read_bytes().startswith(b"\x89PNG")
    assert CliRunner().invoke(app, ["report", "--results", str(results)]).exit_code == 0
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| everyday | silent | 1.000 | >= 0.5 | reached |" in page
    assert "| tiny | 4 | 1.000 | 0.000 | 1.000 | - |" in page


def test_data_that_is_missing_or_of_another_shape_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no world"):
        run_everyday(tmp_path, home=None, show=Show(quiet=True))
    odd = world()
    odd["questions"][0]["kind"] = "riddle"
    (tmp_path / "odd.json").write_text(json.dumps(odd), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"'odd\.json' has not the shape .*'riddle'"):
        run_everyday(tmp_path, home=None, show=Show(quiet=True))
