"""PDF, within the process of `child.py`: text page by page with pypdfium2, ruled tables with pdfplumber.

A page gives printed lines (`pdf_blocks.py`); all pages together give the canonical text, a paragraph a line, with the
page that each stands on (`pdf_blocks.py`), and its headings (`pdf_headings.py`). What is not text is reported as a gap:
pages that are pictures, tables without rules (`pdf_tables.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from recollect.domain.library import Gap, ReadDocument
from recollect.errors import DocumentEncryptedError, DocumentError, DocumentTooLargeError
from recollect.files.decode import canonical
from recollect.library.reading.limits import ReadingLimits
from recollect.library.reading.pdf_blocks import Line, Page, build_blocks, letters_of, page_lines
from recollect.library.reading.pdf_headings import Bookmark, find_headings, largest_line
from recollect.library.reading.pdf_tables import (
    TableReader,
    draws_rules,
    has_columns,
    mark_spread,
    rows_of,
    spread_rows,
)
from recollect.library.reading.sections import build_sections, shorten

#: pdfplumber takes an eighth of a second a page; a count, not a clock, so that the same file gives the same text.
MAX_TABLE_PAGES = 300
#: Fewer letters on a page that is a picture are its number, not its text.
_FEW_CHARS = 10
_MAX_BOOKMARKS = 10_000
_CATALOG = re.compile(rb"(\d{1,9}) 0 obj(?:(?!endobj).){0,2000}?/Type\s*/Catalog", re.DOTALL)
_NO_TITLE = re.compile(
    r"(?:untitled|microsoft (?:word|powerpoint|excel) - .*|.*\.(?:docx?|pdf|tex|dvi|indd))?", re.I
)


@dataclass(slots=True)
class _Pages:
    """What was read so far."""

    pages: list[Page]
    pictures: list[int]
    broken: list[int]
    columns: list[int]
    unread_tables: list[int]


def read_pdf(data: bytes, *, name: str, title: str, limits: ReadingLimits) -> ReadDocument:
    """Read a PDF file."""
    pdf, data, notes = _open(data, name)
    pages = _read_pages(pdf, data, name=name, limits=limits)
    bookmarks = _bookmarks(pdf)
    blocks = build_blocks(pages.pages, {(mark.page, letters_of(mark.text)) for mark in bookmarks})
    lines = [line.text for line in blocks.lines] or [""]
    headings = find_headings(blocks, bookmarks)
    own = shorten(canonical(str(pdf.get_metadata_value("Title")))[0])
    if _NO_TITLE.fullmatch(own):
        own = largest_line(blocks.lines[: blocks.spans[0].line_end]) if blocks.spans else ""
    title = own or title
    if b"%%EOF" not in data[-2_048:] and not notes:
        notes = ("the file seems to be cut off; what is there was read",)
    return ReadDocument(
        title=title,
        kind="pdf",
        text="\n".join(lines),
        sections=build_sections(lines, headings, title=title, pages=blocks.spans),
        pages=tuple(blocks.spans),
        gaps=_gaps(pages),
        notes=notes,
    )


def _open(data: bytes, name: str) -> tuple[Any, bytes, tuple[str, ...]]:
    """The document and its bytes; when the file is cut off, with a directory made from what is there."""
    import pypdfium2  # type: ignore[import-untyped]
    import pypdfium2.raw as raw  # type: ignore[import-untyped]

    try:
        return pypdfium2.PdfDocument(data), data, ()
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            raise DocumentEncryptedError(
                f"{name!r} is protected by a password; save it without one and add it again"
            ) from error
        catalog = _CATALOG.search(data)
        if catalog is not None and b"/Encrypt" not in data:
            mended = data + b"\nendobj\ntrailer\n<< /Root %s 0 R >>\nstartxref\n0\n%%%%EOF\n" % catalog[1]
            try:
                note = "the file is cut off or damaged; what is there was read"
                return pypdfium2.PdfDocument(mended), mended, (note,)
            except pypdfium2.PdfiumError:
                pass
        raise DocumentError(f"{name!r} is a damaged or cut off PDF ({error}); save it again") from error


def _read_pages(pdf: Any, data: bytes, *, name: str, limits: ReadingLimits) -> _Pages:
    import pypdfium2
    import pypdfium2.raw as raw

    read = _Pages(pages=[], pictures=[], broken=[], columns=[], unread_tables=[])
    tables = TableReader(data, tagged=bool(raw.FPDFCatalog_IsTagged(pdf)))
    size = 0
    for index in range(len(pdf)):
        try:
            page = pdf[index]
            lines = _read_page(page, index, read, tables)
            height = page.get_height()
            page.close()
        except pypdfium2.PdfiumError:
            read.broken.append(index + 1)
            continue
        read.pages.append(Page(number=index + 1, height=height, lines=lines))
        size += sum(len(line.text) + 1 for line in lines)
        if size > limits.max_text_chars:
            raise DocumentTooLargeError(
                f"{name!r} has more than {limits.max_text_chars:,} characters of text; split it"
            )
    return read


def _read_page(page: Any, index: int, read: _Pages, tables: TableReader) -> list[Line]:
    import pypdfium2.raw as raw

    textpage = page.get_textpage()
    lines = page_lines(textpage)
    letters = sum(len(line.text) for line in lines)
    if letters < _FEW_CHARS:
        drawn = next(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH]), None)
        if drawn is not None:
            read.pictures.append(index + 1)
        return lines
    boxes: list[tuple[float, float, float, float]] = []
    rows = rows_of(textpage)
    spread = spread_rows(rows)
    if draws_rules(page) or (tables.tagged and spread):
        if tables.pages_read >= MAX_TABLE_PAGES:
            read.unread_tables.append(index + 1)
        else:
            try:
                lines, boxes = tables.replace_tables(lines, page, textpage, index)
            except Exception:  # pdfplumber stumbles over pages that pdfium reads
                read.unread_tables.append(index + 1)
    if has_columns(rows, known=boxes):
        read.columns.append(index + 1)
    textpage.close()
    return mark_spread(lines, spread)


def _bookmarks(pdf: Any) -> list[Bookmark]:
    import pypdfium2

    bookmarks: list[Bookmark] = []
    try:
        for mark in pdf.get_toc(max_depth=8):
            target = mark.get_dest()
            page = target.get_index() if target is not None else None
            text = shorten(canonical(mark.get_title())[0])
            if page is not None and text:
                bookmarks.append(Bookmark(level=mark.level + 1, text=text, page=page + 1))
            if len(bookmarks) >= _MAX_BOOKMARKS:
                break
    except (pypdfium2.PdfiumError, ValueError):
        return []
    return bookmarks


def _gaps(pages: _Pages) -> tuple[Gap, ...]:
    kinds = (
        (pages.pictures, "is an image", "are images", "read text in pictures (OCR)"),
        (pages.broken, "is damaged", "are damaged", "repair a damaged PDF"),
        (
            pages.columns,
            "has a table without rules, which could not be read as a table",
            "have tables without rules, which could not be read as tables",
            "read tables without rules in PDF",
        ),
        (
            pages.unread_tables,
            "draws a table that was read as plain text",
            "draw tables that were read as plain text",
            "read many or unusual tables in PDF",
        ),
    )
    found = []
    for numbers, one, many, capability in kinds:
        for first, last in _runs(numbers):
            where = f"page {first}" if first == last else f"pages {first} to {last}"
            description = f"{where} {one if first == last else many}"
            found.append(Gap(description=description, where=where, page=first, capability=capability))
    return tuple(sorted(found, key=lambda gap: (gap.page or 0, gap.description)))


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
