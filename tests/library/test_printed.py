"""What a browser prints reads like what was printed: the same sections, sentences and tables, and the right pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.library.printing import BROWSER, PRINTED, WAYS, print_markdown

from recollect.domain.library import ReadDocument
from recollect.library.reading import read_document

DOCS = Path(__file__).parents[2] / "docs"


def _paths(read: ReadDocument) -> list[str]:
    return [section.path.replace("`", "") for section in read.sections if section.level]


def _cells(read: ReadDocument) -> list[list[str]]:
    return [[cell.strip(" -") for cell in line.split("|")] for line in read.lines if line.startswith("|")]


def _manual(way: str) -> tuple[ReadDocument, ReadDocument]:
    source = read_document((PRINTED / "manual.md").read_bytes(), name="manual.md")
    return source, read_document((PRINTED / f"{way}.pdf").read_bytes(), name="manual.pdf")


@pytest.mark.parametrize("way", WAYS)
def test_a_printed_manual_has_the_sections_of_its_source(way: str) -> None:
    source, printed = _manual(way)
    assert _paths(printed) == _paths(source)
    assert printed.gaps == ()


@pytest.mark.parametrize("way", WAYS)
def test_tables_stand_in_their_section_as_markdown(way: str) -> None:
    source, printed = _manual(way)
    assert _cells(printed) == _cells(source)
    roles = next(section for section in printed.sections if section.heading == "Roles")
    assert "| Auditor | nothing | no | yes |" in printed.text_of(roles)


@pytest.mark.parametrize("way", WAYS)
def test_a_paragraph_is_one_line_however_it_was_wrapped(way: str) -> None:
    _, printed = _manual(way)
    assert (
        "The clocks of agent and server differ by more than five minutes. Synchronise both with NTP and restart the "
        "agent; the next run starts by itself."
    ) in printed.lines
    assert (
        "A copy that carries a legal hold is never thinned out, whatever the plan says. Only an auditor can lift "
        "a hold."
    ) in printed.lines


def test_what_a_browser_prints_on_every_page_is_no_text_but_the_pages_are_known() -> None:
    _, printed = _manual("browser")
    assert not [
        line for line in printed.lines if "file:///" in line or "1/2" in line or line.endswith("Printed")
    ]
    assert [page.page for page in printed.pages] == [1, 2]
    pages = {section.heading: section.pages for section in printed.sections}
    assert (pages["Schedules"], pages["Error H-317"]) == ((1, 1), (2, 2))


@pytest.mark.system
@pytest.mark.skipif(BROWSER is None, reason="needs chromium to print")
@pytest.mark.parametrize("way", WAYS)
def test_our_own_pages_printed_now_keep_their_sections(way: str, tmp_path: Path) -> None:
    for name in ("oracle", "learning"):
        source = (DOCS / f"{name}.md").read_text()
        print_markdown(source, tmp_path / f"{name}.pdf", way=way)
        printed = read_document((tmp_path / f"{name}.pdf").read_bytes(), name=f"{name}.pdf")
        assert _paths(printed) == _paths(read_document(source.encode(), name=f"{name}.md"))
