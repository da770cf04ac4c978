"""A route for each verb: the client's signature is the request's form, what `--json` prints is the answer."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from fastapi import Body, Query, Request
from fastapi import Path as PathParameter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, create_model

from recollect.client.memories import UNCHANGED
from recollect.client.verbs import VERBS, Parameter, Verb, arguments_of, description, parameters, returned
from recollect.domain.codec import encode
from recollect.errors import InvalidInputError
from recollect.surfaces.http.auth import caller_of
from recollect.surfaces.http.idempotency import once
from recollect.surfaces.http.problems import RESPONSES
from recollect.surfaces.http.reference import EXAMPLES
from recollect.surfaces.http.streams import stream, wants_stream
from recollect.surfaces.roots import check_roots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fastapi import FastAPI

    from recollect.surfaces.http.limits import Turns
    from recollect.surfaces.http.running import Running

_BODIES = frozenset({"POST", "PATCH", "PUT"})
_SLOT = re.compile(r"\{(\w+)(?::path)?\}")
_STRICT = ConfigDict(extra="forbid", strict=True)
_LOOSE = ConfigDict(extra="forbid")


def add_verbs(app: FastAPI, roots: Sequence[Path], turns: Turns, running: Running) -> None:
    """Give the application a route for each verb."""
    for verb in VERBS:
        app.add_api_route(
            verb.path,
            _endpoint(verb, roots, turns, running),
            methods=[verb.method],
            status_code=verb.status,
            summary=description(verb).split("\n", 1)[0],
            description=description(verb),
            tags=[verb.tag],
            name=verb.name,
            operation_id=operation(verb),
            response_class=Response,
            responses={verb.status: _answer(verb), **RESPONSES},
        )


def operation(verb: Verb) -> str:
    """What the OpenAPI document calls a verb."""
    name = verb.name.replace(".", "_")
    return f"{name}_by_condition" if verb.name == "delete" and not verb.only else name


def _answer(verb: Verb) -> dict[str, Any]:
    said: dict[str, Any] = {"description": "What the verb returns.", "model": returned(verb)}
    if verb.streams:
        said["content"] = {"text/event-stream": {"schema": {"type": "string"}}}
    return said


def _endpoint(verb: Verb, roots: Sequence[Path], turns: Turns, running: Running) -> Callable[..., Any]:
    """The function that FastAPI calls, with the verb's own parameters as its signature."""
    in_path = _SLOT.findall(verb.path)
    rest = [parameter for parameter in parameters(verb) if parameter.name not in in_path]
    example = EXAMPLES.get(operation(verb), {})
    form = _form(verb, rest, example) if rest else None

    async def endpoint(request: Request, **said: Any) -> Response:
        client = caller_of(request)
        sent: BaseModel | None = said.pop("body", None) or said.pop("query", None)
        given = {**said, **_given(sent, rest)}
        check_roots(verb, given, roots)
        call = verb.bind(client)
        kwargs = arguments_of(verb, given)
        if verb.streams and wants_stream(request):
            return stream(call, kwargs, running)

        async def carry_out() -> Response:
            result = await (running.begin(partial(call, **kwargs)) if verb.lasts else call(**kwargs))
            return answer(result, request, status=verb.status, cached=verb.method == "GET")

        repeatable = verb.writes and not verb.secret
        async with nullcontext() if verb.lasts else turns.turn():
            return await (once(request, client, carry_out) if repeatable else carry_out())

    endpoint.__signature__ = inspect.Signature(_signature(verb, in_path, form, example))  # type: ignore[attr-defined]
    endpoint.__annotations__ = {}
    return endpoint


def _signature(
    verb: Verb, in_path: Sequence[str], form: type[BaseModel] | None, example: Mapping[str, Any]
) -> list[inspect.Parameter]:
    only = inspect.Parameter.KEYWORD_ONLY
    found = [inspect.Parameter("request", only, annotation=Request)]
    for name in in_path:
        slot = PathParameter(max_length=1_000, examples=[example[name]] if name in example else None)
        found.append(inspect.Parameter(name, only, annotation=Annotated[str, slot]))
    if form is not None and verb.method in _BODIES:
        sent = {name: value for name, value in example.items() if name not in in_path}
        found.append(inspect.Parameter("body", only, annotation=Annotated[form, Body(examples=[sent])]))
    elif form is not None:
        found.append(inspect.Parameter("query", only, annotation=Annotated[form, Query()]))
    return found


def _form(verb: Verb, rest: Sequence[Parameter], example: Mapping[str, Any]) -> type[BaseModel]:
    """What a request says, as a model: unknown names are refused, and types are not guessed."""
    bodied = verb.method in _BODIES
    fields: dict[str, Any] = {}
    for one in rest:
        type_ = one.type if bodied else _in_query(one.type)
        # In an address each has its own; a body is shown whole.
        shown: dict[str, Any] = {}
        if not bodied and one.name in example:
            shown["examples"] = [example[one.name]]
        if one.required:
            fields[one.name] = (type_, Field(**shown))
        elif one.default is UNCHANGED:
            fields[one.name] = (type_, Field(default=None, json_schema_extra=_without_default, **shown))
        else:
            default = list(one.default) if isinstance(one.default, tuple) else one.default
            fields[one.name] = (type_, Field(default=default, **shown))
    title = "".join(part.capitalize() for part in re.split(r"[._]", operation(verb)))
    return create_model(f"{title}Request", __config__=_STRICT if bodied else _LOOSE, **fields)


def _without_default(schema: dict[str, Any]) -> None:
    """What is left out stays as it is, which no value says."""
    schema.pop("default", None)


def _in_query(type_: Any) -> Any:
    """An object can't stand in an address: it is written as JSON."""
    if any(get_origin(one) is dict for one in (type_, *get_args(type_))):
        return str | None
    return type_


def _given(sent: BaseModel | None, rest: Sequence[Parameter]) -> dict[str, Any]:
    """What was said, and nothing that was not; objects in an address are read."""
    if sent is None:
        return {}
    said = {name: getattr(sent, name) for name in sent.model_fields_set}
    for one in rest:
        value = said.get(one.name)
        takes_object = any(get_origin(part) is dict for part in (one.type, *get_args(one.type)))
        takes_text = one.type is str or str in get_args(one.type)
        if isinstance(value, str) and takes_object and not takes_text:
            said[one.name] = _object(value, one.name)
    return said


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} must be a JSON object, not {type(value).__name__}")
    return value


def to_bytes(value: object) -> bytes:
    """A result as JSON."""
    document = encode(value)
    try:
        return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 can't say and JSON can
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


def answer(value: object, request: Request, *, status: int, cached: bool) -> Response:
    """A result as a response; of a read that was seen before, only that it is the same."""
    content = to_bytes(value)
    if not cached:
        return Response(content, status_code=status, media_type="application/json")
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    seen = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    if tag in seen or "*" in seen:
        return Response(status_code=304, headers=headers)
    return Response(content, status_code=status, media_type="application/json", headers=headers)
