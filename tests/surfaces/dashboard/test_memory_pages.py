"""The overview and the memories, in a real browser."""

from __future__ import annotations

import json
import re
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


def test_on_a_phone_the_numbers_stand_in_columns_of_one_width(visit: Visit, client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    page = visit(size=PHONE)
    page.get_by_text("Memories by layer and type").wait_for()
    cards = page.locator(".card", has=page.locator(".text-xl"))
    boxes = [box for card in cards.all() if (box := card.bounding_box())]
    assert len(boxes) == 6
    assert len({round(box["width"]) for box in boxes}) == 1
    assert len({round(box["x"]) for box in boxes}) == 2


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
    # At once: the browser itself goes to the field, so no letter is lost.
    page.keyboard.type("/When is the kiln hot?")
    page.keyboard.press("Enter")
    page.get_by_text("1 found in").wait_for()
    assert page.get_by_text("Ana prefers tea.").count() == 0
    page.get_by_text("Why", exact=True).click()
    page.get_by_text("Recalled because it").wait_for()
    shown = page.locator(".rows").inner_text()
    score = re.search(r"together (\d\.\d\d) of 1", shown)
    parts = re.findall(r"^(?!together)\w+ (\d\.\d\d)$", shown, re.MULTILINE)
    assert score is not None
    assert sum(map(float, parts)) == pytest.approx(float(score[1]), abs=1e-9)
    page.get_by_role("button", name="Say what it was worth").click()
    page.get_by_text("helpful", exact=True).click()
    page.get_by_text("Noted: helpful").wait_for()
    assert client.learning.status().feedback == {"helpful": 1}


def test_a_search_can_be_made_as_one_of_the_users(
    visit: Visit, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    as_user("ana").add("Ana keeps bees.")
    as_user("ben").add("The train leaves at nine.")
    page = visit("/memories?q=Who keeps bees?")
    page.get_by_role("button", name="Filters").click()
    # People are chosen, not known by heart.
    page.get_by_label("As user").click()
    page.get_by_role("option", name="ben").click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("Nothing remembered answers this").wait_for()
    assert "user=ben" in page.url
    page.get_by_label("As user").click()
    page.get_by_role("option", name="ana").click()
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("1 found in").wait_for()


def test_every_view_has_an_address_that_can_be_shared_and_gone_back_to(
    visit: Visit, client: Recollect
) -> None:
    client.add("The kiln is hot on Tuesdays.", created_at="2024-05-01T10:00:00Z")
    client.add("Glaze dries in two hours.", type="semantic")
    page = visit("/memories?types=episodic&until=2024-12-31")
    page.get_by_text("1 memory", exact=True).wait_for()
    page.get_by_text("The kiln is hot on Tuesdays.").wait_for()
    page.get_by_role("link", name="Clear").click()
    page.get_by_text("2 memories", exact=True).wait_for()
    page.get_by_role("textbox", name="Search memories").fill("When does glaze dry?")
    page.keyboard.press("Enter")
    page.get_by_text("1 found in").wait_for()
    assert "q=When+does+glaze+dry" in page.url
    page.go_back()
    page.get_by_text("2 memories", exact=True).wait_for()
    page.go_back()
    page.get_by_text("1 memory", exact=True).wait_for()
    page.get_by_role("combobox", name="Order").click()
    page.get_by_role("option", name="Oldest first").click()
    page.wait_for_url("**order=oldest**")
    page = visit("/memories?since=yesterday")
    page.get_by_text("is no day").wait_for()


def test_a_memory_is_added_on_the_page(visit: Visit, client: Recollect) -> None:
    client.scopes.create("team/kiln")
    page = visit("/memories")
    page.get_by_role("button", name="Add memory").click()
    page.get_by_label("What is to be remembered").fill("The kiln is hot on Tuesdays.")
    page.get_by_label("Who shares it").click()
    page.get_by_role("option", name="team/kiln").click()
    page.get_by_label("About, by name").fill("Kiln, Tuesday crew")
    page.get_by_role("button", name="Remember").click()
    page.wait_for_url("**/memories/*")
    [memory] = client.list()
    assert (memory.scope, memory.entities) == ("team/kiln", ("Kiln", "Tuesday crew"))


def test_several_are_restored_and_deleted_at_once(visit: Visit, client: Recollect) -> None:
    old = [client.add(f"Plate {number} is blue.") for number in range(2)]
    for memory in old:
        client.supersede(memory.id, by=client.add(f"{memory.text} No, green.").id)
    page = visit("/memories?superseded=1")
    page.get_by_text("4 memories", exact=True).wait_for()
    for memory in old:
        row = page.locator(".item", has=page.locator(f'a[href*="{memory.id}"]'))
        row.get_by_role("checkbox").click()
    page.get_by_text("2 selected").wait_for()
    with page.expect_download() as begun:
        page.get_by_role("button", name="Export selected").click()
    lines = [json.loads(line) for line in begun.value.path().read_text().splitlines()]
    assert {line["text"] for line in lines if "text" in line} == {memory.text for memory in old}
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("Restored 2 memories").wait_for()
    assert all(client.get(memory.id).superseded_at is None for memory in old)
    page.get_by_role("checkbox", name="Select all").click()
    page.get_by_text("4 selected").wait_for()
    page.get_by_role("button", name="Delete selected").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("Deleted 4 memories; receipt").wait_for()
    page.get_by_text("No memory fits").wait_for()
    assert client.count(include_superseded=True) == 0


def test_what_is_looked_at_is_exported(visit: Visit, client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    client.add("Glaze dries in two hours.", type="semantic")
    page = visit("/memories?types=semantic")
    with page.expect_download() as begun:
        page.get_by_role("button", name="Export", exact=True).click()
    lines = [json.loads(line) for line in begun.value.path().read_text().splitlines()]
    assert [line["text"] for line in lines if "text" in line] == ["Glaze dries in two hours."]


def test_a_memory_tells_who_said_it_what_was_said_around_it_and_what_it_replaced(
    visit: Visit, client: Recollect
) -> None:
    turns = ["Where shall we meet?", "At the kiln.", "No, at the market.", "Fine."]
    _, place, other, _ = client.add(
        [{"role": "user", "name": f"Speaker {n}", "content": text} for n, text in enumerate(turns)],
        conversation="monday",
    )
    client.supersede(place.id, by=other.id)
    client.update(other.id, metadata={"checked": True})
    page = visit(f"/memories/{other.id}")
    page.get_by_text("in the conversation 'monday'").wait_for()
    page.get_by_text("The conversation around it").wait_for()
    page.get_by_text("It replaced").wait_for()
    page.get_by_text('"checked": true').wait_for()  # JSON, as it was given
    page.locator(".said", has_text="At the kiln.").first.click()
    page.wait_for_url(f"**/memories/{place.id}")
    page.get_by_text("Replaced by").wait_for()


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
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="First page").wait_for()
    assert page.get_by_text("is glazed.").count() == 5
    page.go_back()
    page.get_by_role("link", name="Next page").wait_for()
    assert page.get_by_text("is glazed.").count() == 25


def test_a_phone_shows_it_without_scrolling_sideways(visit: Visit, client: Recollect) -> None:
    memory = client.add("Averyveryveryveryverylongwordwithoutanyspaces" * 4, metadata={"x": "y" * 200})
    for path in (
        "/",
        "/memories",
        f"/memories/{memory.id}",
        "/entities",
        "/library",
        "/ask",
        "/runs",
        "/traces",
    ):
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
