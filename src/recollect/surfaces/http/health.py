"""How the server is: alive, ready to answer, and what it has counted. None of it tells anything of a tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from recollect import telemetry
from recollect.errors import RecollectError

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
    )
    async def metrics() -> Response:
        return Response(telemetry.prometheus_text(), media_type="text/plain; version=0.0.4; charset=utf-8")
