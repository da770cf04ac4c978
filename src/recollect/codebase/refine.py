"""From what a run offered to what answers the question: the right lines, in the right order, each place once.

The map says which files matter and how sure that is; reading says what stands there. This puts both together: of a
definition that was read, the lines that speak about the question become the evidence, and the order of files is the
map's. What a model claimed keeps its words and its confidence; only its lines are made exact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.codebase.evidence import FILE, Pages, cite, move_finding
from recollect.codebase.query import CodeQuery
from recollect.codebase.search_tools import MATCHES, USED_IN
from recollect.codebase.words import asks_for_uses, best_window, weights_of
from recollect.domain.findings import Finding
from recollect.domain.trajectory import Trajectory

#: Files an answer names, and uses elsewhere.
MAX_FILES = 8
MAX_USES = 6
#: Places of a file: of the first files more than of those behind.
_PLACES = (3, 3, 2, 2, 2)
#: The first few files are named unless there are none; those behind them must not be far off the best.
_FIRST, _FAR_OFF = 5, 0.1
_QUESTION_CHARS = 200
#: A question whose best definitions are less likely to answer it is refused: of 79 questions that seven projects answer
#: four, of 13 about what they lack ten. At 0.2 six of the 79 were, and no more of the 13. Two of the projects, one of
#: them in Go, had no part in fitting the chance.
LEAST_CHANCE = 0.15
#: Definitions that are named when a question is refused.
_NEAREST = 3
_USES = re.compile(r"(?:calls|imports|inherits from|uses) `([^`]+)`")
_TEST = re.compile(
    r"(?i)(^|/)(tests?|spec|specs|__tests__|testing)/|(^|[/_.-])(test|spec)[_.-]|[_.-](test|spec)s?\."
)
#: A whole definition of up to so many lines is its own evidence.
_WHOLE_LINES = 16


def refine(
    record: Trajectory, findings: Sequence[Finding], query: CodeQuery, pages: Pages, *, tests: bool = False
) -> tuple[Finding, ...]:
    """The findings of a run without a model, for its question. `tests`: uses in tests come first, and more of them."""
    ranked = ranks_of(record)
    uses = [finding for finding in findings if _is_file(finding) and (is_use(finding) or not ranked)]
    places = [
        finding
        for finding in findings
        if _is_file(finding) and not is_use(finding) and finding.source_file in ranked
    ]
    # Where the definitions stand that answer the question, best first; nothing when files were ranked instead.
    answers = [(str(path), (first, last)) for path, first, last in map_of(record).get("answers", ())]
    if answers:
        by_lines = {(place.source_file, place.line_range): place for place in places}
        kept = [by_lines[key] for key in answers if key in by_lines]
    else:
        kept = _by_file(places, ranked, record.spans(), weights_of(query), pages)
    uses = _in_turns(sorted(uses, key=lambda use: bool(_TEST.search(use.source_file)) is not tests))
    # A long text that mentions uses is a report, not a question for them.
    named = bool(query.identifiers or query.dotted or not answers)
    for_uses = named and len(query.text) <= _QUESTION_CHARS and asks_for_uses(query.text)
    most = MAX_USES if not (tests or for_uses) else 2 * MAX_USES
    # Who asks for uses gets them right behind the definition, also those whose place is in the answer already.
    sure = [place.confidence for place in kept] or [0.6]
    top = sure[0] * 0.9995 if for_uses else min(sure) * 0.5
    for order, use in enumerate(_distinct(uses, () if for_uses else kept)[:most]):
        kept.append(replace(use, confidence=round(top * (1 - 0.001 * order), 6)) if ranked else use)
    return tuple(kept)


def _by_file(
    places: Sequence[Finding],
    ranked: Mapping[str, float],
    spans: Sequence[tuple[str, int, int]],
    words: Mapping[str, float],
    pages: Pages,
) -> list[Finding]:
    """The best places of each file, the files in the map's order."""
    by_file: dict[str, list[Finding]] = {}
    for finding in places:
        by_file.setdefault(finding.source_file, []).append(finding)
    kept: list[Finding] = []
    # A file that nothing could be cited from is left out, so the count is of those that are named.
    files = [path for path in ranked if path in by_file][:MAX_FILES]
    least = ranked[files[0]] * _FAR_OFF if files else 0.0
    for number, path in enumerate(files):
        if number >= _FIRST and ranked[path] < least:
            break
        most = _PLACES[number] if number < len(_PLACES) else 1
        for order, place in enumerate(_places(by_file[path], spans, words, pages)[:most]):
            kept.append(replace(place, confidence=round(ranked[path] * (1 - 0.001 * order), 6)))
    return kept


def _in_turns(uses: Sequence[Finding]) -> list[Finding]:
    """A use of each name before a second use of any."""
    turn: dict[str, int] = {}
    placed = []
    for order, use in enumerate(uses):
        named = _USES.search(use.description)
        name = named[1] if named else ""
        turn[name] = turn.get(name, 0) + 1
        placed.append((turn[name], order, use))
    return [use for *_, use in sorted(placed, key=lambda row: row[:2])]


def map_of(record: Trajectory) -> Mapping[str, Any]:
    """The run's first map that names files, as its call gave it back."""
    for call in record.calls():
        drawn = call.result if call.error is None and call.tool == "outline" else None
        if isinstance(drawn, Mapping) and drawn.get("files"):
            return drawn
    return {}


def ranks_of(record: Trajectory) -> dict[str, float]:
    """Files in the order in which the run's first map has them, with how sure it is of each; never rising."""
    ranks: dict[str, float] = {}
    most = 1.0
    for file in map_of(record).get("files", ()):
        most = min(most * 0.999, float(file["confidence"]))
        ranks.setdefault(str(file["path"]), max(most, 0.001))
    return ranks


def path_of(record: Trajectory) -> list[str]:
    """The definitions along which a question follows something, in the order of their calls; often none."""
    return [str(name) for name in map_of(record).get("path", ())]


def refused_answers(record: Trajectory) -> list[str]:
    """Where the nearest definitions stand when none of them is likely to answer; else nothing."""
    drawn = map_of(record)
    if not drawn.get("answers") or drawn["chance"] >= LEAST_CHANCE:
        return []
    return [f"{path}:{first}" for path, first, _ in drawn["answers"][:_NEAREST]]


def _places(
    offered: Sequence[Finding],
    spans: Sequence[tuple[str, int, int]],
    words: Mapping[str, float],
    pages: Pages,
) -> list[Finding]:
    """The places of a file in the map's order, each in the lines that speak about the question."""
    placed: list[Finding] = []
    for finding in sorted(offered, key=lambda place: -place.confidence):
        first, last = finding.line_range or (1, 1)
        whole = max(
            (span for span in spans if span[0] == finding.source_file and span[1] == first), default=None
        )
        if whole is not None:
            last = max(last, whole[2])
        lines = (pages.lines(finding.source_file) or [])[first - 1 : last]
        if not lines:
            continue
        at, end = 0, len(lines) - 1
        if len(lines) > _WHOLE_LINES:
            at, end, _ = best_window(lines, words)
        citation = cite(finding.source_file, first + at, lines[at : end + 1])
        placed.append(move_finding(finding, citation))
    return _distinct(placed, ())


def _distinct(findings: Sequence[Finding], known: Sequence[Finding]) -> list[Finding]:
    """Findings whose lines and words no finding before them has."""
    kept: list[Finding] = []
    for finding in findings:
        if not any(_overlap(finding, other) for other in (*known, *kept)):
            kept.append(finding)
    return kept


def _overlap(finding: Finding, other: Finding) -> bool:
    if finding.source_file != other.source_file or finding.line_range is None or other.line_range is None:
        return False
    if finding.description == other.description:
        return True
    return finding.line_range[0] <= other.line_range[1] and other.line_range[0] <= finding.line_range[1]


def _is_file(finding: Finding) -> bool:
    return bool(finding.citations) and finding.citations[0].kind == FILE


def is_use(finding: Finding) -> bool:
    """Whether a finding is a use of a name or a line that matches: not a place of a definition."""
    return finding.group in (USED_IN, MATCHES)
