"""Which sentences of a text could stand in a summary.

Small talk, questions and what only makes sense beside the sentence before are the bulk of a conversation and the
worst of a summary. The rules here are about English; text in other scripts is
judged by its length alone. Knows no vectors and no store; `extract` chooses among what is left here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from recollect.text.sentences import split_sentences
from recollect.text.terms import terms

#: A quotation longer than this many words is cut; a summary is not the place for a page.
MAX_WORDS = 40
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
    if len(words) > MAX_WORDS:
        return " ".join(words[:MAX_WORDS]).rstrip(",;:-") + " …"
    # Without blanks a word can be a page.
    return text if len(text) <= 8 * MAX_WORDS else text[: 8 * MAX_WORDS] + "…"
