"""Learning as users meet it: searches, what served, training, and better rankings for questions nobody asked before.

Ana always wants the newest of several memories about a topic; the table of strategies does not know that. Everything
goes through the public door and the real store.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from recollect import Recollect, Settings, TenantContext

pytestmark = pytest.mark.system  # hundreds of searches, and training on them

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WORDS = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split()
TOPICS = [f"{one}{two}" for one in ("bal", "cor", "dun", "fen", "gri", "hol", "jas", "kel", "lom", "mur") for two in (
    "aro", "bex", "cid", "dov", "eth", "fip", "gan", "hux", "ilo", "jep", "kir", "lud", "mav", "nok", "osk",
)]  # fmt: skip

Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def learner(settings: Settings, tenant_id: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recollect]:
    """An admin of the test's tenant, on a client that learns from 100 judged searches on."""
    monkeypatch.setattr("recollect.learning.training.MIN_EVENTS", 100)
    # Whoever asks for a training here wants to be the first, also where hundreds of searches take a minute.
    monkeypatch.setattr("recollect.retrieval.training.LEARN_AFTER_S", 86_400.0)
    context = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin", "operator"))
    with Recollect(settings=settings, context=context) as client:
        yield client


def as_user(client: Recollect, name: str, **parts: Any) -> Recollect:
    context = client.tenant_context.replace(user_id=name, roles=(), **parts)
    return client.for_context(context)


def fill(client: Recollect, rng: random.Random) -> dict[str, list[UUID]]:
    """Six memories per topic, equally about it, of different ages and importance; the newest first."""
    items, topics = [], []
    for topic in TOPICS:
        ages = sorted(rng.sample(range(1, 500), 6))
        for age in ages:
            text = f"{topic}: {' '.join(rng.sample(WORDS, 7))}"
            created = NOW - timedelta(days=age)
            items.append({"text": text, "created_at": created, "importance": round(rng.random(), 2)})
            topics.append(topic)
    report = client.add_many(items)
    found: dict[str, list[UUID]] = {topic: [] for topic in TOPICS}
    for topic, id in zip(topics, report.ids, strict=True):
        assert id is not None
        found[topic].append(id)
    return found


def ask(client: Recollect, topic: str) -> tuple[UUID, list[UUID]]:
    results = client.search(f"tell me about {topic}", limit=6, threshold=0.0, now=NOW)
    return results.query_id, [hit.id for hit in results]


def newest_first(client: Recollect, world: dict[str, list[UUID]], topics: list[str]) -> float:
    """The mean reciprocal place of the newest memory of each topic."""
    total = 0.0
    for topic in topics:
        _, found = ask(client, topic)
        total += 1 / (found.index(world[topic][0]) + 1) if world[topic][0] in found else 0.0
    return total / len(topics)


def use(
    client: Recollect, world: dict[str, list[UUID]], topics: list[str], pick: Callable[[list[UUID]], UUID]
) -> None:
    for number, topic in enumerate(topics):
        session = client.for_context(client.tenant_context.replace(session_id=f"s{number // 2}"))
        query, found = ask(session, topic)
        known = [id for id in world[topic] if id in found]
        if len(known) > 1:
            session.learning.log_retrieval_event(query, [pick(known)])


def test_after_enough_judged_searches_new_questions_are_ranked_as_the_user_likes(
    learner: Recollect, rows: Rows
) -> None:
    ana = as_user(learner, "ana")
    world = fill(ana, random.Random(1))
    asked, unasked = TOPICS[:110], TOPICS[110:]
    before = newest_first(ana, world, unasked)
    use(ana, world, asked, lambda known: known[0])
    report = learner.learning.train()
    active = [policy for policy in report.policies if policy.state == "active"]
    assert active, report
    weights = active[0].weights
    assert weights["temporal_relevance"] > 0.25
    after = newest_first(ana, world, unasked)
    assert (
        after > before + (1 - before) / 3
    )  # a third of what is left: the newest answer comes first by itself
    assert any(policy["state"] == "active" for policy in rows("policy"))

    # What Ana taught is hers until the tenant as a whole has learned it; here she is the tenant's only teacher.
    assert {policy.user_id for policy in active} <= {"ana", None}
    learner.learning.reset()
    assert newest_first(ana, world, unasked) == pytest.approx(before, abs=0.05)


def test_users_who_take_anything_teach_nothing(learner: Recollect) -> None:
    rng = random.Random(2)
    ana = as_user(learner, "ana")
    world = fill(ana, rng)
    use(ana, world, TOPICS[:120], rng.choice)
    report = learner.learning.train()
    assert report.policies
    assert [policy.state for policy in report.policies] == ["candidate"] * len(report.policies)
    assert all("gain" in policy.evaluation for policy in report.policies)


def test_too_few_judged_searches_learn_no_weights(learner: Recollect) -> None:
    ana = as_user(learner, "ana")
    world = fill(ana, random.Random(3))
    use(ana, world, TOPICS[:20], lambda known: known[0])
    assert learner.learning.train().policies == ()
    status = learner.learning.status()
    assert status.judged == 20
    assert status.needed == 100
