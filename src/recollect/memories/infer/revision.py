"""What a capable model makes of a conversation: facts to add, to replace and to retract.

It sees whole turns of all speakers with their dates, and the facts that are known about whom they name or that come
near to them. Nothing it says is believed without a quote that stands in the turn it names; what fails is dropped and
said so. Smaller models keep the strict rule of `extraction`: all words of a fact in one sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from recollect.domain.memory import Memory
from recollect.domain.tenancy import TenantContext
from recollect.memories.infer.extraction import Claim, Findings, ask_model, in_chunks, turn_line
from recollect.memories.supersession import speaker_name
from recollect.providers.tokens import count_tokens
from recollect.runs.fences import read_prompt
from recollect.runs.quotes import locate
from recollect.storage import facts
from recollect.storage.store import Row
from recollect.text.facts import Statement
from recollect.text.facts.predicates import spellings
from recollect.workspace import Workspace

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

#: Of the room in a request, what known facts may take.
_KNOWN_SHARE = 4
#: Facts that come near to a turn, and the longest turns of a request that are compared with them.
_NEAR, _COMPARED = 4, 16
#: Of a turn, beside its words.
_AROUND_TOKENS = 40
_MODEL = "from the model: "
_NEVER = datetime.min.replace(tzinfo=UTC)
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'’-]+(?:\s+[A-ZÀ-Þ][\w'’-]+){0,2}")


async def revise(
    workspace: Workspace, model: ChatModel, memories: Sequence[Memory], context: TenantContext
) -> Findings:
    """Ask the model about all memories; the first failure ends the asking and becomes a note."""
    turns = [memory for memory in memories if not (memory.subject and memory.predicate)]
    room = model.profile.part_tokens

    async def ask(chunk: list[Memory], findings: Findings) -> None:
        known = await _known(workspace, context, chunk, room // _KNOWN_SHARE)
        lines = [_fact_line(number, row) for number, row in enumerate(known, 1)]
        for number, memory in enumerate(chunk, 1):
            speaker = speaker_name(memory.speaker, context) or memory.speaker or "somebody"
            lines.append(turn_line(number, memory, speaker, date=f"{memory.created_at:%Y-%m-%d}"))
        answer = await model.answer(read_prompt(__package__, "revision.md"), "\n".join(lines), form())
        _take(answer.value, chunk, known, model.name, context, findings)

    chunks = in_chunks(
        turns, room=room - room // _KNOWN_SHARE, size=lambda text: count_tokens(text) + _AROUND_TOKENS
    )
    return await ask_model(chunks, ask)


@cache
def form() -> Any:
    """The form of the model's answer."""
    from pydantic import BaseModel

    class Change(BaseModel):
        kind: Literal["add", "replace", "retract"]
        subject: str
        predicate: str
        object: str
        turn: int
        quote: str
        known: int | None = None
        since: str = ""

    class Procedure(BaseModel):
        trigger: str
        action: str
        turn: int
        quote: str

    class Revision(BaseModel):
        changes: list[Change]
        procedures: list[Procedure] = []
        entities: list[str] = []

    return Revision


def _fact_line(number: int, row: Row) -> str:
    fact = f"{row['subject']} {row['predicate']} {row['object']}"
    day = row["valid_from"] or row["created_at"]
    return json.dumps({"known": number, "fact": fact, "since": f"{day:%Y-%m-%d}"}, ensure_ascii=False)


async def _known(
    workspace: Workspace, context: TenantContext, chunk: Sequence[Memory], room: int
) -> list[Row]:
    """What is known of the speakers and of whom the turns name, then what comes near to them; as far as there is room.

    Within each the newest first.
    """
    names = {speaker_name(memory.speaker, context) or "" for memory in chunk}
    names |= {name for memory in chunk for name in _NAME.findall(memory.text)}
    subjects = sorted({spelling for name in names if name for spelling in spellings(name)})
    async with workspace.store.transaction(context) as tx:
        places = await facts.scopes_of(tx, [memory.id for memory in chunk])
        telling = [memory.id for memory in sorted(chunk, key=lambda memory: -len(memory.text))[:_COMPARED]]
        now = workspace.clock()
        named, near = list[Row](), list[Row]()
        for scope in sorted(set(places.values())):
            named += await facts.known_facts(tx, scope, subjects, now=now)
            turns = [id for id in telling if places.get(id) == scope]
            near += await facts.near_facts(tx, scope, turns, each=_NEAR, now=now)
    rows = {
        row["memory_id"]: row
        for part in (named, near)
        for row in sorted(part, key=lambda row: row["created_at"], reverse=True)
    }
    kept: list[Row] = []
    for row in rows.values():
        room -= count_tokens(_fact_line(len(kept) + 1, row)) + 1
        if room < 0:
            break
        kept.append(row)
    return kept


def _take(
    value: Any,
    chunk: Sequence[Memory],
    known: Sequence[Row],
    name: str,
    context: TenantContext,
    findings: Findings,
) -> None:
    why = f"read by the model {name!r}"
    for change in value.changes:
        text = f"{change.subject} {change.predicate} {change.object}"
        turn, reason = _proved(chunk, change.turn, change.quote)
        fact = known[change.known - 1] if change.known and 1 <= change.known <= len(known) else None
        if turn is not None and change.kind != "add" and fact is None:
            turn, reason = None, f"the model wants to {change.kind} a fact that is not there"
        if turn is None:
            findings.skip(None, text, f"{_MODEL}{reason}")
            continue
        if fact is not None and _day(change.since) > turn.created_at:
            # Until that day the known fact holds: both are kept, and the new one says from when on it is so.
            fact, change.kind = None, "add"
        statement = _statement(change, fact, turn, speaker_name(turn.speaker, context))
        if statement is None:
            findings.skip(turn, text, f"{_MODEL}a part of the fact is empty")
            continue
        replaced = fact["memory_id"] if fact is not None else None
        findings.claims.append(Claim(memory=turn, why=why, statement=statement, replaces=replaced))
    for step in value.procedures:
        turn, reason = _proved(chunk, step.turn, step.quote)
        trigger, action = step.trigger.strip(), step.action.strip()
        if turn is not None and trigger and action:
            findings.claims.append(Claim(memory=turn, why=why, trigger=trigger, action=action))
        else:
            why_not = f"{_MODEL}{reason or 'a part of it is empty'}"
            findings.skip(turn, f"when {trigger}: {action}", why_not)
    findings.name(value.entities, chunk)


def _statement(change: Any, fact: Row | None, turn: Memory, speaker: str | None) -> Statement | None:
    """A change as a statement; what is retracted is a known fact that is no longer so."""
    if change.kind == "retract":
        assert fact is not None
        return Statement(
            subject=fact["subject"],
            predicate=fact["predicate"],
            object=fact["object"],
            sentence=change.quote,
            ends=True,
            change=True,
        )
    subject, predicate, value = change.subject.strip(), change.predicate.strip(), change.object.strip()
    if subject.casefold() in {"i", "me", "user", "speaker"}:
        subject = speaker or ""
    if not (subject and predicate and value):
        return None
    since = _day(change.since)
    if since > turn.created_at and change.since not in value:
        value = f"{value}, from {since:%-d %B %Y} on"
    return Statement(
        subject=subject[:200],
        predicate=predicate.replace("_", " ")[:120],
        object=value[:1_000],
        sentence=change.quote,
        change=change.kind == "replace",
        former=fact["object"] if fact is not None else None,
        valid_from=since if _NEVER < since <= turn.created_at else None,
    )


def _day(text: str) -> datetime:
    """The day that a model names; long ago when it names none."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return _NEVER
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _proved(chunk: Sequence[Memory], number: int, quote: str) -> tuple[Memory | None, str]:
    """The turn that a change names, if its quote stands there; else why it is not believed."""
    if not 1 <= number <= len(chunk):
        return None, "the model names a turn that is not there"
    turn = chunk[number - 1]
    if locate(quote, turn.text.split("\n")) is None:
        return None, "its quote is not in the turn"
    return turn, ""
