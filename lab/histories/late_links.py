"""A network whose brokers learn of a link's end and return each at its own time.

In :class:`~twigcast.hierarchy.Network` both ends of a link know at once that it is cut.  Between
machines they do not.  Here the news is a message too, and arrives when the transport says: behind
nothing on a link that has just been cut, and before everything that is said on it later::

    a ──► b :   LinkDown   LinkUp   Update   Document        (what b has still to learn)

Between the cut and the time when one end learns of it, that end goes on talking, and nobody hears
it.
"""

from __future__ import annotations

from twigcast.hierarchy import Network
from twigcast.routing import Envelope, Link, LinkDown, Send


class LateNetwork(Network):
    """A network in which the two ends of a link may disagree for a while about whether it is up."""

    _unaware: set[tuple[str, str]]
    """Brokers and neighbours: the link between them is gone, and the broker does not know yet."""

    def _start(self) -> None:
        self._unaware = set()
        super()._start()

    def crash(self, broker: str) -> None:
        """Let a broker lose everything it knows; its neighbours learn of that later."""
        super().crash(broker)
        for link in self._links_of(broker):
            self._take_down(link)
            self._unaware.discard((broker, link.other(broker)))

    def _take_down(self, link: Link) -> None:
        # Drops also what was not yet known of earlier ends and returns of this link.
        self._transport.cut(link.first, link.second)
        for broker in link:
            other = link.other(broker)
            router = self._routers.get(broker)
            if router is not None and router.has_link(other):
                self._unaware.add((broker, other))
                self._transport.put(Envelope(other, broker, LinkDown()))

    def _bring_up(self, link: Link) -> None:
        if self.is_up(link):
            for broker in link:
                self._transport.put(Envelope(link.other(broker), broker, self._link_up(link)))

    def _handle(self, envelope: Envelope) -> None:
        if isinstance(envelope.message, LinkDown):
            self._unaware.discard((envelope.receiver, envelope.sender))
        super()._handle(envelope)

    def _carry(self, broker: str, sends: list[Send]) -> None:
        heard = [each for each in sends if (broker, each.link) not in self._unaware]
        super()._carry(broker, heard)
