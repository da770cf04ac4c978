"""What a new statement does to a fact that is known: the decision, without a database.

A newer value of a single-valued predicate replaces the older. What the words themselves end or replace is replaced,
whatever the predicate. A repeat in other words strengthens. What can't be both true and is neither is a contradiction:
kept and flagged. Everything else leaves a fact alone.

`sentence_of` says a statement as a sentence of its own, which can be searched for without the talk around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.text.facts.predicates import Kind, Predicate, read_predicate, subject_key
from recollect.text.facts.statement import Statement
from recollect.text.facts.values import comparable, has_form, same_value


class Relation(StrEnum):
    """What a new statement is to a known fact."""

    REPLACES = "replaces"
    OLDER = "older"
    SAME = "same"
    CONTRADICTS = "contradicts"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fact that is stored and believed. `since` is when it is true from, if that is known."""

    subject: str
    predicate: str
    object: str
    created_at: datetime
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A relation and the reason for it. The reason names no value: it outlives the memory that had it."""

    relation: Relation
    reason: str


#: How the predicate of something that is over begins.
NO_LONGER = "no longer "

_UNRELATED = Verdict(relation=Relation.UNRELATED, reason="")


def relate(new: Statement, known: Known, *, said_at: datetime) -> Verdict:
    """What `new`, said at `said_at`, does to `known`."""
    if subject_key(new.subject) != subject_key(known.subject) or new.past:
        return _UNRELATED
    predicate = _predicate(new.subject, new.predicate)
    over = known.predicate.startswith(NO_LONGER)
    other = _predicate(known.subject, known.predicate.removeprefix(NO_LONGER))
    if over:
        again = new.is_fact and predicate.key == other.key and same_value(new.object, known.object)
        return _in_order(new, known, said_at, "it is said to be so again") if again else _UNRELATED
    if (
        new.former is not None
        and same_value(new.former, known.object)
        and _replaceable(new, predicate, other)
    ):
        return _in_order(new, known, said_at, "the statement names the value it replaces")
    if not _alike(predicate, other, new):
        return _UNRELATED
    same = same_value(new.object, known.object)
    if new.ends:
        return (
            _in_order(new, known, said_at, "the statement says that it is no longer so")
            if same
            else _UNRELATED
        )
    if new.denied:
        if not same:
            return _UNRELATED
        return Verdict(
            relation=Relation.CONTRADICTS, reason=f"one affirms {other.key!r}, the other denies it"
        )
    if same and not (new.change and _changed_words(new, known)):
        return Verdict(relation=Relation.SAME, reason=f"the same value of {predicate.key!r} in other words")
    if new.also or predicate.kind is Kind.MANY or not _well_formed(new.object, known.object, predicate):
        return _UNRELATED
    if not comparable(new.object, known.object, predicate.key):
        return _UNRELATED
    if _vague(new) and predicate.key in _OF_ONE_THING:
        return Verdict(
            relation=Relation.CONTRADICTS,
            reason=f"two values of {predicate.key!r}, and nothing says that both are about the same {new.subject!r}",
        )
    if predicate.kind is Kind.SINGLE or (new.change and predicate.key not in {"is", ""}):
        ground = "has one value at a time" if predicate.kind is Kind.SINGLE else "was said to have changed"
        return _in_order(new, known, said_at, f"{predicate.key!r} {ground}")
    if new.predicate not in {"is", "is a", "switched to"} and predicate.kind is Kind.OTHER and new.sentence:
        return Verdict(
            relation=Relation.CONTRADICTS,
            reason=f"two values of {predicate.key!r}, and neither is said to be new",
        )
    return _UNRELATED


#: What differs from one meeting, flight or deadline to the next.
_OF_ONE_THING = frozenset(
    {"is", "time", "day", "scheduled for", "starts at", "ends at", "leaves at", "arrives at", "opens at", "closes at",
     "meets at", "price", "deadline", "location"}
)  # fmt: skip


def _vague(new: Statement) -> bool:
    """Whether it is anybody's guess which thing is meant: "the meeting", and no word of a change."""
    word = new.subject
    return bool(new.sentence) and not new.change and " " not in word and word.islower() and "-" not in word


def _predicate(subject: str, predicate: str) -> Predicate:
    """The predicate of a fact; what merely "is" takes it from its subject: the deadline is ..."""
    if predicate == "is a":
        return Predicate(key="job title", kind=Kind.OTHER)
    read = read_predicate(predicate)
    if predicate == "is":
        inner = read_predicate(subject)
        if inner.kind is Kind.SINGLE:
            return Predicate(key="is", kind=Kind.SINGLE, value=inner.value)
        return Predicate(key="is", kind=Kind.OTHER)
    return read


def _alike(new: Predicate, known: Predicate, statement: Statement) -> bool:
    if new.key != known.key:
        return False
    # "Grace is a senior engineer" does not end her being a mentor; "was promoted to" does.
    return not (known.key == "job title" and known.kind is Kind.OTHER and not statement.change)


def _replaceable(new: Statement, predicate: Predicate, other: Predicate) -> bool:
    """Whether a named former value can be of that predicate: any for "switched from", else the same."""
    return new.predicate == "switched to" or predicate.key == other.key


def _changed_words(new: Statement, known: Known) -> bool:
    """A value that has the older inside it may still be another: from engineer to senior engineer."""
    return (
        new.object.casefold() != known.object.casefold() and read_predicate(new.predicate).key == "job title"
    )


def _well_formed(new: str, known: str, predicate: Predicate) -> bool:
    return has_form(new, predicate.value) and has_form(known, predicate.value)


def _in_order(new: Statement, known: Known, said_at: datetime, reason: str) -> Verdict:
    """The later statement wins, by when it is true if both say so, else by when it was said."""
    if known.until is not None and known.until <= said_at:
        return _UNRELATED  # it was true for a while, and says so itself
    if new.valid_from is not None and known.since is not None:
        if new.valid_from < known.since:
            return Verdict(
                relation=Relation.OLDER, reason=f"{reason}, and what is known is true from a later date"
            )
        return Verdict(relation=Relation.REPLACES, reason=reason)
    if said_at < known.created_at:
        return Verdict(relation=Relation.OLDER, reason=f"{reason}, and what is known was said later")
    began = new.valid_to or new.valid_from
    if began is not None and new.former is None and began < known.created_at and not new.change:
        return Verdict(
            relation=Relation.CONTRADICTS, reason=f"{reason}, but the dates do not tell which is current"
        )
    return Verdict(relation=Relation.REPLACES, reason=reason)


_VERBS = {
    "price": "costs {}", "manager": "reports to {}", "age": "is {} years old", "height": "is {} tall",
    "weight": "weighs {}", "status": "is {}", "location": "is {}", "time": "is at {}", "day": "is on {}",
    "diet": "is {}", "marital status": "is {}", "married to": "is married to {}", "name": "is called {}",
    "deadline": "is due {}", "scheduled for": "is scheduled for {}", "version": "is on version {}",
    "grade": "is in {}", "is": "is {}", "is a": "is a {}", "birthplace": "was born in {}", "sent to": "is sent to {}",
}  # fmt: skip


def sentence_of(statement: Statement) -> str:
    """Subject, predicate and object as a sentence."""
    subject, predicate, value = statement.subject, statement.predicate, statement.object
    plural = subject == "we"
    who = "We" if plural else _with_article(subject, statement.sentence)
    if statement.ends:
        verb = "is" if predicate == "is" else ""
        words = f"{verb} {NO_LONGER}{'' if predicate == 'is' else predicate}".split()
        return f"{who} {' '.join(words)} {value}"
    if predicate in _VERBS:
        return f"{who} {_VERBS[predicate].format(value)}"
    if _is_noun(predicate):
        owner = "Our" if plural else f"{who}'s"
        return f"{owner} {predicate} is {value}"
    return f"{who} {predicate} {value}"


def _with_article(subject: str, sentence: str) -> str:
    """The deadline, but Ana: as it was said."""
    if subject.startswith("our "):
        return "O" + subject[1:]
    return f"The {subject}" if f" the {subject.casefold()}" in f" {sentence.casefold()}" else subject


def _is_noun(predicate: str) -> bool:
    last = predicate.split()[-1]
    if last in {"in", "at", "on", "to", "for", "from", "of", "by", "with", "as"}:
        return False
    read = read_predicate(predicate)
    first = predicate.split()[0]
    return read.kind is Kind.SINGLE or (
        len(predicate.split()) > 1 and not first.endswith("s") and first != "is"
    )
