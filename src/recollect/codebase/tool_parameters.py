"""The parameters of each tool over a source tree, as a planner sees it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_PATTERN_CHARS = 1_000

_Path = Annotated[str, Field(min_length=1, max_length=4_000)]


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ListFiles(_Parameters):
    """Parameters of `list_files`."""

    directory: _Path = Field(default=".", description="a folder, from the root; '.' is the root")
    pattern: str = Field(
        default="*",
        min_length=1,
        max_length=1_000,
        description="a glob of names, or of paths if it has a '/'",
    )
    recursive: bool = Field(default=False, description="also in the folders below")


class ReadFile(_Parameters):
    """Parameters of `read_file`."""

    path: _Path
    start_line: int | None = Field(default=None, ge=1, description="the first line, from 1")
    end_line: int | None = Field(default=None, ge=1, description="the last line")


class Grep(_Parameters):
    """Parameters of `grep`."""

    pattern: str = Field(
        min_length=1, max_length=MAX_PATTERN_CHARS, description="RE2 syntax; (?i) for any case"
    )
    paths: tuple[_Path, ...] = Field(
        default=(), max_length=200, description="files, folders or globs; empty for all"
    )
    context_lines: int = Field(default=2, ge=0, le=20)


class ExtractSymbols(_Parameters):
    """Parameters of `extract_symbols`."""

    path: _Path


class ParseAst(_Parameters):
    """Parameters of `parse_ast`."""

    path: _Path


class FindReferences(_Parameters):
    """Parameters of `find_references`."""

    name: str = Field(min_length=1, max_length=500, description="as in 'Budget' or 'Budget.reserve'")


class Outline(_Parameters):
    """Parameters of `outline`."""

    directory: _Path = Field(default=".", description="only what is below this folder")
    focus: str = Field(
        default="",
        max_length=20_000,
        description="a question or words; the files that speak about it come first. Empty: the most used ones",
    )
    hints: tuple[Annotated[str, Field(max_length=20_000)], ...] = Field(
        default=(), max_length=100, description="paths, symbols, globs, file:line, stack traces to start from"
    )


class LlmQuery(_Parameters):
    """Parameters of `llm_query`."""

    prompt: str = Field(min_length=1, max_length=4_000)
    context: str = Field(
        default="",
        max_length=200_000,
        description="a text, or 'path:10-80' (lines of a file); empty: explore the tree for the prompt",
    )
    max_tokens: int | None = Field(default=None, ge=1, le=100_000, description="of the answer")
