"""A route for each verb: the client's signature is the request's form, what `--json` prints is the answer.

A verb that streams tells what happens while it goes on, as server-sent events, to who asks for them. A write with an
`Idempotency-Key` is carried out once, however often it is sent: its answer is kept, and given again.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from fastapi import Body, Query, Request
from fastapi import Path as PathParameter
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel, ConfigDict, Field, create_model

from recollect.client.memories import UNCHANGED
from recollect.client.verbs import VERBS, Parameter, Verb, arguments_of, description, parameters, returned
from recollect.domain.codec import encode
from recollect.errors import ConflictError, InvalidInputError, RecollectError, StoreError
from recollect.storage import replies
from recollect.storage.connections import try_twice
from recollect.storage.store import request_claim
from recollect.surfaces.http.auth import caller_of
from recollect.surfaces.http.limits import ended
from recollect.surfaces.http.problems import RESPONSES, respond, status_of
from recollect.surfaces.http.reference import EXAMPLES
from recollect.surfaces.roots import check_roots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fastapi import FastAPI

    from recollect.client.async_client import AsyncRecollect
    from recollect.surfaces.http.limits import Running, Turns

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
    response: dict[str, Any] = {"description": "What the verb returns.", "model": returned(verb)}
    if verb.streams:
        response["content"] = {"text/event-stream": {"schema": {"type": "string"}}}
    return response


def _endpoint(verb: Verb, roots: Sequence[Path], turns: Turns, running: Running) -> Callable[..., Any]:
    """The function that FastAPI calls, with the verb's own parameters as its signature."""
    in_path = _SLOT.findall(verb.path)
    rest = [parameter for parameter in parameters(verb) if parameter.name not in in_path]
    example = EXAMPLES.get(operation(verb), {})
    form = _form(verb, rest, example) if rest else None

    async def endpoint(request: Request, **values: Any) -> Response:
        client = caller_of(request)
        sent: BaseModel | None = values.pop("body", None) or values.pop("query", None)
        given = {**values, **_given(sent, rest)}
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
    parameters = [inspect.Parameter("request", only, annotation=Request)]
    for name in in_path:
        slot = PathParameter(max_length=1_000, examples=[example[name]] if name in example else None)
        parameters.append(inspect.Parameter(name, only, annotation=Annotated[str, slot]))
    if form is not None and verb.method in _BODIES:
        sent = {name: value for name, value in example.items() if name not in in_path}
        parameters.append(inspect.Parameter("body", only, annotation=Annotated[form, Body(examples=[sent])]))
    elif form is not None:
        parameters.append(inspect.Parameter("query", only, annotation=Annotated[form, Query()]))
    return parameters


def _form(verb: Verb, rest: Sequence[Parameter], example: Mapping[str, Any]) -> type[BaseModel]:
    """What a request says, as a model: unknown names are refused, and types are not guessed."""
    bodied = verb.method in _BODIES
    fields: dict[str, Any] = {}
    for parameter in rest:
        type_ = parameter.type if bodied else _in_query(parameter.type)
        # In an address each has its own; a body is shown whole.
        extra: dict[str, Any] = {}
        if not bodied and parameter.name in example:
            extra["examples"] = [example[parameter.name]]
        if parameter.required:
            fields[parameter.name] = (type_, Field(**extra))
        elif parameter.default is UNCHANGED:
            fields[parameter.name] = (type_, Field(default=None, json_schema_extra=_without_default, **extra))
        else:
            default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
            fields[parameter.name] = (type_, Field(default=default, **extra))
    title = "".join(part.capitalize() for part in re.split(r"[._]", operation(verb)))
    return create_model(f"{title}Request", __config__=_STRICT if bodied else _LOOSE, **fields)


def _without_default(schema: dict[str, Any]) -> None:
    """What is left out stays as it is, which no value says."""
    schema.pop("default", None)


def _in_query(type_: Any) -> Any:
    """An object can't stand in an address: it is written as JSON."""
    if any(get_origin(part) is dict for part in (type_, *get_args(type_))):
        return str | None
    return type_


def _given(sent: BaseModel | None, rest: Sequence[Parameter]) -> dict[str, Any]:
    """What was said, and nothing that was not; objects in an address are read."""
    if sent is None:
        return {}
    values = {name: getattr(sent, name) for name in sent.model_fields_set}
    for parameter in rest:
        value = values.get(parameter.name)
        takes_object = any(get_origin(part) is dict for part in (parameter.type, *get_args(parameter.type)))
        takes_text = parameter.type is str or str in get_args(parameter.type)
        if isinstance(value, str) and takes_object and not takes_text:
            values[parameter.name] = _object(value, parameter.name)
    return values


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


MEDIA_TYPE = "text/event-stream"
#: Proxies end a connection on which nothing is said.
_PING_S = 15.0


def wants_stream(request: Request) -> bool:
    """Whether the caller asked to hear what happens."""
    return MEDIA_TYPE in request.headers.get("accept", "")


def stream(call: Callable[..., Any], kwargs: Mapping[str, Any], running: Running) -> StreamingResponse:
    """Run a verb and send what it tells. A caller that goes away ends it."""
    return StreamingResponse(
        _events(call, kwargs, running),
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(
    call: Callable[..., Any], kwargs: Mapping[str, Any], running: Running
) -> AsyncIterator[bytes]:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    work = running.begin(partial(call, **kwargs, on_event=heard.put_nowait))
    work.add_done_callback(lambda _: heard.put_nowait(None))
    try:
        while True:
            try:
                event = await asyncio.wait_for(heard.get(), _PING_S)
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            if event is None:
                break
            document = event.document()
            yield _said(str(document.get("type", "event")), document)
        yield _ended(work)
    finally:
        await ended(work)


def _ended(work: asyncio.Future[Any]) -> bytes:
    """How it ended: the status line was sent long ago, so an error is an event too."""
    if work.cancelled():
        return _said("error", {"code": "cancelled", "detail": "it was cancelled", "status": 499})
    error = work.exception()
    if isinstance(error, RecollectError):
        problem = {"code": error.code, "detail": str(error), "status": status_of(error).value}
        return _said("error", problem)
    if error is not None:
        problem = {
            "code": "unexpected",
            "detail": "something failed here; the server's log says what",
            "status": 500,
        }
        return _said("error", problem)
    return _said("result", encode(work.result()))


def _said(event: str, document: Any) -> bytes:
    return format_sse_event(data_str=json.dumps(document), event=event)


HEADER = "idempotency-key"
REPLAYED = "Idempotent-Replayed"
_MAX_CHARS = 255


async def once(
    request: Request, client: AsyncRecollect, carry_out: Callable[[], Awaitable[Response]]
) -> Response:
    """Carry a request out, unless it was before under the same key."""
    key = request.headers.get(HEADER)
    if key is None:
        return await carry_out()
    if not 0 < len(key) <= _MAX_CHARS or not key.isprintable():
        raise InvalidInputError(f"an Idempotency-Key has 1 to {_MAX_CHARS} printable characters")
    workspace = await client._workspace()
    context = client.tenant_context
    fingerprint = await _fingerprint(request)
    async with workspace.store.transaction(context) as tx:
        claim = await replies.claim(tx, key, fingerprint, now=workspace.clock())
    if isinstance(claim, replies.Reply):
        return _again(claim, fingerprint)
    before = request_claim.set(claim)
    try:
        response = await carry_out()
    except BaseException as error:
        request_claim.reset(before)
        # What the store failed at may be stored all the same, or the transaction before it.
        sure = isinstance(error, RecollectError) and not isinstance(error, StoreError)
        async with workspace.store.transaction(context) as tx:
            await replies.release(tx, claim, sure=sure)
        raise
    request_claim.reset(before)

    async def settle() -> None:
        async with workspace.store.transaction(context) as tx:
            if response.status_code < HTTPStatus.BAD_REQUEST:
                body = bytes(response.body).decode()
                await replies.settle(tx, claim, status=response.status_code, body=body)
            else:
                await replies.release(tx, claim, sure=True)

    await try_twice(settle, only_reads=True)  # saying it twice changes nothing
    return response


def _again(known: replies.Reply, fingerprint: bytes) -> Response:
    if known.request != fingerprint:
        raise ConflictError("this Idempotency-Key was used for another request; take a new one for each")
    if known.status == 0:
        raise ConflictError(
            "the request with this Idempotency-Key was carried out, at least in part, but its answer was lost; "
            "look for what it did"
        )
    if known.status is None:
        return respond(
            HTTPStatus.CONFLICT,
            "in_progress",
            "the first request with this Idempotency-Key is still being carried out",
            headers={"Retry-After": "1"},
        )
    return Response(
        known.body, status_code=known.status, media_type="application/json", headers={REPLAYED: "true"}
    )


async def _fingerprint(request: Request) -> bytes:
    line = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    return hashlib.sha256(line + await request.body()).digest()
