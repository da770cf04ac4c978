"""From one question to the tables that answer it, in one session.

First the rows it is about are found (by number, by canonical id, by name), then what it asks of them: measures,
the rows themselves, related rows. A part that fails becomes a note and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from recollect.domain.ontology import DomainResults, DomainTable
from recollect.domain.query import Resolution, ResolvedEntity
from recollect.domaindb.connection import DomainFault
from recollect.domaindb.lookups import MAX_RIVALS, FoundRow, Lookups
from recollect.domaindb.questions import (
    NumberedRow,
    Request,
    candidate_names,
    read_question,
    spelled_names,
    unapplied,
)

if TYPE_CHECKING:
    from recollect.domain.ontology import Ontology, Relation
    from recollect.domain.query import TimeRange
    from recollect.domaindb.tables import Catalogue

T = TypeVar("T")
P = ParamSpec("P")

#: Rows a question can be about, types it can list, tables it gets: enough for a prompt, and a bound on statements.
MAX_SUBJECTS = 6
MAX_LISTED_TYPES = 3
MAX_TABLES = 12
#: Rows of a relation that nobody asked for by name.
UNASKED_ROWS = 10


def unapplied_notes(question: str, ontology: Ontology, known: Sequence[str]) -> list[str]:
    """A sentence for each qualifier of a question that no filter is declared for."""
    return [
        f"{qualifier!r} was not applied to {rows}: the ontology declares no such filter"
        for rows, qualifier in unapplied(question, ontology, known)
    ]


class AnswerBuilder:
    """Collects the tables that answer one question."""

    def __init__(self, lookups: Lookups, ontology: Ontology, catalogue: Catalogue, *, max_rows: int) -> None:
        self._lookups = lookups
        self._ontology = ontology
        self._catalogue = catalogue
        self._max_rows = max_rows
        self._tables: list[DomainTable] = []

    def answer(
        self, question: str, entities: Sequence[ResolvedEntity | str] | None, period: TimeRange | None
    ) -> DomainResults:
        """The tables of a question. Without `entities` (None), names are looked for in the question itself."""
        request = read_question(question, self._ontology)
        named: Sequence[ResolvedEntity | str] = candidate_names(question) if entities is None else entities
        with self._lookups.hurried():
            subjects, unknown = self._subjects(request, named)
            if not subjects and not unknown and not request.numbered:
                subjects = self._spelled(question)
        measured = self._measure(request, subjects, period)
        for row in subjects:
            self._describe(row, request, measured, period)
        if unknown and not subjects and (measured or request.types):
            names = ", ".join(map(repr, unknown))
            limits = "what follows is not limited to it" if measured else "nothing was looked up"
            self._note(f"the domain database has nothing named {names}; {limits}")
        if not (subjects or measured or unknown or request.numbered):
            for declared in request.types[:MAX_LISTED_TYPES]:
                filters = request.filter_words(declared.name)
                self._add(
                    self._lookups.list_table, declared, period=period, filters=filters, limit=self._max_rows
                )
        if self._tables:
            known = [*unknown, *(row.label for row in subjects), *([period.phrase] if period else [])]
            known += [entity if isinstance(entity, str) else entity.mention_text for entity in named]
            for sentence in unapplied_notes(question, self._ontology, known):
                self._note(sentence)
        return DomainResults(tables=tuple(self._tables[:MAX_TABLES]), notes=self.notes)

    # What the question is about -------------------------------------------------------------------

    def _subjects(
        self, request: Request, entities: Sequence[ResolvedEntity | str]
    ) -> tuple[list[FoundRow], list[str]]:
        """The rows a question is about, and the names in it that no row has."""
        subjects = {row.id: row for row in self.rows_numbered(request.numbered)}
        unknown = []
        for entity in entities[:MAX_SUBJECTS]:
            if isinstance(entity, ResolvedEntity) and entity.method is Resolution.FIRST_PERSON:
                continue
            rows = self.rows_of(entity)
            for row in rows:
                subjects.setdefault(row.id, row)
            if not rows:
                unknown.append(entity if isinstance(entity, str) else entity.mention_text)
        return list(subjects.values())[:MAX_SUBJECTS], unknown

    def _spelled(self, question: str) -> list[FoundRow]:
        """Rows whose whole label stands in the question, where nobody took it for a name."""
        names = spelled_names(question, self._ontology)
        rows: list[FoundRow] = []
        for declared in self._ontology.types.values():
            if names and declared.label:
                rows += self._attempt(self._lookups.by_labels, declared, names) or []
        return rows[:MAX_SUBJECTS]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out so far."""
        return tuple(self._lookups.notes)

    def rows_numbered(self, numbered: Sequence[NumberedRow]) -> list[FoundRow]:
        """The rows named by number; a note for each that is not there."""
        numbered_rows: list[FoundRow] = []
        for row in numbered:
            rows = self._attempt(self._lookups.by_number, row.type, row.number)
            if rows == []:
                self._note(f"there is no {row.type.name.replace('_', ' ')} {row.number!r}")
            numbered_rows += rows or []
        return numbered_rows

    def rows_related(self, row: FoundRow, relation: Relation, *, limit: int) -> list[FoundRow]:
        """The rows one relation leads to; none, and a note, when they can't be had."""
        return self._attempt(self._lookups.related, row.type, row.key, relation, limit=limit) or []

    def rows_of(self, entity: ResolvedEntity | str) -> list[FoundRow]:
        """The rows an entity stands for: by its ids, else by its name."""
        keys = (entity,) if isinstance(entity, str) else entity.keys
        names = (entity,) if isinstance(entity, str) else (entity.name, entity.mention_text)
        rows: list[FoundRow] = []
        for key in keys[:MAX_RIVALS]:
            parts = self._ontology.split_id(key)
            if parts is not None:
                row = self._attempt(self._lookups.by_key, *parts)
                rows += [row] if row is not None else []
        if rows or any(self._ontology.split_id(key) for key in keys):
            return rows
        for name in dict.fromkeys(name.strip() for name in names):
            rows, _ = self.rows_named(name)
            if len(rows) > 1:
                spelled = ", ".join(f"{row.label} ({row.id})" for row in rows)
                self._note(f"{name!r} may mean {len(rows)} rows: {spelled}")
            if rows:
                return rows
        return []

    def rows_named(self, name: str) -> tuple[list[FoundRow], bool]:
        """Rows of any type whose label is the name; else begins with it. And whether it was the whole label."""
        labelled = [declared for declared in self._ontology.types.values() if declared.label]
        for exact in (True, False):
            rows: list[FoundRow] = []
            for declared in labelled:
                rows += self._attempt(self._lookups.by_label, declared, name, exact=exact) or []
            if rows:
                return rows[:MAX_RIVALS], exact
        return [], False

    # What it wants to know ------------------------------------------------------------------------

    def _measure(
        self, request: Request, subjects: Sequence[FoundRow], period: TimeRange | None
    ) -> frozenset[str]:
        """Measures, of the rows the question is about where there is a way; gives the types measured."""
        measured = set()
        for measure in request.measures:
            measured.add(measure.measure.type)
            places: list[tuple[FoundRow | None, tuple[Relation, ...]]] = []
            for row in subjects:
                path = self._ontology.path(row.type.name, measure.measure.type)
                if path:
                    places.append((row, path))
            for subject, way in places or [(None, ())]:
                self._add(
                    self._lookups.measure_table,
                    measure.measure,
                    group_by=measure.group_by,
                    row=subject,
                    path=way,
                    period=period,
                    filters=request.filter_words(measure.measure.type),
                )
        return frozenset(measured)

    def _describe(
        self, row: FoundRow, request: Request, measured: frozenset[str], period: TimeRange | None
    ) -> None:
        """The row, and the rows it leads to: of the types that were named, else of all its relations."""
        self._add(self._lookups.row_table, row)
        named = [declared.name for declared in request.types if declared.name != row.type.name]
        paths = [path for name in named if (path := self._ontology.path(row.type.name, name))]
        named_types = bool(paths)
        if not named_types and not measured:
            paths = [(relation,) for relation in self._ontology.relations_from(row.type.name)]
        for path in paths:
            target = path[-1].to_type
            if target in measured:
                continue
            self._add(
                self._lookups.related_table,
                row,
                path,
                period=period,
                filters=request.filter_words(target),
                limit=self._max_rows if named_types else min(UNASKED_ROWS, self._max_rows),
            )

    # Going on -------------------------------------------------------------------------------------

    def _add(self, work: Callable[P, DomainTable | None], *args: P.args, **named: P.kwargs) -> None:
        if len(self._tables) < MAX_TABLES:
            table = self._attempt(work, *args, **named)
            if table is not None and table not in self._tables:
                self._tables.append(table)

    def _attempt(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
        """The result of a part, or a note why it has none; only a database that is gone ends the whole."""
        try:
            return work(*args, **named)
        except DomainFault as fault:
            if fault.kind == "unreachable":
                raise
            if fault.kind == "missing":
                self._catalogue.forget()
            self._note(str(fault))
            return None

    def _note(self, sentence: str) -> None:
        self._lookups.notes[sentence] = None
