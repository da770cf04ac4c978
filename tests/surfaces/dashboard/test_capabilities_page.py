"""What consultations missed, on a page that knows of it at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.library.pdf_writing import paragraph, picture, write_pdf

from recollect import Recollect

from .conftest import PHONE, overflows

if TYPE_CHECKING:
    from .conftest import Visit

PROBLEM = "Who signs the permits?"
SCRIPT = "<img src=x onerror='window.hit=1'>"


def miss(client: Recollect, name: str = "harbour.pdf", *, problem: str = PROBLEM, **about: str) -> str:
    """Consult a document of which a page can't be read; returns what was asked for."""
    data = write_pdf([paragraph(["The harbour master signs every permit on Mondays."]), picture()])
    client.library.add(data, name=name, wait=True)
    asked = client.oracle_consult(problem, "thorough", **about).consultation
    return str(asked.capability_requests[0]["description"])


def test_a_request_is_shown_with_all_that_is_known_of_it(visit: Visit, client: Recollect) -> None:
    wanted = miss(client, workflow="PROJ-456", agent="reviewer")
    page = visit("/capabilities")
    request = page.locator(".request")
    for text in (wanted, "by engine", "PROJ-456", "reviewer", PROBLEM, "harbour.pdf", "query_subset"):
        request.get_by_text(text).first.wait_for()
    page.locator(".top-five").get_by_text("1 ×").wait_for()
    page.get_by_label("Filter requests").fill("nobody asked for this")
    page.get_by_text("No request has these words").wait_for()
    page.get_by_label("Filter requests").fill("proj-456 HARBOUR")
    request.get_by_role("link", name="Consultation").click()
    page.wait_for_url(re.compile(r"/consultations/[0-9a-f-]{36}$"))


def test_a_request_pops_up_without_a_reload(visit: Visit, client: Recollect) -> None:
    page = visit("/capabilities")
    page.get_by_text("Nothing was missed yet").wait_for()
    wanted = miss(client)
    page.get_by_role("alert").get_by_text("asked for a new capability").wait_for()
    page.locator(".request").get_by_text(wanted).first.wait_for()
    assert page.locator(".request").count() == 1
    page.locator(".top-five").get_by_text(wanted).wait_for()


def test_others_requests_are_theirs(visit: Visit, client: Recollect) -> None:
    miss(client)
    page = visit("/capabilities", user="ana", roles=())
    page.get_by_text("Nothing was missed yet").wait_for()


def test_script_in_a_request_is_text(visit: Visit, client: Recollect) -> None:
    long = "a-very-long-name-without-a-blank-" * 4
    miss(client, f"{SCRIPT}.pdf", problem=f"{PROBLEM} {SCRIPT}", workflow=SCRIPT, agent=f"{SCRIPT}{long}")
    page = visit("/capabilities", size=PHONE)
    request = page.locator(".request")
    request.get_by_text(f"{PROBLEM} {SCRIPT}").wait_for()
    request.get_by_text(f"{SCRIPT}.pdf").first.wait_for()
    page.locator(".top-five").get_by_text("1 ×").wait_for()
    assert page.evaluate("window.hit") is None
    assert not overflows(page)
