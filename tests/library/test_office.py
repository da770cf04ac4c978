"""Word, PowerPoint and Excel files, and those made to harm."""

from __future__ import annotations

import datetime

import pytest
from tests.library.office_writing import docx_parts, write_docx, write_pptx, write_xlsx, write_zip

from recollect.errors import (
    DocumentEncryptedError,
    DocumentError,
    DocumentTooLargeError,
    DocumentUnsupportedError,
)
from recollect.library.reading import DEFAULT_LIMITS, ReadingLimits, read_document
from recollect.library.reading.sniff import MAX_PARTS, check_archive


def test_word_headings_are_sections_and_tables_are_markdown() -> None:
    data = write_docx(
        [
            ("Heading1", "Handbook"),
            ("", "Welcome."),
            ("Heading2", "Limits"),
            [("Plan", "Quota"), ("Free", "100")],
            ("", "That is all."),
        ]
    )
    read = read_document(data, name="handbook.docx")
    assert (read.kind, read.title, read.notes) == ("docx", "Handbook", ())
    assert [section.path for section in read.sections] == ["Handbook", "Handbook > Limits"]
    assert "| Plan | Quota |\n| --- | --- |\n| Free | 100 |" in read.text_of(read.sections[1])
    assert read.text_of(read.sections[0]) == "# Handbook\n\nWelcome."


def test_slides_are_sections_and_pages() -> None:
    read = read_document(write_pptx([("Plan", "We ship in May."), ("", "Seven and\nmore")]), name="deck.pptx")
    assert (read.kind, read.title) == ("pptx", "Plan")
    assert [(one.heading, one.pages, read.text_of(one)) for one in read.sections] == [
        ("Plan", (1, 1), "# Plan\nWe ship in May."),
        ("Slide 2", (2, 2), "# Slide 2\nSeven and\nmore"),
    ]
    assert [page.page for page in read.pages] == [1, 2]


def test_sheets_are_sections_with_their_cells_as_people_write_them() -> None:
    data = write_xlsx(
        {
            "Prices": [
                ["Plan", "USD", None, "Since"],
                ["Free", 0.0, None, datetime.datetime(2024, 5, 1)],
                ["A|B", True],
            ],
            "Empty": [],
        }
    )
    read = read_document(data, name="prices.xlsx")
    assert (read.kind, read.title) == ("xlsx", "prices")
    assert [section.heading for section in read.sections] == ["Prices", "Empty"]
    assert read.text_of(read.sections[0]).split("\n")[2:] == [
        "| Plan | USD |  | Since |",
        "| --- | --- | --- | --- |",
        "| Free | 0 |  | 2024-05-01 |",
        "| A\\|B | TRUE |  |  |",
    ]


def test_an_archive_that_would_unpack_to_too_much_is_refused_before_unpacking() -> None:
    bomb = write_zip({**docx_parts([("", "hello")]), "word/media/zeros": bytes(60_000_000)})
    assert len(bomb) < 100_000
    with pytest.raises(DocumentTooLargeError, match="times its size, as no real document does"):
        read_document(bomb, name="bomb.docx")
    with pytest.raises(DocumentTooLargeError, match="would unpack to 60,"):
        read_document(bomb, name="bomb.docx", limits=ReadingLimits(max_unpacked_bytes=50_000_000))


def test_a_sheet_that_would_unpack_to_too_much_is_refused() -> None:
    parts = {"xl/workbook.xml": "<x/>", "xl/worksheets/sheet1.xml": b"<row/>" * 10_000_000}
    with pytest.raises(DocumentTooLargeError):
        read_document(write_zip(parts), name="bomb.xlsx")


def test_an_archive_of_too_many_parts_is_refused() -> None:
    many = write_zip({"word/document.xml": "<x/>", **{f"p/{number}": b"" for number in range(MAX_PARTS)}})
    with pytest.raises(DocumentTooLargeError, match=f"more than {MAX_PARTS:,} parts"):
        check_archive(many, name="many.docx", limits=DEFAULT_LIMITS)


def test_entities_that_grow_or_name_files_are_refused() -> None:
    laughs = '<?xml version="1.0"?><!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b SYSTEM "file:///etc/passwd">]><w>&a;&b;</w>'
    parts = {**docx_parts([("", "hello")]), "word/document.xml": laughs}
    with pytest.raises(DocumentError, match=r"declares entities in 'word/document\.xml'"):
        check_archive(write_zip(parts), name="laughs.docx", limits=DEFAULT_LIMITS)


def test_parts_under_a_password_say_so() -> None:
    data = bytearray(write_docx([("", "hello")]))
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 8] |= 1
    with pytest.raises(DocumentEncryptedError, match="password"):
        check_archive(bytes(data), name="locked.docx", limits=DEFAULT_LIMITS)


def test_a_file_that_is_cut_off_is_refused() -> None:
    data = write_docx([("", "hello")])
    with pytest.raises(DocumentUnsupportedError, match="cut off"):
        read_document(data[:200], name="cut.docx")
    with pytest.raises(DocumentError, match="damaged or cut off"):
        check_archive(data[:-30], name="cut.docx", limits=DEFAULT_LIMITS)


def test_parts_that_are_no_office_file_are_an_error_and_not_a_crash() -> None:
    with pytest.raises(DocumentError, match=r"'odd\.docx' can't be read as DOCX"):
        read_document(write_zip({"word/document.xml": "<unclosed"}), name="odd.docx")


def test_a_plain_archive_is_refused() -> None:
    with pytest.raises(DocumentUnsupportedError, match="zip archive"):
        read_document(write_zip({"notes.txt": "hello"}), name="notes.docx")
