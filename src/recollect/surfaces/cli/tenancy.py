"""`recollect tenants scopes members forget-user keys`: who is there, who sees what, and who speaks for whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    Invocation,
    LayersOption,
    YesOption,
    given,
    noun_app,
    opened,
)
from recollect.surfaces.cli.memories import show_receipt

if TYPE_CHECKING:
    from recollect.domain.results import Member, Scope, Tenant
    from recollect.domain.tenancy import Key, NewKey

app = typer.Typer(rich_markup_mode=None)
tenants_app = noun_app("tenants", "Customers of a store; nothing crosses from one to another.")
scopes_app = noun_app("scopes", "The tree of a tenant: company, orgs, teams, projects.")
members_app = noun_app("members", "Which user is in which scope.")
keys_app = noun_app("keys", "By which applications speak to 'recollect serve'.")
for noun in (tenants_app, scopes_app, members_app, keys_app):
    app.add_typer(noun)


_KeyArgument = Annotated[str, typer.Argument(help="The key's id, from 'keys list'.")]


@tenants_app.command("create")
def create_tenant(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="A short name, as acme.")],
    name: Annotated[str | None, typer.Option(help="How people call it.")] = None,
) -> None:
    """Make a tenant."""
    with opened(ctx) as (inv, client):
        tenant = client.tenants.create(id, name=name)
    _show_tenants(inv, tenant)


@tenants_app.command("list")
def list_tenants(ctx: typer.Context) -> None:
    """List all tenants of the store."""
    with opened(ctx) as (inv, client):
        tenants = client.tenants.list()
    _show_tenants(inv, tenants)


@tenants_app.command("get")
def get_tenant(
    ctx: typer.Context,
    id: Annotated[str | None, typer.Argument(help="The caller's own if not given.")] = None,
) -> None:
    """Show one tenant."""
    with opened(ctx) as (inv, client):
        caller = client if id is None else client.for_context(client.tenant_context.replace(tenant_id=id))
        tenant = caller.tenants.get()
    _show_tenants(inv, tenant)


@tenants_app.command("forget")
def forget_tenant(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="The tenant to erase with all it holds.")],
    yes: YesOption = False,
) -> None:
    """Erase a tenant and everything in it, and print a receipt."""
    with opened(ctx, f"Erase tenant {id} and everything in it for good?", yes=yes) as (inv, client):
        receipt = client.tenants.forget(id)
    show_receipt(inv.out, receipt)


@tenants_app.command("retention")
def set_retention(
    ctx: typer.Context,
    layer: Annotated[str, typer.Argument(help="The layer, as session.")],
    days: Annotated[str, typer.Argument(help="Days to keep its memories, or 'forever'.")],
) -> None:
    """Say how long a layer is kept; 'sweep' erases the rest."""
    if days != "forever" and not (days.isascii() and days.isdigit() and int(days) > 0):
        raise InvalidInputError(f"{days!r} is not a number of days; write 30, or 'forever'")
    with opened(ctx) as (inv, client):
        tenant = client.tenants.set_retention(layer, None if days == "forever" else int(days))
    _show_tenants(inv, tenant)


@tenants_app.command("recursion")
def set_recursion(
    ctx: typer.Context,
    routing: Annotated[
        str, typer.Argument(help="on, off, or default: as the settings say.", metavar="on|off|default")
    ],
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Complexity from which questions are decomposed, 0 to 1: 1 none, 0.5 the hardest, 0.3 all complex. "
            "Without it: as the settings say."
        ),
    ] = None,
) -> None:
    """Say whether and from where on complex questions are decomposed."""
    choices = {"on": True, "off": False, "default": None}
    if routing not in choices:
        raise InvalidInputError(f"{routing!r} is none of 'on', 'off' and 'default'")
    with opened(ctx) as (inv, client):
        tenant = client.tenants.set_recursion(threshold=threshold, enabled=choices[routing])
    _show_tenants(inv, tenant)


@tenants_app.command("traces")
def set_traces(
    ctx: typer.Context,
    questions: Annotated[
        str,
        typer.Argument(
            help="keep the words of searches with their traces, or drop them.", metavar="keep|drop"
        ),
    ],
) -> None:
    """Say whether traces of searches keep what was asked.

    'drop', which is the default of a tenant, also erases what was kept.
    """
    if questions not in {"keep", "drop"}:
        raise InvalidInputError(f"{questions!r} is neither 'keep' nor 'drop'")
    with opened(ctx) as (inv, client):
        tenant = client.tenants.set_traces(keep_questions=questions == "keep")
    _show_tenants(inv, tenant)


def _routing(tenant: Tenant) -> str:
    switch = {True: "on", False: "off", None: "default"}[tenant.recursion_enabled]
    if tenant.recursion_threshold is None:
        return switch
    return f"{switch} from {tenant.recursion_threshold:g}"


def _show_tenants(inv: Invocation, tenants: Tenant | Sequence[Tenant]) -> None:
    def row(tenant: Tenant) -> tuple[object, ...]:
        kept = ", ".join(f"{layer} {days} days" for layer, days in tenant.retention_days.items())
        return tenant.id, tenant.name, kept or "forever", _routing(tenant), tenant.created_at

    inv.out.show(tenants, "id:cyan, name*, retention, recursion, created:dim", row)


@scopes_app.command("create")
def create_scope(
    ctx: typer.Context,
    scope: Annotated[str, typer.Argument(help="As team/api.")],
    parent: Annotated[str | None, typer.Option(help="What it hangs under, as org/platform.")] = None,
) -> None:
    """Make an org, team or project.

    User, session and agent scopes appear by themselves, with the first memory in them.
    """
    with opened(ctx) as (inv, client):
        created = client.scopes.create(scope, parent=parent)
    _show_scopes(inv, created)


@scopes_app.command("list")
def list_scopes(ctx: typer.Context, layer: LayersOption = None) -> None:
    """List the scopes you may see, with how many memories each holds."""
    with opened(ctx) as (inv, client):
        scopes = client.scopes.list(layers=layer or None)
    _show_scopes(inv, scopes)


@scopes_app.command("move")
def move_scope(
    ctx: typer.Context,
    scope: Annotated[str, typer.Argument(help="As team/api.")],
    parent: Annotated[str, typer.Option(help="What it hangs under from now on.")],
) -> None:
    """Hang a scope, with all below it, somewhere else."""
    with opened(ctx) as (inv, client):
        moved = client.scopes.move(scope, parent=parent)
    _show_scopes(inv, moved)


@scopes_app.command("delete")
def delete_scope(
    ctx: typer.Context,
    scope: Annotated[str, typer.Argument(help="As team/api; it must have no scopes below it.")],
    yes: YesOption = False,
) -> None:
    """Erase a scope with its memories, and print a receipt."""
    with opened(ctx, f"Erase {scope} with its memories for good?", yes=yes) as (inv, client):
        receipt = client.scopes.delete(scope)
    show_receipt(inv.out, receipt)


def _show_scopes(inv: Invocation, scopes: Scope | Sequence[Scope]) -> None:
    columns = "scope:cyan*, below, owner, memories>, since:dim"
    inv.out.show(scopes, columns, lambda s: (str(s), s.parent, s.owner, s.memories, s.created_at))


@members_app.command("add")
def add_member(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(help="The user's id.")],
    scope: Annotated[str, typer.Argument(help="As team/api.")],
    role: Annotated[str, typer.Option(help="member, or lead, who sees everything below too.")] = "member",
) -> None:
    """Put a user into a scope."""
    with opened(ctx) as (inv, client):
        member = client.members.add(user, scope, role=role)
    _show_members(inv, member)


@members_app.command("remove")
def remove_member(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(help="The user's id.")],
    scope: Annotated[str, typer.Argument(help="As team/api.")],
) -> None:
    """Take a user out of a scope."""
    with opened(ctx) as (inv, client):
        client.members.remove(user, scope)
    inv.out.result({"removed": {"user_id": user, "scope": scope}})
    inv.out.line(f"{user} is no longer in {scope}")


@members_app.command("list")
def list_members(
    ctx: typer.Context,
    scope: Annotated[str | None, typer.Option(help="Only of this scope.")] = None,
    user: Annotated[str | None, typer.Option(help="Only of this user.")] = None,
) -> None:
    """List who is in which scope."""
    with opened(ctx) as (inv, client):
        members = client.members.list(scope=scope, user_id=user)
    _show_members(inv, members)


def _show_members(inv: Invocation, members: Member | Sequence[Member]) -> None:
    inv.out.show(
        members, "user:cyan, scope*, role, since:dim", lambda m: (m.user_id, m.scope, m.role, m.since)
    )


@app.command("forget-user")
def forget_user(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(help="The user to forget in this tenant.")],
    yes: YesOption = False,
) -> None:
    """Erase all that belongs to a user, and print a receipt."""
    with opened(ctx, f"Erase all that belongs to user {user} for good?", yes=yes) as (inv, client):
        receipt = client.forget_user(user)
    show_receipt(inv.out, receipt)


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
    arguments = given(ctx, "keys.create")
    if days is not None:
        expires = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    with opened(ctx) as (inv, client):
        made = client.keys.create(**arguments, expires_at=expires)
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
def revoke_key(ctx: typer.Context, id: _KeyArgument, yes: YesOption = False) -> None:
    """End a key for good."""
    with opened(ctx, f"Revoke key {id} for good?", yes=yes) as (inv, client):
        _show_keys(inv, client.keys.revoke(id))


@keys_app.command("rotate")
def rotate_key(
    ctx: typer.Context,
    id: _KeyArgument,
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
    elif not inv.out.on_terminal:
        # Alone on standard output, so that it can go straight into a secret store.
        print(made.token)
        inv.out.aside(f"key {made.key.id}; this token is shown only now")
    else:
        inv.out.line(f"Key {made.key.id} for {made.key.holder}. Its token is shown only now:")
        inv.out.line(made.token, style="bold cyan")


def _show_keys(inv: Invocation, keys: Key | Sequence[Key]) -> None:
    now = datetime.now(UTC)

    def row(key: Key) -> tuple[object, ...]:
        ends, used = key.expires_at or "never", key.used_at or "never"
        return key.id, key.name, key.holder, key.state(now), ends, used

    columns = "id:cyan, name, speaks for, state, expires:dim, last used:dim"
    none = "No keys yet. Make one: recollect keys create support-bot --user ana"
    inv.out.show(keys, columns, row, none=none)
