"""Documents sent over the network: their bytes as the body, everything else in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

from recollect.errors import InvalidInputError
from recollect.surfaces.http.auth import caller_of
from recollect.surfaces.http.problems import RESPONSES
from recollect.surfaces.http.routes import answer
from recollect.surfaces.roots import check_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
