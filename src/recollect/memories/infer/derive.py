"""Store memories, derive facts and procedures from them, and account for every statement.

The memories are durable before anything is derived: a model that fails, or a process that ends, loses no turn. Each
derived fact goes in through the same door as any other, so repeats and supersession are decided there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from recollect.domain.memory import Memory
from recollect.domain.names import Name
from recollect.domain.results import Decision, Inference
from recollect.domain.tenancy import TenantContext
from recollect.errors import ConflictError, RecollectError
from recollect.memories.infer.extraction import Claim, Findings, find_by_model, find_by_rule
from recollect.memories.infer.revision import revise
from recollect.memories.intake import Given, Stated, add_items
from recollect.memories.supersession import hold_subjects, kept_predicate, known_fact
from recollect.providers.models.purse import Purse
from recollect.storage import entities, facts, reads, writes
from recollect.storage.entities import Linked
from recollect.storage.facts import DERIVED
from recollect.text.facts import Relation, Statement, relate
from recollect.text.facts.predicates import spellings
from recollect.text.facts.relation import sentence_of
from recollect.workspace import Workspace


async def infer(
    workspace: Workspace, context: TenantContext, items: Sequence[Mapping[str, Any]]
) -> Inference:
    """Store items, then what they state."""
    report = await add_items(workspace, context, list(enumerate(items)))
    if report.errors:
        raise report.errors[0].to_error()
    async with workspace.store.transaction(context) as tx:
        memories = await reads.get_memories(tx, [id for id in report.ids if id is not None])
    if len(memories) < len(items):
        raise ConflictError("what was added is gone again: another caller deleted it in this moment")
    findings = find_by_rule(memories, context)
    model, notes = await _ask_model(workspace, context, memories, findings)
    decisions = [*report.decisions]
    derived: list[Memory] = []
    for claim in findings.claims:
        for decision, memory in await _derive(workspace, context, claim):
            decisions.append(decision)
            derived += [memory] if memory is not None else []
    return Inference(
        memories=tuple(memories),
        facts=tuple(derived),
        decisions=(*decisions, *findings.skipped),
        model=model,
        notes=tuple(notes),
    )


async def _ask_model(
    workspace: Workspace, context: TenantContext, memories: list[Memory], findings: Findings
) -> tuple[str | None, list[str]]:
    """Add what a model finds to what rules found. Without a model nothing is asked."""
    try:
        model = workspace.model()
    except RecollectError as error:
        return None, [f"the model could not be opened, rules were used alone: {error}"]
    if model is None:
        return None, []
    charged = model.charged_to(Purse(max_usd=workspace.settings.budget.max_usd))
    if model.profile.shape == "large":
        more = await revise(workspace, charged, memories, context)
    else:
        more = await find_by_model(charged, memories, context)
    findings.claims += more.claims
    findings.skipped += more.skipped
    await _link_names(workspace, context, memories, more)
    return (None if more.notes else model.name), more.notes


async def _link_names(
    workspace: Workspace, context: TenantContext, memories: Sequence[Memory], findings: Findings
) -> None:
    if not findings.names:
        return
    async with workspace.store.transaction(context) as tx:
        places = await facts.scopes_of(tx, list(findings.names))
        links = [
            Linked(
                memory_id=memory.id,
                scope_id=places[memory.id],
                names=tuple(Name(text=name, kind="name") for name in findings.names[memory.id]),
            )
            for memory in sorted(memories, key=lambda m: m.id)
            if memory.id in places and memory.id in findings.names
        ]
        await entities.link(tx, links, again=True)


async def _derive(
    workspace: Workspace, context: TenantContext, claim: Claim
) -> list[tuple[Decision, Memory | None]]:
    """Store one finding; what was done about it, and the memory it became."""
    statement, turn = claim.statement, claim.memory
    given: Given
    if statement is None:
        given = {**_shared(claim), "type": "procedural", "trigger": claim.trigger, "action": claim.action}
        text = f"When {claim.trigger}: {claim.action}"
    else:
        text = sentence_of(statement)
        known = await _known_already(workspace, context, turn, statement, text)
        if known is not None:
            return [(known, None)]
        given = Stated(fields=_fact_fields(claim, statement, text), statement=statement)
    report = await add_items(workspace, context, [(0, given)])
    if report.errors:
        return [(Decision(kind="skip", reason=report.errors[0].message, text=text, memory_id=turn.id), None)]
    [stored] = report.ids
    assert stored is not None
    if report.reinforced:
        return [(Decision(kind="reinforce", reason="known already", text=text, memory_id=stored), None)]
    async with workspace.store.transaction(context) as tx:
        memories = await reads.get_memories(tx, [stored])
    done = Decision(kind="add", reason=claim.why, text=text, memory_id=stored)
    rest: list[tuple[Decision, Memory | None]] = [(decision, None) for decision in report.decisions]
    if claim.replaces is not None and claim.replaces not in {
        decision.other_id for decision in report.decisions
    }:
        rest += [(await _replace(workspace, context, claim, stored), None)]
    return [(done, memories[0] if memories else None), *rest]


async def _replace(workspace: Workspace, context: TenantContext, claim: Claim, stored: UUID) -> Decision:
    """Retire the fact that a model said is replaced, where the rules saw no connection."""
    assert claim.replaces is not None
    try:
        async with workspace.store.transaction(context) as tx:
            await writes.supersede(tx, claim.replaces, stored, now=workspace.clock(), reason=claim.why)
    except RecollectError as error:  # somebody else retired it, or deleted it, in this moment
        return Decision(kind="skip", reason=str(error), memory_id=stored, other_id=claim.replaces)
    return Decision(kind="supersede", reason=claim.why, memory_id=stored, other_id=claim.replaces)


async def _known_already(
    workspace: Workspace, context: TenantContext, turn: Memory, statement: Statement, text: str
) -> Decision | None:
    """Reinforce the fact if it is known; a denial only flags what it denies."""
    now = workspace.clock()
    async with workspace.store.transaction(context) as tx:
        scope_id = (await facts.scopes_of(tx, [turn.id])).get(turn.id)
        if scope_id is None:
            return Decision(kind="skip", reason="the memory is gone again", text=text)
        await hold_subjects(tx, [(scope_id, statement.subject)])
        for row in await facts.known_facts(tx, scope_id, spellings(statement.subject), now=now):
            verdict = relate(statement, known_fact(row), said_at=turn.created_at)
            if verdict.relation is Relation.SAME:
                await facts.restate(
                    tx, row["memory_id"], scope_id, turn=turn.id, reason=verdict.reason, now=now
                )
                return Decision(
                    kind="reinforce", reason=verdict.reason, text=text, memory_id=row["memory_id"]
                )
            if verdict.relation is Relation.CONTRADICTS and statement.denied:
                other = row["memory_id"]
                await tx.execute(
                    "insert_conflict", id=turn.id, other=other, scope=scope_id, reason=verdict.reason, now=now
                )
                return Decision(
                    kind="conflict", reason=verdict.reason, text=text, memory_id=turn.id, other_id=other
                )
    if statement.denied:
        return Decision(kind="skip", reason="a negation", text=statement.sentence, memory_id=turn.id)
    return None


def _shared(claim: Claim) -> dict[str, Any]:
    turn = claim.memory
    return {
        "layer": turn.layer.value,
        "scope": turn.scope,
        "created_at": turn.created_at,
        "expires_at": turn.expires_at,
        "source": f"{DERIVED}{turn.id}",
        "metadata": {"derived_from": [str(turn.id)], "why": claim.why},
    }


def _fact_fields(claim: Claim, statement: Statement, text: str) -> dict[str, Any]:
    return {
        **_shared(claim),
        "type": "semantic",
        "text": text,
        "subject": statement.subject,
        "predicate": kept_predicate(statement),
        "object": statement.object,
        "valid_from": statement.valid_from,
        "valid_to": statement.valid_to,
    }
