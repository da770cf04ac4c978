"""PDF, within the process of `child.py`: text page by page with pypdfium2, ruled tables with pdfplumber.

A page gives printed lines; all pages together give the canonical text, a paragraph a line, with the page that each
stands on (`pdf_blocks.py`), and its headings: short lines that stand alone, in letters that the text is not set in,
their level by size and number. Bookmarks know better: they give levels and the headings that do not look like one. What
is not text is reported as a gap: pages that are pictures, tables without rules (`pdf_tables.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.domain.library import Gap, ReadDocument
from recollect.errors import DocumentEncryptedError, DocumentError, DocumentTooLargeError
from recollect.files.decode import canonical
from recollect.library.reading.pdf_blocks import Blocks, Line, Page, build_blocks, letters_of, page_lines
from recollect.library.reading.pdf_tables import (
    TableReader,
    draws_rules,
    has_columns,
    mark_spread,
    rows_of,
    spread_rows,
)
from recollect.library.reading.sections import Heading, ReadingLimits, fold, make_document, shorten

# ---------------------------------------------------------------- headings


_LARGER = 1.12
#: The smallest headings of a browser are smaller than the text, but bold.
_SMALLEST = 0.65
_MAX_HEADING_CHARS = 150
#: When more of the letters than this are in headings, size or weight means something else in this document.
_MAX_SHARE = 0.3
_MAX_LEVEL = 6
_NUMBERED = re.compile(
    r"(?:(?:chapter|part|section)\s+)?(\d{1,3}(?:\.\d{1,3})*)[.)]?\s+(?=\S)", re.IGNORECASE
)
#: A sentence, a list item, or what is printed over a box.
_NO_HEADING = re.compile(
    r".*[.,;:](?<!\.\.\.)$|[-•*▪◦○●]\s|(?:note|tip|hint|warning|caution|important)$", re.IGNORECASE
)

#: Signatures of functions are bold or large, too.
_SIGNATURE = re.compile(r"(?:\w+ )?[\w.]+\(.*\)$|.*=|.*,.*\)$")

#: Size and weight.
Style = tuple[float, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """An entry of the outline; pages count from 1."""

    level: int
    text: str
    page: int


def find_headings(blocks: Blocks, bookmarks: Sequence[Bookmark]) -> list[Heading]:
    """The headings in the order of their lines."""
    body = _body_size(blocks.lines)
    candidates = {
        number: line
        for number, line in enumerate(blocks.lines, 1)
        if _stands_out(line, body) and (line.size >= body * _LARGER or _stands_alone(blocks, number))
    }
    letters = sum(len(line.text) for line in blocks.lines)
    if sum(len(line.text) for line in candidates.values()) > max(_MAX_SHARE * letters, _MAX_HEADING_CHARS):
        candidates = {}
    marked = _by_bookmarks(blocks, bookmarks)
    if marked:
        return _below_bookmarks(marked, candidates, blocks.lines)
    levels = _levels(candidates)
    return [
        Heading(line=number, level=levels[number], text=fold(line.text))
        for number, line in candidates.items()
    ]


def largest_line(lines: Sequence[Line]) -> str:
    """The first of the lines in the largest letters; nothing when these are the usual ones."""
    sized = [line for line in lines if line.size and len(line.text) <= _MAX_HEADING_CHARS]
    if not sized:
        return ""
    largest = max(sized, key=lambda line: line.size)
    usual = sorted(line.size for line in sized)[len(sized) // 2]
    return fold(largest.text) if largest.size >= usual * _LARGER else ""


def _body_size(lines: Sequence[Line]) -> float:
    """The size that most of the text is in; of code only when there is nothing else."""
    sized = [line for line in lines if line.size]
    weights: Counter[float] = Counter()
    for line in [line for line in sized if not line.mono] or sized:
        weights[line.size] += len(line.text)
    return max(weights, key=lambda size: (weights[size], -size), default=0.0)


def _stands_out(line: Line, body: float) -> bool:
    return (
        bool(line.size)
        and not line.spread
        and (
            line.size >= body * _LARGER
            or (line.bold and not line.mono and line.size >= body * _SMALLEST)
            or (line.size > body and _NUMBERED.match(line.text) is not None)
        )
        and len(line.text) <= _MAX_HEADING_CHARS
        and _NO_HEADING.match(line.text) is None
        and _SIGNATURE.match(line.text) is None
        and any(letter.isalpha() for letter in line.text)
    )


def _stands_alone(blocks: Blocks, number: int) -> bool:
    """Of a line that is hardly larger than the text: it is apart from what is above, and no table is below."""
    below = next((line for line in blocks.lines[number : number + 2] if line.text.strip()), None)
    return number in blocks.apart and below is not None and bool(below.size)


def _levels(candidates: Mapping[int, Line]) -> dict[int, int]:
    """By number where headings have one ("2.3.1" is two below "2"), else by size, the bold ones first."""
    styles = sorted({_style(line) for line in candidates.values()}, reverse=True)
    rank = {style: min(place, _MAX_LEVEL) for place, style in enumerate(styles, 1)}
    depths = {
        number: match[1].count(".")
        for number, line in candidates.items()
        if (match := _NUMBERED.match(line.text)) is not None
    }
    if 2 * len(depths) < len(candidates) or len(set(depths.values())) < 2:
        return {number: rank[_style(line)] for number, line in candidates.items()}
    top = min(
        rank[_style(candidates[number])] for number, depth in depths.items() if depth == min(depths.values())
    )
    levels = {number: min(top + depth - min(depths.values()), _MAX_LEVEL) for number, depth in depths.items()}
    of_style: dict[Style, Counter[int]] = {}
    for number, level in levels.items():
        of_style.setdefault(_style(candidates[number]), Counter())[level] += 1
    for number, line in candidates.items():
        usual = of_style.get(_style(line))
        levels.setdefault(number, usual.most_common(1)[0][0] if usual else rank[_style(line)])
    return levels


def _style(line: Line) -> Style:
    return line.size, line.bold


# ---------------------------------------------------------------- bookmarks


def _by_bookmarks(blocks: Blocks, bookmarks: Sequence[Bookmark]) -> dict[int, Heading]:
    """A bookmark names a page; its heading is the line there with its words, else the first free line of the page."""
    by_page = {span.page: span for span in blocks.spans}
    headings: dict[int, Heading] = {}
    for mark in bookmarks:
        span = by_page.get(mark.page)
        if span is None:
            continue
        wanted = letters_of(mark.text)
        filled = [
            (number, letters_of(blocks.lines[number - 1].text))
            for number in range(span.line_start, span.line_end + 1)
            if number not in headings and blocks.lines[number - 1].text.strip()
        ]
        line = next((number for number, key in filled if key == wanted), None)
        if line is None and len(wanted) >= 4:
            line = next((n for n, key in filled if key.startswith(wanted) or key.endswith(wanted)), None)
        if line is None:
            line = span.line_start if span.line_start not in headings else None
        if line is not None:
            headings[line] = Heading(line=line, level=mark.level, text=mark.text)
    return dict(sorted(headings.items()))


def _below_bookmarks(
    marked: Mapping[int, Heading], candidates: Mapping[int, Line], lines: Sequence[Line]
) -> list[Heading]:
    """The marked headings, and those that look smaller than any of them, one level further down each."""
    smallest = min((_style(lines[number - 1]) for number in marked), default=(0.0, False))
    deepest = max(heading.level for heading in marked.values())
    below = sorted({_style(line) for line in candidates.values() if _style(line) < smallest}, reverse=True)
    headings = dict(marked)
    for number, line in candidates.items():
        if number not in headings and _style(line) in below:
            level = min(deepest + 1 + below.index(_style(line)), max(_MAX_LEVEL, deepest + 1))
            headings[number] = Heading(line=number, level=level, text=fold(line.text))
    return [headings[number] for number in sorted(headings)]


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
    lines = [line.text for line in blocks.lines]
    headings = find_headings(blocks, bookmarks)
    for heading in headings:
        # As in any other document: nobody takes it for the beginning of the sentence below.
        if lines[heading.line - 1].strip() == heading.text:
            lines[heading.line - 1] = f"{'#' * min(heading.level, 6)} {heading.text}"
    own = shorten(canonical(str(pdf.get_metadata_value("Title")))[0])
    if _NO_TITLE.fullmatch(own):
        own = largest_line(blocks.lines[: blocks.spans[0].line_end]) if blocks.spans else ""
    if b"%%EOF" not in data[-2_048:] and not notes:
        notes = ("the file seems to be cut off; what is there was read",)
    return make_document(
        "pdf", own or title, lines, headings, pages=blocks.spans, gaps=_gaps(pages), notes=notes
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
    gaps = []
    for numbers, one, many, capability in kinds:
        for first, last in _runs(numbers):
            where = f"page {first}" if first == last else f"pages {first} to {last}"
            description = f"{where} {one if first == last else many}"
            gaps.append(Gap(description=description, where=where, page=first, capability=capability))
    return tuple(sorted(gaps, key=lambda gap: (gap.page or 0, gap.description)))


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
