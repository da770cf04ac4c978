"""A summary in a model's own words, every sentence of it checked against the memories it names.

The model is shown numbered memories between fences and gives sentences with the numbers they rest on. A sentence
that names no memory, or has figures, names or too many words that are in none of those it names, is dropped; if
none is left, `consolidate` quotes instead. The instructions are in summarise.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.memories.summaries.extract import (
    CHATTER,
    MAX_SENTENCES,
    MAX_WORDS,
    Chosen,
    Passage,
    count_words,
)
from recollect.runs.fences import read_prompt
from recollect.storage.summaries import Place, Target
from recollect.text.terms import terms

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: Memories one request shows a small model, and the characters of each; those chosen say most of what there is.
MAX_SHOWN = 40
_SHOWN_CHARS = 600
_OUTPUT_TOKENS = 600
#: Words of the memories a small model is shown.
_SHOWN_WORDS = 1_500
#: Of a sentence's words, so many must be in what it cites; the rest joins them into a sentence.
_GROUNDED_SHARE = 0.6
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[\w,;:)] )[A-Z][\w'’-]*")
_FENCE = re.compile(r"<(/?\s*memories)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelSentence:
    """One sentence of a summary, and the numbers of the memories it rests on."""

    text: str
    sources: list[int]


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What the model is asked for."""

    sentences: list[ModelSentence]


async def rephrase(
    model: ChatModel, title: str, passages: Sequence[Passage], places: Sequence[int]
) -> list[Chosen]:
    """The model's sentences that hold; raises a `ModelError` when it gave none of the asked form."""
    large = model.profile.shape != "small"
    text = fenced(title, passages, places, most_chars=20_000 if large else _SHOWN_CHARS)
    answer = await model.answer(
        read_prompt(__package__, "summarise.md"), text, ModelSummary, max_tokens=_OUTPUT_TOKENS
    )
    return grounded(answer.value.sentences, passages, places)


def most_shown(model: ChatModel) -> tuple[int, int]:
    """How many memories one request shows, and how many words of them: half of what the model's window holds."""
    if model.profile.shape == "small":
        return MAX_SHOWN, _SHOWN_WORDS
    # Choosing among memories compares each with each; two hundred are the whole of most conversations.
    return min(model.profile.findings, 200), model.profile.part_tokens // 3


def fenced(
    title: str, passages: Sequence[Passage], places: Sequence[int], *, most_chars: int = _SHOWN_CHARS
) -> str:
    """The memories as the model sees them; nothing in them can close the fence."""
    lines = [f"About: {_harmless(title)}"]
    for number, index in enumerate(places, 1):
        passage = passages[index]
        speaker = f", {_harmless(passage.speaker)}" if passage.speaker else ""
        text = _harmless(passage.text)[:most_chars]
        lines.append(f"[{number}] {passage.at:%Y-%m-%d}{speaker}: {text}")
    return "<memories>\n" + "\n".join(lines) + "\n</memories>"


def _harmless(text: str) -> str:
    return _FENCE.sub(r"‹\1", " ".join(text.split()))


def grounded(
    sentences: Sequence[ModelSentence], passages: Sequence[Passage], places: Sequence[int]
) -> list[Chosen]:
    """Of a model's sentences those that say what the memories they cite say, within the budget."""
    kept: list[Chosen] = []
    words = 0
    for sentence in sentences:
        text = " ".join(sentence.text.split())
        numbers = list(dict.fromkeys(sentence.sources))
        if not text or not numbers or not all(1 <= number <= len(places) for number in numbers):
            continue
        cited = [places[number - 1] for number in numbers]
        words += count_words(text)
        if words > MAX_WORDS or len(kept) == MAX_SENTENCES:
            break
        if any(text == other.text for other in kept) or not holds(text, [passages[i] for i in cited]):
            continue
        kept.append(Chosen(text=text, passages=tuple(cited)))
    return kept


def holds(text: str, cited: Sequence[Passage]) -> bool:
    """Whether the cited memories have a sentence's figures, its names and most of its words."""
    evidence = " ".join(f"{p.at:%Y-%m-%d} {p.at.day} {p.at:%B %Y} {p.speaker or ''} {p.text}" for p in cited)
    figures = set(_FIGURE.findall(evidence))
    if not set(_FIGURE.findall(text)) <= figures:
        return False
    known = set(terms(evidence))
    for name in _NAME.findall(text):
        if not set(terms(name)) <= known:
            return False
    words = [term for term in set(terms(text)) if term not in CHATTER]
    return bool(words) and sum(term in known for term in words) >= _GROUNDED_SHARE * len(words)


#: More speakers than this are counted, not named.
_NAMED_SPEAKERS = 3
_NUMBERED = re.compile(r"[0-9a-f-]{32,36}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A summary ready to be stored: its text, its `words` without heading and dates, and what it came from."""

    text: str
    words: str
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
    sentences: list[str] = []
    for sentence in chosen:
        first = passages[sentence.passages[0]]
        # A model speaks about people by name; a quotation needs its speaker.
        said_by = f"{first.speaker}: " if first.speaker and model is None else ""
        day = f"({_day(first.at)}) " if dated else ""
        sentences.append(f"{said_by}{sentence.text}")
        lines.append(f"- {day}{sentences[-1]}")
    return Written(
        text="\n".join(lines),
        words="\n".join(sentences),
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
