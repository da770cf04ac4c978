"""Tenants and keys: who may come in, who is in what, how long memories are kept; and, for operators, all tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.domain.layers import Layer
from recollect.surfaces.dashboard import keys, scopes
from recollect.surfaces.dashboard.widgets import Dialog, card, confirmed, quiet, tag, when

if TYPE_CHECKING:
    from recollect.domain.results import Tenant
    from recollect.surfaces.dashboard.visitor import Visitor

#: Of a store with thousands of tenants; the others are found by name.
_SHOWN = 20


async def build(visitor: Visitor) -> None:
    """The page."""
    await keys.show(visitor)
    await scopes.show(visitor)
    await _retention(visitor)
    if visitor.context.is_operator:
        await _tenants(visitor)


# Retention -----------------------------------------------------------------------------------------


async def _retention(visitor: Visitor) -> None:
    kept = dict((await (await visitor.store()).tenants.get()).retention_days)
    with card("Retention", "w-full gap-3 retention"):
        quiet("How many days memories of a layer are kept; empty keeps them for ever.")
        with ui.element("div").classes("grid w-full gap-3 grid-cols-2 sm:grid-cols-4"):
            fields = {
                layer.value: ui.number(layer.value, value=kept.get(layer.value), min=1, max=36_500, step=1)
                .props('clearable stack-label placeholder="for ever"')
                .classes("w-full")
                for layer in Layer
            }

        async def save() -> None:
            wanted = {
                layer: None if field.value is None else int(field.value) for layer, field in fields.items()
            }
            changed = {layer: days for layer, days in wanted.items() if days != kept.get(layer)}
            if not changed:
                ui.notify("Nothing was changed")
                return
            shorter = [layer for layer, days in changed.items() if days is not None]
            warning = f"Memories of {', '.join(shorter)} that are older are gone at once."
            if shorter and not await confirmed(f"{warning} Go on?", act="Keep shorter"):
                return
            tenants = (await visitor.store()).tenants
            for layer, days in changed.items():
                await tenants.set_retention(layer, days)
                kept.pop(layer, None)
                if days is not None:
                    kept[layer] = days
            ui.notify("Saved", type="positive")

        ui.button("Save", on_click=save).props("flat").classes("self-end")


# All tenants ---------------------------------------------------------------------------------------


async def _tenants(visitor: Visitor) -> None:
    newest = 0

    @ui.refreshable
    async def rows() -> None:
        nonlocal newest
        newest += 1
        look = newest
        wanted = (part.value or "").strip().casefold()
        tenants = await (await visitor.store()).tenants.list()
        if look != newest:
            return  # somebody typed on meanwhile; both would draw their rows, one list below the other
        fitting = [tenant for tenant in tenants if wanted in f"{tenant.id}\n{tenant.name}".casefold()]
        fitting.sort(key=lambda tenant: tenant.created_at, reverse=True)
        for tenant in fitting[:_SHOWN]:
            _row(visitor, tenant, rows.refresh)
        if len(fitting) > _SHOWN:
            quiet(f"The newest {_SHOWN} of {len(fitting):,}; type a part of its name to find another.")

    with ui.card().classes("card w-full gap-2 tenants"):
        with ui.row().classes("w-full items-center gap-2"):
            ui.label("All tenants of the store").classes("title")
            ui.space()
            part = ui.input(placeholder="Find").props('clearable aria-label="Find a tenant"')
            part.on_value_change(lambda: rows.refresh())
            ui.button("New tenant", icon="add", on_click=lambda: _create(visitor, rows.refresh)).props("flat")
        await rows()


def _row(visitor: Visitor, tenant: Tenant, refresh: Any) -> None:
    here = tenant.id == visitor.context.tenant_id
    with (
        ui.row()
        .classes("w-full items-center gap-2 tenant")
        .style("border-top: 1px solid var(--line); min-height: 44px")
    ):
        ui.label(tenant.id).classes("font-medium prose")
        if tenant.name != tenant.id:
            quiet(tenant.name, "prose")
        if here:
            tag("you are here", "tint")
        ui.space()
        quiet(f"made {when(tenant.created_at)}")
        if not here:
            ui.button(
                "Forget", icon="delete_forever", on_click=lambda: _forget(visitor, tenant, refresh)
            ).props("flat dense color=negative")


async def _create(visitor: Visitor, refresh: Any) -> None:
    async def make() -> None:
        await (await visitor.store()).tenants.create(id.value.strip(), name=name.value.strip() or None)

    with Dialog("A new tenant", act="Make it", do=make) as dialog:
        id = ui.input("Id", placeholder="acme").props("autofocus")
        name = ui.input("Name", placeholder="how people call it")
        name.on("keydown.enter", dialog.go_on)
    if await dialog:
        await refresh()


async def _forget(visitor: Visitor, tenant: Tenant, refresh: Any) -> None:
    """Erase a tenant, once its id was typed: one does not do that by mistake."""
    with Dialog(f"Erase {tenant.id!r} for good", act="Erase", grave=True) as dialog:
        ui.label("Its memories, documents, keys and everything learned go with it.").classes("text-negative")
        typed = ui.input("Type its id").props("autofocus")
        dialog.button.bind_enabled_from(typed, "value", backward=lambda value: value == tenant.id)
    if await dialog and typed.value == tenant.id:
        receipt = await (await visitor.store()).tenants.forget(tenant.id)
        ui.notify(f"Erased {tenant.id}: {sum(receipt.rows.values()):,} rows", type="positive")
        await refresh()
