"""What a new user does in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect import Recollect

if TYPE_CHECKING:
    from tests.surfaces.dashboard.conftest import Visit


def test_search_page(visit: Visit, client: Recollect) -> None:
    """Search on the page, share its address, and go back."""
    client.add("The kiln is hot on Tuesdays.")
    page = visit("/memories")
    page.get_by_text("1 memory", exact=True).wait_for()
    page.keyboard.type("/When is the kiln hot?")
    page.keyboard.press("Enter")
    page.get_by_text("1 found in").wait_for()
    shared = page.url.partition("/dashboard")[2]
    page.go_back()
    page.get_by_text("1 memory", exact=True).wait_for()
    visit(shared).get_by_text("1 found in").wait_for()


def test_edit_page(visit: Visit, client: Recollect) -> None:
    """Add a memory on the page, correct it, and see its history."""
    page = visit("/memories")
    page.get_by_role("button", name="Add memory").click()
    page.get_by_label("What is to be remembered").fill("The kiln is hot on Tuesdays.")
    page.get_by_role("button", name="Remember").click()
    page.wait_for_url("**/memories/*")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("The kiln is hot on Fridays.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("text was: The kiln is hot on Tuesdays.").wait_for()
    assert [memory.text for memory in client.list()] == ["The kiln is hot on Fridays."]


def test_ask_page(visit: Visit, client: Recollect) -> None:
    """Ask on the page, and read the source of the answer."""
    client.add("The kiln is hot on Tuesdays.")
    page = visit("/ask?q=When is the kiln hot?")
    page.get_by_role("button", name="Source 1", exact=True).first.click()
    page.locator(".source .cited", has_text="The kiln is hot on Tuesdays.").wait_for()


def test_trace_page(visit: Visit, client: Recollect) -> None:
    """See on the page who searched, what was found, and where the time went."""
    client.add("The kiln is hot on Tuesdays.")
    client.search("When is the kiln hot?")
    page = visit("/traces")
    page.locator(".trace").first.click()
    page.get_by_text("ms went").wait_for()
    page.get_by_text("The kiln is hot on Tuesdays.").wait_for()
