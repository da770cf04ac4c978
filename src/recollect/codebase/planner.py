"""Which tools an exploration calls next: `RLMAgent`, with a model or without one.

Both begin with the map around the question, which costs no model call. Without a model the next steps read the places
that the map names, the surest first, and then look for the uses of what was found. With one, the model plans from
there on, one request for each step; when it fails, the rule goes on from where it stood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.codebase.query import read_query
from recollect.codebase.words import asks_for_uses
from recollect.errors import PlannerError
from recollect.runs.planners.contract import Call, Plan, Planner, Situation

if TYPE_CHECKING:
    from recollect.domain.findings import Finding
    from recollect.domain.trajectory import CallRecord

#: Places that are read, and names whose uses are looked for, without a model.
READS = 10
USES = 4
#: Lines of one read; longer definitions are read in their beginning, where what they do is said.
READ_LINES = 120
#: A name that more files than this define is not looked up: its uses are mostly of another one.
_FEW = 3
_USED_KINDS = frozenset("function method class interface struct trait macro type enum".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How to go about a question: where to begin and what to look at. Presets have courses of their own.

    `question` is what was asked, without what a model is told beside it. `focused`: the map is drawn around it, else
    by what is used most.
    """

    question: str = ""
    hints: tuple[str, ...] = ()
    focused: bool = True
    reads: int = READS
    uses: int = USES


class RLMAgent:
    """Plans the steps of one exploration and those below it. `model` is a planner that asks one; None goes by rule."""

    def __init__(self, course: Course | None = None, *, model: Planner | None = None) -> None:
        self._course = course or Course()
        self._model = model
        self.name = model.name if model is not None else "ranking"
        self.policy_label: str | None = getattr(model, "policy_label", None)
        self.notes: tuple[str, ...] = getattr(model, "notes", ())
        #: What the model itself said, apart from what tools offered.
        self.claims: set[Finding] = set()
        #: Why the model is not asked any more.
        self.model_failure: str | None = None

    async def plan(self, situation: Situation) -> Plan:
        """The next step."""
        if not situation.steps:
            return self._first(situation)
        if self._model is None:
            return self._next(situation)
        if self.model_failure is None:
            try:
                plan = await self._model.plan(situation)
                self.remember(plan, situation)
                return plan
            except PlannerError as error:
                # Somebody asked a question: what can be answered without the model still is.
                self.model_failure = str(error)
        return replace(self._next(situation), findings=tuple(situation.offered))

    def remember(self, plan: Plan, situation: Situation) -> None:
        """What the model said in a plan is the model's, also when the plan comes from a journal."""
        if self._model is not None:
            self.claims |= set(plan.findings or ()) - set(situation.offered)

    def _first(self, situation: Situation) -> Plan:
        question = (self._course.question if situation.depth == 0 else "") or situation.query
        focus = question if self._course.focused else ""
        # The hints were given for the question at the root; those below it are questions of their own.
        hints = self._course.hints if situation.depth == 0 else ()
        return Plan(
            thought="Where in the tree is this spoken of?" if focus else "What is this tree made of?",
            calls=(Call(tool="outline", parameters={"focus": focus[:20_000], "hints": list(hints)}),),
            next_direction="outline",
            # A model says itself what matters; what the map offers is kept only if it never does.
            findings=None if self._model is None else (),
        )

    def _next(self, situation: Situation) -> Plan:
        """A step by rule."""
        done = _calls_made(situation)
        places = list(_places(situation))
        wanted = [
            Call(tool="read_file", parameters={"path": path, "start_line": first, "end_line": last})
            for path, first, last, _ in places[: self._course.reads]
        ]
        calls = [call for call in wanted if _key(call.tool, call.parameters) not in done]
        if calls:
            return self._plan(situation, calls, f"Read the {len(calls)} likeliest places.", "read_file")
        names = self._names(situation, places)
        calls = [Call(tool="find_references", parameters={"name": name}) for name in names]
        calls = [call for call in calls if _key(call.tool, call.parameters) not in done]
        if calls:
            listed = ", ".join(str(call.parameters["name"]) for call in calls)
            return self._plan(situation, calls, f"Who uses {listed}?", "find_references")
        return Plan(thought="The places are read and their uses are known.", done=True)

    def _names(self, situation: Situation, places: Sequence[tuple[str, int, int, str]]) -> list[str]:
        """Whose uses to look up: what the question names, when it asks for uses; else what the map points at."""
        question = (self._course.question if situation.depth == 0 else "") or situation.query
        mapped = list(dict.fromkeys(name for *_, name in places if name))
        if asks_for_uses(question):
            query = read_query(question, self._course.hints if situation.depth == 0 else ())
            named = list(dict.fromkeys([*query.dotted, *query.identifiers, *query.hinted_names]))
            mapped = named or mapped
        return mapped[: self._course.uses]

    def _plan(self, situation: Situation, calls: Sequence[Call], thought: str, direction: str) -> Plan:
        left = max(situation.remaining.subcalls_this_step, 1)
        return Plan(thought=thought, calls=tuple(calls[:left]), next_direction=direction)


def _places(situation: Situation) -> Iterator[tuple[str, int, int, str]]:
    """Where the map points, with the name to look for: the first place of each file, then the second, and so on."""
    files = [
        file
        for call in _answered(situation)
        if call.tool == "outline" and isinstance(call.result, Mapping)
        for file in call.result.get("files", ())
    ]
    deepest = max((len(file["places"]) for file in files), default=0)
    for order in range(deepest):
        for file in files[: 8 if order == 0 else 3]:
            if order >= len(file["places"]):
                continue
            place = file["places"][order]
            first, last = place["lines"]
            telling = place["kind"] in _USED_KINDS and place.get("defined_in", 1) <= _FEW
            tests = place["name"].rpartition(".")[2].lower().startswith("test")  # which nobody calls
            name = place["name"] if telling and not tests else ""
            yield file["path"], first, min(last, first + READ_LINES - 1), name


def _answered(situation: Situation) -> Iterator[CallRecord]:
    for step in situation.steps:
        yield from (call for call in step.tool_calls if call.error is None)


def _calls_made(situation: Situation) -> set[str]:
    """Calls that were made; one that the budget refused was not."""
    return {
        _key(call.tool, call.parameters)
        for step in situation.steps
        for call in step.tool_calls
        if not call.refused
    }


def _key(tool: str, parameters: Mapping[str, Any]) -> str:
    named = ("path", "start_line", "end_line", "name", "pattern")
    return f"{tool}\0" + "\0".join(str(parameters.get(name, "")) for name in named)
