"""A context's text out of what was found: laid out, fitted, and what had to be left out said in notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.domain.answers import DomainResults
from recollect.domain.query import TimeRange, Understanding
from recollect.errors import InvalidInputError
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.retrieval.assemble.compare import split_by_side
from recollect.retrieval.assemble.current_data import format_domain_results
from recollect.retrieval.assemble.fit import Fitted, fit_to_context_window
from recollect.retrieval.assemble.recalled import Recalled, one_line
from recollect.retrieval.assemble.sections import Layout, asks_for_dates, one_line_context

#: More than any model reads; a larger number is a mistake in a unit.
MAX_MAX_TOKENS = 10_000_000
#: The question is quoted with at most so many tokens, and with at most a tenth of a small budget.
QUERY_TOKENS = 100


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
    periods: Sequence[TimeRange] = (),
) -> Assembled:
    """The context for a question: never more than `max_tokens`, headings and preamble included. Pure."""
    question = first_tokens(one_line(asked.query), min(QUERY_TOKENS, max(8, max_tokens // 10)))
    current_data = "" if domain_results is None else format_domain_results(domain_results)
    if not recalled and not current_data:
        return _without_memories(question, max_tokens, recalled, None)
    layout = Layout(
        question=question,
        now=asked.now,
        sides=split_by_side(asked.query, recalled, entities=asked.entities, periods=periods),
        current_data=current_data,
        dated=asks_for_dates(asked.query),
        scoped=len({item.memory.scope for item in recalled}) > 1,
        found=bool(recalled),
    )
    fitted = fit_to_context_window(recalled, layout, max_tokens=max_tokens)
    if domain_results is not None and current_data and not _complete(fitted, recalled, max_tokens):
        # Neither may crowd out the other: current data gets half, and memories what is left.
        room = (
            max_tokens // 2
            if recalled
            else max_tokens - count_tokens(replace(layout, current_data="x").render([]))
        )
        layout = replace(layout, current_data=format_domain_results(domain_results, max_tokens=max(room, 0)))
        fitted = fit_to_context_window(recalled, layout, max_tokens=max_tokens)
    if not fitted.memories:
        text = layout.render([]) if layout.current_data else ""
        if not text or count_tokens(text) > max_tokens:
            return _without_memories(question, max_tokens, recalled, fitted.smallest_tokens)
        fitted = replace(fitted, text=text, tokens=count_tokens(text))
    return Assembled(
        text=fitted.text,
        tokens=fitted.tokens,
        memories=fitted.memories,
        omitted=len(recalled) - len(fitted.memories),
        notes=_notes(len(recalled), len(fitted.memories), max_tokens, fitted.smallest_tokens),
    )


def _complete(fitted: Fitted, recalled: Sequence[Recalled], max_tokens: int) -> bool:
    return len(fitted.memories) == len(recalled) and fitted.tokens <= max_tokens


def _without_memories(
    question: str, max_tokens: int, recalled: Sequence[Recalled], smallest_tokens: int | None
) -> Assembled:
    """One line; in the tightest of budgets, nothing at all."""
    text = one_line_context(question, found=bool(recalled))
    tokens = count_tokens(text)
    if tokens > max_tokens:
        text, tokens = "", 0
    return Assembled(
        text=text,
        tokens=tokens,
        memories=(),
        omitted=len(recalled),
        notes=_notes(len(recalled), 0, max_tokens, smallest_tokens),
    )


def _notes(found: int, told: int, max_tokens: int, smallest_tokens: int | None) -> tuple[str, ...]:
    if found == told:
        return ()
    if told == 0:
        return (
            f"none of the {found} relevant memories fits into {max_tokens} tokens: a context with the smallest one needs "
            f"{smallest_tokens}; raise max_tokens to that or more",
        )
    left = found - told
    return (
        f"{left} more relevant {'memory' if left == 1 else 'memories'} did not fit into {max_tokens} tokens; "
        "raise max_tokens to see more",
    )
