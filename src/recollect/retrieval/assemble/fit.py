"""As many memories as a number of tokens holds: the whole text is counted, and no memory is ever cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.memory import MemoryType
from recollect.providers.tokens import count_tokens
from recollect.retrieval.assemble.recalled import Recalled
from recollect.retrieval.assemble.sections import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The memories that fit, in the order of the text, and the text with its tokens.

    When none fits, `smallest_tokens` is what the context with the smallest of them would need.
    """

    memories: Sequence[Recalled]
    text: str
    tokens: int
    smallest_tokens: int | None = None


def fit_to_context_window(memories: Sequence[Recalled], layout: Layout, *, max_tokens: int = 3000) -> Fitted:
    """Lay out what fits: summaries first, then the best scores; a memory that is too long makes room for the next.

    Tokens of parts add up only nearly to those of the whole, so parts lead the choice and the whole text decides.
    """
    ranked = sorted(memories, key=lambda item: (item.type is not MemoryType.SUMMARY, -item.hit.score))
    text = layout.render(ranked)
    tokens = count_tokens(text)
    if tokens <= max_tokens or not ranked:
        return Fitted(memories=layout.order(ranked), text=text, tokens=tokens)
    chosen = _choose(ranked, layout, max_tokens)
    while chosen:
        text = layout.render(chosen)
        if (tokens := count_tokens(text)) <= max_tokens:
            return Fitted(memories=layout.order(chosen), text=text, tokens=tokens)
        chosen.pop()
    return _one_alone(ranked, layout, max_tokens)


def _choose(ranked: Sequence[Recalled], layout: Layout, max_tokens: int) -> list[Recalled]:
    """The memories whose parts add up to the room; headings count once they are needed."""
    room = max_tokens - count_tokens(layout.render([]))
    chosen: list[Recalled] = []
    for item in ranked:
        needed = count_tokens(layout.tell(item))
        if needed <= room:
            chosen.append(item)
            room -= needed
    return chosen


def _one_alone(ranked: Sequence[Recalled], layout: Layout, max_tokens: int) -> Fitted:
    """The first memory that fits by itself; else none, and what the smallest would need."""
    smallest: int | None = None
    for item in ranked:
        text = layout.render([item])
        tokens = count_tokens(text)
        if tokens <= max_tokens:
            return Fitted(memories=[item], text=text, tokens=tokens)
        smallest = tokens if smallest is None else min(smallest, tokens)
    return Fitted(memories=[], text="", tokens=0, smallest_tokens=smallest)
