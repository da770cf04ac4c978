"""Which definitions of a tree do what a question asks, without a model.

    rank_definitions(index, read_query(text), pages, embedder)  -> Answers, the best definition first

Words bring definitions near (`signals.py`), and calls bring the neighbours of those. The best of them are embedded,
and words, meaning, files and calls together give the order. Of copies (a method and its async twin) the first counts.
Issues and reports are about files instead: `ranking.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.codebase.calls import Calls, find_path
from recollect.codebase.index import Definition
from recollect.codebase.ranking import weigh
from recollect.codebase.records import comment_start
from recollect.codebase.words import asks_for_path, words_of
from recollect.text.terms import split_identifier

FloatArray = NDArray[np.floating[Any]]

if TYPE_CHECKING:
    from recollect.codebase.evidence import Pages
    from recollect.codebase.index import CodeIndex
    from recollect.codebase.query import CodeQuery
    from recollect.codebase.ranking import Weighed
    from recollect.providers.embedders import Embedder

#: Files whose definitions are weighed: what a question is about is hardly ever further down.
_FILES = 100
#: Definitions that are embedded for a question, those that never were at 6 to 15 ms each on an idle machine. Of the
#: gold definitions of three projects of the benchmark 0.97 are among the first 150 by words and calls.
_EMBEDDED = 160
#: What the best definition by words and the best file are worth, beside a deviation of the similarity. On the 55
#: questions of five projects 2 leads right for 0.67 and has 0.72 of the gold among ten; 3: 0.60, 0.71; 1.5: 0.67, 0.72.
_WORDS, _FILE = 2.0, 1.0
#: A deviation of the similarity between a question and the definitions of a tree: 0.032 to 0.045 in five projects.
_SIMILARITY = 0.035
#: What a definition gets of what its best caller and its best callee have more than the `_OTHERS`-th definition.
_CALLS, _OTHERS = 0.4, 60
#: What a name that stands in the question itself adds.
_NAMED = 3.0
#: Values: within a function they are part of what it does.
_VALUES = frozenset({"variable", "constant", "field"})
#: What is taken off fields, which say what a thing has and not what it does, and off methods that every class could
#: have, whatever it is for. Led right 0.64 without, 0.66 with; the gold among ten 0.68 and 0.71.
_FIELD_SETBACK, _CUSTOMARY_SETBACK = 3.0, 2.0
_CUSTOMARY = frozenset(
    """
    __repr__ __str__ __eq__ __ne__ __hash__ __len__ __bool__ __iter__ __contains__ __copy__ __getstate__ __setstate__
    __del__ __all__ toString hashCode equals String
    """.split()
)
#: A type may answer first; behind it, its methods say what it does. Taken off every class, first or not, this
#: raised the share of gold among ten from 0.69 to 0.72 in three projects, and lowered the fair first ones from 0.67 to
#: 0.64, so the first is spared; but not where a question follows something through the code: of such questions 0.65
#: lead right in five projects either way, and in two others 0.29 instead of none.
TYPES = frozenset("class interface struct enum trait module namespace".split())
_TYPE_SETBACK = 1.5
#: What calls and is called.
_STEPS = frozenset({"function", "method"})
#: The chance that a tree answers when nothing is known about it.
_UNKNOWN = 0.8
#: How similar two definitions of a name are that are copies of each other.
_COPY = 0.9
_TEXT_CHARS = 900
_TEXT_LINES = 60
_COMMENT_LINES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDefinition:
    """A definition, and how well it answers: `score` counts in deviations of the similarity."""

    definition: Definition
    score: float
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Definitions, best first, and how likely it is that the tree does what the question is about at all.

    `path` is what a question that follows something goes along, in the order of the calls: some of the best, and what
    lies between them.
    """

    ranked: tuple[RankedDefinition, ...]
    chance: float
    path: tuple[RankedDefinition, ...] = ()


def rank_definitions(
    index: CodeIndex,
    query: CodeQuery,
    pages: Pages,
    embedder: Embedder | None,
    *,
    limit: int = 10,
    seconds: float | None = None,
) -> Answers:
    """The definitions that answer a question, best first; without an embedder, by words and calls alone.

    `seconds` is how long definitions that were never embedded may take; those that are left over go by words.
    """
    weighed = weigh(index, query)
    pool = _pool(index, weighed)
    if not pool or _is_about_words(index, weighed):
        return Answers(ranked=(), chance=0.0)
    words, files = _cheap(pool, weighed)
    cheap = _WORDS * words + _FILE * files
    calls = Calls.between(index, pool)
    near = np.argsort(-(cheap + 0.5 * calls.near(cheap)), kind="stable")[:_EMBEDDED]
    scores = cheap.copy()
    similarity = np.zeros(len(pool))
    vectors: dict[int, FloatArray] = {}
    if embedder is not None:
        texts = [text_of_definition(pool[number], pages.lines(pool[number].path) or ()) for number in near]
        made = index.vectors(embedder, texts, seconds=seconds)
        vectors = {int(near[place]): vector for place, vector in made.items()}
        question = embedder.embed_query(query.text)
        # What there was no time for is taken to be like the others.
        known = {number: float(vector @ question) for number, vector in vectors.items()}
        similarity[:] = sum(known.values()) / max(len(known), 1)
        similarity[list(known)] = list(known.values())
        scores += similarity / _SIMILARITY
    apart = np.full(len(pool), -np.inf)
    traced = asks_for_path(query.text)
    types = _TYPE_SETBACK * np.array([definition.symbol.kind in TYPES for definition in pool])
    # What is called tells what happens: there a type never leads, and brings near nothing that uses it.
    apart[near] = (scores - _setbacks(pool) - (types if traced else 0.0))[near]
    others = np.sort(apart[near])[-min(_OTHERS, len(near))]
    apart += _CALLS * calls.near(np.maximum(apart - others, 0.0))
    if not traced:
        types[int(apart.argmax())] = 0.0
        apart -= types
    order = np.argsort(-apart, kind="stable")[: len(near)].tolist()
    kept = _distinct(order, pool, vectors, limit)
    path: list[int] = []
    if traced:
        steps = {number: float(apart[number]) for number in order if pool[number].symbol.kind in _STEPS}
        path = find_path(calls, [number for number in kept if number in steps], steps)

    def ranking(numbers: Sequence[int]) -> tuple[RankedDefinition, ...]:
        return tuple(
            RankedDefinition(
                definition=pool[number], score=float(apart[number]), similarity=float(similarity[number])
            )
            for number in numbers
        )

    # Few definitions know few words, and a name that is defined is spoken of whatever stands beside it.
    unclear = len(vectors) < _EMBEDDED or bool(weighed.evidence.defined)
    chance = _UNKNOWN if unclear else chance_of(float(similarity.max()), unseen(index, query, weighed))
    return Answers(ranked=ranking(kept), chance=chance, path=ranking(path))


def unseen(index: CodeIndex, query: CodeQuery, weighed: Weighed) -> float:
    """The share of a question's words that stand nowhere in the program, in no form."""
    words = words_of(query.segments)
    seen = sum(
        any(weighed.primary[index.file_postings(form).ids].any() for form, _ in word.forms) for word in words
    )
    return 1 - seen / max(len(words), 1)


def chance_of(similarity: float, unseen: float) -> float:
    """How likely a tree answers a question at all, by its nearest definition and the words it does not know.

    Fitted on 33 questions that three projects answer and 33 about what such projects might do and these do not.
    """
    return 1 / (1 + math.exp(20.8 + 6.3 * unseen - 34.7 * similarity))


def text_of_definition(definition: Definition, lines: Sequence[str]) -> str:
    """What is embedded of a definition: its name in words, where it stands, the comment above it, its first lines."""
    symbol = definition.symbol
    names = " ".join(_words(part) for part in symbol.qualified_name.split("."))
    module = " ".join(_words(part) for part in definition.path.rsplit(".", 1)[0].split("/")[-2:])
    begin = max(comment_start(lines, symbol.start_line), symbol.start_line - _COMMENT_LINES)
    above = [line.strip().strip(" #/*") for line in lines[begin - 1 : symbol.start_line - 1]]
    own = lines[symbol.start_line - 1 : min(symbol.end_line, symbol.start_line + _TEXT_LINES)]
    body = " ".join(" ".join(line.split()) for line in own if line.strip())
    return f"{names} in {module}. {' '.join(above)} {body}"[:_TEXT_CHARS]


def _words(name: str) -> str:
    return " ".join(split_identifier(name)) or name


def _is_about_words(index: CodeIndex, weighed: Weighed) -> bool:
    """Whether nothing speaks for any file, or most for a file that no grammar reads: it has no definitions."""
    best = int((weighed.sums * weighed.primary).argmax())
    return not weighed.sums[best] or index.files[best].language is None


def _pool(index: CodeIndex, weighed: Weighed) -> list[Definition]:
    """The definitions of the likeliest files, those within functions left out: they are part of what these do."""
    order = np.argsort(-weighed.scores, kind="stable").tolist()
    files = [number for number in order if weighed.primary[number] and index.files[number].language]
    pool = []
    for file in sorted(files[:_FILES]):
        first = int(np.searchsorted(index.definition_files, file))
        symbols = index.definitions_in(file)
        kinds = {symbol.qualified_name: symbol.kind for symbol in symbols}
        for offset, symbol in enumerate(symbols):
            holder = kinds.get(symbol.qualified_name.rpartition(".")[0])
            if symbol.kind not in _VALUES or holder not in ("function", "method"):
                path = index.files[file].path
                pool.append(Definition(id=first + offset, file=file, path=path, symbol=symbol))
    return pool


def _cheap(pool: Sequence[Definition], weighed: Weighed) -> tuple[FloatArray, FloatArray]:
    """What words and names say for each definition, and what speaks for its file: shares of the best."""
    evidence = weighed.evidence
    words = evidence.definition_scores[[definition.id for definition in pool]]
    files = weighed.scores[[definition.file for definition in pool]]
    words = words / (float(words.max()) or 1.0)
    files = np.maximum(files, 0.0) / (float(files.max()) or 1.0)
    for name, (_, share) in evidence.defined.items():
        for number, definition in enumerate(pool):
            if definition.symbol.name == name.rpartition(".")[2] and definition.symbol.is_called(name):
                words[number] += share * _NAMED / _WORDS
    return words, files


def _setbacks(pool: Sequence[Definition]) -> FloatArray:
    """What is taken off definitions that seldom say how something is done."""
    fields = np.array(
        [definition.symbol.kind in _VALUES and "." in definition.symbol.qualified_name for definition in pool]
    )
    customary = np.array([definition.symbol.name in _CUSTOMARY for definition in pool])
    return _FIELD_SETBACK * fields + _CUSTOMARY_SETBACK * customary


def _distinct(
    order: Sequence[int], pool: Sequence[Definition], vectors: Mapping[int, FloatArray], limit: int
) -> list[int]:
    """The first of each group of copies, and none whose lines lie within those of another before it."""
    kept: list[int] = []
    for number in order:
        if not any(_same(number, other, pool, vectors) for other in kept):
            kept.append(number)
            if len(kept) == limit:
                break
    return kept


def _same(number: int, other: int, pool: Sequence[Definition], vectors: Mapping[int, FloatArray]) -> bool:
    symbol, twin = pool[number].symbol, pool[other].symbol
    if (
        pool[number].path == pool[other].path
        and symbol.start_line <= twin.end_line
        and twin.start_line <= symbol.end_line
    ):
        # A class and its method are two answers; a function within another is part of it.
        return symbol.kind not in TYPES and twin.kind not in TYPES
    if _bare(symbol.name) != _bare(twin.name) or number not in vectors or other not in vectors:
        return False
    return float(vectors[number] @ vectors[other]) > _COPY


def _bare(name: str) -> str:
    """A name without what tells an asynchronous copy from its original."""
    return name.lower().removeprefix("_").removeprefix("async").removeprefix("a").strip("_")
