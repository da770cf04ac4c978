"""What `ask` gives back: an answer in words, and where every part of it can be read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.domain.codec import Value
from recollect.domain.findings import Citation

NOT_KNOWN = "Not known."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart(Value):
    """What one source answered, told as soon as it has. Its marks are those of the whole answer.

    `first_mark` is the number of the first of `citations`, which are those that no part before has.
    """

    source: str
    text: str
    first_mark: int
    citations: tuple[Citation, ...] = ()
    type: str = "answer_part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Value):
    """An answer in Markdown. The marks in `text` stand for `citations`: the first is [1].

    `found` is False when no source answers. `sources` are those that did; `coverage` says of each that was asked how
    much of it was looked at. `cost_usd` is what models cost, None when one has no published price.
    """

    question: str
    text: str
    found: bool
    citations: tuple[Citation, ...] = ()
    sources: tuple[str, ...] = ()
    coverage: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cost_usd: float | None = 0.0

    def __str__(self) -> str:
        """The text, as it is read."""
        return self.text
