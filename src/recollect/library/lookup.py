"""Finding the sections that answer a question: by meaning and by words, over every passage the caller may see.

One statement compares the question with all visible passages (exactly: a store of 100,000 takes a tenth of a second)
and sums BM25 over their postings with the statistics of those passages; what the measures are worth is decided in
`ranking.py`; a second statement fetches what the best sections show. The judge then reads those and has a say in
their order and in whether they answer (`verdicts.py`). No language model is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect.domain.findings import Citation, span_hash
from recollect.domain.library import PATH_SEPARATOR, PageSpan, SectionHit, SectionResults, pages_of
from recollect.domain.tenancy import TenantContext
from recollect.domain.text import check_name, check_text, check_whole
from recollect.errors import InvalidInputError
from recollect.library.prose import Asked, answer_of, passage_of, read_asked
from recollect.library.ranking import (
    CITED_SECTIONS,
    POOL_PASSAGES,
    Pool,
    comparable,
    covered,
    rank_sections,
    sureness,
)
from recollect.library.shelf import DOCUMENT, get_documents
from recollect.library.verdicts import READ_SECTIONS, Candidate, Place, decide, read_verdicts
from recollect.retrieval.generate import calibration_of
from recollect.retrieval.rank.calibration import MINILM, Calibration
from recollect.retrieval.rank.pool import inverse_frequency
from recollect.storage import library, scopes
from recollect.storage.store import Row, Transaction
from recollect.workspace import Workspace

MAX_LIMIT = 200
#: A book, not a page: its parts are read apart.
_LONG_DOCUMENT_TOKENS = 50_000
#: In fewer, words that anybody uses are missing. In two manuals of 42,000 no word of 39 questions is that begin with
#: "how do I" and are answered, and words of 29 among 37 about other products are, "flexbox" and "rebase" too.
_MANY_PASSAGES = 10_000
#: Of the question's words, by weight; a word of the title alone is in every passage of a document.
_ENOUGH_WORDS = 0.34
_QUOTE_CHARS = 1_000
_MAX_QUERY_CHARS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Candidate):
    """A section that was found, and the rows of its passages that speak for it, the strongest first."""

    document_id: UUID
    section: int
    passages: tuple[Row, ...]
    reasons: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The sections that come nearest to a question, the best first, and how surely they answer before judging."""

    found: tuple[Found, ...] = ()
    sureness: float = 0.0
    spelled_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where sections are looked for: the caller's space, the documents (None for all), and what is not ready there."""

    space_id: int | None
    documents: list[UUID] | None
    notes: tuple[str, ...]


async def read_ground(
    workspace: Workspace,
    context: TenantContext,
    documents: Sequence[str | UUID] | None = None,
    tags: Sequence[str] | None = None,
) -> Ground:
    """Where to look for who asks; an unknown document is an error."""
    async with workspace.store.transaction(context) as tx:
        caller = await scopes.describe_caller(tx)
        narrowed = await _narrow(tx, documents, tags)
        waiting = await tx.fetch("unready_documents")
    return Ground(space_id=caller.space_id, documents=narrowed, notes=tuple(_notes(waiting)))


async def search_sections(
    workspace: Workspace,
    context: TenantContext,
    query: str,
    *,
    documents: Sequence[str | UUID] | None = None,
    tags: Sequence[str] | None = None,
    limit: int = 10,
    ground: Ground | None = None,
) -> SectionResults:
    """The sections that answer a question best, each with its best lines; in these documents, or in all.

    Who looks for several questions reads the `ground` once.
    """
    text = check_text(query, what="query", limit=_MAX_QUERY_CHARS)
    check_whole("limit", limit, most=MAX_LIMIT)
    began = time.perf_counter()
    timings: dict[str, float] = {}
    asked = read_asked(text)
    ground = ground or await read_ground(workspace, context, documents, tags)
    notes = list(ground.notes)
    if ground.space_id is None or ground.documents == []:
        return SectionResults(hits=(), query=text, notes=ground.notes)
    opened = await workspace.open_space(context, ground.space_id)
    vector = await asyncio.to_thread(opened.embedder.embed_query, text)
    calibration = (await calibration_of(opened)).for_query(text)
    timings["embed"] = _ms(began)
    started = time.perf_counter()
    async with workspace.store.transaction(context) as tx:
        rows = await library.fetch_passages(
            tx,
            vector,
            space_id=opened.space.id,
            terms=asked.terms,
            documents=ground.documents,
            dense_limit=POOL_PASSAGES,
            lexical_limit=POOL_PASSAGES,
        )
        timings["candidates"] = _ms(started)
        look = look_through(asked, rows, calibration=calibration, limit=max(limit, READ_SECTIONS))
        shown = await _show(tx, look.found, text)
    hits = [hit for _, hit in shown]
    started = time.perf_counter()
    verdicts = await _judge(workspace, text, hits[:READ_SECTIONS], notes)
    timings["judge"] = _ms(started)
    places, answered = decide(
        [one for one, _ in shown],
        sureness=look.sureness,
        spelled_out=look.spelled_out,
        verdicts=verdicts,
    )
    placed = [_placed(hits[place.candidate], place, verdicts) for place in places]
    timings["total"] = _ms(began)
    return SectionResults(
        hits=tuple(placed[:limit]), query=text, answered=answered, notes=tuple(notes), timings_ms=timings
    )


async def _judge(
    workspace: Workspace, question: str, hits: Sequence[SectionHit], notes: list[str]
) -> NDArray[np.float64] | None:
    """What the judge says of these places; None without one, and a note says why there is none."""
    judge = await workspace.judge() if hits else None
    if judge is None:
        if workspace.judge_fault is not None:
            notes.append(f"scores say how near a section is, not whether it answers: {workspace.judge_fault}")
        return None
    places = [(hit.path.rpartition(PATH_SEPARATOR)[2] or hit.title, hit.text) for hit in hits]
    return await asyncio.to_thread(read_verdicts, judge, question, places)


def _placed(hit: SectionHit, place: Place, verdicts: NDArray[np.float64] | None) -> SectionHit:
    """The hit with its score, and what the judge says of it."""
    signals = dict(hit.signals)
    if verdicts is not None and place.candidate < len(verdicts):
        signals["verdict"] = float(verdicts[place.candidate])
    citation = replace(hit.citation, supports=place.supports)
    return replace(hit, score=place.score, citation=citation, signals=signals)


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
        return [document.id for document in await library.find_documents(tx, tags=wanted)]
    found = await get_documents(tx, documents)
    return [one.id for one in found if set(wanted) <= set(one.tags)]


def _notes(waiting: Sequence[Row]) -> list[str]:
    if not waiting:
        return []
    named = ", ".join(row["name"] for row in waiting[:3]) + (", ..." if len(waiting) > 3 else "")
    return [f"{len(waiting)} documents are still being indexed and may be found in part: {named}"]


def look_through(asked: Asked, rows: Sequence[Row], *, calibration: Calibration, limit: int) -> Look:
    """The sections of the passages that were fetched, the best first."""
    asked = _with_tools(asked, rows)
    keys = [(row["document_id"], row["section"]) for row in rows]
    pool = _pool(asked, rows, keys)
    ranked = rank_sections(pool, asked, calibration=calibration, limit=limit)
    if not ranked:
        return Look()
    related = _related(pool, calibration)
    founds = [
        Found(
            document_id=keys[one.passages[0]][0],
            section=keys[one.passages[0]][1],
            relevance=one.relevance,
            passages=tuple(rows[row] for row in one.passages),
            reasons=one.reasons,
            related=bool(related[list(one.passages)].any()),
        )
        for one in ranked
    ]
    return Look(
        found=tuple(founds),
        sureness=sureness(ranked, pool, asked, calibration=calibration),
        spelled_out=_spelled_out(asked, [row for one in founds[:CITED_SECTIONS] for row in one.passages]),
    )


def _with_tools(asked: Asked, rows: Sequence[Row]) -> Asked:
    """The question with what no passage has among its names: who asks how to do a thing names the tool for it."""
    if not asked.how_to or not rows or rows[0]["passages"] < _MANY_PASSAGES:
        return asked
    # Words that are joined ("two-way") may be new together.
    unknown = {term for term, df in zip(asked.terms, rows[0]["df"], strict=True) if not df and term.isalnum()}
    return replace(asked, names=asked.names | unknown)


def _related(pool: Pool, calibration: Calibration) -> NDArray[np.bool_]:
    """Which passages are nearer to the question than what is about something else, or have enough of its words."""
    near: NDArray[np.bool_] = comparable(pool.cosine, calibration) >= (MINILM.floor or 0.0)
    total = float(pool.idf.sum())
    return np.logical_or(near, covered(pool) >= _ENOUGH_WORDS * total) if total else near


def _spelled_out(asked: Asked, rows: Sequence[Row]) -> bool:
    """Whether one passage has every word of the question, and there is more than one."""
    whole = (1 << len(asked.terms)) - 1
    return len(asked.terms) > 1 and any(row["matched"] == whole for row in rows)


def _pool(asked: Asked, rows: Sequence[Row], keys: Sequence[tuple[UUID, int]]) -> Pool:
    sections = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    pages = {page: number for number, page in enumerate(dict.fromkeys(_page(row) for row in rows))}
    count = rows[0]["passages"] if rows else 0
    frequencies = rows[0]["df"] if rows else [0] * len(asked.terms)
    return Pool(
        sections=np.array([sections[key] for key in keys], dtype=np.int64),
        pages=np.array([pages[_page(row)] for row in rows], dtype=np.int64),
        cosine=np.array([row["cosine"] for row in rows], dtype=np.float64),
        bm25=np.array([row["bm25"] for row in rows], dtype=np.float64),
        matched=np.array([row["matched"] for row in rows], dtype=np.int64),
        idf=np.array([inverse_frequency(df, max(count, df)) for df in frequencies], dtype=np.float64),
        texts=[row["text"] for row in rows],
    )


def _page(row: Row) -> tuple[UUID, str]:
    """What is read together: the document, or in a long one the part under its second heading from above."""
    if row["document_tokens"] < _LONG_DOCUMENT_TOKENS:
        return row["document_id"], ""
    return row["document_id"], PATH_SEPARATOR.join(row["path"].split(PATH_SEPARATOR)[:2])


async def _show(tx: Transaction, found: Sequence[Found], query: str) -> list[tuple[Found, SectionHit]]:
    """What sections show, in their order; one that is gone by now is left out. Scores come later."""
    rows = await tx.fetch(
        "sections_to_show",
        ids=[one.document_id for one in found],
        sections=[one.section for one in found],
    )
    by_key = {(row["document_id"], row["section"]): row for row in rows}
    return [
        (one, _hit(one, row, query))
        for one in found
        if (row := by_key.get((one.document_id, one.section))) is not None
    ]


def _read_out(query: str, lines: Sequence[str], first: int, last: int) -> str:
    """What lines of a section say about a question, in whole sentences."""
    return answer_of(query, passage_of(lines, first, last)[2])


def _hit(found: Found, row: Row, query: str) -> SectionHit:
    best = found.passages[0]
    # Cited by its name, or by its id where a document of a nearer layer has the same name.
    cited = row["name"] if row["is_nearest"] else str(row["document_id"])
    first, last = best["line_start"], best["line_end"]
    lines: list[str] = row["text"].split("\n")
    span = "\n".join(lines[first - row["line_start"] : last - row["line_start"] + 1])
    spans = tuple(PageSpan.read(page) for page in row["pages"])
    pages = pages_of(spans, first, last) if spans else None
    citation = Citation(
        kind=DOCUMENT,
        file_path=cited,
        line_start=first,
        line_end=last,
        content_hash=span_hash(span),
        quote=span[:_QUOTE_CHARS],
        pages=pages,
    )
    return SectionHit(
        document=cited,
        title=row["title"],
        path=row["path"],
        score=0.0,
        lines=(first, last),
        section_lines=(row["line_start"], row["line_end"]),
        pages=pages,
        quote=citation.quote,
        citation=citation,
        text=_read_out(query, lines, first - row["line_start"] + 1, last - row["line_start"] + 1),
        signals={"cosine": best["cosine"], **found.reasons},
    )


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000.0
