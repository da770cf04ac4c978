"""A context's text out of what was found: laid out, fitted, and what had to be left out said in notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from recollect.domain.memory import MemoryType
from recollect.domain.ontology import DomainResults
from recollect.domain.query import TimeRange, Understanding
from recollect.errors import InvalidInputError
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.retrieval.assemble.compare import find_sides, is_comparison, split_by_side
from recollect.retrieval.assemble.recalled import Recalled, one_line
from recollect.retrieval.assemble.sections import (
    Layout,
    asks_for_dates,
    format_domain_results,
    one_line_context,
)
from recollect.text.times import find_times


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


#: More than any model reads; a larger number is a mistake in a unit.
MAX_MAX_TOKENS = 10_000_000
#: The question is quoted with at most so many tokens; where nothing fits then, with its first words.
QUERY_TOKENS = 100
FEW_QUERY_TOKENS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """The text, the memories in it in its order, and how many are not in it."""

    text: str
    tokens: int
    memories: Sequence[Recalled]
    omitted: int
    notes: tuple[str, ...]


def check_max_tokens(value: object) -> int:
    """A budget that can be kept."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"max_tokens {value!r} is not a whole number; 3000 is the default")
    if value < 1:
        raise InvalidInputError(
            f"max_tokens {value!r} leaves no room for a context; give at least 1, or leave it out for 3000"
        )
    if value > MAX_MAX_TOKENS:
        raise InvalidInputError(
            f"max_tokens {value!r} is more than {MAX_MAX_TOKENS:,}; give what your model reads"
        )
    return value


def assemble(
    recalled: Sequence[Recalled],
    asked: Understanding,
    *,
    max_tokens: int = 3000,
    domain_results: DomainResults | None = None,
) -> Assembled:
    """The context for a question: never more than `max_tokens`, headings and preamble included. Pure."""
    layout = Layout(
        question=first_tokens(one_line(asked.query), QUERY_TOKENS),
        now=asked.now,
        sides=split_by_side(asked.query, recalled, entities=asked.entities, periods=_periods(asked)),
        current_data="" if domain_results is None else format_domain_results(domain_results),
        dated=asks_for_dates(asked.query),
        scoped=len({item.memory.scope for item in recalled}) > 1,
        found=bool(recalled),
    )
    terse = replace(layout, question=first_tokens(layout.question, FEW_QUERY_TOKENS))
    best = _fit_all(recalled, layout, domain_results, max_tokens)
    if best is None or not best.memories:
        best = _fit_all(recalled, terse, domain_results, max_tokens) or best
    if best is None:
        text = one_line_context(terse.question, found=bool(recalled))
        best = Fitted(memories=(), text=text, tokens=count_tokens(text))
        if best.tokens > max_tokens:
            best = Fitted(memories=(), text="", tokens=0)
    needed = None if best.memories or not recalled else smallest_context(recalled, terse)
    return Assembled(
        text=best.text,
        tokens=best.tokens,
        memories=best.memories,
        omitted=len(recalled) - len(best.memories),
        notes=_notes(len(recalled), len(best.memories), max_tokens, needed),
    )


def _periods(asked: Understanding) -> Sequence[TimeRange]:
    """The times that a question compares."""
    if not is_comparison(asked.query):
        return ()
    zone = asked.now.tzinfo or UTC
    # "between yesterday and today" is one period to a calendar; the question means its two ends.
    sides = [find_times(side, now=asked.now, timezone=zone) for side in find_sides(asked.query)]
    ends = [times[0] for times in sides if times]
    return ends if len(ends) > 1 else find_times(asked.query, now=asked.now, timezone=zone)


def _fit_all(
    recalled: Sequence[Recalled], layout: Layout, domain_results: DomainResults | None, max_tokens: int
) -> Fitted | None:
    """Memories and current data in one text; None when there is neither, or no room for either."""
    fitted = fit_to_context_window(recalled, layout, max_tokens=max_tokens)
    complete = fitted is not None and len(fitted.memories) == len(recalled)
    if domain_results is not None and layout.current_data and not complete:
        # Neither may crowd out the other: current data gets half, and memories what is left.
        around = count_tokens(replace(layout, current_data="-").render([]))
        room = max_tokens // 2 if recalled else max_tokens - around
        layout = replace(layout, current_data=format_domain_results(domain_results, max_tokens=max(room, 0)))
        fitted = fit_to_context_window(recalled, layout, max_tokens=max_tokens)
    if fitted is not None and (fitted.memories or layout.current_data):
        return fitted
    return fit_to_context_window((), layout, max_tokens=max_tokens) if layout.current_data else None


def _notes(found: int, told: int, max_tokens: int, needed: int | None) -> tuple[str, ...]:
    if needed is not None:
        which = (
            "the relevant memory does not fit" if found == 1 else f"none of {found} relevant memories fits"
        )
        return (
            f"{which} into {max_tokens} tokens: a context with the smallest one needs {needed}; "
            "raise max_tokens to that or more",
        )
    if left := found - told:
        which = "memory" if left == 1 else "memories"
        return (
            f"{left} more relevant {which} did not fit into {max_tokens} tokens; raise max_tokens to see more",
        )
    return ()
