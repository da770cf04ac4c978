"""Benchmarks over data sets: what is stored, what is asked, how it is counted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import InvalidInputError
from recollect_bench.locomo import read_locomo, run_locomo
from recollect_bench.longmemeval import read_longmemeval, run_longmemeval
from recollect_bench.multihop import read_multihop, run_multihop
from recollect_bench.questions import Answer, Question, percentile, recall, recall_table, spread
from recollect_bench.show import Show

QUIET = Show(quiet=True)


def run(file: Path, home: Path, **more: Any) -> Any:
    options = {"embedder": "wordllama", "limit_questions": None, "home": home, "show": QUIET} | more
    return run_locomo(file, **options)


def write(folder: Path, **files: object) -> Path:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_locomo_finds_a_turn_asked_for_in_its_own_words_and_no_turn_that_is_not_there(
    locomo_file: Path, bench_home: Path
) -> None:
    result = run(locomo_file, bench_home)
    table = result.measures["recall"]
    assert table["single-hop"] == {"questions": 1, "@5": 1.0, "@10": 1.0, "@20": 1.0}
    assert table["temporal"]["@5"] == 1.0
    assert table["multi-hop"] == {"questions": 1, "@5": 0.0, "@10": 0.0, "@20": 0.0}
    assert table["adversarial"]["@5"] == 1.0
    # Three of the four questions that have gold find all of it.
    assert table["all"]["questions"] == 4
    assert table["all"]["@10"] == pytest.approx(0.75)
    assert "open-domain" not in table
    assert result.measures["memories"] == 6
    assert result.measures["calibration"]["foreign_questions"] == 5
    assert 0 <= result.measures["calibration"]["gold_kept"] <= 1
    assert {bar.name for bar in result.bars} >= {"evidence recall@10", "gold kept at the default threshold"}
    assert result.environment["embedder"] == "wordllama"


def test_a_kept_home_is_not_filled_twice_and_answers_the_same(locomo_file: Path, bench_home: Path) -> None:
    before = run(locomo_file, bench_home)
    after = run(locomo_file, bench_home)
    assert after.measures["ingest_per_s"] is None
    assert after.measures["recall"] == before.measures["recall"]


def test_locomo_turns_carry_their_session_time_speaker_and_photo(locomo_file: Path) -> None:
    corpus = read_locomo(locomo_file)
    photo = next(item for item in corpus.items if item["metadata"] == {"thing": "D2:1"})
    assert photo["text"] == "Look at this one. [shares a photo: a wooden canoe on a frozen lake]"
    assert (photo["scope"], photo["conversation"], photo["speaker"]) == ("user/conv-a", "session_2", "Ben")
    assert photo["created_at"] == datetime(2023, 6, 2, 10, 5, tzinfo=UTC)
    gold = [question.gold for question in corpus.questions]
    assert gold == [{"D1:1"}, {"D2:1"}, {"D9:9"}, set(), {"D1:1", "D1:2"}]


def test_sessions_count_through_their_best_turn(tmp_path: Path, bench_home: Path) -> None:
    said = [
        ("s1", "2023/04/10 (Mon) 17:50", ["I grow orchids in the bathroom.", "That sounds damp."]),
        ("s2", None, ["My bicycle has a flat tyre.", "A patch will do."]),
    ]
    sessions = [
        {"id": id, "date": date, "turns": [{"role": "user", "content": text} for text in texts]}
        for id, date, texts in said
    ]
    asked = [("I grow orchids in the bathroom.", ["s1"]), ("My bicycle has a flat tyre.", ["s3"])]
    questions = [
        {"question": text, "type": "single", "date": "2023/05/01 (Mon) 09:00", "gold_sessions": gold}
        for text, gold in asked
    ]
    folder = write(tmp_path, sessions=sessions, questions_dev=questions)
    corpus = read_longmemeval(folder)
    assert [item["created_at"] and item["created_at"].isoformat() for item in corpus.items] == [
        "2023-04-10T17:50:00+00:00",
        "2023-04-10T17:50:01+00:00",
        None,
        None,
    ]
    result = run_longmemeval(folder, embedder="wordllama", limit_questions=None, home=bench_home, show=QUIET)
    assert result.measures["recall"]["all"] == {"questions": 2, "@5": 0.5, "@10": 0.5, "@20": 0.5}


def test_passages_are_found_by_their_position_in_the_corpus(tmp_path: Path, bench_home: Path) -> None:
    corpus = [
        {"title": "Teutberga", "text": "Teutberga was a queen of Lotharingia."},
        {"title": "Canoe", "text": "A canoe is a narrow boat."},
        {"title": "Snail", "text": "A snail carries its shell."},
    ]
    questions = [
        {"question": "A canoe is a narrow boat.", "type": "one", "gold": [1]},
        {"question": "A snail carries its shell.", "type": "two", "gold": [2, 7]},
    ]
    folder = write(tmp_path, tiny_corpus=corpus, tiny_dev=questions)
    assert read_multihop(folder)["tiny"].items[0]["entities"] == ["Teutberga"]
    result = run_multihop(folder, embedder="wordllama", limit_questions=None, home=bench_home, show=QUIET)
    table = result.measures["sets"]["tiny"]["recall"]
    assert table["one"]["@2"] == 1.0
    assert table["two"]["@2"] == 0.5


def test_data_that_is_missing_or_of_another_shape_is_named(tmp_path: Path, bench_home: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere\.json"):
        read_locomo(tmp_path / "nowhere.json")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="is not JSON"):
        read_locomo(tmp_path / "broken.json")
    folder = write(
        tmp_path, other=[{"sample_id": "x"}], sessions=[1], questions_dev=[], odd_corpus=[3], odd_dev=[]
    )
    with pytest.raises(InvalidInputError, match=r"'other\.json' has not the shape"):
        read_locomo(folder / "other.json")
    with pytest.raises(InvalidInputError, match="has not the shape"):
        read_longmemeval(folder)
    with pytest.raises(InvalidInputError, match=r"'odd_corpus\.json' has not the shape"):
        read_multihop(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="_corpus"):
        read_multihop(tmp_path / "empty")


def asked(*gold: str, group: str = "g") -> Question:
    return Question(text="?", gold=frozenset(gold), scope="user/x", group=group)


def test_recall_is_the_share_of_the_gold_among_the_first() -> None:
    answer = Answer(question=asked("a", "b", "c"), found=("x", "b", "a"), ms=1.0)
    assert recall(answer, 1) == 0
    assert recall(answer, 2) == pytest.approx(1 / 3)
    assert recall(answer, 3) == pytest.approx(2 / 3)


def test_questions_without_gold_do_not_count() -> None:
    answers = [
        Answer(question=asked("a"), found=("a",), ms=1.0),
        Answer(question=asked(group="none"), found=("a",), ms=1.0),
    ]
    assert recall_table(answers, [1]) == {
        "all": {"questions": 1, "@1": 1.0},
        "g": {"questions": 1, "@1": 1.0},
    }


def test_a_limited_run_takes_questions_from_everywhere() -> None:
    questions = [asked(str(number)) for number in range(10)]
    assert [min(question.gold) for question in spread(questions, 3)] == ["0", "3", "6"]
    assert spread(questions, 99) == questions


def test_percentiles_lie_between_the_values_around_them() -> None:
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile([1, 2, 3], 100) == 3
    assert percentile([7], 95) == 7
    assert percentile([], 50) == 0
