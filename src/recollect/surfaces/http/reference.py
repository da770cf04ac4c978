"""`/v1/docs`: every request that the server understands, with an example, on one page without scripts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fastapi import FastAPI

PATH = "/v1/docs"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Recollect {version}</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 900px; margin: 0 auto; padding: 24px 16px; }}
code, pre {{ font-size: 14px; }} code {{ overflow-wrap: anywhere; }}
pre {{ overflow-x: auto; padding: 8px 12px; border: 1px solid #8884; }}
summary {{ cursor: pointer; padding: 4px 0; }} details {{ border-bottom: 1px solid #8883; }}
table {{ border-collapse: collapse; }} td, th {{ text-align: left; vertical-align: top; padding: 2px 16px 2px 0; }}
</style></head><body>
<h1>Recollect {version}</h1>
<p>Every request below has an example that runs as it stands in a shell that knows the server and a key:</p>
<pre>export RECOLLECT_URL=…  # such as this page's address without /v1/docs
export RECOLLECT_API_KEY=rcl_…  # from recollect keys create</pre>
<p>The same for programs: <a href="openapi.json">openapi.json</a>. {contents}</p>
{parts}</body></html>"""
#: What people come for first; the rest follows in the document's order.
_FIRST = ("memories", "library", "oracle", "code")
_CODE = re.compile(r"`([^`]+)`")


def add_reference(app: FastAPI) -> None:
    """The page, made from the OpenAPI document."""

    @app.get(PATH, include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(_page(app.openapi()), headers={"Content-Security-Policy": _POLICY})


def _page(document: Mapping[str, Any]) -> str:
    by_tag: dict[str, list[str]] = {tag: [] for tag in _FIRST}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            part = "".join(_operation(document, path, method, operation))
            by_tag.setdefault(operation.get("tags", ["other"])[0], []).append(part)
    places = {tag: tag.replace(" ", "-") for tag in by_tag}
    contents = " · ".join(f'<a href="#{place}">{escape(tag)}</a>' for tag, place in places.items())
    parts = "".join(
        f'<h2 id="{places[tag]}">{escape(tag)}</h2>{"".join(section)}' for tag, section in by_tag.items()
    )
    version = escape(document["info"]["version"])
    return _PAGE.format(version=version, contents=contents, parts=parts)


def _operation(
    document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]
) -> Iterator[str]:
    summary = operation.get("summary", "")
    yield f"<details><summary><code>{method.upper()} {escape(path)}</code> {_prose(summary)}</summary>"
    for paragraph in operation.get("description", "").removeprefix(summary).strip().split("\n\n"):
        yield f"<p>{_prose(paragraph)}</p>" if paragraph else ""
    parameters = operation.get("parameters", ())
    rows = [
        (parameter["name"], parameter["in"], parameter.get("schema", {}), parameter.get("required", False))
        for parameter in parameters
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    form = _resolved(document, body.get("schema", {}))
    needed = form.get("required", ())
    rows += [(field, "body", schema, field in needed) for field, schema in form.get("properties", {}).items()]
    if rows:
        yield "<table><tr><th>name</th><th>in</th><th>type</th><th></th></tr>"
        for field, place, schema, required in rows:
            default = schema.get("default")
            note = "required" if required else "" if default is None else f"default {json.dumps(default)}"
            yield f"<tr><td><code>{escape(field)}</code></td><td>{place}</td>"
            yield f"<td>{escape(_type(schema))}</td><td>{escape(note)}</td></tr>"
        yield "</table>"
    yield f"<pre>{escape(curl(path, method, operation))}</pre></details>"


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text))


def curl(path: str, method: str, operation: Mapping[str, Any]) -> str:
    """A request of an operation as a command for a shell, with the values of its example."""
    values = dict(EXAMPLES.get(operation["operationId"], {}))
    given = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", ())}
    for name in [name for name, place in given.items() if place == "path" and name in values]:
        path = path.replace(f"{{{name}}}", quote(str(values.pop(name)), safe=""))
    query = {name: values.pop(name) for name in list(values) if given.get(name) == "query"}
    address = f"$RECOLLECT_URL{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
    verb = "" if method in ("get", "post") else f"-X {method.upper()} "
    words = [f'curl -s {verb}"{address}"']
    if "security" in operation:
        words.append('-H "Authorization: Bearer $RECOLLECT_API_KEY"')
    if operation["operationId"] == "library_add":
        words.append("--data-binary @guide.md")
    elif method in ("post", "put", "patch"):
        words.append(f"--json {shlex.quote(json.dumps(values, ensure_ascii=False))}")
    return " \\\n  ".join(words)


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema says, also when it stands elsewhere."""
    place = schema.get("$ref")
    if place is None:
        return schema
    target: Mapping[str, Any] = document["components"]["schemas"][place.rpartition("/")[2]]
    return {**target, **{name: value for name, value in schema.items() if name != "$ref"}}


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(choice) for choice in schema["anyOf"])
    kind = str(schema.get("type", schema.get("$ref", "anything").rpartition("/")[2]))
    return f"list of {_type(schema['items'])}" if kind == "array" and "items" in schema else kind


MEMORY = "0199d2a4-7c1e-7b53-9d0e-5f3c8a1b2c3d"
NEWER = "0199d2a4-8f20-7a11-8c4d-6e7f8091a2b3"
QUERY = "0199d2a5-0b3c-7e21-b6aa-112233445566"
CONSULTATION = "0199d2a6-1a2b-7c3d-8e4f-5a6b7c8d9e0f"
EVENT = "0199d2a7-2b3c-7d4e-9f50-6b7c8d9e0f10"
RUN = "0199d2a9-4d5e-7f60-8b72-8d9e0f102132"
KEY = "0199d2a8-3c4d-7e5f-8a61-7c8d9e0f1021"
DOCUMENT, FOLDER, CODE, TASK = "guide.md", "/srv/docs", "/srv/code/shop", "explore-checkout"
TEAM, PROJECT, USER = "team/api", "project/apollo", "ana"

_RESULT = {
    "answer": "A token expires after 15 minutes.",
    "citations": [],
    "found": True,
}
_ONTOLOGY = {
    "types": {"customer": {"table": "customers", "label": "name", "columns": ["id", "name", "status"]}},
}

#: By operation, which is a verb's name with underscores; a verb without an example takes nothing.
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "add": {"text": "Ana prefers tea to coffee.", "entities": ["Ana"], "importance": 0.7},
    "add_many": {"items": [{"text": "The build runs at night."}, {"text": "The build takes nine minutes."}]},
    "list": {"limit": 20, "types": ["episodic"]},
    "count": {"types": ["episodic"]},
    "get": {"id": MEMORY},
    "update": {"id": MEMORY, "text": "Ana prefers green tea to coffee.", "importance": 0.9},
    "delete": {"id": MEMORY},
    "delete_by_condition": {"conversation": "support-7"},
    "history": {"id": MEMORY},
    "feedback": {"memory_id": MEMORY, "kind": "helpful", "query_id": QUERY},
    "supersede": {"id": MEMORY, "by": NEWER},
    "restore": {"id": MEMORY},
    "search": {"query": "What does Ana drink?", "limit": 5, "threshold": 0.5},
    "search_dry_run": {"query": "Compare what Ana and Bo drink"},
    "context": {"query": "What does Ana drink?", "max_tokens": 1_000},
    "ask": {"question": "What does Ana drink?", "sources": ["memories"]},
    "ask_dry_run": {"question": "What does Ana drink?", "sources": ["memories"]},
    "explain": {"query": "What did Ana say last Monday?", "timezone": "Europe/Lisbon"},
    "conflicts": {"limit": 20},
    "consolidate": {"kinds": ["session"]},
    "sweep": {},
    "library_list": {"limit": 100},
    "library_sections": {"document": DOCUMENT},
    "library_text": {"document": DOCUMENT, "line_start": 1, "line_end": 3},
    "library_get": {"document": DOCUMENT},
    "library_remove": {"document": DOCUMENT},
    "library_search": {"query": "When does a token expire?", "limit": 3},
    "library_add_folder": {"folder": FOLDER, "tags": ["manual"]},
    "library_add": {"name": DOCUMENT},
    "library_resume": {},
    "oracle_consult": {"problem": "When does a token expire?", "doc_ids": [DOCUMENT], "depth_hint": "quick"},
    "oracle_dry_run": {"problem": "When does a token expire?", "doc_ids": [DOCUMENT]},
    "consultations_list": {"limit": 10},
    "consultations_get": {"id": CONSULTATION},
    "consultations_events": {"id": CONSULTATION},
    "consultations_repeat": {"id": CONSULTATION},
    "consultations_end_session": {"session": "talk-1"},
    "advise": {"task": "Is this use of tokens correct?", "fail_count": 5},
    "capabilities": {"days": 7, "limit": 5},
    "verify": {"result": _RESULT},
    "explore": {"path": CODE, "query": "Where is a card charged?", "task_id": TASK},
    "explore_dry_run": {"path": CODE, "query": "Where is a card charged?"},
    "explorations_list": {"limit": 10},
    "explorations_get": {"task_id": TASK},
    "explorations_replay": {"task_id": TASK},
    "ontology_get": {},
    "ontology_declare": {"document": _ONTOLOGY},
    "ontology_clear": {},
    "ontology_check": {},
    "ontology_query": {"question": "How many customers are there?"},
    "learning_status": {},
    "learning_log_retrieval_event": {"query_id": QUERY, "used_in_response": [MEMORY]},
    "learning_runs": {"limit": 10},
    "learning_run": {"id": RUN},
    "learning_start_experiment": {
        "name": "recent-first",
        "arms": {"table": {}, "recent": {"temporal_relevance": 1.0}},
        "unit": "user",
    },
    "learning_report": {"name": "recent-first"},
    "learning_stop_experiment": {"name": "recent-first"},
    "learning_train": {},
    "learning_bootstrap": {"iterations": 1, "seed": 0},
    "learning_reset": {"events": False},
    "tenants_get": {},
    "tenants_list": {},
    "tenants_create": {"id": "acme", "name": "Acme Ltd"},
    "tenants_forget": {"id": "acme"},
    "tenants_set_retention": {"layer": "session", "days": 30},
    "tenants_set_recursion": {"threshold": 0.4},
    "tenants_set_traces": {"keep_questions": True},
    "scopes_list": {"layers": ["team"]},
    "scopes_create": {"scope": TEAM},
    "scopes_move": {"scope": PROJECT, "parent": TEAM},
    "scopes_delete": {"scope": PROJECT},
    "members_list": {"scope": TEAM},
    "members_add": {"user_id": USER, "scope": TEAM, "role": "member"},
    "members_remove": {"user_id": USER, "scope": TEAM},
    "forget_user": {"user_id": "ben"},
    "keys_list": {},
    "keys_create": {"name": "support-bot", "user": USER},
    "keys_revoke": {"id": KEY},
    "keys_rotate": {"id": KEY, "overlap_hours": 24},
    "overview": {"minutes": 60},
    "traces_list": {"user": USER, "limit": 20},
    "traces_get": {"id": QUERY},
    "entities_graph": {"name": "Ana", "limit": 20},
    "events_list": {"after": EVENT, "limit": 50},
    "entities_list": {"prefix": "An", "limit": 20},
    "entities_declare": {"name": "Ana", "kind": "person", "aliases": ["Anita"]},
    "entities_alias": {"alias": "Annie", "entity": "Ana"},
    "entities_forget": {"name": "Ana"},
}
