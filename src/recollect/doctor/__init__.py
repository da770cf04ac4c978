"""The doctor: looks for what is wrong with a store, and attacks the walls between tenants and scopes.

`health` holds the ordinary checks and compares indexes with their tables, `isolation` the attacks, `crash` kills the
database of a throw-away store. A check never mends anything: it says what it found and what to do. Nothing here is used
by the rest of the program.
"""

from __future__ import annotations

from recollect.doctor.health import examine_health, examine_indexes
from recollect.doctor.isolation import examine_isolation
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.workspace import Workspace


async def examine(
    workspace: Workspace, context: TenantContext, *, isolation: bool, indexes: bool
) -> list[Check]:
    """Every finding, the ordinary ones first; `indexes` reads all of them, `isolation` adds the attacks."""
    checks = await examine_health(workspace, context)
    if indexes:
        checks.append(await examine_indexes(workspace, context))
    if isolation:
        checks += await examine_isolation(workspace, context)
    return checks
