"""Documents, consultations and their citations, in a real browser."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.small_library import SHOP, put_document
from tests.runs.model_server import ModelServer, serve
from tests.surfaces.dashboard.test_memory_pages import SCRIPT

from recollect import Recollect, Settings, TenantContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page
    from tests.surfaces.dashboard.conftest import Visit

PROBLEM = "How long until a token expires?"
GUIDE = "# Kiln guide\n\n## Heat\n\nThe kiln is hot on Tuesdays.\n\n## Glaze\n\nGlaze dries in two hours.\n"


@pytest.fixture
def chat() -> Iterator[ModelServer]:
    with serve() as server:
        yield server


@pytest.fixture
def elsewhere(settings: Settings, tenant_id: str, chat: ModelServer) -> Iterator[Recollect]:
    """The test's tenant in another process than the dashboard's, with a chat model that does as it is told."""
    changed = settings.replace(model="openai:m", model_base_url=chat.url, model_profile={"timeout_s": 30.0})
    context = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin", "operator"))
    with Recollect(settings=changed, context=context) as client:
        yield client


def cited(page: Page) -> list[str]:
    return [row.inner_text().split("\n")[-1] for row in page.locator(".source .cited").all()]


def test_a_dropped_file_becomes_a_document_with_a_tree(visit: Visit, client: Recollect) -> None:
    page = visit("/library")
    page.get_by_text("No documents yet").wait_for()
    page.get_by_text("Add documents").click()
    page.locator("input[type=file]").set_input_files(
        {"name": "kiln.md", "mimeType": "text/markdown", "buffer": GUIDE.encode()}
    )
    page.get_by_text("kiln.md: added").wait_for()
    page.get_by_role("link", name="Kiln guide").click()
    page.get_by_text("Heat", exact=True).first.click()
    page.get_by_text("The kiln is hot on Tuesdays.").wait_for()
    assert client.library.get("kiln.md").sections == 3
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_text("No documents yet").wait_for()
    assert not client.library.list()


def test_a_file_that_can_not_be_read_is_refused_in_words(visit: Visit) -> None:
    page = visit("/library")
    page.get_by_text("Add documents").click()
    page.locator("input[type=file]").set_input_files(
        {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 nothing follows"}
    )
    page.get_by_text("broken.pdf:").wait_for()


def test_documents_are_searched_by_section(visit: Visit, client: Recollect) -> None:
    client.library.add(GUIDE.encode(), name="docs/kiln.md", id="docs/kiln.md")
    page = visit("/library?q=When does glaze dry?")
    page.get_by_role("link", name="docs/kiln.md").first.click()
    page.get_by_text("Glaze dries in two hours.").first.wait_for()


def test_a_question_is_asked_and_its_citation_shows_the_right_lines(visit: Visit, client: Recollect) -> None:
    put_document(client, "shop.md", SHOP)
    page = visit("/consultations")
    page.get_by_text("Nothing was asked yet").wait_for()
    page.get_by_label("Question").fill(PROBLEM)
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url("**/consultations/*")
    page.get_by_role("button", name="Source 1", exact=True).first.click()
    page.locator(".source .cited").first.wait_for()
    lines = SHOP.split("\n")
    result = client.consultations.get(page.url.rsplit("/", 1)[1])
    first = result.citations[0]
    assert cited(page) == lines[first.line_start - 1 : first.line_end]
    page.get_by_text("Answered with").wait_for()


def test_a_citation_of_a_document_that_changed_shows_what_was_cited_and_says_so(
    visit: Visit, client: Recollect
) -> None:
    put_document(client, "shop.md", SHOP)
    result = client.oracle_consult(PROBLEM, "quick", doc_ids=["shop.md"])
    first = result.citations[0]
    was = SHOP.split("\n")[first.line_start - 1 : first.line_end]
    path = f"/consultations/{result.consultation.id}"
    changed = {
        "It has moved": f"# Before\n\n{SHOP}",
        "The document changed": SHOP.replace("15 minutes", "an hour"),
    }
    for note, text in changed.items():
        put_document(client, "shop.md", text)
        page = visit(path)
        page.get_by_role("button", name="Show source 1").click()
        page.get_by_text(note).wait_for()
        page.locator(".source .cited").first.wait_for()
        assert cited(page) == was, note
        page.close()


def test_the_steps_of_a_consultation_appear_while_it_runs(
    visit: Visit, client: Recollect, elsewhere: Recollect, chat: ModelServer
) -> None:
    put_document(client, "shop.md", SHOP)
    seen = threading.Event()

    def second(_: ModelServer) -> dict[str, Any]:
        assert seen.wait(60), "nobody saw the first step"
        return {"thought": "that will do", "calls": [], "findings": [], "done": True}

    tokens = {"tool": "get_section", "parameters": {"doc_id": "shop.md", "section_path": "OAuth2"}}
    chat.answers = [
        {"thought": "look at the chapter on tokens", "calls": [tokens], "findings": [], "done": False},
        second,
        {"blocks": []},
    ]
    page = visit("/consultations")
    asking = threading.Thread(target=elsewhere.oracle_consult, args=(PROBLEM, "thorough"))
    asking.start()
    try:
        page.get_by_text("running", exact=True).wait_for()
        page.get_by_text(PROBLEM).click()
        page.get_by_text("look at the chapter on tokens").wait_for()
        page.get_by_text("get_section").first.wait_for()
        assert page.get_by_text("that will do").count() == 0
        page.get_by_text("It is being answered.").wait_for()
    finally:
        seen.set()
    page.get_by_text("that will do").wait_for()
    page.get_by_text("Answered with").wait_for()
    page.get_by_text("It is being answered.").wait_for(state="detached")
    asking.join(60)


def test_a_document_can_not_script_the_pages_that_show_it(visit: Visit, client: Recollect) -> None:
    text = f"# {SCRIPT}\n\n## Tokens {SCRIPT}\n\nA token expires after 15 minutes {SCRIPT}.\n"
    client.library.add(text.encode(), name="evil.md", title=SCRIPT, tags=["tag"])
    result = client.oracle_consult(f"When does a token expire? {SCRIPT}", "quick")
    for path in (
        "/library",
        "/library?q=When does a token expire?",
        "/library/evil.md",
        "/consultations",
        f"/consultations/{result.consultation.id}",
    ):
        page = visit(path)
        page.get_by_text("<img src=x").first.wait_for()
        if "consultations/" in path:
            page.get_by_role("button", name="Show source 1").click()
            page.locator(".source").wait_for()
        assert page.evaluate("window.hurt") is None, path
        assert page.locator("img[src=x]").count() == 0, path
        page.close()


def test_somebody_elses_consultation_looks_like_one_that_is_not_there(
    visit: Visit, client: Recollect
) -> None:
    put_document(client, "shop.md", SHOP)
    result = client.oracle_consult(PROBLEM, "quick")
    page = visit(f"/consultations/{result.consultation.id}", user="ana", roles=())
    page.get_by_text("There is no such consultation").wait_for()
