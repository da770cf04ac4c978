"""Results in words, for clients whose model reads text. The same in full is in the structured part of an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from recollect.domain.findings import Citation

_CITED = 12


def say(tool: str, document: Any) -> str:
    """What a tool's result says, in few words."""
    if tool == "memory_search":
        return _hits(document)
    if tool == "oracle_consult":
        return _consulted(document)
    if tool == "codebase_explore":
        return _explored(document)
    return json.dumps(document, ensure_ascii=False)


def _hits(document: dict[str, Any]) -> str:
    lines = [
        f"{number}. {hit['text']} ({hit['score']:.2f}, {hit['scope']}, {hit['created_at'][:10]}, id {hit['id']})"
        for number, hit in enumerate(document["hits"], 1)
    ]
    found = "\n".join(lines) or "Nothing relevant is remembered."
    return _with_notes(f"{found}\nquery_id {document['query_id']}", document["notes"])


def _consulted(document: dict[str, Any]) -> str:
    cited = [
        f"[{number}] {one.file_path} lines {one.line_start}-{one.line_end} ({one.standing})"
        for number, one in enumerate(map(Citation.read, document["citations"][:_CITED]), 1)
    ]
    return _with_notes("\n".join([document["answer"], *cited]), document["notes"])


def _explored(document: dict[str, Any]) -> str:
    cited = [
        f"{one['file_path']}:{one['line_start']}-{one['line_end']}" for one in document["citations"][:_CITED]
    ]
    return "\n".join([document["synthesis"], *cited])


def _with_notes(text: str, notes: Sequence[str]) -> str:
    return "\n".join([text, *(f"Note: {note}" for note in notes)])
