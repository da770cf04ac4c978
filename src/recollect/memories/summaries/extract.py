"""Choosing the sentences that say most, without a model.

A sentence is worth quoting when it is near the middle of what was said (its vector), when it is about what the
text keeps coming back to (its terms), and when it is definite: names, dates, figures. Sentences are then taken one
by one, each as unlike the ones before as it can be (MMR). Much text is taken in parts: the best of each part, then
the best of those; beyond a limit, parts are read by their terms alone, since embedding a hundred thousand sentences
takes minutes. The same sentences and vectors always give the same choice.

Small talk, questions and what only makes sense beside the sentence before are the bulk of a conversation and the worst
of a summary: they are left out first. Those rules are about English; text in other scripts is judged by its length
alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from recollect.text.sentences import split_sentences
from recollect.text.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
    Vectors: TypeAlias = NDArray[np.float32]


#: A quotation longer than this many words is cut; a summary is not the place for a page.
MAX_SENTENCE_WORDS = 40
_MIN_TURN_TERMS = 4
_MIN_TERMS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A memory as a summary reads it. `digest` is of its text, `turn` whether it was said in a conversation."""

    id: UUID
    text: str
    digest: bytes
    at: datetime
    speaker: str | None = None
    turn: bool = False
    importance: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence that could be quoted. `passage` is its passage's place among those given."""

    passage: int
    text: str
    content: tuple[str, ...]

    @property
    def words(self) -> int:
        """Its length in words; scripts without blanks count by letters."""
        return count_words(self.text)


def count_words(text: str) -> int:
    """Words, or for scripts without blanks about as much as a word holds."""
    return max(len(text.split()), sum(not c.isascii() and c.isalpha() for c in text) // 3)


_FILLERS = (
    "and but so well oh ah yeah yep yes yup no nope wow hey hi hello ok okay sure thanks anyway actually honestly also"
    " plus absolutely definitely totally exactly awesome cool great nice haha lol hmm aw aww btw"
    " by.the.way on.another.note speaking.of.which funny.enough"
).split()
_FILLER = re.compile(rf"^(?:(?:{'|'.join(_FILLERS)})(?:,? [A-Z][a-z]+)?[,!.]+\s+)+", re.IGNORECASE)
_PRAISE = (
    "great awesome amazing cool nice wonderful fantastic lovely super good sweet incredible inspiring beautiful"
    " gorgeous impressive exciting perfect fun tough rough sad neat terrific brilliant stunning delicious adorable"
    " cute huge wild interesting true right it so such really a an the pretty very quite totally absolutely definitely"
).replace(" ", "|")
_VERY = "(?:so |really |super |very |always |totally |completely |definitely )*"
# What people say to each other about having talked, not about anything.
_SMALL_TALK_STARTS = (
    r"(?:hey|hi|hiya|hello|thanks|thx|cheers|congrats|congratulations|wow|whoa|yay|bye|goodbye|likewise)\b(?!-)",
    r"good (?:morning|evening|afternoon|night|luck)|best of luck|fingers crossed|thank you|appreciate|much appreciated",
    r"see (?:you|ya)|take care|catch you|talk (?:to you )?(?:soon|later)|have (?:a|an|fun) |enjoy\b",
    r"no (?:problem|worries|doubt)|my pleasure|same here|me too|of course|sure thing|for sure|not much|all good",
    rf"(?:it(?:'s| is|'s been| was) )?{_VERY}(?:good|great|nice|lovely)"
    r" (?:to|talking|chatting|hearing|seeing|catching)\b",
    r"(?:that|this|it|those|they|these)(?:'s| is| are|'re| was| were| sounds?| looks?| must be| must have been| seems?)"
    rf"(?: (?:{_PRAISE}))+\b(?!.*\d)",
    rf"(?:what|how) (?:a |an )?(?:{_PRAISE}|thoughtful)\b|(?:sounds?|looks?) (?:like )?(?:{_PRAISE}|you)\b",
    rf"(?:i'm |i am )?{_VERY}(?:glad|happy|sorry|proud|excited|thrilled|stoked|pleased|honou?red)"
    r" (?:to (?:hear|see|have|know)|(?:that )?you|for you|of you|it|about it)\b",
    rf"i {_VERY}(?:agree|understand|get it|see\b|feel you|know what|know how|hear you|hope (?:you|it|that)|appreciate)",
    r"i(?:'d| would) love to (?:hear|see|know|join|check)",
    r"i(?:'ll| will) (?:let you|keep you|check it|do my best|keep that)",
    r"i(?:'m| am) (?:here for|always here|looking forward|rooting)|can't wait|looking forward|let me know|tell me",
    r"let's (?:do|go|make it|keep|catch|chat|talk|hope)|go for it",
    r"hop(?:e|ing) (?:you|it|that|to|this|all)|wish(?:ing)? you",
    r"keep (?:it|up|going|me|on|pushing|at|your|that|doing|shining|being|chasing|following)\b",
    r"stay (?:positive|strong|safe)",
    r"you(?:'re| are) (?:so|such|right|welcome|doing|the best|amazing|awesome|an?|always|really|gonna)\b",
    r"you(?:'ve| have) (?:got this|always|really)|you (?:rock|inspire|deserve|got|always|really|must)\b",
    r"your (?:\w+ )?(?:is|are) ",
    r"don't (?:worry|give|forget|hesitate)|just (?:let|keep|remember)|remember,|(?:any|what) (?:tips|advice|plans)",
    r"(?:it|that|this)? ?means (?:a lot|so much|the world)|check (?:it|this|them) out|(?:take|have) a look|look at",
    r"here(?:'s| is)? (?:a |the |my |one |some )?(?:pic|photo|picture|look)",
)
_SMALL_TALK = re.compile(f"^(?:{'|'.join(_SMALL_TALK_STARTS)})", re.IGNORECASE)
# A sentence that begins so speaks of something the sentence before has named.
_DANGLING = re.compile(
    r"^(?:it|it's|its|that|that's|this|these|those|they|they're|them|he|he's|she|she's|her|his|their|there|then"
    r"|which|such|both|one of them|same)\b",
    re.IGNORECASE,
)
_ADDRESSES = re.compile(r"\b(?:you|your|yours|you're|you've|you'll|u)\b", re.IGNORECASE)
#: Words with which anything can be praised, and that name nothing.
CHATTER = frozenset(
    terms(
        "great awesome amazing cool nice wonderful fantastic lovely super good really totally definitely love lot lots"
        " thing things thanks thank glad happy excited wow hey hi feel feeling feels make makes made go going gone went"
        " know think thought say said see seen look looks sound sounds way time people kind bit sure much many mean"
        " means want wanted need keep still always never maybe actually pretty something anything everything someone"
        " hope wait fun best better well come came take took give gave find found try tried important special"
        " incredible inspiring beautiful day days today also even though since get new start started work big long"
    )
)


def candidates(passages: Sequence[Passage], name: frozenset[str] = frozenset()) -> list[Sentence]:
    """What may be quoted of the passages, in their order; empty when all of it is small talk.

    A sentence that has all terms of `name` may be shorter.
    """
    sentences: list[Sentence] = []
    for place, passage in enumerate(passages):
        for raw in split_sentences(passage.text):
            text = _trimmed(raw) if passage.turn else raw
            content = tuple(term for term in terms(text) if term not in CHATTER)
            least = _MIN_TERMS if name and name <= set(content) else _MIN_TURN_TERMS
            if passage.turn and (_is_small_talk(text) or len(set(content)) < least):
                continue
            if len(set(content)) < _MIN_TERMS or (
                text.endswith(("?", "？")) and len(passage.text) > len(raw)
            ):
                continue
            sentences.append(Sentence(passage=place, text=_shortened(text), content=content))
    return sentences


def dangles(text: str) -> bool:
    """Whether a sentence needs the one before it to be understood."""
    return _DANGLING.match(text) is not None


def addresses(text: str) -> bool:
    """Whether a sentence speaks to somebody instead of about something."""
    return _ADDRESSES.search(text) is not None


def _trimmed(text: str) -> str:
    """Without "Yeah, " or "Wow, Ana! " in front; what is left begins with a capital."""
    rest = _FILLER.sub("", text)
    return rest[:1].upper() + rest[1:] if rest else text


def _is_small_talk(text: str) -> bool:
    return text.endswith(("?", "？")) or _SMALL_TALK.match(text) is not None


def _shortened(text: str) -> str:
    words = text.split()
    if len(words) > MAX_SENTENCE_WORDS:
        return " ".join(words[:MAX_SENTENCE_WORDS]).rstrip(",;:-") + " …"
    # Without blanks a word can be a page.
    return text if len(text) <= 8 * MAX_SENTENCE_WORDS else text[: 8 * MAX_SENTENCE_WORDS] + "…"


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
    sentences = candidates(passages, name)
    if name:
        sentences = _keep_to(sentences, passages, name)
    weights = _topic_weights(sentences)
    while len(sentences) > PART:
        parts = [sentences[at : at + PART] for at in range(0, len(sentences), PART)]
        near = embed if len(sentences) <= EMBED_LIMIT else None
        kept = [
            sentence
            for part in parts
            for sentence in _take(part, passages, weights, near, _KEPT_OF_PART, math.inf)
        ]
        sentences = kept
    taken = _take(sentences, passages, weights, embed, max_sentences, max_words)
    taken.sort(
        key=lambda sentence: (passages[sentence.passage].at, sentence.passage, sentences.index(sentence))
    )
    return [Chosen(text=sentence.text, passages=(sentence.passage,)) for sentence in taken]


def _keep_to(
    sentences: Sequence[Sentence], passages: Sequence[Passage], name: frozenset[str]
) -> list[Sentence]:
    """Sentences that name it, or were said by it; else memories that somebody linked with it.

    What stands around a name in a conversation is about something else as often as not.
    """

    def spoken(sentence: Sentence) -> bool:
        speaker = passages[sentence.passage].speaker
        return bool(speaker) and name <= set(terms(speaker or ""))

    close = [s for s in sentences if name <= set(s.content) or spoken(s)]
    return close or [s for s in sentences if not passages[s.passage].turn]


def _topic_weights(sentences: Sequence[Sentence]) -> dict[str, float]:
    """What a term says about the whole: more the more sentences have it, less when nearly all do."""
    spread = Counter(term for sentence in sentences for term in set(sentence.content))
    total = max(len(sentences), 1)
    return {term: math.log(1 + n) * math.log(1 + total / n) for term, n in spread.items()}


def _take(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    weights: dict[str, float],
    embed: Embed | None,
    max_sentences: int,
    max_words: float,
) -> list[Sentence]:
    """The best sentences, one by one, each unlike those before it."""
    if not sentences:
        return []
    vectors = embed([sentence.text for sentence in sentences]) if embed is not None else None
    worth = _worth(sentences, passages, weights, vectors)
    likeness = [0.0] * len(sentences)
    taken: list[int] = []
    words = 0
    open_places = set(range(len(sentences)))
    while open_places and len(taken) < max_sentences:
        best = max(open_places, key=lambda i: (_LAMBDA * worth[i] - (1 - _LAMBDA) * likeness[i], -i))
        open_places.discard(best)
        if words + sentences[best].words > max_words and taken:
            continue
        taken.append(best)
        words += sentences[best].words
        for i in open_places:
            likeness[i] = max(likeness[i], _likeness(sentences, vectors, i, best))
        open_places = {i for i in open_places if likeness[i] < _SAME}
    return [sentences[i] for i in sorted(taken)]


def _worth(
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    weights: dict[str, float],
    vectors: Vectors | None,
) -> list[float]:
    topical = _scaled(
        # The square root of the length: a long sentence may say more, but must not win by its length.
        [
            sum(weights[term] for term in set(s.content)) / math.sqrt(len(set(s.content)) + 4)
            for s in sentences
        ]
    )
    central = [0.0] * len(sentences)
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
        for i, sentence in enumerate(sentences)
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


def _likeness(sentences: Sequence[Sentence], vectors: Vectors | None, place: int, other: int) -> float:
    """How much two sentences say the same; two of one passage are always alike a little."""
    if vectors is not None:
        alike = float(vectors[place] @ vectors[other])
    else:
        first, second = set(sentences[place].content), set(sentences[other].content)
        alike = len(first & second) / max(len(first | second), 1)
    return max(alike, 0.4) if sentences[place].passage == sentences[other].passage else alike
