"""The adversarial suite: attacks on the walls between tenants, scopes and users of a live store.

Two throw-away tenants are made, attacked and forgotten again; other tenants' rows are only ever counted.
The attacks are in `catalogue` (are the walls there), `reads`, `writes`, `reuse` (what connections keep) and
`front_door` (through the program's own features). Known and accepted: whoever can run SQL as the application
may say who is asking (the application is trusted with that, and with nothing else); whoever already knows the
id of a hidden memory of the same tenant can learn that it exists by inserting one with that id; and EXPLAIN's row
estimates tell how much there is, not what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import psycopg

from recollect.doctor import catalogue, front_door, reads, reuse, writes
from recollect.doctor.arena import Arena, Tally, read_tables
from recollect.doctor.world import forget_world, new_world, store_world
from recollect.domain.results import Check
from recollect.domain.tenancy import TenantContext
from recollect.errors import RecollectError
from recollect.workspace import Workspace

#: These need no rows of the suite's own.
_WITHOUT_WORLDS = (*catalogue.ATTACKS, reads.no_caller_sees_nothing)


async def examine_isolation(workspace: Workspace, context: TenantContext) -> list[Check]:
    """Attack the store; one Check per kind of attack, ok when no row leaked."""
    arena = await asyncio.to_thread(_survey, workspace.store.door.app)
    owner = workspace.store.door.owner
    if owner is None or not context.is_operator:
        checks = [await _carry_out(attack, arena) for attack in _WITHOUT_WORLDS]
        why = "the operator role" if owner is not None else "the database owner's URL"
        return [
            *checks,
            Check(name="isolation: attacks", ok=True, detail=f"skipped: throw-away tenants need {why}"),
        ]
    try:
        for world in (arena.mine, arena.theirs):
            await asyncio.to_thread(store_world, owner, world)
        attacks = (*catalogue.ATTACKS, *reads.ATTACKS, *writes.ATTACKS, *reuse.ATTACKS)
        checks = [await _carry_out(attack, arena) for attack in attacks]
        checks.append(
            await _observe(
                lambda: reuse.one_connection_serves_many_callers(arena, workspace.settings), "pool"
            )
        )
        for visit in front_door.ATTACKS:
            checks.append(await _observe(lambda visit=visit: visit(workspace, arena), visit.__name__))  # type: ignore[misc]
        # Last: by now the program's own statements about the two tenants have been run.
        checks.append(await _carry_out(reads.statistics_show_nothing, arena))
        return checks
    finally:
        for world in (arena.mine, arena.theirs):
            await asyncio.shield(asyncio.to_thread(forget_world, owner, world))


def _survey(app: str) -> Arena:
    with psycopg.connect(app, autocommit=True) as connection:
        return Arena(app=app, mine=new_world(), theirs=new_world(), tables=read_tables(connection))


async def _carry_out(attack: Callable[[Arena], Check], arena: Arena) -> Check:
    return await _observe(lambda: asyncio.to_thread(attack, arena), attack.__name__)


async def _observe(attack: Callable[[], Awaitable[Check]], name: str) -> Check:
    """An attack that can't be carried out proves nothing, so it is not ok."""
    try:
        return await attack()
    except (RecollectError, psycopg.Error) as error:
        tally = Tally(
            name.replace("_", " "), advice="mend this first, then run `recollect doctor --isolation` again"
        )
        tally.expect(f"could not be carried out: {' '.join(str(error).split())[:200]}", holds=False)
        return tally.check()
