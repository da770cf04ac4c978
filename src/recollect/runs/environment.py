"""The contract between the engine and some material: `Tool` and `Environment`.

A tool reads and never writes; its output is bounded; its parameters are a pydantic model, so that a planner's call is
checked before it runs. The environments are in `retrieval/recursive/`, `library/` and `codebase/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from recollect.domain.findings import Finding
from recollect.domain.trajectory import Trajectory
from recollect.providers.models.purse import Purse

if TYPE_CHECKING:
    from pydantic import BaseModel

    from recollect.runs.cache import Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a call gave back. `value` is JSON and goes into the record and the cache; `text` is what a planner reads.

    `tokens` is what was read to get it without a model; what models and runs that the call started have used is counted
    where they are asked.
    `findings` are offered to the run; a planner may drop them. A `passing` one may well be another next time, as when a
    model did not answer: no cache keeps it.
    """

    value: Any
    text: str = ""
    tokens: int = 0
    findings: tuple[Finding, ...] = ()
    passing: bool = False

    def document(self) -> dict[str, Any]:
        """As JSON, for who keeps it longer than a cache does."""
        findings = [finding.document() for finding in self.findings]
        return {"value": self.value, "text": self.text, "tokens": self.tokens, "findings": findings}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Observation:
        """From its JSON; of another version it raises what reading JSON raises."""
        kept = {name: document[name] for name in ("value", "text", "tokens")}
        return cls(**kept, findings=tuple(Finding.read(row) for row in document["findings"]))


#: Starts a run one level deeper, on the parent's budget: `recurse(query)`.
Recurse = Callable[[str], Awaitable[Trajectory]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a tool may use beside its parameters.

    `recurse` raises `DepthLimitError` beyond the depth limit. A call starts one run at most: for two, plan two calls.
    A model that it asks is charged to `purse`: that counts for the call, and keeps it within the budget. A call that
    asks many times keeps what each of them answered in `cache`.
    """

    query: str
    depth: int
    recurse: Recurse
    purse: Purse = field(default_factory=Purse)
    cache: Cache | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A named, read-only operation. `parameters` is a pydantic model; `run` gets an instance of it.

    What can't be done it raises; the message is recorded as the call's error and told to the planner, who can mend it.

    `model_call`: it asks a language model. `worst` gives the most tokens and dollars that a call with these parameters
    may cost, reserved before it runs; None for one that costs nothing. `cacheable` is off for what depends on more than
    its parameters and `content_hash`. `lasts`: it asks many times, so it has all the time that the run has left.
    """

    name: str
    description: str
    parameters: type[BaseModel]
    run: Callable[[Any, CallContext], Awaitable[Observation]]
    model_call: bool = False
    cacheable: bool = True
    lasts: bool = False
    max_output_chars: int = 50_000
    worst: Callable[[Any], tuple[int, float]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something a learned planner could do next: a template's name, its calls filled in, and the features of doing it.

    Features describe the situation (kind of question, how much was found, what a call would cost), never the words.
    """

    template: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    features: Mapping[str, float]
    thought: str = ""
    done: bool = False


class Environment(Protocol):
    """Some material and its tools. One instance serves one run and its children."""

    @property
    def name(self) -> str:
        """`memory`, `library` or `codebase`."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools, by name."""
        ...

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        """A hash of the material that this call would read: a change makes the cached answer another one."""
        ...

    def actions(self, query: str, depth: int, step: int) -> Sequence[Action]:
        """What a planner without a model can choose from now; empty when there is nothing left to do."""
        ...
