"""`/v1/docs`: every request that the server understands, on one page. It has no scripts and asks no other server."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

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
code, pre {{ font-size: 14px; }} pre {{ overflow-x: auto; padding: 8px 12px; border: 1px solid #8884; }}
summary {{ cursor: pointer; padding: 4px 0; }} details {{ border-bottom: 1px solid #8883; }}
table {{ border-collapse: collapse; }} td, th {{ text-align: left; vertical-align: top; padding: 2px 16px 2px 0; }}
</style></head><body>
<h1>Recollect {version}</h1>
<p>Send your key as <code>Authorization: Bearer rcl_…</code>.
The same for programs: <a href="openapi.json">openapi.json</a>.</p>
{parts}</body></html>"""


def add_reference(app: FastAPI) -> None:
    """The page, made from the OpenAPI document."""

    @app.get(PATH, include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(_page(app.openapi()), headers={"Content-Security-Policy": _POLICY})


def _page(document: Mapping[str, Any]) -> str:
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            shown = "".join(_operation(document, path, method, operation))
            by_tag.setdefault(operation.get("tags", ["other"])[0], []).append(shown)
    parts = "".join(f"<h2>{escape(tag)}</h2>{''.join(shown)}" for tag, shown in by_tag.items())
    return _PAGE.format(version=escape(document["info"]["version"]), parts=parts)


def _operation(
    document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]
) -> Iterator[str]:
    name = f"<code>{method.upper()} {escape(path)}</code>"
    yield f"<details><summary>{name} {escape(operation.get('summary', ''))}</summary>"
    yield f"<p>{escape(operation.get('description', ''))}</p>"
    rows = [
        (one["name"], one["in"], one.get("schema", {}), one.get("required", False))
        for one in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    form = _resolved(document, body.get("schema", {}))
    needed = form.get("required", ())
    rows += [(field, "body", schema, field in needed) for field, schema in form.get("properties", {}).items()]
    if rows:
        yield "<table><tr><th>name</th><th>in</th><th>type</th><th></th></tr>"
        for field, place, schema, required in rows:
            said = "required" if required else f"default {json.dumps(schema.get('default'))}"
            yield f"<tr><td><code>{escape(field)}</code></td><td>{place}</td>"
            yield f"<td>{escape(_type(schema))}</td><td>{escape(said)}</td></tr>"
        yield "</table>"
    for example in form.get("examples", body.get("examples", ())):
        yield f"<pre>{escape(json.dumps(example, indent=1, ensure_ascii=False))}</pre>"
    yield "</details>"


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema says, also when it stands elsewhere."""
    place = schema.get("$ref")
    if place is None:
        return schema
    found: Mapping[str, Any] = document["components"]["schemas"][place.rpartition("/")[2]]
    return {**found, **{name: value for name, value in schema.items() if name != "$ref"}}


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    kind = str(schema.get("type", schema.get("$ref", "anything").rpartition("/")[2]))
    return f"list of {_type(schema['items'])}" if kind == "array" and "items" in schema else kind
