"""What an exploration is asked, checked before anything is opened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.codebase.budget import TIMEOUT_SECONDS
from recollect.config import Settings
from recollect.domain.ids import new_id
from recollect.domain.text import check_whole
from recollect.errors import InvalidInputError, InvalidTextError
from recollect.runs.roles import PRESETS, Role, get_role

MAX_QUERY_CHARS = 20_000
MAX_HINTS = 100
MAX_TASK_ID_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreRequest:
    """A checked request; what was not given is filled in from the settings."""

    task_id: str
    query: str
    context_hints: tuple[str, ...]
    max_subcalls: int
    max_subcalls_per_iteration: int
    timeout_seconds: float
    max_tokens: int | None = None
    max_usd: float | None = None
    preset: Role | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """What it may use, by name."""
        names = ("max_subcalls", "max_subcalls_per_iteration", "timeout_seconds", "max_tokens", "max_usd")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def check(
        cls,
        settings: Settings,
        *,
        query: str,
        task_id: str | None = None,
        context_hints: Sequence[str] | None = None,
        max_subcalls: int | None = None,
        max_subcalls_per_iteration: int | None = None,
        timeout_seconds: float | None = None,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        preset: str | None = None,
    ) -> ExploreRequest:
        """Raise for what makes no sense."""
        chosen = None if preset is None else get_role(preset, PRESETS)
        question = query if isinstance(query, str) else ""
        if not question.strip() and chosen is not None:
            question = chosen.question
        if not question.strip():
            raise InvalidTextError("the query is empty; say in words what to look for")
        if len(question) > MAX_QUERY_CHARS:
            raise InvalidTextError(
                f"the query has {len(question):,} characters, the limit is {MAX_QUERY_CHARS:,}; "
                "give long material such as stack traces as hints"
            )
        return cls(
            task_id=check_task_id(task_id),
            query=question,
            context_hints=_hints(context_hints),
            max_subcalls=_whole("max_subcalls", max_subcalls, settings.budget.max_subcalls),
            max_subcalls_per_iteration=_whole(
                "max_subcalls_per_iteration",
                max_subcalls_per_iteration,
                settings.budget.max_subcalls_per_iteration,
            ),
            timeout_seconds=_seconds(timeout_seconds, settings.budget.timeout_seconds or TIMEOUT_SECONDS),
            max_tokens=None if max_tokens is None else _whole("max_tokens", max_tokens, 0),
            max_usd=None if max_usd is None else _number("max_usd", max_usd),
            preset=chosen,
        )


def check_task_id(task_id: object) -> str:
    """A task's name; a new one when none is given."""
    if task_id is None:
        return f"explore-{new_id()}"
    if not isinstance(task_id, str) or not task_id.strip():
        raise InvalidInputError(f"task_id {task_id!r} is not a name; give a string")
    if len(task_id) > MAX_TASK_ID_CHARS or not task_id.isprintable():
        raise InvalidInputError(
            f"the task_id is longer than {MAX_TASK_ID_CHARS} characters or not printable; give a short name"
        )
    return task_id


def _hints(hints: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(hints, str):
        raise InvalidInputError(f"context_hints must be a list, not the string; write [{hints[:80]!r}]")
    given = tuple(hints or ())
    if len(given) > MAX_HINTS:
        raise InvalidInputError(
            f"{len(given)} hints, the limit is {MAX_HINTS}; join those of one stack trace"
        )
    for hint in given:
        if not isinstance(hint, str):
            raise InvalidInputError(
                f"the hint {hint!r} is not a string; give paths, symbols, globs or stack traces"
            )
    # A pasted trace may be of any length; its innermost frames, at one end or the other, say the most.
    half = MAX_QUERY_CHARS // 2
    cut = (hint if len(hint) <= MAX_QUERY_CHARS else f"{hint[: half - 1]}\n{hint[-half:]}" for hint in given)
    return tuple(hint for hint in cut if hint.strip())


def _whole(name: str, value: object, default: int) -> int:
    return default if value is None else check_whole(name, value, least=0)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InvalidInputError(f"{name} {value!r} is not a number from 0 on")
    return float(value)


def _seconds(value: object, default: float) -> float:
    return default if value is None else _number("timeout_seconds", value)
