"""One memory: who said it, the conversation around it, what it replaced, why it was found; changing and adding."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.domain.memory import Memory, MemoryType
from recollect.errors import InvalidInputError, NotFoundError
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import (
    Dialog,
    as_json,
    card,
    confirmed,
    empty,
    fields,
    heading,
    in_a_word,
    quiet,
    shares,
    tag,
    when,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.client.async_client import AsyncRecollect
    from recollect.domain.results import Explanation, HistoryEntry
    from recollect.surfaces.dashboard.visitor import Visitor

#: Turns of a conversation before and after the one that is shown.
_AROUND = 3
_NAMED = 16
#: Below it a search returns nothing, unless it is told otherwise.
LEAST_SCORE = 0.7
_NUMBERS = re.compile(r" \((?:\w+ )?-?\d+\.\d+\)")


def why(explanation: Explanation, score: float) -> None:
    """Why a memory was found, in words, and what its score is made of: the parts add up to it."""
    sentence = _NUMBERS.sub("", explanation.sentence)
    ui.label(f"{sentence[:1].upper()}{sentence[1:]}.").classes("text-sm")
    total = sum(value for value in explanation.signals.values() if value > 0)
    if total > 0:
        ranked = sorted(explanation.signals.items(), key=lambda pair: -pair[1])
        parts = {in_a_word(name): score * value / total for name, value in ranked if value > 0}
        shares(parts, whole=1.0)
        left_out = "" if score >= LEAST_SCORE else f"; below {LEAST_SCORE:g}, so a search leaves it out"
        quiet(f"together {score:.2f} of 1: how likely it answers{left_out}", "text-xs")
    if explanation.outdated_by is not None:
        ui.link("A newer memory says this anew", f"/memories/{explanation.outdated_by}").classes("link")


async def build(visitor: Visitor, id: str, q: str = "", user: str = "") -> None:
    """The page."""
    ui.link("← Memories", link("/memories", q=q, user=user)).classes("link")

    @ui.refreshable
    async def panels() -> None:
        store = await visitor.store(user=user or None)
        try:
            memory, history = await store.get(id), await store.history(id)
        except (NotFoundError, InvalidInputError):
            empty("search_off", "There is no such memory", then="It may have been deleted.")
            return
        _memory(visitor, memory, panels.refresh, user or None)
        if q:
            await _found_for(store, memory, q)
        await _replaced(store, memory)
        await _conversation(store, memory)
        with ui.row().classes("w-full gap-4 items-stretch"):
            with card("Particulars", "grow basis-80"):
                fields(_facts(memory))
            with card("History", "grow basis-72"):
                _history(history)

    await panels()


def _memory(visitor: Visitor, memory: Memory, refresh: Any, user: str | None) -> None:
    async def restore() -> None:
        await (await visitor.store(user=user)).restore(memory.id)
        refresh()

    async def delete() -> None:
        if await confirmed("Delete this memory for good, with everything made from it?", act="Delete"):
            receipt = await (await visitor.store(user=user)).delete(memory.id)
            ui.notify(f"Deleted; receipt {receipt.id}", type="positive")
            ui.navigate.to("/memories")

    with ui.card().classes("card w-full gap-2"):
        words(memory.text)
        with ui.element("div").classes("meta"):
            if memory.superseded_at is not None:
                tag("replaced", "warn")
            tag(memory.scope, to=link("/memories", scope=memory.scope))
            tag(memory.type.value, to=link("/memories", types=memory.type.value))
            _names(list(dict.fromkeys((*memory.entities, *memory.mentions))))
        quiet(_who(memory), "text-sm prose")
        with ui.row().classes("gap-1"):
            ui.button("Edit", icon="edit", on_click=lambda: _edit(visitor, memory, refresh, user)).props(
                "flat dense"
            )
            if memory.superseded_at is not None:
                ui.button("Believe again", icon="restore", on_click=restore).props("flat dense")
            ui.button("Delete", icon="delete", on_click=delete).props("flat dense color=negative")


def _names(names_: Sequence[str]) -> None:
    """Whom and what it names; of many the first, and a button for the rest."""

    def tags(some: Sequence[str]) -> None:
        for name in some:
            tag(name, "tint", to=f"/entities/{quote(name, safe='')}")

    tags(names_[:_NAMED])
    if len(names_) > _NAMED:
        with ui.element("div").classes("meta") as rest:
            tags(names_[_NAMED:])
        rest.set_visibility(False)
        more = ui.button(f"{len(names_) - _NAMED} more names").props("flat dense size=sm")
        more.on_click(lambda: rest.set_visibility(not rest.visible))


def _who(memory: Memory) -> str:
    """Who said it, where and when."""
    speaker = memory.speaker or (memory.scope.partition("/")[2] if memory.layer is Layer.USER else None)
    origin = f"{'Said' if memory.speaker else 'Told'} by {speaker}" if speaker else f"Kept in {memory.scope}"
    where = f" in the conversation {memory.conversation!r}" if memory.conversation else ""
    source = f", from {memory.source}" if memory.source else ""
    return f"{origin}{where}{source}, {when(memory.created_at)}"


async def _found_for(store: AsyncRecollect, memory: Memory, question: str) -> None:
    hits = await store.search(question, threshold=0, limit=1, filters={"id": str(memory.id)}, explain=True)
    with card("How well it answers"):
        quiet(question, "prose")
        if hits and hits[0].explanation is not None:
            why(hits[0].explanation, hits[0].score)
        else:
            quiet("By itself it does not match this question.")


async def _replaced(store: AsyncRecollect, memory: Memory) -> None:
    """What stands in its place, and in whose place it stands."""
    before = (await store.list(filters={"superseded_by": str(memory.id)}, include_superseded=True)).items
    after = []
    if memory.superseded_by is not None:
        after = list(await store.list(filters={"id": str(memory.superseded_by)}, include_superseded=True))
    if not before and not after:
        return
    with ui.card().classes("card w-full gap-2"):
        for title, others in (("Replaced by", after), ("It replaced", before)):
            if others:
                ui.label(title).classes("title")
            for other in others:
                with ui.link(target=f"/memories/{other.id}").classes("said"):
                    ui.label(other.text).classes("prose folded" + (" gone" if others is before else ""))
                    quiet(when(other.created_at))


async def _conversation(store: AsyncRecollect, memory: Memory) -> None:
    """The turns around it."""
    if not memory.conversation or memory.position is None:
        return
    turns = await store.list(
        conversation=memory.conversation,
        filters={"position": {"$gte": memory.position - _AROUND, "$lte": memory.position + _AROUND}},
        include_superseded=True,
        limit=2 * _AROUND + 1,
    )
    with ui.card().classes("card w-full gap-1"):
        whole = link("/memories", conversation=memory.conversation, order="oldest", superseded=True)
        heading("The conversation around it", "All of it", whole)
        for turn in sorted(turns, key=lambda turn: turn.position or 0):
            with ui.link(target=f"/memories/{turn.id}").classes("said") as row:
                row.classes("this" if turn.id == memory.id else "")
                quiet(turn.speaker or "somebody", "text-xs")
                ui.label(turn.text).classes("prose folded" + (" gone" if turn.superseded_at else ""))


def _history(history: Sequence[HistoryEntry]) -> None:
    for entry in reversed(history):
        with ui.element("div").classes("moment"):
            ui.label(entry.event.capitalize()).classes("font-medium")
            by = f" by {entry.by}" if entry.by else ""
            quiet(f"{when(entry.at)}{by}")
            for name, value in dict(entry.before or {}).items():
                words = value if isinstance(value, str) else as_json(value)
                ui.label(f"{name} was: {words}").classes("prose text-sm quiet folded")


def _facts(memory: Memory) -> list[tuple[str, object]]:
    fact = " · ".join(filter(None, (memory.subject, memory.predicate, memory.object)))
    return [
        ("Fact", fact),
        ("When", memory.trigger),
        ("Do", memory.action),
        ("Learned", f"{memory.created_at:%Y-%m-%d %H:%M} UTC"),
        ("True from", memory.valid_from and f"{memory.valid_from:%Y-%m-%d %H:%M}"),
        ("True until", memory.valid_to and f"{memory.valid_to:%Y-%m-%d %H:%M}"),
        ("Expires", memory.expires_at and f"{memory.expires_at:%Y-%m-%d %H:%M}"),
        ("Importance", f"{memory.importance:.2f}"),
        ("Used", f"{memory.use_count} times"),
        ("Utility", f"{memory.utility:+.2f}"),
        ("Source", memory.source),
        ("Metadata", memory.metadata),
        ("Id", memory.id),
    ]


# Changing and adding -------------------------------------------------------------------------------


async def _edit(visitor: Visitor, memory: Memory, refresh: Any, user: str | None) -> None:
    async def save() -> bool:
        changes: dict[str, Any] = {
            "text": text.value if text.value != memory.text else None,
            "importance": importance.value if abs(importance.value - memory.importance) > 1e-9 else None,
            "entities": names(about.value) if names(about.value) != list(memory.entities) else None,
            "metadata": data if (data := _object(metadata.value)) != memory.metadata else None,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        if given:
            await (await visitor.store(user=user)).update(memory.id, **given)
            ui.notify("Saved", type="positive")
        return bool(given)

    with Dialog("Edit the memory", act="Save", do=save) as dialog:
        text = ui.textarea("Text", value=memory.text)
        about = ui.input("About, by name", value=", ".join(memory.entities))
        metadata = ui.textarea("Metadata, as JSON", value=as_json(memory.metadata)).classes("mono")
        with ui.column().classes("w-full gap-0"):
            quiet("Importance", "text-xs")
            importance = ui.slider(min=0, max=1, step=0.05, value=memory.importance).props("label")
    if await dialog:
        refresh()


async def add(visitor: Visitor, *, user: str | None = None) -> None:
    """Ask for a memory and store it; opens it when it is there."""
    store = await visitor.store(user=user)
    shared = [
        str(place) for place in await store.scopes.list() if place.layer not in (Layer.USER, Layer.SESSION)
    ]

    async def save() -> Memory:
        added = await (await visitor.store(user=user)).add(
            text.value or "",
            type=kind.value,
            scope=None if scope.value == mine else scope.value,
            entities=names(about.value),
            infer=bool(infer.value),
        )
        return added if isinstance(added, Memory) else next(iter(added))

    mine = "my own"
    with Dialog("Add a memory", act="Remember", do=save) as dialog:
        text = ui.textarea("What is to be remembered").props("autofocus")
        with ui.element("div").classes("grid w-full gap-3 sm:grid-cols-2"):
            scope = ui.select([mine, *shared], label="Who shares it", value=mine)
            kinds = [place.value for place in MemoryType if place is not MemoryType.SUMMARY]
            kind = ui.select(kinds, label="Type", value="episodic")
        about = ui.input("About, by name", placeholder="Ana, Acme").classes("w-full")
        infer = ui.checkbox("Read its facts, and retire what they replace").props("dense")
    if added := await dialog:
        ui.navigate.to(link(f"/memories/{added.id}", user=user))


def names(text: str | None) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _object(text: str | None) -> dict[str, Any]:
    try:
        data = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidInputError(f"the metadata is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidInputError("the metadata must be a JSON object, such as {}")
    return data
