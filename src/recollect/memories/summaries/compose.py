"""The text of a summary: a line that says of what and when, then one line per sentence with who said it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.memories.summaries.extract import Chosen
from recollect.memories.summaries.sentences import Passage
from recollect.storage.summaries import Place, Target

#: More speakers than this are counted, not named.
_NAMED_SPEAKERS = 3
_NUMBERED = re.compile(r"[0-9a-f-]{32,36}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A summary ready to be stored: its text, `said` without heading and dates, and what it came from."""

    text: str
    said: str
    metadata: dict[str, Any]
    sources: tuple[Passage, ...]
    begins_at: datetime
    model: str | None = None


def compose(
    target: Target,
    place: Place,
    passages: Sequence[Passage],
    chosen: Sequence[Chosen],
    *,
    read: Sequence[int] = (),
    model: str | None = None,
) -> Written:
    """Write chosen sentences down. `read`: passages a model has read beside those it cites."""
    used = sorted({number for sentence in chosen for number in sentence.passages} | set(read))
    number_of = {passage: number for number, passage in enumerate(used, 1)}
    # "Yesterday" in a quotation needs the day it was said on; one day for all is in the heading.
    dated = len({passage.at.date() for passage in passages}) > 1
    lines = [_heading(target, place, passages)]
    said: list[str] = []
    for sentence in chosen:
        first = passages[sentence.passages[0]]
        # A model speaks about people by name; a quotation needs its speaker.
        said_by = f"{first.speaker}: " if first.speaker and model is None else ""
        day = f"({_day(first.at)}) " if dated else ""
        said.append(f"{said_by}{sentence.text}")
        lines.append(f"- {day}{said[-1]}")
    return Written(
        text="\n".join(lines),
        said="\n".join(said),
        metadata={
            "summary": {"kind": target.key.kind, "about": target.key.about},
            "sources": [str(passages[index].id) for index in used],
            # One entry per line: the numbers of its sources, counted from 1.
            "citations": [[number_of[index] for index in sentence.passages] for sentence in chosen],
        },
        sources=tuple(passages[index] for index in used),
        begins_at=min(passage.at for passage in passages),
        model=model,
    )


def _heading(target: Target, place: Place, passages: Sequence[Passage]) -> str:
    first, last = min(p.at for p in passages), max(p.at for p in passages)
    when = _day(first) if first.date() == last.date() else f"{_day(first)} to {_day(last)}"
    if target.key.kind == "scope":
        return f"Summary of {place.layer.value}/{place.name}, {when}:"
    if target.key.kind == "entity":
        return f"About {target.title}, {when}:"
    speakers = list(dict.fromkeys(p.speaker for p in passages if p.speaker))
    # A conversation nobody named has a number for a name, which tells nobody anything.
    name = "" if _NUMBERED.fullmatch(target.title) else f" {target.title}"
    names = ""
    if 1 <= len(speakers) <= _NAMED_SPEAKERS:
        names = " of " + " and ".join([", ".join(speakers[:-1]), speakers[-1]] if speakers[1:] else speakers)
    return f"Conversation{name}{names}, {when}:"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"
