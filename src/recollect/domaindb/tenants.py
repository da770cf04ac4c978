"""Which tenant has which database and which ontology.

A URL belongs to one tenant: `domain_database_url` to the settings' own, the entries of `[domain_databases]` to the
tenant each one names. Nobody else ever gets it. The ontology is what was declared through the API; where nothing
was, the settings' own tenant has the one of recollect.toml.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect.domain.ontology import EMPTY, DeclaredOntology
from recollect.domain.ontology_document import parse_ontology
from recollect.domain.results import Check
from recollect.domaindb.connection import DomainConnections
from recollect.domaindb.database import DomainDatabase
from recollect.domaindb.tables import Catalogue
from recollect.storage.ontology import find_ontology

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Store, Transaction

#: What another process declares is seen this much later; what this one declares, at once.
KEPT_S = 5.0
#: What a question brings back of one table.
_MAX_ROWS = 50


class DomainDatabases:
    """The domain databases of all tenants of a store, opened when they are first asked."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._connections: dict[str, tuple[DomainConnections, Catalogue]] = {}
        self._declared: dict[str, tuple[float, DeclaredOntology]] = {}

    def url(self, tenant_id: str) -> str | None:
        """The URL of a tenant's own database."""
        if tenant_id == self._settings.tenant and self._settings.domain_database_url is not None:
            return self._settings.domain_database_url
        return self._settings.domain_databases.get(tenant_id)

    async def find(self, context: TenantContext, tx: Transaction | None = None) -> DomainDatabase | None:
        """A tenant's database with its ontology; None where one of the two is missing."""
        tenant_id = context.tenant_id
        url = self.url(tenant_id)
        if url is None:
            return None
        ontology = (await self.declared(context, tx)).ontology
        if not ontology:
            return None
        if tenant_id not in self._connections:
            made = DomainConnections(url, timeout_s=self._settings.domain_timeout_s)
            self._connections[tenant_id] = (made, Catalogue())
        connections, catalogue = self._connections[tenant_id]
        return DomainDatabase(ontology, connections, catalogue, max_rows=_MAX_ROWS)

    async def declared(self, context: TenantContext, tx: Transaction | None = None) -> DeclaredOntology:
        """A tenant's ontology and where it comes from. A caller inside a transaction passes it: no second one."""
        kept = self._declared.get(context.tenant_id)
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        if tx is not None:
            stored = await find_ontology(tx)
        else:
            async with self._store.transaction(context) as own:
                stored = await find_ontology(own)
        found = stored or self._from_file(context.tenant_id)
        self._declared[context.tenant_id] = (time.monotonic() + KEPT_S, found)
        return found

    def _from_file(self, tenant_id: str) -> DeclaredOntology:
        document = self._settings.ontology if tenant_id == self._settings.tenant else {}
        if not document:
            return DeclaredOntology(ontology=EMPTY, document={}, source="none")
        return DeclaredOntology(ontology=parse_ontology(document), document=document, source="file")

    async def why_none(self, context: TenantContext) -> str:
        """What is missing where `find` gives None."""
        if self.url(context.tenant_id) is None:
            return (
                f"tenant {context.tenant_id!r} has no domain database; set domain_database_url, or name its URL under "
                "[domain_databases] in recollect.toml"
            )
        notes = (await self.declared(context)).notes
        return (
            notes[0]
            if notes
            else "no ontology is declared; write one and run `recollect ontology declare FILE`"
        )

    async def check(self, context: TenantContext, declared: DeclaredOntology) -> list[Check]:
        """Compare a tenant's ontology with its database."""
        where = f"{len(declared.ontology.types)} types, declared in: {declared.source}"
        first = Check(name="ontology", ok=bool(declared.ontology), detail=where)
        database = await self.find(context)
        if database is None:
            reason = await self.why_none(context)
            missing = "ontology" if not declared.ontology and self.url(context.tenant_id) else "connection"
            kept = [first] if missing != "ontology" else []
            return [*kept, Check(name=missing, ok=False, detail=reason, advice="see docs/domain-database.md")]
        return [first, *await database.check()]

    def forget(self, tenant_id: str) -> None:
        """Read a tenant's ontology anew: it has just been changed."""
        self._declared.pop(tenant_id, None)

    async def close(self) -> None:
        """Close every connection that was opened."""
        for connections, _ in self._connections.values():
            await connections.close()
