"""What holds of every document, whatever its bytes were."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.library.office_writing import docx_parts, write_zip
from tests.library.pdf_writing import paragraph, write_pdf
from tests.profiles import examples

from recollect.domain.library import ReadDocument, pages_of
from recollect.errors import DocumentError
from recollect.library.reading import read_document

NAMES = ("a.md", "a.html", "a.txt", "a.py", "a.c", "a.pdf", "-", "weird.name.docx")
PIECES = st.sampled_from(
    [
        *"# ## ### ``` ~~~ --- === <h1> </h1> <h2> <table> <tr> <td> </table> <pre> </pre> <!-- -->".split(),
        *"<main> </main> <ul> <li> </ul> <div> </div> <br> <p> <script> </script> & &amp; def class:".split(),
        *"> | - 1. title: \\ é € word".split(),
        "\n",
        "\n\n",
        "\f",
        "\r",
        " ",
        "    ",
        "\u2028",
        "\x00",
        "def f():\n",
        "<div class=note>",
        "<div role=main>",
    ]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)
EXAMPLES = settings(
    max_examples=examples(150), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def read_or_refuse(data: bytes, name: str) -> None:
    """Only errors about documents are let through, and they name the file."""
    try:
        read = read_document(data, name=name)
    except DocumentError as error:
        if repr(name) not in str(error):
            raise
    else:
        check(read)


def check(read: ReadDocument) -> None:
    """The promises of `domain/library.py`."""
    lines = read.text.split("\n")
    assert read.text.splitlines() == ([] if lines == [""] else lines)
    assert "\x00" not in read.text
    read.text.encode("utf-8")
    owner = [0] * (len(lines) + 1)
    end = 0
    for number, section in enumerate(read.sections):
        assert section.number == number
        assert section.parent is None or section.parent < number
        assert end < section.line_start <= section.line_end <= len(lines)
        assert section.heading
        assert section.path.endswith(section.heading)
        if section.parent is not None:
            assert read.sections[section.parent].level < section.level
            assert section.path == f"{read.sections[section.parent].path} > {section.heading}"
        assert section.pages == pages_of(read.pages, section.line_start, section.line_end)
        for line in range(section.line_start, section.line_end + 1):
            owner[line] += 1
        end = section.line_end
    for line, text in enumerate(lines, start=1):
        assert owner[line] <= 1
        assert owner[line] == 1 or not text.strip()
    end = 0
    for page in read.pages:
        assert end < page.line_start <= page.line_end <= len(lines)
        end = page.line_end
    assert ReadDocument.read(json.loads(json.dumps(read.document()))) == read


@EXAMPLES
@given(TEXTS, st.sampled_from(NAMES))
def test_sections_cover_every_line_with_text_once_and_in_order(text: str, name: str) -> None:
    try:
        read = read_document(text.encode(), name=name)
    except DocumentError:
        # More NUL than a text has: refused as binary, and by no other error.
        assert "\x00" in text
        return
    check(read)


@EXAMPLES
@given(st.binary(max_size=300), st.sampled_from(["a.md", "a.html", "a.txt", "a.py", "-"]))
def test_any_bytes_are_read_or_refused_with_an_error_of_ours(data: bytes, name: str) -> None:
    if data[:64].lstrip().startswith(b"%PDF-"):
        return
    read_or_refuse(data, name)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_pdf_is_read_or_refused_with_an_error_of_ours(seed: int) -> None:
    data = bytearray(write_pdf([paragraph(["Some words."]), paragraph(["More words."])]))
    for step in range(12):
        data[(seed * 7_919 + step * 104_729) % len(data)] ^= 0x55
    read_or_refuse(bytes(data), "a.pdf")


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_office_file_is_read_or_refused_with_an_error_of_ours(seed: int) -> None:
    data = bytearray(write_zip(docx_parts([("Heading1", "Title"), ("", "Some words.")])))
    for step in range(6):
        data[100 + (seed * 7_919 + step * 104_729) % (len(data) - 400)] ^= 0x55
    read_or_refuse(bytes(data), "a.docx")


def test_a_pdf_keeps_the_same_promises() -> None:
    check(read_document(write_pdf([paragraph(["One.", "Two."]), "", paragraph(["Three."])]), name="a.pdf"))
