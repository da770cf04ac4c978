"""From lines of a source tree to findings that cite them, and back: what is cited is read from the tree itself.

A citation's text is what `SourceTree` gives for its lines, both when it is made and when it is checked, so that
both mean the same text whatever the file's encoding and line ends are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.codebase.tree import SourceTree, text_of
from recollect.domain.findings import Citation, Finding, span_hash
from recollect.errors import RecollectError
from recollect.runs.citations import lines_of

#: The kind of a citation that names a file.
FILE = "file"
#: Of a finding's evidence; a citation's hash is of all of its lines.
MAX_EVIDENCE_CHARS = 2_000
#: Definitions longer than this are cited by their first lines; reading them is the next step's business.
_WHOLE_LINES, HEAD_LINES = 30, 8
#: Longer lines were not written by a person.
_MAX_LINE_CHARS = 2_000


class Pages:
    """Reads spans of a tree, each file once; for a moment of a run, since files change."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._lines: dict[str, list[str] | None] = {}

    def lines(self, path: str) -> list[str] | None:
        """All lines of a file; None when it can't be read."""
        if path not in self._lines:
            try:
                self._lines[path] = lines_of(text_of(self._tree.read_bytes(path)))
            except (RecollectError, OSError):
                self._lines[path] = None
        return self._lines[path]

    def text(self, path: str) -> str | None:
        """A whole file as citations count it."""
        lines = self.lines(path)
        return None if lines is None else "\n".join(lines)

    def cite(self, path: str, first: int, last: int) -> Citation | None:
        """The lines as a citation; None when there are no such lines."""
        lines = self.lines(path)
        if lines is None or not 1 <= first <= last <= len(lines):
            return None
        return cite(path, first, lines[first - 1 : last])

    def find(
        self, path: str, first: int, last: int, *, description: str, confidence: float
    ) -> Finding | None:
        """The lines as a finding; None when there are no such lines."""
        citation = self.cite(path, first, last)
        if citation is None:
            return None
        return finding_on(citation, description=description, confidence=confidence)


def cite(path: str, first: int, lines: Sequence[str]) -> Citation:
    """A citation of these lines, the first of which has this number. A long span is quoted in its beginning."""
    text = "\n".join(lines)
    return Citation(
        kind=FILE,
        file_path=path,
        line_start=first,
        line_end=first + len(lines) - 1,
        content_hash=span_hash(text),
        quote=beginning(text),
    )


def finding_on(
    citation: Citation, *, description: str, confidence: float, group: str | None = None
) -> Finding:
    """A finding that rests on one citation; without a group it speaks for its file."""
    path = citation.file_path
    return Finding.on(citation, description=description, confidence=confidence, group=group or path)


def line_finding(path: str, number: int, text: str, *, group: str | None = None) -> Finding:
    """A line as a finding that says what stands there."""
    description = f"line {number}: {' '.join(text.split())[:160]}"
    return finding_on(cite(path, number, [text]), description=description, confidence=0.4, group=group)


def move_finding(finding: Finding, citation: Citation) -> Finding:
    """The same finding, resting on other lines."""
    return replace(
        finding,
        evidence=citation.quote,
        source_file=citation.file_path,
        line_range=(citation.line_start, citation.line_end),
        citations=(citation,),
    )


def last_cited(first: int, last: int) -> int:
    """The last line that stands for a definition: a short definition whole, of a longer its beginning."""
    return last if last - first < _WHOLE_LINES else first + HEAD_LINES - 1


def beginning(text: str, most: int = MAX_EVIDENCE_CHARS) -> str:
    """As many whole lines as there is room for; of one long line its beginning."""
    if len(text) <= most:
        return text
    cut = text[:most]
    at = cut.rfind("\n")
    return cut[:at] if at > 0 else cut


def numbered(first: int, lines: Sequence[str]) -> str:
    """Lines with their numbers before them, as a planner or a person reads them; very long ones are cut."""
    width = len(str(first + len(lines)))
    most = _MAX_LINE_CHARS
    cut = (line if len(line) <= most else f"{line[:most]}…" for line in lines)
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(cut, first))
