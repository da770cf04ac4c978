"""Which questions are decomposed: the contract's table, what looks complex and is not, and any input at all."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInputError
from recollect.runs.router import ComplexityRouter, RouteDecision
from recollect.text.complexity import (
    AGGREGATION_CEILING,
    COMPARISON_CEILING,
    MULTI_LAYER_CEILING,
    STRUCTURE_CEILING,
)
from recollect_bench.route import SPLITS, WANTED, read_cases

ROUTER = ComplexityRouter()


@pytest.mark.parametrize(
    ("query", "route"),
    [
        ("what is the login endpoint", "standard"),
        ("What database does the API team use?", "standard"),
        ("Show me recent authentication decisions", "standard"),
        ("compare patterns across teams", "rlm"),
        ("Compare error handling patterns across all Platform Engineering teams", "rlm"),
        ("trace evolution of auth since last quarter", "rlm"),
    ],
)
def test_the_promised_routes_hold(query: str, route: str) -> None:
    assert ROUTER.route(query) == route
    assert ROUTER.should_route_to_rlm(query) is (route == "rlm")
    assert ROUTER.compute_complexity(query) == ROUTER.score(query)


@pytest.mark.parametrize(
    "query",
    [
        "the mother of the director of X",
        "Who is the mother of the director of Inception?",
        "Where did the founder of the company that makes the phone of the CEO's wife go to school?",
        "When did the people who captured Malakoff come to the region where Philipsburg is located?",
    ],
)
def test_a_question_that_reaches_one_thing_through_another_stays_standard(query: str) -> None:
    assert ROUTER.route(query) is RouteDecision.STANDARD


@pytest.mark.parametrize(
    ("like", "unlike"),
    [
        ("Is that all?", "Show me all that every team said"),
        ("Did Ana compare the quotes of the two shops?", "Compare the quotes of the two shops"),
        ("How do I use the Compare the Market site?", "Compare the market in Porto with the one in Lisbon"),
        ("What grade did I get in history?", "Summarize the history of pricing changes"),
        ("Send the link in Teams", "How do teams send links?"),
        ("What sports teams does my son follow?", "What do teams in the company follow?"),
        ("Where does our team meet?", "Where do our teams meet?"),
        ("When did I watch Kramer vs. Kramer?", "Redis vs. Memcached"),
        ("Does this make a difference?", "What is the difference between staging and production?"),
        ("Who wrote 'A Short History of Nearly Everything'?", "Trace the history of the parser"),
        ("What does the Total War manual say?", "What is the total per department?"),
        ("How is the user session stored?", "How do all users store sessions across projects?"),
    ],
)
def test_a_word_counts_for_what_it_means_there(like: str, unlike: str) -> None:
    assert ROUTER.route(like) is RouteDecision.STANDARD
    assert ROUTER.route(unlike) is RouteDecision.RLM


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("login endpoint", ()),
        ("team/api and team/web", ("multi_layer",)),
        ("what does the API team do", ()),
        ("recap it", ("aggregation",)),
        ("compare it", ("comparison",)),
        ("where did it go then, and what came after it last year", ("structure",)),
        ("compare teams", ("multi_layer", "comparison", "structure")),
    ],
)
def test_each_signal_is_seen_for_itself(query: str, parts: tuple[str, ...]) -> None:
    seen = ROUTER.signals(query)
    named = ("multi_layer", "aggregation", "comparison", "structure")
    assert tuple(name for name in named if getattr(seen, name) > 0) == parts
    assert seen.has_aggregation is ("aggregation" in parts)
    assert seen.has_comparison is ("comparison" in parts)
    assert seen.query_length == len(query.split())


def test_layers_and_scopes_are_counted() -> None:
    assert ROUTER.signals("what does the API team do").layer_count == 1
    assert ROUTER.signals("what do the API team and the Web team do").layer_count == 2
    assert ROUTER.signals("team/api, team/web and org/platform").layer_count == 3
    assert ROUTER.signals("the parser").layer_count == 0


def test_the_threshold_is_the_roll_out() -> None:
    hardest = "Compare error handling across all teams and how it evolved since last quarter, then summarize"
    complex_one = "trace evolution of auth since last quarter"
    routed = {
        threshold: [
            ComplexityRouter(threshold).should_route_to_rlm(q) for q in (hardest, complex_one, "login")
        ]
        for threshold in (0.0, 0.3, 0.5, 1.0)
    }
    assert routed == {
        0.0: [True, True, True],
        0.3: [True, True, False],
        0.5: [True, False, False],
        1.0: [False, False, False],
    }


def test_at_one_even_a_full_score_stays_standard() -> None:
    assert ComplexityRouter(1.0).decide(1.0) is RouteDecision.STANDARD
    assert ComplexityRouter(0.99).decide(1.0) is RouteDecision.RLM


def test_switched_off_everything_is_standard() -> None:
    router = ComplexityRouter(threshold=0.0, enabled=False)
    assert router.route("compare patterns across teams") is RouteDecision.STANDARD


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True])
def test_a_threshold_that_makes_no_sense_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidInputError, match="is not a number from 0 to 1"):
        ComplexityRouter(threshold)


@pytest.mark.parametrize(
    "query", ["", " ", "\x00", "?", "🎉🎉", "登录接口是什么", "ما هي كلمة المرور", "'" * 9_000]
)
def test_input_without_words_we_know_stays_standard(query: str) -> None:
    assert ROUTER.route(query) is RouteDecision.STANDARD


def test_of_a_pasted_page_the_question_at_its_end_counts() -> None:
    page = "the quick brown fox jumps over the lazy dog. " * 2_000
    assert ROUTER.route(page) is RouteDecision.STANDARD
    assert ROUTER.route(page + "Compare this across all teams.") is RouteDecision.RLM
    assert ROUTER.route("Compare this across all teams: " + page) is RouteDecision.RLM
    middle = f"{page} compare this across all teams {page}"
    assert ROUTER.route(middle) is RouteDecision.STANDARD


@given(st.text(max_size=400))
def test_every_part_stays_below_its_ceiling_and_their_sum_is_the_score(query: str) -> None:
    seen = ROUTER.signals(query)
    assert 0 <= seen.multi_layer <= MULTI_LAYER_CEILING
    assert 0 <= seen.aggregation <= AGGREGATION_CEILING
    assert 0 <= seen.comparison <= COMPARISON_CEILING
    assert 0 <= seen.structure <= STRUCTURE_CEILING
    total = seen.multi_layer + seen.aggregation + seen.comparison + seen.structure
    assert seen.computed_score == pytest.approx(total, abs=1e-4)


WORDS = "compare all teams across summarize every history of since then team and vs the project user".split()


@given(st.lists(st.sampled_from([*WORDS, ",", "?", "API", "Teams"]), max_size=60).map(" ".join))
def test_any_order_of_the_words_gives_a_score_from_0_to_1(query: str) -> None:
    assert 0.0 <= ROUTER.score(query) <= 1.0


def test_the_labelled_set_is_large_balanced_and_has_no_repeats() -> None:
    cases = read_cases()
    assert len({case.query.casefold() for case in cases}) == len(cases) >= 160
    halves = Counter((case.split, case.route.value) for case in cases)
    assert set(halves) == {(split, route) for split in SPLITS for route in ("standard", "rlm")}
    assert min(halves.values()) >= 40


@pytest.mark.parametrize("split", SPLITS)
def test_nine_in_ten_labelled_questions_are_sent_rightly(split: str) -> None:
    cases = [case for case in read_cases() if case.split == split]
    right = sum(ROUTER.route(case.query) is case.route for case in cases)
    assert right >= WANTED * len(cases)
