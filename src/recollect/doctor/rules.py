"""Who may see and write what, a second time and in Python, as an oracle for what the database does.

Written from the rules people read, not from the policies: your own agent, user and session scopes; the scopes
you are a member of and their ancestors (ancestors to read, not to write); what you lead and all below it. An
admin has the whole tenant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from recollect.domain.layers import Layer, ScopeName
from recollect.domain.tenancy import TenantContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One scope of a tenant. `owner` is the user of an agent or session scope, '' elsewhere."""

    id: UUID
    layer: Layer
    name: str
    owner: str = ""
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Belonging:
    """One membership."""

    user_id: str
    scope_id: UUID
    role: str


def visible(places: Sequence[Place], belongings: Sequence[Belonging], context: TenantContext) -> set[UUID]:
    """The scopes a caller reads."""
    if context.is_admin:
        return {place.id for place in places}
    led = managed(places, belongings, context)
    joined = {b.scope_id for b in belongings if b.user_id == context.user_id}
    above = {ancestor for start in led | joined for ancestor in _up(places, start)}
    return _own(places, context) | led | above


def writable(places: Sequence[Place], belongings: Sequence[Belonging], context: TenantContext) -> set[UUID]:
    """The scopes a caller writes into."""
    if context.is_admin:
        return {place.id for place in places}
    joined = {b.scope_id for b in belongings if b.user_id == context.user_id}
    return _own(places, context) | joined | managed(places, belongings, context)


def managed(places: Sequence[Place], belongings: Sequence[Belonging], context: TenantContext) -> set[UUID]:
    """The scopes whose members and child scopes a caller decides about."""
    if context.is_admin:
        return {place.id for place in places}
    roots = {b.scope_id for b in belongings if b.user_id == context.user_id and b.role == "lead"}
    claims = [
        ScopeName.parse(role.removeprefix("lead:")) for role in context.roles if role.startswith("lead:")
    ]
    # A claim is of a shared scope: nobody leads what is somebody's own.
    shared = [place for place in places if not place.owner and place.layer.precedence > 3]
    roots |= {place.id for place in shared if ScopeName(place.layer, place.name) in claims}
    return {place.id for place in places if roots.intersection(_up(places, place.id))}


def _own(places: Sequence[Place], context: TenantContext) -> set[UUID]:
    """A user's own scopes. From inside an agent or a session, only that one of them."""
    own = set()
    for place in places:
        inside = {Layer.AGENT: context.agent_id, Layer.SESSION: context.session_id}.get(place.layer)
        if place.layer is Layer.USER:
            mine = place.name == context.user_id
        elif place.layer in {Layer.AGENT, Layer.SESSION}:
            named = place.name == inside if inside is not None else context.user_id is not None
            mine = named and place.owner == (context.user_id or "")
        else:
            mine = False
        if mine:
            own.add(place.id)
    return own


def _up(places: Sequence[Place], start: UUID) -> Iterator[UUID]:
    """A scope and its ancestors."""
    parents = {place.id: place.parent_id for place in places}
    here: UUID | None = start
    while here is not None:
        yield here
        here = parents[here]
