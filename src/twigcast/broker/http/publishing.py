"""``POST /v1/publish``: a document, or many, answered when they are safe."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse

from twigcast.broker.access import Permission
from twigcast.broker.batches import Publication
from twigcast.broker.http.bodies import parse_model, read_body
from twigcast.broker.http.context import KnownCaller, Scope, only
from twigcast.broker.http.documents import cloud_event_id, own_headers, read_headers, trace_of
from twigcast.broker.http.errors import NOT_STORED, answers, problem_response
from twigcast.broker.http.models import Publications, PublishedBatch, PublishedDocument
from twigcast.broker.http.times import milliseconds
from twigcast.errors import RefusedError

router = APIRouter(tags=["documents"])

_GZIP: Final = b"\x1f\x8b"
"""How gzip begins, and no document does."""
_BODY: Final = {
    "required": True,
    "description": "One XML document, whatever the content type; or, as JSON, many. Beside one "
    "document, the headers `Content-Type`, `traceparent`, `tracestate`, `baggage`, `ce-…` (a "
    "CloudEvent in binary mode) and `Twigcast-Header-…` are carried to subscribers. A body may be "
    "packed as `Content-Encoding: gzip`.",
    "content": {
        "application/xml": {"schema": {"type": "string"}},
        "application/json": {"schema": {"$ref": "#/components/schemas/PublishedBatch"}},
        "*/*": {"schema": {"type": "string"}},
    },
}


@router.post(
    "/v1/publish",
    dependencies=[only("id", "expires", "scope", "to")],
    responses=answers(
        "They are safe at this broker. Of many, some may have been refused.",
        *(400, 401, 403, 404, 408, 409, 413, 429, 503, NOT_STORED),
        model=Publications,
    ),
    openapi_extra={"requestBody": _BODY},
)
async def publish(
    request: Request,
    caller: KnownCaller,
    id: Annotated[  # noqa: A002 - what it is called everywhere
        str,
        Query(
            description="An id of the publisher's, so that publishing the document again does no "
            "harm; unique among all publishers. For one document; JSON has its own. A CloudEvent "
            "has one by its source and id.",
        ),
    ] = "",
    expires: Annotated[
        str,
        Query(
            description="From when on nobody wants the document: ISO 8601, or how long from now, "
            "as in `2h`. For one document; JSON has its own."
        ),
    ] = "",
    scope: Scope = "",
    to: Annotated[
        list[str] | None,
        Query(
            description="A durable subscription that the document is addressed to, as "
            "`north/oslo/b3:inbox`: the full name of its broker, a colon and its name. May be "
            "repeated; nobody else gets the document. For one document; JSON has its own."
        ),
    ] = None,
) -> JSONResponse:
    """Publish one document, or many."""
    caller.require(Permission.PUBLISH)
    limits = caller.broker.config.limits
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        headers = read_headers(request.headers)
        event = cloud_event_id(headers)
        if event and id:
            raise RefusedError(
                "a CloudEvent is known by its ce-source and ce-id: leave out the parameter id",
                "invalid",
            )
        until = _until(expires or None)
        content = await read_body(request, limits.document_bytes, "limits.document_bytes")
        if content.startswith(_GZIP):
            raise RefusedError(
                "the body looks like gzip: say so by the header Content-Encoding: gzip", "malformed"
            )
        publication = _publication(content, id or event, headers, until, scope, to or ())
        ids, problems = await caller.api.publishers.publish(request, caller, [publication])
        for problem in problems:
            status = NOT_STORED if problem.code == "unavailable" else None
            return problem_response(problem.code, problem.reason, status)
        return JSONResponse({"ids": ids, "problems": []})
    given = {"id": id, "expires": expires, "scope": scope, "to": to}
    said = [name for name, value in given.items() if value]
    if said := said + own_headers(request.headers):
        raise RefusedError(
            "in JSON each document has its own id, expires, scope, to and headers: leave out "
            f"{', '.join(said)} of the request",
            "invalid",
        )
    body = await read_body(request, limits.message_bytes, "limits.message_bytes")
    batch = parse_model(body, PublishedBatch)
    trace = trace_of(request.headers)
    publications = [_read(each, trace) for each in batch.documents]
    ids, problems = await caller.api.publishers.publish(request, caller, publications)
    return JSONResponse(
        {
            "ids": [each or None for each in ids],
            "problems": [asdict(each) for each in sorted(problems)],
        }
    )


def _read(document: str | PublishedDocument, trace: Mapping[str, str]) -> Publication:
    """A document of many; one that says nothing of its trace is part of that of the request."""
    if isinstance(document, str):
        document = PublishedDocument(content=document)
    if document.encoding == "base64":
        try:
            content = b64decode(document.content, validate=True)
        except ValueError as error:
            raise RefusedError(f"the content is no base64: {error}", "invalid") from None
    else:
        # Half a character is not well-formed, and refused as such.
        content = document.content.encode("utf-8", "surrogatepass")
    has_trace = "traceparent" in document.headers
    headers = document.headers if has_trace else {**trace, **document.headers}
    until = _until(document.expires)
    return _publication(content, document.id, headers, until, document.scope, document.to)


def _until(expires: str | None) -> int:
    return 0 if expires is None else milliseconds("expires", expires, ahead=True)


def _publication(
    content: bytes,
    identity: str,
    headers: Mapping[str, str],
    expires: int,
    scope: str,
    to: Sequence[str],
) -> Publication:
    # Whoever gives an id may be repeating a request whose answer got lost.
    said = tuple(headers.items())
    return Publication(content, identity, bool(identity), said, expires, scope, tuple(to))
