"""The application behind `recollect serve`, put together from its parts.

What no verb does is here: how the server is (alive, ready, what it counted; nothing of a tenant), and documents sent as
the body of a request. Of several processes each writes its counts to a folder of theirs, every few seconds; the one
that answers reads them all, and a label says whose each is. One process alone tells its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from recollect import telemetry
from recollect.client.async_client import AsyncRecollect
from recollect.errors import (
    ConfigurationError,
    InvalidInputError,
    RecollectError,
    StoreBusyError,
    StoreUnreachableError,
)
from recollect.library.reading.sections import DEFAULT_LIMITS
from recollect.storage.connections import try_twice
from recollect.surfaces.dashboard.addresses import DROP_PATH
from recollect.surfaces.http import problems
from recollect.surfaces.http.auth import Doorkeeper, Guarded, caller_of
from recollect.surfaces.http.events import Feed, add_events
from recollect.surfaces.http.limits import Attended, BodyLimit, RateLimit, Running, Turns, at_once
from recollect.surfaces.http.problems import RESPONSES, respond
from recollect.surfaces.http.reference import PATH as REFERENCE
from recollect.surfaces.http.reference import add_reference
from recollect.surfaces.http.routes import add_verbs, answer
from recollect.surfaces.roots import check_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.mcpserver import Context, MCPServer
    from prometheus_client.metrics_core import Metric
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recollect.config import Settings


_EVERY_S = 2.0
_SUFFIX = ".prom"

_place: tuple[Path, int] | None = None


def share(folder: Path, worker: int) -> None:
    """From now on, put what this process counts where the others find it."""
    global _place
    _place = (folder, worker)

    def write() -> None:
        while folder.is_dir():
            _write(folder, worker)
            threading.Event().wait(_EVERY_S)

    threading.Thread(target=write, name="counts", daemon=True).start()


def metrics_text() -> bytes:
    """What was counted, in Prometheus's text format."""
    if _place is None:
        return telemetry.prometheus_text()
    folder, worker = _place
    _write(folder, worker)
    texts = [(file.stem, file.read_text(encoding="utf-8")) for file in sorted(folder.glob(f"*{_SUFFIX}"))]
    return _together(texts)


def _write(folder: Path, worker: int) -> None:
    """In one step: a reader never sees half of it."""
    made = folder / f"{worker}.{threading.get_ident()}.new"
    try:
        made.write_bytes(telemetry.prometheus_text())
        os.replace(made, folder / f"{worker}{_SUFFIX}")
    except FileNotFoundError:  # the server has stopped, and the folder with it
        return


def _together(texts: Iterable[tuple[str, str]]) -> bytes:
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Told(texts))
    return generate_latest(registry)


class _Told:
    """The counts of several processes as one collection."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._texts = list(texts)

    def collect(self) -> Iterator[Metric]:
        """Each metric once, with the samples of all."""
        from prometheus_client.metrics_core import Metric
        from prometheus_client.parser import text_string_to_metric_families

        metrics: dict[str, Any] = {}
        for worker, text in self._texts:
            for family in text_string_to_metric_families(text):
                metric = metrics.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    metric.add_sample(sample.name, {**sample.labels, "worker": worker}, sample.value)
        yield from metrics.values()


_UNCOUNTED = "counting needs the OpenTelemetry SDK; run: pip install 'recollect[telemetry]', and start the server again"
#: What belongs to no route: addresses are a client's words, and have no place among labels.
ELSEWHERE = "elsewhere"


class Counted:
    """An application whose requests are counted and timed, from the first byte to the last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path_format", None) or ELSEWHERE
            taken_ms = (time.perf_counter() - began) * 1000
            telemetry.answered(route, scope["method"], status, taken_ms)


_DOCUMENT = "/v1/openapi.json"
#: Of a request that is no document; ten thousand memories fit into it.
_MAX_BODY_BYTES = 10_000_000


#: A store that takes longer to begin a transaction is not ready for more.
_READY_S = 3.0


def _needs_no_key(path: str) -> bool:
    return not path.startswith("/v1/") or path in (_DOCUMENT, REFERENCE)


def create_app(settings: Settings, *, dashboard: bool = False) -> FastAPI:
    """The application on one store, which it opens when it starts and closes when it ends.

    One application of a process may have the `dashboard`.
    """
    # Of the store itself, whatever server this machine's own commands ask; and what no root opens, nothing reads.
    client = AsyncRecollect(settings=settings.replace(url=None, api_key=None, roots=settings.roots or ()))
    doorkeeper = Doorkeeper(client)
    rate = RateLimit(settings.serve_requests_per_minute)
    roots = [Path(root).resolve() for root in settings.roots or ()]

    tools = _tools(doorkeeper, roots)
    feed = Feed(client)
    running = Running()
    turns = Turns(at_once(workers=settings.serve_workers))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            _count()
            await stack.enter_async_context(client)
            stack.push_async_callback(running.settled)
            await stack.enter_async_context(feed.running())
            if tools is not None:
                await stack.enter_async_context(tools.session_manager.run())
            yield

    app = FastAPI(
        title="Recollect",
        summary="The memory of AI agents.",
        version=version("recollect"),
        lifespan=lifespan,
        openapi_url=_DOCUMENT,
        docs_url=None,
        redoc_url=None,
    )

    async def admit(headers: Mapping[str, str]) -> AsyncRecollect:
        caller = await doorkeeper.admit(headers)
        rate.take(headers.get("authorization", ""))
        return caller

    problems.install(app)
    add_health(app, client)
    add_reference(app)
    add_uploads(app, roots)
    add_events(app, doorkeeper, feed)
    add_verbs(app, roots, turns, running)
    app.add_middleware(Guarded, admit=admit, is_open=_needs_no_key)
    app.add_middleware(
        BodyLimit,
        max_bytes=_MAX_BODY_BYTES,
        max_upload_bytes=DEFAULT_LIMITS.max_file_bytes,
        is_upload=lambda path: path == UPLOAD_PATH or path.startswith(DROP_PATH),
    )
    app.add_middleware(problems.Unforeseen)
    app.add_middleware(Attended, running=running)
    app.add_middleware(Counted)
    if tools is not None:
        mounted = tools.streamable_http_app(streamable_http_path="/", stateless_http=True)
        app.mount("/mcp", Guarded(mounted, doorkeeper.admit))
    app.state.client, app.state.running = client, running
    if dashboard:
        from recollect.surfaces.dashboard.mount import mount

        mount(app, client, doorkeeper, feed)
    _secured(app)
    return app


def _tools(doorkeeper: Doorkeeper, roots: list[Path]) -> MCPServer[Any] | None:
    """The MCP server of the same store, for holders of the same keys; None without its package."""
    try:
        from recollect.surfaces.mcp.server import create_server
    except ImportError:
        return None

    async def admit(context: Context[Any, Any]) -> AsyncRecollect:
        return await doorkeeper.admit(context.headers or {})

    return create_server(admit, roots=roots)


def _secured(app: FastAPI) -> None:
    """Say in the OpenAPI document that everything under /v1 needs a key."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        document = plain()
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = problems.Problem.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        parts["schemas"] |= parts["schemas"]["Problem"].pop("$defs", {})
        parts["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "A key of `recollect keys create`."}
        }
        for path, operations in document["paths"].items():
            if path.startswith("/v1/"):
                for operation in operations.values():
                    operation["security"] = [{"key": []}]
                    # FastAPI's own word for a request that can't be read; here that is a 400 like any other.
                    operation["responses"].pop("422", None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _count() -> None:
    """Count for `/metrics`, where that can be; it says itself what is missing."""
    with suppress(ConfigurationError):
        telemetry.count_here()
        telemetry.waiting(0)  # from the beginning: who has answered nothing yet is seen, too


def add_health(app: FastAPI, client: AsyncRecollect) -> None:
    """`/healthz`, `/readyz` and `/metrics`."""

    @app.get(
        "/healthz",
        tags=["server"],
        summary="Whether the process is alive, and the database that it runs.",
        responses={503: {}},
    )
    async def healthz() -> Response:
        if await _is_down(client):
            return _unavailable(StoreUnreachableError.code)
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", tags=["server"], summary="Whether the store answers, and soon.", responses={503: {}})
    async def readyz() -> Response:
        try:
            # Whoever asks how a server is does not wait long, and takes no answer for "bad".
            async with asyncio.timeout(_READY_S):
                if await _is_down(client):
                    return _unavailable(StoreUnreachableError.code)
                await try_twice(lambda: _touch(client), only_reads=True)
        except TimeoutError:
            return _unavailable(StoreBusyError.code)
        except RecollectError as error:
            return _unavailable(error.code)
        return JSONResponse({"status": "ready"})

    @app.get(
        "/metrics",
        tags=["server"],
        summary="What was counted, for Prometheus.",
        response_class=PlainTextResponse,
        responses={501: RESPONSES[501]},
    )
    async def metrics() -> Response:
        if not telemetry.counts_here():
            return respond(HTTPStatus.NOT_IMPLEMENTED, "not_counted", _UNCOUNTED)
        text = await asyncio.to_thread(metrics_text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _is_down(client: AsyncRecollect) -> bool:
    """Whether the embedded database is down. It is not started: somebody may have stopped it on purpose.

    A database by URL has a life of its own, and starting this process anew would not help it: never down here.
    """
    store = (await client._workspace()).store
    return store.door.embedded and not await store.connector.answers()


async def _touch(client: AsyncRecollect) -> None:
    """Begin a transaction and end it."""
    async with client._transaction():
        pass


def _unavailable(code: str) -> Response:
    return JSONResponse({"status": "unavailable", "code": code}, status_code=503)


UPLOAD_PATH = "/v1/library/documents"


def add_uploads(app: FastAPI, roots: Sequence[Path]) -> None:
    """`POST /v1/library/documents`."""

    @app.post(
        UPLOAD_PATH,
        status_code=201,
        tags=["library"],
        summary="Add a document, or follow one that changed.",
        operation_id="library_add",
        response_class=Response,
        responses=RESPONSES,
        openapi_extra={
            "requestBody": {
                "required": False,
                "content": {
                    "application/octet-stream": {
                        "schema": {"type": "string", "format": "binary"},
                        "example": "# Guide\n\nA token expires after 15 minutes.\n",
                    }
                },
            }
        },
    )
    async def add(
        request: Request,
        name: Annotated[
            str | None,
            Query(
                description="Its file name, which tells what it is.",
                max_length=1_000,
                examples=["guide.md"],
            ),
        ] = None,
        path: Annotated[
            str | None, Query(description="A file of the server's disk, instead of a body.", max_length=4_000)
        ] = None,
        id: Annotated[str | None, Query(description="What it is called; its name when not given.")] = None,
        title: str | None = None,
        tags: Annotated[list[str] | None, Query()] = None,
        layer: str | None = None,
        scope: str | None = None,
        kind: str | None = None,
        wait: bool = False,
    ) -> Response:
        source: bytes | str = await request.body()
        if path is not None:
            if source:
                raise InvalidInputError("give either a body or a path, not both")
            check_path("path", path, roots)
            source = path
        elif not source:
            raise InvalidInputError("the body is empty; send the document's bytes")
        report = await caller_of(request).library.add(
            source, id=id, name=name, title=title, tags=tags, layer=layer, scope=scope, kind=kind, wait=wait
        )
        return answer(report, request, status=201, cached=False)
