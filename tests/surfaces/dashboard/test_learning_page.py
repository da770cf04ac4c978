"""What was learned: curves and bars of it, experiments, and training by a click."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from recollect import Recollect

from .conftest import PHONE, overflows

if TYPE_CHECKING:
    from .conftest import Visit

SCRIPT = "<img src=x onerror='window.hit=1'>"
WEIGHTS = {
    "semantic_similarity": 0.2,
    "entity_overlap": 0.1,
    "temporal_relevance": 0.5,
    "importance": 0.1,
    "reinforcement": 0.1,
}


def learn(owner_conninfo: str, tenant_id: str, user: str) -> None:
    """Rewards and a policy as a training leaves them."""
    with psycopg.connect(owner_conninfo) as connection:
        for number in range(30):
            connection.execute(
                "insert into recollect.run (tenant_id, run_id, user_id, environment, planner, started_at, stopped_by,"
                " subcalls, tokens, outcome, reward, trained, trajectory) values"
                " (%s, %s, 'ana', 'memory', 'policy', now() - make_interval(hours => %s), 'done', 3, 100,"
                " 'result_used', %s, true, '{}')",
                [tenant_id, uuid4(), 30 - number, number / 30],
            )
        for kind, category, weights in (
            ("signals", "exploratory", WEIGHTS),
            ("decomposition", "memory", {"bias": 1}),
        ):
            connection.execute(
                "insert into recollect.policy (tenant_id, policy_id, kind, user_id, category, weights, evaluation,"
                " events, state) values (%s, %s, %s, %s, %s, %s, %s, 140, 'active')",
                [
                    tenant_id,
                    uuid4(),
                    kind,
                    user if kind == "signals" else "",
                    category,
                    Jsonb(weights),
                    Jsonb({"reason": "gain +0.04"}),
                ],
            )


def test_rewards_weights_and_counts_are_shown(
    visit: Visit, client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    memory = client.add("The launch is on Friday.")
    client.feedback(memory.id, "helpful", query_id=client.search("When is the launch?").query_id)
    learn(owner_conninfo, tenant_id, "ana")
    page = visit("/learning")
    # A chart each for the rewards and the four kinds of questions.
    page.locator("canvas").nth(4).wait_for()
    page.get_by_text("for ana · from 140 searches").wait_for()
    page.get_by_text("from 140 runs").wait_for()
    assert page.get_by_text("gain +0.04").count() == 2
    page.get_by_text("helpful").wait_for()


def test_what_is_missing_is_said_and_training_is_a_click(visit: Visit) -> None:
    page = visit("/learning", size=PHONE)
    for text in (
        "No reward yet",
        "Nothing is known yet",
        "Nothing was compared yet",
        "that came with Recollect",
    ):
        page.get_by_text(text).wait_for()
    page.get_by_role("button", name="Train now").click()
    page.get_by_role("alert").get_by_text("0 memories rated anew").wait_for()
    assert not overflows(page)


def test_an_experiment_is_started_shown_and_stopped(visit: Visit, client: Recollect) -> None:
    page = visit("/learning")
    page.get_by_role("button", name="Start one").click()
    page.get_by_role("dialog").get_by_label("Name").fill(SCRIPT)
    page.get_by_role("dialog").get_by_label("Arm", exact=True).fill("newer")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("too early to tell").wait_for()
    page.get_by_text(SCRIPT, exact=True).wait_for()
    running = client.learning.status().experiment
    assert running is not None
    assert (running.name, running.shares) == (SCRIPT, {"as now": 0.5, "newer": 0.5})
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    page.get_by_text("stopped", exact=True).wait_for()
    assert client.learning.status().experiment is None
    assert page.evaluate("window.hit") is None


def test_a_plan_that_makes_no_sense_is_refused_and_kept(visit: Visit, client: Recollect) -> None:
    page = visit("/learning")
    page.get_by_role("button", name="Start one").click()
    page.get_by_role("dialog").get_by_label("Name").fill("same")
    page.get_by_role("dialog").get_by_label("Arm", exact=True).fill("as now")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("alert").get_by_text("the same name").wait_for()
    assert page.get_by_role("dialog").get_by_label("Name").input_value() == "same"
    assert client.learning.status().experiment is None


def test_names_in_what_was_learned_are_text(visit: Visit, owner_conninfo: str, tenant_id: str) -> None:
    learn(owner_conninfo, tenant_id, SCRIPT)
    page = visit("/learning", size=PHONE, dark=True)
    page.get_by_text(f"for {SCRIPT}").wait_for()
    # A tooltip of a chart is made of markup.
    page.locator("canvas").nth(3).hover()
    page.get_by_text(f"learned for {SCRIPT}").wait_for()
    assert page.evaluate("window.hit") is None
    assert not overflows(page)
