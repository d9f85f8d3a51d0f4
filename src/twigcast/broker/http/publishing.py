"""``POST /v1/publish``: a document, or many, answered when they are safe."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse

from twigcast.broker.access import Permission
from twigcast.broker.batches import Publication
from twigcast.broker.http.bodies import parse_model, read_body
from twigcast.broker.http.context import KnownCaller, only
from twigcast.broker.http.errors import NOT_STORED, answers, problem_response
from twigcast.broker.http.models import Publications, PublishedBatch
from twigcast.errors import RefusedError

router = APIRouter(tags=["documents"])

_BODY: Final = {
    "required": True,
    "description": "One XML document, whatever the content type; or, as JSON, many.",
    "content": {
        "application/xml": {"schema": {"type": "string"}},
        "application/json": {"schema": {"$ref": "#/components/schemas/PublishedBatch"}},
        "*/*": {"schema": {"type": "string"}},
    },
}


@router.post(
    "/v1/publish",
    dependencies=[only("id")],
    responses=answers(
        "They are safe at this broker. Of many, some may have been refused.",
        *(400, 401, 403, 408, 413, 429, 503, NOT_STORED),
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
            "harm; unique among all publishers. For one document; JSON has its own.",
        ),
    ] = "",
) -> JSONResponse:
    """Publish one document, or many."""
    caller.require(Permission.PUBLISH)
    limits = caller.broker.config.limits
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        content = await read_body(request, limits.document_bytes, "limits.document_bytes")
        ids, problems = await caller.api.publishers.publish(caller, [_publication(content, id)])
        for problem in problems:
            status = NOT_STORED if problem.code == "unavailable" else None
            return problem_response(problem.code, problem.reason, status)
        return JSONResponse({"ids": ids, "problems": []})
    body = await read_body(request, limits.message_bytes, "limits.message_bytes")
    batch = parse_model(body, PublishedBatch)
    own = batch.ids if batch.ids is not None else [""] * len(batch.documents)
    if len(own) != len(batch.documents) or id:
        raise RefusedError(
            "ids has one for each of the documents, an empty one for none, and there is no "
            "parameter id beside it",
            "invalid",
        )
    publications = [
        # Half a character is not well-formed, and refused as such.
        _publication(text.encode("utf-8", "surrogatepass"), each)
        for text, each in zip(batch.documents, own, strict=True)
    ]
    ids, problems = await caller.api.publishers.publish(caller, publications)
    return JSONResponse(
        {
            "ids": [each or None for each in ids],
            "problems": [asdict(each) for each in sorted(problems)],
        }
    )


def _publication(content: bytes, identity: str) -> Publication:
    if not identity.isprintable():
        raise RefusedError("the id of a publication has printable characters", "invalid")
    # Whoever gives an id may be repeating a request whose answer got lost.
    return Publication(content, identity, bool(identity))
