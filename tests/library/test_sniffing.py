"""What a file is, in which encoding: content before name, and a note when they disagree."""

from __future__ import annotations

import codecs

import pytest

from recollect.errors import (
    DocumentEncryptedError,
    DocumentError,
    DocumentTooLargeError,
    DocumentUnsupportedError,
    InvalidInputError,
)
from recollect.library.reading import ReadingLimits, read_document


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.md", b"# x", "markdown"),
        ("a.html", b"<p>x", "html"),
        ("a.txt", b"# x", "text"),
        ("a.py", b"x = 1", "code"),
        ("Makefile", b"all:\n", "code"),
        ("a.json", b"{}", "text"),
        ("a.txt", b"a file that starts with %PDF-1.7 is a PDF", "text"),
        ("-", b"# Heading\n\ntext", "markdown"),
        ("-", b"just words", "text"),
        ("-", b"<!DOCTYPE html><p>x", "html"),
        ("script", b"#!/bin/sh\n# comment", "code"),
    ],
)
def test_the_kind_is_found(name: str, data: bytes, kind: str) -> None:
    read = read_document(data, name=name)
    assert read.kind == kind
    assert read.notes == ()


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"\n<!doctype html><html><h1>T</h1>", "html"),
        ("a.md", b"<?xml version='1.0'?>\n<!-- c -->\n<html><h1>T</h1></html>", "html"),
        ("a.html", b"no markup here, only 1 < 2", "text"),
        ("a.pdf", b"just words", "text"),
        ("a.docx", b"# Heading\n", "markdown"),
    ],
)
def test_a_wrong_extension_is_recognised_and_noted(name: str, data: bytes, kind: str) -> None:
    read = read_document(data, name=name)
    assert read.kind == kind
    assert read.notes == (f"named .{name[2:]}, but its content is {kind}; read as {kind}",)


def test_a_given_kind_decides_between_kinds_of_text() -> None:
    assert read_document(b"# x", name="a.txt", kind="markdown").sections[0].heading == "x"
    assert read_document(b"<p>x", name="a.html", kind="text").text == "<p>x"


def test_a_given_kind_that_can_not_be_is_refused() -> None:
    with pytest.raises(DocumentError, match="not a PDF"):
        read_document(b"words", name="a.txt", kind="pdf")
    with pytest.raises(DocumentError, match="leave the kind out"):
        read_document(b"%PDF-1.7 ...", name="a.pdf", kind="text")
    with pytest.raises(InvalidInputError, match="unknown kind of document 'novel'"):
        read_document(b"words", name="a.txt", kind="novel")


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(64),
        b"\x7fELF" + bytes(64),
        b"\x1f\x8b\x08" + bytes(64),
        b"PK\x03\x04" + bytes(64),
        b"{\\rtf1 hello}",
        bytes(range(256)) * 8,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512),
    ],
)
def test_what_no_reader_understands_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(DocumentUnsupportedError, match=r"'odd\.txt' is "):
        read_document(data, name="odd.txt")


def test_an_office_file_under_a_password_says_so() -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(DocumentEncryptedError, match="password"):
        read_document(data, name="a.docx")


def test_a_file_beyond_the_limit_is_refused_whole() -> None:
    with pytest.raises(DocumentTooLargeError, match="has 11 bytes, the limit is 10"):
        read_document(b"hello world", name="a.txt", limits=ReadingLimits(max_file_bytes=10))
    with pytest.raises(DocumentTooLargeError, match="11 characters of text, the limit is 10"):
        read_document(b"hello world", name="a.txt", limits=ReadingLimits(max_text_chars=10))


@pytest.mark.parametrize(
    "data",
    [
        "naïve €".encode(),
        codecs.BOM_UTF8 + "naïve €".encode(),
        codecs.BOM_UTF16_LE + "naïve €".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "naïve €".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "naïve €".encode("utf-32-le"),
    ],
)
def test_unicode_is_read_with_and_without_a_mark(data: bytes) -> None:
    read = read_document(data, name="a.txt")
    assert (read.text, read.notes) == ("naïve €", ())


def test_utf_16_without_a_mark_is_recognised() -> None:
    read = read_document("plain words\nin two lines".encode("utf-16-le"), name="a.txt")
    assert read.text == "plain words\nin two lines"
    assert read.notes == ("no byte order mark; read as UTF-16-LE",)


def test_latin_is_a_fallback_with_a_note() -> None:
    read = read_document("naïve “quoted” €".encode("cp1252"), name="a.txt")
    assert read.text == "naïve “quoted” €"
    assert read.notes == ("not UTF-8; read as Windows-1252 (Latin)",)


def test_an_encoding_the_page_declares_is_believed_when_it_is_not_utf_8() -> None:
    page = "<meta charset='windows-1251'><p>привет</p>"
    assert read_document(page.encode("cp1251"), name="a.html").text == "привет"
    assert read_document(page.encode(), name="a.html").text == "привет"


def test_mixed_encodings_keep_what_is_utf_8_and_say_so() -> None:
    read = read_document("première\n".encode() + "deuxième\n".encode("latin-1") + b"third", name="a.txt")
    assert read.lines == ["première", "deuxi\ufffdme", "third"]
    assert read.notes == ("mixed encodings: 1 places are not UTF-8 and became U+FFFD",)


def test_no_character_that_can_not_be_stored_or_ends_lines_for_some_remains() -> None:
    read = read_document("a\rb\r\nc\u2028d\x0be\x85f\x00g".encode() + b"." * 600, name="a.txt")
    assert read.text == "a\nb\nc d e f\ufffdg" + "." * 600
    assert read.notes == ("1 NUL characters were replaced by U+FFFD",)


def test_form_feeds_are_pages() -> None:
    read = read_document(b"one\ntwo\f\nthree\n\ffour\nfive\fsix\f\f\n", name="a.txt")
    assert read.lines == ["one", "two", "three", "four", "five", "six"]
    assert [(page.page, page.line_start, page.line_end) for page in read.pages] == [
        (1, 1, 2),
        (2, 3, 3),
        (3, 4, 5),
        (4, 6, 6),
    ]
    assert read.sections[0].pages == (1, 4)


def test_an_empty_file_is_a_document_without_text() -> None:
    for name in ("a.txt", "a.md", "a.html", "a.py"):
        read = read_document(b" \n\n", name=name)
        assert (read.text, len(read.sections)) == ("", 1)
        assert read.notes == ("the file holds no text",)
