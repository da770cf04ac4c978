"""Every page of the dashboard: where it is, what it is called, and which module makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recollect.surfaces.dashboard import (
    capabilities,
    consultations,
    explorations,
    learning,
    library,
    memories,
    overview,
    tenants,
)
from recollect.surfaces.dashboard.frame import Place

OVERVIEW = Place(path="/", title="Overview", icon="insights", key="o")
MEMORIES = Place(path="/memories", title="Memories", icon="psychology", key="m")
LIBRARY = Place(path="/library", title="Library", icon="library_books", key="l")
CONSULTATIONS = Place(path="/consultations", title="Consultations", icon="forum", key="c")
EXPLORATIONS = Place(
    path="/explorations", title="Explorations", icon="travel_explore", key="e", needs="operator"
)
CAPABILITIES = Place(path="/capabilities", title="Capabilities", icon="extension", key="a")
LEARNING = Place(path="/learning", title="Learning", icon="model_training", key="n", needs="admin")
TENANTS = Place(path="/tenants", title="Tenants and keys", icon="vpn_key", key="t", needs="admin")

#: In the order of the menu.
PLACES = (OVERVIEW, MEMORIES, LIBRARY, CONSULTATIONS, EXPLORATIONS, CAPABILITIES, LEARNING, TENANTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is shown at an address. `takes` are the parts of the address that `build` is given as strings."""

    path: str
    place: Place
    build: Callable[..., Awaitable[None]]
    takes: tuple[str, ...] = ()


PAGES = (
    Page(path="/", place=OVERVIEW, build=overview.build),
    Page(path="/memories", place=MEMORIES, build=memories.build, takes=("q",)),
    Page(path="/memories/{id}", place=MEMORIES, build=memories.build_one, takes=("id",)),
    Page(path="/library", place=LIBRARY, build=library.build, takes=("q",)),
    Page(path="/library/{id:path}", place=LIBRARY, build=library.build_one, takes=("id", "line")),
    Page(path="/consultations", place=CONSULTATIONS, build=consultations.build),
    Page(path="/consultations/{id}", place=CONSULTATIONS, build=consultations.build_one, takes=("id",)),
    Page(path="/explorations", place=EXPLORATIONS, build=explorations.build),
    Page(
        path="/explorations/{task_id:path}",
        place=EXPLORATIONS,
        build=explorations.build_one,
        takes=("task_id",),
    ),
    Page(path="/capabilities", place=CAPABILITIES, build=capabilities.build),
    Page(path="/learning", place=LEARNING, build=learning.build),
    Page(path="/tenants", place=TENANTS, build=tenants.build),
)
