"""What was found in memories, before it is stored, and how a model is asked for it: shared by rules and models."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from recollect.domain.memory import Memory
from recollect.domain.results import Decision
from recollect.domain.tenancy import TenantContext
from recollect.errors import ModelError
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

    found: list[Found] = field(default_factory=list)
    skipped: list[Decision] = field(default_factory=list)
    names: dict[UUID, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def skip(self, memory: Memory | None, text: str, reason: str) -> None:
        """Leave something out."""
        id = memory.id if memory else None
        self.skipped.append(Decision(kind="skip", reason=reason, text=text[:200], memory_id=id))

    def name(self, entities: Iterable[str], chunk: Sequence[Memory]) -> None:
        """Keep the names that a model saw, where they stand."""
        for entity in dict.fromkeys(entity.strip() for entity in entities):
            if 2 <= len(entity) <= 100:
                whole = re.compile(rf"(?<!\w){re.escape(entity)}(?!\w)")
                for memory in chunk:
                    if whole.search(memory.text):
                        self.names.setdefault(memory.id, []).append(entity)


def in_chunks(
    memories: Iterable[Memory], *, room: int, size: Callable[[str], int], most: int | None = None
) -> Iterator[list[Memory]]:
    """Memories for one request each: as many as there is room for, one at least."""
    chunk: list[Memory] = []
    used = 0
    for memory in memories:
        cost = size(memory.text)
        if chunk and (used + cost > room or len(chunk) == most):
            yield chunk
            chunk, used = [], 0
        chunk.append(memory)
        used += cost
    if chunk:
        yield chunk


async def ask_model(
    chunks: Iterable[list[Memory]], ask: Callable[[list[Memory], Findings], Awaitable[None]]
) -> Findings:
    """Ask a model about all chunks; the first failure ends the asking and becomes a note."""
    findings = Findings()
    for chunk in chunks:
        try:
            await ask(chunk, findings)
        except ModelError as error:
            findings.notes.append(f"the model could not help, rules were used alone: {error}")
            break
    return findings


def turn_line(number: int, memory: Memory, speaker: str, **more: str) -> str:
    """A turn for a model as one JSON object on one line: quotes and line breaks of a text can't end it."""
    return json.dumps({"turn": number, **more, "speaker": speaker, "text": memory.text}, ensure_ascii=False)


def find_by_rule(memories: list[Memory], context: TenantContext) -> Findings:
    """Read every memory by rule."""
    findings = Findings()
    for memory in memories:
        if memory.subject and memory.predicate:
            findings.skip(memory, memory.text, "the memory is a fact itself")
        elif is_machine(memory.speaker):
            findings.skip(memory, memory.text, f"said by the {memory.speaker}, not by a person")
        else:
            speaker = speaker_name(memory.speaker, context)
            reading = read_facts(memory.text, speaker=speaker, now=memory.created_at)
            findings.found += [Found(memory=memory, why=BY_RULE, statement=s) for s in reading.statements]
            for skipped in reading.skipped:
                findings.skip(memory, skipped.sentence, skipped.reason)
    return findings
