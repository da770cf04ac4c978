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
    """The memories that fit, in the order of the text, and the text with its tokens."""

    memories: Sequence[Recalled]
    text: str
    tokens: int


def fit_to_context_window(
    memories: Sequence[Recalled], layout: Layout, *, max_tokens: int = 3000
) -> Fitted | None:
    """Lay out what fits: summaries first, then the best scores; a memory that is too long makes room for the next.

    Tokens of parts add up only nearly to those of the whole, so parts lead the choice and the whole text decides.
    None when not even one memory fits (or, with no memories, the text without any).
    """
    ranked = sorted(memories, key=lambda item: (item.type is not MemoryType.SUMMARY, -item.hit.score))
    fitted = _laid_out(ranked, layout)
    if fitted.tokens <= max_tokens:
        return fitted
    chosen = _choose(ranked, layout, max_tokens)
    while chosen:
        fitted = _laid_out(chosen, layout)
        if fitted.tokens <= max_tokens:
            return fitted
        chosen.pop()
    alone = (_laid_out([item], layout) for item in ranked)
    return next((fitted for fitted in alone if fitted.tokens <= max_tokens), None)


def smallest_context(memories: Sequence[Recalled], layout: Layout) -> int:
    """The tokens of the shortest text that has a memory in it."""
    return min(_laid_out([item], layout).tokens for item in memories)


def _laid_out(memories: Sequence[Recalled], layout: Layout) -> Fitted:
    text = layout.render(memories)
    return Fitted(memories=layout.order(memories), text=text, tokens=count_tokens(text))


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
