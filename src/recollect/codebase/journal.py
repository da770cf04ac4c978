"""What an exploration has done so far, written down while it goes on: after a crash it is taken up again.

A journal is a file of lines beside the record to be: the plans, the calls that began, and what they gave back. Taking
a run up means playing its plans again, its calls answered from the journal: they are free, since they were made
before the crash and are counted. What a model was paid for is not asked again. The journal goes when the record is
written. Secrets are masked in it as they are there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from recollect.codebase.audit import file_name
from recollect.codebase.planner import RLMAgent
from recollect.codebase.secrets import mask, mask_values
from recollect.domain.findings import Finding
from recollect.errors import BudgetExhaustedError
from recollect.files.jail import private_file, private_folder
from recollect.providers.models.purse import Purse
from recollect.runs.budget import Limits
from recollect.runs.cache import Cache, cache_key, canonical
from recollect.runs.environment import Action, CallContext, Environment, Observation, Tool
from recollect.runs.planners.contract import Call, Plan, Situation

_log = logging.getLogger("recollect.codebase")

VERSION = 1


@dataclass(slots=True, kw_only=True)
class Past:
    """What a journal says of a run that did not come to its end; nothing, where none is taken up."""

    resumed: bool = False
    subcalls: int = 0
    tokens: int = 0
    usd: float = 0.0
    model_calls: int = 0
    plans: dict[tuple[str, int, int], Plan] = field(default_factory=dict)
    observations: list[tuple[str, dict[str, Any], str, Observation]] = field(default_factory=list)

    def left_of(self, limits: Limits) -> tuple[Limits, bool]:
        """What may still be used of limits, and whether that is nothing.

        Then what is in the journal is played all the same; the planner sees to it that no more runs.
        """
        used = {"max_subcalls": self.subcalls, "max_tokens": self.tokens, "max_usd": self.usd}
        left: dict[str, Any] = {
            name: most - used[name] for name in used if (most := getattr(limits, name)) is not None
        }
        spent = self.resumed and any(rest <= 0 for rest in left.values())
        if spent:
            left = {name: max(rest, 1e-9 if name == "max_usd" else 1) for name, rest in left.items()}
        return replace(limits, **left), spent

    def narrow(self, purse: Purse) -> None:
        """Take what was used out of what models may use."""
        if purse.max_usd is not None:
            purse.max_usd = max(purse.max_usd - self.usd, 0.0)
        if purse.max_tokens is not None:
            purse.max_tokens = max(purse.max_tokens - self.tokens, 0)

    def fill(self, cache: Cache, environment: str) -> None:
        """Put what calls gave back into a cache, under the hash of what they read."""
        for tool, parameters, content_hash, observation in self.observations:
            cache.put(cache_key(environment, tool, parameters, content_hash), observation)

    def knows(self, call: Call) -> bool:
        """Whether the answer of a call is in the journal; a call may leave out what has a default."""
        return any(
            tool == call.tool
            and all(parameters.get(name) == value for name, value in call.parameters.items())
            for tool, parameters, _, _ in self.observations
        )


class Journal:
    """Writes what happens. A journal that can't be written is given up with a log line: the run goes on."""

    def __init__(self, folder: Path, task_id: str) -> None:
        self.path = folder / f"{file_name(task_id)}.journal"
        self._file: TextIO | None = None

    def begin(self, header: Mapping[str, Any], *, append: bool = False) -> None:
        """Start a new one, or go on in the one that is there."""
        try:
            private_folder(self.path.parent)
            self._file = open(self.path, "a" if append else "w", encoding="utf-8", opener=private_file)  # noqa: SIM115
        except OSError as error:
            self._give_up(error)
            return
        self.write({"run": {**header, "version": VERSION}})

    def write(self, line: Mapping[str, Any]) -> None:
        """One line, on disk before this returns as far as the operating system is concerned."""
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()
        except (OSError, ValueError, TypeError) as error:
            self._give_up(error)

    def close(self, *, remove: bool) -> None:
        """The run has ended; `remove`: and its record is written."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if remove:
            try:
                self.path.unlink(missing_ok=True)
            except OSError as error:
                _log.warning("the journal of an exploration can't be removed", exc_info=error)

    def _give_up(self, error: Exception) -> None:
        _log.warning("the journal of an exploration can't be written; it can't be resumed", exc_info=error)
        if self._file is not None:
            self._file.close()
            self._file = None


def read_journal(folder: Path, task_id: str, *, query: str, root: str) -> Past | None:
    """What is known of a run that broke off; None when there is none of this question and tree."""
    path = folder / f"{file_name(task_id)}.journal"
    past = Past(resumed=True)
    matches = False
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                try:
                    entry = json.loads(line)
                    if "run" in entry:
                        run = entry["run"]
                        matches = (run["version"], run["query"], run["root"]) == (VERSION, mask(query), root)
                    elif matches:
                        _take(past, entry)
                except (ValueError, KeyError, TypeError, AttributeError):
                    # The last line of a crash is often half a line; what stands before it is good.
                    continue
    except (OSError, UnicodeDecodeError):
        return None
    return past if matches else None


def _take(past: Past, entry: Mapping[str, Any]) -> None:
    if "begun" in entry:
        past.subcalls += 1
    elif "plan" in entry:
        document = entry["plan"]
        past.tokens += document["tokens"]
        past.usd += document["usd"]
        past.model_calls += document["model_calls"]
        findings = document["findings"]
        past.plans[document["query"], document["depth"], document["step"]] = Plan(
            thought=document["thought"],
            calls=tuple(Call(tool=tool, parameters=parameters) for tool, parameters in document["calls"]),
            findings=None if findings is None else tuple(Finding.read(finding) for finding in findings),
            next_direction=document["next_direction"],
            done=document["done"],
        )
    elif "call" in entry:
        document = entry["call"]
        past.tokens += document["tokens"]
        past.usd += document["usd"]
        past.model_calls += document["model_call"]
        observation = Observation.read(document)
        past.observations.append(
            (document["tool"], document["parameters"], document["content_hash"], observation)
        )


class JournaledPlanner:
    """A planner whose plans are written down; those of a past run are played first, and are free.

    `spent`: nothing is left of the budget, so only what is in the journal is played, and then it ends.
    """

    def __init__(self, planner: RLMAgent, journal: Journal, past: Past, *, spent: bool = False) -> None:
        self._planner, self._journal, self._past, self._spent = planner, journal, past, spent
        self.name = planner.name
        self.policy_label = planner.policy_label
        self.notes = planner.notes

    async def plan(self, situation: Situation) -> Plan:
        """The next step."""
        key = (situation.query, situation.depth, len(situation.steps))
        known = self._past.plans.get((mask(key[0]), key[1], key[2])) if self._past.resumed else None
        if known is not None:
            self._planner.remember(known, situation)
            if self._spent:
                return replace(known, calls=tuple(call for call in known.calls if self._past.knows(call)))
            return known
        if self._spent:
            return Plan(thought="nothing is left of the budget", done=True, findings=tuple(situation.offered))
        plan = await self._planner.plan(situation)
        self._journal.write({"plan": _plan_document(plan, key, situation.purse)})
        return plan


class JournaledEnvironment:
    """An environment whose calls are written down when they begin and when they end. `spent`: none may run any more."""

    reads_disk = True

    def __init__(self, environment: Environment, journal: Journal, *, spent: bool = False) -> None:
        self.name = environment.name
        self._environment, self._journal, self._spent = environment, journal, spent
        self.tools: Mapping[str, Tool] = {
            name: replace(tool, run=self._watched(tool)) for name, tool in environment.tools.items()
        }

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        """Of the material."""
        return self._environment.content_hash(tool, parameters)

    def actions(self, query: str, depth: int, step: int) -> tuple[Action, ...]:
        """Those of the environment."""
        return tuple(self._environment.actions(query, depth, step))

    def _watched(self, tool: Tool) -> Any:
        async def run(parameters: Any, context: CallContext) -> Observation:
            if self._spent:
                raise BudgetExhaustedError(
                    "nothing is left of the budget, and what this call reads has changed"
                )
            dumped: dict[str, Any] = parameters.model_dump(mode="json")
            content_hash = self._environment.content_hash(tool.name, dumped)
            self._journal.write({"begun": {"tool": tool.name, "parameters": mask_values(dumped)}})
            observation = await tool.run(parameters, context)
            if mask_values(dumped) == dumped:
                tokens, usd, _ = context.purse.used()
                document = {
                    "tool": tool.name,
                    "parameters": dumped,
                    "content_hash": content_hash,
                    "model_call": int(tool.model_call),
                    **mask_values(observation.document()),
                    "tokens": tokens + observation.tokens,
                    "usd": usd,
                }
                self._journal.write({"call": document})
            return observation

        return run


def _plan_document(plan: Plan, key: tuple[str, int, int], purse: Purse) -> dict[str, Any]:
    tokens, usd, requests = purse.used()
    return {
        "query": mask(key[0]),
        "depth": key[1],
        "step": key[2],
        "thought": mask(plan.thought),
        "calls": [[call.tool, json.loads(canonical(dict(call.parameters)))] for call in plan.calls],
        "findings": None
        if plan.findings is None
        else [mask_values(finding.document()) for finding in plan.findings],
        "next_direction": plan.next_direction,
        "done": plan.done,
        "tokens": tokens,
        "usd": usd,
        "model_calls": requests,
    }
