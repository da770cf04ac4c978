"""Results in words, short, for the model that reads them: ids to go on with, and nothing that is empty.

The whole of a result is beside the words, in the answer's metadata, for programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain.findings import Citation

_CITED = 12
#: Of the turns of a conversation, whose ids are named.
_NAMED = 20
#: Of a memory shown by itself, in this order, where there is something to say.
_SHOWN = (
    "scope", "type", "speaker", "conversation", "subject", "predicate", "object", "trigger", "action", "entities",
    "importance", "created_at", "valid_from", "valid_to", "expires_at", "superseded_by", "superseded_at", "source",
    "metadata",
)  # fmt: skip


def say(verb: str, document: Any) -> str:
    """What the result of a verb says, in few words."""
    words = {
        "add": _added,
        "update": _changed,
        "get": _memory,
        "list": _listed,
        "search": _hits,
        "context": _context,
        "feedback": _judged,
        "delete": _erased,
        "oracle_consult": _consulted,
        "explore": _explored,
    }
    return words[verb](document)


def _added(document: Any) -> str:
    if isinstance(document, list):
        return _turns(document)
    if "decisions" in document:
        return _inferred(document)
    again = (
        f" It was known already, and said {document['use_count'] + 1} times now."
        if document["use_count"]
        else ""
    )
    return f"Remembered in {document['scope']}.{again}\nmemory_id {document['id']}"


def _turns(turns: Sequence[Mapping[str, Any]]) -> str:
    ids = [f"{number}. memory_id {turn['id']}" for number, turn in enumerate(turns[:_NAMED], 1)]
    more = [f"... and {len(turns) - _NAMED} more"] if len(turns) > _NAMED else []
    head = f"Remembered {len(turns)} turns of conversation {turns[0]['conversation']} in {turns[0]['scope']}."
    return "\n".join([head, *ids, *more])


def _inferred(document: Mapping[str, Any]) -> str:
    """What was said, the facts in it, and what became of facts that were known."""
    stored = document["memories"]
    lines = [_turns(stored) if stored[0]["conversation"] else _added(stored[0])]
    lines += [f"Fact: {fact['text']} (memory_id {fact['id']})" for fact in document["facts"]]
    for decision in document["decisions"]:
        if decision["kind"] in {"supersede", "conflict"}:
            what = "Retired" if decision["kind"] == "supersede" else "Contradicts"
            lines.append(f"{what}: memory_id {decision['other_id']} ({decision['reason']})")
    return _with_notes("\n".join(lines), document["notes"])


def _changed(document: Mapping[str, Any]) -> str:
    return f"Changed: {document['text']}\nmemory_id {document['id']}"


def _memory(document: Mapping[str, Any]) -> str:
    lines = [document["text"], f"memory_id: {document['id']}"]
    for name in _SHOWN:
        value = document[name]
        if value is not None and value not in ([], {}):
            lines.append(f"{name}: {', '.join(value) if isinstance(value, list) else _short(value)}")
    return "\n".join(lines)


def _short(value: Any) -> Any:
    """A time to the minute; anything else as it is."""
    if isinstance(value, str) and value[10:11] == "T" and value[4:5] == value[7:8] == "-":
        return value[:16].replace("T", " ")
    return value


def _listed(document: Mapping[str, Any]) -> str:
    lines = [_line(number, memory) for number, memory in enumerate(document["items"], 1)]
    if document["next_cursor"]:
        lines.append("There are older ones: ask a question, or raise `limit`.")
    return "\n".join(lines) or "Nothing is remembered here yet."


def _hits(document: Mapping[str, Any]) -> str:
    lines = [_line(number, hit) for number, hit in enumerate(document["hits"], 1)]
    if not lines:
        return _with_notes("Nothing remembered answers that.", document["notes"])
    return _with_notes("\n".join([*lines, f"query_id {document['query_id']}"]), document["notes"])


def _line(number: int, memory: Mapping[str, Any]) -> str:
    words = f"{memory['speaker']}: {memory['text']}" if memory["speaker"] else memory["text"]
    marks = [f"{memory['score']:.2f}"] if "score" in memory else []
    marks += ["outdated"] if memory.get("outdated") or memory.get("status") == "superseded" else []
    marks += [memory["scope"], memory["created_at"][:10], f"memory_id {memory['id']}"]
    return f"{number}. {words} ({', '.join(marks)})"


def _context(document: Mapping[str, Any]) -> str:
    if not document["text"]:
        return _with_notes("Nothing remembered answers that.", document["notes"])
    ids = ", ".join(hit["id"] for hit in document["memories"])
    left = f"\n{document['omitted']} more did not fit." if document["omitted"] else ""
    text = f"{document['text'].rstrip()}{left}\nmemory_ids {ids}\nquery_id {document['query_id']}"
    return _with_notes(text, document["notes"])


def _judged(document: Mapping[str, Any]) -> str:
    return f"Noted: {document['kind']}.\nmemory_id {document['memory_id']}"


def _erased(document: Mapping[str, Any]) -> str:
    count = document["memories"]
    what = "1 memory" if count == 1 else f"{count} memories, earlier wordings included"
    rebuilt = f" {document['rebuilt']} summaries were made again without it." if document["rebuilt"] else ""
    return f"Erased for good: {what}.{rebuilt} Receipt {document['id']}."


def _consulted(document: Mapping[str, Any]) -> str:
    cited = [
        f"[{number}] {citation.file_path} lines {citation.line_start}-{citation.line_end} ({citation.standing})"
        for number, citation in enumerate(map(Citation.read, document["citations"][:_CITED]), 1)
    ]
    return _with_notes("\n".join([document["answer"], *cited]), document["notes"])


def _explored(document: Mapping[str, Any]) -> str:
    cited = [
        f"[{number}] {citation['file_path']}:{citation['line_start']}-{citation['line_end']}"
        for number, citation in enumerate(document["citations"][:_CITED], 1)
    ]
    return "\n".join([document["synthesis"], *cited])


def _with_notes(text: str, notes: Sequence[str]) -> str:
    return "\n".join([text, *(f"Note: {note}" for note in notes)])
