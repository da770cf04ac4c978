"""A candidate as the judge reads it, seen from the asker: "I" is whoever asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from recollect.domain.layers import Layer
from recollect.domain.names import folded
from recollect.domain.tenancy import TenantContext
from recollect.providers.judge.model import TEXT_CHARS, statement
from recollect.text.sentences import split_sentences
from recollect.text.terms import query_terms, terms

#: How programs call the person who talks to them.
_ROLES = frozenset({"user", "human", "me", "i"})
_SEPARATORS = re.compile(r"[^\w]+|_")
#: What is kept of the beginning of a long text, which says what it is about.
_OPENING_CHARS = 60
#: How far into a text its sentences are compared with the question.
_SEARCHED_CHARS = 20_000
_PERSONAL = (Layer.USER, Layer.AGENT, Layer.SESSION)


def is_asker(name: str, user_id: str | None) -> bool:
    """Whether a speaker's name is the asker's: "Ines" and "ines.b@studio" are the same person."""
    if user_id is None:
        return False
    spoken, own = folded(name), folded(user_id)
    if spoken == own:
        return True
    parts = [part for part in _SEPARATORS.split(own.partition("@")[0]) if part]
    words = [word for word in _SEPARATORS.split(spoken) if word]
    return bool(parts) and bool(words) and (words == parts or (words[0] == parts[0] and len(words[0]) > 2))


def is_own(shown: Any, context: TenantContext) -> bool:
    """Whether a memory lies in a scope of the asker's own."""
    layer = Layer.from_precedence(shown["layer"])
    return layer in _PERSONAL and shown["scope_name"] in (
        context.user_id,
        context.agent_id,
        context.session_id,
    )


def is_private_to_another(shown: Any, context: TenantContext) -> bool:
    """Whether a memory is another user's own, which somebody with wide rights may see."""
    return Layer.from_precedence(shown["layer"]) is Layer.USER and shown["scope_name"] != context.user_id


def statement_of(question: str, shown: Any, context: TenantContext, relations: Mapping[str, str]) -> str:
    """What the judge is told of a memory; of a long one, what has most words of the question.

    One that names a thing which the user's own database relates to the question is told with that relation: "order
    12345 of Acme Corporation".
    """
    own = is_own(shown, context)
    relation = relation_of(shown, relations)
    before = relation or shown["before_text"]
    if before is not None and relation is None and shown["before_speaker"]:
        before = f"{_who(shown['before_speaker'], own, context)}: {before}"
    who = _who(shown["speaker"], own, context) if shown["speaker"] else ("I" if own else None)
    return statement(
        excerpt(question, shown["text"]), who=who, at=shown["event_at"] or shown["created_at"], before=before
    )


def excerpt(question: str, text: str) -> str:
    """As much of a text as the judge reads: its opening, and the sentences that have most words of the question."""
    if len(text) <= TEXT_CHARS:
        return text
    opening = " ".join(text[:_OPENING_CHARS].split()[:-1])
    room = TEXT_CHARS - len(opening) - 3
    wanted = frozenset(query_terms(question))
    sentences = [" ".join(sentence.split())[:room] for sentence in split_sentences(text[:_SEARCHED_CHARS])]
    words = [wanted.intersection(terms(sentence)) for sentence in sentences]
    opened = wanted.intersection(terms(opening))
    best, most = text[:TEXT_CHARS], len(wanted.intersection(terms(text[:TEXT_CHARS])))
    for first in range(1, len(sentences)):
        length, last = len(sentences[first]), first + 1
        while last < len(sentences) and length + 1 + len(sentences[last]) <= room:
            length, last = length + 1 + len(sentences[last]), last + 1
        count = len(opened.union(*words[first:last]))
        if count > most:
            best, most = f"{opening} … {' '.join(sentences[first:last])}", count
    return best


def relation_of(shown: Any, relations: Mapping[str, str]) -> str | None:
    """What relates a memory to the question in the user's own database, by the things that it names."""
    keys = (*shown["entities"], *shown["mentions"])
    return next((relations[key] for key in keys if key in relations), None)


def _who(speaker: str, own: bool, context: TenantContext) -> str:
    if is_asker(speaker, context.user_id) or (own and speaker.casefold() in _ROLES):
        return "I"
    return speaker
