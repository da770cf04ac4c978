"""What speaks for each file of a tree, an array for each signal, by number of file.

`word_signals` and `path_signals` count words, `name_signals` names that are defined or used, `place_signals` files
that the text or the hints name. Values are as they come; `ranking.py` scales them and puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.codebase.query import CodeQuery, Place
from recollect.codebase.resolve import Match, PathTable, module_parts
from recollect.codebase.words import SEGMENTS, Word
from recollect.text.terms import code_terms, identifier_terms

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex, Postings

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int32]

#: BM25's usual constants; other values moved the benchmark by less than an issue or two.
K1, B = 1.2, 0.75
#: Names looked up for a query; a pasted program has hundreds.
MAX_NAMES = 300
MAX_DOTTED = 60
#: A name defined in more files says nothing about any of them.
_MAX_DEFINING = 50
#: The first frames of a trace that lie in the tree; the others are the framework's way there.
_FRAMES = 12


@dataclass(slots=True)
class Evidence:
    """Lines that speak for files, gathered beside the signals: definitions by number, and lines with a reason."""

    definition_scores: FloatArray
    #: (definition, word, part of its score), for the reasons that are given.
    hits: list[tuple[str, IntArray, FloatArray]] = field(default_factory=list)
    #: A name, the files that define it, and how much that says about each.
    defined: dict[str, tuple[IntArray, float]] = field(default_factory=dict)
    lines: dict[int, list[tuple[int, str]]] = field(default_factory=dict)


Signals = dict[str, FloatArray]


# ------------------------------------------------------------ words


def word_signals(
    index: CodeIndex, words: Sequence[Word], primary: BoolArray, weights: Mapping[str, float]
) -> tuple[Signals, Evidence]:
    """BM25 of files (`file_*`) and of their best definitions (`definition_*`), for each segment of the query.

    How rare a word is, is counted over `primary` files: a word of every test is still rare in the program. `weights`
    are those of the ranking; the score of a definition over all segments is the evidence.
    """
    files, definitions = len(index.files), len(index.definition_lengths)
    by_file = _Scores(np.asarray(index.file_lengths, np.float64), primary)
    owner = np.asarray(index.definition_files)
    by_definition = _Scores(
        np.asarray(index.definition_lengths, np.float64), primary[owner] if definitions else primary[:0]
    )
    shares = np.array([weights[f"definition_{name}"] for name in SEGMENTS])
    evidence = Evidence(definition_scores=np.zeros(definitions))
    for word in words:
        by_file.add(word, [(index.file_postings(form), factor) for form, factor in word.forms])
        ids, parts = by_definition.add(
            word, [(index.definition_postings(form), factor) for form, factor in word.forms]
        )
        if len(ids):
            evidence.hits.append((word.text, ids, parts * float(shares @ word.weights)))
    signals: Signals = {}
    for number, name in enumerate(SEGMENTS):
        signals[f"file_{name}"] = by_file.scores[number]
        best = np.zeros(files)
        if definitions:
            np.maximum.at(best, owner, by_definition.scores[number])
        signals[f"definition_{name}"] = best
    evidence.definition_scores = shares @ by_definition.scores
    return signals, evidence


class _Scores:
    """BM25 over files or definitions, a row for each segment."""

    def __init__(self, lengths: FloatArray, primary: BoolArray) -> None:
        self._primary = primary
        self._count = max(int(primary.sum()), 1)
        known = lengths[primary]
        mean = float(known.mean()) if len(known) and known.sum() else 1.0
        self._norm = K1 * (1 - B + B * lengths / mean)
        self._times = np.zeros(len(lengths))
        self.scores = np.zeros((len(SEGMENTS), len(lengths)))

    def add(self, word: Word, postings: Sequence[tuple[Postings, float]]) -> tuple[IntArray, FloatArray]:
        """Count a word in all its forms; where it stands, and what it is worth there at weight 1."""
        counted = [(posting.ids, posting.counts, factor) for posting, factor in postings if len(posting.ids)]
        if not counted:
            return np.zeros(0, np.int32), np.zeros(0)
        for ids, counts, factor in counted:
            self._times[ids] += counts * factor
        ids = (
            counted[0][0] if len(counted) == 1 else np.unique(np.concatenate([ids for ids, _, _ in counted]))
        )
        times = self._times[ids]
        self._times[ids] = 0.0
        frequent = int(self._primary[ids].sum())
        rarity = math.log(1 + (self._count - frequent + 0.5) / (frequent + 0.5))
        worth = rarity * times * (K1 + 1) / (times + self._norm[ids])
        for number, weight in enumerate(word.weights):
            if weight:
                self.scores[number, ids] += weight * worth
        return ids, worth


# ------------------------------------------------------------ paths


def path_signals(paths: Sequence[str], words: Sequence[Word], primary: BoolArray) -> Signals:
    """Words of the query in a path (`path_*`) and in the file's own name (`base_*`), rare ones more."""
    number_of = {form: number for number, word in enumerate(words) for form, _ in word.forms}
    known: dict[str, tuple[frozenset[int], int]] = {}

    def look(part: str) -> tuple[frozenset[int], int]:
        entry = known.get(part)
        if entry is None:
            terms = set(code_terms(part))
            entry = frozenset(number_of[term] for term in terms if term in number_of), max(len(terms), 1)
            known[part] = entry
        return entry

    rows: dict[str, tuple[list[int], list[int]]] = {"path": ([], []), "base": ([], [])}
    sizes = np.ones(len(paths))
    for file, path in enumerate(paths):
        parts = module_parts(tuple(path.split("/")))
        own, sizes[file] = look(parts[-1])
        everywhere = own.union(*(look(part)[0] for part in parts[:-1]))
        for name, numbers in (("path", everywhere), ("base", own)):
            if numbers:
                rows[name][0].extend([file] * len(numbers))
                rows[name][1].extend(numbers)
    weights = np.minimum(np.array([word.weights for word in words]).reshape(len(words), len(SEGMENTS)), 1.0)
    signals: Signals = {}
    total = max(int(primary.sum()), 1)
    for name, (in_files, of_words) in rows.items():
        files_, numbers_ = np.array(in_files, np.int64), np.array(of_words, np.int64)
        counted = primary[files_] if len(files_) else np.zeros(0, bool)
        frequent = np.bincount(numbers_[counted], minlength=len(words))
        rarity = np.log(1 + np.maximum(total - frequent + 0.5, 0.5) / (frequent + 0.5))
        for segment, segment_name in enumerate(SEGMENTS):
            worth = np.bincount(
                files_,
                (rarity * weights[:, segment])[numbers_] if len(files_) else None,
                minlength=len(paths),
            )
            signals[f"{name}_{segment_name}"] = (
                worth / np.sqrt(sizes) if name == "base" else worth.astype(float)
            )
    return signals


# ------------------------------------------------------------ names


def name_signals(index: CodeIndex, query: CodeQuery, primary: BoolArray, evidence: Evidence) -> Signals:
    """Names of the query that files define (`defines_*`) or use (`uses_*`), in sentences and in pasted code."""
    signals: Signals = {}
    total = max(int(primary.sum()), 1)
    for kind, names in (("said", query.prose_names), ("pasted", query.code_names)):
        defines, uses, methods = (np.zeros(len(index.files)) for _ in range(3))
        most = sorted(names.items(), key=lambda item: (-item[1], item[0]))
        dotted = [item for item in most if "." in item[0]][:MAX_DOTTED]
        plain = [item for item in most if "." not in item[0]][:MAX_NAMES]
        for name, times in (*plain, *dotted):
            weight = math.sqrt(min(times, 3.0))
            if "." in name:
                _add_method(index, name, methods, evidence)
                continue
            files = _defining(index, name, primary)
            if len(files):
                share = (1.0 if kind == "said" else 0.3) / math.sqrt(len(files))
                evidence.defined.setdefault(name, (files, share))
                defines[files] += weight / len(files)
            terms = identifier_terms(name)
            if terms:
                postings = index.file_postings(terms[-1])
                frequent = int(primary[postings.ids].sum())
                uses[postings.ids] += (
                    weight
                    * math.log(1 + total / max(frequent, 1))
                    * postings.counts
                    / (postings.counts + 1.5)
                )
        signals[f"defines_{kind}"] = np.minimum(defines, 2.0)
        signals[f"uses_{kind}"] = uses
        signals[f"method_{kind}"] = np.minimum(methods, 2.0)
    return signals


def _defining(index: CodeIndex, name: str, primary: BoolArray) -> IntArray:
    """Files that define a name: those of the program, if there are any."""
    files = np.asarray(index.defining_files(name))
    mine = files[primary[files]] if len(files) else files
    files = mine if len(mine) else files
    return files if len(files) <= _MAX_DEFINING else files[:0]


def _add_method(index: CodeIndex, dotted: str, methods: FloatArray, evidence: Evidence) -> None:
    """`Class.method` as the end of a qualified name."""
    tail = ".".join(dotted.split(".")[-2:])
    if len(index.defining_files(tail.rpartition(".")[2])) > _MAX_DEFINING:
        return  # `get`, `run`: every file would have to be opened to see whose it is
    files = sorted({definition.file for definition in index.definitions(tail, limit=_MAX_DEFINING)})
    for file in files:
        methods[file] += 1.0 / len(files)
    if files:
        evidence.defined[tail] = np.array(files, np.int32), 1.0 / math.sqrt(len(files))


# ------------------------------------------------------------ places


def place_signals(table: PathTable, query: CodeQuery, count: int, evidence: Evidence) -> Signals:
    """Files that the text names: paths (`place`, `place_name`), stack traces (`frame`), modules (`module_*`)."""
    place, name, frame = (np.zeros(count) for _ in range(3))
    for mention in query.places:
        match = table.path(mention.path)
        sure = match.parts > 1
        for file in match.files:
            target = place if sure else name
            target[file] = max(target[file], 1.0 / len(match.files))
            if sure:
                _note(evidence, file, mention, "named in the text")
    within = 0
    for mention in query.frames:
        match = table.path(mention.path)
        if match.parts < 2 or len(match.files) > 2 or within >= _FRAMES:
            continue
        for file in match.files:
            frame[file] = max(frame[file], 1.0 / (1 + within))
            _note(evidence, file, mention, "in the stack trace")
        within += 1
    signals: Signals = {"place": place, "place_name": name, "frame": frame}
    for kind, names in (("said", query.prose_names), ("pasted", query.code_names)):
        modules = np.zeros(count)
        for dotted in names:
            if "." not in dotted:
                continue
            match, length = table.module(dotted)
            whole = length == dotted.count(".") + 1
            for file in match.files:
                # A package is imported for what lies below it; a module that is named itself is meant.
                meant = 0.3 if table.stands_for_folder(file) else 2.0 if whole and kind == "said" else 1.0
                modules[file] += meant * min(1.0, length / 3) / len(match.files)
        signals[f"module_{kind}"] = np.minimum(modules, 2.0)
    return signals


def hint_signal(index: CodeIndex, table: PathTable, query: CodeQuery, evidence: Evidence) -> FloatArray:
    """What the hints name: a file or its line 1, a definition 1 over its number, many files less each."""
    hinted = np.zeros(len(index.files))
    for place in query.hinted_places:
        match: Match = table.path(place.path)
        for file in match.files:
            hinted[file] = max(hinted[file], 1.0 / len(match.files))
            _note(evidence, file, place, "hinted at")
        if not match.files:
            _spread(hinted, table.folder(place.path))
    for order, frame in enumerate(query.hinted_frames[:_FRAMES]):
        match = table.path(frame.path)
        for file in match.files if match.parts > 1 or len(match.files) == 1 else ():
            hinted[file] = max(hinted[file], 1.0 / (1 + 0.2 * order))
            _note(evidence, file, frame, "in the stack trace")
    for pattern in query.globs:
        _spread(hinted, table.glob(pattern))
    for name in query.hinted_names:
        files = {definition.file for definition in index.definitions(name, limit=_MAX_DEFINING)}
        if not files and "." in name:
            files = set(table.module(name)[0].files)
        if not files and "." not in name:
            _spread(hinted, table.folder(name))
        if files:
            evidence.defined[name] = np.array(sorted(files), np.int32), 2.0
        for file in files:
            hinted[file] = max(hinted[file], 1.0 / math.sqrt(len(files)))
    return hinted


def _spread(hinted: FloatArray, files: Sequence[int]) -> None:
    """Many files are a single hint: enough to lift them over others, not over what speaks for any of them."""
    for file in files:
        hinted[file] = max(hinted[file], 0.5 if len(files) > 3 else 1.0)


def _note(evidence: Evidence, file: int, place: Place, why: str) -> None:
    if place.line is not None:
        kept = evidence.lines.setdefault(file, [])
        if all(line != place.line for line, _ in kept):
            kept.append((place.line, why))
