"""Errors as HTTP tells them: a status, and a document of RFC 9457 with the stable code.

One table maps codes to statuses; the words are those of the error. An error that nobody foresaw says only that: its
text may hold what a stranger must not see.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from recollect import errors
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
_NO_JSON = "its body is not JSON"
_NO_OBJECT = "must be a JSON object, sent with Content-Type: application/json"

#: The nearest class of an error decides.
_STATUSES: Mapping[type[RecollectError], HTTPStatus] = {
    errors.InvalidInputError: HTTPStatus.BAD_REQUEST,
    errors.ConfigurationError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.DocumentTooLargeError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.DocumentUnsupportedError: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.DocumentReaderMissingError: HTTPStatus.NOT_IMPLEMENTED,
    errors.NotFoundError: HTTPStatus.NOT_FOUND,
    errors.UnauthorizedError: HTTPStatus.UNAUTHORIZED,
    errors.ForbiddenError: HTTPStatus.FORBIDDEN,
    errors.ConflictError: HTTPStatus.CONFLICT,
    errors.EmbedderError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ModelError: HTTPStatus.BAD_GATEWAY,
    errors.RunInterruptedError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RunError: HTTPStatus.CONFLICT,
    errors.StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    RecollectError: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """What went wrong. `code` is stable and for programs, `detail` is for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldProblem] | None = None


def status_of(error: RecollectError) -> HTTPStatus:
    """The status of the error's family."""
    return next(_STATUSES[cls] for cls in type(error).__mro__ if cls in _STATUSES)


def respond(
    status: HTTPStatus | int,
    code: str,
    detail: str,
    *,
    fields: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem as a response."""
    number = HTTPStatus(status)
    problem = Problem(
        type=f"urn:recollect:{code}",
        title=number.phrase,
        status=number.value,
        detail=detail,
        code=code,
        errors=list(fields) or None,
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=number.value,
        media_type=MEDIA_TYPE,
        headers=dict(headers or {}),
    )


def refuse(error: RecollectError) -> Response:
    """An error that Recollect raised on purpose."""
    headers = {}
    if isinstance(error, errors.UnauthorizedError):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, errors.StoreBusyError):
        headers["Retry-After"] = "1"
    return respond(status_of(error), error.code, str(error), headers=headers)


def install(app: FastAPI) -> None:
    """Answer every error with a problem."""

    @app.exception_handler(RecollectError)
    async def _known(request: Request, error: RecollectError) -> Response:
        return refuse(error)

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> Response:
        known = _known_fields(request)
        fields = [_field(fault, known) for fault in error.errors()[:20]]
        detail = (
            "; ".join(f"{field.field}: {field.message}" for field in fields[:3])
            or "the request can't be read"
        )
        return respond(HTTPStatus.BAD_REQUEST, "invalid_input", detail, fields=fields)

    @app.exception_handler(HTTPException)
    async def _plain(request: Request, error: HTTPException) -> Response:
        if error.status_code == HTTPStatus.BAD_REQUEST:
            # FastAPI's word for a body that can't even be decoded.
            return respond(HTTPStatus.BAD_REQUEST, "invalid_input", f"the request: {_NO_JSON}")
        code, detail = "http_error", str(error.detail)
        if error.status_code == HTTPStatus.NOT_FOUND:
            code, detail = (
                "not_found",
                f"nothing is at {request.url.path[:200]!r}; /v1/docs lists all that is",
            )
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            methods = (error.headers or {}).get("Allow", "another method")
            code, detail = (
                "method_not_allowed",
                f"{request.url.path[:200]!r} takes {methods}, not {request.method}",
            )
        return respond(error.status_code, code, detail, headers=error.headers)


class Unforeseen:
    """Answers for an error that nobody foresaw. The log says where it happened, and quotes nothing that was sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            if scope["type"] != "http":
                raise
            # The route, not the address; the kind of error, not its words: those may be somebody's.
            route = getattr(scope.get("route"), "path", "a request")
            where = "".join(traceback.format_tb(error.__traceback__))
            log.error("%s %s failed: %s\n%s", scope["method"], route, type(error).__name__, where)
            if started:
                raise RuntimeError("an answer broke off") from None
            await _UNFORESEEN(scope, receive, send)


def _known_fields(request: Request) -> list[str]:
    """What the address takes in its body or behind the question mark."""
    takes = getattr(request.scope.get("route"), "dependant", None)
    models = (
        [field.field_info.annotation for field in (*takes.body_params, *takes.query_params)] if takes else []
    )
    return [name for model in models for name in getattr(model, "model_fields", ())]


def _field(error: Mapping[str, Any], known: Sequence[str]) -> FieldProblem:
    """What is wrong with a field, without what was given: that may be somebody's secret."""
    # The first part says whether it stood in the body, the address or a header.
    place = [str(part) for part in error["loc"][1:]]
    name = ".".join(place) or "the request"
    if error["type"] == "extra_forbidden":
        near = get_close_matches(place[-1], known, n=1) if len(place) == 1 else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return FieldProblem(field=name, message=f"unknown field {place[-1]!r}{hint}")
    if error["type"] == "json_invalid":
        return FieldProblem(field="the request", message=_NO_JSON)
    if error["type"] == "model_attributes_type":
        return FieldProblem(field=name, message=_NO_OBJECT)
    # Pydantic's words, as ours are: "Input should be a valid string" is "must be a string".
    message = (
        str(error["msg"]).replace("Input should be a valid ", "must be a ").replace("Input should", "must")
    )
    return FieldProblem(field=name, message=f"{message[:1].lower()}{message[1:]}")


_UNFORESEEN = respond(
    HTTPStatus.INTERNAL_SERVER_ERROR, "unexpected", "something failed here; the server's log says what"
)
_REFERENCE = {"$ref": "#/components/schemas/Problem"}
#: What every route may answer beside its result, for the OpenAPI document.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": _REFERENCE}}}
    for status in (400, 401, 403, 404, 409, 413, 415, 429, 501, 502, 503)
}
