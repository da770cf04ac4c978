"""Who is asking, and from where.

`TenantContext` is a claim by the application: this tenant, this user, these roles. What the user
may see follows from it *in the database* (memberships and row-level security); nothing here decides
visibility.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

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
