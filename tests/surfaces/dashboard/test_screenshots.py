"""Every page over the demo world, light, dark and on a phone, as pictures.

`SCREENSHOTS=docs/images pytest tests/surfaces/dashboard/test_screenshots.py -n0` makes those of the docs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import uuid4

import pytest
from tests.surfaces.dashboard.conftest import DESK, PHONE, overflows

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
    store.for_context(TenantContext(tenant_id=tenant, user_id="quinn", roles=("admin",))).tenants.set_traces(
        keep_questions=True
    )
    for question in world.questions[:12]:
        store.for_context(world.context(question.asked_by, tenant=tenant)).search(question.ask)
    admin = store.for_context(TenantContext(tenant_id=tenant, user_id="quinn", roles=("admin", "operator")))
    for name in ("server.md", "library.md", "oracle.md", "isolation.md", "search.md"):
        admin.library.add((DOCS / name).read_bytes(), name=name, tags=["docs"])
    return admin


def pages_of(world: Recollect) -> dict[str, str]:
    """Every page, by the name of its picture."""
    asked = world.oracle_consult(QUESTION, "thorough")
    assert asked.citations, asked.answer
    world.oracle_consult("Which planet is the largest?", "quick")
    turn = next(one for one in world.list(limit=1_000) if one.conversation and (one.position or 0) > 1)
    trace = world.traces.list(limit=1)[0]
    world.search("Compare error handling patterns across all teams, and say who changed theirs")
    runs = world.learning.runs(limit=1)
    explored = world.explore(DOCS.parent / "src/recollect/domain", "Where is the scope of a layer read?")
    return {
        "overview": "/",
        "memories": "/memories",
        "search": "/memories?q=Why did checkout fail?",
        "memory": f"/memories/{turn.id}?q={quote(turn.text[:40])}",
        "entities": "/entities",
        "entity": "/entities/orvo",
        "library": "/library",
        "document": "/library/server.md?line=21",
        "ask": "/ask?q=Why was Tidepool chosen over Beacon?&sources=memories",
        "runs": "/runs",
        "consultation": f"/consultations/{asked.consultation.id}",
        "traces": "/traces",
        "trace": f"/traces/{trace.id}",
        "capabilities": "/capabilities",
        "learning": "/learning",
        "tenants": "/tenants",
        "run": f"/runs/{runs[0].id}",
        "exploration": f"/explorations/{explored.task_id}",
        **long_pages(world),
    }


def long_pages(world: Recollect) -> dict[str, str]:
    """A memory of twenty kilobytes, a question of two, names of two hundred letters, with blanks and without."""
    text = "The kiln cools for a while before the glaze of the next batch is put on. " * 270
    blanks, none = "Sir " + "Bartholomew " * 16, "W" * 200
    memory = world.add(text, entities=["Kiln", blanks, none, *(f"Batch {number}" for number in range(40))])
    question = "Why does the kiln take so long to cool down when a large batch is fired? " * 27
    asked = world.search(question)
    return {
        "long-memory": f"/memories/{memory.id}",
        "long-entity": f"/entities/{none.lower()}",
        "many-names": "/entities/kiln",
        "long-trace": f"/traces/{asked.query_id}",
        "long-traces": "/traces?q=kiln&user=quinn",
        "long-consultation": f"/consultations/{world.oracle_consult(question, 'quick').consultation.id}",
    }


def test_every_page_can_be_looked_at(visit: Visit, world: Recollect, tmp_path: Path) -> None:
    for_docs = os.environ.get("SCREENSHOTS")
    folder = Path(for_docs or tmp_path)
    token = world.keys.create("browser", user="quinn", roles=("admin", "operator")).token
    is_dark = "document.body.classList.contains('body--dark')"
    for name, path in pages_of(world).items():
        for size, shades in ((DESK, {"": "light", "-dark": "dark"}), (PHONE, {"-phone": "light"})):
            page = visit(path, token=token, size=size)
            if name == "consultation":
                page.get_by_role("button", name="Show source 1").click()
                page.locator(".source .cited").first.wait_for()
                # That lines stand there does not say that they answer.
                assert page.locator(".tag", has_text="quoted").count()
                assert not page.locator(".tag.good", has_text="quoted").count()
            if name == "search":
                page.get_by_text("Why", exact=True).first.click()
            if name == "ask":
                page.get_by_text("What was looked at").wait_for()
            page.wait_for_load_state("networkidle")
            for kind, shade in shades.items():
                page.emulate_media(color_scheme="dark" if shade == "dark" else "light")
                page.wait_for_function(is_dark if shade == "dark" else f"!{is_dark}")
                if for_docs:
                    page.wait_for_timeout(500)  # charts draw themselves
                picture = page.screenshot(path=folder / f"{name}{kind}.png")
                assert len(picture) > _LEAST_BYTES, (name, kind)
                assert not overflows(page), (name, kind)
            page.close()
