"""`recollect keys`: by which applications speak to `recollect serve`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import Invocation, YesOption, confirm, invocation, noun_app, opened
from recollect.surfaces.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.domain.tenancy import Key, NewKey

app = typer.Typer(rich_markup_mode=None)
keys_app = noun_app("keys", "By which applications speak to 'recollect serve'.")
app.add_typer(keys_app)

KeyArgument = Annotated[str, typer.Argument(help="The key's id, from 'keys list'.")]


@keys_app.command("create")
def create_key(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for, as support-bot.")],
    user: Annotated[str | None, typer.Option(help="Whose memories it sees and writes.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that it is for.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="admin, operator or lead:team/api; repeat for more.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The project it stands in.")] = None,
    team: Annotated[str | None, typer.Option(help="The team it stands in.")] = None,
    org: Annotated[str | None, typer.Option(help="The org it stands in.")] = None,
    expires: Annotated[str | None, typer.Option(help="When it ends, as 2027-01-31.", metavar="TIME")] = None,
    days: Annotated[int | None, typer.Option(help="Or after how many days.", min=1, metavar="N")] = None,
) -> None:
    """Make a key, and show its token once."""
    if expires is not None and days is not None:
        raise InvalidInputError("give either --expires or --days, not both")
    inv = invocation(ctx)
    ends = expires if days is None else datetime.now(UTC) + timedelta(days=days)
    with inv.client() as client:
        made = client.keys.create(
            name,
            user=user,
            agent=agent,
            roles=tuple(role or ()),
            project=project,
            team=team,
            org=org,
            expires_at=ends,
        )
    _show_new(inv, made)


@keys_app.command("list")
def list_keys(ctx: typer.Context) -> None:
    """List the tenant's keys, also those that are over."""
    with opened(ctx) as (inv, client):
        _show_keys(inv, client.keys.list())


@keys_app.command("link")
def make_link(ctx: typer.Context) -> None:
    """Print a link into the dashboard, which opens once."""
    from recollect.surfaces.dashboard.addresses import ENTER_PATH

    with opened(ctx) as (inv, client):
        made = client.keys.link()
        settings = client.settings
    place = settings.url or f"http://{settings.serve_host}:{settings.serve_port}"
    link = f"{place}{ENTER_PATH}?code={made.token}"
    inv.out.result({"link": link, "expires_at": made.key.expires_at})
    inv.out.line(link)


@keys_app.command("revoke")
def revoke_key(ctx: typer.Context, id: KeyArgument, yes: YesOption = False) -> None:
    """End a key for good."""
    inv = invocation(ctx)
    confirm(inv, f"Revoke key {id} for good?", yes=yes)
    with inv.client() as client:
        _show_keys(inv, [client.keys.revoke(id)], document=True)


@keys_app.command("rotate")
def rotate_key(
    ctx: typer.Context,
    id: KeyArgument,
    overlap_hours: Annotated[
        float, typer.Option(help="How long the old token goes on.", min=0, metavar="HOURS")
    ] = 0,
) -> None:
    """Make another token with the same rights; the old one ends."""
    with opened(ctx) as (inv, client):
        made = client.keys.rotate(id, overlap_hours=overlap_hours)
    _show_new(inv, made)


def _show_new(inv: Invocation, made: NewKey) -> None:
    if inv.out.as_json:
        inv.out.document(made)
        return
    if not inv.out.on_terminal:
        # Alone on standard output, so that it can go straight into a secret store.
        print(made.token)
        inv.out.aside(f"key {made.key.id}; this token is shown only now")
        return
    inv.out.line(f"Key {made.key.id} for {_who(made.key)}. Its token is shown only now:")
    inv.out.line(made.token, style="bold cyan")


def _show_keys(inv: Invocation, keys: Sequence[Key], *, document: bool = False) -> None:
    inv.out.result(keys[0] if document else keys)
    if not keys:
        inv.out.aside("No keys yet. Make one: recollect keys create support-bot --user ana")
        return
    now = datetime.now(UTC)
    columns = [
        Column(name="id", style="cyan"),
        Column(name="name"),
        Column(name="speaks for"),
        Column(name="state"),
        Column(name="expires", style="dim"),
        Column(name="last used", style="dim"),
    ]
    rows = [
        [key.id, key.name, _who(key), key.state(now), key.expires_at or "never", key.used_at or "never"]
        for key in keys
    ]
    inv.out.table(columns, rows)


def _who(key: Key) -> str:
    parts = [
        f"{what} {value}"
        for what, value in (
            ("user", key.user_id),
            ("agent", key.agent_id),
            ("project", key.project_id),
            ("team", key.team_id),
            ("org", key.org_id),
        )
        if value
    ]
    return ", ".join([*parts, *key.roles])
