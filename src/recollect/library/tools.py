"""Tools over documents: what each is asked with, as a planner sees it, and those that look at whole documents.

`list_documents`, `read_document` and `search_pattern` give back as much as the planner's window has room for, and say
what they left out and how to get it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from recollect.domain.findings import Finding
from recollect.errors import NotFoundError
from recollect.files.patterns import MAX_PATTERN_CHARS, Match, search_lines, touching
from recollect.library.material import EVERYTHING, Entry, Material, Volume
from recollect.library.passages import MAX_TEXT_CHARS, Part, cut, lines_of, spans_in
from recollect.runs.environment import Observation
from recollect.runs.row_book import Parameters


class ListDocuments(Parameters):
    """Parameters of `list_documents`."""

    filter: str = Field(
        default="", max_length=1_000, description="words of the id or title, or a glob of ids"
    )
    skip: int = Field(default=0, ge=0, description="how many to pass over, for the rest of a long list")


class ChunkByStructure(Parameters):
    """Parameters of `chunk_by_structure`."""

    doc_id: str = Field(min_length=1, max_length=1_000)


class ReadDocument(ChunkByStructure):
    """Parameters of `read_document`."""

    first_line: int | None = Field(default=None, ge=1, description="from the beginning without it")
    last_line: int | None = Field(default=None, ge=1, description="to the end without it")


class SearchPattern(Parameters):
    """Parameters of `search_pattern`."""

    doc_id: str = Field(
        min_length=1, max_length=1_000, description="a doc_id, a glob of them, or '*' for all"
    )
    regex: str = Field(
        min_length=1, max_length=MAX_PATTERN_CHARS, description="RE2 syntax; (?i) for any case"
    )
    context_lines: int = Field(default=0, ge=0, le=20)


class GetSection(ChunkByStructure):
    """Parameters of `get_section`."""

    section_path: str = Field(
        min_length=1, max_length=1_000, description="as in 'Security > OAuth2 > Scopes'"
    )


class ChunkBySize(ChunkByStructure):
    """Parameters of `chunk_by_size`."""

    max_tokens: int = Field(ge=16, le=100_000)


class QuerySubset(Parameters):
    """Parameters of `query_subset`."""

    content: str = Field(
        min_length=1,
        max_length=200_000,
        description="'*' for all documents, a doc_id, 'doc_id#section path', 'doc_id:10-80' (lines), or a text",
    )
    question: str = Field(min_length=1, max_length=4_000)


class Summarize(Parameters):
    """Parameters of `summarize`."""

    content: str = Field(
        min_length=1,
        max_length=200_000,
        description="a doc_id, 'doc_id#section path', 'doc_id:10-80', or a text",
    )


class RequestCapability(Parameters):
    """Parameters of `request_capability`."""

    description: str = Field(min_length=1, max_length=1_000, description="what you would need")
    context: dict[str, Any] = Field(default_factory=dict, description="problem, doc_id, attempted_tools")


#: Matches of one search where there is little room, and what one has with its place and section.
_MATCHES, _MATCH_CHARS = 40, 240
#: Of a longer line, what is shown around the match.
_LINE_CHARS = 300
#: Documents that one search opens.
MAX_SEARCHED = 500


async def list_documents(material: Material, wanted: ListDocuments, room_chars: int) -> Observation:
    """The documents there are, by id."""
    entries = await _named(material, wanted.filter)
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    left = room_chars
    for entry in entries[wanted.skip :]:
        title = "" if entry.title in ("", entry.doc_id) else f" {' '.join(entry.title.split())[:120]!r}"
        line = f"{entry.doc_id} ({entry.tokens:,} tokens){title}"
        left -= len(line) + 1
        if left < 0:
            break
        rows.append({"doc_id": entry.doc_id, "title": entry.title, "tokens": entry.tokens})
        lines.append(line)
    rest = len(entries) - wanted.skip - len(rows)
    more = f"\n... {rest} more; skip {wanted.skip + len(rows)}, or narrow the filter" if rest > 0 else ""
    return Observation(
        value={"documents": rows, "total": len(entries), "spans": []},
        text=f"{len(entries)} documents\n" + "\n".join(lines) + more,
    )


async def read_document(
    material: Material, wanted: ReadDocument, room_chars: int
) -> tuple[Observation, list[Part]]:
    """A document from end to end, or a range of its lines, numbered."""
    volume = await material.open(wanted.doc_id)
    total = len(volume.lines)
    first = min(wanted.first_line or 1, total)
    last = min(wanted.last_line or total, total)
    _, read = cut(volume, [(first, max(last, first))], room_chars=room_chars)
    numbered = "\n".join(
        f"{number}: {volume.lines[number - 1]}" for _, start, end in read for number in range(start, end + 1)
    )
    end = read[-1][2] if read else first
    rest = f"\n... {last - end} more lines; read on from line {end + 1}" if end < last else ""
    observation = Observation(
        value={"doc_id": volume.doc_id, "total_lines": total, "spans": spans_in(read)},
        text=f"{volume.doc_id} {lines_of(read)} of {total} lines\n{numbered}{rest}",
        tokens=len(numbered) // 4,
    )
    return observation, read


async def search_pattern(
    material: Material, wanted: SearchPattern, room_chars: int, *, confidence: float, offered: int | None
) -> Observation:
    """Lines that match a regular expression, in one document or in all that a pattern of names fits."""
    volumes, unopened = await _volumes(material, wanted.doc_id)
    limit = _MATCHES
    if room_chars > MAX_TEXT_CHARS:
        limit = max(limit, room_chars // (_MATCH_CHARS * (1 + 2 * wanted.context_lines)))
    rows: list[dict[str, Any]] = []
    blocks: list[str] = []
    findings: list[Finding] = []
    spans: list[list[Any]] = []
    total = matching = 0
    for volume in volumes:
        matches, count = search_lines(wanted.regex, volume.lines, limit=max(limit - len(rows), 0))
        total += count
        matching += bool(count)
        for match in matches:
            section = volume.section_at(match.line)
            path = section.path if section else ""
            text = _window(match.text, match)
            rows.append({"doc_id": volume.doc_id, "line": match.line, "section": path, "text": text})
            findings.append(volume.find(match.line, match.line, confidence=confidence))
            spans.append([volume.doc_id, match.line, match.line])
        by_line = {row["line"]: row for row in rows[len(rows) - len(matches) :]}
        blocks += _blocks(volume, by_line, wanted.context_lines, alone=len(volumes) == 1)
    where = repr(volumes[0].doc_id) if len(volumes) == 1 else f"{matching} of {len(volumes)} documents"
    more = f"\n... {total - len(rows)} more lines match; narrow the regex" if total > len(rows) else ""
    more += f"\n... {unopened} more documents were not searched; narrow doc_id" if unopened else ""
    return Observation(
        value={"matches": rows, "total": total, "documents": len(volumes), "spans": spans},
        text=f"{total} lines of {where} match\n" + "\n".join(blocks) + more,
        tokens=sum(len(row["text"]) for row in rows) // 4,
        findings=tuple(findings[:offered]),
    )


def _blocks(
    volume: Volume, rows: Mapping[int, Mapping[str, Any]], context: int, *, alone: bool
) -> Iterator[str]:
    """Matches as they are shown; those whose surroundings touch stand in one block, so that no line comes twice."""
    place = "" if alone else f"{volume.doc_id}:"
    if not context:
        for line, row in rows.items():
            yield f"{line} [{row['section']}] {row['text']}" if alone else f"{place}{line}: {row['text']}"
        return
    for first, last in touching(rows, context, len(volume.lines)):
        around = [
            f"{place}{number}{':' if number in rows else '-'} "
            f"{rows[number]['text'] if number in rows else volume.lines[number - 1][:_LINE_CHARS]}"
            for number in range(first, last + 1)
        ]
        sections = dict.fromkeys(rows[line]["section"] for line in rows if first <= line <= last)
        yield "\n".join([f"[{'; '.join(sections)}]", *around, "--"])


def _window(line: str, match: Match) -> str:
    """A long line around its match."""
    if len(line) <= _LINE_CHARS:
        return line
    at = max(line.find(match.matched) - (_LINE_CHARS - min(len(match.matched), _LINE_CHARS)) // 2, 0)
    return f"{'…' if at else ''}{line[at : at + _LINE_CHARS]}{'…' if at + _LINE_CHARS < len(line) else ''}"


async def _named(material: Material, pattern: str) -> Sequence[Entry]:
    """Documents whose id or title has the words, or whose id fits the glob."""
    entries = await material.catalogue()
    wanted = pattern.strip().casefold()
    if not wanted or wanted == EVERYTHING:
        return entries
    return [
        entry
        for entry in entries
        if wanted in entry.doc_id.casefold()
        or wanted in entry.title.casefold()
        or fnmatch.fnmatchcase(entry.doc_id.casefold(), wanted)
    ]


async def entries_like(material: Material, glob: str) -> list[Entry]:
    """The documents whose id fits a glob."""
    return [
        entry
        for entry in await material.catalogue()
        if glob == EVERYTHING or fnmatch.fnmatchcase(entry.doc_id.casefold(), glob.casefold())
    ]


async def _volumes(material: Material, doc_id: str) -> tuple[list[Volume], int]:
    """The documents that a name or a pattern of names means, and how many more it would mean."""
    if doc_id != EVERYTHING and not any(sign in doc_id for sign in "*?"):
        return [await material.open(doc_id)], 0
    entries = await entries_like(material, doc_id)
    if not entries:
        raise NotFoundError(f"no document is called like {doc_id!r}; list_documents shows which there are")
    volumes = []
    for entry in entries[:MAX_SEARCHED]:
        try:
            volumes.append(await material.open(entry.doc_id))
        except NotFoundError:
            continue  # removed in this moment
    return volumes, len(entries) - min(len(entries), MAX_SEARCHED)
