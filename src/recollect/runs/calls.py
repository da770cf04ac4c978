"""One call of a tool: checked, answered from the cache or run within its limits, and recorded whatever happens.

`LiveCalls` runs tools; `RecordedCalls` in `trajectory.py` gives what a record says. The loop around them is
`engine.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from recollect import telemetry
from recollect.domain.trajectory import CallRecord, Trajectory
from recollect.errors import DepthLimitError, InvalidInputError, RecollectError
from recollect.runs.budget import Budget, check_cost
from recollect.runs.cache import Cache, CacheKey, NotRunError, cache_key
from recollect.runs.deadline import CutError, within
from recollect.runs.environment import CallContext, Environment, Observation, Tool
from recollect.runs.planners.contract import Call, CallAnswer
from recollect.runs.times import Span

_log = logging.getLogger(__name__)

#: Of an error's text; a driver's may hold a whole query.
_ERROR_CHARS = 500


#: Starts a run for a call, and keeps it even if the call is cut short: `start(query, keep)`.
StartRun = Callable[[str, Callable[[Trajectory], None]], Awaitable[Trajectory]]


class Calls(Protocol):
    """Who answers the calls of a run."""

    async def answer(self, call: Call, *, span: Span, iteration: int, place: int) -> CallAnswer:
        """The outcome; a cancelled call has one, too."""
        ...


class _RefusedError(NotRunError):
    """The budget has no room; `word` says where."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


@dataclass(slots=True)
class _Attempt:
    """What a call has done so far; read when it ends, however it ends."""

    tool: Tool
    parameters: Any
    dumped: dict[str, Any]
    worst: tuple[int, float]
    cached: bool = False
    #: Tokens, dollars and requests; None unless its tool ran.
    cost: tuple[int, float, int] | None = None
    note: str | None = None
    children: list[Trajectory] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCalls:
    """Runs the calls of one run."""

    query: str
    environment: Environment
    budget: Budget
    cache: Cache
    start_run: StartRun

    async def answer(self, call: Call, *, span: Span, iteration: int = 0, place: int = 0) -> CallAnswer:
        """Check it, answer it, record it."""
        try:
            attempt = self._check(call)
        except InvalidInputError as error:
            return self._invalid(call, span, str(error))
        try:
            with telemetry.span(attempt.tool.name, depth=self.budget.depth):
                observation = await self._observe(attempt)
        except _RefusedError as refused:
            return self._failed(attempt, span, str(refused), refused_by=refused.word)
        except DepthLimitError as error:
            return self._failed(attempt, span, str(error), refused_by="depth")
        except asyncio.CancelledError:
            # Only the engine cancels these tasks, and it asks for their outcome.
            return self._failed(attempt, span, "cut short: the run ended before the call did")
        except CutError as cut:
            limit = self.budget.limits.sub_call_timeout_s
            why = f"no answer within {limit:g} s" if cut.by == "timeout" else "the call cancelled itself"
            return self._failed(attempt, span, why)
        except RecollectError as error:
            return self._failed(attempt, span, str(error))
        except Exception as error:
            _log.warning("the tool %r failed", call.tool, exc_info=error)
            return self._failed(attempt, span, f"{type(error).__name__}: {error}")
        return CallAnswer(
            record=self._record(attempt, span, result=observation.value),
            text=observation.text,
            findings=observation.findings,
            note=attempt.note,
        )

    def _check(self, call: Call) -> _Attempt:
        from pydantic import ValidationError

        tool = self.environment.tools.get(call.tool)
        if tool is None:
            known = ", ".join(sorted(self.environment.tools))
            raise InvalidInputError(f"there is no tool {call.tool!r}; there are {known or 'none'}")
        try:
            parameters = tool.parameters.model_validate(dict(call.parameters))
            worst = (0, 0.0)
            if tool.worst is not None:
                worst = tool.worst(parameters)
                check_cost(*worst)
            dumped = parameters.model_dump(mode="json")
            return _Attempt(tool=tool, parameters=parameters, dumped=dumped, worst=worst)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(str(part) for part in fault['loc']) or 'parameters'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False)[:5]
            )
            raise InvalidInputError(f"the parameters of {call.tool!r} are wrong: {wrong}") from error
        except Exception as error:
            raise InvalidInputError(f"the parameters of {call.tool!r} can't be read: {error}") from error

    def _invalid(self, call: Call, span: Span, error: str) -> CallAnswer:
        """A call that can't run is a sub-call: a planner that never gets one right must come to an end."""
        refused = None if self.budget.reserve() else self.budget.refusal()
        return _unrun(call, span, _short(error), _as_json(call.parameters), refused_by=refused)

    async def _observe(self, attempt: _Attempt) -> Observation:
        key = await self._key(attempt) if attempt.tool.cacheable else None
        if key is None:
            return await self._run(attempt)
        attempt.cached = True
        observation = await self.cache.answer(key, partial(self._run, attempt), depth=self.budget.depth)
        telemetry.looked_up(attempt.cached)
        return observation

    async def _key(self, attempt: _Attempt) -> CacheKey | None:
        name, environment = attempt.tool.name, self.environment
        try:
            if getattr(environment, "reads_disk", False):
                content_hash = await asyncio.to_thread(environment.content_hash, name, attempt.dumped)
            else:
                content_hash = environment.content_hash(name, attempt.dumped)
            return cache_key(self.environment.name, name, attempt.dumped, content_hash)
        except Exception as error:
            _log.warning("a call of %r can't be cached", name, exc_info=error)
            return None

    async def _run(self, attempt: _Attempt) -> Observation:
        attempt.cached = False
        tool = attempt.tool
        tokens, usd = attempt.worst
        purse = self.budget.reserve(tokens=tokens, usd=usd)
        if purse is None:
            word = self.budget.refusal(tokens=tokens, usd=usd) or "subcalls"
            raise _RefusedError(word, f"refused: the budget has no room for it ({word})")

        async def recurse(query: str) -> Trajectory:
            if attempt.children:
                raise InvalidInputError("a call starts one run at most; plan two calls instead")
            return await self.start_run(query, attempt.children.append)

        context = CallContext(
            query=self.query,
            depth=self.budget.depth,
            recurse=recurse,
            purse=purse,
            cache=self.cache,
        )
        try:
            observation = await within(
                tool.run(attempt.parameters, context),
                seconds=None if tool.lasts else self.budget.limits.sub_call_timeout_s,
                depth=self.budget.depth,
                last_words=True,
            )
            if not isinstance(observation, Observation):
                raise TypeError(f"{tool.name} gave {type(observation).__name__}, not an Observation")
            if observation.tokens:
                check_cost(observation.tokens)
        except DepthLimitError:
            purse.close()
            self.budget.release()
            raise
        except BaseException:
            attempt.cost = purse.close()
            raise
        attempt.cost = purse.close(read_tokens=observation.tokens)
        return self._bounded(attempt, observation)

    def _bounded(self, attempt: _Attempt, observation: Observation) -> Observation:
        """The value as JSON and a text to read, neither longer than the tool may."""
        most = attempt.tool.max_output_chars
        written = json.dumps(observation.value, allow_nan=False)
        text = observation.text or written
        value = json.loads(written)
        if len(written) > most:
            value = {"truncated_chars": len(written) - most, "beginning": written[:most]}
        if len(text) > most:
            text = f"{text[:most]}\n[truncated: {most} of {len(text)} characters]"
            attempt.note = f"an answer of {attempt.tool.name} was cut to {most} characters"
        elif len(written) > most:
            attempt.note = f"the result of {attempt.tool.name} was cut to {most} characters in the record"
        passing = observation.passing or not all(_complete(child) for child in attempt.children)
        return replace(
            observation, value=value, text=text, findings=tuple(observation.findings), passing=passing
        )

    def _failed(
        self, attempt: _Attempt, span: Span, error: str, *, refused_by: str | None = None
    ) -> CallAnswer:
        # A run that the call started may have found things before the call failed.
        findings = tuple(finding for child in attempt.children for finding in child.findings)
        error = _short(error)
        record = self._record(attempt, span, error=error, refused=refused_by is not None)
        return CallAnswer(record=record, text=f"error: {error}", findings=findings, refused_by=refused_by)

    def _record(
        self,
        attempt: _Attempt,
        span: Span,
        *,
        result: Any = None,
        error: str | None = None,
        refused: bool = False,
    ) -> CallRecord:
        tokens, usd, _ = attempt.cost or (0, 0.0, 0)
        return CallRecord(
            tool=attempt.tool.name,
            parameters=attempt.dumped,
            started_at=span.started_at,
            duration_ms=span.end()[1],
            result=result,
            error=error,
            cached=attempt.cached,
            refused=refused,
            model_call=attempt.tool.model_call and attempt.cost is not None,
            tokens=tokens,
            usd=usd,
            child=attempt.children[0] if attempt.children else None,
        )


def _complete(child: Trajectory) -> bool:
    """Whether a run says all that it could: a part of it must not stand for the whole in the cache."""
    return child.stopped_by == "done" and not any(
        call.error for step in child.steps for call in step.tool_calls
    )


def _short(error: str) -> str:
    return error if len(error) <= _ERROR_CHARS else f"{error[:_ERROR_CHARS]}…"


def _as_json(parameters: Any) -> dict[str, Any]:
    """A planner's parameters as far as JSON can say them: what is wrong goes into the record as well."""
    if not isinstance(parameters, Mapping):
        return {"parameters": _short(repr(parameters))}
    try:
        written = json.dumps(dict(parameters), allow_nan=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        return {"parameters": _short(repr(parameters))}
    read: dict[str, Any] = json.loads(written) if len(written) <= 20 * _ERROR_CHARS else {
        "truncated_chars": len(written) - 20 * _ERROR_CHARS,
        "beginning": written[: 20 * _ERROR_CHARS],
    }  # fmt: skip
    return read


def outcome(task: asyncio.Task[CallAnswer], call: Call, span: Span) -> CallAnswer:
    """Of a call's task; of one that does not even end when cancelled, a record that says so."""
    if task.done() and not task.cancelled():
        error = task.exception()
        if error is None:
            return task.result()
        message = f"{type(error).__name__}: {error}"
    else:
        message = "cut short: the run ended before the call did"
    return _unrun(call, span, message, {})


def _unrun(
    call: Call, span: Span, error: str, parameters: Mapping[str, Any], *, refused_by: str | None = None
) -> CallAnswer:
    """The record of a call that no tool has answered."""
    record = CallRecord(
        tool=str(call.tool),
        parameters=parameters,
        started_at=span.started_at,
        duration_ms=span.end()[1],
        error=error,
        refused=refused_by is not None,
    )
    return CallAnswer(record=record, text=f"error: {error}", refused_by=refused_by)
