"""`advise`: the triggers of recipes and presets, held against a task."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from recollect import Recollect, TenantContext
from recollect.errors import InvalidInputError
from recollect.oracle.advice import SIGNS
from recollect.runs.roles import ROLES, get_role

TRACE = 'Traceback (most recent call last):\n  File "net.py", line 3, in connect\nTimeoutError: mail'


@pytest.fixture(scope="module")
def shop(default_store: Recollect) -> Recollect:
    tenant = f"advised-{uuid4().hex[:12]}"  # a worker may run this module in two parts
    default_store.tenants.create(tenant)
    client = default_store.for_context(TenantContext(tenant_id=tenant, user_id="ana"))
    client.library.add(b"# Forms\n\nAn upload is checked first.\n", name="fastforms-docs", wait=True)
    return client


def test_every_trigger_of_every_recipe_and_preset_is_looked_for() -> None:
    assert set(SIGNS) == set(ROLES)
    for name, signs in SIGNS.items():
        assert len(signs) == len(get_role(name).triggers)


@pytest.mark.parametrize(
    ("agent", "trigger", "task", "more"),
    [
        ("architect", 0, "Put the sign-up page on fastforms", {}),
        ("architect", 1, "Build the sign-up page", {"notes": "We use fastforms. Deploys run on Fridays."}),
        ("architect", 2, "What should the endpoint for orders look like?", {}),
        ("reviewer", 0, "Is this mutation pattern correct?", {}),
        ("reviewer", 1, "Check the fastforms upload", {"files": ["uploads.py"]}),
        ("reviewer", 2, "Does it follow best practices?", {}),
        ("spec builder", 0, "Which ideas of the white paper apply to us?", {}),
        ("spec builder", 1, "What does RFC 9110 demand of caches?", {}),
        ("spec builder", 2, "Compare what the two vendors promise", {}),
        ("repo mapper", 1, "I am new to this repository", {}),
        ("repo mapper", 2, "Estimate the move to Python 3.13", {}),
        ("architecture surveyor", 0, "Trace the order from cart.py to mail.py", {}),
        ("architecture surveyor", 1, "What depends on the money module?", {}),
        ("architecture surveyor", 2, "Are there circular imports?", {}),
        ("debugger", 0, "Make saving work", {"fail_count": 5}),
        ("debugger", 1, f"Why? {TRACE}", {}),
        ("debugger", 2, "The lost order came back", {}),
        ("validation", 0, "Understand the integration tests of the checkout", {}),
        ("validation", 1, "Which tests speak about refunds?", {}),
        ("validation", 2, "Tests of the mailer fail since then", {}),
    ],
)
def test_a_task_that_a_trigger_speaks_of_sets_it_off(
    shop: Recollect, agent: str, trigger: int, task: str, more: dict[str, object]
) -> None:
    [advice] = shop.advise(task, agent=agent, **more)  # type: ignore[arg-type]
    wanted = get_role(agent).triggers[trigger]
    assert wanted in advice.triggers
    assert all(advice.reasons)


def test_a_small_task_sets_nothing_off(shop: Recollect) -> None:
    assert shop.advise("Rename the variable x to total", fail_count=4) == []
    assert (
        shop.advise("Write the release note", notes="We use fastforms. A form in fastforms is a class.") == []
    )


def test_large_code_is_to_be_mapped_first(shop: Recollect, tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text("total = 1\n" * 40_000)
    [advice] = shop.advise("Rename the variable x to total", path=tmp_path)
    assert (advice.verb, advice.agent) == ("explore", "repo mapper")
    assert advice.arguments["path"] == str(tmp_path)


def test_an_advice_can_be_followed_as_it_is(shop: Recollect) -> None:
    [advice] = shop.advise("What does fastforms check first in an upload?", agent="architect")
    assert advice.arguments["doc_ids"] == ["fastforms-docs"]
    result = shop.oracle_consult(**advice.arguments)
    assert result.consultation.agent == "architect"
    assert "checked first" in result.answer


@pytest.mark.parametrize(
    "given", [{"task": " "}, {"task": "x", "agent": "plumber"}, {"task": "x", "fail_count": -1}]
)
def test_what_makes_no_sense_is_refused(shop: Recollect, given: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        shop.advise(**given)  # type: ignore[arg-type]
