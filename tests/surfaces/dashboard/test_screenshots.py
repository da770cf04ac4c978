"""The main pages over the demo world, as pictures.

`SCREENSHOTS=docs/images pytest tests/surfaces/dashboard/test_screenshots.py -n0` makes those of the docs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.surfaces.dashboard.conftest import PHONE, overflows

from recollect import Recollect, TenantContext
from recollect.contrib.demo.world import load_world, store_world

if TYPE_CHECKING:
    from tests.surfaces.dashboard.conftest import Visit

DOCS = Path(__file__).parents[3] / "docs"
QUESTION = "What does the store keep of a key, and who can rotate or revoke it?"
#: A page of one colour is a few kilobytes.
_LEAST_BYTES = 15_000


@pytest.fixture
def world(store: Recollect) -> Recollect:
    """The demo world in a tenant of its own, some searches, and this project's own docs in its library."""
    tenant = f"fernhill-{uuid4().hex[:4]}"
    world = load_world()
    store_world(store, world, tenant=tenant)
    for question in world.questions[:12]:
        store.for_context(world.context(question.asked_by, tenant=tenant)).search(question.ask)
    admin = store.for_context(TenantContext(tenant_id=tenant, user_id="quinn", roles=("admin", "operator")))
    for name in ("server.md", "library.md", "oracle.md", "isolation.md", "search.md"):
        admin.library.add((DOCS / name).read_bytes(), name=name, tags=["docs"])
    return admin


def test_the_main_pages_can_be_looked_at(visit: Visit, world: Recollect, tmp_path: Path) -> None:
    folder = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    token = world.keys.create("browser", user="quinn", roles=("admin", "operator")).token
    asked = world.oracle_consult(QUESTION, "thorough")
    assert asked.citations, asked.answer
    shots = {
        "overview": ("/", False),
        "memories": ("/memories?q=Why did checkout fail?", False),
        "library": ("/library/server.md?line=21", False),
        "consultation": (f"/consultations/{asked.consultation.id}", False),
        "consultations-dark": ("/consultations", True),
    }
    for name, (path, dark) in shots.items():
        page = visit(path, token=token, dark=dark)
        if name == "consultation":
            page.get_by_role("button", name="Show source 1").click()
            page.locator(".source .cited").first.wait_for()
        if name == "memories":
            page.get_by_text("Why", exact=True).first.click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(400)  # charts draw themselves
        picture = page.screenshot(path=folder / f"{name}.png")
        assert len(picture) > _LEAST_BYTES, name
        assert not overflows(page), name
        page.close()
    page = visit("/", token=token, size=PHONE, dark=True)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)
    assert len(page.screenshot(path=folder / "phone.png")) > _LEAST_BYTES
    assert not overflows(page)
