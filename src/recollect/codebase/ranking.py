"""Which files of a tree a query is about, without a model.

    rank(index, read_query(text, hints), limit=10)  -> list[RankedFile], best first

Several signals (words in files and in definitions, names that are defined or used, paths, stack traces, the reference
graph from these) are put together by a small linear formula. Taking a query apart is `query.py`, the signals are in
`signals.py`, the walk over the graph in `links.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.codebase.languages import Role, role_of
from recollect.codebase.links import personalised_pagerank
from recollect.codebase.query import CodeQuery
from recollect.codebase.resolve import PathTable
from recollect.codebase.signals import (
    BoolArray,
    Evidence,
    FloatArray,
    Signals,
    hint_signal,
    name_signals,
    path_signals,
    place_signals,
    word_signals,
)
from recollect.codebase.symbols.values import SymbolInfo, innermost
from recollect.codebase.words import words_of

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex

#: What each signal is worth, when the best file of the program has 1 of it; `_AS_THEY_COME` are not scaled. Set by
#: what they mean, and tried on the issues of the benchmark: leaving any of them out, or taking it 1.7 times, moves few
#: of them. Fitting gains nothing: weights fitted with one project left out in turn find the file first for 0.58 of
#: 85 issues and among five for 0.87, these for 0.62 and 0.87. Projects in Rust, Go, JavaScript and Java that had
#: no part in it, 80 commits looked for by their messages: 0.72 and 0.92, BM25 over their files 0.61 and 0.85.
WEIGHTS: Mapping[str, float] = {
    "file_title": 0.6, "file_prose": 0.4, "file_code": 0.2, "file_trace": 0.1,
    "definition_title": 0.4, "definition_prose": 0.3, "definition_code": 0.3, "definition_trace": 0.1,
    "base_title": 0.3, "base_prose": 0.1, "base_trace": 0.2,
    "path_title": 0.1, "path_prose": 0.1,
    "defines_said": 0.2, "defines_pasted": 0.1, "uses_said": 0.2, "uses_pasted": 0.1,
    "method_said": 0.4, "method_pasted": 0.2, "module_said": 0.4, "module_pasted": 0.15,
    "place": 1.0, "place_name": 0.5, "frame": 0.8,
    "graph": 0.1, "hint": 2.0,
}  # fmt: skip
_AS_THEY_COME = frozenset(
    """
    defines_said defines_pasted method_said method_pasted module_said module_pasted place place_name frame hint
    """.split()
)
#: What is taken off: tests and manuals speak about everything, and are rarely what has to be changed or read first.
_SETBACKS = {
    Role.TEST: 1.2,
    Role.DOCUMENT: 1.0,
    Role.EXAMPLE: 0.6,
    Role.VENDORED: 0.6,
    Role.DATA: 0.6,
    Role.SOURCE: 0.0,
}
#: What is added for tests or manuals when the question is about them.
_LIFT = 0.5
#: Chances are exp(this * share) over the sum of the first files'; the share is of what a file could have had, so that a
#: short question is as sure as a long question. On the benchmark's issues the first file has 0.62 on average, and is
#: right for 0.64; on commits of four projects in other languages, looked for by their messages, 0.73 and 0.72.
_SHARPNESS = 9.6
_CHANCES_OVER = 50
_LEAST_CHANCE = 0.01
#: Spans of a file, and words that are named in a reason.
MAX_SPANS = 6
_REASONS = 4
#: A definition speaks for its file when it has this share of the best definition's score.
_SPAN_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSpan:
    """Lines that speak for a file. `name` is the definition's, or empty; `why` says what matched, in a few words."""

    name: str
    kind: str
    start_line: int
    end_line: int
    score: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFile:
    """A file, and what speaks for it: spans best first, `signals` the parts of the score.

    `confidence` is the estimated chance that this is the file that was meant.
    """

    path: str
    score: float
    confidence: float
    spans: tuple[RankedSpan, ...]
    signals: Mapping[str, float]


def rank(index: CodeIndex, query: CodeQuery, limit: int = 10) -> list[RankedFile]:
    """The files a query is about, best first; files that nothing speaks for are left out.

    Tests, manuals, examples and what is brought along rank lower, unless the query is about them.
    """
    if not index.files or limit < 1:
        return []
    paths = [file.path for file in index.files]
    weighed = weigh(index, query)
    scores, sums, parts, evidence = weighed.scores, weighed.sums, weighed.parts, weighed.evidence
    order = np.lexsort((np.arange(len(paths)), -scores))
    order = order[sums[order] > 0]
    chances = _chances(scores[order], parts)
    first = order[:limit].tolist()
    matching = {file: _matching(index, file, evidence) for file in first}
    reasons = _reasons(evidence, [number for numbers in matching.values() for number in numbers])
    return [
        RankedFile(
            path=paths[file],
            score=float(scores[file]),
            confidence=float(chance),
            spans=_spans(index, file, matching[file], reasons, evidence),
            signals={name: float(values[file]) for name, values in parts.items() if values[file]},
        )
        for file, chance in zip(first, chances, strict=False)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What speaks for each file of a tree, by its number: `parts` are added up in `sums`.

    `scores` have what is taken off by role; `primary` are files of the role that the query is about.
    """

    scores: FloatArray
    sums: FloatArray
    primary: BoolArray
    parts: Signals
    evidence: Evidence


def weigh(index: CodeIndex, query: CodeQuery) -> Weighed:
    """Every file of a tree, weighed for a query."""
    paths = [file.path for file in index.files]
    setbacks = np.array([_setback(role_of(path), query) for path in paths])
    primary = setbacks <= 0.0
    if not primary.any():
        primary = np.ones(len(paths), bool)
    signals, evidence = _gather(index, query, paths, primary)
    parts = {
        name: WEIGHTS[name] * (values if name in _AS_THEY_COME else _scaled(values, primary))
        for name, values in signals.items()
        if name in WEIGHTS
    }
    sums = sum(parts.values(), np.zeros(len(paths)))
    return Weighed(scores=sums - setbacks, sums=sums, primary=primary, parts=parts, evidence=evidence)


def _gather(
    index: CodeIndex, query: CodeQuery, paths: Sequence[str], primary: BoolArray
) -> tuple[Signals, Evidence]:
    words = words_of(query.segments)
    table = PathTable(paths)
    signals, evidence = word_signals(index, words, primary, WEIGHTS)
    signals |= path_signals(paths, words, primary)
    signals |= name_signals(index, query, primary, evidence)
    signals |= place_signals(table, query, len(paths), evidence)
    signals["hint"] = hint_signal(index, table, query, evidence)
    # The walk begins where something definite speaks for a file, at the hints most of all.
    best = _scaled(signals["definition_title"] + signals["definition_prose"], primary)
    seeds = best**2 + signals["defines_said"] + signals["place"] + signals["frame"] + 3 * signals["hint"]
    signals["graph"] = personalised_pagerank(index.graph, seeds)
    return signals, evidence


def _chances(scores: FloatArray, parts: Signals) -> FloatArray:
    """The chance of each file to be what is meant; `scores` are descending."""
    if not len(scores):
        return scores
    possible = sum(
        WEIGHTS[name] for name, values in parts.items() if name not in _AS_THEY_COME and values.any()
    )
    odds = np.exp((scores - scores[0]) * _SHARPNESS / max(possible, 0.5))
    # Beside a file that is certain the others still differ, and nobody may mistake them for equal.
    least = _LEAST_CHANCE * 0.9 ** np.arange(len(scores))
    chances: FloatArray = np.maximum(odds / odds[:_CHANCES_OVER].sum(), least)
    return chances


def _setback(role: Role, query: CodeQuery) -> float:
    if (role is Role.TEST and query.about_tests) or (role is Role.DOCUMENT and query.about_documents):
        return -_LIFT
    return _SETBACKS[role]


def _scaled(values: FloatArray, primary: BoolArray) -> FloatArray:
    """Share of the best file of the program; a test may have a little more than 1."""
    best = float(values[primary].max(initial=0.0)) or float(values.max(initial=0.0))
    return np.minimum(values / best, 1.5) if best > 0 else values


# ------------------------------------------------------------ the lines


def _matching(index: CodeIndex, file: int, evidence: Evidence) -> list[int]:
    """Definitions of a file with the query's words, best first."""
    first, last = np.searchsorted(index.definition_files, [file, file + 1]).tolist()
    scores = evidence.definition_scores[first:last]
    least = max(_SPAN_SHARE * float(scores.max(initial=0.0)), 1e-9)
    best = np.argsort(-scores, kind="stable")[:MAX_SPANS]
    return [int(number) + first for number in best if scores[number] >= least]


def _spans(
    index: CodeIndex, file: int, matching: Sequence[int], reasons: Mapping[int, str], evidence: Evidence
) -> tuple[RankedSpan, ...]:
    """Definitions with the query's words, those that are named, and lines that were named, best first."""
    scores = evidence.definition_scores
    spans: dict[tuple[int, int], RankedSpan] = {}
    for number in matching:
        symbol = index.definition(number).symbol
        _keep(spans, span_of(symbol, float(scores[number]), reasons.get(number, "")))
    # Where nothing else speaks, a name or a line that is meant still counts.
    unit = float(scores[matching[0]]) if matching else 1.0
    named = {name: share for name, (files, share) in evidence.defined.items() if file in files}
    by_last = {name.rpartition(".")[2]: name for name in sorted(named, key=lambda name: named[name])}
    first = int(index.definition_files.searchsorted(file)) if named else 0
    for offset, symbol in enumerate(index.definitions_in(file) if named else ()):
        name = by_last.get(symbol.name, "")
        if name and symbol.is_called(name):
            score = float(scores[first + offset]) + named[name] * unit
            _keep(spans, span_of(symbol, score, f"defines {name}"))
    for order, (line, why) in enumerate(evidence.lines.get(file, ())[:MAX_SPANS]):
        _keep(spans, _at_line(index, file, line, why, score=(3.0 - 0.1 * order) * unit))
    ranked = sorted(spans.values(), key=lambda span: (-span.score, span.start_line))
    return tuple(ranked[:MAX_SPANS])


def _keep(spans: dict[tuple[int, int], RankedSpan], span: RankedSpan) -> None:
    """One span for the same lines: the better score, and both reasons."""
    key = (span.start_line, span.end_line)
    known = spans.get(key)
    if known is not None:
        why = known.why if span.why in known.why else f"{span.why}; {known.why}"
        span = replace(span if span.score > known.score else known, why=why)
    spans[key] = span


def span_of(symbol: SymbolInfo, score: float, why: str) -> RankedSpan:
    """The lines of a definition."""
    return RankedSpan(
        name=symbol.qualified_name,
        kind=symbol.kind,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        score=score,
        why=why,
    )


def _reasons(evidence: Evidence, definitions: Sequence[int]) -> dict[int, str]:
    """The words that count most in each of these definitions."""
    wanted = np.array(definitions, np.int64)
    worths_of: dict[int, list[tuple[float, str]]] = {}
    for word, ids, worths in evidence.hits:
        at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        for here in np.nonzero(ids[at] == wanted)[0].tolist():
            worths_of.setdefault(definitions[here], []).append((-float(worths[at[here]]), word))
    return {
        number: "has " + ", ".join(word for worth, word in sorted(words)[:_REASONS] if worth)
        for number, words in worths_of.items()
    }


def _at_line(index: CodeIndex, file: int, line: int, why: str, *, score: float) -> RankedSpan:
    """The innermost definition around a line, or the line itself."""
    why = f"line {line} is {why}"
    symbol = innermost(index.definitions_in(file), line)
    if symbol is None:
        return RankedSpan(name="", kind="line", start_line=line, end_line=line, score=score, why=why)
    return span_of(symbol, score, why)
