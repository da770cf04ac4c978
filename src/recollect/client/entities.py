"""The client's face for entities: `r.entities`.

Checks, hands over, decides nothing. Entities appear by themselves with the memories that name them;
here they are declared, given other names, listed and forgotten (storage/entities.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.names import Entity, EntityGraph, entity_key
from recollect.domain.text import MAX_LIMIT, check_name, check_whole
from recollect.errors import InvalidInputError

MAX_ALIASES = 100
#: More can't be told apart in a picture, and pairs grow with the square.
MAX_NODES = 300


@checked
class AsyncEntities(Face):
    """Entities of the caller's tenant: what memories and questions name."""

    async def declare(
        self, name: str, *, kind: str = "thing", aliases: Sequence[str] = (), canonical: str | None = None
    ) -> Entity:
        """Declare an entity for the whole tenant, with other names it has. Needs admin.

        Its names count in texts and questions in lower case, too. `canonical` is its row in the tenant's own database,
        such as "customer:a1b2".
        """
        from recollect.storage import entities

        if len(aliases) > MAX_ALIASES:
            raise InvalidInputError(f"{len(aliases)} aliases for one entity, the limit is {MAX_ALIASES}")
        checked = check_name(name, what="name")
        others = [check_name(alias, what="alias") for alias in aliases]
        row = None if canonical is None else check_name(canonical, what="canonical")
        if row is not None and (":" not in row or any(letter.isspace() for letter in row)):
            raise InvalidInputError(
                f"canonical {row!r} is not of the form 'type:id', such as 'customer:a1b2'"
            )
        sort = check_name(kind, what="kind")
        async with self._transaction() as tx:
            return await entities.declare(tx, checked, kind=sort, aliases=others, canonical=row)

    async def alias(self, alias: str, entity: str) -> Entity:
        """Call a known entity by another name: for oneself, or as admin for the whole tenant."""
        from recollect.storage import entities

        name, other = check_name(entity, what="entity"), check_name(alias, what="alias")
        async with self._transaction() as tx:
            return await entities.add_alias(tx, other, name)

    async def list(self, *, prefix: str = "", limit: int = 100) -> Sequence[Entity]:
        """Entities the caller sees, by name; `prefix` narrows to names that begin so."""
        from recollect.storage import entities

        check_whole("limit", limit, most=MAX_LIMIT)
        first = entity_key(check_name(prefix, what="prefix")) if prefix else ""
        async with self._transaction() as tx:
            return await entities.list_entities(tx, prefix=first, limit=limit)

    async def graph(self, name: str | None = None, *, limit: int = 60) -> EntityGraph:
        """What is named together: the entities around one, or those that most memories name, with their links."""
        from recollect.storage import entities

        check_whole("limit", limit, most=MAX_NODES)
        centre = None if name is None else check_name(name, what="name")
        async with self._transaction() as tx:
            return await entities.graph(tx, centre, limit=limit)

    async def forget(self, name: str) -> int:
        """Forget what was declared or learned of an entity, aliases included; returns how many rows.

        What memories name stays named: delete those to erase a name.
        """
        from recollect.storage import entities

        checked = check_name(name, what="name")
        async with self._transaction() as tx:
            return await entities.forget(tx, checked)
