"""How entities, time, importance, use and links move what a memory is worth, on pools made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.query import (
    Category,
    QueryType,
    Resolution,
    ResolvedEntity,
    Strategy,
    TimeRange,
    Understanding,
)
from recollect.retrieval.rank import (
    SIGNALS,
    Pool,
    Ranking,
    best_first,
    compute_memory_score,
    explain,
    first_hits,
    inverse_frequency,
    links_between,
    rank,
)
from recollect.retrieval.rank.calibration import MINILM, RELEVANT
from recollect.retrieval.understand import STRATEGY_WEIGHTS
from recollect.text.terms import query_terms

NOW = datetime(2026, 3, 2, tzinfo=UTC)
MARCH = TimeRange(
    start=datetime(2025, 3, 1, tzinfo=UTC), end=datetime(2025, 4, 1, tzinfo=UTC), phrase="in March 2025"
)
ACME = ResolvedEntity(
    mention_text="Acme",
    canonical_id="acme",
    name="Acme",
    kind="organisation",
    confidence=1.0,
    method=Resolution.EXACT,
)
IDF = inverse_frequency(3, 500)
ALIKE = {"cosine": 0.5, "matched": 0b11}


def asking(
    query: str = "what does it cost?",
    *,
    strategy: str = "exploratory",
    entities: Sequence[ResolvedEntity] = (),
    time_range: TimeRange | None = None,
) -> Understanding:
    return Understanding(
        query=query,
        terms=tuple(query_terms(query)),
        type=QueryType(category=Category.FACTUAL),
        strategy=Strategy(name=strategy, weights=STRATEGY_WEIGHTS[strategy]),
        entities=tuple(entities),
        time_range=time_range,
        now=NOW,
    )


def pool_of(*candidates: dict[str, Any], query_terms: int = 3) -> Pool:
    """Notes that are alike but for what a test says."""
    ordinary = {
        "cosine": 0.0,
        "matched": 0,
        "about": 0.0,
        "event_at": NOW - timedelta(days=1000),
        "type": "episodic",
        "importance": 0.5,
        "use_count": 0,
        "utility": 0.0,
    }
    rows = [ordinary | candidate for candidate in candidates]

    def column(name: str) -> Any:
        return np.array([row[name] for row in rows])

    return Pool(
        ids=[UUID(int=number) for number in range(len(rows))],
        cosine=column("cosine"),
        bm25=np.array([IDF * int(row["matched"]).bit_count() for row in rows]),
        matched=column("matched").astype(np.int64),
        idf=np.full(query_terms, IDF),
        conversation=[None] * len(rows),
        position=np.zeros(len(rows), dtype=np.int64),
        speaker=[None] * len(rows),
        layer=np.full(len(rows), 2),
        importance=column("importance"),
        about=column("about"),
        event_at=[row["event_at"] for row in rows],
        type=[row["type"] for row in rows],
        use_count=column("use_count").astype(np.int64),
        utility=column("utility"),
    )


def ranked(
    *candidates: dict[str, Any], asked: Understanding | None = None, off: Sequence[str] = ()
) -> Ranking:
    return rank(pool_of(*candidates), understanding=asked or asking(), calibration=MINILM, off=off)


PREFERRED: list[tuple[str, dict[str, Any], Understanding]] = [
    ("entity", {"about": 1.0}, asking(entities=[ACME])),
    ("temporal", {"event_at": datetime(2025, 3, 9, tzinfo=UTC)}, asking(time_range=MARCH)),
    ("temporal", {"event_at": NOW - timedelta(days=2)}, asking()),
    ("importance", {"importance": 0.9}, asking()),
    ("reinforcement", {"use_count": 20}, asking()),
    ("reinforcement", {"utility": 0.6}, asking()),
    ("summary", {"type": "summary", "importance": 0.9}, asking()),
]


@pytest.mark.parametrize(("signal", "better", "asked"), PREFERRED)
def test_of_two_equally_relevant_memories_the_one_with_the_signal_comes_first(
    signal: str, better: dict[str, Any], asked: Understanding
) -> None:
    for alike in (ALIKE, {"cosine": 0.35, "matched": 0b1}):
        plain, preferred = ranked(alike, alike | better, asked=asked).relevance
        assert preferred > plain


@pytest.mark.parametrize(("signal", "better", "asked"), PREFERRED)
def test_a_signal_that_is_off_counts_nothing_and_is_not_shown(
    signal: str, better: dict[str, Any], asked: Understanding
) -> None:
    ranking = ranked(ALIKE, ALIKE | better, asked=asked, off=[signal])
    assert ranking.relevance[0] == ranking.relevance[1]
    assert not ranking.signals[signal].any()


@pytest.mark.parametrize("signal", ["semantic", "lexical"])
def test_meaning_and_words_can_be_turned_off_too(signal: str) -> None:
    matching = {"cosine": 0.6} if signal == "semantic" else {"matched": 0b111}
    assert ranked(matching).score[0] >= 0.7
    assert ranked(matching, off=[signal]).relevance[0] == 0


def test_what_was_judged_useless_comes_after_what_was_never_judged() -> None:
    unknown, useless = ranked(ALIKE, ALIKE | {"utility": -0.8}).relevance
    assert useless < unknown


def test_a_summary_is_not_preferred_for_the_importance_that_all_summaries_have() -> None:
    ranking = ranked(ALIKE, ALIKE | {"type": "summary", "importance": 0.9}, off=["summary"])
    assert ranking.relevance[0] == ranking.relevance[1]


def test_entities_count_only_when_the_question_names_one() -> None:
    about, not_about = ranked(ALIKE | {"about": 1.0}, ALIKE).relevance
    assert about == not_about


def test_an_entity_that_half_of_the_candidates_are_about_tells_little() -> None:
    def gain(others: int) -> float:
        pool = [ALIKE | {"about": 1.0}] * (1 + others) + [ALIKE] * (101 - others)
        relevance = ranked(*pool, asked=asking(entities=[ACME])).relevance
        return float(relevance[0] - relevance[-1])

    assert gain(0) > 5 * gain(50) > 0


def test_a_period_fades_within_weeks_and_open_ends_reach_on() -> None:
    late = datetime(2025, 4, 11, tzinfo=UTC)
    days = [datetime(2025, 3, 1, tzinfo=UTC), late, late + timedelta(days=60)]
    strengths = ranked(*({"event_at": day} for day in days), asked=asking(time_range=MARCH)).signals[
        "temporal"
    ]
    assert strengths == pytest.approx(0.15 * np.exp(-0.1 * np.array([0, 10, 70])))
    since = asking(time_range=replace(MARCH, end=None))
    assert ranked({"event_at": NOW}, asked=since).signals["temporal"][0] == pytest.approx(0.15)


EVERY_ADVANTAGE = {
    "event_at": NOW,
    "importance": 1.0,
    "use_count": 1000,
    "utility": 1.0,
    "type": "summary",
}


@pytest.mark.parametrize("strategy", sorted(STRATEGY_WEIGHTS))
def test_nothing_irrelevant_becomes_relevant_by_other_signals_alone(strategy: str) -> None:
    advantage = EVERY_ADVANTAGE | {"about": 1.0}
    asked = asking(strategy=strategy, entities=[ACME])
    assert ranked(advantage, asked=asked).score[0] < 0.7


@given(
    st.floats(0, 4),
    st.floats(0, 4),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.sampled_from(sorted(STRATEGY_WEIGHTS)),
)
def test_ordering_signals_leave_everything_on_its_side_of_the_threshold_and_in_order(
    one: float, other: float, strengths: list[float], strategy: str
) -> None:
    content = np.array(sorted([one, other]))
    names = ("temporal", "importance", "reinforcement")
    given_strengths = {name: np.full(2, value) for name, value in zip(names, strengths, strict=True)}
    moved = compute_memory_score(content, given_strengths, STRATEGY_WEIGHTS[strategy])
    assert moved[0] <= moved[1] + 1e-9
    assert (moved >= RELEVANT - 1e-9)[content >= RELEVANT].all()
    assert (moved <= RELEVANT + 1e-9)[content < RELEVANT].all()


def test_learned_weights_without_any_content_do_not_blow_up() -> None:
    weights = {"semantic_similarity": 0.0, "entity_overlap": 1.0}
    moved = compute_memory_score(np.array([1.0]), {"entity": np.array([1.0])}, weights)
    assert moved[0] <= 2.0


def test_a_question_for_a_period_alone_finds_what_happened_in_it() -> None:
    asked = asking("what happened in March 2025?", time_range=MARCH)
    inside, outside = ranked(
        {"event_at": datetime(2025, 3, 9, tzinfo=UTC)},
        {"event_at": datetime(2025, 5, 9, tzinfo=UTC)},
        asked=asked,
    ).score
    assert inside >= 0.7 > outside
    about_more = asking("what did the roof cost in March 2025?", time_range=MARCH)
    assert ranked({"event_at": datetime(2025, 3, 9, tzinfo=UTC)}, asked=about_more).score[0] < 0.7


# Links ----------------------------------------------------------------------------------------------


def linked(
    *candidates: dict[str, Any], edges: Sequence[tuple[int, int, bool, int]], off: Sequence[str] = ()
) -> tuple[Pool, Ranking]:
    pool = pool_of(*candidates)
    named = [(pool.ids[hit], pool.ids[target], about, others) for hit, target, about, others in edges]
    pool = replace(pool, links=links_between(pool.ids, named))
    return pool, rank(pool, understanding=asking(), calibration=MINILM, off=off)


HIT = {"cosine": 0.6, "matched": 0b011}


def test_a_memory_that_a_good_hit_leads_to_passes_those_that_match_a_little() -> None:
    candidates = (HIT, {}, {"cosine": 0.4, "matched": 0b100})
    pool, ranking = linked(*candidates, edges=[(0, 1, True, 1)])
    assert best_first(pool, ranking) == [0, 1, 2]
    assert ranking.signals["linked"][1] > 0
    pool, ranking = linked(*candidates, edges=[(0, 1, True, 1)], off=["linked"])
    assert best_first(pool, ranking) == [0, 2, 1]


def test_what_many_share_or_only_mention_leads_to_less() -> None:
    alone, shared, mentioned = (
        linked(HIT, {}, edges=[(0, 1, about, others)])[1].relevance[1]
        for about, others in ((True, 1), (True, 4), (False, 1))
    )
    assert alone > mentioned > shared


def test_of_several_hits_that_lead_to_a_memory_the_best_counts_and_not_their_sum() -> None:
    once = linked(HIT, HIT, {}, edges=[(0, 2, True, 1)])[1].relevance[2]
    twice = linked(HIT, HIT, {}, edges=[(0, 2, True, 1), (1, 2, True, 1)])[1].relevance[2]
    assert once == twice


def test_a_hit_that_covers_the_whole_question_leads_nowhere() -> None:
    covering = {"cosine": 0.6, "matched": 0b111}
    pool, ranking = linked(covering, HIT, {}, edges=[(0, 2, True, 1)])
    assert ranking.relevance[2] == 0
    assert first_hits(pool, ranking) == [pool.ids[1]]


def test_at_most_five_hits_are_followed_and_none_without_relevance() -> None:
    pool = pool_of(*[HIT] * 9, {})
    assert len(first_hits(pool, rank(pool, understanding=asking(), calibration=MINILM))) == 5
    nothing = pool_of({}, {})
    assert first_hits(nothing, rank(nothing, understanding=asking(), calibration=MINILM)) == []


def test_a_linked_memory_inherits_more_when_it_has_what_the_hit_leaves_open() -> None:
    _, ranking = linked(HIT, {"matched": 0b100}, {"matched": 0b001}, edges=[(0, 1, True, 2), (0, 2, True, 2)])
    assert ranking.signals["linked"][1] > ranking.signals["linked"][2] > 0


def test_links_to_memories_outside_the_pool_are_left_out() -> None:
    pool = pool_of(HIT)
    links = links_between(pool.ids, [(pool.ids[0], UUID(int=99), True, 1)])
    assert len(links.hit) == 0


# Explanations ---------------------------------------------------------------------------------------


def test_the_reasons_are_told_in_the_words_of_the_question() -> None:
    last_month = replace(MARCH, phrase="last month")
    asked = asking(strategy="factual_entity_focused", entities=[ACME], time_range=last_month)
    assert explain({"entity": 0.4, "temporal": 0.2, "lexical": 0.01}, asked) == (
        "recalled because it mentions Acme (entity 0.40) and is from last month (temporal 0.20)"
    )
    assert "is from around last month (temporal 0.12)" in explain({"temporal": 0.12}, asked)
    in_march = asking(time_range=MARCH)
    assert "is from March 2025" in explain({"temporal": 0.15}, in_march)


def test_every_signal_has_a_reason_in_words() -> None:
    for signal in SIGNALS:
        assert "has the signal" not in explain({signal: 0.5})


def test_contributions_are_weight_times_strength_and_the_content_shares_its_weight() -> None:
    ranking = ranked(
        {"cosine": 0.9, "matched": 0b111, "about": 1.0},
        asked=asking(strategy="factual_entity_focused", entities=[ACME]),
    )
    assert tuple(ranking.signals) == SIGNALS
    assert ranking.signals["entity"][0] == pytest.approx(0.40, abs=0.05)
    assert ranking.signals["semantic"][0] + ranking.signals["lexical"][0] == pytest.approx(0.25, abs=0.01)


def test_a_pool_without_the_optional_columns_is_ranked_by_content_alone() -> None:
    full = pool_of(ALIKE, HIT)
    bare = replace(full, importance=None, about=None, event_at=None, type=None, use_count=None, utility=None)
    ranking = rank(bare, understanding=asking(entities=[ACME], time_range=MARCH), calibration=MINILM)
    assert np.allclose(
        ranking.relevance, rank(bare, query="what does it cost?", calibration=MINILM).relevance
    )


def test_an_optional_column_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="'utility' has 1 entries for 2 ids"):
        replace(pool_of(ALIKE, HIT), utility=np.zeros(1))
