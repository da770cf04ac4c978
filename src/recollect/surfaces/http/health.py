"""How the server is: alive, ready to answer, and what it has counted. None of it tells anything of a tenant."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from recollect import telemetry
from recollect.errors import RecollectError, StoreUnreachableError
from recollect.surfaces.http.problems import RESPONSES, respond
from recollect.surfaces.http.sharing import metrics_text

if TYPE_CHECKING:
    from recollect.client.async_client import AsyncRecollect


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

    @app.get("/readyz", tags=["server"], summary="Whether the store answers.", responses={503: {}})
    async def readyz() -> Response:
        try:
            if await _is_down(client):
                return _unavailable(StoreUnreachableError.code)
            await client.status()
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
        if not client.settings.telemetry or not telemetry.counts_here():
            return respond(HTTPStatus.NOT_IMPLEMENTED, "not_counted", _uncounted(client))
        text = await asyncio.to_thread(metrics_text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _is_down(client: AsyncRecollect) -> bool:
    """Whether the embedded database is down. It is not started: somebody may have stopped it on purpose.

    A database by URL has a life of its own, and starting this process anew would not help it: never down here.
    """
    store = (await client._workspace()).store
    return store.door.embedded and not await store.connector.answers()


def _unavailable(code: str) -> Response:
    return JSONResponse({"status": "unavailable", "code": code}, status_code=503)


def _uncounted(client: AsyncRecollect) -> str:
    if not client.settings.telemetry:
        return "nothing is counted: the setting `telemetry` is off"
    return "counting needs the OpenTelemetry SDK; run: pip install 'recollect[telemetry]', and start the server again"
