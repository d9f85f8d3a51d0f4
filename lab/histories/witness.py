"""Sees every message of a network and holds each document against what may happen to it.

What holds at any time, also while brokers disagree: a client gets a document at most once, and only
for subscriptions of its own that match it; a broker sends a document over a link at most once; what
was said in order is refused only where it must be.  What holds at rest is for
:mod:`lab.histories.checks`.

A client that leaves and returns is another one, and so is one whose broker crashed: nobody is left
who remembers what it got before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from lab.histories.oracle import Party, is_document, matches
from twigcast.language import Pattern
from twigcast.routing import (
    ANYTHING,
    Deliver,
    Document,
    DocumentId,
    Envelope,
    LinkKind,
    LinkUp,
    Observer,
    Promise,
    Publish,
    Refused,
    Send,
    Strategy,
    Subscribe,
    Towards,
)


@dataclass(slots=True, eq=False)
class Publication:
    """A document that a client published, and what became of it."""

    client: str
    origin: str
    scope: int
    content: bytes
    is_refusable: bool
    """Whether it is not well-formed, or its client may not publish."""
    is_promised: bool
    """Whether the client has promised such documents, so that all who want it must get it."""
    id: DocumentId | None = None
    got: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    """The how manyth delivery of all it was, by client."""
    crossings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each link, from sender to receiver, was crossed."""
    refusals: int = 0

    @classmethod
    def of(
        cls,
        client: str,
        party: Party,
        strategy: Strategy,
        content: bytes,
        kept: Collection[Promise],
        scope: int = 0,
    ) -> Publication:
        """What a client is about to publish; ``kept`` are the promises that the document keeps."""
        # A promise that is kept within a unit draws nothing from further away.
        promised = {
            promise
            for key, promise in party.promises.items()
            if party.promised_within.get(key, 0) <= scope
        }
        return cls(
            client,
            party.broker,
            scope,
            content,
            is_refusable=not is_document(content)
            or (strategy.towards is not Towards.EVERYONE and not party.promises),
            is_promised=strategy.towards is Towards.EVERYONE
            or (strategy.towards is not Towards.ADVERTISEMENTS and bool(promised))
            or ANYTHING in promised
            or (bool(kept) and promised.issuperset(kept)),
        )


class ClientSession:
    """A client while it is attached to a broker that is up: what it ever wanted, what it got."""

    def __init__(self) -> None:
        self.ever: dict[str, set[Pattern]] = {}
        self.got: set[DocumentId] = set()

    def want(self, subscriptions: Iterable[tuple[str, Pattern]]) -> None:
        """Note that the client wants these, and may get documents for them from now on."""
        for key, pattern in subscriptions:
            self.ever.setdefault(key, set()).add(pattern)


class Witness(Observer):
    """Notes what happens to each publication, and what must not happen, in ``wrong``."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self._sessions: dict[str, ClientSession] = {}
        self.arrived: list[Publication] = []
        """In the order in which brokers took them in."""
        self._published: dict[int, Publication] = {}
        self._by_id: dict[DocumentId, Publication] = {}
        self.deliveries = 0
        self._sent: set[tuple[object, ...]] = set()
        self.lives: Counter[str] = Counter()
        """How often each broker has crashed."""

    def publish(self, publication: Publication) -> None:
        """Expect a document; equal contents are distinguished as objects."""
        self._published[id(publication.content)] = publication

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        """A broker has handled a message."""
        broker = envelope.receiver
        match envelope.message:
            case LinkUp(kind=LinkKind.CLIENT):
                self._sessions[envelope.sender] = ClientSession()
            case Subscribe(subscriptions):
                self._sessions[envelope.sender].want(subscriptions.items())
            case Publish(content):
                self._take_in(self._published[id(content)], sends)
        for link, message in sends:
            if isinstance(message, Refused):
                self._refused(broker, link, message)
            elif isinstance(message, Document):
                self._crossed(broker, link, message)

    def _take_in(self, publication: Publication, sends: list[Send]) -> None:
        self.arrived.append(publication)
        ids = {sent.message.id for sent in sends if isinstance(sent.message, Document | Deliver)}
        for each in ids:
            if publication.id is not None or each in self._by_id:
                self.wrong.append(f"the id {each} is used twice")
            publication.id = each
            self._by_id[each] = publication

    def _refused(self, broker: str, link: str, refusal: Refused) -> None:
        publication = None
        if isinstance(refusal.message, Publish):
            publication = self._published[id(refusal.message.content)]
        if publication is None or not publication.is_refusable:
            self.wrong.append(f"{broker} refuses to {link}: {refusal.reason}")
        else:
            publication.refusals += 1

    def _crossed(self, broker: str, link: str, document: Document) -> None:
        publication = self._by_id[document.id]
        publication.crossings[broker, link] += 1
        sent = (broker, self.lives[broker], link, document.id, document.depth, document.tree)
        if sent in self._sent:
            self.wrong.append(f"{broker} sends {document.id} to {link} twice")
        self._sent.add(sent)

    def on_delivered(self, client: str, delivery: Deliver) -> None:
        """A client has got a document."""
        publication = self._by_id[delivery.id]
        publication.got.setdefault(client, []).append(tuple(sorted(delivery.subscriptions)))
        publication.turns[client] = self.deliveries
        self.deliveries += 1
        session = self._sessions[client]
        if delivery.id in session.got:
            self.wrong.append(f"{client} gets {delivery.id} twice")
        session.got.add(delivery.id)
        ids = delivery.subscriptions
        if not ids or len(set(ids)) < len(ids):
            self.wrong.append(f"{client} gets {delivery.id} for {ids}")
        if delivery.content is not publication.content:
            self.wrong.append(f"{client} gets {delivery.id} with another content")
        for key in ids:
            wanted = session.ever.get(key, ())
            if not any(matches(pattern, publication.content) for pattern in wanted):
                self.wrong.append(f"{client} gets {delivery.id}, which {key} does not match")
