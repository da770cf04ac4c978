"""The questions that the requirements give as examples, on a store as it comes: each finds what it should."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from recollect import Recollect, TenantContext

NOW = datetime(2026, 11, 16, tzinfo=UTC)

#: Key, type, day and text.
MEMORIES = [
    ("last-order", "episodic", "2026-10-12", "Acme Corporation ordered forty pallet scanners."),
    ("old-order", "episodic", "2026-03-02", "Acme Corporation ordered two label printers."),
    ("industry", "semantic", "2026-06-01", "Acme Corporation is in the technology industry."),
    ("terms", "semantic", "2026-06-01", "Acme Corporation prefers payment terms NET30."),
    ("usual", "semantic", "2026-06-01", "Acme usually orders pallet scanners and spare batteries together."),
    ("dispute", "episodic", "2026-07-20", "Acme disputed invoice 123 because the freight was billed twice."),
    ("relation", "summary", "2026-06-01", "Acme Corporation is a long-standing customer with large orders."),
    (
        "discount",
        "episodic",
        "2026-05-11",
        "The discount negotiation with Acme went well, they signed at 4 percent.",
    ),
    (
        "rule",
        "procedural",
        "2026-06-01",
        "Large customers with orders above 50,000 get a discount of 5 percent.",
    ),
    (
        "rush",
        "procedural",
        "2026-06-01",
        "Rush orders: call the depot, book the night courier, tell the customer.",
    ),
    (
        "customers",
        "summary",
        "2026-06-01",
        "Our customers are mostly food and technology companies, Acme the largest.",
    ),
    (
        "sales",
        "episodic",
        "2026-11-02",
        "Sales are down this quarter because two customers postponed their orders.",
    ),
    ("database", "semantic", "2026-06-01", "The API team uses PostgreSQL 17 as its database."),
    ("auth", "episodic", "2026-11-09", "Decision: authentication moves to passkeys, passwords are dropped."),
    ("login", "semantic", "2026-06-01", "The login endpoint is POST /v2/session."),
    ("lunch", "episodic", "2026-06-01", "The canteen has curry on Thursdays."),
    ("forklift", "episodic", "2026-06-01", "The forklift was painted green."),
    ("standup", "episodic", "2026-06-01", "The stand-up is at nine from next week."),
]


@pytest.fixture(scope="module")
def desk(default_store: Recollect) -> Recollect:
    tenant = f"seed-questions-{uuid4().hex[:12]}"  # a worker may run this module in two parts
    default_store.tenants.create(tenant)
    client = default_store.for_context(TenantContext(tenant_id=tenant, user_id="ana", roles=("admin",)))
    for key, kind, day, text in MEMORIES:
        client.add(
            text, metadata={"key": key}, type=kind, created_at=datetime.fromisoformat(f"{day}T09:00:00+00:00")
        )
    return client


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did Acme Corporation order last month?", "last-order"),
        ("How do I usually handle rush orders?", "rush"),
        ("How do I handle rush orders?", "rush"),
        ("Why are sales down this quarter?", "sales"),
        ("What does Acme usually order?", "usual"),
        ("Why did Acme dispute invoice #123?", "dispute"),
        ("What database does the API team use?", "database"),
        ("what is the login endpoint", "login"),
        ("Show me recent authentication decisions", "auth"),
    ],
)
def test_the_first_hit_is_the_one_the_requirements_describe(
    desk: Recollect, question: str, first: str
) -> None:
    keys = [hit.metadata["key"] for hit in desk.search(question, now=NOW)]
    assert keys[:1] == [first], keys


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Tell me about my customers", {"customers"}),
        ("Tell me about my relationship with Acme", {"relation"}),
        ("Should I offer Acme a discount?", {"terms", "discount", "rule"}),
        ("What did Acme Corporation order?", {"last-order", "old-order"}),
    ],
)
def test_wide_questions_find_all_that_the_requirements_name(
    desk: Recollect, question: str, wanted: set[str]
) -> None:
    keys = {hit.metadata["key"] for hit in desk.search(question, now=NOW)}
    assert wanted <= keys
    assert not keys & {"lunch", "forklift", "standup"}
