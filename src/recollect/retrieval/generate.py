"""Second stage: the candidates.

The best by words are looked up while the question is still being embedded; then one statement adds the nearest by
vector, what the question's entities, time and type lead to, and the turns around the best, and measures every
candidate in every way, so that ranking never guesses a missing measure. Which of them matter is decided in `rank/`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect.domain.names import entity_key
from recollect.domain.ontology import RelatedEntity
from recollect.domain.query import Understanding
from recollect.domaindb.answers import unapplied_notes
from recollect.domaindb.database import DomainDatabase
from recollect.retrieval.look import Stopwatch
from recollect.retrieval.rank import Calibration, Pool, calibration_for, links_between
from recollect.retrieval.rank.calibration import PROBES, UNKNOWN, measured
from recollect.storage.grouped import Grouping, fetch_grouped
from recollect.storage.scopes import Caller
from recollect.storage.search import (
    Conditions,
    DenseRequest,
    LexicalMatches,
    Sources,
    TermCounts,
    fetch_candidates,
    fetch_lexical,
    fetch_linked,
)
from recollect.storage.spaces import Space
from recollect.storage.store import Transaction
from recollect.workspace import OpenSpace

#: More names would look up memories that have little to do with the question any more.
MAX_KEYS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The keys of entities to look for, the named ones first, and what went wrong on the way.

    `relations` says of a key that the ontology led to whose it is: "order 12345 of Acme Corporation".
    """

    keys: tuple[str, ...]
    relations: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def expand(database: DomainDatabase | None, asked: Understanding) -> Expanded:
    """Every key under which memories may speak of what the question is about."""
    named = asked.entity_keys
    if database is None or not named:
        return Expanded(keys=named)
    expansion = await database.expand(asked.entities)
    owners = {key: entity.name for entity in asked.entities for key in entity.keys}
    relations = {
        key: f"{entity.type} {entity.label} of {owners.get(entity.source, entity.source)}"
        for entity in expansion.related
        for key in spoken_keys(entity)
    }
    keys = tuple(dict.fromkeys([*named, *expansion.ids, *relations]))[:MAX_KEYS]
    notes = expansion.notes
    if relations:
        known = [entity.mention_text for entity in asked.entities]
        known += [asked.time_range.phrase] if asked.time_range else []
        notes += tuple(unapplied_notes(asked.query, database.ontology, known))
    return Expanded(keys=keys, relations=relations, notes=notes)


def spoken_keys(entity: RelatedEntity) -> tuple[str, ...]:
    """How texts name a row: "order:12345", "order 12345", "#12345", or by its label."""
    number = entity.id.partition(":")[2]
    names = [entity.label, f"{entity.type} {entity.label}", f"{entity.type} {number}"]
    return tuple(dict.fromkeys([entity.id, *(entity_key(name) for name in names)]))


#: How many of each source; with neighbours that makes a hundred to two hundred. Three hundred of each change
#: recall by less than the noise, and every candidate costs two look-ups.
LEXICAL = 50
DENSE = 50
#: How many of the best of each source bring their neighbours along, and how far those may be.
ANCHORS = 25
REACH = 2
#: Of each group, so many by vector and so many by words; and how many postings may find them. A team's one memory
#: about a topic stands behind thousands of others' on common words, so the budget is ten times that of one search.
PER_GROUP = 4
GROUPED_POSTINGS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for, where, and how many at least."""

    understanding: Understanding
    expanding: Awaitable[Expanded]
    conditions: Conditions
    space: Space
    breadth: int | None
    limit: int
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The pool of a question, and what is needed to look further from it."""

    pool: Pool
    rows: Sequence[Any]
    matches: LexicalMatches
    dense: DenseRequest
    expanded: Expanded


async def generate(
    tx: Transaction,
    caller: Caller,
    wanted: Wanted,
    *,
    counts: TermCounts,
    vector: Awaitable[NDArray[np.float32]],
    watch: Stopwatch,
) -> Generated:
    """The candidate pool of one query. `vector` and the expansion of entities may still be on their way."""
    asked = wanted.understanding
    with watch.stage("generate"):
        matches = await fetch_lexical(
            tx,
            caller,
            asked.terms if "lexical" not in wanted.without else (),
            wanted.conditions,
            limit=max(LEXICAL, 2 * wanted.limit),
            counts=counts,
        )
    with watch.stage("embed"):
        # Only the waiting: the rest of it was hidden behind the stages before.
        embedded = await vector
    with watch.stage("expand"):
        expanded = await wanted.expanding
    with watch.stage("generate"):
        dense = DenseRequest(
            vector=embedded,
            space_id=wanted.space.id,
            dimensions=wanted.space.dimensions,
            breadth=wanted.breadth,
            limit=max(DENSE, 2 * wanted.limit),
            anchors=ANCHORS if "neighbours" not in wanted.without else 0,
            reach=REACH,
        )
        sources = _sources(wanted, expanded.keys)
        rows = await fetch_candidates(tx, caller, matches, dense, wanted.conditions, sources)
        return Generated(
            pool=to_pool(rows, matches),
            rows=rows,
            matches=matches,
            dense=dense,
            expanded=expanded,
        )


async def generate_grouped(
    tx: Transaction,
    caller: Caller,
    wanted: Wanted,
    grouping: Grouping,
    *,
    counts: TermCounts,
    vector: Awaitable[NDArray[np.float32]],
    watch: Stopwatch,
) -> Pool:
    """The candidate pool of a question put to many groups of scopes: the best of each."""
    with watch.stage("generate"):
        matches = await fetch_lexical(
            tx,
            caller,
            wanted.understanding.terms if "lexical" not in wanted.without else (),
            wanted.conditions,
            limit=1,
            counts=counts,
            posting_budget=GROUPED_POSTINGS,
        )
    with watch.stage("embed"):
        embedded = await vector
    with watch.stage("expand"):
        await wanted.expanding
    with watch.stage("generate"):
        dense = DenseRequest(
            vector=embedded,
            space_id=wanted.space.id,
            dimensions=wanted.space.dimensions,
            breadth=wanted.breadth,
            limit=max(PER_GROUP, -(-2 * wanted.limit // max(len(grouping), 1))),
            anchors=0,
            reach=0,
        )
        rows = await fetch_grouped(tx, caller, matches, dense, wanted.conditions, grouping)
        return to_pool(rows, matches)


async def follow_links(
    tx: Transaction,
    caller: Caller,
    wanted: Wanted,
    generated: Generated,
    hits: Sequence[UUID],
    *,
    answers: Sequence[UUID] = (),
) -> Pool | None:
    """The pool with what the best hits lead to by the entities they name; None when that is nowhere.

    `answers` lead to what was said later and may replace them.
    """
    linked = await fetch_linked(
        tx,
        caller,
        hits,
        generated.matches,
        generated.dense,
        wanted.conditions,
        generated.expanded.keys,
        answers=answers,
    )
    if not linked:
        return None
    edges = [
        (hit, row.memory_id, given, others)
        for row in linked
        if row.link_hits is not None
        for hit, given, others in zip(row.link_hits, row.link_given, row.link_others, strict=True)
    ]
    apart = {row.memory_id: row.later_distance for row in linked if row.later_distance is not None}
    known = set(generated.pool.ids)
    rows = [
        row._replace(sources=[*(row.sources or ()), "later"]) if row.memory_id in apart else row
        for row in generated.rows
    ]
    rows += [row for row in linked if row.memory_id not in known]
    ids = [row.memory_id for row in rows]
    return replace(
        to_pool(rows, generated.matches),
        links=links_between(ids, edges),
        replacing=np.array([1.0 - apart.get(id, np.nan) for id in ids]),
    )


def _sources(wanted: Wanted, entities: Sequence[str]) -> Sources:
    """Which other sources this question asks; `without` leaves some out, to measure what they are worth."""
    asked = wanted.understanding
    return Sources(
        entities=entities if "entity" not in wanted.without else (),
        time_range=asked.time_range.widened()
        if asked.time_range and "temporal" not in wanted.without
        else None,
        procedures=asked.type.procedural and "type" not in wanted.without,
        summaries="summary" not in wanted.without,
    )


def to_pool(rows: Sequence[Any], matches: LexicalMatches) -> Pool:
    """Rows as columns. Linked rows tell more than others, and tell it last; a column is what all of them tell."""
    column: Mapping[str, tuple[Any, ...]] = defaultdict(tuple)
    if rows:
        column = dict(zip(rows[0]._fields, zip(*rows, strict=False), strict=False))
    # By number: hashing an id itself is a call of Python's, and there are hundreds.
    by_words = {id.int for id in matches.ids}
    return Pool(
        ids=column["memory_id"],
        cosine=1.0 - np.array(column["distance"], dtype=np.float64),
        bm25=np.array(column["bm25"], dtype=np.float64),
        matched=np.array(column["matched"], dtype=np.int64),
        idf=np.array(matches.idf, dtype=np.float64),
        conversation=column["conversation_id"],
        position=np.array([-1 if place is None else place for place in column["position"]], dtype=np.int64),
        speaker=column["speaker"],
        layer=np.array(column["layer"], dtype=np.int64),
        importance=np.array(column["importance"], dtype=np.float64),
        created_at=column["created_at"],
        digest=column["digest"],
        about=np.array([about or 0.0 for about in column["about"]], dtype=np.float64),
        event_at=column["event_at"],
        type=column["type"],
        use_count=np.array(column["use_count"], dtype=np.int64),
        utility=np.array(column["utility"], dtype=np.float64),
        scope=column["scope_id"],
        author=column["author"],
        sources=[
            (*_FOUND[by_dense, id.int in by_words], *sorted(sources or ())) or ("neighbours",)
            for id, by_dense, sources in zip(
                column["memory_id"], column["by_dense"], column["sources"], strict=True
            )
        ],
    )


_FOUND: Mapping[tuple[bool, bool], tuple[str, ...]] = {
    (True, True): ("semantic", "lexical"),
    (True, False): ("semantic",),
    (False, True): ("lexical",),
    (False, False): (),
}

#: By fingerprint: an embedder nobody tried on real data is measured once per process.
_measured: dict[str, Calibration] = {}


async def calibration_of(opened: OpenSpace) -> Calibration:
    """How the embedder's cosines read; an unknown one is asked a few questions whose answers are known."""
    known = calibration_for(opened.space.name)
    if known is not UNKNOWN:
        return known
    if opened.space.fingerprint not in _measured:
        embedder = opened.embedder
        questions = await asyncio.to_thread(
            lambda: [embedder.embed_query(question) for question, _ in PROBES]
        )
        notes = await asyncio.to_thread(embedder.embed, [note for _, note in PROBES])
        _measured[opened.space.fingerprint] = measured(np.array(questions), np.asarray(notes))
    return _measured[opened.space.fingerprint]
