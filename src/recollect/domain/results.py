"""What calls give back: hits, pages, reports, receipts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.domain.memory import Memory, MemoryType
from recollect.domain.tables import Listed, Tabular
from recollect.errors import RecollectError, error_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit was recalled: its signals by name, and the same in a sentence.

    `evidence` is what the judge weighed to say how likely it answers. `outdated_by` is the hit that says it anew.
    """

    signals: Mapping[str, float]
    sources: tuple[str, ...]
    sentence: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    outdated_by: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that answers a query.

    `score` is how likely it answers, from 0 to 1; `group` is whom or what it speaks for. `outdated` marks what a newer
    hit says anew.
    """

    id: UUID
    text: str
    score: float
    layer: Layer
    scope: str
    type: MemoryType
    group: str
    created_at: datetime
    metadata: dict[str, Any]
    conversation: str | None = None
    speaker: str | None = None
    position: int | None = None
    outdated: bool = False
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults(Tabular[Hit]):
    """Hits by layer precedence, then score. `notes` says what was degraded, and how to mend it.

    `timings_ms` has how long each stage took, and `total`.
    """

    hits: tuple[Hit, ...]
    query: str
    query_id: UUID
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)

    def _columns(self) -> tuple[str, ...]:
        return ("score", "memory", "where", "when")

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (hit.score, f"{_line(hit)}{' (outdated)' if hit.outdated else ''}", hit.scope, hit.created_at)
            for hit in self.hits
        ]

    def _empty(self) -> str:
        return "Nothing remembered answers that."

    def _remarks(self) -> tuple[str, ...]:
        return self.notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Tabular[Memory]):
    """One page of memories; `next_cursor` is None on the last one."""

    items: tuple[Memory, ...]
    next_cursor: str | None

    def _columns(self) -> tuple[str, ...]:
        return ("when", "where", "type", "memory")

    def _rows(self) -> list[tuple[object, ...]]:
        return [(memory.created_at, memory.scope, memory.type.value, _line(memory)) for memory in self.items]

    def _empty(self) -> str:
        return "No memories here."

    def _remarks(self) -> tuple[str, ...]:
        return () if self.next_cursor is None else ("There are more: pass next_cursor as cursor.",)


def _line(memory: Memory | Hit) -> str:
    """A turn with its speaker, as in a script."""
    return f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemError:
    """One item that could not be stored: its position in the input (or line number), and why."""

    index: int
    code: str
    message: str

    def to_error(self) -> RecollectError:
        """The error as it would have been raised."""
        return error_class(self.code)(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was done about one statement, and why.

    `kind` is "add" (stored as a fact), "reinforce" (known already), "supersede" (`other_id` was retired in favour of
    `memory_id`), "conflict" (kept beside `other_id`, which it contradicts) or "skip" (no fact; `text` says what).
    """

    kind: str
    reason: str
    text: str = ""
    memory_id: UUID | None = None
    other_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(Listed[Memory]):
    """What `add(..., infer=True)` did. As a sequence it is the memories that were given.

    `facts` are the memories derived from them, `decisions` says what was done about each statement and why, `model`
    names the model that read them (None: rules did), `notes` what was degraded.
    """

    memories: tuple[Memory, ...]
    facts: tuple[Memory, ...]
    decisions: tuple[Decision, ...]
    model: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that are both believed and contradict each other."""

    memory: Memory
    other: Memory
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReport:
    """What add_many and imports did. `ids` has one entry per item, None where it failed.

    `reinforced` items repeated a text of their scope; `unchanged` ones were imported before. `decisions` says which
    facts were retired, reinforced or contradicted by new ones.
    """

    ids: tuple[UUID | None, ...]
    added: int
    reinforced: int
    unchanged: int = 0
    errors: tuple[ItemError, ...] = ()
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateReport:
    """How many summaries were made, made anew, still right, or taken away, and of what none could be made.

    `notes` says why something was skipped, or done in a simpler way than asked for.
    """

    made: int = 0
    refreshed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change of one memory: what happened, when, by whom, and the fields as they were before."""

    memory_id: UUID
    event: str
    at: datetime
    by: str | None
    before: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was erased, and how far.

    `vacuum` is "rewritten" (the tables were rewritten: the bytes are gone from the data files),
    "vacuumed" (dead rows are out of heap and index; their bytes stay in free space until it is reused)
    or "none" (asked for without). `unreachable` names what deletion can't reach. `rows` counts what was erased by
    table; summaries made from what was erased are among it, and `rebuilt` counts those that were made again
    from what is left.
    """

    id: UUID
    at: datetime
    tenant_id: str
    what: str
    memories: int
    rows: Mapping[str, int]
    memory_ids: tuple[UUID, ...] = ()
    rebuilt: int = 0
    vacuum: str = "none"
    unreachable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One customer of a store; nothing crosses from one to another.

    `recursion_threshold` and `recursion_enabled` are None where the settings decide. `keep_questions`: the
    words of searches are kept with their traces.
    """

    id: str
    name: str
    created_at: datetime
    retention_days: Mapping[str, int] = field(default_factory=dict)
    recursion_threshold: float | None = None
    recursion_enabled: bool | None = None
    keep_questions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A node of the tenant's tree, with how many memories it holds."""

    id: UUID
    layer: Layer
    name: str
    owner: str | None
    parent: str | None
    memories: int
    created_at: datetime

    def __str__(self) -> str:
        return f"{self.layer.value}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A user in a scope, as `member` or `lead`."""

    user_id: str
    scope: str
    role: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedReport:
    """What re-embedding did."""

    space: str
    embedded: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of the doctor. `advice` says what to do when it is not ok."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """The state of a store, for people and dashboards."""

    embedded: bool
    server_version: str
    pgvector_version: str
    schema_version: int
    embedder: str | None
    dimensions: int | None
    tenants: int
    memories: int
    bytes: int
