"""The Python client: publish, subscribe, advertise and ask over one connection to a broker.

    publish ──► publisher ──batches──┐                      ┌── Answer ──► whoever asked
    subscribe, advertise ─► requests ┼─► sender ─ stream ─► reader
    event.ack ─► subscriptions ──────┘      (connection)    └── Documents ──► subscriptions ─► Event
    ask, read_queue, letters, status ──► calls of their own on the same channel

:func:`connect` makes a :class:`Client` for programs with an event loop, :func:`connect_sync` a
:class:`SyncClient` with the same verbs for those without.  A connection that is lost is made
anew, with pauses that grow to two seconds, until the client is closed; subscriptions and
advertisements are made anew with it.

Invariants: a document is sent until the broker has answered for it, always under the same
publication id; an event of a durable subscription is handed to the application once by one
subscription object unless it is given back, and comes again, to another one, unless it was
acknowledged; an ephemeral
subscription misses what is published while the connection is away and counts such interruptions.
Every error is one of ``twigcast.errors``.

Cost: tens of microseconds for each document in either direction, since documents travel by the
batch; memory for what is unanswered (1,024 documents or 16 MiB) and for one window of each
subscription.  One slow subscription holds up neither the others nor the publisher.
"""

from __future__ import annotations

try:
    import grpc as _grpc  # noqa: F401 - to say what is missing, and the remedy
except ModuleNotFoundError as _error:
    raise ImportError(
        "the client needs grpcio and protobuf: pip install 'twigcast[client]'", name=_error.name
    ) from _error

from twigcast.client.advertising import Advertised
from twigcast.client.asking import Asked
from twigcast.client.client import Client, connect
from twigcast.client.events import Document, Event, QueueState
from twigcast.client.letters import Letter
from twigcast.client.publishing import Outgoing, PublishResult
from twigcast.client.publishing_all import PublishAll
from twigcast.client.results import Documents, Status
from twigcast.client.subscribing import Subscription
from twigcast.client.sync import (
    SyncAdvertised,
    SyncAsked,
    SyncClient,
    SyncEvent,
    SyncSubscription,
    connect_sync,
)

__all__ = [
    "Advertised",
    "Asked",
    "Client",
    "Document",
    "Documents",
    "Event",
    "Letter",
    "Outgoing",
    "PublishAll",
    "PublishResult",
    "QueueState",
    "Status",
    "Subscription",
    "SyncAdvertised",
    "SyncAsked",
    "SyncClient",
    "SyncEvent",
    "SyncSubscription",
    "connect",
    "connect_sync",
]
