"""Who is asking, and from where; and the keys by which applications speak to a server.

`TenantContext` is a claim by the application: this tenant, this user, these roles. What the user
may see follows from it *in the database* (memberships and row-level security); nothing here decides
visibility.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from recollect.domain.layers import Layer, ScopeName
from recollect.domain.text import check_name
from recollect.errors import InvalidInputError

#: The tenant of the embedded default; newcomers never meet the word.
LOCAL_TENANT = "local"

_ID_FIELDS = ("user_id", "agent_id", "session_id", "project_id", "team_id", "org_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantContext:
    """Who is asking (`tenant_id`, `user_id`, `agent_id`, `roles`) and from where (the other ids).

    `project_id`, `team_id` and `org_id` say which scope `layer="team"` means when none is named;
    they grant nothing. Roles: `admin` sees the whole tenant, `lead:team/api` sees that scope and all
    below it, `operator` may create and list tenants.
    """

    tenant_id: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    project_id: str | None = None
    team_id: str | None = None
    org_id: str | None = None
    roles: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "tenant_id", check_name(self.tenant_id, what="tenant_id"))
        for name in _ID_FIELDS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_name(value, what=name))
        if isinstance(self.roles, str):
            raise InvalidInputError(f"roles must be a tuple of strings, not the string {self.roles!r}")
        object.__setattr__(self, "roles", tuple(sorted({_check_role(role) for role in self.roles})))

    @property
    def is_admin(self) -> bool:
        """Whether the whole tenant is visible."""
        return "admin" in self.roles

    @property
    def is_operator(self) -> bool:
        """Whether tenants may be created and listed."""
        return "operator" in self.roles

    def scope_name(self, layer: Layer) -> str | None:
        """The name of the scope this context stands in, for a layer."""
        if layer is Layer.COMPANY:
            return self.tenant_id
        value: str | None = getattr(self, f"{layer.value}_id")
        return value

    def replace(self, **changes: object) -> TenantContext:
        """The same context with some parts changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


def _check_role(role: object) -> str:
    name = check_name(role, what="role")
    kind, colon, scope = name.partition(":")
    if not colon and kind in {"admin", "operator"}:
        return name
    if colon and kind == "lead":
        return f"lead:{ScopeName.parse(scope)}"
    raise InvalidInputError(f"unknown role {name!r}; roles are 'admin', 'operator' and 'lead:<layer>/<name>'")


#: How every token begins: what looks for leaked secrets in code can know it by that.
PREFIX = "rcl_"
_ID_BYTES, _SECRET_BYTES = 16, 24
#: A tenant's name is far shorter; anything longer was never made here.
MAX_TOKEN_CHARS = 1_024
#: What a key says of who it speaks for.
CONTEXT_IDS = ("user_id", "agent_id", "project_id", "team_id", "org_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as its admins see it: who it speaks for, and until when. Its token is not in it."""

    id: UUID
    name: str
    tenant_id: str
    user_id: str | None
    agent_id: str | None
    project_id: str | None
    team_id: str | None
    org_id: str | None
    roles: tuple[str, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    @property
    def speaks_for(self) -> TenantContext:
        """Who it speaks for."""
        ids = {name: getattr(self, name) for name in CONTEXT_IDS}
        return TenantContext(tenant_id=self.tenant_id, roles=self.roles, **ids)

    @property
    def holder(self) -> str:
        """Who it speaks for, in words."""
        named = ((part, getattr(self, f"{part}_id")) for part in ("user", "agent", "project", "team", "org"))
        return ", ".join([*(f"{part} {name}" for part, name in named if name), *self.roles])

    def state(self, now: datetime) -> str:
        """`active`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made, with its token: the only time that it is shown."""

    key: Key
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a token says. `secret` is its hash, as the store has it."""

    tenant_id: str
    key_id: UUID
    secret: bytes = field(repr=False)


def make_token(tenant_id: str, key_id: UUID) -> tuple[str, bytes]:
    """A new token of a key, and the hash that the store keeps."""
    secret = secrets.token_bytes(_SECRET_BYTES)
    packed = base64.urlsafe_b64encode(key_id.bytes + secret + tenant_id.encode()).decode().rstrip("=")
    return PREFIX + packed, hashlib.sha256(secret).digest()


def read_token(text: str) -> Token | None:
    """What a token says; None when it was never one."""
    if not text.startswith(PREFIX) or len(text) > MAX_TOKEN_CHARS:
        return None
    packed = text.removeprefix(PREFIX)
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        # A token with a slip in it may name what no tenant can be called.
        tenant = check_name(raw[_ID_BYTES + _SECRET_BYTES :].decode(), what="tenant_id")
    except (binascii.Error, ValueError, InvalidInputError):
        return None
    secret = raw[_ID_BYTES : _ID_BYTES + _SECRET_BYTES]
    return Token(tenant_id=tenant, key_id=UUID(bytes=raw[:_ID_BYTES]), secret=hashlib.sha256(secret).digest())


def context_document(context: TenantContext) -> dict[str, Any]:
    """Who a key speaks for, as the store keeps it. Its tenant is the row's own."""
    given = {name: getattr(context, name) for name in CONTEXT_IDS}
    return {
        **{name: value for name, value in given.items() if value is not None},
        "roles": list(context.roles),
    }


def read_context(tenant_id: str, document: Mapping[str, Any]) -> TenantContext:
    """Who a key speaks for."""
    ids = {name: document.get(name) for name in CONTEXT_IDS}
    return TenantContext(tenant_id=tenant_id, roles=tuple(document.get("roles", ())), **ids)
