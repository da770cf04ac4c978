"""The policy of decompositions: probabilities, lots, bounds, JSON, the prior and the base."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learning.toy import ToyEnvironment, finished, run_toy

from recollect.errors import InvalidInputError
from recollect.learning.policy import MAX_WEIGHT, PRIOR, DecompositionPolicy, base_policy

OPTIONS = {
    "search": {"bias": 1.0, "comparison": 1.0},
    "by_scope": {"bias": 1.0, "comparison": 1.0},
    "stop": {"bias": 1.0},
}
LEANING = DecompositionPolicy(weights={"by_scope": {"comparison": 2.0}, "search": {"bias": 1.0}})


def test_without_exploring_the_best_is_taken_for_sure() -> None:
    assert LEANING.probabilities(OPTIONS) == {"search": 0.0, "by_scope": 1.0, "stop": 0.0}
    assert LEANING.draw(OPTIONS, random.Random(1)) == ("by_scope", 1.0)


def test_exploring_keeps_every_template_possible_and_says_how_likely_it_was() -> None:
    policy = LEANING.exploring(0.5)
    chances = policy.probabilities(OPTIONS)
    assert math.isclose(sum(chances.values()), 1.0)
    assert all(chance > 0.01 for chance in chances.values())
    rng = random.Random(7)
    drawn = Counter(policy.draw(OPTIONS, rng)[0] for _ in range(4_000))
    for name, chance in chances.items():
        assert abs(drawn[name] / 4_000 - chance) < 0.03  # the seed is fixed
    assert policy.draw(OPTIONS, random.Random(3))[1] in chances.values()


@given(
    weights=st.dictionaries(
        st.sampled_from(["search", "by_scope", "stop"]),
        st.dictionaries(st.sampled_from(["bias", "comparison"]), st.floats(allow_nan=True)),
    ),
    exploration=st.floats(0.0, 1.0),
    temperature=st.floats(0.0, 10.0),
)
def test_probabilities_add_up_whatever_the_weights(
    weights: dict[str, dict[str, float]], exploration: float, temperature: float
) -> None:
    policy = DecompositionPolicy(weights=weights, exploration=exploration, temperature=temperature)
    assert all(abs(value) <= MAX_WEIGHT for known in policy.weights.values() for value in known.values())
    chances = policy.probabilities(OPTIONS)
    assert math.isclose(sum(chances.values()), 1.0, abs_tol=1e-9)
    assert all(0.0 <= chance <= 1.0 for chance in chances.values())


def test_a_template_that_a_policy_does_not_know_is_neutral() -> None:
    options = {**OPTIONS, "newer": {"bias": 1.0, "unheard_of": 1.0}}
    assert LEANING.score("newer", options["newer"]) == 0.0
    assert LEANING.best(options) == "by_scope"
    assert 0.0 < LEANING.exploring(1.0).probabilities(options)["newer"] < 0.5


def test_features_that_are_no_numbers_between_0_and_1_do_no_harm() -> None:
    assert LEANING.score("by_scope", {"comparison": math.nan}) == 0.0
    assert LEANING.score("by_scope", {"comparison": 1e9}) == 2.0


def test_nothing_to_choose_from_is_said() -> None:
    assert LEANING.probabilities({}) == {}
    with pytest.raises(ValueError, match="nothing to choose"):
        LEANING.draw({}, random.Random(1))


def test_a_policy_survives_json() -> None:
    policy = LEANING.exploring(0.25)
    assert DecompositionPolicy.read(json.loads(json.dumps(policy.document()))) == policy


@pytest.mark.parametrize(
    "document",
    [None, {}, {"version": 1}, {"version": 99, "weights": {}}, {"version": 1, "weights": {"search": 3}},
     {"version": 1, "weights": {"search": {"bias": "much"}}}],
)  # fmt: skip
def test_a_policy_that_can_not_be_read_is_refused_with_advice(document: object) -> None:
    with pytest.raises(InvalidInputError, match="train anew"):
        DecompositionPolicy.read(document)


def test_the_prior_tries_every_split_before_it_ends() -> None:
    for kind in ("compare", "follow"):
        answered, trajectory = run_toy(kind, PRIOR, random.Random(1))
        tried = [step.choice.template for step in trajectory.steps if step.choice]
        assert answered
        assert set(tried) == {"search", "by_scope", "bridge", "stop"}
        assert (tried[0], tried[-1]) == ("search", "stop")


def test_the_base_of_the_package_can_be_read_and_knows_the_templates_of_the_prior() -> None:
    assert set(base_policy().weights) >= set(PRIOR.weights)
    assert base_policy().exploration == 0.0
    assert base_policy().name in ("base", "prior")


def test_a_planner_draws_the_same_for_the_same_seed() -> None:
    policy = PRIOR.exploring(1.0)

    def paths(seed: int) -> list[list[str]]:
        rng = random.Random(seed)
        runs = [run_toy("compare", policy, rng)[1] for _ in range(10)]
        return [[step.choice.template for step in run.steps if step.choice] for run in runs]

    assert paths(5) == paths(5)
    assert len({tuple(path) for path in paths(5)}) > 1


def test_a_planner_ends_when_nothing_is_offered() -> None:
    from recollect.runs.planners.contract import Remaining, Situation
    from recollect.runs.planners.learned import LearnedPlanner

    class Empty(ToyEnvironment):
        def actions(self, query: str, depth: int, step: int) -> list:  # type: ignore[type-arg]
            return []

    left = Remaining(subcalls=0, subcalls_this_step=0, depth=0, tokens=None, usd=None, seconds=None)
    situation = Situation(
        query="x", depth=0, environment=Empty("compare"), steps=(), findings=(), remaining=left
    )
    plan = finished(LearnedPlanner(PRIOR).plan(situation))
    assert plan.done
    assert plan.calls == ()


def test_a_step_says_what_was_drawn_what_else_could_have_been_and_how_much_budget_was_left() -> None:
    _, trajectory = run_toy("compare", PRIOR.exploring(0.5), random.Random(2))
    choice = trajectory.steps[0].choice
    assert choice is not None
    assert set(choice.options) == {"search", "by_scope", "bridge", "stop"}
    assert choice.probability == PRIOR.exploring(0.5).probabilities(choice.options)[choice.template]
    assert choice.features == choice.options[choice.template]
    assert choice.features["left"] == 1.0
