"""The tools over a source tree: list, read, search, symbols, syntax, uses of a name, the map, a question to a model.

An environment serves an exploration and those below it. Everything that is read names its lines in `spans` of the
observation's value, so the record of a run says what was read. What a tool offers as findings depends on its
parameters alone, never on the question of the run: an answer from the cache is as good as a new answer. Which of it
answers the question is decided afterwards (`refine.py`); what to call next is `planner.py`. Reading files costs no
tokens: only what goes to a model and comes from it is counted.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.codebase import file_tools, outline, search_tools
from recollect.codebase.secrets import mask, mask_values
from recollect.codebase.tool_parameters import (
    ExtractSymbols,
    FindReferences,
    Grep,
    ListFiles,
    LlmQuery,
    Outline,
    ParseAst,
    ReadFile,
)
from recollect.codebase.view import ROOM_CHARS, View
from recollect.errors import GrammarMissingError, ModelError
from recollect.runs.environment import Action, CallContext, Observation, Tool
from recollect.runs.fences import read_prompt
from recollect.runs.readings import ask_about, without_model, worst_reading

if TYPE_CHECKING:
    from pydantic import BaseModel

    from recollect.codebase.index import CodeIndex
    from recollect.codebase.tree import SourceTree
    from recollect.providers.embedders import Embedder
    from recollect.providers.models import ChatModel

#: Tools that read a file; the others depend on the whole tree.
_OF_ONE_FILE = frozenset({"read_file", "extract_symbols", "parse_ast"})
#: What is around the text that a call gives back: its lines' numbers, the record's own words.
_AROUND = 1.7

#: Every tool that reads the tree: its name, what a planner is told of it, its parameters and its work.
_TOOLS: tuple[tuple[str, str, type[BaseModel], Callable[[View, Any], Observation]], ...] = (
    ("list_files", "Files of a folder whose names match a glob.", ListFiles, file_tools.list_files),
    ("read_file", "Lines of a file, numbered; a long file in parts.", ReadFile, file_tools.read_file),
    ("grep", "Lines that match a regular expression.", Grep, search_tools.grep_tree),
    (
        "extract_symbols",
        "The definitions of a file, with their lines and signatures.",
        ExtractSymbols,
        file_tools.extract_symbols,
    ),
    ("parse_ast", "The syntax tree of a file, from the top.", ParseAst, file_tools.parse_syntax),
    ("find_references", "Where a name is defined and used.", FindReferences, search_tools.find_references),
    (
        "outline",
        "The map: files and their main definitions, those that speak about the focus first.",
        Outline,
        outline.outline,
    ),
)

OnCapability = Callable[[str, Mapping[str, Any]], None]


class CodebaseEnvironment:
    """A tree and its tools.

    Without an `index` names are looked up by searching. `model` answers `llm_query`; without a model that gives the
    lines that speak about the prompt. `masked`: what a planner reads has no secrets in it, since it goes to a model.
    `room_chars` is what a call may give back, as the planner's window goes.
    `embedder` compares a question with definitions. Searches end when `seconds_left` does. `on_capability`
    hears what is missing: a language without a grammar.
    """

    name = "codebase"
    #: Which files there are is a walk of the tree, which can take seconds.
    reads_disk = True

    def __init__(
        self,
        tree: SourceTree,
        index: CodeIndex | None = None,
        *,
        model: ChatModel | None = None,
        room_chars: int = ROOM_CHARS,
        cacheable: bool = True,
        masked: bool = False,
        seconds_left: Callable[[], float | None] = lambda: None,
        embedder: Embedder | None = None,
        on_capability: OnCapability | None = None,
    ) -> None:
        self.view = View(
            tree, index, seconds_left=seconds_left, embedder=embedder, room_chars=max(room_chars, ROOM_CHARS)
        )
        self._output_chars = round(self.view.room_chars * _AROUND)
        self._masked = masked
        self._model = model
        self._cacheable = cacheable
        self._on_capability = on_capability
        self._reported: set[str] = set()
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in self._make_tools()}

    def content_hash(self, tool: str, parameters: Mapping[str, Any]) -> str:
        """Of the file that a call reads as it is now, or of the tree as it was listed; of the model that answers."""
        parts = [str(self.view.tree.root), str(self.view.index is not None), str(self._masked)]
        parts.append(f"{self.view.embedder is not None} {self.view.room_chars}")
        if tool in _OF_ONE_FILE:
            parts.append(self.view.stamp_of(str(parameters.get("path", ""))))
        else:
            parts.append(self.view.stamp)
        if tool == "llm_query":
            parts.append(self._model.name if self._model else "")
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def actions(self, query: str, depth: int, step: int) -> Sequence[Action]:
        """Nothing to draw from: the planner of explorations brings its own plan."""
        return ()

    # ---------------------------------------------------------------- the tools

    def _make_tools(self) -> Iterator[Tool]:
        bounds: dict[str, Any] = {"cacheable": self._cacheable, "max_output_chars": self._output_chars}
        for name, description, parameters, work in _TOOLS:
            yield Tool(name, description, parameters, self._in_thread(name, work), **bounds)
        yield Tool(
            "llm_query",
            "Ask a second reader about a text or lines of a file; without them it explores.",
            LlmQuery,
            self._llm_query,
            model_call=self._model is not None,
            worst=self._worst,
            **bounds,
        )

    def _in_thread(
        self, name: str, work: Callable[[View, Any], Observation]
    ) -> Callable[[Any, CallContext], Awaitable[Observation]]:
        """Work that blocks: it runs in a thread."""

        async def run(parameters: Any, call: CallContext) -> Observation:
            try:
                observation = await asyncio.to_thread(work, self.view, parameters)
                return await asyncio.to_thread(_without_secrets, observation) if self._masked else observation
            except GrammarMissingError as error:
                raise GrammarMissingError(f"{error}; grep and read_file work all the same") from error
            finally:
                self._tell_missing(name)

        return run

    async def _llm_query(self, wanted: LlmQuery, call: CallContext) -> Observation:
        if not wanted.context.strip():
            return await self._explore(wanted.prompt, call)
        text, span = await asyncio.to_thread(file_tools.read_context, self.view, wanted.context)
        if self._model is None:
            return await asyncio.to_thread(search_tools.answering, self.view, wanted.prompt, text, span)
        model = self._model.charged_to(call.purse)
        try:
            about = await ask_about(
                model,
                read_prompt(__package__, "prompts/llm_query.md"),
                await asyncio.to_thread(mask, text),
                question=wanted.prompt,
                max_tokens=wanted.max_tokens,
            )
        except ModelError as error:
            plain = await asyncio.to_thread(search_tools.answering, self.view, wanted.prompt, text, span)
            return without_model(plain, error)
        left_out = [f"[{about.left_out} tokens of the text were not shown]"] if about.left_out else []
        return Observation(
            value={
                "answer": about.answer,
                "quotes": list(about.quotes),
                "spans": [list(span)] if span else [],
            },
            text="\n".join([about.answer or "the text says nothing about it", *about.quotes, *left_out]),
            findings=await asyncio.to_thread(search_tools.place_quotes, self.view, about.quotes, span),
        )

    async def _explore(self, prompt: str, call: CallContext) -> Observation:
        """A question without a text: an exploration a level deeper, on the same budget."""
        below = await call.recurse(prompt)
        listed = [f"- {finding.description} ({finding.source_file})" for finding in below.findings[:20]]
        return Observation(
            value={"stopped_by": below.stopped_by, "answer": "\n".join(listed), "spans": []},
            text="\n".join(listed) or "nothing was found for it",
            findings=below.findings,
        )

    def _worst(self, wanted: LlmQuery) -> tuple[int, float]:
        return worst_reading(self._model) if wanted.context.strip() else (0, 0.0)

    def _tell_missing(self, tool: str) -> None:
        for suffix, path in self.view.unread.items():
            if self._on_capability is not None and suffix not in self._reported:
                self._reported.add(suffix)
                context = {"path": path, "attempted_tools": [tool]}
                self._on_capability(
                    f"read the definitions of .{suffix} files: there is no grammar for them", context
                )


def _without_secrets(observation: Observation) -> Observation:
    return replace(observation, value=mask_values(observation.value), text=mask(observation.text))
