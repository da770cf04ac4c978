"""`map_memories`: one question put to every memory that the caller sees, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from recollect.domain.findings import Citation, CitationStatus, span_hash
from recollect.domain.layers import Layer, ScopeName
from recollect.domain.memory import Memory
from recollect.domain.rows import Column, Rows
from recollect.runs.environment import CallContext, Observation, Tool
from recollect.runs.match import Sentence, match_sentences
from recollect.runs.pieces import Piece
from recollect.runs.row_book import MapParameters, RowBook
from recollect.storage import reads, scopes
from recollect.storage.filters import Moment

if TYPE_CHECKING:
    from recollect.domain.tenancy import TenantContext
    from recollect.retrieval.request import SearchRequest
    from recollect.workspace import Workspace

#: How a citation says that it names a memory.
MEMORY = "memory"
_PAGE = 500


class MapMemories(MapParameters):
    """Parameters of `map_memories`."""

    layer: Layer | None = None
    scope: str = Field(default="", max_length=1_000, description="only of this scope, such as team/api")
    since: datetime | None = Field(default=None, description="only what was said from this moment on")
    until: datetime | None = Field(default=None, description="only what was said before this moment")


def cite_memory(id: object, text: str, *, supports: bool = False) -> Citation:
    """A memory as a whole."""
    return Citation(
        kind=MEMORY,
        file_path=str(id),
        line_start=0,
        line_end=0,
        content_hash=span_hash(text),
        quote=text,
        status=CitationStatus.QUOTED,
        supports=supports,
    )


async def read_memories(
    workspace: Workspace,
    context: TenantContext,
    wanted: MapMemories | None = None,
    request: SearchRequest | None = None,
) -> tuple[list[Memory], list[str]]:
    """The memories that the caller sees now, the newest first, and a note when there are more than may be read.

    Those that are `wanted`, of what a search's `request` looks at.
    """
    past, layers, scope = (request.as_of, request.layers, request.scope) if request else (None, None, None)
    since = until = None
    if wanted is not None:
        layers = layers if wanted.layer is None else (wanted.layer,)
        scope = ScopeName.parse(wanted.scope) if wanted.scope else scope
        since, until = wanted.since, wanted.until
    max_tokens = workspace.settings.budget.rows_max_tokens
    memories: list[Memory] = []
    read, listed, cursor = 0, 0, None
    async with workspace.store.transaction(context) as tx:
        await scopes.describe_caller(tx)
        place = None if scope is None else await scopes.get_scope(tx, scope)
        chosen = reads.Selection(
            scopes=None if place is None else [place["scope_id"]],
            layers=layers,
            types=request.types if request is not None else None,
            filters=request.filters if request is not None else None,
            moment=Moment.as_of(past) if past else Moment.now(workspace.clock()),
        )
        while True:
            page = await reads.list_memories(tx, chosen, limit=_PAGE, cursor=cursor)
            listed += len(page.items)
            for memory in page.items:
                at = memory.valid_from or memory.created_at
                if (since and at < since) or (until and at >= until):
                    continue
                memories.append(memory)
                read += len(memory.text) // 4 + 1
            cursor = page.next_cursor
            if cursor is None:
                return memories, []
            if read > max_tokens:
                left = await reads.count_memories(tx, chosen) - listed
                return memories, [f"{left:,} older memories were not read (rows_max_tokens)"]


def pieces_of(memories: Sequence[Memory]) -> list[Piece]:
    """Each memory a piece, with who said it, when and where it lives before it; turns as they followed each other."""
    talks: dict[object, list[Memory]] = {}
    for memory in memories:
        talks.setdefault(
            (memory.scope, memory.conversation) if memory.conversation else memory.id, []
        ).append(memory)
    return [
        _piece(turn)
        for talk in talks.values()
        for turn in sorted(talk, key=lambda memory: memory.position or 0)
    ]


def _piece(memory: Memory) -> Piece:
    about = [f"{memory.valid_from or memory.created_at:%Y-%m-%d}", memory.scope, memory.speaker or ""]

    def cite(first: int, last: int) -> Citation:
        return cite_memory(memory.id, memory.text)

    return Piece(
        unit=str(memory.id),
        label=", ".join(filter(None, about)),
        lines=tuple(memory.text.split("\n")),
        cite=cite,
    )


def match_memories(question: str, columns: Sequence[Column], pieces: Sequence[Piece]) -> Rows:
    """Rows without a model: the memories that hold the question's words."""

    def whole(lines: Sequence[str]) -> list[Sentence]:
        text = " ".join(lines)
        return [(text, 1, len(lines), text)]

    return match_sentences(question, columns, pieces, whole)


def memory_row_tools(
    book: RowBook,
    read: Callable[[MapMemories], Awaitable[tuple[list[Memory], list[str]]]],
    keep: Callable[[Sequence[Memory]], None],
) -> list[Tool]:
    """`map_memories` and `query_rows`. `read` gives memories and notes; `keep` takes those that rows were found in."""

    async def map_memories(wanted: MapMemories, call: CallContext) -> Observation:
        memories, notes = await read(wanted)
        seen = await book.map(
            wanted, pieces_of(memories), call, what="memories", match=match_memories, missing=notes
        )
        cited = {citation.file_path for finding in seen.findings for citation in finding.citations}
        keep([memory for memory in memories if str(memory.id) in cited])
        return seen

    return book.tools(
        "map_memories",
        "Put a question to every memory, not only to the nearest, and get what each holds as typed rows with "
        "quotes. For questions that want all of something or how many.",
        MapMemories,
        map_memories,
    )
