"""Entities, answers, runs and traces, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import psycopg
from playwright.sync_api import expect
from tests.surfaces.dashboard.conftest import PATIENCE_MS

from recollect import Recollect

if TYPE_CHECKING:
    from tests.surfaces.dashboard.conftest import Visit

SCRIPT = '<img src=x onerror="window.hurt=1">'


def test_an_entity_is_shown_with_what_is_known_a_timeline_and_its_neighbours(
    visit: Visit, client: Recollect
) -> None:
    old = client.add("Acme pays by card.", entities=["Acme"], created_at="2026-05-01T10:00:00Z")
    new = client.add("Acme pays by invoice.", entities=["Acme"], type="semantic")
    client.supersede(old.id, by=new.id)
    client.add("Imke Brandt called Acme.", entities=["Acme", "Imke Brandt"])
    page = visit("/entities")
    page.get_by_text("What is named together").wait_for()
    page.get_by_role("link", name="Acme").click()
    page.wait_for_url("**/entities/acme")
    page.get_by_text("What is known").wait_for()
    page.locator(".moment", has_text="Acme pays by card.").get_by_text("replaced").wait_for()
    expect(page.locator("canvas")).to_have_count(1, timeout=PATIENCE_MS)
    page.get_by_role("link", name="Imke Brandt", exact=True).click()
    page.wait_for_url("**/entities/imke%20brandt")
    page.get_by_text("Imke Brandt called Acme.").first.wait_for()


def test_names_that_look_like_markup_are_drawn_as_they_are(visit: Visit, client: Recollect) -> None:
    client.add("It was he.", entities=[SCRIPT, "Acme"])
    for path in ("/entities", "/entities/acme"):
        page = visit(path)
        page.get_by_text("<img src=x").first.wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("window.hurt") is None
        assert page.locator("img[src=x]").count() == 0


def test_an_answer_is_markdown_and_has_an_address(visit: Visit, client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    page = visit("/ask")
    page.get_by_text("An answer in words, with its sources").wait_for()
    page.keyboard.type("/When is the kiln hot?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask?q=*")
    page.get_by_text("from memories").wait_for()
    page.get_by_role("button", name="Source 1", exact=True).first.click()
    page.locator(".source .cited").first.wait_for()
    page.get_by_role("link", name="The memory").click()
    page.wait_for_url("**/memories/*")
    page.go_back()
    page.locator(".markdown", has_text="The kiln is hot on Tuesdays.").wait_for()


def test_what_one_source_says_is_shown_while_another_is_asked(
    visit: Visit, client: Recollect, owner_conninfo: str
) -> None:
    client.add("The kiln is hot on Tuesdays.")
    client.library.add(b"# Kiln\n\nThe kiln is hot on Tuesdays and Fridays.\n", name="kiln.md")
    with psycopg.connect(owner_conninfo) as holding:
        holding.execute("lock table recollect.document in access exclusive mode")
        page = visit("/ask?q=When is the kiln hot?")
        page.locator(".markdown", has_text="The kiln is hot on Tuesdays.").wait_for()
        page.get_by_text("Looking it up").wait_for()
    page.get_by_text("What was looked at").wait_for()
    assert page.get_by_text("Looking it up").count() == 0
    page.get_by_text("from library").wait_for()


def test_what_nobody_told_is_not_green(visit: Visit, client: Recollect) -> None:
    client.add("The kiln is hot on Tuesdays.")
    client.library.add(b"# Kiln\n\nGlaze dries in two hours.\n", name="kiln.md")
    page = visit("/ask?q=What is the capital of Peru?")
    page.locator(".tag.warn", has_text="not known").wait_for()
    page = visit("/runs")
    page.locator(".tag.warn", has_text="not in the documents").first.wait_for()
    page.get_by_text("What is the capital of Peru?").first.click()
    page.locator(".tag.warn", has_text="not in the documents").wait_for()


def test_the_rows_of_an_answer_are_counted_and_sorted_by_a_column(visit: Visit, client: Recollect) -> None:
    fees = "| port | fee |\n|---|---|\n| Braga | 1,200 |\n| Turku | 90 |\n| Arnhem | 340 |\n"
    client.library.add(f"# Harbour\n\n## Fees of the ports\n\n{fees}".encode(), name="harbour.md")
    asked = client.oracle_consult("What are the fees of the ports?")
    page = visit(f"/consultations/{asked.consultation.id}")
    page.locator(".markdown .count", has_text="3 rows").wait_for()
    first = page.locator(".markdown tbody tr").first
    for fee in ("90", "1,200"):
        page.get_by_role("button", name="fee", exact=True).click()
        first.filter(has_text=fee).wait_for()
    page.get_by_role("button", name="port", exact=True).click()
    first.filter(has_text="Arnhem").wait_for()


def test_markup_in_an_answer_is_text(visit: Visit, client: Recollect) -> None:
    client.add(
        f"The kiln is hot on Tuesdays. {SCRIPT} [go](javascript:window.hurt=1) ![x](http://a.example/x.png)"
    )
    page = visit("/ask?q=When is the kiln hot?&sources=memories")
    page.locator(".markdown").wait_for()
    assert page.evaluate("window.hurt") is None
    assert page.locator(".markdown img, .markdown a").count() == 0


def test_searches_appear_by_themselves_and_say_where_their_time_went(
    visit: Visit, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    as_user("ana").add("The kiln is hot on Tuesdays.")
    page = visit("/traces")
    page.get_by_text("No search was recorded yet").wait_for()
    as_user("ana").search("When is the kiln hot?")
    page.locator(".trace").first.wait_for()
    assert page.get_by_text("When is the kiln hot?").count() == 0  # nobody allowed to keep it
    page.get_by_role("switch", name="Keep questions").click()
    page.get_by_text("From now on questions are kept.").wait_for()
    as_user("ana").search("When is the kiln hot?")
    page.locator(".trace", has_text="When is the kiln hot?").click()
    page.get_by_text("ms went").wait_for()
    page.get_by_text("judge").first.wait_for()
    page.get_by_text("The kiln is hot on Tuesdays.").wait_for()
    page.get_by_role("link", name="All searches of ana").click()
    page.wait_for_url("**/traces?user=ana")
    expect(page.locator(".trace")).to_have_count(2, timeout=PATIENCE_MS)


def test_searches_are_filtered_by_an_address_that_can_be_shared(
    visit: Visit, client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    client.tenants.set_traces(keep_questions=True)
    kiln = as_user("ana").add("The kiln is hot on Tuesdays.")
    hot = as_user("ana").search("When is the kiln hot?")
    as_user("ana").feedback(kiln.id, "helpful", query_id=hot.query_id)
    client.search("What is the capital of Peru?")
    page = visit("/traces")
    expect(page.locator(".trace")).to_have_count(2, timeout=PATIENCE_MS)
    page.get_by_role("link", name="Found nothing", exact=True).click()
    page.wait_for_url("**/traces?found=no")
    page.locator(".trace", has_text="Peru").wait_for()
    expect(page.locator(".trace")).to_have_count(1)
    page.go_back()
    page.get_by_label("Find searches").fill("kiln")
    page.keyboard.press("Enter")
    page.wait_for_url("**/traces?q=kiln")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("User").click()
    page.get_by_role("option", name="ana").click()
    page.get_by_label("What came of it").click()
    page.get_by_role("option", name="feedback").click()
    page.get_by_label("Milliseconds at least").fill("1")
    page.get_by_label("From", exact=True).fill("2020-01-01")
    page.get_by_label("Until", exact=True).fill("2099-12-31")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**/traces?*min_ms=1*")
    shared = page.url
    for part in ("q=kiln", "user=ana", "outcome=feedback", "since=2020-01-01", "until=2099-12-31"):
        assert part in shared
    expect(page.locator(".trace")).to_have_count(1, timeout=PATIENCE_MS)
    page.get_by_text("5 set").wait_for()
    page.get_by_label("Milliseconds at least").fill("3599999")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("No search fits these filters").wait_for()
    page = visit("/traces?since=yesterday")
    page.get_by_text("'yesterday' is no day").wait_for()


def test_a_decomposed_search_is_among_the_runs_with_its_steps_and_its_budget(
    visit: Visit, client: Recollect
) -> None:
    client.tenants.set_recursion(threshold=0, enabled=True)
    client.tenants.set_traces(keep_questions=True)
    client.add("Ana drinks tea.")
    client.add("Ben drinks water.")
    client.search("Compare what Ana and Ben drink, and who drinks more?")
    assert client.learning.runs()
    page = visit("/runs?kind=search")
    page.locator("a.search").first.click()
    page.get_by_text("Steps", exact=True).wait_for()
    page.locator(".step").first.wait_for()
    page.get_by_text("Sub-calls").wait_for()
    page.get_by_text("Compare what Ana and Ben drink, and who drinks more?").wait_for()
    page.get_by_text("Bring it together").wait_for()
    page.get_by_role("link", name="What it found: ").click()
    page.get_by_text("ms went").wait_for()
