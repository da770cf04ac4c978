"""A run as one conversation with a model that has a large window: its calls, and what they gave back, whole.

The conversation is made anew from the run's steps for each request, and is the same as before up to its end: servers
that keep a prompt's beginning find it again. Only near the end of the window the oldest results are taken out, many at
a time, each with a line that says so. The model records what it found with a tool of its own, and is told what was not
kept and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from recollect.domain.findings import Finding
from recollect.providers.models.contract import Exchange, Reply, ToolForm
from recollect.providers.tokens import count_tokens
from recollect.runs.environment import Tool
from recollect.runs.fences import fence, preface, read_prompt
from recollect.runs.planners.briefing import called
from recollect.runs.planners.contract import Situation

RECORD, FINISH = "record_findings", "finish"
#: When the results have to be thinned out, so much of the room is left to what comes: the next requests stay the same.
_KEPT_SHARE = 0.6
#: A result this short stays: taking it out would gain nothing.
_SHORT_TOKENS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A model's reply in a step, kept for the next request. `places`: which call of the step answers each of its calls.

    What a call of the model's own tools gave back is a text instead.
    """

    reply: Reply
    places: tuple[int | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation as it is sent, its size by our count, and how many tokens of results were taken out of it."""

    opening: str
    exchanges: tuple[Exchange, ...]
    tokens: int
    withheld: int = 0


def instructions() -> str:
    """What the model is told; the same in every request of every run."""
    return read_prompt(__package__, "prompts/converse.md")


def talk_of(situation: Situation, *, boundary: str, max_tokens: int) -> Talk:
    """The conversation of a run up to now, within the tokens."""
    parts = [preface(boundary), fence("question", situation.query, boundary)]
    exchanges: list[Exchange] = []
    for step, answers, memo in zip(situation.steps, situation.observed, situation.memos, strict=True):
        texts = [
            fence(f"result {step.iteration}.{place}", f"{called(seen.record)[:2_000]}\n{seen.text}", boundary)
            for place, seen in enumerate(answers, 1)
        ]
        if isinstance(memo, Turn):
            results = tuple(
                place
                if isinstance(place, str)
                else texts[place]
                if place < len(texts)
                else "error: it was not called"
                for place in memo.places
            )
            exchanges.append(Exchange(reply=memo.reply, results=results))
        elif exchanges and texts:
            exchanges[-1] = replace(exchanges[-1], remark="\n\n".join(texts))
        elif not exchanges:
            # What was called before the model was first asked.
            parts += texts
    return _thinned("\n\n".join(parts), exchanges, max_tokens)


def _thinned(opening: str, exchanges: Sequence[Exchange], max_tokens: int) -> Talk:
    """The conversation with the oldest results taken out, when it would not fit otherwise.

    How many is found by going through the run from its beginning, as the requests before did: so it grows by leaps.
    """
    sizes = [[count_tokens(result) for result in exchange.results] for exchange in exchanges]
    replies = [
        count_tokens(f"{exchange.reply.text}{_written(exchange.reply)}{exchange.remark}") + 20
        for exchange in exchanges
    ]
    total = count_tokens(opening)
    saved, gone = 0, 0
    for number in range(len(exchanges)):
        total += replies[number] + sum(sizes[number])
        if total - saved <= max_tokens:
            continue
        # What the model has not read yet stays, whatever happens.
        while gone < number and total - saved > max_tokens * _KEPT_SHARE:
            saved += sum(size - 30 for size in sizes[gone] if size > _SHORT_TOKENS)
            gone += 1
    kept = []
    for number, exchange in enumerate(exchanges):
        if number < gone:
            results = tuple(
                f"[taken out for want of room: {size} tokens; the same call gives it again]"
                if size > _SHORT_TOKENS
                else text
                for text, size in zip(exchange.results, sizes[number], strict=True)
            )
            exchange = replace(exchange, results=results)
        kept.append(exchange)
    return Talk(opening=opening, exchanges=tuple(kept), tokens=total - saved, withheld=saved)


def _written(reply: Reply) -> str:
    return "".join(f"{call.name}{json.dumps(dict(call.arguments or {}))}" for call in reply.calls)


# ---------------------------------------------------------------- the tools


def tool_forms(tools: Mapping[str, Tool]) -> list[ToolForm]:
    """The environment's tools and the two that every conversation has, as a model sees them."""
    own = [
        ToolForm(name=tool.name, description=tool.description, schema=tool.parameters.model_json_schema())
        for tool in tools.values()
    ]
    return [
        *own,
        ToolForm(
            name=RECORD,
            description="Record what results say about the question. Only what is recorded reaches the answer.",
            schema=claims_form().model_json_schema(),
        ),
        ToolForm(
            name=FINISH,
            description="End the research: the question is answered by what was recorded, or can't be.",
            schema=_end_form().model_json_schema(),
        ),
    ]


@cache
def claims_form() -> Any:
    """What `record_findings` takes."""
    from pydantic import AliasChoices, BaseModel, Field

    class RecordedFinding(BaseModel):
        description: str
        quote: str = Field(description="words copied exactly from one result")
        observation: str = Field(
            default="",
            validation_alias=AliasChoices("result", "observation"),
            description="the number of that result, such as 2.1",
        )
        confidence: float = Field(default=0.9, ge=0.0, le=1.0)
        group: str = ""

    class RecordFindings(BaseModel):
        findings: list[RecordedFinding]

    return RecordFindings


@cache
def _end_form() -> Any:
    from pydantic import BaseModel, Field

    class Finish(BaseModel):
        open: str = Field(default="", description="what the material does not answer")

    return Finish


def verdict(findings: Sequence[Finding]) -> str:
    """What the model is told of the findings it recorded."""
    kept = sum(finding.confidence > 0 for finding in findings)
    lost = [
        f"not kept: {finding.description[:120]!r}: its quote {finding.evidence[:120]!r} is in no result; "
        "copy the words exactly"
        for finding in findings
        if finding.confidence <= 0
    ]
    return "\n".join([f"{kept} recorded", *lost])
