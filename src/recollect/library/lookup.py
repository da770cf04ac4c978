"""Finding the sections that answer a question: by meaning and by words, over every passage the caller may see.

One statement compares the question with all visible passages (exactly: a store of 100,000 takes a tenth of a second)
and sums BM25 over their postings with the statistics of those passages; what the measures are worth is decided in
`score_passages`; a second statement fetches what the hits show. No model is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from recollect.domain.documents import PageSpan, pages_of
from recollect.domain.findings import Citation, span_hash
from recollect.domain.library import SectionHit, SectionResults
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name, check_text
from recollect.errors import InvalidInputError
from recollect.library.shelf import DOCUMENT, get_documents
from recollect.retrieval.rank.lexical import MAX_QUERY_TERMS
from recollect.retrieval.terms import query_terms
from recollect.storage import library, scopes
from recollect.storage.store import Row, Transaction
from recollect.workspace import Workspace

MAX_LIMIT = 200
#: Passages that each of the two ways of finding may bring.
_DENSE_LIMIT = 200
_LEXICAL_LIMIT = 200
_QUOTE_CHARS = 1_000
_MAX_QUERY_CHARS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One passage with what is known of it before it is ranked."""

    document_id: UUID
    section: int
    part: int
    number: int
    line_start: int
    line_end: int
    cosine: float
    bm25: float
    matched: int
    terms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A section's best passages, the best first, and its score from 0 to 1."""

    document_id: UUID
    section: int
    score: float
    passages: tuple[Candidate, ...]


async def search_sections(
    workspace: Workspace,
    context: TenantContext,
    query: str,
    *,
    documents: Sequence[str | UUID] | None = None,
    tags: Sequence[str] | None = None,
    limit: int = 10,
    min_score: float = 0.0,
) -> SectionResults:
    """The sections that answer a question best, each with its best lines; in these documents, or in all."""
    asked = check_text(query, what="query", limit=_MAX_QUERY_CHARS)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit {limit!r} is not a whole number from 1 to {MAX_LIMIT}")
    began = time.perf_counter()
    timings: dict[str, float] = {}
    words = list(query_terms(asked))[:MAX_QUERY_TERMS]
    async with workspace.store.transaction(context) as tx:
        caller = await scopes.describe_caller(tx)
        narrowed = await _narrow(tx, documents, tags)
        waiting = await tx.fetch("unready_documents")
    notes = _notes(waiting)
    if caller.space_id is None or narrowed == []:
        return SectionResults(hits=(), query=asked, notes=notes)
    opened = await workspace.open_space(context, caller.space_id)
    vector = await asyncio.to_thread(opened.embedder.embed_query, asked)
    timings["embed"] = _ms(began)
    started = time.perf_counter()
    async with workspace.store.transaction(context) as tx:
        rows = await library.fetch_passages(
            tx,
            vector,
            space_id=opened.space.id,
            terms=words,
            documents=narrowed,
            dense_limit=_DENSE_LIMIT,
            lexical_limit=_LEXICAL_LIMIT,
        )
        timings["candidates"] = _ms(started)
        scored = score_passages(asked, words, rows)
        best = [one for one in scored if one.score >= min_score][:limit]
        shown = await _show(tx, best)
    timings["total"] = _ms(began)
    return SectionResults(hits=tuple(shown), query=asked, notes=notes, timings_ms=timings)


async def _narrow(
    tx: Transaction, documents: Sequence[str | UUID] | None, tags: Sequence[str] | None
) -> list[UUID] | None:
    """The documents to look into; None for all that are visible."""
    if documents is None and not tags:
        return None
    if isinstance(tags, str):
        raise InvalidInputError(f"tags must be a list, not the string {tags!r}; write [{tags!r}]")
    wanted = [check_name(tag, what="tag") for tag in tags or ()]
    if documents is None:
        return [one.id for one in await library.find_documents(tx, tags=wanted)]
    found = await get_documents(tx, documents)
    return [one.id for one in found if set(wanted) <= set(one.tags)]


def _notes(waiting: Sequence[Row]) -> tuple[str, ...]:
    if not waiting:
        return ()
    named = ", ".join(row["name"] for row in waiting[:3]) + (", ..." if len(waiting) > 3 else "")
    return (f"{len(waiting)} documents are still being indexed and may be found in part: {named}",)


def score_passages(query: str, words: Sequence[str], rows: Sequence[Row]) -> list[Scored]:
    """The sections of the candidates by what the measures of their passages are worth, the best first."""
    candidates = [
        Candidate(
            document_id=row["document_id"],
            section=row["section"],
            part=row["part"],
            number=row["number"],
            line_start=row["line_start"],
            line_end=row["line_end"],
            cosine=row["cosine"],
            bm25=row["bm25"],
            matched=row["matched"],
            terms=row["terms"],
        )
        for row in rows
    ]
    if not candidates:
        return []
    most = max(one.bm25 for one in candidates) or 1.0
    scores = {id(one): 0.6 * max(one.cosine, 0.0) + 0.4 * one.bm25 / most for one in candidates}
    sections: dict[tuple[UUID, int], list[Candidate]] = {}
    for one in sorted(candidates, key=lambda c: (-scores[id(c)], c.document_id, c.section, c.part)):
        sections.setdefault((one.document_id, one.section), []).append(one)
    return [
        Scored(
            document_id=document,
            section=section,
            score=min(scores[id(found[0])], 1.0),
            passages=tuple(found),
        )
        for (document, section), found in sections.items()
    ]


async def _show(tx: Transaction, scored: Sequence[Scored]) -> list[SectionHit]:
    rows = await tx.fetch(
        "sections_to_show",
        ids=[one.document_id for one in scored],
        sections=[one.section for one in scored],
    )
    by_key = {(row["document_id"], row["section"]): row for row in rows}
    names = await _cited_names(tx, rows)
    hits = []
    for one in scored:
        row = by_key.get((one.document_id, one.section))
        if row is not None:
            hits.append(_hit(one, row, names[one.document_id]))
    return hits


async def _cited_names(tx: Transaction, rows: Sequence[Row]) -> dict[UUID, str]:
    """What each document is cited by: its name, or its id where a document of a nearer layer has the same name."""
    names = {row["document_id"]: row["name"] for row in rows}
    first: dict[str, UUID] = {}
    for document in await library.find_documents(tx, names=sorted(set(names.values()))):
        first.setdefault(document.name, document.id)
    return {id: name if first.get(name) == id else str(id) for id, name in names.items()}


def _hit(scored: Scored, row: Row, cited: str) -> SectionHit:
    best = scored.passages[0]
    first, last = best.line_start, best.line_end
    lines: list[str] = row["text"].split("\n")
    span = "\n".join(lines[first - row["line_start"] : last - row["line_start"] + 1])
    pages = pages_of(tuple(PageSpan.read(page) for page in row["pages"]), first, last)
    citation = Citation(
        kind=DOCUMENT,
        file_path=cited,
        line_start=first,
        line_end=last,
        content_hash=span_hash(span),
        quote=span[:_QUOTE_CHARS],
        pages=pages,
    )
    signals: dict[str, Any] = {"cosine": best.cosine, "bm25": best.bm25}
    return SectionHit(
        document=cited,
        title=row["title"],
        path=row["path"],
        score=scored.score,
        lines=(first, last),
        section_lines=(row["line_start"], row["line_end"]),
        pages=pages,
        quote=citation.quote,
        citation=citation,
        signals=signals,
    )


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000.0
