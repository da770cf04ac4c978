"""How complex a question is, from its words alone.

Four graded signals add up, each to its ceiling: several layers or scopes, aggregation, comparison, length and
structure. Length and structure alone never reach the threshold, so a question that reaches one thing through another
("the mother of the director of X") stays on the standard path, where linked memories serve it.

Linear in the length of the question, and bounded: of a pasted page only the two ends are read. The words are in
`complexity_words.py`; a question in another language has none of them and scores next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recollect.text import complexity_words as words

MULTI_LAYER_CEILING = 0.30
AGGREGATION_CEILING = 0.25
COMPARISON_CEILING = 0.25
STRUCTURE_CEILING = 0.20

#: What a hint of several scopes is worth, where the ceiling would be too much.
_HINT = 0.15

#: A pasted page says what is wanted before it or after it: only so many words of its two ends are read.
_END_WORDS = 32
_END_CHARS = 400
_TOKEN = re.compile(r"[^\W_]+(?:['’/&-][^\W_]+)*|[,;:?!.&]")
_QUOTED = re.compile(r"\"[^\"]{1,120}\"|“[^”]{1,120}”|(?<!\w)'[^']{1,120}'(?!\w)")
_STOPS = frozenset(",;:?!.")
#: More than this share of words with a capital: a headline, where capitals tell nothing.
_HEADLINE = 0.6


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


def read_signals(query: str) -> ComplexitySignals:
    """The signals in a query and their sum."""
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


# ---------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A query's words in lower case, idioms struck out (empty), punctuation as words of its own; `raw` as written.

    `places`: where words stand that a signal may hang on. `telling`: it asks for something that happened, so its verbs
    are not asked of us. `times`: how many times it names.
    """

    words: list[str]
    raw: list[str]
    places: list[int]
    length: int
    telling: bool
    headline: bool
    times: int

    @classmethod
    def of(cls, query: str) -> _Reading:
        if len(query) <= 2 * _END_CHARS:
            raw, length = _TOKEN.findall(_without_quotes(query)), len(query.split())
        else:
            raw = [*_TOKEN.findall(query[:_END_CHARS]), ".", *_TOKEN.findall(query[-_END_CHARS:])]
            length = query.count(" ") + 1
        if len(raw) > 2 * _END_WORDS:
            raw = [*raw[:_END_WORDS], ".", *raw[-_END_WORDS:]]
        lowered = [_plain(word) for word in raw]
        _strike_idioms(lowered)
        first, second = (*lowered[:2], "", "")[:2]
        capitals = sum(word[:1].isupper() for word in raw)
        return cls(
            words=lowered,
            raw=raw,
            places=[index for index, word in enumerate(lowered) if _is_significant(word)],
            length=length,
            telling=first in words.TELLING_OPENERS or (first in {"what", "why", "which"} and second == "did"),
            headline=capitals > _HEADLINE * len(raw),
            times=_times(lowered),
        )

    def before(self, index: int) -> str:
        return self.words[index - 1] if index else ""

    def after(self, index: int) -> str:
        return self.words[index + 1] if index + 1 < len(self.words) else ""

    def opens(self, index: int) -> bool:
        """Whether a sentence or clause begins there."""
        return index == 0 or self.words[index - 1] in _STOPS

    def in_a_name(self, index: int) -> bool:
        """Whether a capital letter makes the word there part of a name: "Total War", "Beyond Compare"."""
        return self.raw[index][:1].isupper() and not self.headline and not self.opens(index)

    def asked_of_us(self, index: int) -> bool:
        """Whether the verb there is an order or a request: "compare ...", "can you please compare ..."."""
        if index == 0:
            return True
        return not self.telling and (self.opens(index) or self.before(index) in words.ASKING)


def _without_quotes(query: str) -> str:
    """What is quoted is a title or somebody's words, unless the whole question is."""
    if '"' not in query and "'" not in query and "“" not in query:
        return query
    rest = _QUOTED.sub(" ", query)
    return rest if len(rest) * 2 > len(query) else query


def _plain(word: str) -> str:
    lowered = word.lower().replace("’", "'")
    return lowered[:-2] if lowered.endswith("'s") and lowered not in {"let's", "that's"} else lowered


def _is_significant(word: str) -> bool:
    return word in words.SIGNIFICANT or "/" in word or word.endswith(words.SCOPE_ENDINGS)


def _strike_idioms(tokens: list[str]) -> None:
    for index, length in list(_phrases_in(tokens, words.IDIOMS)):
        tokens[index : index + length] = [""] * length


def _phrases_in(tokens: Sequence[str], phrases: words.Phrases) -> Iterator[tuple[int, int]]:
    """Where phrases begin, and how long they are."""
    if phrases.keys().isdisjoint(tokens):
        return
    for index, word in enumerate(tokens):
        for phrase in phrases.get(word, ()):
            if tuple(tokens[index : index + len(phrase)]) == phrase:
                yield index, len(phrase)
                break


# ---------------------------------------------------------------- several layers or scopes


def _multi_layer(text: _Reading) -> tuple[float, int]:
    """What the layers and scopes named are worth, and how many there are."""
    named = list(_named_scopes(text))
    several = max((_plural(text, index) for index in text.places), default=0.0)
    distinct = {(layer, name) for _, layer, name in named}
    count = len(distinct) + (2 if several == MULTI_LAYER_CEILING else 0)
    if len(distinct) >= 2:
        joined = any(_joined(text, first[0], second[0]) for first, second in pairwise(named))
        explicit = all("/" in text.words[index] for index, _, _ in named)
        full = joined and (explicit or not {layer for layer, _ in distinct} <= words.EVERYDAY_LAYERS)
        several = max(several, MULTI_LAYER_CEILING if full else _HINT)
    return several, count


def _named_scopes(text: _Reading) -> Iterator[tuple[int, str, str]]:
    """Where one scope is spoken of: its place, its layer, its name or nothing."""
    previous = -2
    for index in text.places:
        word = text.words[index]
        layer, _, name = word.partition("/")
        if name and layer in words.LAYERS:
            yield index, words.LAYERS[layer], name
        elif word in words.LAYERS:
            # "user session", "project team": one thing with two words.
            if previous != index - 1:
                yield index, words.LAYERS[word], _scope_name(text, index)
            previous = index
        elif word.endswith(words.SCOPE_ENDINGS) and word.partition("-")[0] in words.LAYERS:
            yield index, words.LAYERS[word.partition("-")[0]], ""


def _scope_name(text: _Reading, index: int) -> str:
    """Its name in "API team" or "project Atlas"; there is one company only, whatever stands before it."""
    if words.LAYERS[text.words[index]] == "company":
        return ""
    if text.after(index) and text.raw[index + 1][:1].isupper():
        return text.after(index)
    before = text.before(index)
    return "" if before in words.UNNAMING else before


def _plural(text: _Reading, index: int) -> float:
    """What the word there says about several scopes."""
    word = text.words[index]
    if word in words.SCOPE_PLURALS:
        if word == "teams" and _is_product(text, index):
            return 0.0
        sport = word == "teams" and not words.SPORT.isdisjoint(text.words)
        return 0.10 if sport else MULTI_LAYER_CEILING
    if word in words.EVERYDAY_PLURALS:
        before = text.words[max(0, index - 4) : index]
        if not words.SPREADING.isdisjoint(before):
            return MULTI_LAYER_CEILING
        return 0.0 if words.NUMBERING.isdisjoint(before) else _HINT
    if word in words.LAYERS:
        before = text.words[max(0, index - 3) : index]
        if not words.DISTRIBUTING.isdisjoint(before[-2:]):
            return MULTI_LAYER_CEILING
        # "from team to team", "department by department".
        if before[-2:] in ([word, "to"], [word, "by"]):
            return MULTI_LAYER_CEILING
        if words.LAYERS[word] in words.UPPER_LAYERS and not words.SPANNING.isdisjoint(before):
            return _HINT
    if word.endswith("-wide") and word.partition("-")[0] in words.LAYERS:
        return _HINT
    return 0.0


def _is_product(text: _Reading, index: int) -> bool:
    if text.raw[index] != "Teams":
        return False
    return text.before(index) in words.TEAMS_BEFORE or text.after(index) in words.TEAMS_AFTER


def _joined(text: _Reading, left: int, right: int) -> bool:
    between = text.words[left + 1 : right]
    return len(between) <= 5 and (not words.JOINING.isdisjoint(between) or "," in between)


# ---------------------------------------------------------------- aggregation and comparison


def _aggregation(text: _Reading) -> tuple[float, int]:
    """What the words of gathering are worth, and how many there are; one that spans a time or much counts twice."""
    worth: dict[str, float] = {}
    twice = 0
    for index in text.places:
        word = text.words[index]
        if text.in_a_name(index):
            continue
        if word in words.AGGREGATION_VERBS:
            if text.asked_of_us(index):
                worth[word] = words.AGGREGATION_VERBS[word]
                twice |= word in words.THOROUGH and text.after(index) in words.FOLLOWING_THOROUGH
        elif word in words.AGGREGATION:
            worth[word] = words.AGGREGATION[word]
        elif word in words.OVER_TIME_OF and not text.telling:
            if _spans_a_time(text, index):
                worth[word] = AGGREGATION_CEILING if index == 0 else words.OVER_TIME_OF[word]
                twice = 1
        elif word in words.CHANGE and _asks_how_it_came(text):
            worth["change"] = AGGREGATION_CEILING
            twice = 1
    return min(AGGREGATION_CEILING, sum(worth.values())), len(worth) + twice


def _spans_a_time(text: _Reading, index: int) -> bool:
    """Whether a word such as "trends" or "history" is meant of something: "history of ...", "what trends ..."."""
    word = text.words[index]
    if text.after(index) in words.FOLLOWING_OVER_TIME[word]:
        return True
    return word == "trends" and text.before(index) in words.PRECEDING_OVER_TIME


def _asks_how_it_came(text: _Reading) -> bool:
    """Whether its change is over time: "how has it changed this year", "what changed over time", "how ... since"."""
    if text.telling or not text.times or {"how", "what"}.isdisjoint(text.words[:3]):
        return False
    if "since" in text.words or text.words[:2] in (["how", "has"], ["how", "have"]):
        return True
    return any(True for _ in _phrases_in(text.words, words.OVER_TIME_PHRASES))


def _comparison(text: _Reading) -> tuple[float, bool]:
    """What the words of comparing are worth, and whether there are two sides to compare."""
    worth, place = 0.0, 0
    for index in text.places:
        value = _compares(text, index, text.words[index])
        if value > worth:
            worth, place = value, index
    for index, _ in _phrases_in(text.words, words.COMPARISON_PHRASES):
        if not text.telling:
            place = place or index
            worth = max(0.20, min(COMPARISON_CEILING, worth + 0.05 if worth else 0.20))
    if not worth:
        return 0.0, False
    # "A and B differ" has its sides before it, "compare A with B" after it.
    return worth, _has_sides(text.words[:place]) or _has_sides(text.words[place:])


def _has_sides(tokens: Iterable[str]) -> bool:
    return any(word in words.JOINING or _looks_plural(word) for word in tokens)


def _looks_plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _compares(text: _Reading, index: int, word: str) -> float:
    if word in {"vs", "versus"}:
        return 0.0 if not words.FIXTURES.isdisjoint(text.words) else words.COMPARISON[word]
    if text.in_a_name(index):
        return 0.0
    if word in words.COMPARISON_VERBS:
        requested = text.asked_of_us(index) or "how" in text.words[:index]
        return words.COMPARISON_VERBS[word] if requested and not (text.telling and index) else 0.0
    if word in words.COMPARISON:
        return 0.10 if text.telling else words.COMPARISON[word]
    if word in words.DIFFERENCE and text.after(index) in words.FOLLOWING_DIFFERENCE and not text.telling:
        measured = words.MEASURED_DIFFERENCE.intersection(
            (text.before(index), *text.words[index + 2 : index + 3])
        )
        return 0.0 if measured else COMPARISON_CEILING
    return 0.0


# ---------------------------------------------------------------- length and structure


def _structure(text: _Reading, *, gathered: int, sided: bool) -> float:
    """What length, clauses, hops and times are worth, and operations that stand on one another."""
    length = min(0.08, max(0, text.length - 6) * 0.005)
    hops = min(0.10, 0.05 * _hops(text.words))
    times = min(0.10, 0.05 * text.times)
    clauses = min(0.06, 0.03 * _clauses(text.words))
    stacked = 0.05 if gathered >= 2 else 0.0
    return min(STRUCTURE_CEILING, length + hops + times + clauses + stacked + (0.05 if sided else 0.0))


def _hops(tokens: Sequence[str]) -> int:
    return sum(word in words.HOPS for word in tokens) + sum(1 for _ in _phrases_in(tokens, words.HOP_PHRASES))


def _times(tokens: Sequence[str]) -> int:
    count = sum(1 for _ in _phrases_in(tokens, words.TIME_PHRASES))
    for index, word in enumerate(tokens):
        if word in words.TIMES or (len(word) == 4 and word.isdecimal() and word[:2] in {"19", "20"}):
            count += 1
        elif word in words.TIME_UNITS:
            count += not words.TIME_BEFORE.isdisjoint(tokens[max(0, index - 2) : index])
    return count


def _clauses(tokens: Sequence[str]) -> int:
    """Further clauses: after a semicolon or a finished question, or "and what"."""
    inner = sum(word in {";", "?", "!"} for word in tokens[:-1])
    return inner + sum(
        token in {"and", ","} and following in words.QUESTION_WORDS for token, following in pairwise(tokens)
    )
