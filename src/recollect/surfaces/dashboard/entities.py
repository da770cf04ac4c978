"""Entities: whom and what memories name, how they hang together as a picture, and what is known of each."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import ui

from recollect.domain.memory import MemoryType
from recollect.errors import InvalidInputError, NotFoundError
from recollect.surfaces.counts import many
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import (
    PALETTE,
    card,
    chart,
    empty,
    heading,
    nothing,
    quiet,
    search_field,
    tag,
    when,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nicegui.events import EChartPointClickEventArguments

    from recollect.domain.memory import Memory
    from recollect.domain.names import Entity, EntityGraph
    from recollect.surfaces.dashboard.visitor import Visitor

PATH = "/entities"
#: Readable on light and on dark.
_INK = "#7d869c"
#: The same on every picture.
_COLOURS = {
    "name": PALETTE[0],
    "person": PALETTE[1],
    "team": PALETTE[3],
    "project": PALETTE[4],
    "product": PALETTE[5],
    "number": PALETTE[6],
}
#: As many as can be told apart in a picture, and on a list.
_DRAWN, _LISTED, _AROUND = 60, 200, 24
_TIMELINE, _KNOWN = 100, 12


def address(name: str) -> str:
    """The page of an entity."""
    return f"{PATH}/{quote(name, safe='')}"


async def build(visitor: Visitor, q: str = "") -> None:
    """The page of all entities."""
    store = await visitor.store()
    with card():
        search_field(
            q,
            placeholder="Names that begin so",
            label="Find an entity",
            act="Find",
            go=lambda words: link(PATH, q=words),
        )
    if not q.strip():
        graph = await store.entities.graph(limit=_DRAWN)
        if not graph.entities:
            nothing(
                "hub",
                "Nobody and nothing is named yet",
                then="People, companies and projects appear here with the memories that name them.",
                command='recollect add "Imke Brandt of Acme called about the invoice"',
            )
            return
        with card("What is named together", "w-full gap-1"):
            quiet("A thicker line joins what more memories name. Click on one to see it.")
            _picture(graph, height_px=560)
        entities: Sequence[Entity] = graph.entities
    else:
        entities = await store.entities.list(prefix=q.strip(), limit=_LISTED)
        if not entities:
            empty("search_off", "No name begins so", then="Another beginning, or an alias, may find it.")
            return
    with ui.card().classes("card rows w-full"):
        for entity in sorted(entities, key=lambda entity: (-entity.memories, entity.name)):
            with ui.link(target=address(entity.key)), ui.row().classes("items-center gap-2 w-full"):
                ui.label(entity.name).classes("font-medium prose")
                if _kind(entity.kind) != "name":
                    tag(_kind(entity.kind))
                if entity.aliases:
                    quiet(f"also {', '.join(entity.aliases)}", "text-sm prose")
                ui.space()
                quiet(many(entity.memories))


def _kind(kind: str) -> str:
    """What sort of thing it is, as people say it; of most only the name is known."""
    return {"id": "number", "title": "name", "thing": "name"}.get(kind, kind)


def _picture(graph: EntityGraph, *, height_px: int) -> None:
    """The graph; names are drawn, never read as markup. What stands alone is only on the list."""
    joined = {key for link_ in graph.links for key in (link_.source, link_.target)} | {graph.centre}
    # What is drawn last is on top: the one that the page is about, and what is named most.
    entities = [entity for entity in reversed(graph.entities) if entity.key in joined]
    large = len(entities) > _AROUND
    most = max((entity.memories for entity in entities), default=1)
    kinds = sorted({_kind(entity.kind) for entity in entities})
    nodes = [
        {
            "id": entity.key,
            "name": entity.name,
            "value": entity.memories,
            "symbolSize": 10 + (20 if large else 26) * (entity.memories / most) ** 0.5,
            "category": kinds.index(_kind(entity.kind)),
            **(
                {"itemStyle": {"color": PALETTE[2]}, "label": {"fontWeight": "bold", "fontSize": 14}}
                if entity.key == graph.centre
                else {}
            ),
        }
        for entity in entities
    ]
    links = [
        {
            "source": link_.source,
            "target": link_.target,
            "value": link_.memories,
            "lineStyle": {"width": min(1 + link_.memories, 7)},
        }
        for link_ in graph.links
    ]
    drawn = chart(
        {
            # A tooltip of HTML would read a name as markup.
            "tooltip": {"renderMode": "richText"},
            "legend": {
                "show": len(kinds) > 1,
                "data": kinds,
                "top": 0,
                "left": 0,
                "icon": "circle",
                "textStyle": {"color": _INK},
            },
            "series": [
                {
                    "type": "graph",
                    "layout": "force",
                    "top": 40,
                    "roam": True,
                    "zoom": 0.47 if large else 0.6,
                    "draggable": True,
                    "data": nodes,
                    "links": links,
                    "categories": [
                        {"name": kind, "itemStyle": {"color": _COLOURS.get(kind, PALETTE[1])}}
                        for kind in kinds
                    ],
                    "force": {
                        "repulsion": 900 if large else 700,
                        "edgeLength": [60, 190],
                        "gravity": 0.12,
                        # Drawn when it has come to rest: the labels of a picture that moves hide one another.
                        "layoutAnimation": False,
                    },
                    "label": {
                        "show": True,
                        "position": "bottom",
                        "distance": 3,
                        "color": _INK,
                        "fontSize": 12,
                    },
                    "labelLayout": {"hideOverlap": True},
                    "lineStyle": {"color": "source", "opacity": 0.3, "curveness": 0.08},
                    "emphasis": {"focus": "adjacency", "lineStyle": {"opacity": 0.9}},
                }
            ],
            "media": [{"query": {"maxWidth": 480}, "option": {"series": [{"zoom": 0.2 if large else 0.5}]}}],
        },
        height_px=height_px,
    )

    def clicked(event: EChartPointClickEventArguments) -> None:
        if event.data_type == "node" and isinstance(event.data, dict):
            ui.navigate.to(address(str(event.data["id"])))

    drawn.on_point_click(clicked)


async def build_one(visitor: Visitor, name: str) -> None:
    """The page of one: what is known, since when, and with whom it is named."""
    ui.link("← Entities", PATH).classes("link")
    store = await visitor.store()
    try:
        graph = await store.entities.graph(name, limit=_AROUND)
    except (NotFoundError, InvalidInputError):
        empty("search_off", "Nothing that you may see names this", then="It may be known by another name.")
        return
    if not graph.entities or graph.entities[0].key != graph.centre:
        known = [
            entity for entity in await store.entities.list(prefix=name, limit=5) if entity.key == graph.centre
        ]
        entity = known[0] if known else None
    else:
        entity = graph.entities[0]
    title = entity.name if entity is not None else name
    about: dict[str, Any] = {"filters": {"entity": graph.centre}, "include_superseded": True}
    memories = await store.list(limit=_TIMELINE, **about)
    _head(title, entity)
    with ui.row().classes("w-full gap-4 items-start"):
        with ui.column().classes("grow basis-96 gap-4 min-w-0"):
            _known(title, memories.items)
            _timeline(memories.items, of=await store.count(**about), entity=graph.centre or name)
        with card("Named together with", "grow basis-72 gap-2"):
            others = [entity for entity in graph.entities if entity.key != graph.centre]
            if not others:
                empty("hub", "Nothing yet", then="Memories that name two things join them here.")
                return
            _picture(graph, height_px=300)
            together = {
                (link_.target if link_.source == graph.centre else link_.source): link_.memories
                for link_ in graph.links
                if graph.centre in (link_.source, link_.target)
            }
            ranked = sorted(others, key=lambda entity: -together.get(entity.key, 0))
            for entity in ranked[:_KNOWN]:
                with ui.row().classes("w-full items-center no-wrap"):
                    ui.link(entity.name, address(entity.key)).classes("link prose line-clamp-2")
                    ui.space()
                    quiet(f"{together.get(entity.key, 0)}").tooltip("memories that name both")
            if len(ranked) > _KNOWN:
                quiet(f"and {len(ranked) - _KNOWN} more in the picture")


def _head(title: str, entity: Entity | None) -> None:
    with ui.card().classes("card w-full gap-2"), ui.row().classes("w-full items-center gap-2"):
        ui.label(title).classes("text-lg font-semibold prose")
        if entity is not None:
            if _kind(entity.kind) != "name":
                tag(_kind(entity.kind))
            for alias in entity.aliases:
                tag(f"also {alias}")
            if entity.canonical:
                tag(entity.canonical, "tint")
        ui.space()
        ui.link("Search", link("/memories", q=f"What do we know about {title}?")).classes("link text-sm")
        ui.link("Ask", link("/ask", q=f"What do we know about {title}?")).classes("link text-sm")


def _known(title: str, memories: Sequence[Memory]) -> None:
    """Summaries and facts that are believed."""
    believed = [memory for memory in memories if memory.superseded_at is None]
    known = [memory for memory in believed if memory.type is MemoryType.SUMMARY]
    known += [memory for memory in believed if memory.type is not MemoryType.SUMMARY and memory.predicate]
    known += [memory for memory in believed if memory.type is MemoryType.SEMANTIC and memory not in known]
    with card("What is known", "w-full gap-1"):
        if not known:
            quiet(
                f"No fact or summary of {title} yet; what was said is below. "
                "Facts come with “Read its facts”, summaries with `recollect consolidate`.",
                "text-sm prose",
            )
        for memory in known[:_KNOWN]:
            with ui.link(target=f"/memories/{memory.id}").classes("said"):
                ui.label(memory.text).classes("prose line-clamp-3")
        if len(known) > _KNOWN:
            quiet(f"and {len(known) - _KNOWN} more, on the timeline")


def _timeline(memories: Sequence[Memory], *, of: int, entity: str) -> None:
    with ui.card().classes("card w-full gap-2"):
        words = f"All {many(of)}" if of <= len(memories) else f"The latest {len(memories)} of {many(of)}"
        heading("Timeline", words, link("/memories", entity=entity, superseded=True))
        if not memories:
            quiet("No memory names it any more.")
        newest = sorted(memories, key=lambda memory: memory.created_at, reverse=True)
        for month, group in groupby(newest, key=lambda memory: f"{memory.created_at:%B %Y}"):
            quiet(month, "text-sm font-medium")
            with ui.element("div").classes("w-full"):
                for memory in group:
                    _moment(memory)


def _moment(memory: Memory) -> None:
    gone = memory.superseded_at is not None
    with ui.element("div").classes("moment"), ui.link(target=f"/memories/{memory.id}") as row:
        row.classes("no-underline").style("color: inherit")
        words: Any = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
        ui.label(words).classes("prose line-clamp-3" + (" gone" if gone else ""))
        with ui.element("div").classes("meta"):
            ui.label(when(memory.created_at))
            tag(memory.scope)
            if gone:
                tag("replaced", "warn")
