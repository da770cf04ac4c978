"""The tools over documents, from `list_documents` to `request_capability`.

One environment serves one consultation and its follow-ups. Everything that is read names its lines in `spans` of the
observation's value, so that the record of a run says what was read, also when the answer came from the cache. With a
model `query_subset` and `summarize` ask it; without one they give the lines that answer. What a planner without a model
may choose from is `leads.py`; naming a part of it is in `material.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.domain.findings import Finding
from recollect.errors import InvalidInputError, ModelError
from recollect.library.extract import answering_lines, rank, summary_lines
from recollect.library.leads import Leads, propose
from recollect.library.material import (
    EVERYTHING,
    Lead,
    Material,
    Volume,
    get_sections,
    parse_reference,
    spans_of,
)
from recollect.library.passages import (
    MAX_TEXT_CHARS,
    Part,
    chunks_by_size,
    cut,
    joined,
    lines_of,
    locate_in,
    only,
    spans_in,
)
from recollect.library.row_tools import row_tools
from recollect.library.tools import (
    ChunkBySize,
    ChunkByStructure,
    GetSection,
    ListDocuments,
    QuerySubset,
    ReadDocument,
    RequestCapability,
    SearchPattern,
    Summarize,
    list_documents,
    read_document,
    search_pattern,
)
from recollect.runs.environment import Action, CallContext, Observation, Tool
from recollect.runs.fences import read_prompt
from recollect.runs.readings import ask_about, without_model, worst_reading
from recollect.runs.row_book import RowBook

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel

_MAX_CHUNKS = 400
#: Passages that a look gives, and that a section offers without a model.
_LOOKS = 10
_MOST_LOOKS = 60
_OFFERED = 3
#: Passages of one observation that a planner with a model may quote from.
_QUOTABLE = 120


class LibraryEnvironment:
    """Documents and files, for one consultation.

    `leads` are what a first look found: a planner without a model begins with them. `quotable` offers whole
    observations as findings, for a planner that says itself what matters. `room_chars` is what one call gives back, as
    the planner's window goes; `max_rows_tokens` what one question to every section reads. `book` has the tables that
    such questions made. `named`: somebody chose the material, so a question that wants all is put to all of it.
    """

    name = "library"

    def __init__(
        self,
        material: Material,
        *,
        leads: Leads | None = None,
        model: ChatModel | None = None,
        quotable: bool = False,
        room_chars: int = MAX_TEXT_CHARS,
        max_rows_tokens: int | None = None,
        named: bool = False,
        on_capability: Callable[[str, Mapping[str, Any]], None] | None = None,
    ) -> None:
        self._material = material
        self._leads = leads or Leads()
        self._model = model
        self._quotable = quotable
        self._room_chars = max(room_chars, MAX_TEXT_CHARS)
        self._on_capability = on_capability
        self._max_rows_tokens, self._named = max_rows_tokens, named
        self.book = RowBook(model=model, room_chars=self._room_chars, max_tokens=max_rows_tokens)
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in self._make_tools()}

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        """Of the document that a call reads, or of all of them; of the model too, where one answers."""
        entries = self._material.entries
        doc_id = str(parameters.get("doc_id") or "")
        if not doc_id:
            named = parse_reference(str(parameters.get("content", "")), entries)
            doc_id = named.doc_id if named else ""
        read = [entries[doc_id]] if doc_id in entries else list(entries.values())
        model = self._model.name if self._model and tool in ("query_subset", "summarize") else ""
        parts = [
            model,
            f"{self._quotable} {self._room_chars}",
            *sorted(f"{entry.doc_id}\0{entry.digest}" for entry in read),
        ]
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def actions(self, query: str, depth: int, step: int) -> Sequence[Action]:
        """What a planner without a model can choose from now."""
        return propose(
            self._leads,
            query,
            step=step,
            threshold=self._material.threshold,
            named=self._named,
            model=self._model is not None,
        )

    # ---------------------------------------------------------------- the tools

    def _make_tools(self) -> list[Tool]:
        asks = self._model is not None
        worst = (lambda wanted: worst_reading(self._model)) if asks else None
        # The text, its record and what stands around either.
        most = 2 * self._room_chars + 10_000
        tools = [
            Tool(
                "list_documents",
                "The documents there are: id, size, title.",
                ListDocuments,
                self._list_documents,
            ),
            Tool(
                "read_document",
                "A whole document, or a range of its lines, numbered.",
                ReadDocument,
                self._read_document,
            ),
            Tool(
                "search_pattern",
                "Lines that match a regular expression, in one document, some, or all.",
                SearchPattern,
                self._search_pattern,
            ),
            Tool(
                "get_section", "The text of a section and of those below it.", GetSection, self._get_section
            ),
            Tool(
                "chunk_by_size",
                "Cut a document into pieces of at most so many tokens; gives their lines.",
                ChunkBySize,
                self._chunk_by_size,
            ),
            Tool(
                "chunk_by_structure",
                "The sections of a document, with their paths, lines and sizes.",
                ChunkByStructure,
                self._chunk_by_structure,
            ),
            Tool(
                "query_subset",
                "Answer a question from a part of the documents.",
                QuerySubset,
                self._query_subset,
                model_call=asks,
                worst=worst,
            ),
            Tool(
                "summarize",
                "Say in short what a part of the documents says.",
                Summarize,
                self._summarize,
                model_call=asks,
                worst=worst,
            ),
            *row_tools(self._material, self.book, self._resolve, self._max_rows_tokens),
            Tool(
                "request_capability",
                "Say what is missing to answer: a tool, or a document that could not be read.",
                RequestCapability,
                self._request_capability,
                cacheable=False,
            ),
        ]
        return [replace(tool, max_output_chars=max(tool.max_output_chars, most)) for tool in tools]

    async def _list_documents(self, wanted: ListDocuments, call: CallContext) -> Observation:
        return await list_documents(self._material, wanted, self._room_chars)

    async def _read_document(self, wanted: ReadDocument, call: CallContext) -> Observation:
        observation, parts = await read_document(self._material, wanted, self._room_chars)
        return replace(observation, findings=self._offer(parts, call.query))

    async def _search_pattern(self, wanted: SearchPattern, call: CallContext) -> Observation:
        return await search_pattern(
            self._material,
            wanted,
            self._room_chars,
            confidence=self._leads.around,
            offered=None if self._quotable else _OFFERED,
        )

    async def _get_section(self, wanted: GetSection, call: CallContext) -> Observation:
        volume = await self._material.open(wanted.doc_id)
        sections = get_sections(volume, wanted.section_path)
        spans = spans_of(sections)
        text, read = cut(volume, spans, room_chars=self._room_chars)
        below = [section.path for section in sections[1:]]
        return Observation(
            value={
                "doc_id": volume.doc_id,
                "path": sections[0].path,
                "below": below[:50],
                "spans": spans_in(read),
                "text": text,
            },
            text=f"{volume.doc_id} # {sections[0].path} {lines_of(read)}\n{text}",
            tokens=len(text) // 4,
            findings=self._offer(read, call.query),
        )

    async def _chunk_by_size(self, wanted: ChunkBySize, call: CallContext) -> Observation:
        volume = await self._material.open(wanted.doc_id)
        chunks = chunks_by_size(volume, max_tokens=wanted.max_tokens)
        rows = [
            {
                "content": f"{volume.doc_id}:{first}-{last}",
                "tokens": tokens,
                "section": section.path if (section := volume.section_at(first)) else "",
                "begins": " ".join(volume.lines[first - 1].split())[:80],
            }
            for first, last, tokens in chunks[:_MAX_CHUNKS]
        ]
        listed = "\n".join(f"{row['content']} ({row['tokens']} tokens) {row['section']}" for row in rows)
        left = f"\n... {len(chunks) - len(rows)} more; take larger pieces" if len(chunks) > len(rows) else ""
        return Observation(
            value={"doc_id": volume.doc_id, "chunks": rows, "total": len(chunks), "spans": []},
            text=f"{len(chunks)} pieces; read one with query_subset or summarize\n{listed}{left}",
        )

    async def _chunk_by_structure(self, wanted: ChunkByStructure, call: CallContext) -> Observation:
        volume = await self._material.open(wanted.doc_id)
        rows: list[dict[str, Any]] = [
            {"path": section.path, "lines": [section.line_start, section.line_end], "level": section.level}
            for section in volume.sections[:_MAX_CHUNKS]
        ]
        listed = "\n".join(f"{row['path']} (lines {row['lines'][0]}-{row['lines'][1]})" for row in rows)
        rest = len(volume.sections) - len(rows)
        left = f"\n... {rest} more; use search_pattern to find the right one" if rest > 0 else ""
        return Observation(
            value={"doc_id": volume.doc_id, "sections": rows, "total": len(volume.sections), "spans": []},
            text=f"{len(volume.sections)} sections of {volume.doc_id!r} ({volume.title})\n{listed}{left}",
        )

    async def _query_subset(self, wanted: QuerySubset, call: CallContext) -> Observation:
        content = wanted.content.strip()
        whole = content in self._material.entries and self._model is not None and self._fits(content)
        if content == EVERYTHING or (content in self._material.entries and not whole):
            leads = await self._look(wanted.question, content, call)
            named = dict.fromkeys(lead.doc_id for lead in leads)
            volumes = {doc_id: await self._material.open(doc_id) for doc_id in named}
            parts = [(volumes[lead.doc_id], lead) for lead in leads]
        else:
            resolved = await self._resolve(content)
            if resolved is None:
                return await self._query_text(call, content, wanted.question)
            volume, spans = resolved
            if self._model is not None:
                # Read whole, so the model does not depend on what was picked for it.
                text, read = cut(volume, spans, room_chars=self._part_chars())
                return await self._ask(call, wanted.question, read, text)
            leads = rank(wanted.question, [only(volume, spans)], limit=_LOOKS)
            parts = [(volume, lead) for lead in leads]
        if self._model is not None and parts:
            chosen = [(volume, lead.line_start, lead.line_end) for volume, lead in parts]
            return await self._ask(call, wanted.question, chosen, joined(chosen))
        return _found(parts)

    def _fits(self, doc_id: str) -> bool:
        """Whether a document goes into one request of the reading model."""
        assert self._model is not None
        return self._material.entries[doc_id].tokens <= self._model.profile.part_tokens

    def _part_chars(self) -> int:
        """Characters that go into one request of the reading model; it counts tokens, and says what it left out."""
        return (
            MAX_TEXT_CHARS
            if self._model is None
            else max(4 * self._model.profile.part_tokens, MAX_TEXT_CHARS)
        )

    async def _look(self, question: str, content: str, call: CallContext) -> Sequence[Lead]:
        """Places by meaning. Without a model what the first look found comes first, and all else beside it."""
        known = self._leads.known
        if self._model is None and known and content == EVERYTHING and question == call.query:
            return known
        named = None if content == EVERYTHING else [content]
        looks = _LOOKS if self._model is None else max(_LOOKS, self._part_chars() // 2_400)
        leads = await self._material.look(question, doc_ids=named, limit=min(looks, _MOST_LOOKS))
        if self._model is not None or self._quotable or not known:
            return leads
        return [replace(lead, score=min(lead.score, self._leads.around)) for lead in leads]

    async def _query_text(self, call: CallContext, content: str, question: str) -> Observation:
        """Of a text that somebody copied: cited where it stands in the documents, if it does."""
        if self._model is not None:
            return await self._ask(call, question, [], content)
        lines = answering_lines(question, content)
        findings = await self._places((), lines)
        spans = [[finding.source_file, *finding.line_range] for finding in findings if finding.line_range]
        return Observation(
            value={"answer": lines, "spans": spans},
            text="\n".join(lines) or "no line of it speaks about the question",
            tokens=len(content) // 4,
            findings=findings,
        )

    async def _summarize(self, wanted: Summarize, call: CallContext) -> Observation:
        resolved = await self._resolve(wanted.content.strip())
        read: list[Part] = []
        text = wanted.content[: self._part_chars()]
        if resolved is not None:
            text, read = cut(*resolved, room_chars=self._part_chars())
        if self._model is not None:
            return await self._ask(call, None, read, text)
        lines = summary_lines(text)
        return Observation(
            value={"summary": lines, "spans": spans_in(read)},
            text="\n".join(lines),
            tokens=len(text) // 4,
            findings=_placed(read, lines, confidence=0.5),
        )

    async def _request_capability(self, wanted: RequestCapability, call: CallContext) -> Observation:
        if self._on_capability is not None:
            self._on_capability(wanted.description, wanted.context)
        return Observation(value={"logged": wanted.description, "spans": []}, text="logged")

    # ---------------------------------------------------------------- what they share

    async def _resolve(self, content: str) -> tuple[Volume, list[tuple[int, int]]] | None:
        """The lines a reference names; None for a text, an error when it names nothing."""
        named = parse_reference(content, self._material.entries)
        if named is None:
            return None
        volume = await self._material.open(named.doc_id)
        if named.lines is not None:
            first, last = named.lines
            if not 1 <= first <= last or first > len(volume.lines):
                raise InvalidInputError(
                    f"{volume.doc_id!r} has the lines 1 to {len(volume.lines)}, not {first}-{last}"
                )
            return volume, [(first, min(last, len(volume.lines)))]
        if named.path is not None:
            return volume, spans_of(get_sections(volume, named.path))
        return volume, [(1, len(volume.lines))]

    async def _ask(
        self, call: CallContext, question: str | None, parts: Sequence[Part], text: str
    ) -> Observation:
        """Ask the model about a text; what it quotes is looked up where the text came from."""
        assert self._model is not None
        spans = spans_in(parts)
        model = self._model.charged_to(call.purse)
        try:
            prompt = f"prompts/{'summarize' if question is None else 'query_subset'}.md"
            reading = await ask_about(model, read_prompt(__package__, prompt), text, question=question)
        except ModelError as error:
            lines = summary_lines(text) if question is None else answering_lines(question, text)
            findings = await self._places(parts, lines)
            value = {"answer": lines, "spans": spans}
            plain = Observation(value=value, text="\n".join(lines), findings=findings)
            return without_model(plain, error)
        findings = await self._places(parts, reading.quotes)
        placed = [
            f"{finding.source_file}:{finding.line_range[0]}: {finding.evidence}"
            for finding in findings
            if finding.line_range
        ]
        read = ", ".join(f"{doc_id}:{first}-{last}" for doc_id, first, last in spans)
        left_out = f"[{reading.left_out} tokens of the text were not shown to the reader]"
        lines = [reading.answer or "the text says nothing about it", *(placed or reading.quotes)]
        lines += [f"[read: {read[:2_000]}]"] if read else []
        return Observation(
            value={"answer": reading.answer, "quotes": list(reading.quotes), "spans": spans},
            text="\n".join([*lines, left_out] if reading.left_out else lines),
            findings=findings,
        )

    async def _places(self, parts: Sequence[Part], quotes: Sequence[str]) -> tuple[Finding, ...]:
        """Quotes as findings, where they stand in these parts; without any, where a text was copied from."""
        if parts:
            return tuple(dict.fromkeys(_placed(parts, quotes, confidence=0.8)))
        volumes = [await self._material.open(lead.doc_id) for lead in self._leads.known]
        return _placed([(volume, 1, len(volume.lines)) for volume in volumes], quotes, confidence=0.5)

    def _offer(self, parts: Sequence[Part], query: str) -> tuple[Finding, ...]:
        """What a part offers: all of it to a planner that quotes, else the passages that answer best."""
        if not parts:
            return ()
        volume = parts[0][0]
        part = only(volume, [(first, last) for _, first, last in parts])
        if self._quotable:
            leads = rank(query, [part], limit=_QUOTABLE)
            return tuple(volume.find(lead.line_start, lead.line_end, confidence=lead.score) for lead in leads)
        leads = rank(query, [part], limit=_OFFERED)
        top = max((lead.score for lead in leads), default=1.0) or 1.0
        return tuple(
            volume.find(lead.line_start, lead.line_end, confidence=self._leads.around * lead.score / top)
            for lead in leads
        )


def _placed(parts: Sequence[Part], quotes: Sequence[str], *, confidence: float) -> tuple[Finding, ...]:
    """Quotes as findings, where they stand; one that stands nowhere is none."""
    places = [place for quote in quotes if (place := locate_in(parts, quote)) is not None]
    return tuple(volume.find(first, last, confidence=confidence) for volume, first, last in places)


def _found(parts: Sequence[tuple[Volume, Lead]]) -> Observation:
    """Leads as an observation."""
    findings = tuple(volume.find_lead(lead) for volume, lead in parts)
    return Observation(
        value={
            "hits": [
                {
                    "doc_id": lead.doc_id,
                    "lines": [lead.line_start, lead.line_end],
                    "score": round(lead.score, 4),
                }
                for _, lead in parts
            ],
            "spans": [[lead.doc_id, lead.line_start, lead.line_end] for _, lead in parts],
        },
        text="\n\n".join(
            f"[{lead.doc_id}:{lead.line_start}-{lead.line_end}] {lead.path}\n"
            f"{volume.text_of(lead.line_start, lead.line_end)}"
            for volume, lead in parts
        )
        or "nothing in the documents speaks about it",
        tokens=sum(len(finding.evidence) for finding in findings) // 4,
        findings=findings,
    )
