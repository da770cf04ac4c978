"""The material of a question that is put to all of it: `Piece`, how many go into one request, and what that takes.

Nothing here asks: with a model that is `fan_out.py`, without one `match.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.domain.findings import Citation
from recollect.domain.library import PATH_SEPARATOR
from recollect.domain.rows import Column
from recollect.errors import InvalidInputError
from recollect.runs.bounds import Bound, priced

if TYPE_CHECKING:
    from recollect.providers.models import Profile

#: What stands around the pieces of a request: instructions, question, columns, the form.
AROUND_TOKENS = 1_200
_RESERVED = frozenset({"line", "quote", "count"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some lines of one section, or a memory. `unit` is the whole that is counted as looked at."""

    unit: str
    label: str
    lines: tuple[str, ...]
    #: A citation of a range of these lines, counted from 1.
    cite: Callable[[int, int], Citation] = field(repr=False)
    #: Document, first and last line, as the record of a run names what was read.
    span: tuple[str, int, int] | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    @property
    def heading(self) -> str:
        """The last of the headings that it stands under."""
        return self.label.rpartition(PATH_SEPARATOR)[2]


def rows_output(profile: Profile) -> int:
    """What the rows of one request may have: as much as the model says at once, a quarter of a small window."""
    return {"small": min(profile.window // 4, 2_048), "medium": 4_096, "large": 8_192}[profile.shape]


def batch_tokens(profile: Profile) -> int:
    """The text of one request: if every line of it is a row, quotes and values still fit into the answer."""
    output_tokens = profile.bounded(rows_output(profile))
    return max(min(profile.part_tokens - AROUND_TOKENS, output_tokens // 3), 200)


def batches(pieces: Sequence[Piece], most_tokens: int) -> list[list[Piece]]:
    """The pieces in their order, as many together as fit; a longer one was cut to lines before."""
    made: list[list[Piece]] = []
    room = 0
    for piece in (part for whole in pieces for part in _cut(whole, most_tokens)):
        size = size_of(piece)
        if not made or size > room:
            made.append([])
            room = most_tokens
        made[-1].append(piece)
        room -= size
    return made


def bound_rows(profile: Profile, pieces: Sequence[Piece]) -> Bound:
    """The most that asking about these pieces takes: every request with the longest answer."""
    made = batches(pieces, batch_tokens(profile))
    input_tokens = sum(profile.counted(sum(map(size_of, batch)) + AROUND_TOKENS) for batch in made)
    return priced(profile, len(made), input_tokens, len(made) * profile.output_tokens(rows_output(profile)))


def rows_room(material_tokens: int, max_tokens: int) -> int:
    """What the questions of one run to every piece may read together: all of the material about twice."""
    # Three times its tokens, since lines get a number each.
    return min(3 * material_tokens, max_tokens)


def estimated_rows(profile: Profile, room: int) -> Bound:
    """The most that reading so much takes, by its size alone, before any of it was opened."""
    # What is left of a request when the next piece does not fit is lost.
    requests = max(math.ceil(2 * room / batch_tokens(profile)), 1)
    input_tokens = profile.counted(room) + requests * profile.counted(AROUND_TOKENS)
    return priced(profile, requests, input_tokens, requests * profile.output_tokens(rows_output(profile)))


def size_of(piece: Piece) -> int:
    """About how many tokens a request has for it."""
    # Characters over three and a half, and the number before each line: counting them all would take longer.
    chars = len(piece.label) + sum(len(line) + 1 for line in piece.lines)
    return chars * 2 // 7 + 4 * len(piece.lines) + 8


def _cut(piece: Piece, most_tokens: int) -> Iterator[Piece]:
    halves = _halves(piece) if size_of(piece) > most_tokens else []
    if not halves:
        yield piece
    for half in halves:
        yield from _cut(half, most_tokens)


def _halves(piece: Piece) -> list[Piece]:
    """The first and the second half of its lines; none of a single line."""
    middle, count = len(piece.lines) // 2, len(piece.lines)
    return [_part(piece, 1, middle), _part(piece, middle + 1, count)] if middle else []


def _part(piece: Piece, first: int, last: int) -> Piece:
    span = piece.span and (piece.span[0], piece.span[1] + first - 1, piece.span[1] + last - 1)

    def cite(start: int, end: int) -> Citation:
        return piece.cite(start + first - 1, end + first - 1)

    return Piece(
        unit=piece.unit, label=piece.label, lines=piece.lines[first - 1 : last], cite=cite, span=span
    )


def check_columns(columns: Sequence[Column]) -> None:
    """Names that a form can have; an error says what is wrong."""
    names = [column.name for column in columns]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidInputError(f"the column {twice[0]!r} is there twice")
    for name in names:
        if name in _RESERVED or not name.isidentifier() or name.startswith("_"):
            raise InvalidInputError(f"a column can't be called {name!r}; take another word, without blanks")


def halved(batch: Sequence[Piece]) -> list[list[Piece]]:
    """Two batches of one; none of a single line."""
    if len(batch) > 1:
        middle = len(batch) // 2
        return [list(batch[:middle]), list(batch[middle:])]
    return [[half] for half in _halves(batch[0])]


def fitting(pieces: Sequence[Piece], max_tokens: int | None) -> tuple[list[Piece], list[Piece]]:
    """The pieces that a limit of tokens allows, from the first on, and the others."""
    left = math.inf if max_tokens is None else max_tokens
    for place, piece in enumerate(pieces):
        left -= size_of(piece)
        if left < 0:
            return list(pieces[:place]), list(pieces[place:])
    return list(pieces), []
