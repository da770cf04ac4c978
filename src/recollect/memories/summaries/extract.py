"""Choosing the sentences that say most, without a model.

A sentence is worth quoting when it is near the middle of what was said (its vector), when it is about what the
text keeps coming back to (its terms), and when it is definite: names, dates, figures. Sentences are then taken one
by one, each as unlike the ones before as it can be (MMR). Much text is taken in parts: the best of each part, then
the best of those; beyond a limit, parts are read by their terms alone, since embedding a hundred thousand sentences
takes minutes. The same sentences and vectors always give the same choice.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from recollect.memories.summaries.sentences import Passage, Sentence, addresses, candidates, dangles
from recollect.text.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
    Vectors: TypeAlias = NDArray[np.float32]

#: What a summary holds: about what a person reads in half a minute.
MAX_SENTENCES = 5
MAX_WORDS = 120
#: Up to this many sentences are weighed against each other at once; more are taken in parts.
PART = 160
#: What goes from a part into the next round.
_KEPT_OF_PART = 12
#: From this many on, the first rounds do without vectors: MiniLM embeds about 200 sentences a second.
EMBED_LIMIT = 2_000
#: How much a sentence's own worth counts against its likeness to what was taken.
_LAMBDA = 0.6
#: Sentences as alike as this say the same thing.
_SAME = 0.92

_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|million)\b", re.I
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|january|february|march|april|june|july|august|september|october|november|december|week(?:end)?|month|year)s?\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;:] )(?:[A-Z][\w'’-]+|[A-Z]{2,})|[\"“][^\"”]{2,60}[\"”]")
_NOT_NAMES = frozenset("I I'm I've I'd I'll I’m I’ve I’d I’ll OK".split())
# What a rule of thumb ("practice makes perfect") lacks.
_DEFINITE = re.compile(r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur|me|us)\b|\d|(?<=[\w,;:] )[A-Z]|[^\x00-\x7f]{4}")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|we|we're|we've|my|our)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A sentence of a summary, and the places of the passages it came from."""

    text: str
    passages: tuple[int, ...]


def choose(
    passages: Sequence[Passage],
    embed: Embed,
    *,
    about: Sequence[str] = (),
    max_sentences: int = MAX_SENTENCES,
    max_words: int = MAX_WORDS,
) -> list[Chosen]:
    """The sentences that say most, in the order they were said. `about`: the terms of a name to keep to."""
    name = frozenset(about)
    found = candidates(passages, name)
    if name:
        found = _keep_to(found, passages, name)
    weights = _topic_weights(found)
    while len(found) > PART:
        parts = [found[at : at + PART] for at in range(0, len(found), PART)]
        near = embed if len(found) <= EMBED_LIMIT else None
        kept = [
            sentence
            for part in parts
            for sentence in _take(part, passages, weights, near, _KEPT_OF_PART, math.inf)
        ]
        found = kept
    taken = _take(found, passages, weights, embed, max_sentences, max_words)
    taken.sort(key=lambda sentence: (passages[sentence.passage].at, sentence.passage, found.index(sentence)))
    return [Chosen(text=sentence.text, passages=(sentence.passage,)) for sentence in taken]


def _keep_to(found: Sequence[Sentence], passages: Sequence[Passage], name: frozenset[str]) -> list[Sentence]:
    """Sentences that name it, or were said by it; else memories that somebody linked with it.

    What stands around a name in a conversation is about something else as often as not.
    """

    def spoken(sentence: Sentence) -> bool:
        speaker = passages[sentence.passage].speaker
        return bool(speaker) and name <= set(terms(speaker or ""))

    close = [s for s in found if name <= set(s.content) or spoken(s)]
    return close or [s for s in found if not passages[s.passage].turn]


def _topic_weights(found: Sequence[Sentence]) -> dict[str, float]:
    """What a term says about the whole: more the more sentences have it, less when nearly all do."""
    spread = Counter(term for sentence in found for term in set(sentence.content))
    total = max(len(found), 1)
    return {term: math.log(1 + n) * math.log(1 + total / n) for term, n in spread.items()}


def _take(
    found: Sequence[Sentence],
    passages: Sequence[Passage],
    weights: dict[str, float],
    embed: Embed | None,
    max_sentences: int,
    max_words: float,
) -> list[Sentence]:
    """The best sentences, one by one, each unlike those before it."""
    if not found:
        return []
    vectors = embed([sentence.text for sentence in found]) if embed is not None else None
    worth = _worth(found, passages, weights, vectors)
    likeness = [0.0] * len(found)
    taken: list[int] = []
    words = 0
    open_places = set(range(len(found)))
    while open_places and len(taken) < max_sentences:
        best = max(open_places, key=lambda i: (_LAMBDA * worth[i] - (1 - _LAMBDA) * likeness[i], -i))
        open_places.discard(best)
        if words + found[best].words > max_words and taken:
            continue
        taken.append(best)
        words += found[best].words
        for i in open_places:
            likeness[i] = max(likeness[i], _likeness(found, vectors, i, best))
        open_places = {i for i in open_places if likeness[i] < _SAME}
    return [found[i] for i in sorted(taken)]


def _worth(
    found: Sequence[Sentence], passages: Sequence[Passage], weights: dict[str, float], vectors: Vectors | None
) -> list[float]:
    topical = _scaled(
        # The square root of the length: a long sentence may say more, but must not win by its length.
        [sum(weights[term] for term in set(s.content)) / math.sqrt(len(set(s.content)) + 4) for s in found]
    )
    central = [0.0] * len(found)
    if vectors is not None:
        middle = vectors.mean(axis=0)
        central = _scaled([float(value) for value in vectors @ middle])
    # Weights tried on LoCoMo: of the turns chosen, 58 % are evidence for a question somebody asked of them, of all
    # turns 25 %. The middle of a conversation is its small talk, so nearness to it counts least.
    return [
        0.15 * central[i]
        + 0.35 * topical[i]
        + 0.60 * _definite(sentence.text)
        + 0.20 * (passages[sentence.passage].importance - 0.5)
        - 0.15 * dangles(sentence.text)
        - 0.25 * addresses(sentence.text)
        - 0.20 * (not _DEFINITE.search(sentence.text))
        for i, sentence in enumerate(found)
    ]


def _definite(text: str) -> float:
    """Names, times, figures, and somebody who says what they did: 0 to 1."""
    names = {match for match in _NAME.findall(text) if match not in _NOT_NAMES}
    return (
        min(len(names), 2) * 0.2
        + 0.25 * bool(_TIME.search(text))
        + 0.15 * bool(_FIGURE.search(text))
        + 0.2 * bool(_FIRST_PERSON.search(text))
    )


def _scaled(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [0.5] * len(values) if high == low else [(value - low) / (high - low) for value in values]


def _likeness(found: Sequence[Sentence], vectors: Vectors | None, one: int, other: int) -> float:
    """How much two sentences say the same; two of one passage are always alike a little."""
    if vectors is not None:
        alike = float(vectors[one] @ vectors[other])
    else:
        first, second = set(found[one].content), set(found[other].content)
        alike = len(first & second) / max(len(first | second), 1)
    return max(alike, 0.4) if found[one].passage == found[other].passage else alike
