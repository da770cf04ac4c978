"""Facts, procedures and names through a chat model.

The model sees turns as JSON lines and answers with a schema; only its fields are used. Nothing it says is believed
without the text: each fact's subject, predicate and object must be in the words of the turn it names, and that sentence
must be one that can state a fact. What fails is dropped and said so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.memory import Memory
from recollect.domain.results import Decision
from recollect.domain.tenancy import TenantContext
from recollect.errors import ModelError
from recollect.memories.supersession import is_machine, speaker_name
from recollect.runs.fences import read_prompt
from recollect.text.facts import Statement, read_facts
from recollect.text.facts.predicates import wordings
from recollect.text.facts.screen import clean, why_no_fact
from recollect.text.sentences import split_sentences

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel


BY_RULE = "read by rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A fact (`statement`) or a procedure (`trigger`, `action`) that a memory states, and who read it there.

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
    """What some memories state, what was left out and why, and the names a model saw."""

    claims: list[Claim] = field(default_factory=list)
    skipped: list[Decision] = field(default_factory=list)
    names: dict[UUID, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def skip(self, memory: Memory | None, text: str, reason: str) -> None:
        """Note a statement that is left out, and why."""
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
            findings.claims += [Claim(memory=memory, why=BY_RULE, statement=s) for s in reading.statements]
            for skipped in reading.skipped:
                findings.skip(memory, skipped.sentence, skipped.reason)
    return findings


#: Turns in one question: enough to be worth the wait, few enough for a small model's window.
CHUNK_TURNS = 12
CHUNK_CHARS = 6_000
_MODEL = "from the model: "
_SMALL_WORDS = frozenset(
    "a an the of to in on at is are am was were be been has have had for and or with by from"
    " as it its my your our their"
    " his her this that i we".split()
)


async def find_by_model(model: ChatModel, memories: Sequence[Memory], context: TenantContext) -> Findings:
    """Ask the model about all memories; the first failure ends the asking and becomes a note."""
    spoken = [m for m in memories if not is_machine(m.speaker) and not (m.subject and m.predicate)]

    async def ask(chunk: list[Memory], findings: Findings) -> None:
        lines = [
            turn_line(
                number,
                replace(memory, text=memory.text[:CHUNK_CHARS]),
                speaker_name(memory.speaker, context) or "somebody",
            )
            for number, memory in enumerate(chunk, 1)
        ]
        turns = "\n".join(lines)
        # What can be extracted is not much longer than what was said; a small model would ramble on.
        budget = min(1_024, 200 + len(turns))
        answer = await model.answer(
            read_prompt(__package__, "extract.md"), turns, schema(), max_tokens=budget
        )
        _take(answer.value, chunk, model.name, context, findings)

    return await ask_model(in_chunks(spoken, room=CHUNK_CHARS, size=len, most=CHUNK_TURNS), ask)


@cache
def schema() -> Any:
    """The form of the model's answer."""
    from pydantic import BaseModel, Field

    class ExtractedFact(BaseModel):
        turn: int
        subject: str = Field(max_length=120)
        predicate: str = Field(max_length=60)
        object: str = Field(max_length=200)

    class ExtractedProcedure(BaseModel):
        turn: int
        trigger: str = Field(max_length=200)
        action: str = Field(max_length=300)

    class Extraction(BaseModel):
        facts: list[ExtractedFact] = Field(max_length=12)
        procedures: list[ExtractedProcedure] = Field(max_length=4)
        entities: list[str] = Field(max_length=20)

    return Extraction


def _take(value: Any, chunk: Sequence[Memory], name: str, context: TenantContext, findings: Findings) -> None:
    why = f"extracted by the model {name!r}"
    for fact in value.facts:
        text = f"{fact.subject} {fact.predicate} {fact.object}"
        memory = _turn(chunk, fact.turn)
        statement, reason = (None, "the model names a turn that is not there")
        if memory is not None:
            statement, reason = check_fact(
                memory.text,
                subject=fact.subject.strip(),
                predicate=fact.predicate.strip(),
                object=fact.object.strip(),
                speaker=speaker_name(memory.speaker, context),
            )
        if statement is None or memory is None:
            findings.skip(memory, text, f"{_MODEL}{reason}")
        else:
            findings.claims.append(Claim(memory=memory, why=why, statement=statement))
    for step in value.procedures:
        memory = _turn(chunk, step.turn)
        trigger, action = step.trigger.strip(), step.action.strip()
        if (
            memory is not None
            and trigger
            and action
            and all(grounded(t, memory.text) for t in (trigger, action))
        ):
            findings.claims.append(Claim(memory=memory, why=why, trigger=trigger, action=action))
        else:
            reason = f"{_MODEL}a procedure whose words are not in the turn"
            findings.skip(memory, f"when {trigger}: {action}", reason)
    findings.name(value.entities, chunk)


def check_fact(
    text: str, *, subject: str, predicate: str, object: str, speaker: str | None
) -> tuple[Statement | None, str]:
    """A model's fact as a statement, or why it is not believed."""
    if not (subject and predicate and object):
        return None, "a part of the fact is empty"
    first_person = speaker is not None and subject.casefold() in {
        speaker.casefold(),
        "i",
        "me",
        "speaker",
        "user",
    }
    for sentence in split_sentences(text):
        speaks = first_person and re.search(r"\b(?:i|my|me|mine|i'm|i’m)\b", sentence, re.I)
        if not (speaks or grounded(subject, sentence)) or not grounded(object, sentence):
            continue
        if not any(grounded(wording, sentence) for wording in (predicate, *wordings(predicate))):
            continue
        if subject.casefold() == object.casefold() or len(object) > 0.8 * len(sentence):
            return None, "the model repeats the sentence instead of taking it apart"
        reason = why_no_fact(sentence)
        if reason is not None:
            return None, reason
        cleaned = clean(sentence)
        if re.search(r"\bnot\b", cleaned.text):
            return None, "a negation"
        return (
            Statement(
                subject=speaker if first_person and speaker else subject,
                predicate=predicate.replace("_", " "),
                object=object,
                sentence=sentence,
                change=cleaned.change,
                also=cleaned.also,
            ),
            "",
        )
    return None, "its words are not together in one sentence of the turn"


def grounded(claim: str, text: str) -> bool:
    """Whether every word of a claim that means something is in a text; endings may differ."""
    words = [w for w in _words(claim) if w not in _SMALL_WORDS] or _words(claim)
    there = {_stem(word) for word in _words(text)}
    return bool(words) and all(_stem(word) in there for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _stem(word: str) -> str:
    return word if any(c.isdigit() for c in word) or len(word) < 5 else word[: max(4, len(word) - 3)]


def _turn(chunk: Sequence[Memory], number: int) -> Memory | None:
    return chunk[number - 1] if 1 <= number <= len(chunk) else None
