"""PDF files, written here by hand, read through the same door as all others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.library.pdf_writing import paragraph, picture, table, words, write_pdf

from recollect.errors import (
    DocumentEncryptedError,
    DocumentError,
    DocumentReaderMissingError,
    DocumentTooLargeError,
)
from recollect.library.reading import ReadingLimits, isolated, read_document

PLANS = (
    ("Plan", "Requests", "Burst"),
    ("Free", "100", "10"),
    ("Team", "1,000", "50"),
    ("Org", "9,000", "90"),
)
LIMITS = (
    words("Rate limits", y=740, size=20)
    + paragraph(["The service limits requests.", "Every key has a quota, for exam-", "ple one per plan."])
    + table(PLANS, top=600, ruled=True)
    + words("After the table.", y=480)
)
PRICES = (
    words("Prices", y=740, size=20)
    + table(
        [("Plan", "USD", "Seats"), ("Free", "0", "1"), ("Team", "20", "5"), ("Org", "90", "50")],
        top=700,
        ruled=False,
    )
    + paragraph(["Some more prose here, of the usual size."], top=500)
)


def test_text_pages_headings_tables_and_gaps_are_found() -> None:
    read = read_document(write_pdf([LIMITS, PRICES, picture(), ""]), name="manual.pdf")
    assert (read.kind, read.title) == ("pdf", "Rate limits")
    assert read.lines[:10] == [
        "# Rate limits",
        "The service limits requests. Every key has a quota, for example one per plan.",
        "",
        "| Plan | Requests | Burst |",
        "| --- | --- | --- |",
        "| Free | 100 | 10 |",
        "| Team | 1,000 | 50 |",
        "| Org | 9,000 | 90 |",
        "",
        "After the table.",
    ]
    assert [(page.page, page.line_start, page.line_end) for page in read.pages] == [(1, 1, 10), (2, 12, 17)]
    assert [(one.heading, one.line_start, one.line_end, one.pages) for one in read.sections] == [
        ("Rate limits", 1, 10, (1, 1)),
        ("Prices", 12, 17, (2, 2)),
    ]
    assert [(gap.page, gap.description) for gap in read.gaps] == [
        (2, "page 2 has a table without rules, which could not be read as a table"),
        (3, "page 3 is an image"),
    ]
    assert read.gaps[1].capability == "read text in pictures (OCR)"


def test_bookmarks_are_the_headings_when_there_are_any() -> None:
    pages = [paragraph(["Cover"]), paragraph(["1. Start here", "Words."]), paragraph(["More words."])]
    data = write_pdf(pages, title="The Manual", bookmarks=[("Start here", 1), ("Not written there", 2)])
    read = read_document(data, name="manual.pdf")
    assert read.title == "The Manual"
    assert [(one.heading, one.level, read.text_of(one), one.pages) for one in read.sections] == [
        ("The Manual", 0, "Cover", (1, 1)),
        ("Start here", 1, "1. Start here\nWords.", (2, 2)),
        ("Not written there", 1, "More words.", (3, 3)),
    ]


def test_a_file_of_pictures_only_has_gaps_and_no_text() -> None:
    read = read_document(write_pdf([picture()] * 5), name="scan.pdf")
    assert (read.text, len(read.sections)) == ("", 1)
    assert [(gap.where, gap.description) for gap in read.gaps] == [
        ("pages 1 to 5", "pages 1 to 5 are images")
    ]


def test_an_encrypted_file_says_so() -> None:
    lock = b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"61" * 32, b"62" * 32)
    # Without bookmarks the objects are: catalog, pages, font, picture, content, page, information, and this one.
    data = write_pdf([LIMITS], extra_objects=[lock], extra_trailer="/Encrypt 8 0 R /ID [<00> <00>]")
    with pytest.raises(DocumentEncryptedError, match=r"'secret\.pdf' is protected by a password") as caught:
        read_document(data, name="secret.pdf")
    assert caught.value.code == "document_encrypted"


def test_a_file_that_is_cut_off_gives_what_is_there_and_says_so() -> None:
    whole = write_pdf([LIMITS, PRICES])
    read = read_document(whole[: whole.index(b"xref\n0 ")], name="cut.pdf")
    assert read.sections[0].heading == "Rate limits"
    assert "| Free | 100 | 10 |" in read.text
    assert read.notes == ("the file is cut off or damaged; what is there was read",)


def test_a_file_that_is_cut_off_too_early_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"'cut\.pdf' is a damaged or cut off PDF") as caught:
        read_document(write_pdf([LIMITS])[:40], name="cut.pdf")
    assert caught.value.code == "invalid_document"


def test_a_thousand_pages_are_read_with_their_numbers() -> None:
    pages = [paragraph([f"Page {number} begins.", "And ends."]) for number in range(1, 1_001)]
    read = read_document(write_pdf(pages), name="long.pdf")
    assert len(read.pages) == 1_000
    last = read.pages[-1]
    assert (last.page, read.lines[last.line_start - 1]) == (1_000, "Page 1000 begins. And ends.")


def test_a_wrong_extension_is_noted() -> None:
    read = read_document(write_pdf([LIMITS]), name="manual.docx")
    assert (read.kind, read.notes) == ("pdf", ("named .docx, but its content is pdf; read as pdf",))


def test_limits_of_time_memory_and_text_stop_the_child_and_nothing_else() -> None:
    data = write_pdf([LIMITS] * 3)
    with pytest.raises(DocumentTooLargeError, match=r"took longer than 0\.001 s"):
        read_document(data, name="a.pdf", limits=ReadingLimits(timeout_s=0.001))
    with pytest.raises(DocumentTooLargeError, match="more than 20 characters of text"):
        read_document(data, name="a.pdf", limits=ReadingLimits(max_text_chars=20))
    with pytest.raises(DocumentError, match=r"memory|can't be read"):
        read_document(data, name="a.pdf", limits=ReadingLimits(memory_bytes=1_000_000))


def test_the_child_may_neither_write_nor_reach_the_network_nor_start_programs(tmp_path: Path) -> None:
    script = f"""
import socket, subprocess, sys
from recollect.library.reading.child import _fence
from recollect.library.reading.sections import ReadingLimits
_fence(ReadingLimits())
tries = [
    lambda: open({str(tmp_path / "x")!r}, "w"),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: subprocess.run(["true"]),
    lambda: __import__("os").mkdir({str(tmp_path / "y")!r}),
]
for attempt in tries:
    try:
        attempt()
    except PermissionError as error:
        print(error)
"""
    import subprocess
    import sys

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.count("may not") == 4
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["pdf", "html"])
def test_a_missing_package_names_the_command(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(isolated._PACKAGES, kind, ("a_package_that_is_not_there",))
    with pytest.raises(DocumentReaderMissingError, match=r"pip install 'recollect\[documents\]'"):
        read_document(write_pdf([LIMITS]) if kind == "pdf" else b"<p>words", name=f"a.{kind}")
