"""By what a question can be split: the scopes it compares, the sides of it, its period, its clauses.

Words alone decide, with the tree of visible scopes and what `understand` has found. Pure. Which of the splits is tried,
and in what order, is the planner's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.domain.query import TimeRange, Understanding
from recollect.retrieval.recursive.periods import periods_of
from recollect.runs.router import ComplexitySignals
from recollect.text.terms import STOP_WORDS, query_terms

#: Words for several scopes of a layer.
_PLURALS: dict[str, Layer] = {
    **dict.fromkeys("teams squads crews guilds tribes chapters".split(), Layer.TEAM),
    **dict.fromkeys("orgs organizations organisations departments divisions directorates".split(), Layer.ORG),
    **dict.fromkeys("projects repos repositories codebases".split(), Layer.PROJECT),
    **dict.fromkeys("users people everyone everybody colleagues members".split(), Layer.USER),
    **dict.fromkeys("sessions chats".split(), Layer.SESSION),
    **dict.fromkeys("agents bots".split(), Layer.AGENT),
    **dict.fromkeys("companies".split(), Layer.COMPANY),
}
_SINGULARS: dict[str, Layer] = {
    **dict.fromkeys("team squad crew guild tribe chapter".split(), Layer.TEAM),
    **dict.fromkeys("org organization organisation department division directorate".split(), Layer.ORG),
    **dict.fromkeys("project repo repository codebase".split(), Layer.PROJECT),
    **dict.fromkeys("user".split(), Layer.USER),
}
_EACH = frozenset("each every per any".split())
#: Words that say what to do with the answers, not what they are about.
_MANNER = frozenset(
    """
    compare compares compared comparing comparison contrast contrasting versus vs differ differs differing different
    differently difference differences similar similarities across all every each any between among amongst both per
    various several multiple summarize summarise summary summaries overview aggregate aggregated consolidate recap
    trace evolution evolve evolved history trend trends timeline over time total average count list show tell give
    analyze analyse analysis entire overall throughout please whole our everything everyone side by
    """.split()
)
#: Words around a topic that any topic could have: "how does every team *handle* X", "X *practices*".
_LEADING = STOP_WORDS | frozenset(
    """
    handle handles handled deal deals approach approaches manage manages say says said think thinks do does done use
    uses know knows work works regarding concerning
    """.split()
)
_TRAILING = STOP_WORDS | frozenset("practices practice approaches habits ways policies".split())
_TOKEN = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_SIDES = re.compile(
    r"\s*(?:,|;|\bvs\.?|\bversus|\band\b|\bor\b|\bwith\b|\bagainst\b|\bto\b)\s*", re.IGNORECASE
)
_SHARED = re.compile(
    r"\s+(?:for|in|on|at|about|regarding|when|during|since|as|concerning)\s+.*$", re.IGNORECASE
)
_OPENING = re.compile(
    r"^.*?\b(?:compare|comparing|comparison (?:of|between)|contrast|difference(?:s)? between|between)\s+",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"[;?!]\s+|,?\s+\b(?:and then|and also|then|after that|as well as|and what|and how|and who|and when|and why)\b\s*",
    re.IGNORECASE,
)
_OVER_TIME = frozenset(
    "evolution evolve evolved history timeline trend trends trace chronology changed changes development".split()
)
_RECENT = frozenset("recent recently latest newest lately currently nowadays".split())
_HOPPING = frozenset(
    """
    then after before caused causing because led leading followed resulted resulting whose whom impact affected
    """.split()
)
#: More sides or clauses than a person would lay side by side.
_MOST_SIDES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeNode:
    """A visible scope."""

    id: UUID
    layer: Layer
    name: str
    parent: UUID | None
    memories: int

    @property
    def label(self) -> str:
        """As people write it."""
        return f"{self.layer.value}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeGroup:
    """A scope that a comparison has a place for, and everything that hangs below it."""

    label: str
    scope_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of several things a question sets side by side, and the question about it alone."""

    label: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """A question and everything it can be split by; empty where it can't."""

    query: str
    topic: str
    signals: ComplexitySignals
    recent: bool = False
    hops: bool = False
    from_layer: Layer | None = None
    to_layer: Layer | None = None
    scope_filter: str = ""
    groups: tuple[ScopeGroup, ...] = ()
    sides: tuple[Side, ...] = ()
    periods: tuple[TimeRange, ...] = ()
    clauses: tuple[str, ...] = ()


def decompose(
    understanding: Understanding,
    signals: ComplexitySignals,
    *,
    scopes: Sequence[ScopeNode] = (),
    earliest: datetime | None = None,
) -> Decomposition:
    """Read by what a question can be split. `earliest` is when memories begin, for "the history of ...".

    Scopes that hold nothing the search may look at have no memories here; they only hold the tree together.
    """
    tokens = _TOKEN.findall(understanding.query)
    folded = [token.casefold() for token in tokens]
    named = _named_scopes(folded, scopes)
    layer = _asked_layer(folded)
    groups, above, used = _groups(layer, named, scopes)
    over_time = not _OVER_TIME.isdisjoint(folded)
    drop = set().union(*(places for node, places in named if node.id in used)) if named else set()
    topic = _topic(understanding, tokens, folded, drop)
    return Decomposition(
        query=understanding.query,
        topic=topic,
        signals=signals,
        recent=not _RECENT.isdisjoint(folded),
        hops=not _HOPPING.isdisjoint(folded),
        from_layer=above.layer if above else None,
        to_layer=layer
        or next((node.layer for node in scopes if groups and node.label == groups[0].label), None),
        scope_filter=above.name if above else "",
        groups=groups,
        # Sides that are scopes are asked as scopes.
        sides=() if len(used) > 1 else _sides(understanding, signals),
        periods=_periods(understanding, over_time, earliest),
        clauses=_clauses(understanding.query),
    )


def _asked_layer(folded: Sequence[str]) -> Layer | None:
    """The layer whose scopes are asked about in the plural."""
    for place, word in enumerate(folded):
        if word in _PLURALS:
            return _PLURALS[word]
        if word in _SINGULARS and place and folded[place - 1] in _EACH:
            return _SINGULARS[word]
    return None


def _named_scopes(folded: Sequence[str], scopes: Sequence[ScopeNode]) -> list[tuple[ScopeNode, set[int]]]:
    """The scopes whose names stand in the question, and where; a longer name hides a shorter one inside it."""
    places_of: list[tuple[ScopeNode, set[int]]] = []
    for node in scopes:
        words = [word.casefold() for word in re.split(r"[\W_]+", node.name) if word]
        if not words or (len(words) == 1 and len(words[0]) < 2):
            continue
        for place in range(len(folded) - len(words) + 1):
            if _spelled(folded[place : place + len(words)], words):
                places_of.append((node, set(range(place, place + len(words)))))
                break
    return [(node, places) for node, places in places_of if not any(places < other for _, other in places_of)]


def _spelled(folded: Sequence[str], words: Sequence[str]) -> bool:
    return all(token in (word, f"{word}'s") for token, word in zip(folded, words, strict=True))


def _groups(
    layer: Layer | None, named: list[tuple[ScopeNode, set[int]]], scopes: Sequence[ScopeNode]
) -> tuple[tuple[ScopeGroup, ...], ScopeNode | None, set[UUID]]:
    """The scopes to compare, the one they hang under if the question names it, and which names were used for that."""
    below = _descendants(scopes)
    compared = [node for node, _ in named if layer is None or node.layer is layer]
    if len(compared) >= 2:
        chosen, above = compared, None
        used = {node.id for node in compared}
    elif layer is not None:
        above = next((node for node, _ in named if node.layer.precedence > layer.precedence), None)
        inside = below(above) if above else scopes
        chosen = [node for node in inside if node.layer is layer and node is not above]
        used = {above.id} if above else set()
    else:
        return (), None, set()
    groups = []
    for node in chosen:
        members = below(node)
        if sum(member.memories for member in members) > 0:
            filled = tuple(member.id for member in members if member.memories > 0)
            groups.append(ScopeGroup(label=node.label, scope_ids=filled))
    return (tuple(groups) if len(groups) > 1 else ()), above, used


def _descendants(scopes: Sequence[ScopeNode]) -> Callable[[ScopeNode], list[ScopeNode]]:
    """A look-up of a scope and everything below it."""
    children: dict[UUID | None, list[ScopeNode]] = {}
    for node in scopes:
        children.setdefault(node.parent, []).append(node)

    def below(node: ScopeNode) -> list[ScopeNode]:
        nodes, waiting = [], [node]
        while waiting:
            current = waiting.pop()
            nodes.append(current)
            waiting.extend(children.get(current.id, ()))
        return nodes

    return below


def scopes_under(
    scopes: Sequence[ScopeNode], *, to_layer: Layer, from_layer: Layer | None, matching: str
) -> tuple[ScopeGroup, ...]:
    """The scopes of a layer that hold something, below those of another layer whose name has `matching` in it."""
    below, wanted = _descendants(scopes), _folded_name(matching)
    inside = list(scopes)
    if wanted:
        tops = [
            node
            for node in scopes
            if wanted in _folded_name(node.name) and (from_layer is None or node.layer is from_layer)
        ]
        inside = list({node_below.id: node_below for top in tops for node_below in below(top)}.values())
    groups = []
    for node in inside:
        members = [member.id for member in below(node) if member.memories > 0]
        if node.layer is to_layer and members:
            groups.append(ScopeGroup(label=node.label, scope_ids=tuple(members)))
    return tuple(groups)


def _folded_name(name: str) -> str:
    return " ".join(word.casefold() for word in re.split(r"[\W_]+", name) if word)


def _topic(understanding: Understanding, tokens: Sequence[str], folded: Sequence[str], drop: set[int]) -> str:
    """What the question is about, without how the answers shall be laid out, by whom and since when."""
    timed = (
        {word.casefold() for word in _TOKEN.findall(understanding.time_range.phrase)}
        if understanding.time_range
        else set()
    )
    kept = [
        token
        for place, token in enumerate(tokens)
        if place not in drop
        and folded[place] not in _MANNER
        and folded[place] not in _PLURALS
        and folded[place] not in timed
        and not (
            folded[place] in _SINGULARS and (place == 0 or folded[place - 1] in _EACH or place - 1 in drop)
        )
    ]
    while kept and kept[0].casefold() in _LEADING:
        kept.pop(0)
    while kept and kept[-1].casefold() in _TRAILING:
        kept.pop()
    topic = " ".join(kept)
    return topic if query_terms(topic) else understanding.query


def _sides(understanding: Understanding, signals: ComplexitySignals) -> tuple[Side, ...]:
    """The things that a question sets side by side, each with the question about it alone."""
    if not signals.has_comparison:
        return ()
    named = list(
        dict.fromkeys(entity.name for entity in understanding.entities if entity.method != "first_person")
    )
    if len(named) >= 2:
        others = {name: [other for other in named if other != name] for name in named[:_MOST_SIDES]}
        return tuple(Side(label=name, query=_without(understanding.query, others[name])) for name in others)
    text = _OPENING.sub("", understanding.query).strip(" ?.!")
    shared = _SHARED.search(text)
    tail = shared.group(0) if shared else ""
    parts = [part.strip() for part in _SIDES.split(text[: len(text) - len(tail)] if tail else text)]
    parts = [part for part in parts if query_terms(part)][:_MOST_SIDES]
    if len(parts) < 2 or any(len(part.split()) > 6 for part in parts):
        return ()
    return tuple(Side(label=part, query=f"{part}{tail}") for part in parts)


def _without(query: str, names: Sequence[str]) -> str:
    """The question about one side: the others' names and the words of comparing left out."""
    for name in names:
        query = re.sub(rf"\b{re.escape(name)}\b(?:'s)?", " ", query, flags=re.IGNORECASE)
    kept = [
        token for token in _TOKEN.findall(query) if token.casefold() not in _MANNER | {"and", "or", "with"}
    ]
    return " ".join(kept)


def _periods(
    understanding: Understanding, over_time: bool, earliest: datetime | None
) -> tuple[TimeRange, ...]:
    """The time a question is about, in slices that can be told apart."""
    if not over_time:
        return ()
    given = understanding.time_range
    start = (given.start if given else None) or earliest
    end = (given.end if given else None) or understanding.now
    if start is None or end - start < timedelta(days=2):
        return ()
    return periods_of(start, min(end, understanding.now) if understanding.now > start else end)


def _clauses(query: str) -> tuple[str, ...]:
    """The parts of a question that ask something of their own."""
    parts = [part.strip(" ,.?!") for part in _CLAUSES.split(query)]
    parts = [part for part in parts if len(query_terms(part)) >= 2]
    return tuple(parts[:_MOST_SIDES]) if len(parts) > 1 else ()
