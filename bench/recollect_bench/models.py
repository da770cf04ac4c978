"""What models of different windows would be shown: recorded hard questions, the requests that each profile would get.

Ten questions about this package's own files, each with the calls that a good planner made for it. The calls run again,
once for each profile and once with room without end; then the last request is made as it would be sent. Measured is how
much of the window it takes, and how much of what the calls have to give it shows. No model is asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.codebase.environment import CodebaseEnvironment
from recollect.codebase.tree import open_tree
from recollect.library.bundle import FileBundler
from recollect.library.environment import LibraryEnvironment
from recollect.oracle.material import file_volume
from recollect.providers.models import Profile, profile_of
from recollect.providers.tokens import count_tokens
from recollect.runs.budget import Limits
from recollect.runs.engine import run
from recollect.runs.planners import conversation
from recollect.runs.planners.briefing import brief, describe_tools
from recollect.runs.planners.contract import Call, Plan, Situation
from recollect.runs.planners.model import prompt
from recollect_bench.plain_material import PlainMaterial
from recollect_bench.result import Bar, Result, describe_environment

if TYPE_CHECKING:
    from recollect.runs.environment import Environment
    from recollect_bench.show import Show

#: One of each shape, and the largest there are.
PROFILES = (
    "ollama:llama3.2",
    "openai:unknown",
    "openai:gpt-4o",
    "openai:gpt-5-mini",
    "anthropic:claude-sonnet-5",
)
_ENDLESS_CHARS = 50_000_000
_BOUNDARY = "data-0000000000000000"


@dataclass(slots=True)
class _Recorded:
    """A planner that makes the recorded calls, and keeps the situation after the last of them."""

    steps: Sequence[Sequence[tuple[str, Mapping[str, Any]]]]
    name: str = "recorded"
    situation: Situation | None = field(default=None)

    async def plan(self, situation: Situation) -> Plan:
        self.situation = situation
        if len(situation.steps) >= len(self.steps):
            return Plan(done=True, findings=())
        calls = tuple(Call(tool=tool, parameters=given) for tool, given in self.steps[len(situation.steps)])
        return Plan(calls=calls, findings=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one profile is shown for one question: tokens of the request, of the results, and of those shown."""

    question: str
    source: str
    prompt_tokens: int
    window: int
    wanted: Mapping[str, int]
    shown: Mapping[str, int]

    @property
    def withheld(self) -> dict[str, int]:
        """Tokens of each result that are not shown."""
        return {
            name: self.wanted[name] - self.shown[name]
            for name in self.wanted
            if self.shown[name] < self.wanted[name]
        }

    @property
    def share(self) -> float:
        """Of all that the calls have to give."""
        return sum(self.shown.values()) / max(sum(self.wanted.values()), 1)


def run_models(*, show: Show) -> Result:
    """Every question under every profile."""
    questions = read_questions()
    root = Path(str(resources.files("recollect")))
    profiles = [profile_of(name) for name in PROFILES]
    sights: dict[str, list[Sight]] = {profile.name: [] for profile in profiles}
    with show.stage("questions", len(questions)) as progress:
        material = _material(root)
        for number, question in enumerate(questions, 1):
            wanted = _sizes(asyncio.run(_after(question, root, material, _ENDLESS_CHARS)))
            for profile in profiles:
                after = asyncio.run(_after(question, root, material, profile.result_chars))
                sights[profile.name].append(_sight(question, after, profile, wanted))
            progress(number, len(questions))
    measures = {profile.name: _measures(profile, sights[profile.name]) for profile in profiles}
    large = [one for profile in profiles if profile.shape == "large" for one in sights[profile.name]]
    fitting = [one for one in large if sum(one.wanted.values()) <= 0.75 * one.window]
    return Result(
        bench="models",
        arguments={},
        measures=measures,
        bars=[
            Bar(
                name="withheld from large windows although it fits, tokens",
                value=sum(sum(one.withheld.values()) for one in fitting),
                bar=0,
                at_most=True,
            )
        ],
        environment=describe_environment(),
    )


def read_questions() -> list[dict[str, Any]]:
    """The recorded questions."""
    file = resources.files(__package__) / "data" / "model_questions.json"
    questions: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["questions"]
    return questions


def _material(root: Path) -> PlainMaterial:
    """The package's own files as documents."""
    bundle = FileBundler(root).bundle(("*.py", "**/*.md", "storage/sql/*.sql"))
    volumes = [file_volume(file) for file in bundle.files]
    return PlainMaterial({one.doc_id: one for one in volumes})


async def _after(question: Mapping[str, Any], root: Path, material: PlainMaterial, room: int) -> Situation:
    """Where a run stands after the recorded calls."""
    environment: Environment
    if question["source"] == "code":
        environment = CodebaseEnvironment(open_tree(root), room_chars=room)
    else:
        environment = LibraryEnvironment(material, quotable=True, room_chars=room)
    planner = _Recorded(steps=[[(tool, given) for tool, given in step] for step in question["steps"]])
    await run(
        question["question"],
        environment=environment,
        planner=planner,
        limits=Limits(timeout_s=None, sub_call_timeout_s=None),
    )
    assert planner.situation is not None
    return planner.situation


def _sizes(situation: Situation) -> dict[str, int]:
    return {
        f"{step.iteration}.{place}": count_tokens(seen.text)
        for step, results in zip(situation.steps, situation.observed, strict=True)
        for place, seen in enumerate(results, 1)
    }


def _sight(
    question: Mapping[str, Any], situation: Situation, profile: Profile, wanted: Mapping[str, int]
) -> Sight:
    """The last request of a profile, as it would be sent."""
    tools = situation.environment.tools
    given = _sizes(situation)
    if profile.shape == "large":
        forms = conversation.tool_forms(tools)
        around = count_tokens(conversation.instructions()) + sum(
            count_tokens(json.dumps(one.schema) + one.description) for one in forms
        )
        talk = conversation.talk_of(
            situation, boundary=_BOUNDARY, max_tokens=max(profile.input_tokens() - around, 256)
        )
        prompt_tokens, shown = around + talk.tokens, given
        if talk.withheld:
            shown = {name: 0 for name in given}
    else:
        around = count_tokens(prompt().replace("{tools}", describe_tools(tools))) + 1_200
        briefing = brief(situation, boundary=_BOUNDARY, max_tokens=max(profile.input_tokens() - around, 256))
        prompt_tokens = around + count_tokens(briefing.text)
        shown = {one.number: one.shown for one in briefing.shares}
    return Sight(
        question=str(question["question"]),
        source=str(question["source"]),
        prompt_tokens=prompt_tokens,
        window=profile.window,
        wanted=wanted,
        shown={name: min(shown.get(name, 0), wanted[name]) for name in wanted},
    )


def _measures(profile: Profile, sights: Sequence[Sight]) -> dict[str, Any]:
    return {
        "shape": profile.shape,
        "window": profile.window,
        "answer tokens": profile.output_tokens(),
        "findings": profile.findings,
        "largest request": max(one.prompt_tokens for one in sights),
        "of the window": round(max(one.prompt_tokens for one in sights) / profile.window, 3),
        "shown": round(sum(one.share for one in sights) / len(sights), 3),
        "shown least": round(min(one.share for one in sights), 3),
        "withheld tokens": sum(sum(one.withheld.values()) for one in sights),
        "withheld results": sum(len(one.withheld) for one in sights),
    }
