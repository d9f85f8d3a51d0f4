"""``GET /v1/subscribe``: documents as they come, as server-sent events.

    session ──deliveries──► events ──► connection, at the pace of the reader
       ▲                                   │
       └── consumed, and acknowledged ◄────┘   once they are written

A reader that does not read holds up its own events: what waits for it waits in the queue of its
subscription, in memory and then on disk, as for any client.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from twigcast.broker.broker import Expression
from twigcast.broker.client_session import ClientSession, Subscription
from twigcast.broker.http.bodies import StreamedResponse
from twigcast.broker.http.context import (
    KnownCaller,
    RequestBindings,
    Scope,
    binding_parameters,
    only,
)
from twigcast.broker.http.durables import OPTIONS, Options, Xpaths, delivery_fields
from twigcast.broker.http.errors import answers
from twigcast.broker.http.pages_elsewhere import Mark, require_mark
from twigcast.broker.http.times import milliseconds, whole_number
from twigcast.broker.outbox import Sendable
from twigcast.errors import RefusedError
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
            *("xpath", "durable", "since", "ack", "scope", *OPTIONS),
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
    xpath: Xpaths,
    options: Options,
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
            description="For a durable subscription, where to begin: a sequence number, a time in "
            "ISO 8601, or how long ago, as in `2h`. Otherwise with the first document that is not "
            "acknowledged."
        ),
    ] = "",
    ack: Annotated[
        Literal["auto", "manual"],
        Query(
            description="For a durable subscription: whether documents are acknowledged as they "
            "are written, or by `POST /v1/subscriptions/{name}/ack`."
        ),
    ] = "auto",
    last_event_id: Annotated[
        str,
        Header(
            description="Goes on after this `id` of a durable subscription; counts before `since`, "
            "and for nothing if it is shared. Readers of event streams send it by themselves when "
            "they connect again."
        ),
    ] = "",
    scope: Scope = "",
    mark: Mark = "",
) -> Response:
    """Subscribe. A durable subscription needs the header `Twigcast-Request: 1`, or a token."""
    if durable:
        await require_mark(request, mark)
    if not durable and (since or ack != "auto"):
        raise RefusedError("since and ack are for durable subscriptions; name one", "invalid")
    kept = caller.broker.durables.get(durable)
    is_shared = options.is_shared if kept is None else kept.queue.options.is_shared
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
            1,
            {each: Expression(each, bindings) for each in xpath},
            window=_WINDOW,
            durable=durable,
            since_sequence=sequence,
            since_time=moment,
            options=options,
            scope=scope,
        )
        unreached = await caller.broker.keeper.confirm() if durable and xpath else ()
        session.begin(subscription)
    except BaseException:
        session.close()
        raise
    return StreamedResponse(
        _events(session, subscription, unreached, acknowledges=bool(durable) and ack == "auto"),
        "text/event-stream",
        caller.api.stopping,
        on_end=session.close,
    )


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
                taken = await session.deliveries()
        except TimeoutError:
            yield b": keep-alive\n\n"
            continue
        if not isinstance(taken, Sendable):
            if subscription.ended is not None:
                reason, code = subscription.ended
                yield _event("ended", {"code": code, "reason": reason})
            return
        deliveries = list(_read_deliveries(taken))
        for missed in taken.missed.values():
            yield _event("missed", {"missed": missed})
        yield b"".join(_document_event(each) for each in deliveries)
        # Here they are written.
        subscription.consumed(len(deliveries))
        if acknowledges:
            session.acknowledge(subscription.number, 0, [each.sequence for each in deliveries])


def _read_deliveries(sendable: Sendable) -> Iterator[messages.Delivery]:
    """The deliveries of the one subscription of a session."""
    for document, entry in sendable.documents:
        for _, keys, sequence, attempts in entry.deliveries():
            delivery = messages.Delivery.FromString(document)
            delivery.keys.extend(keys or ())
            delivery.sequence = sequence
            delivery.attempts = attempts
            yield delivery


def _document_event(delivery: messages.Delivery) -> bytes:
    data = delivery_fields(delivery)
    return _event("document", data, str(delivery.sequence or delivery.id))


def _event(name: str, data: dict[str, Any], identity: str = "") -> bytes:
    # JSON as it is written here has no line breaks.
    head = f"id: {identity}\n" if identity else ""
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n".encode()
