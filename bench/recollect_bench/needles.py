"""Needles: a hundred made-up facts, each with a question that asks for it in other words.

`read_needles` reads them and refuses a set that would be too easy: besides its names, a question may share at most
one content word with its fact (`shared_words`). `plant` hides them at random depths of a text, one line each, and
says on which line each came to stand. What a library answers to the questions is measured in the library benchmark.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from recollect.errors import InvalidInputError
from recollect.text.terms import terms

#: More common words than this, and a plain word search would find the fact.
MAX_SHARED_WORDS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """One fact. `names` may stand in both sentences; `answer` is the piece of the fact that answers."""

    number: int
    fact: str
    question: str
    names: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A needle and the line it stands on, counted from 1 in the text it was planted in."""

    needle: Needle
    line: int


def read_needles() -> list[Needle]:
    """The facts that ship with the benchmark, checked."""
    text = files("recollect_bench").joinpath("data/needles.json").read_text(encoding="utf-8")
    needles = [_needle(row) for row in json.loads(text)["needles"]]
    check_needles(needles)
    return needles


def check_needles(needles: Sequence[Needle]) -> None:
    """Raise for the first needle that is asked for in its own words, or whose answer is not in its fact."""
    for needle in needles:
        shared = shared_words(needle)
        if len(shared) > MAX_SHARED_WORDS:
            raise InvalidInputError(
                f"needle {needle.number} shares the words {sorted(shared)!r} with its question; "
                f"ask in other words: {MAX_SHARED_WORDS} may be common besides the names"
            )
        if needle.answer.casefold() not in needle.fact.casefold():
            raise InvalidInputError(
                f"the answer {needle.answer!r} of needle {needle.number} is not a piece of its fact; copy it from there"
            )


def shared_words(needle: Needle) -> set[str]:
    """Content words of both fact and question, by their stems, without the needle's names."""
    names = {term for name in needle.names for term in terms(name)}
    return (set(terms(needle.fact)) & set(terms(needle.question))) - names


def plant(
    lines: Sequence[str], needles: Sequence[Needle], *, seed: int = 1
) -> tuple[list[str], list[Planted]]:
    """The lines with every fact as a line of its own somewhere between them, and where each one is."""
    chance = random.Random(seed)  # noqa: S311 - reproducible depths, not secrets
    depths = sorted((chance.randint(0, len(lines)), needle.number, needle) for needle in needles)
    text: list[str] = []
    planted: list[Planted] = []
    taken = 0
    for depth, _, needle in depths:
        text.extend(lines[taken:depth])
        taken = depth
        text.append(needle.fact)
        planted.append(Planted(needle=needle, line=len(text)))
    text.extend(lines[taken:])
    return text, planted


def _needle(row: dict[str, Any]) -> Needle:
    return Needle(
        number=row["id"],
        fact=row["fact"],
        question=row["question"],
        names=tuple(row["names"]),
        answer=row["answer"],
    )
