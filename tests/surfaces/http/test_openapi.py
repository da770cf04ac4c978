"""The OpenAPI document is the truth: whatever it allows is answered as it says, and nothing breaks the server."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from recollect import Recollect, TenantContext

#: Training may take minutes.
LEFT_OUT = ["learning_bootstrap"]
#: Of each operation.
EXAMPLES = 6
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def ask(operation: Any, token: str) -> tuple[list[int], list[str]]:
    """The statuses of some requests of an operation, and what is wrong with their answers."""
    statuses: list[int] = []

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        response = case.call(headers={"Authorization": f"Bearer {token}"})
        statuses.append(response.status_code)
        case.validate_response(response, checks=CHECKS)

    try:
        send()
    except (Exception, BaseExceptionGroup) as error:
        return statuses, [f"{operation.label}: {error}"]
    return statuses, []


@pytest.mark.system
def test_every_request_that_the_document_allows_is_answered_as_it_says(server: Any, store: Recollect) -> None:
    document = schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json").exclude(operation_id=LEFT_OUT)
    asked, refused, wrong = 0, [], []
    for result in document.get_all_operations():
        operation = result.ok()
        # A tenant and a key of its own: whatever an operation erases, it takes the ground from under no other.
        tenant = f"fuzz-{uuid4().hex[:12]}"
        store.tenants.create(tenant)
        inside = store.for_context(TenantContext(tenant_id=tenant, user_id="root", roles=("admin",)))
        statuses, found = ask(operation, inside.keys.create("fuzz", user="ana", roles=["admin"]).token)
        asked += len(statuses)
        wrong += found
        if statuses[:1] == [401]:
            refused.append(operation.label)
    assert not wrong, "\n".join(wrong)
    assert not refused, "these never got past the door"
    assert asked > 40 * EXAMPLES // 2
