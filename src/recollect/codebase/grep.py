"""Searching a tree by regular expression, in linear time (RE2), with bounded output.

Lines are matched by themselves, as ripgrep does; files are those of `SourceTree.files`. A pattern that can't be used is
an `InvalidInputError`; a deadline that passes is in the result, not raised.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.codebase.tree import (
    BINARY,
    MAX_FILE_BYTES,
    Skipped,
    SourceFile,
    SourceTree,
    read_text_file,
    text_of,
)
from recollect.errors import InvalidInputError, SourceNotFoundError
from recollect.files.decode import looks_binary
from recollect.files.jail import Jail
from recollect.files.patterns import Glob, compile_pattern

MAX_MATCHES = 10_000
MAX_CONTEXT_LINES = 20
#: Of a longer line the part around the match is kept.
_LINE_CHARS = 400
_MAX_NOTES = 100
_WILDCARD = re.compile(r"[*?\[]")
_SNIFFED_BYTES = 8_192
#: Flags and anchors that a search through the whole file would understand otherwise than a search through a line.
_LINE_BY_LINE = re.compile(r"\\[Az]|\(\?[a-zA-Z]*[sm-]")
#: The parts of a pattern: plain text, or an escape, a class, a count, any other sign.
_PARTS = re.compile(
    r"""(?s)(?P<plain>[A-Za-z0-9_ ,;:/=<>"'@%&~#!-]+)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\{[^}]*\}?|."""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepMatch:
    """A line that matches, with the lines around it."""

    path: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepResult:
    """Matches by path and line. `stopped_by` is 'limit' or 'deadline' when there may be more."""

    matches: tuple[GrepMatch, ...]
    files_searched: int
    files_matched: int
    skipped: tuple[Skipped, ...] = ()
    stopped_by: str | None = None


def grep(
    tree: SourceTree,
    pattern: str,
    paths: Sequence[str] = (),
    *,
    context_lines: int = 2,
    limit: int = 200,
    ignore_case: bool = False,
    timeout_s: float | None = None,
) -> GrepResult:
    """Search the files that `paths` name (files, folders or globs; none means all)."""
    if not isinstance(pattern, str) or not pattern:
        raise InvalidInputError("the pattern is empty; give a regular expression, or words to look for")
    if not 1 <= limit <= MAX_MATCHES or not 0 <= context_lines <= MAX_CONTEXT_LINES:
        raise InvalidInputError(
            f"limit must be 1 to {MAX_MATCHES:,} and context_lines 0 to {MAX_CONTEXT_LINES},"
            f" not {limit!r} and {context_lines!r}"
        )
    search = _Search(pattern, ignore_case=ignore_case, context_lines=context_lines, limit=limit)
    stop_at = None if timeout_s is None else time.monotonic() + timeout_s
    files, skipped = _chosen(tree, paths)
    hits = _search_files(tree, files, search, stop_at)
    stopped_by = "deadline" if hits.late else None
    if len(hits.matches) >= limit:
        stopped_by = "limit" if len(hits.matches) > limit or hits.searched < len(files) else None
    return GrepResult(
        matches=tuple(hits.matches[:limit]),
        files_searched=hits.searched,
        files_matched=hits.matched,
        skipped=tuple((skipped + hits.skipped)[:_MAX_NOTES]),
        stopped_by=stopped_by,
    )


# ---------------------------------------------------------------- which files


def _chosen(tree: SourceTree, paths: Sequence[str]) -> tuple[Sequence[SourceFile], list[Skipped]]:
    """The files that paths and globs name, by path, and notes about those that name nothing."""
    files = tree.files()
    if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
        raise InvalidInputError(f"paths must be a list of files, folders and globs, not {paths!r}")
    if not paths or any(path in {".", "./", "", "*", "**", "**/*"} for path in paths):
        return files, []
    chosen: dict[str, SourceFile] = {}
    notes: list[Skipped] = []
    for path in paths:
        named = _named(tree, files, path)
        if not named:
            notes.append(Skipped(path=path, why="it names no file that is searched"))
        chosen.update((file.path, file) for file in named)
    return [chosen[path] for path in sorted(chosen)], notes


def _named(tree: SourceTree, files: Sequence[SourceFile], path: str) -> list[SourceFile]:
    if _WILDCARD.search(path):
        # A glob without a folder means files of that name anywhere, as in an ignore file.
        glob = Glob(path if "/" in path else f"**/{path}")
        return [file for file in files if glob.match_file(file.path)]
    try:
        name = tree.resolve(path)
    except SourceNotFoundError:
        return []
    file = tree.find(name)
    if file is not None:
        return [file]
    return [file for file in files if name == "." or file.path.startswith(f"{name}/")]


# ---------------------------------------------------------------- searching


#: Number of a line, where it begins and ends in the file, and where in it the match begins.
_Line = tuple[int, int, int, int]


@dataclass(slots=True)
class _Hits:
    """The matches so far, and how many files were searched for them."""

    matches: list[GrepMatch]
    skipped: list[Skipped]
    searched: int = 0
    matched: int = 0
    late: bool = False


def _search_files(
    tree: SourceTree, files: Sequence[SourceFile], search: _Search, stop_at: float | None
) -> _Hits:
    """File after file, until there are enough matches or it is too late.

    In a single thread: RE2 gives up the interpreter's lock for each of its short calls, and two threads that hand it to
    and fro took twice as long.
    """
    hits = _Hits([], [])
    with tree.jail() as jail:
        for file in files:
            if len(hits.matches) >= search.limit:
                break
            if stop_at is not None and time.monotonic() > stop_at:
                hits.late = True
                break
            hits.searched += 1
            data, why = _read(jail, file)
            if data is None:
                hits.skipped.append(Skipped(path=file.path, why=why))
                continue
            lines = search.lines(data)
            if lines:
                hits.matched += 1
                hits.matches += search.matches(file.path, data, lines)
    return hits


def _read(jail: Jail, file: SourceFile) -> tuple[bytes | None, str]:
    """A file as UTF-8 with line feeds; the usual file, which is that already, as it is."""
    try:
        data = jail.read(file.path, MAX_FILE_BYTES)
    except (OSError, ValueError):
        return read_text_file(jail, file.path)
    if data is None or len(data) > MAX_FILE_BYTES:
        return read_text_file(jail, file.path)
    if data.find(b"\x00", 0, _SNIFFED_BYTES) >= 0:
        if looks_binary(data):
            return None, BINARY
        return text_of(data).encode("utf-8", "replace"), ""
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return text_of(data).encode("utf-8", "replace"), ""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data, ""


class _Search:
    """A pattern, and how much of what it finds is wanted."""

    def __init__(self, pattern: str, *, ignore_case: bool, context_lines: int, limit: int) -> None:
        self.limit = limit
        self._context = context_lines
        self._regex: Any = compile_pattern(pattern, ignore_case=ignore_case, of_bytes=True)
        self._line_by_line = _LINE_BY_LINE.search(pattern) is not None
        required = "" if ignore_case or self._line_by_line else required_literal(pattern)
        self._required = required.encode("utf-8", "replace")

    def lines(self, data: bytes) -> list[_Line]:
        """The lines that match, at most a line more than wanted."""
        if self._required and self._required not in data:
            return []
        return self._each_line(data) if self._line_by_line else self._through(data)

    def _through(self, data: bytes) -> list[_Line]:
        """Search the whole file; each line that a match begins in is then searched by itself.

        What matches within a line matches in the file too, so no line is passed over; what matches only across lines
        falls out.
        """
        lines: list[_Line] = []
        search, limit, size = self._regex.search, self.limit, len(data)
        number, counted_to, position = 1, 0, 0
        while position <= size and len(lines) <= limit:
            match = search(data, position)
            if match is None:
                break
            start, end = match.span()
            begin = data.rfind(b"\n", position, start) + 1 or position
            stop = data.find(b"\n", start)
            if stop < 0:
                stop = size
                # The last line feed ends the last line; there is no line behind it.
                if begin == size and size and data.endswith(b"\n"):
                    break
            if end > stop:
                match = search(data[begin:stop])
                start = begin + match.start() if match is not None else -1
            if start >= 0:
                number += data.count(b"\n", counted_to, begin)
                counted_to = begin
                lines.append((number, begin, stop, start - begin))
            position = stop + 1
        return lines

    def _each_line(self, data: bytes) -> list[_Line]:
        lines: list[_Line] = []
        begin = 0
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
            match = self._regex.search(line)
            if match is not None:
                lines.append((number, begin, begin + len(line), match.start()))
                if len(lines) > self.limit:
                    break
            begin += len(line) + 1
        return lines

    def matches(self, path: str, data: bytes, lines: Sequence[_Line]) -> list[GrepMatch]:
        """Matches with the lines around them."""
        return [
            GrepMatch(
                path=path,
                line=number,
                text=_cut(data[begin:stop], around=where),
                before=tuple(self._before(data, begin)),
                after=tuple(self._after(data, stop + 1)),
            )
            for number, begin, stop, where in lines
        ]

    def _before(self, data: bytes, begin: int) -> list[str]:
        taken: list[str] = []
        while begin > 0 and len(taken) < self._context:
            previous = data.rfind(b"\n", 0, begin - 1) + 1
            taken.append(_cut(data[previous : begin - 1]))
            begin = previous
        return taken[::-1]

    def _after(self, data: bytes, begin: int) -> list[str]:
        taken: list[str] = []
        while begin < len(data) and len(taken) < self._context:
            stop = data.find(b"\n", begin)
            stop = len(data) if stop < 0 else stop
            taken.append(_cut(data[begin:stop]))
            begin = stop + 1
        return taken


def required_literal(pattern: str) -> str:
    """The longest plain text every match must contain, or nothing when that is not plain to see.

    Only runs outside of brackets count, without a letter that a following sign makes optional.
    """
    if "|" in pattern or "(?" in pattern or "\\Q" in pattern:
        return ""
    best, depth = "", 0
    for part in _PARTS.finditer(pattern):
        depth += (part[0] == "(") - (part[0] == ")")
        if part["plain"] and depth == 0:
            optional = pattern[part.end() : part.end() + 1] in {"?", "*", "{"}
            best = max(best, part[0][:-1] if optional else part[0], key=len)
    return best if len(best) > 1 else ""


def _cut(line: bytes, *, around: int = 0) -> str:
    if len(line) <= _LINE_CHARS:
        return line.decode("utf-8", "replace")
    start = max(0, min(around - _LINE_CHARS // 4, len(line) - _LINE_CHARS))
    text = line[start : start + _LINE_CHARS].decode("utf-8", "ignore")
    return f"{'…' if start else ''}{text}{'…' if start + _LINE_CHARS < len(line) else ''}"
