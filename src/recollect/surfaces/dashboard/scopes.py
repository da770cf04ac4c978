"""The tenant's tree: scopes with how much they hold, and who is in them; adding to it, and taking people out."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.layers import PARENT_LAYERS, PERSONAL_LAYERS, Layer
from recollect.surfaces.dashboard.addresses import link
from recollect.surfaces.dashboard.widgets import Dialog, confirmed, empty, quiet, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.domain.results import Member, Scope
    from recollect.surfaces.dashboard.visitor import Visitor

_SHARED = [layer for layer in reversed(Layer) if layer not in PERSONAL_LAYERS]
_ICONS = {Layer.COMPANY: "domain", Layer.ORG: "corporate_fare", Layer.TEAM: "groups", Layer.PROJECT: "folder"}
#: People whose own scopes are listed, those with most memories first.
_PEOPLE = 50


async def show(visitor: Visitor) -> None:
    """All of it."""

    @ui.refreshable
    async def tree() -> None:
        store = await visitor.store()
        shared = await store.scopes.list(layers=[layer.value for layer in _SHARED])
        members: dict[str, list[Member]] = defaultdict(list)
        for member in await store.members.list():
            members[member.scope].append(member)
        _tree(visitor, shared, members, tree.refresh)
        _people(await store.scopes.list(layers=[Layer.USER.value]))

    with ui.card().classes("card w-full gap-2 scopes"):
        ui.label("Scopes and members").classes("title")
        await tree()


def _tree(
    visitor: Visitor, scopes: Sequence[Scope], members: Mapping[str, list[Member]], refresh: Any
) -> None:
    """Each scope below its parent; one whose parent is not to be seen stands at the top."""
    known = {str(scope) for scope in scopes}
    below: dict[str | None, list[Scope]] = defaultdict(list)
    for scope in sorted(scopes, key=lambda scope: (-scope.layer.precedence, scope.name.casefold())):
        below[scope.parent if scope.parent in known else None].append(scope)

    def branch(parent: str | None, depth: int) -> None:
        for scope in below[parent]:
            _scope(visitor, scope, members.get(str(scope), []), depth, refresh)
            branch(str(scope), depth + 1)

    branch(None, 0)
    if len(scopes) <= 1:
        empty(
            "account_tree",
            "The company stands alone",
            then="Teams and projects below it share memories among their members. Add one with the plus.",
            command="recollect scopes create team/api",
        )


def _scope(visitor: Visitor, scope: Scope, members: Sequence[Member], depth: int, refresh: Any) -> None:
    name = str(scope)
    with (
        ui.row()
        .classes("w-full items-center gap-x-2 gap-y-0 scope")
        .style(f"padding-left: calc({min(depth, 6)} * min(20px, 2.5vw)); min-height: 40px")
    ):
        ui.icon(_ICONS[scope.layer]).classes("quiet text-lg")
        ui.label(scope.name).classes("font-medium prose")
        quiet(scope.layer.value, "text-xs")
        tag(f"{scope.memories:,}", to=link("/memories", scope=name))
        with ui.row().classes("no-wrap gap-1 sm:order-last").style("margin-left: auto"):
            if _children(scope.layer):
                ui.button(icon="add", on_click=lambda: _add_scope(visitor, scope, refresh)).props(
                    'flat round dense aria-label="Add a scope below"'
                ).tooltip("add a scope below")
            ui.button(icon="person_add", on_click=lambda: _add_member(visitor, name, refresh)).props(
                'flat round dense aria-label="Add a member"'
            ).tooltip("add a member")
        for member in members:
            _member(visitor, member, refresh)


def _children(layer: Layer) -> list[str]:
    """Layers that may hang below one, without those that come by themselves."""
    return [child.value for child in _SHARED if layer in PARENT_LAYERS[child]]


def _member(visitor: Visitor, member: Member, refresh: Any) -> None:
    async def remove() -> None:
        question = (
            f"Take {member.user_id!r} out of {member.scope!r}? Its memories are then not theirs to see."
        )
        if await confirmed(question, act="Take out"):
            await (await visitor.store()).members.remove(member.user_id, member.scope)
            await refresh()

    name = f"{member.user_id}, lead" if member.role == "lead" else member.user_id
    with (
        ui.row()
        .classes("items-center no-wrap gap-1 q-px-sm rounded-full text-sm")
        .style("border: 1px solid var(--line)")
    ):
        ui.label(name).classes("prose")
        ui.button(icon="close", on_click=remove).props('flat round dense size=xs aria-label="Take out"')


def _people(scopes: Sequence[Scope]) -> None:
    if not scopes:
        return
    most = sorted(scopes, key=lambda scope: -scope.memories)
    who = "person" if len(scopes) == 1 else "people"
    title = f"{len(scopes):,} {who} with memories of their own"
    with ui.expansion(title, icon="person").classes("w-full").props("dense"):
        with ui.element("div").classes("grid w-full gap-1 sm:grid-cols-2"):
            for scope in most[:_PEOPLE]:
                with ui.row().classes("items-center gap-2 no-wrap min-w-0"):
                    ui.label(scope.name).classes("prose text-sm")
                    tag(f"{scope.memories:,}", to=link("/memories", scope=str(scope)))
        if len(most) > _PEOPLE:
            quiet(f"and {len(most) - _PEOPLE:,} with fewer")


async def _add_scope(visitor: Visitor, parent: Scope, refresh: Any) -> None:
    layers = _children(parent.layer)

    async def add() -> None:
        await (await visitor.store()).scopes.create(f"{layer.value}/{name.value.strip()}", parent=str(parent))

    with Dialog(f"A scope below {parent}", act="Add", do=add) as dialog:
        layer = ui.select(layers, label="Layer", value=layers[0])
        name = ui.input("Name", placeholder="api").props("autofocus")
        name.on("keydown.enter", dialog.go_on)
    if await dialog:
        await refresh()


async def _add_member(visitor: Visitor, scope: str, refresh: Any) -> None:
    async def add() -> None:
        await (await visitor.store()).members.add(user.value.strip(), scope, role=role.value)

    with Dialog(f"A member of {scope}", act="Add", do=add) as dialog:
        user = ui.input("User", placeholder="ana").props("autofocus")
        user.on("keydown.enter", dialog.go_on)
        role = ui.select(["member", "lead"], label="Role", value="member")
    if await dialog:
        await refresh()
