"""How complex a question is, from its words alone, and which path it takes for that.

Four graded signals add up, each to its ceiling: several layers or scopes, aggregation, comparison, length and
structure. Length and structure alone never reach the threshold, so a question that reaches one thing through another
("the mother of the director of X") stays on the standard path, where linked memories serve it.

Nothing here knows memories or a store. The words are in `complexity_words.py`; `recollect bench route` measures them
on a labelled set, and who acts on the decision is `retrieval/pipeline.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise

from recollect.errors import InvalidInputError
from recollect.recursion import complexity_words as words

MULTI_LAYER_CEILING = 0.30
AGGREGATION_CEILING = 0.25
COMPARISON_CEILING = 0.25
STRUCTURE_CEILING = 0.20

DEFAULT_THRESHOLD = 0.3
#: From here on nothing is routed, not even the question that has everything.
NOTHING = 1.0

#: A pasted page says what is wanted before it or after it: only so many words of its two ends are read.
_END_WORDS = 48
_END_CHARS = 600
_TOKEN = re.compile(r"[^\W_]+(?:['’/&-][^\W_]+)*|[,;:?!.&]")


class RouteDecision(StrEnum):
    """The path of a search; the values are also the metric's labels."""

    STANDARD = "standard"
    RLM = "rlm"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexitySignals:
    """What was seen in a query, and the four parts that add up to `computed_score`."""

    layer_count: int
    has_aggregation: bool
    has_comparison: bool
    query_length: int
    computed_score: float
    multi_layer: float
    aggregation: float
    comparison: float
    structure: float


@dataclass(frozen=True, slots=True)
class ComplexityRouter:
    """Sends a query to standard search or to the recursive one.

    A query goes to the recursive one when its score is at least `threshold`; at 1.0 none does, and none when
    `enabled` is off.
    """

    threshold: float = DEFAULT_THRESHOLD
    enabled: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not 0.0 <= self.threshold <= 1.0:
            raise InvalidInputError(f"threshold {self.threshold!r} is not a number from 0 to 1")

    def score(self, query: str) -> float:
        """How complex a query is, from 0 to 1."""
        return self.signals(query).computed_score

    compute_complexity = score

    def signals(self, query: str) -> ComplexitySignals:
        """The score and what it is made of."""
        return _signals(query)

    def route(self, query: str) -> RouteDecision:
        """The path this query takes."""
        return self.decide(self.score(query))

    def decide(self, score: float) -> RouteDecision:
        """The path of a query whose score is known."""
        if not self.enabled or self.threshold >= NOTHING:
            return RouteDecision.STANDARD
        return RouteDecision.RLM if score >= self.threshold else RouteDecision.STANDARD

    def should_route_to_rlm(self, query: str) -> bool:
        """Whether this query takes the recursive path."""
        return self.route(query) is RouteDecision.RLM


def _signals(query: str) -> ComplexitySignals:
    text = _Reading.of(query)
    multi_layer, layer_count = _multi_layer(text)
    aggregation, gathered = _aggregation(text)
    comparison, sided = _comparison(text)
    structure = _structure(text, gathered=gathered, sided=sided)
    parts = (multi_layer, aggregation, comparison, structure)
    return ComplexitySignals(
        layer_count=layer_count,
        has_aggregation=aggregation > 0,
        has_comparison=comparison > 0,
        query_length=text.length,
        # Rounded, so that 0.25 and 0.05 reach a threshold of 0.3.
        computed_score=min(1.0, round(sum(parts), 4)),
        multi_layer=multi_layer,
        aggregation=aggregation,
        comparison=comparison,
        structure=structure,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A query's words in lower case, idioms struck out (empty), punctuation as words of its own; `raw` as written."""

    words: list[str]
    raw: list[str]
    length: int

    @classmethod
    def of(cls, query: str) -> _Reading:
        if len(query) <= 2 * _END_CHARS:
            raw, length = _TOKEN.findall(query), len(query.split())
        else:
            raw = [*_TOKEN.findall(query[:_END_CHARS]), ".", *_TOKEN.findall(query[-_END_CHARS:])]
            length = query.count(" ") + 1
        if len(raw) > 2 * _END_WORDS:
            raw = [*raw[:_END_WORDS], ".", *raw[-_END_WORDS:]]
        lowered = [_plain(word) for word in raw]
        _strike_idioms(lowered)
        return cls(words=lowered, raw=raw, length=length)

    @property
    def telling(self) -> bool:
        """Whether it asks for something that happened, so that its verbs are not asked of us."""
        first, second = (*self.words[:2], "", "")[:2]
        return first in words.TELLING_OPENERS or (
            first in {"what", "why", "which", "how"} and second == "did"
        )

    def before(self, index: int) -> str:
        return self.words[index - 1] if index else ""

    def after(self, index: int) -> str:
        return self.words[index + 1] if index + 1 < len(self.words) else ""

    def asked_of_us(self, index: int) -> bool:
        """Whether the verb there is an order or a request: "compare ...", "can you please compare ..."."""
        if index == 0:
            return True
        return not self.telling and (_is_stop(self.before(index)) or self.before(index) in words.ASKING)


def _plain(word: str) -> str:
    lowered = word.lower().replace("’", "'")
    return lowered[:-2] if lowered.endswith("'s") and lowered != "let's" and lowered != "that's" else lowered


def _is_stop(word: str) -> bool:
    return word in {",", ";", ":", "?", "!", "."}


@cache
def _idioms() -> dict[str, list[tuple[str, ...]]]:
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for idiom in words.IDIOMS:
        by_first.setdefault(idiom[0], []).append(idiom)
    return by_first


def _strike_idioms(found: list[str]) -> None:
    idioms = _idioms()
    for index, word in enumerate(found):
        for idiom in idioms.get(word, ()):
            if tuple(found[index : index + len(idiom)]) == idiom:
                found[index : index + len(idiom)] = [""] * len(idiom)
                break


# ---------------------------------------------------------------- several layers or scopes


def _multi_layer(text: _Reading) -> tuple[float, int]:
    """What the layers and scopes named are worth, and how many there are."""
    named = list(_named_scopes(text))
    several = max((_plural(text, index) for index in range(len(text.words))), default=0.0)
    distinct = {(layer, name) for _, layer, name in named}
    count = len(distinct) + (2 if several else 0)
    if len(distinct) >= 2:
        joined = any(_joined(text, one[0], other[0]) for one, other in pairwise(named))
        everyday = {layer for layer, _ in distinct} <= words.EVERYDAY_LAYERS
        several = max(several, MULTI_LAYER_CEILING if joined and not everyday else 0.15)
    return several, count


def _named_scopes(text: _Reading) -> Iterator[tuple[int, str, str]]:
    """Where one scope is spoken of: its place, its layer, its name or nothing."""
    previous = -2
    for index, word in enumerate(text.words):
        layer, _, name = word.partition("/")
        if name and layer in words.LAYERS:
            yield index, words.LAYERS[layer], name
        elif word in words.LAYERS:
            # "user session", "project team": one thing with two words.
            if previous != index - 1:
                before = text.before(index)
                yield index, words.LAYERS[word], "" if before in words.UNNAMING else before
            previous = index
        elif word.endswith(words.SCOPE_ENDINGS) and word.partition("-")[0] in words.LAYERS:
            yield index, words.LAYERS[word.partition("-")[0]], ""


def _plural(text: _Reading, index: int) -> float:
    """What a plural there says about several scopes."""
    word = text.words[index]
    if word in words.SCOPE_PLURALS:
        if word == "teams" and _is_product(text, index):
            return 0.0
        if word == "teams" and not words.SPORT.isdisjoint(text.words):
            return 0.10
        return MULTI_LAYER_CEILING
    if word in words.EVERYDAY_PLURALS:
        spread = words.SPREADING.intersection(text.words[max(0, index - 4) : index])
        if spread:
            return 0.15 if spread == {"which"} else MULTI_LAYER_CEILING
    if word in words.LAYERS and words.DISTRIBUTING.intersection(text.words[max(0, index - 2) : index]):
        return MULTI_LAYER_CEILING
    if word.endswith("-wide") and word.partition("-")[0] in words.LAYERS:
        return 0.15
    return 0.0


def _is_product(text: _Reading, index: int) -> bool:
    if text.raw[index] != "Teams":
        return False
    return text.before(index) in words.TEAMS_BEFORE or text.after(index) in words.TEAMS_AFTER


def _joined(text: _Reading, one: int, other: int) -> bool:
    between = text.words[one + 1 : other]
    return len(between) <= 5 and (not words.JOINING.isdisjoint(between) or "," in between)


# ---------------------------------------------------------------- aggregation and comparison


def _aggregation(text: _Reading) -> tuple[float, int]:
    """What the words of gathering are worth, and how many different ones there are; over time counts twice."""
    worth: dict[str, float] = {}
    gathered = 0
    for index, word in enumerate(text.words):
        if word in words.AGGREGATION_VERBS:
            if text.asked_of_us(index):
                worth[word] = words.AGGREGATION_VERBS[word]
        elif word in words.AGGREGATION:
            worth[word] = words.AGGREGATION[word]
        elif word in words.OVER_TIME_OF:
            if text.after(index) in words.FOLLOWING_OVER_TIME or index + 1 == len(text.words):
                worth[word] = 0.15 if word == "history" else AGGREGATION_CEILING
                gathered += word != "history"
        elif word in words.OVER_TIME:
            worth[word] = AGGREGATION_CEILING
            gathered += 1
    return min(AGGREGATION_CEILING, sum(worth.values())), len(worth) + gathered


def _comparison(text: _Reading) -> tuple[float, bool]:
    """What the words of comparing are worth, and whether there are two sides to compare."""
    worth, place = 0.0, 0
    for index, word in enumerate(text.words):
        value = _compares(text, index, word)
        if value > worth:
            worth, place = value, index
    if not worth:
        return 0.0, False
    following = text.words[place + 1 :]
    sided = text.words[place] in {"vs", "versus"} or any(
        word in words.JOINING
        or (len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")))
        for word in following
    )
    return worth, sided


def _compares(text: _Reading, index: int, word: str) -> float:
    if word in words.COMPARISON_VERBS:
        asked = text.asked_of_us(index) or (text.words[0] == "how" and not text.telling)
        return words.COMPARISON_VERBS[word] if asked else 0.0
    if word in {"vs", "versus"} and not words.FIXTURES.isdisjoint(text.words):
        return 0.0
    if word in words.COMPARISON:
        return 0.10 if text.telling else words.COMPARISON[word]
    if word in words.DIFFERENCE and text.after(index) in words.FOLLOWING_DIFFERENCE:
        return 0.0 if text.before(index) in words.MEASURED_DIFFERENCE or text.telling else COMPARISON_CEILING
    return 0.0


# ---------------------------------------------------------------- length and structure


def _structure(text: _Reading, *, gathered: int, sided: bool) -> float:
    """What length, clauses, hops and times are worth, and operations that stand on one another."""
    length = min(0.08, max(0, text.length - 6) * 0.005)
    hops = min(0.10, 0.05 * _hops(text.words))
    times = min(0.10, 0.05 * _times(text.words))
    clauses = min(0.06, 0.03 * _clauses(text.words))
    stacked = 0.05 if gathered >= 2 else 0.0
    return min(STRUCTURE_CEILING, length + hops + times + clauses + stacked + (0.05 if sided else 0.0))


def _hops(found: Sequence[str]) -> int:
    single = sum(word in words.HOPS for word in found)
    phrases = sum(
        tuple(found[index : index + len(phrase)]) == phrase
        for phrase in words.HOP_PHRASES
        for index, word in enumerate(found)
        if word == phrase[0]
    )
    return single + phrases


def _times(found: Sequence[str]) -> int:
    count = sum(
        word in words.TIMES or (len(word) == 4 and word.isdigit() and word[:2] in {"19", "20"})
        for word in found
    )
    count += sum(
        word in words.TIME_UNITS and not words.TIME_BEFORE.isdisjoint(found[max(0, index - 2) : index])
        for index, word in enumerate(found)
    )
    return count + sum(one == "over" and other == "time" for one, other in pairwise(found))


def _clauses(found: Sequence[str]) -> int:
    """Further clauses: after a semicolon or a finished question, or "and what"."""
    inner = sum(word in {";", "?", "!"} for word in found[:-1])
    return inner + sum(
        one in {"and", ","} and other in words.QUESTION_WORDS for one, other in pairwise(found)
    )
