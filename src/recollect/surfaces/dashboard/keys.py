"""Keys of the tenant: make one, see who each speaks for, rotate it, end it. A token is shown once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from nicegui import ui

from recollect.client.tenancy import LINK_NAME, VISIT_NAME
from recollect.domain.tenancy import read_token
from recollect.errors import InvalidInputError
from recollect.surfaces.dashboard.widgets import Dialog, confirmed, empty, quiet, show_more, tag, when

if TYPE_CHECKING:
    from recollect.domain.tenancy import Key, NewKey
    from recollect.surfaces.dashboard.visitor import Visitor

_TONES = {"active": "good", "expired": "", "revoked": "bad"}
_PAGE = 50
_MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class _Listed:
    """Which keys are shown: those that are over, and those of visits to these pages, on demand."""

    all: bool = False
    most: int = _PAGE


@dataclass(slots=True)
class _Wanted:
    """A key that is being asked for."""

    name: str = ""
    user: str = ""
    agent: str = ""
    admin: bool = False
    operator: bool = False
    leads: str = ""
    days: float | None = None

    def arguments(self) -> dict[str, Any]:
        """As `keys.create` takes it."""
        if self.days is not None and not 0 < self.days <= _MOST_DAYS:
            raise InvalidInputError(
                f"a key can't end in {self.days:g} days; give 1 to {_MOST_DAYS}, or nothing"
            )
        roles = [role for role in ("admin", "operator") if getattr(self, role)]
        roles += [f"lead:{scope}" for scope in self.leads.replace(",", " ").split()]
        ends = None if self.days is None else datetime.now(UTC) + timedelta(days=self.days)
        return {
            "name": self.name,
            "user": self.user.strip() or None,
            "agent": self.agent.strip() or None,
            "roles": tuple(roles),
            "expires_at": ends,
        }


async def show(visitor: Visitor) -> None:
    """All of it."""
    listed = _Listed()

    @ui.refreshable
    async def rows() -> None:
        now = datetime.now(UTC)
        keys = await (await visitor.store()).keys.list()
        fitting = [key for key in keys if listed.all or _lasting(key, now)]
        if not fitting:
            empty(
                "key",
                "No key yet" if not keys else "No key is in use",
                then="An application shows a key to speak to this server. Make one here, or from a shell.",
                command="recollect keys create support-bot --user ana",
            )
        for key in fitting[: listed.most]:
            _row(visitor, key, now, rows.refresh)
        show_more(len(fitting), listed.most, lambda: shown(most=listed.most + _PAGE))

    def shown(**changes: Any) -> None:
        nonlocal listed
        listed = replace(listed, **changes)
        rows.refresh()

    with ui.card().classes("card w-full gap-3 keys"):
        with ui.row().classes("w-full items-center gap-2"):
            ui.label("Keys").classes("title")
            ui.space()
            ui.switch("Show ended keys and logins", on_change=lambda event: shown(all=event.value)).props(
                "dense"
            )
            ui.button("New key", icon="add", on_click=lambda: _create(visitor, rows.refresh)).props(
                "unelevated"
            )
        await rows()


def _lasting(key: Key, now: datetime) -> bool:
    """Whether somebody may still come with it, other than a browser for some hours."""
    return key.state(now) == "active" and key.name not in (LINK_NAME, VISIT_NAME)


def _row(visitor: Visitor, key: Key, now: datetime, refresh: Any) -> None:
    state = key.state(now)
    mine = read_token(visitor.token)
    with (
        ui.row()
        .classes("w-full items-center gap-2 key")
        .style("border-top: 1px solid var(--line); padding-top: 8px")
    ):
        with ui.column().classes("gap-0 grow min-w-48"):
            with ui.row().classes("items-center gap-2"):
                ui.label(key.name).classes("font-medium prose")
                tag(state, _TONES[state])
                if mine is not None and mine.key_id == key.id:
                    tag("yours, now", "tint")
            ui.label(key.holder).classes("text-sm prose")
            ends = "never ends" if key.expires_at is None else f"ends {key.expires_at:%Y-%m-%d %H:%M}"
            used = "never used" if key.used_at is None else f"used {when(key.used_at)}"
            quiet(f"made {when(key.created_at)} · {ends} · {used}", "text-xs")
        if state == "active":
            ui.button("Rotate", icon="autorenew", on_click=lambda: _rotate(visitor, key, refresh)).props(
                "flat dense"
            )
            ui.button("Revoke", icon="block", on_click=lambda: _revoke(visitor, key, refresh)).props(
                "flat dense color=negative"
            )


async def _create(visitor: Visitor, refresh: Any) -> None:
    wanted = _Wanted()

    async def make() -> NewKey:
        return await (await visitor.store()).keys.create(**wanted.arguments())

    with Dialog("A new key", act="Make it", do=make) as dialog:
        ui.input("Name", placeholder="support-bot").bind_value(wanted, "name").props("autofocus")
        with ui.row().classes("w-full gap-3"):
            ui.input("User", placeholder="whose memories it sees").bind_value(wanted, "user").props(
                "stack-label"
            ).classes("grow")
            ui.input("Agent").bind_value(wanted, "agent").classes("grow")
        ui.input("Lead of", placeholder="team/api, project/launch").bind_value(wanted, "leads").props(
            "stack-label"
        )
        with ui.row().classes("w-full gap-x-4 gap-y-0"):
            ui.checkbox("Admin: the whole tenant").bind_value(wanted, "admin").props("dense")
            if visitor.context.is_operator:
                ui.checkbox("Operator: all tenants").bind_value(wanted, "operator").props("dense")
        ui.number("Days until it ends", min=1, step=1).bind_value(wanted, "days").props(
            'clearable stack-label placeholder="never"'
        )
    if made := await dialog:
        await _token(made)
        await refresh()


async def _rotate(visitor: Visitor, key: Key, refresh: Any) -> None:
    with Dialog(f"Another token for {key.name!r}", act="Rotate") as dialog:
        quiet("It has the same rights. The old one goes on for so long, so that all can change over.")
        hours = ui.number("Hours", value=0, min=0, step=1)
    if await dialog:
        made = await (await visitor.store()).keys.rotate(key.id, overlap_hours=float(hours.value or 0))
        await _token(made)
        await refresh()


async def _revoke(visitor: Visitor, key: Key, refresh: Any) -> None:
    mine = read_token(visitor.token)
    own = " You are here with it, so it logs you out." if mine is not None and mine.key_id == key.id else ""
    if await confirmed(f"End the key {key.name!r} for good? Whoever uses it is refused.{own}", act="Revoke"):
        await (await visitor.store()).keys.revoke(key.id)
        ui.notify(f"Revoked: {key.name}", type="positive")
        await refresh()


async def _token(made: NewKey) -> None:
    """The token, until it is put away: nobody can show it again."""
    with ui.dialog().props("persistent") as dialog, ui.card().classes("card w-full gap-3"):
        ui.label(f"The token of {made.key.name!r}").classes("text-lg font-semibold prose")
        ui.label("It is shown only now. Put it where secrets are kept.").classes("text-warning")
        ui.label(made.token).classes("mono card q-pa-sm prose w-full token")
        with ui.row().classes("w-full justify-end"):
            ui.button("Copy", icon="content_copy", on_click=lambda: _copy(made.token)).props("flat")
            ui.button("I have it", on_click=lambda: dialog.submit(True)).props("unelevated")
    await dialog
    dialog.delete()


async def _copy(token: str) -> None:
    """Browsers let pages write to the clipboard over HTTPS or from this machine alone."""
    if await ui.run_javascript("return Boolean(navigator.clipboard)"):
        ui.clipboard.write(token)
        ui.notify("Copied", type="positive")
    else:
        ui.notify("Your browser lets no page copy without HTTPS; select the token instead.", type="warning")
