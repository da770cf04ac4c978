"""Parts of a document as ranges of lines: their text as far as one observation goes, and where a quote stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recollect.library.material import Volume
from recollect.runs.quotes import locate

#: Of one observation: a planner with a small window reads no more, and a larger part can be had in pieces.
MAX_TEXT_CHARS = 24_000

#: Document, first line and last line of each part, as JSON.
Spans = list[list[Any]]


def only(volume: Volume, spans: Sequence[tuple[int, int]]) -> Volume:
    """The document as if its sections were these lines alone."""
    kept = []
    for section in volume.sections:
        for first, last in spans:
            start, end = max(section.line_start, first), min(section.line_end, last)
            if start <= end:
                kept.append(replace(section, line_start=start, line_end=end))
    return replace(volume, sections=tuple(kept))


def cut(
    volume: Volume, spans: Sequence[tuple[int, int]], *, room_chars: int = MAX_TEXT_CHARS
) -> tuple[str, Spans]:
    """The text of lines as far as one observation goes, and the lines that are in it."""
    left = room_chars
    texts: list[str] = []
    read: Spans = []
    for first, last in spans:
        end = first - 1
        for number in range(first, last + 1):
            left -= len(volume.lines[number - 1]) + 1
            if left < 0 and (texts or end >= first):
                break
            end = number
        if end >= first:
            texts.append(volume.text_of(first, end)[:room_chars])
            read.append([volume.doc_id, first, end])
        if left < 0:
            texts.append(f"[cut at line {end}; read the rest as '{volume.doc_id}:{end + 1}-{last}']")
            break
    return "\n".join(texts), read


def lines_of(read: Spans) -> str:
    """The ranges, for a reader."""
    return ", ".join(f"(lines {first}-{last})" for _, first, last in read)


def joined(parts: Sequence[tuple[Volume, int, int]]) -> str:
    """The texts of parts, each under the words that name it."""
    pieces = []
    for volume, first, last in parts:
        section = volume.section_at(first)
        place = f"{volume.doc_id}:{first}-{last} {section.path if section else ''}"
        pieces.append(f"[{place}]\n{volume.text_of(first, last)}")
    return "\n\n".join(pieces)


def locate_in(volume: Volume, read: Spans, quote: str) -> tuple[int, int] | None:
    """Where a quote stands within these lines."""
    for _, first, last in read:
        placed = locate(quote, volume.lines[first - 1 : last], first=first)
        if placed is not None:
            return placed
    return None
