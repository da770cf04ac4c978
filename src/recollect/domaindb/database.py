"""`DomainDatabase`: one tenant's own database behind its ontology. Made by `workspace.domain(context)`.

Its answers are complete without it: a database that is down, slow or changed gives notes instead of rows, never an
exception. Everything below is bounded: time, rows, depth, fan-out, statements.

A URL belongs to one tenant: `domain_database_url` to the settings' own, the entries of `[domain_databases]` to the
tenant each one names. Nobody else ever gets it. The ontology is what was declared through the API; where nothing
was, the settings' own tenant has the one of recollect.toml.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.domain.ontology import EMPTY, DeclaredOntology, DomainResults, Expansion, RelatedEntity
from recollect.domain.ontology_document import parse_ontology
from recollect.domain.query import Resolution, ResolvedEntity
from recollect.domain.results import Check
from recollect.domaindb.answers import AnswerBuilder
from recollect.domaindb.connection import DomainConnections, DomainFault, Session
from recollect.domaindb.lookups import FoundRow, Lookups
from recollect.domaindb.questions import read_question
from recollect.domaindb.tables import Catalogue, Kind, KnownTable
from recollect.storage.entities import find_ontology

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.domain.ontology import EntityType, Ontology, Relation
    from recollect.domain.query import QueryType, TimeRange
    from recollect.domain.tenancy import TenantContext
    from recollect.storage.store import Store, Transaction


logger = logging.getLogger(__name__)

MAX_DEPTH = 3
FAN_OUT = 10
#: An expansion is for looking up memories, not for copying the database.
MAX_RELATED = 100
MAX_STATEMENTS = 60

#: How sure a look-up is: a whole label or number, the beginning of one label, one of several.
SURE, LIKELY, UNSURE = 0.95, 0.8, 0.5


class DomainDatabase:
    """Questions to a tenant's own database."""

    def __init__(
        self, ontology: Ontology, connections: DomainConnections, catalogue: Catalogue, *, max_rows: int
    ) -> None:
        self.ontology = ontology
        self.max_rows = max_rows
        self._connections = connections
        self._catalogue = catalogue

    async def find(self, mention: str) -> ResolvedEntity | None:
        """The row a mention means, by canonical id, number or label; several are rivals. None if none, or no answer."""

        def work(session: Session) -> ResolvedEntity | None:
            rows, confidence = self._rows_meant(self._builder(session), mention.strip())
            if not rows:
                return None
            first, rivals = rows[0], rows[1:]
            return ResolvedEntity(
                mention_text=mention,
                canonical_id=first.id,
                name=first.label,
                kind=first.type.name,
                confidence=UNSURE if rivals else confidence,
                method=Resolution.DOMAIN,
                rivals=tuple(row.id for row in rivals),
            )

        try:
            return await self._connections.run_on_the_side(work)
        except DomainFault as fault:
            logger.warning("%s", fault)
            return None

    def _rows_meant(self, builder: AnswerBuilder, mention: str) -> tuple[list[FoundRow], float]:
        if self.ontology.split_id(mention):
            return builder.rows_of(mention), SURE
        numbered = builder.rows_numbered(read_question(mention, self.ontology).numbered)
        if numbered:
            return numbered, SURE
        rows, exact = builder.rows_named(mention)
        return rows, SURE if exact else LIKELY

    async def expand(
        self, entities: Sequence[ResolvedEntity | str], *, max_depth: int = 1, fan_out: int = FAN_OUT
    ) -> Expansion:
        """The entities and the rows that relations lead to from them, each once, nearest first."""
        given = [key for e in entities for key in ((e,) if isinstance(e, str) else e.keys)]
        given = list(dict.fromkeys(given))
        depth, width = max(0, min(max_depth, MAX_DEPTH)), max(0, min(fan_out, MAX_RELATED))
        if not depth or not width or not given:
            return Expansion(ids=tuple(given))

        def work(session: Session) -> Expansion:
            builder = self._builder(session)
            starts = [row for entity in entities for row in builder.rows_of(entity)]
            related = self._follow(builder, starts, set(given), depth, width)
            reached = [row.id for row in starts] + [entity.id for entity in related]
            ids = tuple(dict.fromkeys([*given, *reached]))
            return Expansion(ids=ids, related=tuple(related), notes=builder.notes)

        try:
            return await self._connections.run_on_the_side(work)
        except DomainFault as fault:
            return Expansion(ids=tuple(given), notes=(str(fault),))

    def _follow(
        self, builder: AnswerBuilder, starts: Sequence[FoundRow], seen: set[str], max_depth: int, fan_out: int
    ) -> list[RelatedEntity]:
        """Breadth first. A row is visited once, so that a loop in the ontology ends where it began."""
        seen |= {row.id for row in starts}
        related: list[RelatedEntity] = []
        frontier, statements = list(starts), 0
        for depth in range(1, max_depth + 1):
            reached = []
            for row in frontier:
                for relation in self.ontology.relations_from(row.type.name):
                    if statements >= MAX_STATEMENTS or len(related) >= MAX_RELATED:
                        return related
                    statements += 1
                    for other in builder.rows_related(row, relation, limit=fan_out):
                        if other.id not in seen and len(related) < MAX_RELATED:
                            seen.add(other.id)
                            reached.append(other)
                            related.append(_related(other, relation, row, depth))
            frontier = reached
        return related

    async def related(self, entity_id: str, relation: Relation, *, limit: int = FAN_OUT) -> tuple[str, ...]:
        """The canonical ids one relation leads to; a fault is logged and gives none."""
        parts = self.ontology.split_id(entity_id)
        if parts is None or relation.from_type != parts[0].name:
            return ()
        declared, key = parts

        def work(session: Session) -> tuple[str, ...]:
            row = FoundRow(type=declared, key=key, label=key)
            rows = self._builder(session).rows_related(row, relation, limit=max(0, min(limit, MAX_RELATED)))
            return tuple(other.id for other in rows)

        try:
            return await self._connections.run(work)
        except DomainFault as fault:
            logger.warning("%s", fault)
            return ()

    async def query(
        self,
        query: str,
        *,
        query_type: QueryType | None = None,
        entities: Sequence[ResolvedEntity | str] | None = None,
        time_range: TimeRange | None = None,
    ) -> DomainResults:
        """What the database has on a question; nothing when the question's type says that none is needed.

        Without `entities` (None), names are looked for in the question itself.
        """
        if query_type is not None and not query_type.requires_domain_db:
            return DomainResults()
        try:
            return await self._connections.run(
                lambda session: self._builder(session).answer(query, entities, time_range)
            )
        except DomainFault as fault:
            return DomainResults(notes=(str(fault),))

    async def check(self) -> list[Check]:
        """Compare the ontology with the database: one finding per type, relation and measure."""
        self._catalogue.forget()
        try:
            return await self._connections.run(self._examine)
        except DomainFault as fault:
            return [
                Check(name="connection", ok=False, detail=str(fault), advice="check the URL and the server")
            ]

    def _examine(self, session: Session) -> list[Check]:
        tables: dict[str, KnownTable] = {}
        checks = [
            Check(name="connection", ok=True, detail=f"reached a {session.dialect} database, read-only")
        ]
        for declared in self.ontology.types.values():
            try:
                tables[declared.name] = self._catalogue.get(session, declared)
                problems = _type_problems(tables[declared.name])
            except DomainFault as fault:
                problems = [str(fault)]
            checks.append(_check(f"type {declared.name}", problems, f"table {declared.full_table!r}"))
        for relation in self.ontology.relations:
            ends = ((relation.from_type, relation.from_column), (relation.to_type, relation.to_column))
            problems = [p for end, column in ends for p in _missing(tables.get(end), [column])]
            name = f"relation {relation.from_type} {relation.name} {relation.to_type}"
            checks.append(_check(name, problems, f"{relation.from_column} = {relation.to_column}"))
        for measure in self.ontology.measures.values():
            columns = [
                measure.column,
                measure.time_column,
                *measure.group_by,
                *(c.column for c in measure.where),
            ]
            problems = _missing(tables.get(measure.type), columns)
            what = f"{measure.aggregate} of {measure.column or 'rows'}"
            checks.append(_check(f"measure {measure.name}", problems, what))
        return checks

    def _builder(self, session: Session) -> AnswerBuilder:
        lookups = Lookups(session, self.ontology, self._catalogue, max_rows=self.max_rows)
        return AnswerBuilder(lookups, self.ontology, self._catalogue, max_rows=self.max_rows)


def _related(row: FoundRow, relation: Relation, source: FoundRow, depth: int) -> RelatedEntity:
    return RelatedEntity(
        id=row.id, label=row.label, type=row.type.name, relation=relation.name, source=source.id, depth=depth
    )


def _type_problems(table: KnownTable) -> list[str]:
    declared: EntityType = table.type
    conditions = [*declared.where, *(c for group in declared.filters.values() for c in group)]
    columns = [
        declared.key,
        declared.label,
        declared.number,
        *declared.columns,
        *(c.column for c in conditions),
    ]
    problems = _missing(table, [*columns, declared.time_column])
    if table.has(declared.time_column):
        assert declared.time_column is not None
        kind = table.get(declared.time_column).kind
        if kind in {Kind.YES_NO, Kind.UUID, Kind.BYTES}:
            problems.append(f"column {declared.time_column!r} holds no times but {kind.value}")
    return problems


def _missing(table: KnownTable | None, columns: Sequence[str | None]) -> list[str]:
    if table is None:
        return ["its table is missing"]
    wanted = dict.fromkeys(column for column in columns if column is not None)
    return [
        f"table {table.type.full_table!r} has no column {column!r}"
        for column in wanted
        if not table.has(column)
    ]


def _check(name: str, problems: Sequence[str], fine: str) -> Check:
    advice = "" if not problems else "correct the ontology or the database"
    return Check(name=name, ok=not problems, detail="; ".join(problems) or fine, advice=advice)


# The same by the names under which retrieval knows them ---------------------------------------------


async def expand_entities_via_ontology(
    domain: DomainDatabase, entities: Sequence[str], max_depth: int = 1
) -> list[str]:
    """The given entity ids and those that the ontology relates to them."""
    return list((await domain.expand(entities, max_depth=max_depth)).ids)


async def query_related_entities(
    domain: DomainDatabase, entity_id: str, relation: Relation, limit: int = FAN_OUT
) -> list[str]:
    """The ids of the rows one relation leads to from an entity."""
    return list(await domain.related(entity_id, relation, limit=limit))


async def query_domain_database(
    domain: DomainDatabase,
    query: str,
    query_type: QueryType | None = None,
    entities: Sequence[ResolvedEntity | str] | None = None,
    time_range: TimeRange | None = None,
) -> DomainResults:
    """What the domain database has on a question; nothing when its type says that none is needed."""
    return await domain.query(query, query_type=query_type, entities=entities, time_range=time_range)


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
        ontology = stored or self._from_file(context.tenant_id)
        self._declared[context.tenant_id] = (time.monotonic() + KEPT_S, ontology)
        return ontology

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
