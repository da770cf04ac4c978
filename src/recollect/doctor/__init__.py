"""The doctor: looks for what is wrong with a store, and attacks the walls between tenants and scopes.

`health` holds the ordinary checks, `isolation` the attacks; `indexes` compares indexes with their tables, `crash` kills
the database of a throw-away store. A check never mends anything: it says what it found and what to do. Nothing here is
used by the rest of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.domain.results import Check
    from recollect.domain.tenancy import TenantContext
    from recollect.workspace import Workspace


async def examine(
    workspace: Workspace, context: TenantContext, *, isolation: bool, indexes: bool
) -> list[Check]:
    """Every finding, the ordinary ones first; `indexes` reads all of them, `isolation` adds the attacks."""
    from recollect.doctor.health import examine_health

    checks = await examine_health(workspace, context)
    if indexes:
        from recollect.doctor.indexes import examine_indexes

        checks.append(await examine_indexes(workspace, context))
    if isolation:
        from recollect.doctor.isolation import examine_isolation

        checks += await examine_isolation(workspace, context)
    return checks
