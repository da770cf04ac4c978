"""What a model is shown of a run: the question, what is left, what was found, what the calls gave back.

It is bounded in tokens: what the last step brought is shown whole where it fits, what earlier steps brought only in its
beginning, and the oldest of that not at all. All text that is not ours stands between fences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from recollect.domain.trajectory import CallRecord
from recollect.providers.tokens import count_tokens, first_tokens
from recollect.recursion.environment import Tool
from recollect.recursion.fences import fence
from recollect.recursion.planners.contract import Remaining, Situation

_QUESTION_TOKENS = 1_000
_FINDINGS_SHOWN = 30
_FINDING_TOKENS = 48
#: Of an observation that is not the newest.
_OLD_TOKENS = 64
#: The fences around one piece, and the call that is named in it.
_AROUND_TOKENS = 110


def describe_tools(tools: Mapping[str, Tool]) -> str:
    """Each tool in a line or two: its name, what it does, its parameters."""
    return "\n".join(
        f"- `{tool.name}`: {tool.description}\n  parameters: {_parameters(tool)}" for tool in tools.values()
    )


def brief(situation: Situation, *, boundary: str, max_tokens: int) -> str:
    """The text of one request, within the tokens as far as the question itself allows."""
    question = fence("question", first_tokens(situation.query, _QUESTION_TOKENS), boundary)
    parts = [_left(situation.remaining), question]
    left = max_tokens - sum(count_tokens(part) for part in parts)
    found = [
        first_tokens(" ".join(finding.description.split()), _FINDING_TOKENS)
        for finding in situation.findings[-_FINDINGS_SHOWN:]
    ]
    if found:
        # What was found is short and saves looking again, but must not push out what is to be read.
        listed = first_tokens("\n".join(f"- {line}" for line in found), max(left // 4, _FINDING_TOKENS))
        parts.append(fence("findings so far", listed, boundary))
        left -= count_tokens(parts[-1]) + 2
    parts += _observations(situation, boundary, left)
    return "\n\n".join(parts)


def _left(remaining: Remaining) -> str:
    seconds = "" if remaining.seconds is None else f", {remaining.seconds:.0f} seconds"
    return (
        f"Left: {remaining.subcalls} calls, {remaining.subcalls_this_step} of them in this step, "
        f"{remaining.depth} levels of recursion{seconds}."
    )


def _observations(situation: Situation, boundary: str, left: int) -> list[str]:
    """Newest first into the room there is, then in the order in which they were made."""
    shown: list[str] = []
    for step in reversed(situation.steps):
        newest = step is situation.steps[-1]
        pieces = []
        for place, call in enumerate(step.tool_calls):
            if newest:
                waiting = len(step.tool_calls) - place
                most = left // waiting - _AROUND_TOKENS
                text = situation.last_texts[place] if place < len(situation.last_texts) else _result(call)
            else:
                most = min(_OLD_TOKENS, left - _AROUND_TOKENS)
                text = _result(call)
            if most < 1:
                continue
            asked = first_tokens(f"{call.tool}({json.dumps(dict(call.parameters))})", 40)
            body = f"{asked}\n{_shortened(text, most)}"
            piece = fence(f"observation of step {step.iteration}, call {place + 1}", body, boundary)
            left -= count_tokens(piece) + 2
            pieces.append(piece)
        shown = pieces + shown
    return shown


def _shortened(text: str, most: int) -> str:
    beginning = first_tokens(text, most)
    return beginning if beginning == text else f"{beginning}\n[shortened]"


def _result(call: CallRecord) -> str:
    if call.error is not None:
        return f"error: {call.error}"
    return call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)


def _parameters(tool: Tool) -> str:
    schema: dict[str, Any] = tool.parameters.model_json_schema()
    required = set(schema.get("required", ()))
    named = []
    for name, one in schema.get("properties", {}).items():
        kind = one.get("type") or "/".join(str(each.get("type", "value")) for each in one.get("anyOf", ()))
        if "enum" in one:
            kind = "one of " + ", ".join(str(value) for value in one["enum"])
        about = f", {one['description']}" if one.get("description") else ""
        named.append(f"{name} ({kind or 'value'}{'' if name in required else ', optional'}{about})")
    return "; ".join(named) or "none"
