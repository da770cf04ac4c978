"""What a new fact does to the facts that are known, inside the transaction that stores it.

`state_fact` reads what a draft states, when it arrives; `hold_subjects` and `settle_facts` bracket the insert. Whoever
states something about the same subject of the same scope waits, so two adders at once leave one current fact. Only
facts of the same scope meet: what a team believes and what one of its users believes may differ.

The rules are in text/facts; this module is where they meet the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from recollect.domain.memory import Draft, MemoryType
from recollect.domain.results import Conflict, Decision
from recollect.domain.tenancy import TenantContext
from recollect.storage import facts, reads, writes
from recollect.storage.rows import from_row
from recollect.storage.store import Row, Transaction
from recollect.text.facts import Known, Relation, Statement, read_fact, relate
from recollect.text.facts.predicates import spellings, subject_key
from recollect.text.facts.relation import NO_LONGER
from recollect.workspace import Workspace

#: Longer texts are notes; a fact that may be retired one day is a sentence or two.
MAX_FACT_CHARS = 600
#: Who speaks in chat messages that name nobody.
_USER = frozenset({"user", "human", "me"})
_MACHINE = frozenset({"assistant", "system", "tool", "ai", "bot", "function", "developer", "model"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A fact on its way into the store: the memory it is stored as, and what it states."""

    memory_id: UUID
    scope_id: UUID
    statement: Statement
    created_at: datetime


def speaker_name(speaker: str | None, context: TenantContext) -> str | None:
    """Whom "I" means: the speaker, or the caller's user when nobody else is named."""
    if speaker is None or speaker.casefold() in _USER:
        return context.user_id
    return None if speaker.casefold() in _MACHINE else speaker


def is_machine(speaker: str | None) -> bool:
    """Whether a turn was spoken by a program, whose words are no source of facts."""
    return speaker is not None and speaker.casefold() in _MACHINE


def state_fact(draft: Draft, context: TenantContext) -> tuple[Draft, Statement | None]:
    """The draft with its typed parts, and what it states. Only semantic memories state anything.

    Parts the caller gave are kept as they are. Without any, the text is read by rule; a text that says more than one
    fact keeps its parts empty.
    """
    if draft.type is not MemoryType.SEMANTIC:
        return draft, None
    given = (draft.subject, draft.predicate, draft.object)
    if all(given):
        return draft, _given_statement(draft)
    if (
        any(given)
        or draft.trigger
        or draft.action
        or len(draft.text) > MAX_FACT_CHARS
        or is_machine(draft.speaker)
    ):
        return draft, None
    statement = read_fact(draft.text, speaker=speaker_name(draft.speaker, context), now=draft.created_at)
    if statement is None:
        return draft, None
    if statement.denied:
        return draft, _within(statement, draft)
    untimed = draft.valid_from is None and draft.valid_to is None
    filled = replace(
        draft,
        subject=statement.subject,
        predicate=kept_predicate(statement),
        object=statement.object,
        valid_from=statement.valid_from if untimed else draft.valid_from,
        valid_to=statement.valid_to if untimed else draft.valid_to,
    )
    return filled, _within(statement, filled)


def kept_predicate(statement: Statement) -> str:
    """The predicate as it is stored; of what is over, it says so."""
    return f"{NO_LONGER}{statement.predicate}" if statement.ends else statement.predicate


def _given_statement(draft: Draft) -> Statement | None:
    assert draft.subject is not None
    assert draft.predicate is not None
    assert draft.object is not None
    ends = draft.predicate.startswith(NO_LONGER)
    statement = Statement(
        subject=draft.subject,
        predicate=draft.predicate.removeprefix(NO_LONGER),
        object=draft.object,
        sentence="",
        ends=ends,
        change=ends,
    )
    return _within(statement, draft)


def _within(statement: Statement, draft: Draft) -> Statement | None:
    """A statement with its draft's dates; None for what is not true yet, or no more."""
    if draft.valid_from is not None and draft.valid_from > draft.created_at:
        return None
    if draft.valid_to is not None and draft.valid_to <= draft.created_at:
        return None
    return replace(statement, valid_from=draft.valid_from, valid_to=draft.valid_to)


async def hold_subjects(tx: Transaction, subjects: Sequence[tuple[UUID, str]]) -> None:
    """Before the insert: wait for others who are stating something about the same (scope, subject)."""
    await facts.lock_facts(tx, sorted({(scope, subject_key(name)) for scope, name in subjects}))


async def settle_facts(
    tx: Transaction, stated: Sequence[StatedFact], *, now: datetime
) -> dict[UUID, list[Decision]]:
    """After the insert: retire, reinforce or flag what is known, for each new fact in the order they were said."""
    decided: dict[UUID, list[Decision]] = {}
    for fact in sorted(stated, key=lambda f: (f.created_at, f.memory_id)):
        known = await facts.known_facts(tx, fact.scope_id, spellings(fact.statement.subject), now=now)
        decided[fact.memory_id] = []
        for row in known:
            if row["memory_id"] == fact.memory_id:
                continue
            decision = await _settle(tx, fact, row, now=now)
            if decision is not None:
                decided[fact.memory_id].append(decision)
                if decision.kind == "supersede" and decision.other_id == fact.memory_id:
                    break  # the new one is the older one: it is history, and decides nothing more
    return decided


async def _settle(tx: Transaction, fact: StatedFact, row: Row, *, now: datetime) -> Decision | None:
    verdict = relate(fact.statement, known_fact(row), said_at=fact.created_at)
    new, old = fact.memory_id, row["memory_id"]
    match verdict.relation:
        case Relation.REPLACES:
            await writes.supersede(tx, old, new, now=now, reason=verdict.reason)
            return Decision(kind="supersede", reason=verdict.reason, memory_id=new, other_id=old)
        case Relation.OLDER:
            await writes.supersede(tx, new, old, now=now, reason=verdict.reason)
            return Decision(kind="supersede", reason=verdict.reason, memory_id=old, other_id=new)
        case Relation.SAME:
            await facts.restate(tx, old, fact.scope_id, turn=None, reason=verdict.reason, now=now)
            return Decision(kind="reinforce", reason=verdict.reason, memory_id=new, other_id=old)
        case Relation.CONTRADICTS:
            await tx.execute(
                "insert_conflict", id=new, other=old, scope=fact.scope_id, reason=verdict.reason, now=now
            )
            return Decision(kind="conflict", reason=verdict.reason, memory_id=new, other_id=old)
    return None


def known_fact(row: Row) -> Known:
    """A stored fact as the rules see it."""
    return from_row(Known, row, since=row["valid_from"], until=row["valid_to"])


async def list_conflicts(workspace: Workspace, context: TenantContext, *, limit: int) -> list[Conflict]:
    """Contradictions between memories that are both believed, the newest first."""
    async with workspace.store.transaction(context) as tx:
        rows = await tx.fetch("list_conflicts", limit=limit, now=workspace.clock())
        ids = list({id for row in rows for id in (row["memory_id"], row["other_id"])})
        memories = {memory.id: memory for memory in await reads.get_memories(tx, ids)}
    return [
        Conflict(
            memory=memories[row["memory_id"]],
            other=memories[row["other_id"]],
            reason=row["reason"],
            at=row["at"],
        )
        for row in rows
        if row["memory_id"] in memories and row["other_id"] in memories
    ]
