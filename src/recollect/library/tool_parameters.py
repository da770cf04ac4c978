"""What each of the seven tools is asked with, as a planner sees it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from recollect.files.patterns import MAX_PATTERN_CHARS


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SearchPattern(_Parameters):
    """Parameters of `search_pattern`."""

    doc_id: str = Field(min_length=1, max_length=1_000)
    regex: str = Field(
        min_length=1, max_length=MAX_PATTERN_CHARS, description="RE2 syntax; (?i) for any case"
    )


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
