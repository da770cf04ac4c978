"""`REPLToolSurface`: the tools of an exploration as functions, for a person at a prompt or an agent of one's own.

Every call goes the way that the engine's calls go: checked, answered from the cache or counted against the budget, run
within its limits. The tools read below one folder; there is no network, no shell and no writing among them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from recollect.codebase.budget import MAX_SUBCALLS, SubCallBudgetManager
from recollect.codebase.environment import CodebaseEnvironment
from recollect.codebase.grep import GrepMatch
from recollect.codebase.symbols.values import ParsedFile, SymbolInfo
from recollect.codebase.tree import open_tree
from recollect.domain.codec import decode_fields
from recollect.errors import BudgetExhaustedError, InvalidInputError, RunError
from recollect.runs.cache import Cache
from recollect.runs.calls import LiveCalls
from recollect.runs.deadline import CutError, within
from recollect.runs.planners.contract import Call
from recollect.runs.times import Times

if TYPE_CHECKING:
    from recollect.domain.trajectory import Trajectory
    from recollect.providers.models import ChatModel


class REPLToolSurface:
    """Read-only tools below a folder.

    `root` is a folder, or an environment that is open already. A folder is opened without an index, and names are
    looked up by searching. A call beyond the budget raises `BudgetExhaustedError`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | CodebaseEnvironment,
        *,
        budget: SubCallBudgetManager | None = None,
        cache: Cache | None = None,
        model: ChatModel | None = None,
        allowed_roots: Sequence[str | os.PathLike[str]] | None = None,
    ) -> None:
        # Who calls one tool after the other has no steps; a budget with some is the caller's own.
        self.budget = budget or SubCallBudgetManager(max_subcalls_per_iteration=MAX_SUBCALLS)
        if isinstance(root, CodebaseEnvironment):
            self.environment = root
        else:
            tree = open_tree(root, allowed_roots=allowed_roots)
            self.environment = CodebaseEnvironment(
                tree, model=model, seconds_left=lambda: self.budget.remaining_seconds
            )
        self._calls = LiveCalls(
            query="",
            environment=self.environment,
            budget=self.budget,
            cache=cache if cache is not None else Cache(),
            start_run=_no_run,
        )

    async def list_files(self, directory: str, pattern: str = "*", recursive: bool = False) -> list[str]:
        """Files of a folder whose names match a glob; at most 400."""
        value = await self._call("list_files", directory=directory, pattern=pattern, recursive=recursive)
        return list(value["files"])

    async def read_file(self, path: str, start_line: int | None = None, end_line: int | None = None) -> str:
        """The text of a file, or of a range of its lines; at most 400 lines at a time."""
        value = await self._call("read_file", path=path, start_line=start_line, end_line=end_line)
        return str(value["text"])

    async def grep(self, pattern: str, paths: Sequence[str] = (), context_lines: int = 2) -> list[GrepMatch]:
        """Lines that match a regular expression (RE2); `paths` are files, folders or globs, none means all."""
        if isinstance(paths, str):
            raise InvalidInputError(f"paths must be a list, not the string {paths!r}; write [{paths!r}]")
        value = await self._call("grep", pattern=pattern, paths=list(paths), context_lines=context_lines)
        return [decode_fields(GrepMatch, row) for row in value["matches"]]

    async def extract_symbols(self, path: str) -> list[SymbolInfo]:
        """The definitions of a file; at most 300."""
        value = await self._call("extract_symbols", path=path)
        return [SymbolInfo(**row) for row in value["symbols"]]

    async def parse_ast(self, path: str) -> ParsedFile:
        """The syntax tree of a file, from the top."""
        parsed: ParsedFile = decode_fields(ParsedFile, await self._call("parse_ast", path=path))
        return parsed

    async def find_references(self, name: str) -> dict[str, Any]:
        """Where a name is defined and used."""
        return await self._call("find_references", name=name)

    async def outline(self, directory: str = ".", focus: str = "", hints: Sequence[str] = ()) -> str:
        """The map of a folder, around a focus or by what is used most, as text."""
        return await self._text("outline", directory=directory, focus=focus, hints=list(hints))

    async def llm_query(self, prompt: str, context: str, max_tokens: int | None = None) -> str:
        """What a model says about a text, or the lines that speak about the prompt when there is no model."""
        return await self._text("llm_query", prompt=prompt, context=context, max_tokens=max_tokens)

    async def _text(self, tool: str, **parameters: Any) -> str:
        return (await self._answer(tool, parameters))[1]

    async def _call(self, tool: str, **parameters: Any) -> dict[str, Any]:
        value, _ = await self._answer(tool, parameters)
        if "truncated_chars" in value:
            raise RunError(
                f"the answer of {tool!r} is too long by {value['truncated_chars']} characters; ask for less"
            )
        return value

    async def _answer(self, tool: str, parameters: dict[str, Any]) -> tuple[dict[str, Any], str]:
        called = self._calls.answer(Call(tool=tool, parameters=parameters), span=Times().begin())
        try:
            answered = await within(called, seconds=self.budget.remaining_seconds, depth=0)
        except CutError as cut:
            raise BudgetExhaustedError(f"{tool!r} was ended: the time of the budget is over") from cut
        record = answered.record
        if record.refused:
            advice = (
                "call budget.start_iteration()" if self.budget.remaining_subcalls else "give a larger budget"
            )
            raise BudgetExhaustedError(
                f"{tool!r} was not called: {self.budget.subcall_count} sub-calls are used, "
                f"and {answered.refused_by} is the limit; {advice}"
            )
        if record.error is not None:
            raise RunError(record.error)
        self.budget.cached_subcalls += record.cached
        return dict(record.result), answered.text


async def _no_run(query: str, keep: Callable[[Trajectory], None]) -> Trajectory:
    raise InvalidInputError("exploring needs an orchestrator; give llm_query a context")
