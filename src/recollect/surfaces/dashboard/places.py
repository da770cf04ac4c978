"""Every page of the dashboard: where it is, what it is called, and which module makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recollect.surfaces.dashboard import (
    ask,
    capabilities,
    consultations,
    entities,
    explorations,
    learning,
    library,
    memories,
    memory,
    overview,
    runs,
    tenants,
    traces,
)
from recollect.surfaces.dashboard.frame import Place

_KNOWN, _DONE, _KEPT = "Knowledge", "Activity", "Upkeep"
OVERVIEW = Place(path="/", title="Overview", icon="o_space_dashboard", key="o")
MEMORIES = Place(path="/memories", title="Memories", icon="o_psychology", key="m", group=_KNOWN)
ENTITIES = Place(path="/entities", title="Entities", icon="o_hub", key="e", group=_KNOWN)
LIBRARY = Place(path="/library", title="Library", icon="o_library_books", key="l", group=_KNOWN)
ASK = Place(path="/ask", title="Ask", icon="o_auto_awesome", key="a", group=_DONE)
RUNS = Place(path="/runs", title="Runs", icon="o_account_tree", key="r", group=_DONE)
TRACES = Place(path="/traces", title="Traces", icon="o_timeline", key="t", group=_DONE)
CAPABILITIES = Place(path="/capabilities", title="Capabilities", icon="o_extension", key="c", group=_KEPT)
LEARNING = Place(
    path="/learning", title="Learning", icon="o_model_training", key="n", group=_KEPT, needs="admin"
)
TENANTS = Place(
    path="/tenants", title="Tenants and keys", icon="o_vpn_key", key="k", group=_KEPT, needs="admin"
)

#: In the order of the menu.
PLACES = (OVERVIEW, MEMORIES, ENTITIES, LIBRARY, ASK, RUNS, TRACES, CAPABILITIES, LEARNING, TENANTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is shown at an address. `takes` are the parts of the address that `build` is given as strings.

    `needs` is a right that it wants beyond those of its place.
    """

    path: str
    place: Place
    build: Callable[..., Awaitable[None]]
    takes: tuple[str, ...] = ()
    needs: str | None = None

    @property
    def wanted(self) -> str | None:
        """The right without which it is not shown."""
        return self.needs or self.place.needs


PAGES = (
    Page(path="/", place=OVERVIEW, build=overview.build),
    Page(path="/memories", place=MEMORIES, build=memories.build, takes=memories.View.parts()),
    Page(path="/memories/{id}", place=MEMORIES, build=memory.build, takes=("id", "q", "user")),
    Page(path="/entities", place=ENTITIES, build=entities.build, takes=("q",)),
    Page(path="/entities/{name:path}", place=ENTITIES, build=entities.build_one, takes=("name",)),
    Page(path="/library", place=LIBRARY, build=library.build, takes=("q",)),
    Page(path="/library/{id:path}", place=LIBRARY, build=library.build_one, takes=("id", "line")),
    Page(path="/ask", place=ASK, build=ask.build, takes=("q", "sources", "user")),
    Page(path="/runs", place=RUNS, build=runs.build, takes=("kind",)),
    Page(path="/runs/{id}", place=RUNS, build=runs.build_one, takes=("id",)),
    Page(path="/consultations", place=RUNS, build=runs.build_consultations),
    Page(path="/consultations/{id}", place=RUNS, build=consultations.build_one, takes=("id",)),
    Page(path="/explorations", place=RUNS, build=runs.build_explorations, needs="operator"),
    Page(
        path="/explorations/{task_id:path}",
        place=RUNS,
        build=explorations.build_one,
        takes=("task_id",),
        needs="operator",
    ),
    Page(path="/traces", place=TRACES, build=traces.build, takes=traces.View.parts()),
    Page(path="/traces/{id}", place=TRACES, build=traces.build_one, takes=("id",)),
    Page(path="/capabilities", place=CAPABILITIES, build=capabilities.build),
    Page(path="/learning", place=LEARNING, build=learning.build),
    Page(path="/tenants", place=TENANTS, build=tenants.build),
)
