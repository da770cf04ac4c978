"""Cutting a document into pieces of lines that have at most so many tokens each, at headings where that fits."""

from __future__ import annotations

from recollect.library.material import Volume
from recollect.providers.tokens import count_tokens


def chunks_by_size(volume: Volume, *, max_tokens: int) -> list[tuple[int, int, int]]:
    """First line, last line and tokens of each piece; together they are the document.

    A piece ends before a heading when it is at least half full. A line that is longer than a whole piece is one by
    itself, and is the only thing that may be larger.
    """
    headings = {section.line_start for section in volume.sections}
    chunks: list[tuple[int, int, int]] = []
    first, used = 1, 0
    for number, line in enumerate(volume.lines, 1):
        # With its line break: a sum of these is never less than the tokens of the lines together.
        cost = count_tokens(f"{line}\n")
        full = used + cost > max_tokens
        at_heading = number in headings and used * 2 >= max_tokens
        if number > first and (full or at_heading):
            chunks.append((first, number - 1, used))
            first, used = number, 0
        used += cost
    if first <= len(volume.lines):
        chunks.append((first, len(volume.lines), used))
    return chunks
