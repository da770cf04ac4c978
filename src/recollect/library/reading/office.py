"""DOCX, PPTX and XLSX, within the process of `child.py`.

Word and PowerPoint files become Markdown by markitdown's converters, called directly on the bytes: no plugin, no path
or address is opened. Sheets are read with openpyxl: by way of markitdown an empty cell becomes the word "NaN". A
slide is a page; slides and sheets are sections.
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, time
from types import ModuleType
from typing import Any

from recollect.domain.library import Gap, PageSpan, ReadDocument
from recollect.errors import DocumentTooLargeError
from recollect.files.decode import canonical
from recollect.library.reading.markdown import plain_heading, read_markdown
from recollect.library.reading.sections import (
    Heading,
    ReadingLimits,
    fold,
    make_document,
    markdown_table,
    shorten,
)
from recollect.library.reading.sniff import check_archive

_SLIDE = re.compile(r"<!-- Slide number: (\d{1,6}) -->")
#: Its description stays in its place; files and addresses of pictures mean nothing here.
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*\)")
#: Most tables of Word have no row that is marked as their head, and are converted with an empty one above their first.
_EMPTY_HEAD = re.compile(r"^\|[ |]*\|\n(\|(?: *-{3,} *\|)+)\n(\|.*\|)$", re.MULTILINE)
#: Columns further right are formatting, not data.
_MAX_COLUMNS = 500


def read_office(data: bytes, *, kind: str, name: str, title: str, limits: ReadingLimits) -> ReadDocument:
    """Read an Office file of this kind."""
    check_archive(data, name=name, limits=limits).close()
    match kind:
        case "docx":
            return _read_docx(data, title=title)
        case "pptx":
            return _read_pptx(data, title=title)
        case _:
            return _read_xlsx(data, name=name, title=title, limits=limits)


def _read_docx(data: bytes, *, title: str) -> ReadDocument:
    text, pictures = _convert(data, "DocxConverter", ".docx")
    read = read_markdown(_EMPTY_HEAD.sub(r"\2\n\1", text), title=title, kind="docx")
    return replace(read, gaps=_picture_gaps(pictures))


def _read_pptx(data: bytes, *, title: str) -> ReadDocument:
    text, pictures = _convert(data, "PptxConverter", ".pptx")
    lines: list[str] = []
    headings: list[Heading] = []
    pages: list[PageSpan] = []
    for number, slide in enumerate(_slides(text.split("\n")), start=1):
        heading, body = _slide_heading(slide, number)
        if lines:
            lines.append("")
        start = len(lines) + 1
        lines += [f"# {heading}", *body]
        headings.append(Heading(line=start, level=1, text=heading))
        pages.append(PageSpan(page=number, line_start=start, line_end=len(lines)))
    title = headings[0].text if headings and not headings[0].text.startswith("Slide ") else title
    return make_document("pptx", title, lines, headings, pages=pages, gaps=_picture_gaps(pictures))


def _convert(data: bytes, converter: str, extension: str) -> tuple[str, int]:
    """Markdown, by one of markitdown's converters, and how many pictures had to be left out of it.

    Importing markitdown loads all its other converters and an inference engine that guesses file types: three seconds
    of processor time and 600 MB of address space against 0.8 and 70. None of that is used here, this process reads
    one file, and so its imports are kept from finding them.
    """
    guesser: Any = ModuleType("magika")
    guesser.Magika = object
    sys.modules.setdefault("magika", guesser)
    for unused in ("pandas", "pdfminer", "pdfplumber"):
        sys.modules.setdefault(unused, None)  # type: ignore[arg-type]
    import markitdown
    import markitdown.converters

    convert = getattr(markitdown.converters, converter)().convert
    converted = str(convert(io.BytesIO(data), markitdown.StreamInfo(extension=extension)).markdown)
    return _PICTURE.subn(r"\1", canonical(converted)[0].replace("\f", "\n"))


def _slides(lines: Iterable[str]) -> list[list[str]]:
    """The lines of each slide. Only the next number starts one: a slide may well quote such a comment."""
    slides: list[list[str]] = []
    for line in lines:
        mark = _SLIDE.fullmatch(line.strip())
        if mark is not None and int(mark[1]) == len(slides) + 1:
            slides.append([])
        elif slides:
            slides[-1].append(line)
    return slides


def _slide_heading(slide: list[str], number: int) -> tuple[str, list[str]]:
    """A slide's title, wherever on the slide it stands, and its other lines."""
    body = list(slide)
    heading = f"Slide {number}"
    for index, line in enumerate(body):
        if line.startswith("# "):
            heading = plain_heading(line[2:]) or heading
            del body[index]
            break
    while body and not body[-1].strip():
        body.pop()
    while body and not body[0].strip():
        body.pop(0)
    return heading, [line.rstrip() for line in body]


def _read_xlsx(data: bytes, *, name: str, title: str, limits: ReadingLimits) -> ReadDocument:
    import openpyxl  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that hold no text
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        lines: list[str] = []
        headings: list[Heading] = []
        size = 0
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what the file says of its size may be wrong, or made to harm
            heading = shorten(canonical(sheet.title)[0]) or "Sheet"
            if lines:
                lines.append("")
            headings.append(Heading(line=len(lines) + 1, level=1, text=heading))
            lines.append(f"# {heading}")
            rows: list[list[str]] = []
            for row in sheet.iter_rows(values_only=True, max_col=_MAX_COLUMNS):
                cells = [_cell(value) for value in row]
                while cells and not cells[-1]:
                    cells.pop()
                if cells:
                    rows.append(cells)
                    size += sum(map(len, cells)) + 3 * len(cells)
                if size > limits.max_text_chars:
                    raise DocumentTooLargeError(
                        f"{name!r} has more than {limits.max_text_chars:,} characters of text; split it"
                    )
            if rows:
                lines += ["", *markdown_table(rows, has_header=True)]
        gaps = tuple(
            Gap(description=f"the chart {sheet.title!r} could not be read", capability="read charts")
            for sheet in book.chartsheets
        )
    return make_document("xlsx", title, lines, headings, gaps=gaps)


def _cell(value: object) -> str:
    """A cell as a person would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return fold(canonical(str(value))[0])


def _picture_gaps(pictures: int) -> tuple[Gap, ...]:
    if not pictures:
        return ()
    what = "a picture" if pictures == 1 else f"{pictures:,} pictures"
    return (Gap(description=f"{what} could not be read", capability="read text in pictures (OCR)"),)
