"""What a model with a small or middle window is shown of a run: question, budget, findings, what calls gave back.

The room that the model's profile gives is used up: the newest results first, shared so that what one does not need the
others get, then those of earlier steps, newest first, as far as they fit. What is shortened or not shown is said, and
`Briefing.shares` says how much of each result was. All text that is not ours stands between fences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.domain.trajectory import CallRecord
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.runs.environment import Tool
from recollect.runs.fences import fence, preface
from recollect.runs.planners.contract import Remaining, Situation

#: The fences around one piece, and the call that is named in it.
_AROUND_TOKENS = 110
#: A shorter beginning of an earlier result says nothing.
_LEAST_TOKENS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of a result's tokens a request shows. `number` is the step's and the call's, as in "2.1"."""

    number: str
    tokens: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The text of one request, and what it shows of each result."""

    text: str
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    step: int
    number: str
    call: str
    text: str
    tokens: int


def describe_tools(tools: Mapping[str, Tool]) -> str:
    """Each tool in a line or two: its name, what it does, its parameters."""
    return "\n".join(
        f"- `{tool.name}`: {tool.description}\n  parameters: {_parameters(tool)}" for tool in tools.values()
    )


def brief(situation: Situation, *, boundary: str, max_tokens: int) -> Briefing:
    """The text of one request, within the tokens as far as the question itself allows."""
    question = fence("question", first_tokens(situation.query, max(max_tokens // 4, 64)), boundary)
    parts = [preface(boundary), _left(situation.remaining), question]
    left = max_tokens - sum(count_tokens(part) + 2 for part in parts)
    notes = next((memo for memo in reversed(situation.memos) if isinstance(memo, str) and memo), "")
    if notes:
        parts.append(fence("your notes", first_tokens(notes, max(left // 8, 64)), boundary))
        left -= count_tokens(parts[-1]) + 2
    if situation.findings:
        parts.append(fence("findings so far", _findings(situation, left // 4), boundary))
        left -= count_tokens(parts[-1]) + 2
    results, shares = _results(situation, boundary, left)
    return Briefing(text="\n\n".join([*parts, *results]), shares=shares)


def share_out(sizes: Sequence[int], room: int) -> list[int]:
    """Room for each of some things: none gets more than it needs, and what one leaves the others share."""
    given = [0] * len(sizes)
    waiting = [place for place, size in enumerate(sizes) if size > 0]
    while waiting and room >= len(waiting):
        each = room // len(waiting)
        satisfied = [place for place in waiting if sizes[place] - given[place] <= each]
        for place in satisfied or waiting:
            more = min(each, sizes[place] - given[place])
            given[place] += more
            room -= more
        waiting = [place for place in waiting if place not in satisfied] if satisfied else []
    return given


def _left(remaining: Remaining) -> str:
    seconds = "" if remaining.seconds is None else f", {remaining.seconds:.0f} seconds"
    return (
        f"Left: {remaining.subcalls} calls, {remaining.subcalls_this_step} of them in this step, "
        f"{remaining.depth} levels of recursion{seconds}."
    )


def _findings(situation: Situation, room: int) -> str:
    """The newest that fit, in their order; what was found is short and saves looking again."""
    lines: list[str] = []
    for finding in reversed(situation.findings):
        line = f"- {first_tokens(' '.join(finding.description.split()), max(room // 4, 48))}"
        room -= count_tokens(line) + 1
        if room < 0 and lines:
            lines.append(f"- ... and {len(situation.findings) - len(lines)} before these")
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _results(situation: Situation, boundary: str, left: int) -> tuple[list[str], tuple[Share, ...]]:
    results = _all(situation)
    last = situation.steps[-1].iteration if situation.steps else 0
    newest = [result for result in results if result.step == last]
    allowed = dict.fromkeys((result.number for result in results), 0)
    shared = share_out([result.tokens for result in newest], left - _AROUND_TOKENS * len(newest))
    for result, room in zip(newest, shared, strict=True):
        allowed[result.number] = room
        left -= room + _AROUND_TOKENS
    for result in reversed([result for result in results if result.step != last]):
        room = min(result.tokens, left - _AROUND_TOKENS)
        if room >= min(_LEAST_TOKENS, result.tokens):
            allowed[result.number] = room
            left -= room + _AROUND_TOKENS
    pieces, shares = [], []
    hidden: list[str] = []
    for result in results:
        room = allowed[result.number]
        shares.append(Share(number=result.number, tokens=result.tokens, shown=min(room, result.tokens)))
        if room < 1 and result.tokens:
            hidden.append(f"{result.number} {result.call}")
            continue
        body = f"{result.call}\n{_shortened(result, room)}"
        pieces.append(fence(f"observation {result.number}", body, boundary))
    if hidden:
        # Said even where there is no room: who does not know that something is missing never asks for it.
        listed = first_tokens(f"{len(hidden)}: {'; '.join(hidden)}", max(left - _AROUND_TOKENS, 24))
        pieces.insert(0, fence("results that are not shown any more", listed, boundary))
    return pieces, tuple(shares)


def _all(situation: Situation) -> list[_Result]:
    return [
        _Result(
            step=step,
            number=f"{step}.{place}",
            call=first_tokens(called(answer.record), 40),
            text=answer.text,
            tokens=count_tokens(answer.text),
        )
        for step, place, answer in situation.answers()
    ]


def called(call: CallRecord) -> str:
    """A call as a model reads it."""
    return f"{call.tool}({json.dumps(dict(call.parameters), ensure_ascii=False)})"


def _shortened(result: _Result, room: int) -> str:
    if result.tokens <= room:
        return result.text
    beginning = first_tokens(result.text, room)
    return f"{beginning}\n[shortened: {room} of {result.tokens} tokens are shown]"


def _parameters(tool: Tool) -> str:
    schema: dict[str, Any] = tool.parameters.model_json_schema()
    required = set(schema.get("required", ()))
    named = []
    for name, field in schema.get("properties", {}).items():
        about = f", {field['description']}" if field.get("description") else ""
        optional = "" if name in required else ", optional"
        named.append(f"{name} ({_kind(field, schema) or 'value'}{optional}{about})")
    return "; ".join(named) or "none"


def _kind(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The kind of a value in words; what a schema says elsewhere is looked up."""
    if "$ref" in field:
        field = schema.get("$defs", {}).get(str(field["$ref"]).rpartition("/")[2], {})
    if "enum" in field:
        return "one of " + ", ".join(str(value) for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(filter(None, (_kind(each, schema) for each in field["anyOf"]))))
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}), schema) or 'values'}"
    if field.get("type") == "object" and field.get("properties"):
        inside = ", ".join(f"{name}: {_kind(each, schema)}" for name, each in field["properties"].items())
        return f"object with {inside}"
    return str(field.get("type", ""))
