"""A planner that asks a language model for the next step, as JSON of a given form. One step is one request.

The model sees what `briefing.py` shows it and answers with thought, calls, findings and done; its calls are of the
environment's own tools and parameters, or the answer is not accepted. An answer that is not of the form is asked for
again, with what was wrong, a few times. What it claims to have found is held against what it saw (`claims.py`). The
instructions are prompts/plan.md; their hash is in the record of the run.
"""

from __future__ import annotations

import asyncio
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from recollect.errors import ModelError, ModelOutputError, ModelTimeoutError, PlannerError
from recollect.providers.models.contract import MAX_OUTPUT_TOKENS, Answer, AtMost, ChatModel
from recollect.providers.prices import cost_usd, find_price, worst_cost
from recollect.providers.tokens import count_tokens, load_encoding
from recollect.recursion.fences import new_boundary
from recollect.recursion.planners.briefing import brief, describe_tools
from recollect.recursion.planners.claims import findings_of
from recollect.recursion.planners.contract import Call, Plan, Situation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from recollect.recursion.environment import Tool

__all__ = ["ModelPlanner"]

_THOUGHT_CHARS = 2_000


class ModelPlanner:
    """Asks `root_model`, and in runs below the root `sub_call_model` if there is one.

    `max_context_tokens` bounds what one request shows of the run; instructions and tools come on top.
    """

    def __init__(
        self,
        root_model: ChatModel,
        *,
        sub_call_model: ChatModel | None = None,
        max_retries: int = 2,
        max_context_tokens: int = 6_000,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
    ) -> None:
        self._models = (root_model, sub_call_model or root_model)
        self._max_retries = max_retries
        self._max_context_tokens = max_context_tokens
        self._max_output_tokens = max_output_tokens
        self._forms: dict[tuple[tuple[str, type[BaseModel]], ...], type[BaseModel]] = {}
        unpriced = dict.fromkeys(model.name for model in self._models if find_price(model.name) is None)
        self.name = f"model:{root_model.name}"
        self.policy_label = f"plan.md@{prompt_hash()[:16]}"
        self.notes = tuple(f"no price is known for {name!r}: it counts as 0 dollars" for name in unpriced)

    async def plan(self, situation: Situation) -> Plan:
        """Ask, again if need be; `PlannerError` when no answer can be used."""
        await asyncio.to_thread(load_encoding)
        model = self._models[min(situation.depth, 1)]
        boundary = new_boundary()
        tools = situation.environment.tools
        instructions = (
            prompt().replace("{boundary}", boundary).replace("{tools}", describe_tools(tools) or "none")
        )
        text = brief(situation, boundary=boundary, max_tokens=self._max_context_tokens)
        costs = _Costs(model.name, self._max_output_tokens)
        complaint = ""
        for _ in range(self._max_retries + 1):
            asked = f"{text}{complaint}"
            worst = costs.worst(instructions, asked)
            if not situation.afford(*worst):
                raise costs.failed("the budget has no room for another question to the model")
            try:
                answer = await model.answer(
                    instructions, asked, self._form(tools), max_tokens=self._max_output_tokens
                )
            except ModelOutputError as error:
                costs.add(*worst)
                complaint = (
                    f"\n\nYour last answer could not be used: {error}\nAnswer again, in the form asked for."
                )
            except ModelError as error:
                # Whoever did not answer in time may still have worked, and is paid; who could not be reached is not.
                costs.add(*(worst if isinstance(error, ModelTimeoutError) else (0, 0.0)))
                raise costs.failed(str(error)) from error
            else:
                costs.add_answer(answer)
                return self._plan(answer.value, situation, costs)
        raise costs.failed(
            f"the model {model.name!r} gave no usable answer in {self._max_retries + 1} attempts"
        )

    def _form(self, tools: Mapping[str, Tool]) -> type[Any]:
        key = tuple((tool.name, tool.parameters) for tool in tools.values())
        if key not in self._forms:
            self._forms[key] = next_step_form(tools)
        return self._forms[key]

    def _plan(self, value: Any, situation: Situation, costs: _Costs) -> Plan:
        calls = tuple(
            Call(tool=one.tool, parameters=one.parameters.model_dump(mode="json")) for one in value.calls
        )
        claimed = findings_of(value.findings, situation)
        # It has asked for more, so it has not seen everything yet, whatever it says.
        done = value.done and not calls
        if done and not any(one.confidence > 0 for one in (*situation.findings, *claimed)):
            # A weak model looks in the right places and then says nothing; what it was offered is better.
            claimed = (*claimed, *situation.offered)
        return Plan(
            thought=value.thought[:_THOUGHT_CHARS],
            calls=calls,
            findings=claimed,
            next_direction=", ".join(dict.fromkeys(call.tool for call in calls)),
            done=done,
            tokens=costs.tokens,
            usd=costs.usd,
            model_calls=costs.model_calls,
        )


@cache
def prompt() -> str:
    """What the model is told, with places for the boundary and the tools."""
    return resources.files(__package__).joinpath("prompts", "plan.md").read_text(encoding="utf-8")


def prompt_hash() -> str:
    """Of the instructions: a record says which ones its model had."""
    return hashlib.sha256(prompt().encode()).hexdigest()


def next_step_form(tools: Mapping[str, Tool]) -> type[BaseModel]:
    """The form of an answer: calls can only be of these tools, with their own parameters."""
    from pydantic import Field, create_model

    claim = create_model(
        "Claim",
        description=(Annotated[str, AtMost(300)], ...),
        quote=(Annotated[str, AtMost(300)], ...),
        confidence=(float, Field(ge=0.0, le=1.0)),
        group=(Annotated[str, AtMost(80)], ""),
    )
    forms = []
    for tool in tools.values():
        fields: dict[str, Any] = {"tool": (Literal[tool.name], ...), "parameters": (tool.parameters, ...)}
        forms.append(create_model(f"{tool.name}_call", **fields))
    # Not a discriminated union: that is `oneOf` in JSON schema, which servers that enforce schemas often refuse.
    call: Any = Union[tuple(forms)] if forms else create_model("no_call")  # noqa: UP007 - made at run time
    return create_model(
        "NextStep",
        thought=(Annotated[str, AtMost(400)], ...),
        calls=(Annotated[list[call], AtMost(8)], ...),
        findings=(Annotated[list[claim], AtMost(8)], ...),  # type: ignore[arg-type, valid-type]
        done=(bool, ...),
    )


class _Costs:
    """What the requests for one step may cost, and did."""

    def __init__(self, name: str, max_output_tokens: int) -> None:
        self._name = name
        self._max_output_tokens = max_output_tokens
        self.tokens = 0
        self.usd = 0.0
        self.model_calls = 0

    def worst(self, instructions: str, text: str) -> tuple[int, float]:
        """The most that one request can take."""
        counted = count_tokens(instructions) + count_tokens(text)
        return worst_cost(self._name, counted_tokens=counted, max_output_tokens=self._max_output_tokens)

    def add(self, tokens: int, usd: float) -> None:
        """One request."""
        self.tokens += tokens
        self.usd = round(self.usd + usd, 9)
        self.model_calls += 1

    def add_answer(self, answer: Answer[Any]) -> None:
        """One request, as its server counted it."""
        usd = cost_usd(self._name, input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
        self.add(answer.input_tokens + answer.output_tokens, usd)

    def failed(self, message: str) -> PlannerError:
        """The error that ends the run, with what was used by then."""
        return PlannerError(message, tokens=self.tokens, usd=self.usd, model_calls=self.model_calls)
