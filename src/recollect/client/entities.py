"""The client's faces for entities, `r.entities`, and for the tenant's own database, `r.ontology`.

They check, hand over and decide nothing. Entities appear by themselves with the memories that name them; here they are
declared, given other names, listed and forgotten (storage/entities.py). What an ontology is stands in
domain/ontology.py, where it is stored in storage/entities.py, how its database is asked in domaindb/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.memory import check_time
from recollect.domain.names import Entity, EntityGraph, entity_key
from recollect.domain.ontology import DeclaredOntology, DomainResults
from recollect.domain.ontology_document import parse_ontology
from recollect.domain.results import Check
from recollect.domain.text import MAX_LIMIT, check_name, check_text, check_timezone, check_whole
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


@checked
class AsyncOntology(Face):
    """What the tenant's own database is about, and what it says."""

    async def declare(self, document: Mapping[str, Any]) -> DeclaredOntology:
        """Declare types, relations and measures, in place of what was declared before. Needs admin.

        The document has the shape of the `[ontology]` table of recollect.toml, and from now on wins over it.
        """
        from recollect.storage import entities

        parse_ontology(document)
        workspace, context = await self._workspace(), self._context
        async with workspace.store.transaction(context) as tx:
            await entities.store_ontology(tx, document)
        workspace.domains.forget(context.tenant_id)
        return await workspace.domains.declared(context)

    async def get(self) -> DeclaredOntology:
        """What is declared, and where: `source` is "stored", "file" or "none"."""
        from recollect.storage.scopes import describe_caller

        workspace, context = await self._workspace(), self._context
        async with workspace.store.transaction(context) as tx:
            await describe_caller(tx)
            workspace.domains.forget(context.tenant_id)
            return await workspace.domains.declared(context, tx)

    async def check(self) -> Sequence[Check]:
        """Compare what is declared with the database: a finding per type, relation and measure."""
        declared = await self.get()
        workspace, context = await self._workspace(), self._context
        return await workspace.domains.check(context, declared)

    async def clear(self) -> bool:
        """Withdraw what was declared through `declare`; the one of recollect.toml counts again. Needs admin."""
        from recollect.storage import entities

        workspace, context = await self._workspace(), self._context
        async with workspace.store.transaction(context) as tx:
            cleared = await entities.clear_ontology(tx)
        workspace.domains.forget(context.tenant_id)
        return cleared

    async def query(
        self,
        question: str,
        *,
        now: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
    ) -> DomainResults:
        """What the database alone answers to a question; `context()` joins the same with memories.

        `now` is the time the question is asked at, `timezone` the one it names days in, as in `search`.
        """
        from recollect.retrieval.understand import MAX_QUERY_CHARS
        from recollect.text.times import read_times

        text = check_text(question, what="question", limit=MAX_QUERY_CHARS)
        workspace, context = await self._workspace(), self._context
        zone = check_timezone(workspace.settings.timezone if timezone is None else timezone)
        times = read_times(text, now=check_time(now, "now") or workspace.clock(), timezone=zone)
        database = await workspace.domain(context)
        if database is None:
            return DomainResults(notes=(await workspace.domains.why_none(context),))
        results = await database.query(text, time_range=times.scope)
        return replace(results, notes=(*times.notes, *results.notes))
