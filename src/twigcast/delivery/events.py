"""What happens to a broker's durable delivery, and what it has done about it.

An *event* is something that has happened: a document was published, a write is safe, a neighbour
has said something.  An *instruction* is something to do: store, send, answer.  Both are plain
values, so that a live broker, a simulation and a test mean the same by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from twigcast.delivery.custody import Debt
from twigcast.delivery.homes import HomeState
from twigcast.delivery.writes import (
    Destination,
    DropLetters,
    Headers,
    Parcel,
    PutBook,
    PutDurable,
    Replay,
    Result,
    Version,
    Write,
)
from twigcast.language import Pattern
from twigcast.routing import DocumentId, Foreseen, Recipients
from twigcast.routing import Send as RouterSend

# --- between brokers ------------------------------------------------------------------------------


class Routed(NamedTuple):
    """A document on its way along a tree, and the homes to which its custodian owes it."""

    parcel: Parcel
    tree: str
    debts: tuple[Debt, ...] = ()
    custody: DocumentId | None = None
    """What its custodian calls it, unless that is the document's id."""
    depth: int = 0
    """How deep the unit lies whose tree it is."""
    trace: tuple[bytes, ...] = ()
    """The stamps of the parts of units that it has left."""


class Receipt(NamedTuple):
    """What a home says to a custodian of the documents that it was sent, as that calls them."""

    stored: tuple[DocumentId, ...]
    """What another custodian has sent that this one may owe, too, has the id it came with."""
    refused: tuple[tuple[DocumentId, str], ...] = ()
    """Those that it, or a broker on the way to it, can never take, and why."""
    home: str = ""
    """Which home this is about; empty for that which is named after the sender."""


class HomeAsk(NamedTuple):
    """Whether the receiver knows what a home wants, as of a version.

    Homes ask so in rounds.  Whoever knows a higher version than the home asks back about that one:
    the home has lost its store.
    """

    home: str
    version: Version
    round: int


class HomeKnown(NamedTuple):
    """To a home that has asked: the sender knows what it wants, and so do all beyond it."""

    home: str
    round: int
    unreached: tuple[str, ...] = ()
    """Brokers beyond it that may not know."""


Addressee: TypeAlias = Routed | Receipt | HomeAsk | HomeKnown


class Addressed(NamedTuple):
    """Something to one broker, over whichever links lead there."""

    to: str
    sender: str
    content: Addressee
    hops: int = 64
    """How many more links it may cross."""
    depth: int = 0
    """How deep the unit lies in whose overlay both are."""


class HomeVersions(NamedTuple):
    """Which durable interests a broker knows of, said when a link comes up."""

    versions: Mapping[str, Version]
    depth: int = 0
    """How deep the unit lies in whose overlay the homes are."""


LinkMessage: TypeAlias = Routed | Addressed | HomeVersions | HomeState

# --- events ---------------------------------------------------------------------------------------


class Moment(NamedTuple):
    """When something happens."""

    now: float
    """Seconds that never go back, from anywhere."""
    time: int
    """Milliseconds since 1970, as far as the clock knows: for people, retention and expiry."""


class Published(NamedTuple):
    """A client has published a document; it gets an Answer under the ticket."""

    ticket: int
    link: str
    content: bytes
    publication: str = ""
    publisher: str = ""
    headers: Headers = ()
    expires: int = 0
    foreseen: Foreseen | None = None
    """What a look at the document before has shown, if there was one."""
    scope: int = 0
    """How deep the unit lies that it does not leave."""
    to: tuple[Destination, ...] = ()
    """Durable subscriptions that it is addressed to; if there are any, nobody else gets it."""


class Stored(NamedTuple):
    """A write is safe."""

    ticket: int
    result: Result


class StoreFailed(NamedTuple):
    """A write was not done."""

    ticket: int
    reason: str


class Came(NamedTuple):
    """A neighbour has said something."""

    link: str
    message: LinkMessage
    read: Mapping[str, Pattern] = {}
    """Expressions in it that were read already, by their texts."""


class TooLarge(NamedTuple):
    """Something cannot cross a link, now or ever."""

    link: str
    message: LinkMessage
    reason: str


class Loaded(NamedTuple):
    """Documents that were to be loaded for a home, as many as fit; some are kept no more."""

    home: str
    parcels: tuple[Parcel, ...]
    gone: tuple[DocumentId, ...] = ()
    unread: tuple[DocumentId, ...] = ()


class NeighbourUp(NamedTuple):
    """A link to a neighbour has come up, after the router was told."""

    link: str


class DurablePut(NamedTuple):
    """A durable subscription is to be kept, or to be given out in another way; answered."""

    ticket: int
    write: PutDurable


class DurableWants(NamedTuple):
    """A durable subscription, which is kept, begins and ceases to want something."""

    durable: str
    add: Mapping[str, Pattern]
    remove: tuple[str, ...] = ()


class DurableDropped(NamedTuple):
    """A durable subscription is to end for good; answered."""

    ticket: int
    durable: str


class Acknowledged(NamedTuple):
    """Documents need not come again; answered when that is safe, unless the ticket is 0."""

    ticket: int
    durable: str
    upto: int
    sequences: Sequence[int] = ()


class GivenBack(NamedTuple):
    """A consumer could not use documents; they come again after some seconds."""

    durable: str
    consumer: str
    sequences: Sequence[int]
    delay: float = 0.0


class Leased(NamedTuple):
    """A consumer takes no more, and has for some seconds what it has; then that comes again."""

    durable: str
    consumer: str
    seconds: float


class ConsumerLeft(NamedTuple):
    """A consumer takes no more; some of what it has it had taken up already."""

    durable: str
    consumer: str
    taken: int = 0


class MissedReported(NamedTuple):
    """A consumer was told how many documents were missed."""

    durable: str


class Asked(NamedTuple):
    """Something else is to be written; answered."""

    ticket: int
    write: Replay | DropLetters | PutBook


class HomeForgotten(NamedTuple):
    """Another home will not return: nothing is owed to it until it says something new."""

    home: str


class AskKnown(NamedTuple):
    """Somebody waits until all brokers know what is wanted here; answered under the ticket."""

    ticket: int
    patience: float


class Expired(NamedTuple):
    """Retention has dropped documents."""

    bytes: int
    publishers: Mapping[str, int]
    owed: Mapping[str, tuple[DocumentId, ...]]
    first: Mapping[str, int]
    """By durable subscription that lost entries, the first that is still kept."""
    lost: Mapping[str, int]
    """By durable subscription, how many entries were lost that nobody had acknowledged."""


class Tick(NamedTuple):
    """Some time has passed."""


Event: TypeAlias = (
    Published
    | Stored
    | StoreFailed
    | Came
    | TooLarge
    | Loaded
    | NeighbourUp
    | DurablePut
    | DurableWants
    | DurableDropped
    | Acknowledged
    | GivenBack
    | Leased
    | ConsumerLeft
    | MissedReported
    | Asked
    | HomeForgotten
    | AskKnown
    | Expired
    | Tick
)

# --- instructions ---------------------------------------------------------------------------------


class Store(NamedTuple):
    """Write something, after all that was to be written before; then say Stored or StoreFailed."""

    ticket: int
    write: Write


class Send(NamedTuple):
    """Say something to neighbours."""

    links: tuple[str, ...]
    message: LinkMessage
    is_again: bool = False
    """Whether it is a document that the home was sent before, as far as is known."""


class Route(NamedTuple):
    """Send what the router says."""

    sends: list[RouterSend]


class Offer(NamedTuple):
    """Give a document to ephemeral subscriptions: clients of the router's, and the keys."""

    parcel: Parcel
    recipients: Recipients


class Queue(NamedTuple):
    """A document is safe in queues: durable subscriptions, sequences, keys."""

    parcel: Parcel
    entries: list[tuple[str, int, tuple[str, ...]]]


class Again(NamedTuple):
    """Something in the queue of a durable subscription is to be given out again."""

    durable: str


class Answer(NamedTuple):
    """Tell whoever waits under a ticket: a document's id, or what is wrong."""

    ticket: int
    id: str = ""
    code: str = ""
    reason: str = ""
    unreached: tuple[str, ...] | None = None
    """For AskKnown: the brokers that may not know yet."""
    result: Result = None
    """For Asked: what the write gave."""


class Load(NamedTuple):
    """Read documents that are owed to a home; then say Loaded."""

    home: str
    documents: tuple[DocumentId, ...]


class Drop(NamedTuple):
    """A document goes no further here: say so where whoever runs the broker looks."""

    id: DocumentId
    reason: str


class Repeat(NamedTuple):
    """A document had come before: count it, and do no more."""

    id: str


class Outdated(NamedTuple):
    """A document has expired, and goes no further: count it."""

    id: DocumentId


class Wake(NamedTuple):
    """Say Tick after some seconds."""

    after: float


Instruction: TypeAlias = (
    Store | Send | Route | Offer | Queue | Again | Answer | Load | Drop | Repeat | Outdated | Wake
)
