"""One memory on its way into a context: how it was found, what is stored, and how it reads.

Every line that a stored text fills begins with a dash or with blanks, and nothing in it can close the fence around
the memories: what stands at the beginning of a line is ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recollect.domain.context import guarded
from recollect.domain.memory import Memory, MemoryType, compose_text
from recollect.domain.results import Hit

_MINUTE_S = 60
_HOUR_S = 60 * _MINUTE_S
_DAY_S = 24 * _HOUR_S
#: Units in which people speak of a moment, with their length and the age from which each is used. Days go on until two
#: weeks, weeks until a month, months until a year: "10 days ago" says more than "1 week ago".
_UNITS = (
    ("year", 365.2425 * _DAY_S, 365 * _DAY_S),
    ("month", 30.436875 * _DAY_S, 30 * _DAY_S),
    ("week", 7 * _DAY_S, 14 * _DAY_S),
    ("day", _DAY_S, _DAY_S),
    ("hour", _HOUR_S, _HOUR_S),
    ("minute", _MINUTE_S, _MINUTE_S),
)

_PIPE = re.compile(r"(\\*)\|")

#: How well-known predicates read between a subject and an object; others read as they are written.
PREDICATES: Mapping[str, str] = {
    "has_property": "has",
    "has": "has",
    "is": "is",
    "is_a": "is a",
    "type_of": "is a",
    "instance_of": "is a",
    "related_to": "is related to",
    "part_of": "is part of",
    "belongs_to": "belongs to",
    "member_of": "is a member of",
    "works_at": "works at",
    "works_for": "works for",
    "works_on": "works on",
    "works_as": "works as",
    "reports_to": "reports to",
    "manages": "manages",
    "lives_in": "lives in",
    "located_in": "is located in",
    "located_at": "is located at",
    "based_in": "is based in",
    "born_in": "was born in",
    "born_on": "was born on",
    "married_to": "is married to",
    "parent_of": "is a parent of",
    "child_of": "is a child of",
    "sibling_of": "is a sibling of",
    "friend_of": "is a friend of",
    "named": "is named",
    "called": "is called",
    "also_known_as": "is also known as",
    "prefers": "prefers",
    "likes": "likes",
    "dislikes": "dislikes",
    "allergic_to": "is allergic to",
    "interested_in": "is interested in",
    "owns": "owns",
    "owned_by": "is owned by",
    "created_by": "was created by",
    "made_by": "was made by",
    "written_in": "is written in",
    "uses": "uses",
    "used_by": "is used by",
    "depends_on": "depends on",
    "requires": "requires",
    "supports": "supports",
    "replaces": "replaces",
    "replaced_by": "was replaced by",
    "costs": "costs",
    "due_on": "is due on",
    "scheduled_for": "is scheduled for",
    "responsible_for": "is responsible for",
    "caused_by": "was caused by",
    "speaks": "speaks",
    "knows": "knows",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A hit together with the memory behind it."""

    hit: Hit
    memory: Memory

    @property
    def type(self) -> MemoryType:
        """The memory's type, which decides its section."""
        return self.memory.type

    @property
    def when(self) -> datetime:
        """When it was true or, if that is not known, when it was learned."""
        return self.memory.valid_from or self.memory.created_at


def format_semantic_triple(semantic_memory: Memory) -> str:
    """A fact's subject, predicate and object as a sentence; the stored text where the parts are not known."""
    subject, predicate, value = semantic_memory.subject, semantic_memory.predicate, semantic_memory.object
    if not (subject and predicate and value):
        return semantic_memory.text
    key = re.sub(r"[\s_-]+", "_", predicate.strip().casefold())
    return f"{subject} {PREDICATES.get(key) or predicate.replace('_', ' ')} {value}"


def format_fact(memory: Memory) -> str:
    """A fact as it reads best: what was written about it, or its parts when nothing more was."""
    parts = {name: getattr(memory, name) for name in ("subject", "predicate", "object", "trigger", "action")}
    composed = compose_text(MemoryType.SEMANTIC, parts)
    sentence = format_semantic_triple(memory) if memory.text == composed else memory.text
    if memory.valid_to is not None:
        sentence += f" (until {memory.valid_to:%Y-%m-%d})"
    return sentence


def spoken(memory: Memory) -> str:
    """What was said, and who said it."""
    return f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text


def time_remark(when: datetime, now: datetime, *, dated: bool) -> str:
    """For example "2 weeks ago"; with the date as well where the question asks for one."""
    ago = format_time_ago(when, now)
    return f"{ago}, {when.astimezone(now.tzinfo):%Y-%m-%d}" if dated else ago


def list_item(text: str, remark: str = "", *, indent: str = "", mark: str = "- ") -> str:
    """A text as one item of a list, whole; its further lines are indented so that they stay inside the item."""
    first, *further = guarded(text).strip().splitlines() or [""]
    body = "\n".join([first, *(f"{indent}  {line}".rstrip() for line in further)])
    return f"{indent}{mark}{body}{f' ({remark})' if remark else ''}\n"


def table_cell(text: str) -> str:
    """A text as one cell of a Markdown table: on one line, its pipes escaped."""
    line = "<br>".join(part for part in (raw.strip() for raw in guarded(text).splitlines()) if part)
    # A backslash before a pipe would undo the escape, so it is doubled.
    return _PIPE.sub(lambda match: match[1] * 2 + r"\|", line)


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(guarded(text).split())


def format_time_ago(moment: datetime, now: datetime) -> str:
    """How long ago a moment is, or how far ahead, in the largest unit that fits. Both must have a zone."""
    distance_s = (now - moment).total_seconds()
    length_s = abs(distance_s)
    for name, unit_s, from_s in _UNITS:
        if length_s >= from_s:
            count = max(1, int(length_s / unit_s))
            words = f"{count} {name}{'' if count == 1 else 's'}"
            return f"{words} ago" if distance_s > 0 else f"in {words}"
    return "just now"
