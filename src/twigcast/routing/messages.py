"""What routers, their clients and whoever drives them say to each other.

Links are known by name: of the neighbouring broker, or of the client.  A link goes up and down at
both ends alike and carries messages in order; whoever drives a router sees to that.

A broker sends a neighbour at most one :class:`Update` for each message that it handles, so that the
neighbour decides once, with all changes at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from twigcast.covering import Change
from twigcast.documents import Source
from twigcast.language import Pattern
from twigcast.routing.promises import Promise


class LinkKind(Enum):
    """Who is at the other end."""

    CLIENT = "client"
    BROKER = "broker"
    LEAF = "leaf"
    """Another overlay as a whole (:class:`LinkState`); only a gateway has such a link."""


# From whoever drives the router.


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A link can be used; ``cost`` is what paths over it add up.

    ``depths`` say which units have it, where brokers are arranged in units (:mod:`twigcast.
    hierarchy`); without any it is the unit of both brokers.
    """

    kind: LinkKind
    cost: float = 1.0
    depths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkDown:
    """A link is gone, and what was said on it and not handled with it."""


# From a client.


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Subscriptions by the client's own ids.

    ``scope``, here and below, is the depth of the unit around the broker that something is kept
    within (:mod:`~twigcast.routing.scopes`).
    """

    subscriptions: Mapping[str, Pattern]
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A client ends subscriptions, by their ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advertise:
    """What documents the client will publish."""

    id: str
    promise: Promise
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Unadvertise:
    """An end to an advertisement."""

    id: str


@dataclass(frozen=True, slots=True)
class Publish:
    """A document for whoever wants it."""

    content: Source
    scope: int = 0


# To a client.


class DocumentId(NamedTuple):
    """Where a document entered the network, and the how manyth it was there since the start."""

    origin: str
    incarnation: int
    number: int

    def __str__(self) -> str:
        return f"{self.origin}:{self.incarnation}:{self.number}"


@dataclass(frozen=True, slots=True)
class Deliver:
    """A document, and which of the client's subscriptions it matches."""

    id: DocumentId
    content: Source
    subscriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A message, or a part of it, that was not followed, and why; it is never answered."""

    reason: str
    message: Message


# Between brokers.


class LinkState(NamedTuple):
    """The links that a broker has, as it says itself; a higher version replaces a lower one.

    A *leaf* stands for another overlay, which several brokers may be linked to.  No path leads
    through it.  One whose name begins with :data:`OUTER` stands for all that is outside; nothing
    goes from one such leaf to another.
    """

    broker: str
    incarnation: int
    version: int
    links: tuple[tuple[str, float], ...]
    """The neighbours and the costs, in the order of the names."""
    leaves: tuple[str, ...] = ()
    book: tuple[tuple[str, int], ...] = ()
    """The bits of the members of the unit, as this broker has them (:mod:`twigcast.hierarchy`)."""
    address: tuple[int, ...] = ()
    """Bits of the unit itself, and of those around it, the outermost first."""


OUTER: Final = "^"


def is_outer(name: str) -> bool:
    """Whether something is a leaf that stands for all that is outside."""
    return name.startswith(OUTER)


class AdvertisementKey(NamedTuple):
    """An advertisement in the network: of which client, at which broker."""

    origin: str
    client: str
    id: str
    scope: int = 0


class Mark(NamedTuple):
    """How much of what was sent on channels a neighbour has taken in."""

    entries: int
    digest: bytes
    """Of all these entries, one after the other."""


START: Final = Mark(0, b"")
"""The mark of who has taken in nothing."""


class Serve(NamedTuple):
    """The trees for which a channel holds; one that is there for none is closed."""

    channel: int
    trees: frozenset[str]
    scope: int = 0
    """What is wanted on the channel, is wanted within the unit of that depth only."""


class Update(NamedTuple):
    """All changes that a broker sends to a neighbour at once."""

    states: tuple[LinkState, ...] = ()
    advertise: tuple[tuple[AdvertisementKey, Promise], ...] = ()
    unadvertise: tuple[AdvertisementKey, ...] = ()
    serve: tuple[Serve, ...] = ()
    changes: tuple[tuple[int, Change], ...] = ()
    """The patterns that the sender begins and ceases to want, by channel."""
    depth: int = 0
    """How deep the unit lies whose overlay this is about; 0 where there is one overlay only."""
    known: Mark | None = None
    """In the first update since the link came up: what is remembered of the link before."""
    goes_on: Mark | None = None
    """The answer to that: from where the channels of the sender go on, or :data:`START`."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document, sent along a tree."""

    id: DocumentId
    tree: str
    content: Source
    depth: int = 0
    """How deep the unit lies whose tree it is."""
    scope: int = 0
    """How deep the unit lies that it does not leave."""
    trace: tuple[bytes, ...] = ()
    """The stamps of the parts of units that it has left (:mod:`twigcast.hierarchy.traces`)."""


Message: TypeAlias = (
    LinkUp
    | LinkDown
    | Subscribe
    | Unsubscribe
    | Advertise
    | Unadvertise
    | Publish
    | Deliver
    | Refused
    | Update
    | Document
)


class Send(NamedTuple):
    """A message, and the link to send it on."""

    link: str
    message: Message
