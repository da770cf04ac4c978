"""What each of the tools over documents is asked with, as a planner sees it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from recollect.files.patterns import MAX_PATTERN_CHARS


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ListDocuments(_Parameters):
    """Parameters of `list_documents`."""

    filter: str = Field(
        default="", max_length=1_000, description="words of the id or title, or a glob of ids"
    )
    skip: int = Field(default=0, ge=0, description="how many to pass over, for the rest of a long list")


class ReadDocument(_Parameters):
    """Parameters of `read_document`."""

    doc_id: str = Field(min_length=1, max_length=1_000)
    first_line: int | None = Field(default=None, ge=1, description="from the beginning without it")
    last_line: int | None = Field(default=None, ge=1, description="to the end without it")


class SearchPattern(_Parameters):
    """Parameters of `search_pattern`."""

    doc_id: str = Field(
        min_length=1, max_length=1_000, description="a doc_id, a glob of them, or '*' for all"
    )
    regex: str = Field(
        min_length=1, max_length=MAX_PATTERN_CHARS, description="RE2 syntax; (?i) for any case"
    )
    context_lines: int = Field(default=0, ge=0, le=20)


class GetSection(_Parameters):
    """Parameters of `get_section`."""

    doc_id: str = Field(min_length=1, max_length=1_000)
    section_path: str = Field(
        min_length=1, max_length=1_000, description="as in 'Security > OAuth2 > Scopes'"
    )


class ChunkBySize(_Parameters):
    """Parameters of `chunk_by_size`."""

    doc_id: str = Field(min_length=1, max_length=1_000)
    max_tokens: int = Field(ge=16, le=100_000)


class ChunkByStructure(_Parameters):
    """Parameters of `chunk_by_structure`."""

    doc_id: str = Field(min_length=1, max_length=1_000)


class QuerySubset(_Parameters):
    """Parameters of `query_subset`."""

    content: str = Field(
        min_length=1,
        max_length=200_000,
        description="'*' for all documents, a doc_id, 'doc_id#section path', 'doc_id:10-80' (lines), or a text",
    )
    question: str = Field(min_length=1, max_length=4_000)


class Summarize(_Parameters):
    """Parameters of `summarize`."""

    content: str = Field(
        min_length=1,
        max_length=200_000,
        description="a doc_id, 'doc_id#section path', 'doc_id:10-80', or a text",
    )


class RequestCapability(_Parameters):
    """Parameters of `request_capability`."""

    description: str = Field(min_length=1, max_length=1_000, description="what you would need")
    context: dict[str, Any] = Field(default_factory=dict, description="problem, doc_id, attempted_tools")
