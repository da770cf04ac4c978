"""The most that a run with a model can take, said before it begins: the same for documents and for code."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.providers.models import Profile, profile_of
from recollect.runs.models import full_name
from recollect.runs.planners.model import MAX_RETRIES
from recollect.runs.readings import reading_tokens

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.domain.trajectory import RunPlan

#: Instructions, tools and the question of one request.
_AROUND_TOKENS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Requests, tokens to the model and from it, and dollars; None where no price is known."""

    requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None

    @classmethod
    def of(cls, plan: RunPlan) -> Bound:
        """What a plan says."""
        return cls(
            requests=plan.max_model_calls,
            input_tokens=plan.max_input_tokens,
            output_tokens=plan.max_output_tokens,
            usd=plan.max_usd,
        )

    def limits(self) -> dict[str, Any]:
        """The fields of a `RunPlan` that say it."""
        return {
            "max_model_calls": self.requests,
            "max_input_tokens": self.input_tokens,
            "max_output_tokens": self.output_tokens,
            "max_usd": self.usd,
        }

    def __add__(self, other: Bound) -> Bound:
        usd = None if self.usd is None or other.usd is None else round(self.usd + other.usd, 6)
        return Bound(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=usd,
        )


#: What is asked of no model.
NOTHING = Bound(requests=0, input_tokens=0, output_tokens=0, usd=0.0)


def bound_of(
    name: str,
    settings: Settings,
    measure: Callable[[Profile, Profile], Bound],
    *,
    given: str | None = None,
    max_usd: float | None = None,
) -> tuple[Bound, list[str]]:
    """The most that a run with the model of this name takes, and what to say of it; without one it takes nothing.

    `measure` gets the profile of who plans and of who reads parts: the `sub_call_model`, where no model was `given`.
    """
    if not name:
        return NOTHING, []
    below = None if given else settings.sub_call_model
    names = [name, name if below is None else full_name(below, settings)]
    planner, reader = (profile_of(name, settings) for name in names)
    bound = measure(planner, reader)
    if bound.usd is None:
        unpriced = next((name for name in names if profile_of(name, settings).price is None), name)
        return bound, [f"no price is published for {unpriced!r}"]
    most = max_usd if max_usd is not None else settings.budget.max_usd
    return bound if most is None else replace(bound, usd=min(bound.usd, most)), []


def bound_run(
    planner: Profile, reader: Profile, *, subcalls: int, material_tokens: int, max_tokens: int | None = None
) -> Bound:
    """Of a run: every step planned as often as it may be, every call a question to who reads parts, and the answer.

    A request shows no more than the window holds, and no more than all of the material, some of it twice.
    """
    plans = min(planner.steps, max(subcalls, 1)) * (MAX_RETRIES + 1)
    prompt_tokens = min(planner.input_tokens(), 2 * material_tokens + _AROUND_TOKENS)
    part_tokens = min(reader.part_tokens, material_tokens) + _AROUND_TOKENS
    # The run's limit is of tokens to and from all of its models together.
    most = math.inf if max_tokens is None else max_tokens

    def limited(
        profile: Profile, requests: int, input_tokens: int, output_tokens: int, **more: bool
    ) -> Bound:
        return priced(profile, requests, int(min(input_tokens, most)), int(min(output_tokens, most)), **more)

    planned = (plans, planner.counted(plans * prompt_tokens), plans * planner.output_tokens())
    read = (
        subcalls,
        reader.counted(subcalls * part_tokens),
        subcalls * reader.output_tokens(reading_tokens(reader)),
    )
    if planner == reader:
        both = [sum(pair) for pair in zip(planned, read, strict=True)]
        return limited(planner, both[0], both[1], both[2], answer=True)
    return limited(planner, *planned, answer=True) + limited(reader, *read)


def priced(
    profile: Profile, requests: int, input_tokens: int, output_tokens: int, *, answer: bool = False
) -> Bound:
    """With its price; `answer`: one more request writes the answer from what was found."""
    if answer:
        requests += 1
        input_tokens += profile.counted(min(profile.input_tokens(), profile.findings * 120 + _AROUND_TOKENS))
        output_tokens += profile.output_tokens(profile.answer_tokens)
    usd = (
        None
        if profile.price is None
        else round(profile.price.worst(input=input_tokens, output=output_tokens), 6)
    )
    return Bound(requests=requests, input_tokens=input_tokens, output_tokens=output_tokens, usd=usd)
