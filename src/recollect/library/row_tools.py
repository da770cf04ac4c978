"""`map_sections`: one question put to every section of the documents, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pydantic import Field

from recollect.domain.findings import Citation
from recollect.domain.rows import Column, Rows
from recollect.errors import InvalidInputError
from recollect.library.material import EVERYTHING, Entry, Material, Volume
from recollect.library.prose import begins_block, is_open, sentences_of, table_head, ticked
from recollect.library.tools import entries_like
from recollect.runs.environment import CallContext, Observation, Tool
from recollect.runs.match import Sentence, match_sentences
from recollect.runs.pieces import Piece
from recollect.runs.row_book import MapParameters, RowBook

#: A paragraph that is told whole.
_SHORT_CHARS = 400

#: The lines that a reference names; None for what is no reference.
Resolve = Callable[[str], Awaitable["tuple[Volume, list[tuple[int, int]]] | None"]]


class MapSections(MapParameters):
    """Parameters of `map_sections`."""

    source: str = Field(
        default=EVERYTHING,
        min_length=1,
        max_length=10_000,
        description="'*' for all documents, doc_ids or globs of them, one on a line, 'doc_id#section path', "
        "'doc_id:10-80' (lines)",
    )


def row_tools(material: Material, book: RowBook, resolve: Resolve, max_tokens: int | None) -> list[Tool]:
    """`map_sections` and `query_rows` over some documents."""

    async def map_sections(wanted: MapSections, call: CallContext) -> Observation:
        pieces, missing = await _pieces(material, wanted.source, resolve, max_tokens)
        return await book.map(wanted, pieces, call, what="sections", match=_match, missing=missing)

    return book.tools(
        "map_sections",
        "Put a question to every section, one after another, and get what each holds as typed rows with "
        "quotes. For questions that want all of something, how many, or a comparison of many: it leaves no "
        "section out, which reading here and there does.",
        MapSections,
        map_sections,
    )


async def _pieces(
    material: Material, source: str, resolve: Resolve, max_tokens: int | None
) -> tuple[list[Piece], list[str]]:
    """The sections that a source names, and what of it was not opened because it is beyond the limit anyway."""
    named = await resolve(source) if source != EVERYTHING else None
    if named is not None:
        volume, spans = named
        return [piece for first, last in spans for piece in pieces_of(volume, first, last)], []
    listed: dict[str, Entry] = {}
    for name in filter(None, map(str.strip, source.splitlines())):
        known = material.entries.get(name)
        entries = await entries_like(material, name) if known is None else [known]
        if not entries:
            raise InvalidInputError(f"no document is called {name!r}; list_documents shows those there are")
        listed |= {entry.doc_id: entry for entry in entries}
    return await _of_documents(material, list(listed.values()), max_tokens)


async def _of_documents(
    material: Material, listed: Sequence[Entry], max_tokens: int | None
) -> tuple[list[Piece], list[str]]:
    pieces: list[Piece] = []
    read = 0
    for place, entry in enumerate(listed):
        if max_tokens is not None and read > max_tokens:
            left = listed[place:]
            tokens = sum(entry.tokens for entry in left)
            return pieces, [f"{len(left)} documents with {tokens:,} tokens were not opened (rows_max_tokens)"]
        pieces += pieces_of(await material.open(entry.doc_id))
        read += entry.tokens
    return pieces, []


def pieces_of(volume: Volume, first: int = 1, last: int | None = None) -> list[Piece]:
    """The sections of a document within a range of lines, each a piece; headings alone are none."""
    last = len(volume.lines) if last is None else last
    ranges = [
        (max(volume.body_of(section), first), min(section.line_end, last), section.path)
        for section in volume.sections
    ] or [(first, last, "")]
    made = []
    for start, end, path in ranges:
        lines = tuple(volume.lines[start - 1 : end])
        if start > end or not any(letter.isalnum() for line in lines for letter in line):
            continue

        def cite(begin: int, stop: int, start: int = start) -> Citation:
            return volume.cite(begin + start - 1, stop + start - 1)

        made.append(
            Piece(
                unit=f"{volume.doc_id}:{start}",
                label=f"{volume.doc_id}:{start}-{end} {path}".strip(),
                lines=lines,
                cite=cite,
                span=(volume.doc_id, start, end),
            )
        )
    return made


def _match(question: str, columns: Sequence[Column], pieces: Sequence[Piece]) -> Rows:
    return match_sentences(question, columns, pieces, _sentences)


def _sentences(lines: Sequence[str]) -> list[Sentence]:
    """Blocks of lines as a person reads them: a paragraph by its sentences, an item or a row of a table by itself."""
    found: list[Sentence] = []
    first = 0
    for at, line in enumerate(lines):
        goes_on = at + 1 < len(lines) and is_open(line) and not begins_block(lines[at + 1])
        if goes_on:
            continue
        head = table_head(lines, at + 1) if line.lstrip().startswith("|") else ""
        sentences = sentences_of(lines[first : at + 1], head=head)
        if sum(map(len, sentences)) <= _SHORT_CHARS:
            # "Changing it requires a restart" says little without the sentence before it.
            sentences = [" ".join(sentences)] if sentences else []
        # Every row stands below all names of columns; it says those that it has a yes for.
        own = " ".join([*lines[first : at + 1], *(ticked(head, line) if head else ())])
        # Of a long paragraph each sentence speaks for itself, or all of them would be counted.
        found += [(text, first + 1, at + 1, own if len(sentences) == 1 else text) for text in sentences]
        first = at + 1
    return found
