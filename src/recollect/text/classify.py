"""What kind of question it is: its category, and what its answer depends on. By rule, in English.

A question in another language, or of no known form, is exploratory: the weights that prefer nothing. Entities and times
are found elsewhere and handed in; what is not handed in is read from the words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from recollect.domain.names import Name
from recollect.domain.query import Category, QueryType, Resolution, ResolvedEntity, TimeRange
from recollect.text.names import find_names
from recollect.text.terms import query_terms

#: The form of a question shows in its beginning; a pasted document says no more by being longer.
_READ_CHARS = 2_000


def _any(*parts: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(parts) + r")\b", re.IGNORECASE)


_PEOPLE = r"(?:i|we|you|one|somebody|someone|people|the team|our team|they)"
_HABIT = _any(
    r"usual(?:ly)?", r"typical(?:ly)?", r"normal(?:ly)?", r"generally", r"tends? to", r"always",
    r"often", r"prefer\w*",
    r"favou?rite", r"habits?", r"likes? to",
)  # fmt: skip
_PROCEDURE = _any(
    rf"how (?:do|should|can|could|would|must|might) {_PEOPLE}(?! (?:know|feel|like|think|say|get on|compare)\b)",
    r"how to",
    r"how (?:is|are|does) .{1,60}\b(?:handled|done|processed|approved|set up|configured|made|released)",
    r"(?:what(?:'s| is| are)|which|explain|describe|give me|show me|is there|do we have) (?:the|our|my|your|a|an|any)?"
    r" ?(?:\w+ ){0,3}(?:process|procedure|steps|workflow|playbook|runbook|checklist|protocol|instructions|recipe)",
    r"(?:the )?(?:best|right|proper|correct|standard|usual|recommended) way (?:to|of|for)",
    r"steps (?:to|for)",
    r"walk me through", rf"what (?:do|should|must) {_PEOPLE} do (?:when|if|about|after|before)",
    r"what happens (?:when|if)", r"(?:procedure|process|policy|rule|instructions) (?:for|to|when|on)",
    rf"teach me|show me how|remind me how|tell me how(?! {_PEOPLE} (?:did|was|were|felt))", r"what is the way to",
)  # fmt: skip
_PAST_HOW = _any(r"how did", r"how was", r"how were", r"how has", r"how have")
_ANALYSIS = _any(
    r"compar\w*", r"versus", r"vs", r"differen(?:ce|ces|t) (?:between|from)", r"trends?", r"trending",
    r"correlat\w*",
    r"impact of", r"effect of", r"analy[sz]\w*", r"analysis", r"over time", r"growth", r"forecast\w*",
    r"patterns?",
    r"root causes?", r"reasons? (?:for|behind|why)", r"breakdown", r"pros and cons", r"trade-?offs?",
    r"evaluate",
    r"how (?:has|have|did) .{1,60}\b(?:chang|evolv|grow|grew|develop|improv|declin|increas|decreas|drop|perform)\w*",
    r"which .{0,60}\b(?:most|least|best|worst|highest|lowest|biggest|largest|fastest|slowest|top)",
    r"(?:on )?average", r"per (?:month|week|quarter|year|customer)", r"year over year", r"month over month",
    r"what (?:caused|explains|drives|drove)", r"likely to", r"at risk", r"better|worse(?: than)?",
)  # fmt: skip
_WHY = _any(r"why", r"how come", r"what made")
ADVICE = _any(
    r"should (?:i|we)(?! know)", r"would it (?:be|make)", r"is it (?:worth|wise|safe|a good)", r"recommend\w*",
    r"what would you (?:do|suggest|advise)", r"do you think (?:i|we) should", r"advise", r"suggest\w*",
    r"worth it",
)  # fmt: skip
EXPLORATION = _any(
    r"tell me (?:more |everything |all |something |a bit )?about",
    r"what (?:do|did) (?:you|we|i) (?:know|have|learn) (?:about|on|of)",
    r"overview", r"summar\w+", r"anything (?:about|on|new)", r"everything (?:about|on|we|you|i)",
    r"catch me up",
    r"background (?:on|about|of)", r"brief(?:ing)? (?:me|on)",
    r"what(?:'s| is| has been) (?:new|happening|going on|up) ?",
    r"bring me up", r"(?:give|get) me (?:some )?(?:context|background|details|info\w*)", r"update (?:me )?on",
    r"history (?:of|with)", r"my relationship with", r"talk to me about", r"what should i know", r"describe",
    r"recap", r"explore", r"ideas?", r"thoughts on", r"inspir\w+", r"what have (?:we|i|you)",
    r"remind me (?:about|of)",
)  # fmt: skip
_QUESTION = re.compile(
    r"^\W*(?:so|and|but|hey|hi|ok|okay|please|well|now|also|then)?\W*(?:can you |could you |do you (?:know|remember) )?"
    r"(?:tell me |remind me |say )?(?:in |at |on |for |to |from |with |by |of |during |since )?"
    r"(?:what|what's|whats|when|where|who|who's|whom|whose|which|how|did|does|do|is|are|was|were|has|have|had"
    r"|can|could|will|would|am)\b",
    re.IGNORECASE,
)
_COUNT = _any(r"how (?:many|much)", r"number of", r"totals?", r"sum of", r"count (?:of|the)", r"amount of")
_TIME = _any(
    r"when (?:did|is|was|were|are|will|does|do|has|have|had|should|can|'s)", r"recent(?:ly)?",
    r"lately", r"latest", r"newest", r"today", r"yesterday", r"tomorrow",
    r"tonight", r"ago",
    r"(?:last|this|next|past|previous|coming) (?:\w+ )?(?:day|night|morning|week|weekend|month|quarter|year"
    r"|summer|winter|spring|fall|autumn|monday|tuesday|wednesday|thursday|friday|saturday|sunday|time)s?", r"since",
    r"until",
    r"how long", r"what (?:date|day|time|year|month)", r"over time", r"nowadays", r"these days",
    r"q[1-4]", r"deadlines?",
    r"(?:19|20)\d\d",
    r"(?:in|on|during|of|early|late|mid) (?:january|february|march|april|may|june|july|august|september|"
    r"october|november|december)", r"first time", r"most recent", r"so far", r"anymore|any more",
    r"how old", r"upcoming",
    r"(?:before|after|during) \w+",
)  # fmt: skip
#: What people said, felt and agreed on is in memories, whatever it was about.
_SPOKEN = _any(
    r"relationship", r"interactions?", r"conversations?", r"discuss\w*", r"talk\w*", r"said", r"says?",
    r"saying", r"told",
    r"mention\w*", r"remember\w*", r"promis\w+", r"agree\w*", r"complain\w*", r"opinions?",
    r"fe(?:el|lt)\w*", r"thinks?",
    r"thought", r"meetings?", r"decid\w+", r"decision", r"negotiat\w+", r"reasons?", r"explain\w*",
    r"learn\w*", r"notes?",
    r"feedback", r"concerns?", r"disput\w+", r"met with", r"call with", r"like about", r"story", r"lessons?",
)  # fmt: skip
_STATE = _any(
    r"open", r"unpaid", r"overdue", r"outstanding", r"current(?:ly)?", r"pending", r"active", r"status",
    r"totals?",
    r"how (?:many|much)", r"number of", r"due", r"owed?s?", r"in stock", r"remaining", r"left",
)  # fmt: skip
_OWNED_KIND = re.compile(
    r"\b(?:my|our|his|her|their|your|this|that|these|those)\s+(?:\w+\s+){0,2}(?:customers?|clients?|vendors?|suppliers?"
    r"|teams?|projects?|colleagues?|employees?|contacts?|accounts?|partners?|friends?|boss|manager|wife|husband|mother"
    r"|father|mom|dad|sister|brother|son|daughter|kids?|children|dogs?|cats?|company|competitors?|investors?|leads?)\b",
    re.IGNORECASE,
)

#: Without an ontology: what businesses keep in databases rather than in their heads.
BUSINESS_TERMS = tuple(
    """
    order invoice payment paid pay balance sale revenue customer client account stock inventory shipment delivery
    ship quote price cost refund subscription subscriber discount purchase bought due owe overdue unpaid outstanding
    profit margin budget expense transaction bill contract renewal churn signup ticket sku product warehouse supplier
    vendor user headcount employee spend spent turnover cart checkout credit debit tax
    """.split()
)


def classify_query(
    query: str,
    *,
    entities: Sequence[ResolvedEntity] | None = None,
    time_range: TimeRange | None = None,
    domain_terms: Collection[str] | None = None,
) -> QueryType:
    """Classify a question. `domain_terms` are the tenant's declared words; None means a general business vocabulary."""
    text = query[:_READ_CHARS]
    named = _named(text, entities)
    habitual = bool(_HABIT.search(text))
    procedural = bool(_PROCEDURE.search(text)) and not _PAST_HOW.match(text.lstrip())
    category = _category(text, procedural=procedural, named=named)
    focused = named or (
        category in {Category.FACTUAL, Category.EXPLORATORY} and bool(_OWNED_KIND.search(text))
    )
    return QueryType(
        category=category,
        entity_focused=focused,
        time_focused=time_range is not None or bool(_TIME.search(text)),
        procedural=procedural,
        requires_domain_db=not procedural
        and not habitual
        and _asks_for_data(text, category, named=named, domain_terms=domain_terms),
    )


def _named(text: str, entities: Sequence[ResolvedEntity] | None) -> bool:
    """Whether anything but the asker is named."""
    if entities is None:
        names: list[Name] = find_names(text)
        return bool(names)
    return any(entity.method is not Resolution.FIRST_PERSON for entity in entities)


def _category(text: str, *, procedural: bool, named: bool) -> Category:
    if procedural:
        return Category.PROCEDURAL
    if ADVICE.search(text):
        return Category.ANALYTICAL
    if _WHY.search(text):
        # Why somebody did something is an episode; why numbers move is an analysis.
        episode = named and not _ANALYSIS.search(text)
        return Category.FACTUAL if episode else Category.ANALYTICAL
    if EXPLORATION.search(text) and not _COUNT.search(text):
        return Category.EXPLORATORY
    if _ANALYSIS.search(text):
        return Category.ANALYTICAL
    if _COUNT.search(text) or _QUESTION.match(text) or text.rstrip().endswith("?"):
        return Category.FACTUAL
    if re.match(r"\s*(?:please )?(?:list|show|find|give|get|look up|which|name)\b", text, re.IGNORECASE):
        return Category.FACTUAL
    return Category.EXPLORATORY


def _asks_for_data(
    text: str, category: Category, *, named: bool, domain_terms: Collection[str] | None
) -> bool:
    """Whether the answer is data that changes by itself, so that no memory can be trusted for it."""
    spoken = bool(_SPOKEN.search(text))
    advised = bool(ADVICE.search(text))
    stems = set(query_terms(text))
    vocabulary = _business_stems() if domain_terms is None else _stems(domain_terms)
    declared = not stems.isdisjoint(vocabulary)
    if advised:
        # A recommendation wants both: what is remembered of somebody, and how they stand.
        return declared or (named and domain_terms is not None)
    if not declared or spoken:
        return False
    if category is Category.EXPLORATORY:
        return bool(_STATE.search(text))
    return category is not Category.FACTUAL or not _WHY.search(text)


@cache
def _business_stems() -> frozenset[str]:
    return _stems(BUSINESS_TERMS)


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in query_terms(word.replace("_", " ")) if stem)
