"""The client's face for the tenant's own database: `r.ontology`.

Checks, hands over, decides nothing. What an ontology is stands in domain/ontology.py, where it is
stored in storage/ontology.py, how its database is asked in domaindb/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

from recollect.client.arguments import checked
from recollect.client.session import Face
from recollect.domain.memory import check_time
from recollect.domain.ontology import DeclaredOntology, DomainResults
from recollect.domain.ontology_document import parse_ontology
from recollect.domain.results import Check
from recollect.domain.text import check_text, check_timezone


@checked
class AsyncOntology(Face):
    """What the tenant's own database is about, and what it says."""

    async def declare(self, document: Mapping[str, Any]) -> DeclaredOntology:
        """Declare types, relations and measures, in place of what was declared before. Needs admin.

        The document has the shape of the `[ontology]` table of recollect.toml, and from now on wins over it.
        """
        from recollect.storage import ontology

        parse_ontology(document)
        workspace, context = await self._workspace(), self._context
        async with workspace.store.transaction(context) as tx:
            await ontology.store_ontology(tx, document)
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
        from recollect.storage import ontology

        workspace, context = await self._workspace(), self._context
        async with workspace.store.transaction(context) as tx:
            cleared = await ontology.clear_ontology(tx)
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
