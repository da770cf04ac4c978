"""What a question asks for: its type, the entities and times it names, and what shall count for it.

Values only. They are found in `retrieval/understand`, used by every later stage, and shown by `explain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

#: The signals that strategies weigh, in the order in which they are explained.
SIGNALS = ("semantic_similarity", "entity_overlap", "temporal_relevance", "importance", "reinforcement")


class Category(StrEnum):
    """What kind of answer is wanted."""

    FACTUAL = "factual"
    PROCEDURAL = "procedural"
    EXPLORATORY = "exploratory"
    ANALYTICAL = "analytical"


class Want(StrEnum):
    """What would satisfy the asker: one thing, all of a kind, how many, sides set side by side, help with a task."""

    ONE = "one"
    ALL = "all"
    NUMBER = "number"
    COMPARISON = "comparison"
    YES_NO = "yes_no"
    TASK = "task"

    @property
    def several(self) -> bool:
        """Whether more than one memory is owed."""
        return self in (Want.ALL, Want.NUMBER, Want.COMPARISON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a question is after, read from its form.

    `past` is a question about what held before; `first_person` one about the asker ("my", "we"); `sides` are the names
    that a comparison sets against each other, or that a question joins ("Atlas and Borealis"). `topic` is a question
    for whatever is known about something ("tell me about Acme", "should we offer Acme a discount?"): what is about it
    belongs to the answer.
    `several` is how sure it is, from 0 to 1, that more than one memory is owed: "which invoice is unpaid?" may mean one
    or all of them.
    """

    want: Want = Want.ONE
    several: float = 0.0
    past: bool = False
    first_person: bool = False
    topic: bool = False
    sides: tuple[str, ...] = ()

    @property
    def about_one(self) -> bool:
        """Whether the topic is one thing that has a name, and not all of a kind, as in "my customers"."""
        return self.topic and not self.want.several


class Resolution(StrEnum):
    """How a mention was resolved."""

    FIRST_PERSON = "first_person"
    EXACT = "exact"
    ALIAS = "alias"
    FUZZY = "fuzzy"
    PRONOUN = "pronoun"
    DOMAIN = "domain"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryType:
    """The class of a question: its category, and what its answer depends on."""

    category: Category
    entity_focused: bool = False
    time_focused: bool = False
    procedural: bool = False
    requires_domain_db: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A period a question is about: `start` inclusive, `end` exclusive, None is open.

    `phrase` is the words it was read from; `anchor` names the dated memory that gave the date, if one did. `slack`
    is how far words like "two years ago", which mean one day by the calendar, are usually off.
    """

    start: datetime | None
    end: datetime | None
    phrase: str
    anchor: str | None = None
    slack: timedelta = timedelta(0)

    def contains(self, moment: datetime) -> bool:
        """Whether a moment lies in the period."""
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)

    def widened(self) -> TimeRange:
        """The period to look in: this one with its slack on both sides."""
        if not self.slack:
            return self
        try:
            start = self.start - self.slack if self.start is not None else None
            end = self.end + self.slack if self.end is not None else None
        except OverflowError:  # the calendar ends there
            return self
        return replace(self, start=start, end=end, slack=timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedEntity:
    """A mention in a question and the entity it means.

    `canonical_id` is the entity's key: the folded name, or "customer:a1b2" for a row of the domain database. `also`
    are other keys of the same entity, under which memories name it. When two entities are equally likely, `rivals`
    names the other ones and the mention stands for all of them.
    """

    mention_text: str
    canonical_id: str
    name: str
    kind: str
    confidence: float
    method: Resolution
    rivals: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that the mention may mean."""
        return (self.canonical_id, *self.also, *self.rivals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How much each signal counts. `source` says where the weights come from: table, learned, experiment."""

    name: str
    weights: Mapping[str, float]
    source: str = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """A question as the later stages see it."""

    query: str
    terms: tuple[str, ...]
    type: QueryType
    strategy: Strategy
    entities: tuple[ResolvedEntity, ...] = ()
    time_range: TimeRange | None = None
    now: datetime
    aim: Aim = Aim()
    notes: tuple[str, ...] = ()

    @property
    def entity_keys(self) -> tuple[str, ...]:
        """The keys of all entities that are named, without repeats."""
        return tuple(dict.fromkeys(key for entity in self.entities for key in entity.keys))
