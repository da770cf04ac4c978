"""A planner that asks a language model for the next step. One step is one request.

How it asks follows from the model's profile. With a small or middle window the model sees what `briefing.py` shows it
and answers with thought, notes, calls, findings and done, as JSON of a given form; an answer that is not of the form is
asked for again, with what was wrong, a few times. With a large window and native tools it works in one conversation
(`conversation.py`). What it claims to have found is held against what it saw (`claims.py`). The instructions are
prompts/plan.md and prompts/converse.md; their hash is in the record of the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from recollect.domain.findings import Finding
from recollect.errors import ModelBudgetError, ModelError, ModelOutputError, ModelWindowError, PlannerError
from recollect.providers.models.contract import AtMost, ChatModel, Reply
from recollect.providers.tokens import count_tokens, load_encoding
from recollect.runs.fences import new_boundary, read_prompt
from recollect.runs.planners import conversation
from recollect.runs.planners.briefing import brief, describe_tools
from recollect.runs.planners.claims import findings_of
from recollect.runs.planners.contract import Call, Plan, Situation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from recollect.providers.models import Profile
    from recollect.runs.environment import Tool

__all__ = ["ModelPlanner"]

_THOUGHT_CHARS = 4_000
#: A step whose answer can't be used is asked for so often again.
MAX_RETRIES = 2


class ModelPlanner:
    """Asks `root_model`, and in runs below the root `sub_call_model` if there is one."""

    def __init__(
        self,
        root_model: ChatModel,
        *,
        sub_call_model: ChatModel | None = None,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self._models = (root_model, sub_call_model or root_model)
        self._max_retries = max_retries
        self._forms: dict[object, type[BaseModel]] = {}
        self._toolless: set[str] = set()
        # One word for the whole run: what was read in one step can't be written into the material by the next.
        self._boundary = new_boundary()
        unpriced = dict.fromkeys(model.name for model in self._models if model.profile.price is None)
        self.name = f"model:{root_model.name}"
        self.policy_label = policy_label(root_model.profile)
        self.notes = tuple(f"no price is known for {name!r}: it counts as 0 dollars" for name in unpriced)

    async def plan(self, situation: Situation) -> Plan:
        """Ask, again if need be; `PlannerError` when no answer can be used."""
        await asyncio.to_thread(load_encoding)
        model = self._models[min(situation.depth, 1)]
        own = model.charged_to(situation.purse)
        large = model.profile.shape == "large" and model.name not in self._toolless
        complaint = ""
        for _ in range(self._max_retries + 1):
            try:
                if large:
                    return await self._converse(own, situation)
                return await self._brief(own, situation, complaint)
            except ModelOutputError as error:
                if large:
                    # Its server takes no tools after all: a briefing asks nothing of it that it can't do.
                    self._toolless.add(model.name)
                    large = False
                    continue
                complaint = (
                    f"\n\nYour last answer could not be used: {error}\nAnswer again, in the form asked for."
                )
            except ModelWindowError:
                # The profile is narrower now, so the next request shows less.
                continue
            except ModelBudgetError as error:
                raise PlannerError(str(error), limit=error.limit) from error
            except ModelError as error:
                raise PlannerError(str(error)) from error
        raise PlannerError(
            f"the model {model.name!r} gave no usable answer in {self._max_retries + 1} attempts"
        )

    # ---------------------------------------------------------------- briefings

    async def _brief(self, model: ChatModel, situation: Situation, complaint: str) -> Plan:
        profile, tools = model.profile, situation.environment.tools
        form = self._form(tools, profile)
        instructions = prompt().replace("{tools}", describe_tools(tools) or "none")
        around = count_tokens(instructions) + count_tokens(json.dumps(form.model_json_schema())) + 200
        briefing = brief(
            situation, boundary=self._boundary, max_tokens=max(profile.input_tokens() - around, 256)
        )
        text = f"{briefing.text}{complaint}"
        answer = await model.answer(instructions, text, form)
        value: Any = answer.value
        calls = tuple(
            Call(tool=call.tool, parameters=call.parameters.model_dump(mode="json")) for call in value.calls
        )
        claimed = findings_of(value.findings, situation)
        # It has asked for more, so it has not seen everything yet, whatever it says.
        return _plan(
            model,
            situation,
            calls,
            claimed,
            thought=value.thought,
            memo=value.notes,
            done=value.done and not calls,
        )

    def _form(self, tools: Mapping[str, Tool], profile: Profile) -> type[Any]:
        key = (profile.shape, tuple((tool.name, tool.parameters) for tool in tools.values()))
        if key not in self._forms:
            self._forms[key] = next_step_form(tools, profile)
        return self._forms[key]

    # ---------------------------------------------------------------- one conversation

    async def _converse(self, model: ChatModel, situation: Situation) -> Plan:
        forms = conversation.tool_forms(situation.environment.tools)
        around = sum(count_tokens(json.dumps(form.schema) + form.description) for form in forms)
        around += count_tokens(conversation.instructions())
        talk = conversation.talk_of(
            situation, boundary=self._boundary, max_tokens=max(model.profile.input_tokens() - around, 256)
        )
        reply = await model.converse(conversation.instructions(), talk.opening, talk.exchanges, forms)
        return self._read(model, reply, situation)

    def _read(self, model: ChatModel, reply: Reply, situation: Situation) -> Plan:
        """A reply as a plan: calls of the environment's tools to run, the others answered here."""
        from pydantic import ValidationError

        calls: list[Call] = []
        claimed: list[Finding] = []
        places: list[int | str] = []
        finished, left_open = not reply.calls, ""
        for call in reply.calls:
            if call.name == conversation.RECORD:
                try:
                    given = conversation.claims_form().model_validate(dict(call.arguments or {}))
                except ValidationError as error:
                    places.append(f"error: {_first(error)}")
                    continue
                findings = findings_of(given.findings, situation)
                claimed += [finding for finding in findings if finding.confidence > 0]
                places.append(conversation.verdict(findings))
            elif call.name == conversation.FINISH:
                finished, left_open = True, str((call.arguments or {}).get("open", ""))
                places.append("noted")
            else:
                places.append(len(calls))
                # Arguments that are no JSON object fail at the tool, in words.
                given = {"arguments": "no JSON object"} if call.arguments is None else call.arguments
                calls.append(Call(tool=call.name, parameters=given))
        memo = conversation.Turn(reply=reply, places=tuple(places))
        thought = reply.text or left_open
        notes = (f"left open: {left_open.strip()[:1_000]}",) if finished and left_open.strip() else ()
        return _plan(
            model,
            situation,
            tuple(calls),
            tuple(claimed),
            thought=thought,
            memo=memo,
            done=finished and not calls,
            notes=notes,
        )


def _plan(
    model: ChatModel,
    situation: Situation,
    calls: tuple[Call, ...],
    claimed: tuple[Finding, ...],
    *,
    thought: str,
    memo: Any,
    done: bool,
    notes: Sequence[str] = (),
) -> Plan:
    if done and not any(finding.confidence > 0 for finding in (*situation.findings, *claimed)):
        # A weak model looks in the right places and then says nothing; what it was offered is better.
        claimed = (*claimed, *situation.offered)
    return Plan(
        thought=thought[:_THOUGHT_CHARS],
        calls=calls,
        findings=claimed,
        next_direction=", ".join(dict.fromkeys(call.tool for call in calls)),
        done=done,
        memo=memo,
        notes=tuple(notes),
    )


def _first(error: Any) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def prompt() -> str:
    """What the model is told, with a place for the tools."""
    return read_prompt(__package__, "prompts/plan.md")


def policy_label(profile: Profile) -> str:
    """Which instructions the model had, for the record."""
    large = profile.shape == "large"
    text, name = (conversation.instructions(), "converse.md") if large else (prompt(), "plan.md")
    return f"{name}@{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def next_step_form(tools: Mapping[str, Tool], profile: Profile) -> type[BaseModel]:
    """The form of an answer: calls can only be of these tools, with their own parameters."""
    from pydantic import Field, create_model

    small = profile.shape == "small"
    words = 300 if small else 2_000
    claim = create_model(
        "Claim",
        description=(Annotated[str, AtMost(words)], ...),
        quote=(Annotated[str, AtMost(words)], ...),
        confidence=(float, Field(ge=0.0, le=1.0)),
        group=(Annotated[str, AtMost(80)], ""),
        observation=(Annotated[str, AtMost(12)], ""),
    )
    forms = []
    for tool in tools.values():
        fields: dict[str, Any] = {"tool": (Literal[tool.name], ...), "parameters": (tool.parameters, ...)}
        forms.append(create_model(f"{tool.name}_call", **fields))
    # Not a discriminated union: that is `oneOf` in JSON schema, which servers that enforce schemas often refuse.
    call: Any = Union[tuple(forms)] if forms else create_model("no_call")  # noqa: UP007 - made at run time
    most = profile.findings_per_step
    return create_model(
        "NextStep",
        thought=(Annotated[str, AtMost(400 if small else 2_000)], ...),
        notes=(Annotated[str, AtMost(600 if small else 8_000)], ""),
        calls=(Annotated[list[call], AtMost(8 if small else 16)], ...),
        findings=(Annotated[list[claim], AtMost(most)], ...),  # type: ignore[arg-type, valid-type]
        done=(bool, ...),
    )
