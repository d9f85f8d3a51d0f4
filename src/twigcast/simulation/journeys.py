"""Which links documents crossed, and which crossings were in vain.

The crossings of a document form a tree::

            b1            published here
           ╱  ╲
         b2    b3         b1 → b3 is wasted: nobody at b3 or below got it
        ╱  ╲
      b4    b5 ──► desk-7

A crossing counts as wasted when it is made.  A delivery takes that back for the crossings that led
there, up to the first for which it was done before; so this is one step for each crossing that was
of use.

Invariant: a document is kept as long as a copy of it is in transit to a broker or a client.  One
that was lost on a link or in a broker would be kept for ever; it is forgotten at rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twigcast.routing import Deliver, Document, DocumentId, Send
from twigcast.simulation.counts import Counts


@dataclass(slots=True, eq=False)
class _Stop:
    """A broker to which a document came, and the crossing by which it came."""

    above: _Stop | None  # None where it was published
    counts: Counts
    hops: int
    is_useful: bool = False


@dataclass(slots=True, eq=False)
class _Journey:
    """A document, and where its copies are in transit."""

    published: float
    awaited: int = 0  # copies in transit
    leads: dict[tuple[str, ...], _Stop] = field(default_factory=dict)
    """By the crossings that are awaited, the stop that led to each."""
    notified: dict[str, int] = field(default_factory=dict)  # clients that will get it: hops


class Journeys:
    """The documents that are in transit."""

    def __init__(self) -> None:
        self._journeys: dict[DocumentId, _Journey] = {}

    def begin(self, time: float, sends: list[Send]) -> None:
        """Follow what a broker sends because a document was published there."""
        for _, message in sends:
            if isinstance(message, Document | Deliver):
                journey = self._journeys[message.id] = _Journey(time)
                self._follow(journey, None, "", sends)
                return

    def cross(
        self, sender: str, receiver: str, document: Document, counts: Counts, sends: list[Send]
    ) -> None:
        """Note that a document came over a link, and what the broker sends because of it."""
        counts.wasted += 1
        journey = self._journeys.get(document.id)
        if journey is None:
            return
        journey.awaited -= 1
        above = journey.leads.pop(_crossing(sender, receiver, document), None)
        stop = _Stop(above, counts, 1 if above is None else above.hops + 1)
        if self._follow(journey, stop, receiver, sends):
            _spare(stop)
        if not journey.awaited:
            del self._journeys[document.id]

    def arrive(self, client: str, identity: DocumentId) -> tuple[int, float] | None:
        """A client has got a document; over how many links, and when that was published."""
        journey = self._journeys.get(identity)
        if journey is None:
            return None
        journey.awaited -= 1
        if not journey.awaited:
            del self._journeys[identity]
        hops = journey.notified.pop(client, None)
        return None if hops is None else (hops, journey.published)

    def forget(self) -> None:
        """Forget all documents: at rest, a copy that has not arrived was lost."""
        self._journeys.clear()

    def _follow(
        self, journey: _Journey, stop: _Stop | None, broker: str, sends: list[Send]
    ) -> bool:
        """Await the copies that a broker sends; whether clients get any of them."""
        delivers = False
        hops = 0 if stop is None else stop.hops
        for link, message in sends:
            if isinstance(message, Deliver):
                delivers = True
                journey.notified[link] = hops
                journey.awaited += 1
            elif isinstance(message, Document):
                journey.awaited += 1
                if stop is not None:
                    journey.leads[_crossing(broker, link, message)] = stop
        return delivers

    def __len__(self) -> int:
        """The number of documents in transit."""
        return len(self._journeys)


def _crossing(sender: str, receiver: str, document: Document) -> tuple[str, ...]:
    """In a network of units a document may cross a link on several trees."""
    return sender, receiver, str(document.depth), document.tree


def _spare(stop: _Stop) -> None:
    """Take back that the crossings up to here were wasted."""
    current: _Stop | None = stop
    while current is not None and not current.is_useful:
        current.is_useful = True
        current.counts.wasted -= 1
        current = current.above
