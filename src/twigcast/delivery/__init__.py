"""Durable delivery: what a broker owes, to whom, and what it does about it; no input, no output.

                    ┌───────────────── Delivery, one for each broker ─────────────────┐
    Published ────► │ Publishing: matched, stored, released in order, answered        │──► Store
    Came ─────────► │ Arriving: passed on, stored, confirmed to the origin            │──► Send
    Stored, ... ──► │ Custody: owed to homes until they confirm; Receipts: had so far │──► Queue
    Acknowledged ─► │ Queues: given out, acknowledged, given back, set aside          │──► Answer
    Tick ─────────► │ Announcing: what is wanted durably, known to all brokers        │──► Load
                    └─────────────────────────────────────────────────────────────────┘

:class:`Delivery` takes an event and the moment, and returns instructions.  A live broker carries
them out with sockets and a store, a simulation with a model of both; it may crash between any two.
:class:`~twigcast.delivery.writes.KeepDocument` and its like are what stores are asked to
write.

The broker where a document is published, its *origin*, answers for it until every *home*, a broker
with durable subscriptions that want it, has confirmed it.  The origin knows what homes want, since
all brokers of its unit are told.  A gateway stands for what lies beyond it, as a home; it takes
documents over, and answers for them there (:mod:`~twigcast.delivery.levels`).  A document is known
by its id, wherever it is, and a publication by the id that its publisher gave; so nothing counts
twice, however often it is sent or published.

Invariant: once a document is acknowledged to its publisher, each durable subscription that its
origin knew of gets it into its queue once, whatever crashes and comes back with its disk; no other
document gets there, and nothing depends on what clocks say.

Cost: some microseconds for each document and broker; one write where a document is published, one
at each gateway that takes it over, and one at each home.  Memory: what is owed and not confirmed,
and what is not acknowledged in queues out of order.
"""

from __future__ import annotations

from twigcast.delivery import writes
from twigcast.delivery.custody import Debt
from twigcast.delivery.durable_queue import DurableQueue
from twigcast.delivery.events import (
    Acknowledged,
    Addressed,
    Addressee,
    Again,
    Answer,
    Asked,
    AskKnown,
    Came,
    ConsumerLeft,
    Drop,
    DurableDropped,
    DurablePut,
    DurableWants,
    Event,
    Expired,
    GivenBack,
    HomeAsk,
    HomeForgotten,
    HomeKnown,
    HomeVersions,
    Instruction,
    Leased,
    LinkMessage,
    Load,
    Loaded,
    MissedReported,
    Moment,
    NeighbourUp,
    Offer,
    Outdated,
    Published,
    Queue,
    Receipt,
    Repeat,
    Route,
    Routed,
    Send,
    Store,
    Stored,
    StoreFailed,
    Tick,
    TooLarge,
    Wake,
)
from twigcast.delivery.homes import HomeState, read_want, scope_of
from twigcast.delivery.levels import broker_of, group_of, stands_for
from twigcast.delivery.machine import Delivery
from twigcast.delivery.publications import digest_of
from twigcast.delivery.publishing import OTHER_CONTENT, is_published_as_another
from twigcast.delivery.room import FullError, Limits
from twigcast.delivery.writes import (
    NOTHING,
    Acknowledge,
    Confirm,
    Destination,
    DropDurable,
    DropHome,
    DropLetters,
    Durable,
    DurableOptions,
    Entry,
    Headers,
    Home,
    KeepDocument,
    Kept,
    Line,
    NoteAttempts,
    NoteMissed,
    NoteReceived,
    Parcel,
    PutBook,
    PutDurable,
    PutHome,
    Replay,
    Replayed,
    Result,
    SetAside,
    SetAsideOwed,
    SetHomeVersion,
    StoreState,
    Version,
    Write,
    is_of,
)

__all__ = [
    "NOTHING",
    "OTHER_CONTENT",
    "Acknowledge",
    "Acknowledged",
    "Addressed",
    "Addressee",
    "Again",
    "Answer",
    "AskKnown",
    "Asked",
    "Came",
    "Confirm",
    "ConsumerLeft",
    "Debt",
    "Delivery",
    "Destination",
    "Drop",
    "DropDurable",
    "DropHome",
    "DropLetters",
    "Durable",
    "DurableDropped",
    "DurableOptions",
    "DurablePut",
    "DurableQueue",
    "DurableWants",
    "Entry",
    "Event",
    "Expired",
    "FullError",
    "GivenBack",
    "Headers",
    "Home",
    "HomeAsk",
    "HomeForgotten",
    "HomeKnown",
    "HomeState",
    "HomeVersions",
    "Instruction",
    "KeepDocument",
    "Kept",
    "Leased",
    "Limits",
    "Line",
    "LinkMessage",
    "Load",
    "Loaded",
    "MissedReported",
    "Moment",
    "NeighbourUp",
    "NoteAttempts",
    "NoteMissed",
    "NoteReceived",
    "Offer",
    "Outdated",
    "Parcel",
    "Published",
    "PutBook",
    "PutDurable",
    "PutHome",
    "Queue",
    "Receipt",
    "Repeat",
    "Replay",
    "Replayed",
    "Result",
    "Route",
    "Routed",
    "Send",
    "SetAside",
    "SetAsideOwed",
    "SetHomeVersion",
    "Store",
    "StoreFailed",
    "StoreState",
    "Stored",
    "Tick",
    "TooLarge",
    "Version",
    "Wake",
    "Write",
    "broker_of",
    "digest_of",
    "group_of",
    "is_of",
    "is_published_as_another",
    "read_want",
    "scope_of",
    "stands_for",
    "writes",
]
