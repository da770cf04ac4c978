"""The overview and the memories, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.surfaces.dashboard.conftest import PATIENCE_MS, PHONE, overflows

from recollect import Recollect
from recollect.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.surfaces.dashboard.conftest import Visit

SCRIPT = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script>{{constructor.constructor('hurt=1')()}}"


def test_the_overview_counts_what_is_stored_and_how_searches_went(visit: Visit, client: Recollect) -> None:
    page = visit()
    page.get_by_text("Nothing is remembered yet").wait_for()
    client.add("The kiln is hot on Tuesdays.")
    client.add("Glaze dries in two hours.", type="semantic")
    client.search("When is the kiln hot?")
    found = client.overview()
    assert (found.memories, found.searched) == (2, 1)
    # By itself: nobody reloads the page.
    page.get_by_text("Memories by layer and type").wait_for()
    page.get_by_text("1 in 60 minutes").wait_for()
    expect(page.locator("canvas")).to_have_count(2, timeout=PATIENCE_MS)


def test_an_overview_is_ones_own(as_user: Callable[..., Recollect], client: Recollect) -> None:
    as_user("ana").add("Ana keeps bees.")
    as_user("ana").add("Ana sells honey.")
    as_user("ben").add("Ben keeps goats.")
    as_user("ben").search("goats")
    assert as_user("ana").overview().memories == 2
    assert as_user("ben").overview().memories == 1
    assert (as_user("ana").overview().searched, as_user("ben").overview().searched) == (0, 1)
    assert client.overview().searched == 1


def test_a_memory_is_found_explained_and_judged(visit: Visit, client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    client.add("Ana prefers tea.")
    page = visit("/memories")
    page.get_by_text("Ana prefers tea.").wait_for()
    page.keyboard.press("/")
    page.locator("input:focus").wait_for()
    page.keyboard.type("When is the kiln hot?")
    page.keyboard.press("Enter")
    page.get_by_text("1 found in").wait_for()
    assert page.get_by_text("Ana prefers tea.").count() == 0
    page.get_by_text("Why", exact=True).click()
    page.get_by_text("found by").wait_for()
    page.get_by_role("button", name="Say what it was worth").click()
    page.get_by_text("helpful", exact=True).click()
    page.get_by_text("Noted: helpful").wait_for()
    assert client.learning.status().feedback == {"helpful": 1}


def test_a_search_can_be_made_as_one_of_the_users(
    visit: Visit, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    as_user("ana").add("Ana keeps bees.")
    page = visit("/memories?q=bees")
    page.get_by_text("Filters").click()
    page.get_by_label("As user").fill("ben")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("Nothing relevant is remembered").wait_for()
    page.get_by_label("As user").fill("ana")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("1 found in").wait_for()


def test_a_memory_is_edited_read_back_and_deleted(visit: Visit, client: Recollect) -> None:
    memory = client.add("The kiln is hot on Tuesdays.")
    page = visit(f"/memories/{memory.id}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("The kiln is hot on Fridays.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The kiln is hot on Fridays.").first.wait_for()
    page.get_by_text("text was: The kiln is hot on Tuesdays.").wait_for()
    assert client.get(memory.id).text == "The kiln is hot on Fridays."
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").wait_for(state="detached")  # it has a button of the same name
    assert client.get(memory.id).id == memory.id
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/dashboard/memories")
    with pytest.raises(NotFoundError):
        client.get(memory.id)


def test_a_bad_change_is_refused_in_words_and_loses_nothing(visit: Visit, client: Recollect) -> None:
    memory = client.add("The kiln is hot on Tuesdays.")
    page = visit(f"/memories/{memory.id}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("   ")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").first.wait_for()
    assert client.get(memory.id).text == "The kiln is hot on Tuesdays."


@pytest.mark.parametrize("path", ["/memories", "/memories?q=kiln", "/memories/{id}"])
def test_text_that_looks_like_a_script_is_shown_and_never_run(
    visit: Visit, client: Recollect, path: str
) -> None:
    memory = client.add(
        f"kiln {SCRIPT}", entities=[SCRIPT], metadata={"note": SCRIPT}, source=SCRIPT, importance=0.9
    )
    client.update(memory.id, text=f"kiln again {SCRIPT}")
    page = visit(path.format(id=memory.id))
    page.get_by_text("kiln again <img").first.wait_for()
    assert page.evaluate("window.hurt") is None
    assert page.locator("img[src=x]").count() == 0


def test_pages_of_memories_turn(visit: Visit, client: Recollect) -> None:
    client.add_many([{"text": f"Plate number {number} is glazed."} for number in range(30)])
    page = visit("/memories")
    page.get_by_role("button", name="Older").click()
    page.get_by_role("button", name="Newer").wait_for()
    assert page.get_by_text("is glazed.").count() == 5


def test_a_phone_shows_it_without_scrolling_sideways(visit: Visit, client: Recollect) -> None:
    memory = client.add("Averyveryveryveryverylongwordwithoutanyspaces" * 4, metadata={"x": "y" * 200})
    for path in ("/", "/memories", f"/memories/{memory.id}", "/library", "/consultations"):
        page = visit(path, size=PHONE)
        page.wait_for_timeout(300)
        assert not overflows(page), path
        page.close()


def test_keys_lead_from_page_to_page(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/dashboard/memories")
    page.get_by_role("heading", name="Memories", level=1).wait_for()
    page.keyboard.press("?")
    page.get_by_text("go to the search field").wait_for()


def test_dark_follows_the_system_until_somebody_chooses(visit: Visit) -> None:
    page = visit(dark=True)
    page.locator("body.body--dark").wait_for()
    page.get_by_role("button", name="Light or dark").click()
    page.locator("body.body--light").wait_for()
    page.reload()
    page.locator("body.body--light").wait_for()
