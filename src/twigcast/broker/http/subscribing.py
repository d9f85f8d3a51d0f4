"""``GET /v1/subscribe``: documents as they come, as server-sent events; and what belongs to it.

    session ──deliveries──► events ──► connection, at the pace of the reader
       ▲                                   │
       └── consumed, and acknowledged ◄────┘   once they are written

A reader that does not read holds up its own events: what waits for it waits in the queue of its
subscription, in memory and then on disk, as for any client.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from starlette.responses import JSONResponse, Response

from twigcast.broker.access import Permission
from twigcast.broker.broker import Expression
from twigcast.broker.client_session import ClientSession, Subscription
from twigcast.broker.durables import AskedOptions
from twigcast.broker.http.bodies import StreamedResponse, body_of, content_of, read_model
from twigcast.broker.http.context import (
    KnownCaller,
    RequestBindings,
    binding_parameters,
    only,
)
from twigcast.broker.http.errors import answers
from twigcast.broker.http.models import Acknowledgement, GivenBack, QueueState, Refusal
from twigcast.broker.http.pages_elsewhere import Mark, require_mark
from twigcast.broker.http.times import milliseconds, whole_number
from twigcast.documents import parse_value_path
from twigcast.errors import RefusedError
from twigcast.language import Bindings
from twigcast.wire import messages

router = APIRouter(tags=["subscriptions"])

KEEP_ALIVE: float = 15.0
"""After how many seconds of silence a comment is sent, so that nothing in between hangs up."""
_WINDOW: Final = 256

_EVENTS: Final = {
    "text/event-stream": {
        "schema": {"type": "string"},
        "x-events": {
            "document": {"$ref": "#/components/schemas/DeliveredDocument"},
            "missed": {"$ref": "#/components/schemas/Missed"},
            "unreached": {"$ref": "#/components/schemas/Unreached"},
            "ended": {"$ref": "#/components/schemas/Problem"},
        },
    }
}


@router.get(
    "/v1/subscribe",
    dependencies=[
        only(
            *("xpath", "durable", "since", "ack", "shared", "ordered-by", "deliveries"),
            repeated="xpath",
            binding=True,
        )
    ],
    response_class=Response,
    responses=answers(
        "Server-sent events without end. The data of each is JSON, as `x-events` says by the "
        "event's name; `id` is the event id or, for a durable subscription, the sequence number. "
        "`missed` counts documents that were dropped, `unreached` names the brokers that may not "
        "know of a durable subscription yet, `ended` says why the broker ends the subscription.",
        *(400, 401, 403, 404, 429, 503),
        content=_EVENTS,
    ),
    openapi_extra=binding_parameters(),
)
async def subscribe(
    request: Request,
    caller: KnownCaller,
    bindings: RequestBindings,
    xpath: Annotated[
        list[str],
        Query(
            default_factory=list,
            description="What to subscribe to; several times for several. May be left out to go on "
            "with a durable subscription as it is.",
        ),
    ],
    durable: Annotated[
        str,
        Query(
            description="The name under which the broker keeps the subscription, and its "
            "documents, while nobody reads."
        ),
    ] = "",
    since: Annotated[
        str,
        Query(
            description="For a durable subscription, where to begin: a sequence number, or a time "
            "in ISO 8601. Otherwise with the first document that is not acknowledged."
        ),
    ] = "",
    ack: Annotated[
        Literal["auto", "manual"],
        Query(
            description="For a durable subscription: whether documents are acknowledged as they "
            "are written, or by `POST /v1/subscriptions/{name}/ack`."
        ),
    ] = "auto",
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
    last_event_id: Annotated[
        str,
        Header(
            description="Goes on after this `id` of a durable subscription; counts before `since`, "
            "and for nothing if it is shared. Readers of event streams send it by themselves when "
            "they connect again."
        ),
    ] = "",
    mark: Mark = "",
) -> Response:
    """Subscribe. A durable subscription needs the header `Twigcast-Request: 1`, or a token."""
    if durable:
        await require_mark(request, mark)
    if not durable and (since or ack != "auto"):
        raise RefusedError("since and ack are for durable subscriptions; name one", "invalid")
    options = AskedOptions(shared, _path_text(ordered_by, bindings), deliveries)
    kept = caller.broker.durables.get(durable)
    is_shared = shared if kept is None else kept.queue.options.is_shared
    sequence = moment = None
    if durable and last_event_id and not is_shared:
        sequence = whole_number(last_event_id)
        if sequence is None:
            raise RefusedError(
                "Last-Event-ID is a sequence number for a durable subscription", "invalid"
            )
        sequence += 1
    elif since:
        sequence = whole_number(since)
        if sequence is None:
            moment = milliseconds("since", since)
    session = caller.open_session()
    try:
        subscription = await session.subscribe(
            "http",
            {each: Expression(each, bindings) for each in xpath},
            window=_WINDOW,
            durable=durable,
            since_sequence=sequence,
            since_time=moment,
            options=options,
        )
        unreached = await caller.broker.keeper.confirm() if durable and xpath else ()
    except BaseException:
        session.close()
        raise
    return StreamedResponse(
        _events(session, subscription, unreached, acknowledges=bool(durable) and ack == "auto"),
        "text/event-stream",
        caller.api.stopping,
        on_end=session.close,
    )


def _path_text(path: str | None, bindings: Bindings) -> str | None:
    """A path with its prefixes resolved; raises RefusedError."""
    try:
        return str(parse_value_path(path, bindings.namespaces)) if path else path
    except ValueError as error:
        raise RefusedError(f"ordered-by: {error}", "bad-expression") from None


async def _events(
    session: ClientSession,
    subscription: Subscription,
    unreached: Sequence[str],
    *,
    acknowledges: bool,
) -> AsyncGenerator[bytes, None]:
    yield b": subscribed\n\n"
    if unreached:
        yield _event("unreached", {"brokers": list(unreached)})
    while True:
        try:
            async with asyncio.timeout(KEEP_ALIVE):
                taken = await session.deliveries(subscription)
        except TimeoutError:
            yield b": keep-alive\n\n"
            continue
        if taken is None:
            if subscription.ended is not None:
                reason, code = subscription.ended
                yield _event("ended", {"code": code, "reason": reason})
            return
        deliveries = [messages.Delivery.FromString(each) for each in taken[0]]
        if taken[1]:
            yield _event("missed", {"missed": taken[1]})
        yield b"".join(_document_event(each) for each in deliveries)
        # Here they are written.
        subscription.consumed(len(deliveries))
        if acknowledges:
            session.acknowledge(subscription.name, 0, [each.sequence for each in deliveries])


def _document_event(delivery: messages.Delivery) -> bytes:
    data = {
        "id": delivery.id,
        "keys": list(delivery.keys),
        "sequence": delivery.sequence or None,
        "attempts": delivery.attempts,
        "published": delivery.published,
        **content_of(delivery.content),
    }
    return _event("document", data, str(delivery.sequence or delivery.id))


def _event(name: str, data: dict[str, Any], identity: str = "") -> bytes:
    # JSON as it is written here has no line breaks.
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


Name = Annotated[str, Path(description="The name of a durable subscription.", min_length=1)]


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
    state = durable.state()
    return JSONResponse(
        {"first": state.first, "last": state.last, "acknowledged": state.acknowledged}
    )


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
    return JSONResponse({"sequences": keeper.give_back_any(durable, said.sequences, said.delay)})


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
