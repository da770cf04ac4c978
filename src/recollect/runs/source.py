"""The common door of what can be asked: a `Source` answers a question within a budget.

Memories (`retrieval/told.py`), documents (`oracle/source.py`) and code (`codebase/source.py`) are sources, each by its
own means. What they may spend is one purse and one clock for all that are asked together.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from recollect.domain.findings import Citation
from recollect.domain.oracle import DepthHint
from recollect.domain.query import Aim
from recollect.domain.trajectory import RunPlan
from recollect.providers.models.purse import Purse

#: What stands above the words of a source where several answer.
HEADINGS = {"memories": "Memories", "library": "Documents", "code": "Code"}
#: Hears of what happens: events of consultations and explorations, and parts of the answer.
Hearer = Callable[[Any], Awaitable[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that was checked and understood, and what all its sources together may use.

    `model` is the one that was named; None means that of the settings. `deadline` is by the monotonic clock.
    `on_event` hears what the sources do.
    """

    text: str
    aim: Aim
    depth: DepthHint
    model: str | None
    purse: Purse
    deadline: float
    on_event: Hearer | None = None

    def seconds_left(self) -> float:
        """Of the time that all sources have."""
        return max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a source answers: its words, and what the marks in them stand for. Without words it has no answer.

    Words that are not `sure` come nearest to the question and may not answer it: they are said where nobody knows more.
    """

    text: str = ""
    sure: bool = True
    citations: tuple[Citation, ...] = ()
    notes: tuple[str, ...] = ()
    coverage: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """Something that can be asked."""

    @property
    def name(self) -> str:
        """As `Answer.sources` has it."""
        ...

    async def tell(self, question: Question) -> Told:
        """The answer, within what the question may use."""
        ...

    async def plan(self, question: Question) -> RunPlan:
        """The most that the answer may take; nobody is asked."""
        ...
