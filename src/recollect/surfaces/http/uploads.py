"""Documents sent over the network: their bytes as the body, everything else in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

from recollect.errors import InvalidInputError
from recollect.surfaces.http.problems import RESPONSES
from recollect.surfaces.http.routes import Admit, answer

if TYPE_CHECKING:
    from recollect.client import AsyncRecollect

UPLOAD_PATH = "/v1/library/documents"


def add_uploads(app: FastAPI, admit: Admit) -> None:
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
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def add(
        request: Request,
        name: Annotated[str, Query(description="Its file name, which tells what it is.", max_length=1_000)],
        id: Annotated[str | None, Query(description="What it is called; its name when not given.")] = None,
        title: str | None = None,
        tags: Annotated[list[str] | None, Query()] = None,
        layer: str = "user",
        scope: str | None = None,
        kind: str | None = None,
        wait: bool = False,
    ) -> Response:
        client: AsyncRecollect = await admit(request)
        data = await request.body()
        if not data:
            raise InvalidInputError("the body is empty; send the document's bytes")
        report = await client.library.add(
            data, id=id, name=name, title=title, tags=tags, layer=layer, scope=scope, kind=kind, wait=wait
        )
        return answer(report, request, status=201, cached=False)
