"""The made-up organisation, and what is measured on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import InvalidInputError
from recollect.runs.router import ComplexityRouter
from recollect_bench.aggregation import (
    PATHS,
    PHRASINGS,
    SIMPLE_QUESTIONS,
    questions_about,
    run_aggregation,
    simple_questions,
)
from recollect_bench.organisation import TEAM, TOPIC, Organisation, Plan, make_organisation
from recollect_bench.plots import write_plot
from recollect_bench.show import Show
from recollect_bench.tables import tables_of

SMALL = Plan(memories=300, teams=4)


@pytest.fixture(scope="module")
def whole() -> Organisation:
    return make_organisation(Plan())


def test_a_seed_gives_one_organisation_to_the_letter() -> None:
    assert make_organisation(SMALL) == make_organisation(SMALL)
    assert make_organisation(SMALL).items != make_organisation(Plan(memories=300, teams=4, seed=8)).items


def test_the_organisation_is_as_large_as_promised(whole: Organisation) -> None:
    assert len(whole.items) == 20_000
    assert len(whole.org_of) == 40
    assert len(whole.speaking) == 20
    assert len({(item["scope"], item["text"]) for item in whole.items}) == 20_000
    days = {item["created_at"].date() for item in whole.items}
    assert (max(days) - min(days)).days > 500
    scopes = {scope for scope, _ in whole.scopes}
    assert {item["scope"] for item in whole.items} <= scopes
    assert {parent for _, parent in whole.scopes if parent} <= scopes


def test_the_truth_is_what_the_memories_say(whole: Organisation) -> None:
    for topic, teams in whole.speaking.items():
        told = [item for item in whole.items if item["metadata"].get(TOPIC) == topic]
        by_team = {team: [item for item in told if item["metadata"][TEAM] == team] for team in teams}
        assert {item["metadata"][TEAM] for item in told} == teams
        assert all(1 <= len(found) <= 4 for found in by_team.values())
        for team, found in by_team.items():
            assert all(
                item["scope"] in {f"team/{team}", f"project/{team}-1", f"project/{team}-2"} for item in found
            )
    speaking = sum(len(teams) for teams in whole.speaking.values()) / (20 * 40)
    assert 0.5 < speaking < 0.7


def test_a_topic_is_spoken_of_in_other_words_too(whole: Organisation) -> None:
    without = 0
    for topic in whole.speaking:
        words = [word.rstrip("s") for word in topic.replace("-", " ").split() if len(word) > 2]
        texts = [item["text"].lower() for item in whole.items if item["metadata"].get(TOPIC) == topic]
        assert 0 < sum(topic.rstrip("s") in text for text in texts) < len(texts), topic
        without += sum(not any(word in text for word in words) for text in texts)
    assert without > 300


def test_every_question_is_routed_and_every_simple_one_is_not(whole: Organisation) -> None:
    router = ComplexityRouter()
    questions = list(questions_about(whole))
    assert {phrasing.split()[0] for phrasing in PHRASINGS} == {
        question.text.split()[0] for question in questions
    }
    assert [q.text for q in questions if not router.should_route_to_rlm(q.text)] == []
    simple = list(simple_questions(whole))
    assert len(simple) == SIMPLE_QUESTIONS
    assert [text for text in simple if router.should_route_to_rlm(text)] == []


def test_a_question_about_one_org_counts_its_teams_only(whole: Organisation) -> None:
    within = [question for question in questions_about(whole) if question.within_org]
    assert within
    for question in within:
        orgs = {whole.org_of[team] for team in question.teams}
        assert len(orgs) == 1
        assert orgs.pop().capitalize() in question.text


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        (Plan(memories=50, teams=4), "memories are too few"),
        (Plan(teams=1), "teams can't be made"),
        (Plan(teams=400), "teams can't be made"),
    ],
)
def test_an_organisation_that_can_not_be_is_refused(plan: Plan, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        make_organisation(plan)


def test_a_small_organisation_is_measured_on_both_paths_and_kept_for_the_next_time(
    bench_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"embedder": "wordllama", "limit_questions": 2, "home": bench_home}
    result = run_aggregation(SMALL, **options, show=Show(quiet=True))  # type: ignore[arg-type]
    assert result.measures["routed_share"] == 1.0
    for path in PATHS:
        for limits in result.measures[path].values():
            assert set(limits) == {"limit 100", "limit 10"}
            assert all(0 < one["coverage"] <= 1 for one in limits.values() if one["hits"])
    everything = result.measures["flat"]["threshold 0"]["limit 100"]
    assert everything["hits"] > 50
    assert result.measures["routed"]["threshold 0"]["limit 10"]["teams"] == 4
    assert [bar.bar for bar in result.bars] == [0.95, 4]
    assert len(tables_of(result)[0].rows) == 8
    assert write_plot(result, tmp_path).read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    run_aggregation(SMALL, **options, show=Show())  # type: ignore[arg-type]
    assert "are there already" in capsys.readouterr().err
