"""What was found in one memory, before it is stored: values shared by rules and model."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from recollect.domain.memory import Memory
from recollect.domain.results import Decision
from recollect.domain.tenancy import TenantContext
from recollect.memories.supersession import is_machine, speaker_name
from recollect.text.facts import Statement, read_facts

BY_RULE = "read by rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A fact (`statement`) or a procedure (`trigger`, `action`) in a memory, and who found it.

    `replaces` is the known fact that it takes the place of, where a model has read both.
    """

    memory: Memory
    why: str
    statement: Statement | None = None
    trigger: str = ""
    action: str = ""
    replaces: UUID | None = None


@dataclass(slots=True)
class Findings:
    """All that was found in some memories, what was left out and why, and the names a model saw."""

    found: list[Found]
    skipped: list[Decision]
    names: dict[UUID, list[str]]
    notes: list[str]


def find_by_rule(memories: list[Memory], context: TenantContext) -> Findings:
    """Read every memory by rule."""
    findings = Findings(found=[], skipped=[], names={}, notes=[])
    for memory in memories:
        if memory.subject and memory.predicate:
            findings.skipped.append(_skip(memory, memory.text, "the memory is a fact itself"))
        elif is_machine(memory.speaker):
            findings.skipped.append(
                _skip(memory, memory.text, f"said by the {memory.speaker}, not by a person")
            )
        else:
            speaker = speaker_name(memory.speaker, context)
            reading = read_facts(memory.text, speaker=speaker, now=memory.created_at)
            findings.found += [Found(memory=memory, why=BY_RULE, statement=s) for s in reading.statements]
            findings.skipped += [_skip(memory, s.sentence, s.reason) for s in reading.skipped]
    return findings


def _skip(memory: Memory, text: str, reason: str) -> Decision:
    return Decision(kind="skip", reason=reason, text=text[:200], memory_id=memory.id)
