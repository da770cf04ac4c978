"""How the server is: alive, ready to answer, and what it has counted. None of it tells anything of a tenant."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from recollect import telemetry
from recollect.errors import RecollectError
from recollect.surfaces.http.problems import RESPONSES, respond
from recollect.surfaces.http.sharing import metrics_text

if TYPE_CHECKING:
    from recollect.client import AsyncRecollect


def add_health(app: FastAPI, client: AsyncRecollect) -> None:
    """`/healthz`, `/readyz` and `/metrics`."""

    @app.get("/healthz", tags=["server"], summary="Whether the process is alive.")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", tags=["server"], summary="Whether the store answers.", responses={503: {}})
    async def readyz() -> Response:
        try:
            await client.status()
        except RecollectError as error:
            return JSONResponse({"status": "unavailable", "code": error.code}, status_code=503)
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


def _uncounted(client: AsyncRecollect) -> str:
    if not client.settings.telemetry:
        return "nothing is counted: the setting `telemetry` is off"
    return "counting needs the OpenTelemetry SDK; run: pip install 'recollect[telemetry]', and start the server again"
