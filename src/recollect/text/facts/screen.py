"""Which sentences may state a fact at all.

Questions, conditions, wishes, plans, guesses, hearsay, fiction and what holds for a few days only are no facts, however
much their middle looks like one. The words that give them away are here, and the pieces of a sentence that carry no
fact themselves: greetings in front, adverbs between, reasons behind. When in doubt it is no fact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Longer sentences say several things at once, and a rule for simple ones would cut out the wrong piece.
MAX_SENTENCE_CHARS = 240

_CONTRACTIONS = (
    (re.compile(r"\b(I)['’]m\b"), r"\1 am"),
    (re.compile(r"\b(can)['’]t\b", re.I), r"\1 not"),
    (re.compile(r"\bwon['’]t\b", re.I), "will not"),
    (re.compile(r"n['’]t\b", re.I), " not"),
    (re.compile(r"\b(you|we|they)['’]re\b", re.I), r"\1 are"),
    (re.compile(r"\b(I|you|we|they)['’]ve\b", re.I), r"\1 have"),
    (re.compile(r"['’]ll\b", re.I), " will"),
    (re.compile(r"\b(I|you|we|they|he|she)['’]d\b", re.I), r"\1 would"),
    (re.compile(r"\b(it|he|she|that|there|what|who)['’]s\b", re.I), r"\1 is"),
)

_LEAD_IN = re.compile(
    r"^(?:(?:fyi|btw|by the way|update|news|reminder|note|nb|heads[- ]up|for the record|just so you know|good news|"
    r"so|well|oh|hey|hi|ok|okay|yes|yeah|and|but|anyway|remember|please (?:note|remember)|as you know|also|"
    r"finally|sadly|luckily|fortunately|unfortunately|in fact|officially)\b(?: that)?\s*[,:!–—-]*\s+)+",
    re.I,
)
_CORRECTION = re.compile(
    r"^(?:actually|correction|i was wrong|scratch that|my mistake|sorry|erratum)\s*[,:–—-]*\s*", re.I
)

#: (pattern, why a sentence with it states no fact), looked for in this order.
_NOT_FACTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[?？]"), "a question"),
    (
        re.compile(
            r"^(?:who|whom|whose|what|when|where|why|how|which|does|do|did|is|are|was|were|has|have|had|can|could|will"
            r"|would|should|shall|may|might|must|am)\b(?! been)",
            re.I,
        ),
        "a question",
    ),
    (
        re.compile(r"^(?:let|please|imagine|suppose|pretend|consider|assume|picture|say)\b", re.I),
        "not meant as a fact",
    ),
    (
        re.compile(
            r"\b(?:ignore|disregard|forget|override) (?:all|any|every|your|the|my|previous|prior|these|those)\b",
            re.I,
        ),
        "an instruction, not a fact",
    ),
    (re.compile(r"[\"“”„«»]"), "somebody's words in quotation marks"),
    (
        re.compile(
            r"\b(?:if|unless|whether|wish|wishes|wished|would|could|might|maybe|perhaps|possibly|probably|presumably"
            r"|supposedly|hypothetically|should|ought|must|in case|as if|as though|acts? like|looks? like|feels? like|"
            r"seems?|appears? to|pretends?|dreams?|dreamt|dreamed|hopes?|hoping|hopefully|assum(?:e|es|ing)|"
            r"shall|almost|nearly|close to|not sure|uncertain|unclear|guess|suspects?|doubts?|joked?|joking)\b",
            re.I,
        ),
        "not certain",
    ),
    (re.compile(r"(?<!\bin )(?<!\bof )\bmay\b(?! \d)(?<!\d may)"), "not certain"),
    (
        re.compile(
            r"\b(?:will|going to|gonna|about to|plans? (?:to|on)|planning (?:to|on)|planned to|intends?|intended to|"
            r"wants? to|wanted to|would like|hopes? to|expected to|expects? to|"
            r"supposed to|scheduled to|thinking (?:of|about)|"
            r"consider(?:s|ing)|is moving|are moving|am moving|is going|are going|"
            r"am going|is joining|am joining|are joining|"
            r"is switching|are switching|about moving|soon|eventually|one day|some day|someday|in the future|needs? to|"
            r"has to|have to|decided to|promised to|trying to|tries to|agreed to)\b",
            re.I,
        ),
        "about the future",
    ),
    (
        re.compile(
            r"\b(?:said|says|say|saying|told|tells|claims?|claimed|thinks?|thought|believes?|believed|reckons?|heard|hears|"
            r"according to|mentioned|mentions|wrote|writes|rumou?rs?|rumou?red|asked|asks|suggested|suggests|argues?|"
            r"argued|insists?|insisted|reported|reportedly|allegedly|apparently|supposed|imagines?|imagined|knew|"
            r"announced|denies|denied|swears?|swore|feels? that|remembers? that|known as if)\b",
            re.I,
        ),
        "what somebody says, not what is",
    ),
    (
        re.compile(
            r"\bin (?:the|a|an|her|his|my|our|their|this|that) (?:[\w-]+ )?(?:play|"
            r"novel|film|movie|story|dream|game|series"
            r"|episode|fairy tale|simulation|example|scenario|script|show|comic|exercise)\b",
            re.I,
        ),
        "fiction or an example",
    ),
    (
        re.compile(
            r"\b(?:used to|formerly|previously|back then|in those days|at the time|at that time|once upon|originally|"
            r"as a (?:child|kid|boy|girl|teenager|student)|when (?:I|he|she|they|"
            r"we) (?:was|were)|until \d{4}|in the past)\b",
            re.I,
        ),
        "about the past",
    ),
    (
        re.compile(
            r"\b(?:temporar(?:y|ily)|for now|for the moment|for the time being|this (?:week|weekend|month|morning|"
            r"afternoon|evening|semester|term|season|time|once)|tonight|during|while|on (?:holiday|vacation|leave)|"
            r"standing in|filling in|covering for|on behalf of|visiting|staying (?:in|at|with)|"
            r"for (?:a|one|two|three|four|five|six|\d+|a few|some|several) (?:days?|weeks?|months?|nights?)|"
            r"until (?:\w+day|further notice|the end|next|tomorrow|then)|just today|today only|only today)\b",
            re.I,
        ),
        "only for a while",
    ),
    (re.compile(r"^(?:today|tomorrow|yesterday|tonight|next \w+|last \w+)\b", re.I), "only for a while"),
    (
        re.compile(
            r"\b(?:not only|never|nobody|no one|none of|nothing|neither|hardly|barely|rarely)\b", re.I
        ),
        "a negation",
    ),
    (
        # Behind a comma "mostly" speaks of a part: "I'm a nurse, mostly on nights".
        re.compile(
            r"\b(?:sometimes|occasionally|often|usually|normally|typically|either)\b|(?<!, )\bmostly\b", re.I
        ),
        "not always so",
    ),
)

#: A trip, a stay, a meeting: where somebody was once.
_WENT = re.compile(
    r"\b(?:visit(?:s|ed|ing)?|toured|(?:went|flew|drove|travell?ed|sailed|hiked|cycled) (?:back |over |down |up )?to"
    r"|(?:has|have|had) been to|(?:was|were) (?:in|at)|spent\b.{1,40}? (?:in|at)|stay(?:s|ed|ing) (?:in|at|with)"
    r"|(?:returned|came back|got back|(?:is|are|am) back) from|on (?:a )?(?:holiday|vacation|trip|leave|tour)"
    r"|(?:is|are|am) (?:in|at) [^,.]{1,40} for (?:a|an|the|two|three)|met\b.{1,40}? (?:in|at)"
    r"|interview(?:s|ed|ing) (?:at|with)"
    r"|had an? (?:[\w-]+ )?(?:meeting|interview|call|lunch|dinner|coffee) (?:in|at|with)"
    r")\b(?! \d)",
    re.I,
)
#: ... unless it says that somebody stayed.
_STAYED = re.compile(
    r"\b(?:mov(?:e|ed|ing)|relocat\w+|settled|live[sd]?|living|home|now|instead|no longer|for good|permanently|since"
    r"|join(?:ed|s)|hired|decided|stayed on)\b",
    re.I,
)

_ADVERBS = re.compile(
    r"(?:,\s*)?\b(?:(?P<change>from now on|as of (?:now|today)|"
    r"starting today|effective immediately|with immediate effect|"
    r"nowadays|these days|now|at present|by now)|(?P<also>also|too|as well|in addition|additionally)|(?P<again>again)"
    r"|(?:currently|at the moment|already|finally|recently|just|officially|permanently|actually|still|really|simply|"
    r"apparently|happily|lately))\b,?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """A sentence without what carries no fact, and what that told."""

    text: str
    change: bool
    also: bool
    former: str | None


def why_no_fact(sentence: str) -> str | None:
    """Why a sentence can't state a fact; None when it may."""
    if len(sentence) > MAX_SENTENCE_CHARS:
        return "too long for a simple fact"
    plain = expand(_LEAD_IN.sub("", sentence))
    plain = _CORRECTION.sub("", plain)
    for pattern, reason in _NOT_FACTS:
        if pattern.search(plain):
            return reason
    return None


def is_passing(text: str) -> bool:
    """Whether a text tells only where somebody was once: "Ana visited Lisbon". What is stays as it was."""
    plain = expand(text)
    return bool(_WENT.search(plain)) and not _STAYED.search(plain)


def expand(sentence: str) -> str:
    """Contractions written out, typographic apostrophes made plain."""
    for pattern, replacement in _CONTRACTIONS:
        sentence = pattern.sub(replacement, sentence)
    return " ".join(sentence.replace("’", "'").split())


def clean(sentence: str) -> Clean:
    """Take off what stands in front, between and behind, and remember what it tells."""
    text = expand(sentence).rstrip(" .!;,")
    also = bool(re.match(r"^also\b", text, re.I))
    text = _LEAD_IN.sub("", text)
    corrected = _CORRECTION.sub("", text)
    change = corrected != text
    text, former = corrected, None
    tail = re.search(r",? (?:and )?not (?P<former>[^,]{1,60})$", text)
    if tail and ("," in tail.group(0) or change):
        text, former, change = text[: tail.start()], tail["former"].strip(), True
    tail = re.search(r",? (?:instead of|rather than) (?P<former>[^,]{1,60})$", text)
    if tail:
        text, former, change = text[: tail.start()], tail["former"].strip(), True
    for match in _ADVERBS.finditer(text):
        change = change or bool(match["change"] or match["again"])
        also = also or bool(match["also"])
    text = " ".join(_ADVERBS.sub(" ", text).split()).strip(" ,;:")
    return Clean(text=text, change=change, also=also, former=former)
