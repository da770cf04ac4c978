"""A small library in the test's tenant, and chat models' servers that say what a test tells them to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.oracle.small_library import BREAD, SHOP, put_document
from tests.runs.model_server import ModelServer, serve

from recollect import Recollect, Settings, TenantContext


@pytest.fixture
def library(client: Recollect) -> Recollect:
    """The test's tenant with two documents."""
    put_document(client, "shop.md", SHOP)
    put_document(client, "bread.md", BREAD)
    return client


@pytest.fixture
def chat() -> Iterator[ModelServer]:
    """A scripted chat server that speaks OpenAI's and Anthropic's protocols."""
    with serve() as server:
        yield server


@pytest.fixture
def with_model(settings: Settings, tenant_id: str, chat: ModelServer) -> Iterator[Callable[..., Recollect]]:
    """The test's tenant through a client whose chat model is the scripted server: `with_model("openai:m")`."""
    opened: list[Recollect] = []

    def make(name: str = "openai:m", **changes: Any) -> Recollect:
        # Anthropic's client adds the version to the path itself.
        url = chat.url.removesuffix("/v1") if name.startswith("anthropic:") else chat.url
        profile = {"retries": 0, "timeout_s": 60.0, **changes.pop("model_profile", {})}
        reached = {"model": name, "model_base_url": url, "model_profile": profile}
        changed = settings.replace(**{**reached, **changes})
        context = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin", "operator"))
        opened.append(Recollect(settings=changed, context=context))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
