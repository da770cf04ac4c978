"""Synthetic memories and questions that behave like real ones: seeded, so that every run has the same.

Words are real ones, drawn as in language: a few common ones, many rare (Zipf-Mandelbrot), a third of each
sentence is function words. Every text has a topic with words and names of its own, so that texts cluster for vectors
and the words of a question are selective for BM25. About 30 words and 18 different terms a text, as in the notes of
real agents.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from recollect.errors import EmbedderMissingError

WORDS, TOPICS, TOPIC_WORDS, TOPIC_NAMES = 4_000, 200, 40, 6
#: Flattens the head of Zipf's law, so that the commonest content word stands in some 7 % of the texts.
SHIFT = 10
_FUNCTION = (
    "the of and to in a is that for it was on as with be by at this had not are but from or have an they which one "
    "were all we there when been has more if will would about so no can what into them then"
).split()
_ASKING = "what when where who how why which".split()


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
    words, names = (
        chance.sample(*drawn) for drawn in zip(_vocabulary(), (WORDS, TOPICS * TOPIC_NAMES), strict=True)
    )
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


def _vocabulary() -> tuple[list[str], list[str]]:
    """Real words and names: what a tokenizer that comes with the package has as whole words.

    Invented words would fall into pieces and make every text three times as long for an embedder as it looks.
    """
    import json
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderMissingError("the benchmark takes its words from wordllama; pip install wordllama")
    folder = Path(spec.submodule_search_locations[0]) / "tokenizers"
    file = folder / "l2_supercat_tokenizer_config.json"
    tokens = json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
    whole = [token.removeprefix("\u2581") for token in tokens if token.startswith("\u2581")]
    words = sorted(word for word in whole if re.fullmatch("[a-z]{4,12}", word) and word not in _FUNCTION)
    names = sorted(word for word in whole if re.fullmatch("[A-Z][a-z]{3,11}", word))
    return words, names
