"""``GET /v1/ask``: the documents in the store that match an expression, newest first."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from twigcast.broker.access import Permission
from twigcast.broker.broker import Expression
from twigcast.broker.http.bodies import StreamedResponse, unless_gone
from twigcast.broker.http.context import (
    KnownCaller,
    RequestBindings,
    binding_parameters,
    only,
)
from twigcast.broker.http.documents import document_fields
from twigcast.broker.http.errors import answers
from twigcast.broker.http.models import Counted
from twigcast.broker.http.times import milliseconds
from twigcast.broker.store.records import StoredDocument

router = APIRouter(tags=["documents"])

_Batches: TypeAlias = AsyncGenerator[tuple[list[StoredDocument], int], None]

_LINES: Final = {
    "application/x-ndjson": {
        "schema": {"type": "string"},
        "x-line": {"$ref": "#/components/schemas/DocumentBody"},
    },
    "application/json": {"schema": {"$ref": "#/components/schemas/Counted"}},
}


@router.get(
    "/v1/ask",
    dependencies=[only("xpath", "limit", "since", "count", binding=True)],
    response_class=Response,
    responses=answers(
        "A line of JSON for each document, as `x-line` says; or, with `count`, how many there are.",
        *(400, 401, 403, 503),
        content=_LINES,
    ),
    openapi_extra=binding_parameters(),
)
async def ask(
    request: Request,
    caller: KnownCaller,
    bindings: RequestBindings,
    xpath: Annotated[str, Query(description="What they match.")],
    limit: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="The most documents; 0 for all.")
    ] = 0,
    since: Annotated[
        str,
        Query(
            description="Only documents stored at or after this time: ISO 8601, or how long ago, "
            "as in `2h`."
        ),
    ] = "",
    count: Annotated[
        bool, Query(description="Whether only to say how many match, without the documents.")
    ] = False,
) -> Response:
    """Ask for documents that the broker keeps."""
    caller.require(Permission.ASK)
    broker = caller.broker
    pattern = (await broker.parse_expressions({"": Expression(xpath, bindings)}))[""]
    batches = broker.ask(pattern, limit, milliseconds("since", since) if since else 0)
    if count:
        counted = await unless_gone(request, _count(batches), caller.api.stopping)
        return JSONResponse(counted.model_dump())
    first = await anext(batches, None)  # raises where there is no store
    lines = _lines(first[0] if first else [], batches)
    return StreamedResponse(lines, "application/x-ndjson", caller.api.stopping)


async def _count(batches: _Batches) -> Counted:
    counted = Counted(matched=0, examined=0)
    async with aclosing(batches):
        async for found, examined in batches:
            matched = counted.matched + len(found)
            counted = Counted(matched=matched, examined=examined)
    return counted


async def _lines(documents: list[StoredDocument], more: _Batches) -> AsyncGenerator[bytes, None]:
    async with aclosing(more):
        for each in documents:
            yield _line(each)
        async for following, _ in more:
            for each in following:
                yield _line(each)


def _line(document: StoredDocument) -> bytes:
    return json.dumps(document_fields(document)).encode() + b"\n"
