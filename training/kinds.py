"""Kinds that are asked for by a general word, as examples for the judge: see `kinds/README.md`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from examples import Example

from recollect.providers.judge.model import statement

FOLDER = Path(__file__).parent / "kinds"
#: Files that the encoder never sees: what it learned of other kinds is measured on them.
HELD_BACK = frozenset({"hotel", "sales"})
#: Of what belongs to a kind and of what does not, so many are shown with one question; of other kinds so many.
RIGHT, WRONG, OTHERS = (2, 5), (3, 5), 2
_FIRST_DAY = datetime(2025, 1, 1)


@dataclass(slots=True)
class Kind:
    """What is asked, what belongs to it and what only looks like it."""

    name: str
    questions: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    #: Other kinds of the file whose members belong to this one, too.
    within: set[str] = field(default_factory=set)


def read_kinds(path: Path) -> list[Kind]:
    """The kinds of a file."""
    kinds: list[Kind] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, _, text = line.strip().partition(" ")
        if mark == "#":
            kinds.append(Kind(text))
        elif mark in ("?", "+", "-", "=") and kinds and text:
            kind = kinds[-1]
            {"?": kind.questions, "+": kind.members, "-": kind.strangers}.get(mark, []).append(text)
            if mark == "=":
                kind.within.add(text)
        elif line.strip():
            raise ValueError(f"{path.name}:{number}: can't read {line[:60]!r}")
    return kinds


def from_kinds(paths: list[Path], *, seed: int = 0, times: int = 2) -> list[Example]:
    """Every question `times` times, each with another choice of what belongs to the kind and what does not."""
    draw = random.Random(seed)
    examples = []
    for path in paths:
        kinds = read_kinds(path)
        for kind in kinds:
            others = [
                text
                for other in kinds
                if other.name not in kind.within and kind.name not in other.within
                for text in other.members
                if other is not kind and text not in kind.members
            ]
            for question in kind.questions * times:
                right = draw.sample(kind.members, min(draw.randint(*RIGHT), len(kind.members)))
                wrong = draw.sample(kind.strangers, min(draw.randint(*WRONG), len(kind.strangers)))
                wrong += draw.sample(others, min(OTHERS, len(others)))
                if draw.random() < 0.2:
                    right = []  # nothing of the kind was noted
                statements = tuple(_noted(text, draw) for text in right + wrong)
                labels = (1.0,) * len(right) + (0.0,) * len(wrong)
                examples.append(Example(f"kind:{kind.name}", question, statements, labels))
    return examples


def _noted(text: str, draw: random.Random) -> str:
    """A note as the judge reads it: said by the asker, or by nobody in particular."""
    day = _FIRST_DAY + timedelta(days=draw.randrange(700))
    return statement(text, who=draw.choice(("I", None)), at=day)
