"""How a section's lines become passages, and a document pieces of lines: what is embedded, read at once, or quoted.

A section is what gets cited as a place, a passage is what gets found. Passages follow the lines, so that every one
is a range of lines: an entry of a list of definitions (a line with deeper lines under it) begins a new passage, and
one that goes on in the next passage is named there again. A sentence that shares hardly a word with the rest of its
section may be about something else and is a passage of its own too: in the vector of its neighbours it would be lost.
`search_text` is what is embedded and indexed: title,
path and the entries around come first, because "Parameters" or "The default is 5" say little alone.

Pure and deterministic. It knows neither vectors nor the database; what matches are worth is `ranking.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollect.domain.library import PATH_SEPARATOR
from recollect.library.material import Volume
from recollect.providers.tokens import count_tokens
from recollect.runs.quotes import locate

#: Raise it with every change that gives any document other passages: they have to be written again.
PASSAGES_VERSION = 2
#: About 120 tokens: with its title and path a passage fits the 256 tokens of the smallest window.
MAX_PASSAGE_CHARS = 480
#: An entry of a list begins a passage of its own when the one before has at least this much.
FULL_CHARS = 160
#: Of each heading and entry name put before a passage.
MAX_NAME_CHARS = 80
#: Of everything put before a passage.
MAX_CONTEXT_CHARS = 240

#: A sentence is a stranger to its section when it has so many different words, and at most this share of them
#: stands anywhere else in it. Six passages in a hundred of two manuals are such sentences, and nearly all facts
#: planted there: of 99 in a million tokens, asked for in other words, 92 are cited among five, and 63 without this.
STRANGER_WORDS, STRANGER_SHARE = 5, 0.2
#: In a section with fewer words everything would be strange.
MIN_SECTION_WORDS = 20

_TABLE_RULE = re.compile(r"[\s|:+=-]+")
_LIST_MARK = re.compile(r"(?:[-*+•]|\d+[.)])\s+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_NUMBERING = re.compile(
    r"(?:(?:chapter|appendix|part)\s+)?(?:[A-Z]|[IVX]+|\d+)(?:\.\d+)*\.\s+", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")
# Enough to tell topics apart, and a tenth of the cost of stems: the first letters of longer words.
_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD_CHARS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Lines of a section. A line too long for one passage is cut at sentences and its pieces share its number.

    `entries` names the list entries the passage lies in that began before it, outermost first. A `strange` one is
    a single sentence, found without its section's help, and stands in another passage as well.
    """

    line_start: int
    line_end: int
    text: str
    entries: tuple[str, ...] = ()
    strange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    number: int
    indent: int
    text: str
    is_entry: bool
    entries: tuple[tuple[int, str], ...]


def split_passages(lines: Sequence[str], *, line_start: int = 1) -> list[Passage]:
    """The passages of a section's lines, without its heading; `line_start` is the number of the first."""
    passages: list[Passage] = []
    open_lines: list[_Line] = []
    size = 0

    def close() -> None:
        if open_lines:
            passages.append(_passage(open_lines))
            open_lines.clear()

    read = list(_read(lines, line_start))
    for line in _pieces(read):
        begins_entry = line.is_entry and size >= FULL_CHARS
        if open_lines and (begins_entry or size + len(line.text) + 1 > MAX_PASSAGE_CHARS):
            # The name of an entry goes with what is said about it.
            moved = open_lines.pop() if open_lines[-1].is_entry and len(open_lines) > 1 else None
            close()
            if moved:
                open_lines.append(moved)
            size = sum(len(line.text) + 1 for line in open_lines)
        open_lines.append(line)
        size += len(line.text) + 1
    close()
    # Besides, not instead: most strangers of a real manual are about its subject all the same.
    return sorted([*passages, *_strangers(read)], key=lambda passage: passage.line_start)


def search_text(passage: Passage, *, title: str, path: str) -> str:
    """What is embedded and indexed for a passage: where it stands, unless it is strange there, then its text."""
    if passage.strange:
        return passage.text
    context = context_of(title=title, path=path, entries=passage.entries)
    return f"{context}\n{passage.text}" if context else passage.text


def context_of(*, title: str, path: str, entries: Sequence[str] = ()) -> str:
    """Title, headings and entry names in one line, each named once and without its number."""
    names = [plain_heading(name) for name in (title, *path.split(PATH_SEPARATOR), *entries)]
    kept = list(dict.fromkeys(name[:MAX_NAME_CHARS].rstrip() for name in names if name))
    # The innermost names say most: the ones in the middle go first.
    while len(kept) > 2 and len(PATH_SEPARATOR.join(kept)) > MAX_CONTEXT_CHARS:
        del kept[1]
    return PATH_SEPARATOR.join(kept)


def plain_heading(heading: str) -> str:
    """A heading without its number: "20.3.2. Authentication" is "Authentication"."""
    return _NUMBERING.sub("", heading.strip(), count=1) or heading.strip()


def _read(lines: Sequence[str], line_start: int) -> Iterator[_Line]:
    """Lines that say something, with the entries they are in. Between fences, depth is layout of code."""
    filled: list[tuple[int, int, str, bool]] = []
    fenced = False
    for offset, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if line.strip() and not _TABLE_RULE.fullmatch(line):
            indent = len(line) - len(line.lstrip())
            filled.append((line_start + offset, indent, line.strip(), fenced))
    around: list[tuple[int, str]] = []
    entries: tuple[tuple[int, str], ...] = ()
    for position, (number, indent, text, in_fence) in enumerate(filled):
        following = filled[position + 1] if position + 1 < len(filled) else None
        if not in_fence:
            while around and around[-1][0] >= indent:
                around.pop()
            entries = tuple(around)
        is_entry = bool(not in_fence and following and not following[3] and following[1] > indent)
        yield _Line(number=number, indent=indent, text=text, is_entry=is_entry, entries=entries)
        if is_entry:
            around.append((indent, _LIST_MARK.sub("", text, count=1)))


def _pieces(lines: Sequence[_Line]) -> Iterator[_Line]:
    """Lines longer than a passage cut at sentences, or at blanks where a sentence is longer."""
    for line in lines:
        if len(line.text) <= MAX_PASSAGE_CHARS:
            yield line
            continue
        for number, piece in enumerate(_cut(line.text)):
            yield _Line(
                number=line.number,
                indent=line.indent,
                text=piece,
                is_entry=line.is_entry and number == 0,
                entries=line.entries,
            )


def _strangers(lines: Sequence[_Line]) -> Iterator[Passage]:
    """The sentences that share hardly a word with the others."""
    sentences = [
        (line.number, sentence, _words(sentence))
        for line in lines
        for sentence in _SENTENCE_END.split(line.text)
    ]
    holding = Counter(word for _, _, words in sentences for word in words)
    for number, sentence, words in sentences:
        if len(words) < STRANGER_WORDS or len(holding) - len(words) < MIN_SECTION_WORDS:
            continue
        if sum(holding[word] > 1 for word in words) <= STRANGER_SHARE * len(words):
            yield Passage(line_start=number, line_end=number, text=sentence[:MAX_PASSAGE_CHARS], strange=True)


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:_WORD_CHARS] for word in _WORD.findall(text.casefold()))


def _cut(text: str) -> Iterator[str]:
    piece = ""
    for sentence in _SENTENCE_END.split(text):
        rest = sentence
        if piece and len(piece) + 1 + len(rest) > MAX_PASSAGE_CHARS:
            yield piece
            piece = ""
        while len(rest) > MAX_PASSAGE_CHARS:
            end = rest.rfind(" ", MAX_PASSAGE_CHARS // 2, MAX_PASSAGE_CHARS)
            end = end if end > 0 else MAX_PASSAGE_CHARS
            yield rest[:end].rstrip()
            rest = rest[end:].lstrip()
        piece = f"{piece} {rest}" if piece else rest
    if piece:
        yield piece


def _passage(lines: Sequence[_Line]) -> Passage:
    return Passage(
        line_start=lines[0].number,
        line_end=lines[-1].number,
        text="\n".join(line.text for line in lines),
        entries=tuple(name for _, name in lines[0].entries),
    )


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


#: Of one observation: a planner with a small window reads no more, and a larger part can be had in pieces.
MAX_TEXT_CHARS = 24_000

#: A part of a document: its first and last line.
Part = tuple[Volume, int, int]


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
) -> tuple[str, list[Part]]:
    """The text of lines as far as one observation goes, and the parts that are in it."""
    left = room_chars
    texts: list[str] = []
    read: list[Part] = []
    for first, last in spans:
        end = first - 1
        for number in range(first, last + 1):
            left -= len(volume.lines[number - 1]) + 1
            if left < 0 and (texts or end >= first):
                break
            end = number
        if end >= first:
            texts.append(volume.text_of(first, end)[:room_chars])
            read.append((volume, first, end))
        if left < 0:
            texts.append(f"[cut at line {end}; read the rest as '{volume.doc_id}:{end + 1}-{last}']")
            break
    return "\n".join(texts), read


def lines_of(parts: Sequence[Part]) -> str:
    """The ranges, for a reader."""
    return ", ".join(f"(lines {first}-{last})" for _, first, last in parts)


def spans_in(parts: Sequence[Part]) -> list[list[Any]]:
    """Document, first line and last line of each part, as JSON."""
    return [[volume.doc_id, first, last] for volume, first, last in parts]


def joined(parts: Sequence[Part]) -> str:
    """The texts of parts, each under the words that name it."""
    pieces = []
    for volume, first, last in parts:
        section = volume.section_at(first)
        place = f"{volume.doc_id}:{first}-{last} {section.path if section else ''}"
        pieces.append(f"[{place}]\n{volume.text_of(first, last)}")
    return "\n\n".join(pieces)


def locate_in(parts: Sequence[Part], quote: str) -> Part | None:
    """Where a quote stands, in the first of these parts that has it."""
    for volume, first, last in parts:
        placed = locate(quote, volume.lines[first - 1 : last], first=first)
        if placed is not None:
            return volume, *placed
    return None
