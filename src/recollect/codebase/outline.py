"""The tool `outline`: the map of a tree, drawn around a focus or by what is used most. It blocks.

With a focus the files are ranked for it (`ranking.py`); each comes with the lines that speak for it, offered as
findings in the order of the ranking. Without a focus the most used files are drawn, in the order of their paths, so
that a reader sees the shape of the tree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.codebase.definitions import TYPES, Answers, rank_definitions
from recollect.codebase.evidence import HEAD_LINES, Pages, last_cited
from recollect.codebase.file_tools import described
from recollect.codebase.grep import grep
from recollect.codebase.query import CodeQuery, read_query
from recollect.codebase.ranking import RankedFile, RankedSpan, rank, span_of
from recollect.codebase.search_tools import search_seconds
from recollect.codebase.symbols.values import SymbolInfo
from recollect.codebase.tool_parameters import Outline
from recollect.codebase.view import View
from recollect.codebase.words import best_window, weights_of, worth_of
from recollect.domain.findings import Finding
from recollect.runs.environment import Observation

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex

#: Files that a map with a focus shows, and the places of each.
MAX_FILES = 12
MAX_SPANS = 4
#: Definitions that answer a question.
MAX_ANSWERS = 10
#: How long definitions are embedded that never were: a tool has to answer within half a minute. On two busy cores
#: (a load of ten) 715 definitions took 174 seconds, so that 10 seconds would do for some forty.
_EMBEDDING_S = 20.0
#: By how many points of score a definition is a third as sure as the definition that has them.
_FALL = 3.0
#: Answers of up to so many lines are cited whole; of longer ones the lines that speak about the question.
_ANSWER_LINES, _WINDOW_LINES = 45, 24
#: Of a type its head is cited: its methods are answers of their own.
_TYPE_LINES = 16
_SMALL = frozenset({"variable", "constant", "field"})
_TEST_NAME = re.compile(r"(?:^|\.)(?:tests?\.|[Tt]est_?[A-Z_a-z]*)")
#: Of a file that no definition speaks for, so many lines are looked through for those that do.
_HEAD_SEARCH_LINES = 5_000
#: Without an index: words that are searched for, and lines that are counted.
_FALLBACK_WORDS = 12
_FALLBACK_LINES = 3_000
#: Files of a drawing, and definitions of each file; a token of code is about so many characters.
_DRAWN_FILES, _DRAWN_DEFINITIONS = 100, 12
_DRAWN_KINDS = frozenset(
    "function method class interface struct enum trait type macro module namespace".split()
)
_TOKEN_CHARS = 3.5
_SIGNATURE_CHARS = 110


def outline(view: View, wanted: Outline) -> Observation:
    """The map."""
    folder = view.tree.resolve(wanted.directory)
    if wanted.focus.strip() or wanted.hints:
        query = read_query(wanted.focus, wanted.hints)
        if view.index is not None and query.is_question and folder == ".":
            answers = _answers(view, view.index, query)
            if answers.ranked:
                return _answering(view, answers, query)
        return _focused(view, _ranked(view, query, folder), query)
    if view.index is None:
        return _listing(view, folder)
    return _most_used(view, view.index, folder)


def _answers(view: View, index: CodeIndex, query: CodeQuery) -> Answers:
    left = view.seconds_left()
    return rank_definitions(
        index,
        query,
        Pages(view.tree),
        view.embedder,
        limit=MAX_ANSWERS,
        seconds=_EMBEDDING_S if left is None else min(_EMBEDDING_S, left * 0.5),
    )


class _Map:
    """Files and their places for whoever plans the next step, and what of them is offered as findings."""

    def __init__(self, view: View) -> None:
        self.pages = Pages(view.tree)
        self.rows: dict[str, dict[str, Any]] = {}
        self.findings: list[Finding] = []
        self._view = view

    def add_file(self, path: str, confidence: float, score: float) -> None:
        """A file behind those that are there."""
        row = {"path": path, "confidence": round(confidence, 4), "score": score, "places": []}
        self.rows.setdefault(path, row)

    def add_place(
        self,
        path: str,
        span: RankedSpan,
        symbol: SymbolInfo | None,
        *,
        confidence: float,
        lines: tuple[int, int] | None = None,
    ) -> None:
        """A place of a file, cited by its lines, or by those that stand for a definition."""
        first, last = lines or (span.start_line, last_cited(span.start_line, span.end_line))
        about = " ".join((symbol.doc or symbol.signature).split())[:160] if symbol else ""
        index = self._view.index
        self.rows[path]["places"].append(
            {
                "name": symbol.qualified_name if symbol else span.name,
                "kind": symbol.kind if symbol else span.kind,
                "lines": [span.start_line, span.end_line],
                "score": round(span.score, 4),
                "why": span.why[:200],
                # A name that many files define says little about who uses this definition.
                "defined_in": 1
                if index is None or symbol is None
                else len(index.defining_files(symbol.name)),
                "about": about or span.why[:200],
            }
        )
        self.cite(path, first, last, described(symbol) if symbol else _named(span), confidence)

    def cite(self, path: str, first: int, last: int, description: str, confidence: float) -> None:
        """Offer lines as a finding."""
        finding = self.pages.find(path, first, last, description=description, confidence=confidence)
        if finding is not None:
            self.findings.append(finding)

    def observation(self, summary: str, text: str | None = None, **more: Any) -> Observation:
        """The map as a tool gives it back."""
        rows = list(self.rows.values())
        return Observation(
            value={"summary": summary, "files": rows, "spans": [], **more},
            text=_text(rows) if text is None else text,
            findings=tuple(self.findings),
        )


def _answering(view: View, answers: Answers, query: CodeQuery) -> Observation:
    """The map around a question: definitions that answer it, best first, and their files in the same order."""
    # What lies between is cited behind what answers.
    between = [answer for answer in answers.path if answer not in answers.ranked]
    ranked = (*answers.ranked, *between)
    words = weights_of(query)
    drawn = _Map(view)
    for order, answer in enumerate(ranked):
        path, symbol = answer.definition.path, answer.definition.symbol
        behind = math.exp((answer.score - ranked[0].score) / _FALL) * (1 - 0.001 * order)
        confidence = max(answers.chance * behind, 0.01 * 0.9**order)
        why = f"similarity {answer.similarity:.2f}" if answer.similarity else ""
        drawn.add_file(path, confidence, round(answer.score, 4))
        lines = lines_to_cite(symbol, drawn.pages.lines(path) or (), words)
        span = span_of(symbol, answer.score, why)
        drawn.add_place(path, span, symbol, confidence=confidence, lines=lines)
    return drawn.observation(
        f"{len(ranked)} definitions, first {ranked[0].definition.symbol.qualified_name}",
        path=[answer.definition.symbol.qualified_name for answer in answers.path],
        chance=round(answers.chance, 4),
        answers=[[finding.source_file, *(finding.line_range or (1, 1))] for finding in drawn.findings],
    )


def lines_to_cite(symbol: SymbolInfo, lines: Sequence[str], words: Mapping[str, float]) -> tuple[int, int]:
    """The lines that stand for a definition: a short one whole, the head of a type, else those about the words."""
    first, last = symbol.start_line, symbol.end_line
    if symbol.kind in TYPES:
        return first, min(last, first + _TYPE_LINES - 1)
    if last - first < _ANSWER_LINES:
        return first, last
    at, end, _ = best_window(lines[first - 1 : last], words, most=_WINDOW_LINES)
    return first + at, first + end


def _ranked(view: View, query: CodeQuery, folder: str) -> list[RankedFile]:
    if view.index is None:
        ranked = _by_searching(view, query)
    else:
        # A folder is cut out of the ranking of the whole tree, so there must be enough of it.
        ranked = rank(view.index, query, MAX_FILES if folder == "." else 20 * MAX_FILES)
    prefix = "" if folder == "." else f"{folder}/"
    return [file for file in ranked if file.path.startswith(prefix) or file.path == folder][:MAX_FILES]


def _focused(view: View, ranked: Sequence[RankedFile], query: CodeQuery) -> Observation:
    words = weights_of(query)
    drawn = _Map(view)
    for file in ranked:
        symbols = view.definitions(file.path)
        spans = _best_spans(file.spans, words, tests=query.about_tests)
        drawn.add_file(file.path, file.confidence, round(file.score, 4))
        for order, span in enumerate(spans):
            # Places of a file rank below its first, and never below the next file's.
            confidence = file.confidence * (1 - 0.02 * order)
            drawn.add_place(file.path, span, _symbol_at(symbols, span), confidence=confidence)
        if not spans:
            _add_head(drawn, file, words)
    if not ranked:
        text = "no file of the tree speaks about it; try other words, grep or list_files"
        return drawn.observation("no file speaks about it", text)
    return drawn.observation(f"{len(ranked)} files, first {', '.join(file.path for file in ranked[:3])}")


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Files and their places, for whoever plans the next step."""
    return "\n".join(
        f"{row['path']} (confidence {row['confidence']:.2f})"
        + "".join(
            f"\n  {place['lines'][0]}-{place['lines'][1]} {place['kind']} {place['name']}: {place['about']}"
            for place in row["places"]
        )
        for row in rows
    )


def _best_spans(spans: Sequence[RankedSpan], words: Mapping[str, float], *, tests: bool) -> list[RankedSpan]:
    """The places of a file to look at first: what the ranking says, and what their own names say.

    A definition called what the question asks about is likelier the answer than others that mention it; a constant or a
    test beside the code seldom is.
    """
    large = [span for span in spans if span.kind not in _SMALL or span.name in words]
    spans = large or spans
    best = max((span.score for span in spans), default=0.0) or 1.0
    most = sum(words.values()) or 1.0

    def worth(span: RankedSpan) -> float:
        named = worth_of(span.name, words) / most
        minor = span.kind in _SMALL or (not tests and _TEST_NAME.search(span.name) is not None)
        return span.score / best + named - (0.6 if minor else 0.0)

    return sorted(spans, key=worth, reverse=True)[:MAX_SPANS]


def _named(span: RankedSpan) -> str:
    what = f"{span.kind} `{span.name}`" if span.name else f"lines {span.start_line}-{span.end_line}"
    return f"{what}: {span.why}" if span.why else what


def _add_head(drawn: _Map, file: RankedFile, words: Mapping[str, float]) -> None:
    """Of a file that no definition speaks for: the lines of it that do, or its first ones."""
    lines = (drawn.pages.lines(file.path) or [])[:_HEAD_SEARCH_LINES]
    if not lines:
        return
    first, last, worth = best_window(lines, words, most=HEAD_LINES)
    if not worth:
        first, last = 0, min(len(lines), HEAD_LINES) - 1
    beginning = " ".join(lines[first].split())[:160]
    description = f"line {first + 1}: {beginning}" if beginning else f"the file {file.path}"
    drawn.cite(file.path, first + 1, last + 1, description, file.confidence)


def _symbol_at(symbols: Sequence[SymbolInfo], span: RankedSpan) -> SymbolInfo | None:
    exact = [
        symbol
        for symbol in symbols
        if (symbol.start_line, symbol.end_line) == (span.start_line, span.end_line)
    ]
    named = [symbol for symbol in exact if span.name and symbol.qualified_name.endswith(span.name)]
    return next(iter(named or exact), None)


# ---------------------------------------------------------------- without a focus


def _most_used(view: View, index: CodeIndex, folder: str) -> Observation:
    """Files by how much of the tree uses them, with their most used definitions."""
    used = use_of_files(index)
    prefix = "" if folder == "." else f"{folder}/"
    order = [
        number
        for number in np.argsort(-used, kind="stable").tolist()
        if index.files[number].path.startswith(prefix) and index.files[number].language is not None
    ][:MAX_FILES]
    drawn = _Map(view)
    for rank_, number in enumerate(order):
        path, worth = index.files[number].path, float(used[number])
        confidence = 0.9 - 0.04 * rank_
        drawn.add_file(path, confidence, worth)
        outer = [
            symbol
            for symbol in view.definitions(path)
            if symbol.kind not in _SMALL and "." not in symbol.qualified_name
        ]
        outer.sort(key=lambda symbol: -int(index.referencing_files(symbol.name).counts.sum()))
        for at, symbol in enumerate(sorted(outer[:MAX_SPANS], key=lambda symbol: symbol.start_line)):
            span = span_of(symbol, worth, "used most")
            drawn.add_place(path, span, symbol, confidence=confidence - 0.002 * at)
    first = ", ".join(list(drawn.rows)[:3])
    return drawn.observation(f"{len(index.files)} files; most used {first}", draw(index, folder=folder))


def _listing(view: View, folder: str) -> Observation:
    """Without an index: folders and how much is in them."""
    prefix = "" if folder == "." else f"{folder}/"
    counted: dict[str, int] = {}
    for file in view.tree.files():
        if file.path.startswith(prefix):
            head, _, below = file.path[len(prefix) :].partition("/")
            counted[f"{head}/" if below else head] = counted.get(f"{head}/" if below else head, 0) + 1
    listed = [f"{name} ({count} files)" if name.endswith("/") else name for name, count in counted.items()]
    return Observation(
        value={"summary": f"{len(listed)} entries", "files": [], "entries": listed[:400], "spans": []},
        text="\n".join(listed[:400]),
    )


def _by_searching(view: View, query: CodeQuery) -> list[RankedFile]:
    """Without an index: files by how many of the query's names and words stand in them."""
    wanted = [*query.hinted_names, *query.identifiers, *query.words][:_FALLBACK_WORDS]
    if not wanted:
        return []
    pattern = "|".join(re.escape(word) for word in wanted)
    result = grep(
        view.tree,
        pattern,
        (),
        context_lines=0,
        limit=_FALLBACK_LINES,
        ignore_case=True,
        timeout_s=search_seconds(view),
    )
    lines: dict[str, dict[str, int]] = {}
    for match in result.matches:
        for word in wanted:
            if word.lower() in match.text.lower():
                lines.setdefault(match.path, {}).setdefault(word, match.line)
    best = sorted(lines.items(), key=lambda row: (-len(row[1]), row[0]))
    return [
        RankedFile(
            path=path,
            score=float(len(hits)),
            confidence=0.5 * len(hits) / len(wanted),
            spans=tuple(
                RankedSpan(
                    name="", kind="line", start_line=line, end_line=line, score=1.0, why=f"has {word!r}"
                )
                for word, line in list(hits.items())[:MAX_SPANS]
            ),
            signals={"words": float(len(hits))},
        )
        for path, hits in best[:MAX_FILES]
    ]


def draw(index: CodeIndex, *, folder: str = "", max_tokens: int = 4_000) -> str:
    """The map of a folder, or of the whole tree, in as many words as there is room for."""
    prefix = "" if folder in {"", "."} else folder.strip("/") + "/"
    inside = [number for number, file in enumerate(index.files) if file.path.startswith(prefix)]
    worth = use_of_files(index)
    best = sorted(inside, key=lambda number: (-float(worth[number]), index.files[number].path))
    room = int(max_tokens * _TOKEN_CHARS)
    blocks: dict[int, str] = {}
    for number in best[:_DRAWN_FILES]:
        block = _block(index, number)
        if len(block) > room:
            break
        room -= len(block) + 1
        blocks[number] = block
    left = len(inside) - len(blocks)
    lines = [blocks[number] for number in sorted(blocks, key=lambda number: index.files[number].path)]
    if left:
        lines.append(f"({left:,} more files)")
    return "\n".join(lines)


def use_of_files(index: CodeIndex) -> np.ndarray[Any, np.dtype[Any]]:
    """How much the other files use each."""
    graph = index.graph
    return np.bincount(graph.targets, weights=graph.weights, minlength=len(index.files))


def _block(index: CodeIndex, number: int) -> str:
    definitions = [symbol for symbol in index.definitions_in(number) if symbol.kind in _DRAWN_KINDS]
    lines = [f"{index.files[number].path} ({int(index.file_lines[number]):,} lines)"]
    best = sorted(definitions, key=lambda symbol: -_worth(index, symbol))[:_DRAWN_DEFINITIONS]
    for symbol in sorted(best, key=lambda symbol: (symbol.start_line, -symbol.end_line)):
        indent = "  " * min(4, 1 + symbol.qualified_name.count("."))
        lines.append(f"{indent}{symbol.signature[:_SIGNATURE_CHARS]} :{symbol.start_line}-{symbol.end_line}")
    if len(definitions) > len(best):
        lines.append(f"  ({len(definitions) - len(best)} more)")
    return "\n".join(lines)


def _worth(index: CodeIndex, symbol: SymbolInfo) -> float:
    """How many files use the name; private names, and those inside functions, less."""
    used = float(len(index.referencing_files(symbol.name).ids))
    outer = (
        symbol.kind in {"class", "interface", "struct", "trait", "enum"} or "." not in symbol.qualified_name
    )
    return (used + (2.0 if outer else 0.0)) * (0.3 if symbol.name.startswith("_") else 1.0)
