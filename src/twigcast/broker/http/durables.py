"""``/v1/subscriptions/{name}``: a durable subscription, kept, pulled from and ended by its name.

    PUT ──► kept: documents wait ──pull──► some of them, for a while ──► ack, nack
                                                                 └──► come again

A program that has no stream open takes documents when it has time.  What it took is its own until
it has said what became of it, or its lease is over (:mod:`~twigcast.broker.pulls`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import JSONResponse, Response

from twigcast.broker.access import Permission
from twigcast.broker.broker import Expression
from twigcast.broker.client_session import check_name
from twigcast.broker.durables import AskedOptions
from twigcast.broker.http.bodies import body_of, read_model, unless_gone
from twigcast.broker.http.context import (
    KnownCaller,
    RequestBindings,
    Scope,
    binding_parameters,
    only,
    refuse_body,
)
from twigcast.broker.http.documents import document_fields, http_headers
from twigcast.broker.http.errors import answers
from twigcast.broker.http.models import (
    Acknowledgement,
    GivenBack,
    KeptSubscription,
    QueueState,
    Refusal,
)
from twigcast.broker.http.pages_elsewhere import require_mark
from twigcast.broker.http.times import seconds
from twigcast.broker.pace import BATCH
from twigcast.broker.subscriptions import DurableSubscription, Given
from twigcast.documents import parse_value_path
from twigcast.errors import RefusedError
from twigcast.times import show_time
from twigcast.wire import messages

router = APIRouter(tags=["subscriptions"])

_WAIT: Final = ("0s", "60s")
_LEASE: Final = ("1s", "12h")
_DELAY: Final = ("0s", "7d")

Name = Annotated[str, Path(description="The name of a durable subscription.", min_length=1)]

Xpaths: TypeAlias = Annotated[
    list[str],
    Query(
        default_factory=list,
        description="What to subscribe to; several times for several. May be left out to go on "
        "with a durable subscription as it is.",
    ),
]

OPTIONS: Final = ("shared", "ordered-by", "deliveries")


async def options_of(
    bindings: RequestBindings,
    shared: Annotated[
        bool | None,
        Query(
            description="For a durable subscription: whether several readers share its documents, "
            "each document for one of them. Kept with the subscription."
        ),
    ] = None,
    ordered_by: Annotated[
        str | None,
        Query(
            alias="ordered-by",
            description="For a shared one, a path to a value such as `/order/@customer`: documents "
            "with the same value are given out in order.",
        ),
    ] = None,
    deliveries: Annotated[
        int | None,
        Query(
            ge=0,
            le=2**31 - 1,
            description="For a durable subscription: how often a document is given out before it "
            "is set aside as a letter; 0 for without end.",
        ),
    ] = None,
) -> AskedOptions:
    """How the documents of a durable subscription are to be given out; raises RefusedError."""
    key = ordered_by
    try:
        if key:
            key = str(parse_value_path(key, bindings.namespaces))
    except ValueError as error:
        raise RefusedError(f"ordered-by: {error}", "bad-expression") from None
    return AskedOptions(shared, key, deliveries)


Options: TypeAlias = Annotated[AskedOptions, Depends(options_of)]


@router.put(
    "/v1/subscriptions/{name:path}",
    dependencies=[
        only("xpath", "scope", *OPTIONS, repeated="xpath", binding=True),
        Depends(refuse_body),
    ],
    responses=answers("It is kept.", 400, 401, 403, 404, 429, 503, model=KeptSubscription),
    openapi_extra=binding_parameters(),
)
async def keep(
    caller: KnownCaller,
    name: Name,
    bindings: RequestBindings,
    xpath: Xpaths,
    options: Options,
    scope: Scope = "",
) -> JSONResponse:
    """Make a durable subscription, or give it other expressions, without reading from it."""
    caller.require(Permission.SUBSCRIBE)
    check_name(name)
    broker = caller.broker
    broker.keeper.require(caller.principal, name)
    patterns = await broker.parse_expressions({each: Expression(each, bindings) for each in xpath})
    if scope:
        options = options._replace(scope=broker.depth_of_scope(scope))
    durable = await broker.keeper.put(name, caller.principal, patterns, options)
    unreached = await broker.keeper.confirm()
    return JSONResponse({**_state(durable), "unreached": list(unreached)})


# --- pulling --------------------------------------------------------------------------------------

_BODIES: Final = {
    "application/json": {"schema": {"$ref": "#/components/schemas/Pulled"}},
    "application/xml": {"schema": {"type": "string"}},
    "*/*": {"schema": {"type": "string"}},
}


@router.post(
    "/v1/subscriptions/{name:path}/pull",
    dependencies=[
        Depends(require_mark),
        only("limit", "wait", "lease"),
        Depends(refuse_body),
    ],
    response_class=Response,
    responses={
        **answers(
            "Documents that wait, as JSON; none if none came. A request that accepts XML, not "
            "JSON, gets one document as it is: its headers as those of `POST /v1/publish`, and "
            "`Twigcast-Id`, `-Sequence`, `-Attempts`, `-Published`, `-Expires` and `-Missed`.",
            *(400, 401, 403, 404, 409, 503),
            content=_BODIES,
        ),
        204: {"description": "No document came, and the request accepts XML."},
    },
)
async def pull(
    request: Request,
    caller: KnownCaller,
    name: Name,
    limit: Annotated[int, Query(ge=1, le=BATCH, description="The most documents.")] = 1,
    wait: Annotated[
        str, Query(description="How long to wait for the first document, up to `60s`.")
    ] = "0s",
    lease: Annotated[
        str,
        Query(
            description="How long the documents are for the caller, from `1s` to `12h`. What is "
            "not acknowledged by then was given out in vain, and comes again."
        ),
    ] = "30s",
) -> Response:
    """Take documents that wait, and have them for a while; other pulls get others."""
    patience = seconds("wait", wait, *_WAIT)
    held = seconds("lease", lease, *_LEASE)
    is_raw = _accepts_raw(request)
    if is_raw and limit > 1:
        raise RefusedError(
            "one document is given at a time as XML: leave limit out, or accept application/json",
            "invalid",
        )
    caller.require(Permission.SUBSCRIBE)
    keeper = caller.broker.keeper
    taking = keeper.pull(keeper.of(caller.principal, name), limit)
    found: list[Given] = []
    try:
        found, missed = await unless_gone(request, taking.documents(patience), caller.api.stopping)
        if missed:
            keeper.note_missed(taking.durable)
    finally:
        if found:
            keeper.lease(taking, held)
        else:
            keeper.detach(taking)
    attempts = taking.durable.queue.attempts
    deliveries = [_delivery(each, attempts.get(each.sequence, 0)) for each in found]
    if not is_raw:
        fields = [delivery_fields(each) for each in deliveries]
        return JSONResponse({"documents": fields, "missed": missed})
    return _raw(deliveries[0], missed) if deliveries else Response(status_code=204)


def _accepts_raw(request: Request) -> bool:
    accepted = request.headers.get("accept", "").lower()
    return "xml" in accepted and "json" not in accepted


def _delivery(given: Given, attempts: int) -> messages.Delivery:
    delivery = messages.Delivery.FromString(given.document)
    delivery.keys.extend(given.keys)
    delivery.sequence = given.sequence
    delivery.attempts = attempts
    return delivery


def delivery_fields(delivery: messages.Delivery) -> dict[str, Any]:
    """A document that is delivered, as fields of a JSON object."""
    return {
        **document_fields(delivery),
        "keys": list(delivery.keys),
        "sequence": delivery.sequence or None,
        "attempts": delivery.attempts,
    }


def _raw(delivery: messages.Delivery, missed: int) -> Response:
    """A document as it is, with headers."""
    headers = http_headers(tuple(delivery.headers.items()))
    headers.setdefault("content-type", "application/xml")
    headers |= {
        "twigcast-id": delivery.id,
        "twigcast-sequence": str(delivery.sequence),
        "twigcast-attempts": str(delivery.attempts),
        "twigcast-published": show_time(delivery.published),
        "twigcast-missed": str(missed),
    }
    if delivery.expires:
        headers["twigcast-expires"] = show_time(delivery.expires)
    return Response(delivery.content, headers=headers)


# --- what became of documents ---------------------------------------------------------------------


@router.post(
    "/v1/subscriptions/{name:path}/ack",
    dependencies=[Depends(require_mark)],
    responses=answers(
        "Where the queue stands now.", 400, 401, 403, 404, 408, 413, model=QueueState
    ),
    openapi_extra={"requestBody": body_of(Acknowledgement, required=True)},
)
async def acknowledge(request: Request, caller: KnownCaller, name: Name) -> JSONResponse:
    """Say that documents of a durable subscription need not come again."""
    broker = caller.broker
    broker.keeper.of(caller.principal, name)
    said = await read_model(request, Acknowledgement)
    durable = broker.keeper.of(caller.principal, name)  # it may have gone meanwhile
    await broker.keeper.acknowledge(durable, said.upto, said.sequences)
    return JSONResponse(_state(durable))


def _state(durable: DurableSubscription) -> dict[str, int]:
    state = durable.state()
    return {"first": state.first, "last": state.last, "acknowledged": state.acknowledged}


@router.post(
    "/v1/subscriptions/{name:path}/nack",
    dependencies=[Depends(require_mark)],
    responses=answers("What was given back.", 400, 401, 403, 404, 408, 413, model=GivenBack),
    openapi_extra={"requestBody": body_of(Refusal, required=True)},
)
async def give_back(request: Request, caller: KnownCaller, name: Name) -> JSONResponse:
    """Say that documents of a durable subscription could not be used: they come again."""
    keeper = caller.broker.keeper
    keeper.of(caller.principal, name)
    said = await read_model(request, Refusal)
    durable = keeper.of(caller.principal, name)  # it may have gone meanwhile
    delay = seconds("delay", said.delay, *_DELAY)
    return JSONResponse({"sequences": keeper.give_back_any(durable, said.sequences, delay)})


@router.delete(
    "/v1/subscriptions/{name:path}",
    status_code=204,
    response_class=Response,
    responses=answers(
        "There is no such subscription any more.", 400, 401, 403, 404, 503, status=204
    ),
)
async def forget(caller: KnownCaller, name: Name) -> Response:
    """End a durable subscription for good, with the documents that it keeps."""
    caller.require(Permission.SUBSCRIBE)
    await caller.broker.keeper.forget(caller.broker.keeper.of(caller.principal, name).name)
    return Response(status_code=204)
