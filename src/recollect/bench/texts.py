"""Synthetic memories and questions that behave like real ones: seeded, so that every run has the same.

Words are made of syllables and drawn as in language: a few common ones, many rare (Zipf-Mandelbrot), a third of each
sentence is function words. Every text has a topic with words and names of its own, so that texts cluster for vectors
and the words of a question are selective for BM25. About 30 words and 18 different terms a text, as in the notes of
real agents.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

WORDS, TOPICS, TOPIC_WORDS, TOPIC_NAMES = 4_000, 200, 40, 6
#: Flattens the head of Zipf's law, so that the commonest content word stands in some 7 % of the texts.
SHIFT = 10
_FUNCTION = (
    "the of and to in a is that for it was on as with be by at this had not are but from or have an they which one "
    "were all we there when been has more if will would about so no can what into them then"
).split()
_ASKING = "what when where who how why which".split()
_ONSETS = "b br ch d dr f fl g gr h j k kl l m n p pl r s sh sk sp st t tr v w z".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = ["", "n", "r", "l", "t", "m", "ck", "nd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Words with their cumulative weights, and the words and names of each topic."""

    words: Sequence[str]
    weights: Sequence[float]
    topics: Sequence[Sequence[str]]
    names: Sequence[Sequence[str]]


def make_language(seed: int = 1) -> Language:
    """The language all synthetic texts are written in."""
    chance = random.Random(seed)  # noqa: S311 - reproducible texts, not secrets
    words = _invent(chance, WORDS)
    names = [word.capitalize() for word in _invent(chance, TOPICS * TOPIC_NAMES, but=set(words))]
    return Language(
        words=words,
        weights=list(accumulate(1 / (rank + SHIFT) for rank in range(1, WORDS + 1))),
        topics=[chance.sample(words, TOPIC_WORDS) for _ in range(TOPICS)],
        names=[names[number * TOPIC_NAMES : (number + 1) * TOPIC_NAMES] for number in range(TOPICS)],
    )


def make_texts(language: Language, count: int, *, seed: int) -> Iterator[str]:
    """Different texts, about 30 words each."""
    chance = random.Random(seed)  # noqa: S311
    for number in range(count):
        topic = chance.randrange(TOPICS)
        words = (
            chance.choices(_FUNCTION, k=11)
            + chance.choices(language.topics[topic], k=10)
            + chance.choices(language.words, cum_weights=language.weights, k=6)
            + chance.sample(language.names[topic], 2)
        )
        chance.shuffle(words)
        # The number keeps two texts from ever being the same one.
        yield f"{' '.join(words)} {seed}-{number}."


def make_queries(language: Language, count: int, *, seed: int) -> list[str]:
    """Different questions of 8 to 13 words, each about one topic."""
    chance = random.Random(seed)  # noqa: S311
    queries: dict[str, None] = {}
    while len(queries) < count:
        topic = chance.randrange(TOPICS)
        words = (
            chance.choices(_FUNCTION, k=chance.randint(3, 5))
            + chance.sample(language.topics[topic], chance.randint(2, 4))
            + chance.choices(language.words, cum_weights=language.weights, k=2)
            + [chance.choice(language.names[topic])]
        )
        chance.shuffle(words)
        queries[f"{chance.choice(_ASKING)} {' '.join(words)}?"] = None
    return list(queries)


def _invent(chance: random.Random, count: int, *, but: set[str] | None = None) -> list[str]:
    """Different pronounceable words of two or three syllables."""
    taken = but or set()
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = (
            chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS)
            for _ in range(chance.randint(2, 3))
        )
        word = "".join(syllables)
        if word not in taken:
            found[word] = None
    return list(found)
