"""The tools that look through the whole tree: `grep`, `find_references`, and the lines that answer. They block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from recollect.codebase.evidence import (
    Pages,
    beginning,
    cite,
    finding_on,
    last_cited,
    line_finding,
)
from recollect.codebase.file_tools import Span, described
from recollect.codebase.grep import grep
from recollect.codebase.index import Definition, Use
from recollect.codebase.tool_parameters import FindReferences, Grep
from recollect.codebase.view import View
from recollect.codebase.words import stems_of
from recollect.domain.findings import Finding
from recollect.files.patterns import touching
from recollect.runs.citations import lines_of
from recollect.runs.environment import Observation
from recollect.runs.quotes import locate

#: Groups of findings that are no place the map named.
USED_IN = "Used in"
MATCHES = "Matches"
_MAX_MATCHES = 80
_MAX_USES = 40
_MAX_DEFINITIONS = 10
#: Of the matches and uses of a call, those that are offered as findings.
_OFFERED = 12
_GREP_TIMEOUT_S = 20.0
#: How far a use stands back behind a call.
_KINDS = {"call": 0, "inherit": 0, "use": 2, "import": 100}
_ANSWERING = 8


def grep_tree(view: View, wanted: Grep) -> Observation:
    """Lines that match."""
    result = grep(
        view.tree,
        wanted.pattern,
        wanted.paths,
        context_lines=wanted.context_lines,
        limit=view.most(_MAX_MATCHES, chars_each=300),
        timeout_s=search_seconds(view),
    )
    rows: list[dict[str, Any]] = []
    lines_of_path: dict[str, dict[int, str]] = {}
    matching: dict[str, list[int]] = {}
    for match in result.matches:
        rows.append(
            {
                "path": match.path,
                "line": match.line,
                "text": match.text[:400],
                "before": [line[:400] for line in match.before],
                "after": [line[:400] for line in match.after],
            }
        )
        matching.setdefault(match.path, []).append(match.line)
        around = [*match.before, match.text, *match.after]
        lines = lines_of_path.setdefault(match.path, {})
        lines |= dict(enumerate(around, match.line - len(match.before)))
    # Lines around a match are in the answer, too: who quotes them has read them.
    spans = [
        (path, *span) for path, lines in lines_of_path.items() for span in touching(lines, 0, max(lines))
    ]
    blocks = [
        "\n".join(
            f"{path}:{number}{':' if number in matching[path] else '-'} {lines_of_path[path][number][:400]}"
            for number in range(first, last + 1)
        )
        for path, first, last in spans
    ]
    more = {"limit": "there are more; narrow the pattern or the paths", "deadline": "it took too long"}
    note = f"\n... {more[result.stopped_by]}" if result.stopped_by else ""
    summary = f"{len(rows)} matches in {result.files_matched} of {result.files_searched} files"
    return Observation(
        value={
            "summary": summary,
            "matches": rows,
            "files_searched": result.files_searched,
            "files_matched": result.files_matched,
            "stopped_by": result.stopped_by,
            "spans": [list(span) for span in spans],
        },
        text=f"{summary}\n" + "\n--\n".join(blocks) + note,
        findings=tuple(
            line_finding(match.path, match.line, match.text, group=MATCHES)
            for match in result.matches[:_OFFERED]
            if match.text.strip()
        ),
    )


def search_seconds(view: View) -> float:
    """How long a search may take: no longer than the run has, since a thread can't be ended from outside."""
    left = view.seconds_left()
    return _GREP_TIMEOUT_S if left is None else min(_GREP_TIMEOUT_S, max(left, 0.05))


def find_references(view: View, wanted: FindReferences) -> Observation:
    """Where a name is defined and used."""
    name = wanted.name.strip().replace("::", ".").strip(".")
    last = name.rsplit(".", 1)[-1]
    pages = Pages(view.tree)
    if view.index is None:
        # Without an index: every line with the name as a word.
        return grep_tree(view, Grep(pattern=rf"\b{re.escape(last)}\b", context_lines=0))
    defined = view.index.definitions(name, limit=200) or view.index.definitions(last, limit=200)
    uses = view.index.references(last, limit=1_000)
    findings: list[Finding] = []
    places: list[dict[str, Any]] = []
    for definition in defined[:_MAX_DEFINITIONS]:
        symbol = definition.symbol
        places.append(
            {
                "path": definition.path,
                "lines": [symbol.start_line, symbol.end_line],
                "name": symbol.qualified_name,
                "kind": symbol.kind,
                "signature": symbol.signature,
            }
        )
        offered = pages.find(
            definition.path,
            symbol.start_line,
            last_cited(symbol.start_line, symbol.end_line),
            description=described(symbol),
            confidence=0.5,
        )
        if offered is not None:
            findings.append(offered)
    rows = _use_rows(view, pages, _spread(uses, defined), last, findings)
    paths = {use.path for use in uses}
    summary = f"{last}: {len(defined)} definitions, {len(uses)} uses in {len(paths)} files"
    listed = "\n".join(
        [
            *(
                f"defined {place['path']}:{place['lines'][0]} {place['kind']} {place['name']}"
                for place in places
            ),
            *(f"{row['kind']} {row['path']}:{row['line']} in {row['inside']}: {row['text']}" for row in rows),
        ]
    )
    more = f"\n... {len(uses) - len(rows)} more uses" if len(uses) > len(rows) else ""
    return Observation(
        value={
            "summary": summary,
            "name": last,
            "definitions": places,
            "references": rows,
            "total": len(uses),
            "files": len(paths),
            "spans": [[row["path"], row["line"], row["line"]] for row in rows],
        },
        text=f"{summary}\n{listed}{more}",
        findings=tuple(findings),
    )


def _spread(uses: Sequence[Use], defined: Sequence[Definition]) -> list[Use]:
    """Calls before other uses, other files before those of the definitions, each file once before any twice.

    A file that uses a name a hundred times is a single user; an import says only that it will be used.
    """
    home = {definition.path for definition in defined}
    users = {use.path for use in uses if use.reference.kind != "import"}
    uses = [use for use in uses if use.reference.kind != "import" or use.path not in users]
    seen: dict[tuple[str, str], int] = {}
    placed = []
    for order, use in enumerate(uses):
        kind = use.reference.kind
        round_ = seen[use.path, kind] = seen.get((use.path, kind), 0) + 1
        placed.append((round_ + _KINDS.get(kind, 2) + (3 if use.path in home else 0), order, use))
    return [use for _, _, use in sorted(placed, key=lambda row: row[:2])[:_MAX_USES]]


def _use_rows(
    view: View, pages: Pages, uses: Sequence[Use], name: str, findings: list[Finding]
) -> list[dict[str, Any]]:
    rows = []
    for use in uses:
        line = use.reference.line
        lines = pages.lines(use.path)
        if lines is None or not 1 <= line <= len(lines):
            continue
        around = view.enclosing(use.path, line)
        inside = around.qualified_name if around else "module"
        text = " ".join(lines[line - 1].split())[:300]
        rows.append(
            {"path": use.path, "line": line, "kind": use.reference.kind, "inside": inside, "text": text}
        )
        if len(findings) < _OFFERED + _MAX_DEFINITIONS:
            verb = {"call": "calls", "import": "imports", "inherit": "inherits from"}.get(
                use.reference.kind, "uses"
            )
            findings.append(
                finding_on(
                    cite(use.path, line, [lines[line - 1]]),
                    description=f"`{inside}` {verb} `{name}`: {text[:160]}",
                    confidence=0.3,
                    group=USED_IN,
                )
            )
    return rows


def answering(view: View, prompt: str, text: str, span: Span | None) -> Observation:
    """The lines of a text that share the most words with a prompt, in their order."""
    stems = stems_of(prompt)
    lines = lines_of(text)
    scored = [(len(stems & stems_of(line)), number) for number, line in enumerate(lines) if line.strip()]
    best = sorted((row for row in scored if row[0]), key=lambda row: (-row[0], row[1]))[:_ANSWERING]
    chosen = sorted(number for _, number in best)
    findings: tuple[Finding, ...] = ()
    if span is not None:
        path, first, _ = span
        findings = tuple(line_finding(path, first + number, lines[number]) for number in chosen)
    answers = [lines[number].strip() for number in chosen]
    return Observation(
        value={"answer": answers, "spans": [list(span)] if span else []},
        text="\n".join(answers) or "no line of it speaks about the prompt",
        findings=findings,
    )


def place_quotes(view: View, quotes: Sequence[str], span: Span | None) -> tuple[Finding, ...]:
    """Quotes of a model as findings, where they stand in the lines it has read; others are dropped."""
    if span is None:
        return ()
    path, first, last = span
    lines = (Pages(view.tree).lines(path) or [])[first - 1 : last]
    placed = []
    for quote in quotes:
        where = locate(quote, lines, first=first)
        if where is not None:
            citation = cite(path, where[0], lines[where[0] - first : where[1] - first + 1])
            placed.append(finding_on(citation, description=beginning(quote, 200), confidence=0.7))
    return tuple(placed)
