"""The tools that read a file or a folder: `list_files`, `read_file`, `extract_symbols`, `parse_ast`. They block."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import asdict

from recollect.codebase.evidence import cite, finding_on, numbered
from recollect.codebase.symbols.values import SymbolInfo
from recollect.codebase.tool_parameters import ExtractSymbols, ListFiles, ParseAst, ReadFile
from recollect.codebase.view import View
from recollect.domain.findings import Finding
from recollect.errors import InvalidInputError
from recollect.runs.citations import lines_of
from recollect.runs.environment import Observation

_MAX_FILES = 400
_MAX_FOLDERS = 100
#: Lines of a `read_file` where there is little room; with more, a file is read whole if it fits.
MAX_LINES = 400
_MAX_SYMBOLS = 300
_MAX_NODES = 250
#: A span named as a part of a file: `src/a.py:10-80`, or one line `src/a.py:10`.
_PLACE = re.compile(r"(?P<path>[^\s:]+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")

Span = tuple[str, int, int]


def list_files(view: View, wanted: ListFiles) -> Observation:
    """Files of a folder."""
    folder = view.tree.resolve(wanted.directory)
    prefix = "" if folder == "." else f"{folder}/"
    by_path = "/" in wanted.pattern
    names: list[str] = []
    folders: dict[str, int] = {}
    total = 0
    for file in view.tree.files():
        if not file.path.startswith(prefix):
            continue
        below = file.path[len(prefix) :]
        inside, _, _ = below.partition("/")
        if "/" in below:
            folders[inside] = folders.get(inside, 0) + 1
            if not wanted.recursive:
                continue
        name = below if by_path else below.rsplit("/", 1)[-1]
        if fnmatch.fnmatchcase(name, wanted.pattern):
            total += 1
            if len(names) < view.most(_MAX_FILES, chars_each=80):
                names.append(file.path)
    listed_folders = dict(list(folders.items())[:_MAX_FOLDERS])
    more = f"\n... {total - len(names)} more; narrow the pattern" if total > len(names) else ""
    listed = "\n".join(
        [*(f"{prefix}{inside}/ ({count} files)" for inside, count in listed_folders.items()), *names]
    )
    return Observation(
        value={
            "summary": f"{total} files",
            "files": names,
            "folders": listed_folders,
            "total": total,
            "spans": [],
        },
        text=f"{total} files of {folder!r} match {wanted.pattern!r}\n{listed}{more}",
    )


def read_file(view: View, wanted: ReadFile) -> Observation:
    """Lines of a file."""
    first = wanted.start_line or 1
    if wanted.end_line is not None and wanted.end_line < first:
        raise InvalidInputError(f"end_line {wanted.end_line} is before start_line {first}")
    most = view.most(MAX_LINES, chars_each=1)
    last = min(wanted.end_line or first + most - 1, first + most - 1)
    source = view.tree.read(wanted.path, first, last)
    lines = (
        _within(lines_of(source.text), view.room_chars) if source.text or source.last_line >= first else []
    )
    if not lines:
        raise InvalidInputError(
            f"{source.path!r} has {source.total_lines} lines; there is nothing at {first}-{last}"
        )
    last = first + len(lines) - 1
    rest = source.total_lines - last
    more = f"\n... {rest} more lines; read from {last + 1} on" if rest > 0 else ""
    text = "\n".join(lines)
    around = view.enclosing(source.path, first)
    where = f" in {around.kind} {around.qualified_name}" if around else ""
    findings: tuple[Finding, ...] = ()
    if wanted.start_line is not None or wanted.end_line is not None:
        # A whole file that was looked at says nothing about what matters in it; lines that a call names do.
        description = described(around) if around else f"lines {first}-{last} of {source.path}"
        findings = (finding_on(cite(source.path, first, lines), description=description, confidence=0.5),)
    return Observation(
        value={
            "summary": f"{source.path}:{first}-{last}{where}",
            "path": source.path,
            "start_line": first,
            "end_line": last,
            "total_lines": source.total_lines,
            "sha256": source.sha256,
            "text": text,
            "spans": [[source.path, first, last]],
        },
        text=f"{source.path}:{first}-{last} of {source.total_lines} lines{where}\n{numbered(first, lines)}{more}",
        findings=findings,
    )


def extract_symbols(view: View, wanted: ExtractSymbols) -> Observation:
    """The definitions of a file."""
    path = view.tree.resolve(wanted.path)
    symbols = view.symbols(path)
    most = view.most(_MAX_SYMBOLS, chars_each=120)
    rows = [asdict(definition) for definition in symbols.definitions[:most]]
    total = len(symbols.definitions)
    more = f"\n... {total - len(rows)} more" if total > len(rows) else ""
    listed = "\n".join(_symbol_line(definition) for definition in symbols.definitions[:most])
    return Observation(
        value={
            "summary": f"{total} symbols of {path}",
            "path": path,
            "language": symbols.language,
            "symbols": rows,
            "total": total,
            "spans": [],
        },
        text=f"{path} ({symbols.language}, {symbols.lines} lines): {total} definitions\n{listed}{more}",
    )


def parse_syntax(view: View, wanted: ParseAst) -> Observation:
    """The syntax tree of a file."""
    from recollect.codebase.languages import language_of
    from recollect.codebase.symbols import parse_ast
    from recollect.errors import GrammarMissingError

    path = view.tree.resolve(wanted.path)
    language = language_of(path)
    if language is None:
        raise GrammarMissingError(f"{path!r} is in no language there is a grammar for")
    parsed = parse_ast(view.tree.read_bytes(path), language, path=path, max_nodes=_MAX_NODES)
    listed = "\n".join(
        f"{'  ' * node.depth}{node.kind} {node.start_line}-{node.end_line}: {node.text}"
        for node in parsed.nodes
    )
    cut = "\n... more nodes" if parsed.truncated else ""
    return Observation(
        value={"summary": f"{len(parsed.nodes)} nodes of {path}", **asdict(parsed), "spans": []},
        text=f"{path} ({parsed.language})\n{listed}{cut}",
    )


def read_context(view: View, context: str) -> tuple[str, Span | None]:
    """The text of an `llm_query`: lines of a file that the context names, or the context itself."""
    named = _PLACE.fullmatch(context.strip())
    path = named["path"] if named else context.strip()
    if named is None and ("\n" in path or len(path) > 4_000 or view.tree.find(path) is None):
        return context, None
    first = int(named["first"]) if named else 1
    most = view.most(MAX_LINES, chars_each=1)
    last = int(named["last"] or first) if named else first + most - 1
    source = view.tree.read(path, max(first, 1), min(last, first + most - 1))
    lines = _within(lines_of(source.text), view.room_chars)
    return "\n".join(lines), (source.path, first, first + len(lines) - 1)


def described(symbol: SymbolInfo) -> str:
    """A definition in a line: what it is, its name, and what its documentation or its first line says."""
    about = " ".join((symbol.doc or symbol.signature).split())
    first, last = symbol.start_line, symbol.end_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    named = f"{symbol.kind} `{symbol.qualified_name}` ({lines})"
    return f"{named}: {about[:160]}" if about else named


def _symbol_line(symbol: SymbolInfo) -> str:
    about = f"  # {symbol.doc}" if symbol.doc else ""
    return f"{symbol.start_line}-{symbol.end_line} {symbol.kind} {symbol.qualified_name}: {symbol.signature}{about}"


def _within(lines: list[str], most: int) -> list[str]:
    """As many of the lines as have room; the first always, cut if need be by whoever shows it."""
    used = 0
    for count, line in enumerate(lines):
        used += len(line) + 1
        if used > most:
            return lines[: max(count, 1)]
    return lines
