"""A statement as a sentence of its own, which can be searched for without the talk around it."""

from __future__ import annotations

from recollect.text.facts.predicates import Kind, read_predicate
from recollect.text.facts.relating import NO_LONGER
from recollect.text.facts.statement import Statement

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
