"""Reading cited spans again, to see whether what a finding rests on is still there.

- *quoted*: the span is where the citation says, and holds the quote;
- *moved*: the same span stands elsewhere in the source; the citation now says where;
- *stale*: the source is there, the span is gone or was changed;
- *unsupported*: the source is gone, or the quote was never in the span.

What the judge accepted stays accepted while the span has the same words, and no longer.

Who reads the source is the caller's `read`. Lines are counted from 1, both ends belong to the span, and a line ends at
a line feed; a carriage return before it is no part of the line. A source without lines (a memory) is cited as lines 0
to 0, which is its whole text. The work is linear in the length of the source.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from recollect.domain.findings import Citation, CitationStatus, Finding, span_hash
from recollect.errors import InvalidInputError

#: The present text of a source by its kind and path; None when there is none.
Read = Callable[[str, str], str | None]

#: Looking for a moved span hashes runs of lines, up to so many times the source's length: first those that hold the
#: quote's first word, the nearest first.
_WORK_FACTOR = 16
_WORK_CHARS = 100_000

#: Of a saved result.
MAX_CITATIONS = 10_000

_UNCHANGED = frozenset({CitationStatus.QUOTED, CitationStatus.MOVED})
_SUPPORTED = frozenset(
    {CitationStatus.QUOTED, CitationStatus.MOVED, CitationStatus.STALE, CitationStatus.UNCHECKED}
)


def lines_of(text: str) -> list[str]:
    """The lines of a source, as citations count them."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def span_of(text: str, line_start: int, line_end: int) -> str | None:
    """The text of a span; None when the source has no such lines."""
    if line_start == 0 and line_end == 0:
        return text
    lines = _lines(text)
    if not 1 <= line_start <= line_end <= len(lines):
        return None
    return "\n".join(lines[line_start - 1 : line_end])


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    """The lines of a source that thousands of rows cite, split once."""
    return lines_of(text)


def read_citations(document: object) -> tuple[Citation, ...]:
    """The citations of a saved result. `InvalidInputError` says what is wrong with it."""
    if not isinstance(document, Mapping) or not isinstance(document.get("citations"), Sequence):
        raise InvalidInputError(
            "this is no result with citations; save one with `recollect consult --json` or `recollect explore --json`"
        )
    if len(document["citations"]) > MAX_CITATIONS:
        raise InvalidInputError(f"{len(document['citations'])} citations, the limit is {MAX_CITATIONS}")
    try:
        citations = tuple(Citation.read(row) for row in document["citations"])
        for citation in citations:
            _check(citation)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"the result has a citation that can't be read: {error}") from error
    return citations


def _check(citation: Citation) -> None:
    texts = (citation.kind, citation.file_path, citation.content_hash, citation.quote)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("kind, file_path, content_hash and quote must be strings")
    numbers = (citation.line_start, citation.line_end)
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise TypeError("line_start and line_end must be whole numbers")
    if not isinstance(citation.supports, bool):
        raise TypeError("supports must be true or false")


def verify(citation: Citation, read: Read) -> Citation:
    """The citation with what reading it again has shown. Without a hash the quote alone decides."""
    checked = _read_again(citation, read)
    # Without a hash nobody knows which words were accepted.
    unchanged = citation.content_hash and checked.status in _UNCHANGED
    return checked if unchanged else replace(checked, supports=False)


def _read_again(citation: Citation, read: Read) -> Citation:
    text = read(citation.kind, citation.file_path)
    if text is None:
        return replace(citation, status=CitationStatus.UNSUPPORTED)
    if citation.line_start == 0 and citation.line_end == 0:
        return _judge(citation, text, elsewhere=CitationStatus.STALE)
    span = span_of(text, citation.line_start, citation.line_end)
    if span is not None:
        there = _judge(citation, span, elsewhere=CitationStatus.STALE)
        if there.status is not CitationStatus.STALE:
            return there
    lines = lines_of(text)
    place = _find_quote(citation, lines) if not citation.content_hash else _find_span(citation, lines)
    if place is None:
        # Without a hash nobody knows what the span once said; only that the quote is nowhere.
        gone = CitationStatus.STALE if citation.content_hash else CitationStatus.UNSUPPORTED
        return replace(citation, status=gone)
    start, end = place
    moved = replace(citation, line_start=start, line_end=end)
    return _judge(moved, "\n".join(lines[start - 1 : end]), elsewhere=CitationStatus.MOVED)


def verify_findings(
    findings: Sequence[Finding], read: Read, *, drop_unsupported: bool = True
) -> tuple[Finding, ...]:
    """Findings with their citations checked. A claim that nothing supports is dropped, or kept with no confidence.

    A finding without a citation is such a claim. Each source is read once.
    """
    read_once = cache(read)
    verify_once = cache(lambda citation: verify(citation, read_once))
    checked = []
    for finding in findings:
        citations = tuple(verify_once(citation) for citation in finding.citations)
        if is_supported(citations):
            checked.append(_anchored(finding, citations))
        elif not drop_unsupported:
            checked.append(replace(finding, citations=citations, confidence=0.0))
    return tuple(checked)


def standing(findings: Sequence[Finding], read: Read) -> tuple[tuple[Finding, ...], list[str]]:
    """The findings whose every citation stands where it is read now, and a note of those that do not."""
    kept = tuple(
        finding
        for finding in verify_findings(findings, read)
        if finding.citations and all(citation.status in _UNCHANGED for citation in finding.citations)
    )
    lost = len(findings) - len(kept)
    return kept, [f"{lost} findings did not hold when read again and were dropped"] if lost else []


def reread(cited: Sequence[Sequence[Citation]], read: Read) -> list[tuple[Citation, ...]]:
    """Each of some lists of citations, checked; empty where one of them does not stand where it is read now."""
    read_once = cache(read)
    verify_once = cache(lambda citation: verify(citation, read_once))
    checked = [tuple(verify_once(citation) for citation in citations) for citations in cited]
    return [some if all(citation.status in _UNCHANGED for citation in some) else () for some in checked]


def is_supported(citations: Sequence[Citation]) -> bool:
    """Whether any of them holds, or held once."""
    return any(citation.status in _SUPPORTED for citation in citations)


def _anchored(finding: Finding, citations: tuple[Citation, ...]) -> Finding:
    """The finding at the lines where its own span stands now."""
    lines = finding.line_range
    for before, now in zip(finding.citations, citations, strict=True):
        if before.file_path == finding.source_file and (before.line_start, before.line_end) == lines:
            lines = (now.line_start, now.line_end)
            break
    return replace(finding, citations=citations, line_range=lines)


def _judge(citation: Citation, span: str, *, elsewhere: CitationStatus) -> Citation:
    """Of a span that may be the cited one; `elsewhere` is the verdict if it is not, or is but in another place."""
    quoted = _holds(span, citation.quote)
    if not citation.content_hash:
        if not quoted or not citation.quote:
            return replace(citation, status=CitationStatus.STALE)
        status = elsewhere if elsewhere is CitationStatus.MOVED else CitationStatus.QUOTED
        return replace(citation, status=status, content_hash=span_hash(span))
    if span_hash(span) != citation.content_hash:
        return replace(citation, status=CitationStatus.STALE)
    if not quoted:
        return replace(citation, status=CitationStatus.UNSUPPORTED)
    moved = elsewhere is CitationStatus.MOVED
    return replace(citation, status=CitationStatus.MOVED if moved else CitationStatus.QUOTED)


def _holds(span: str, quote: str) -> bool:
    """Whether the quote is in the span, whatever the white space between its words."""
    return quote in span or " ".join(quote.split()) in " ".join(span.split())


def _find_quote(citation: Citation, lines: Sequence[str]) -> tuple[int, int] | None:
    """The lines of the quote's place nearest to where it was cited."""
    if not citation.quote.strip():
        return None
    places = list(_places("\n".join(lines), "\n".join(lines_of(citation.quote)), lines))
    return min(places, key=lambda place: abs(place[0] - citation.line_start), default=None)


def _places(text: str, wanted: str, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a text stands, as first and last line."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    at = text.find(wanted)
    while at >= 0:
        first = bisect_left(starts, at + 1)
        yield first, first + wanted.count("\n")
        at = text.find(wanted, at + max(1, len(wanted)))


def _find_span(citation: Citation, lines: Sequence[str]) -> tuple[int, int] | None:
    """The nearest run of as many lines with the cited hash."""
    count = citation.line_end - citation.line_start + 1
    if count < 1 or count > len(lines):
        return None
    text = "\n".join(lines)
    whole = "\n".join(lines_of(citation.quote))
    if span_hash(whole) == citation.content_hash:
        # The quote is the span itself: it is found without guessing, however long the source is.
        for first, last in sorted(
            _places(text, whole, lines), key=lambda place: abs(place[0] - citation.line_start)
        ):
            if "\n".join(lines[first - 1 : last]) == whole:
                return first, last
        return None
    left_chars = _WORK_FACTOR * len(text) + _WORK_CHARS
    word = next(iter(citation.quote.split()), "")
    quoting = [number for number, line in enumerate(lines, 1) if word in line]
    likely: list[int] = []
    unlikely: list[int] = []
    for first in _nearest(citation.line_start, len(lines) - count + 1):
        at = bisect_left(quoting, first)
        (likely if at < len(quoting) and quoting[at] < first + count else unlikely).append(first)
    for first in (*likely, *unlikely):
        window = "\n".join(lines[first - 1 : first + count - 1])
        left_chars -= len(window) + 1
        if span_hash(window) == citation.content_hash:
            return first, first + count - 1
        if left_chars < 0:
            return None
    return None


def _nearest(middle: int, highest: int) -> Iterator[int]:
    """The numbers from 1 to `highest`, those next to `middle` first."""
    middle = min(max(middle, 1), highest)
    yield middle
    for distance in range(1, highest):
        if middle - distance >= 1:
            yield middle - distance
        if middle + distance <= highest:
            yield middle + distance
