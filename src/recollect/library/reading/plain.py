"""Plain text: the lines as they are; form feeds are page breaks."""

from __future__ import annotations

from recollect.domain.documents import PageSpan, ReadDocument
from recollect.library.reading.sections import build_sections


def read_plain(text: str, *, title: str) -> ReadDocument:
    """A canonical text, in one section."""
    lines, pages = split_pages(text)
    return ReadDocument(
        title=title,
        kind="text",
        text="\n".join(lines),
        sections=build_sections(lines, (), title=title, pages=pages),
        pages=pages,
    )


def split_pages(text: str) -> tuple[list[str], tuple[PageSpan, ...]]:
    """The lines without form feeds, and the pages when there were any.

    A form feed at the start or end of a line is taken out, and line numbers stay the file's own; one within a line
    ends it.
    """
    if "\f" not in text:
        return text.split("\n"), ()
    lines: list[str] = []
    starts = [1]
    for line in text.split("\n"):
        parts = line.split("\f")
        kept = [part for part in parts if part] or [""]
        # A page starts with what follows its form feed: this line if that has text, else the next one.
        seen = 0
        for part in parts[:-1]:
            seen += bool(part)
            starts.append(len(lines) + 1 + min(seen, len(kept)))
        lines += kept
    spans = []
    ends = [start - 1 for start in starts[1:]] + [len(lines)]
    for page, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        if start <= end:
            spans.append(PageSpan(page=page, line_start=start, line_end=end))
    return lines, tuple(spans)
