"""A network in simulated time: its clock, its faults, and what is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Unpack

from twigcast.documents import DocumentLimits, Source
from twigcast.errors import NetworkError
from twigcast.hierarchy import Network
from twigcast.language import BindingKeywords, Pattern
from twigcast.routing import (
    GATHERING,
    Deliver,
    Envelope,
    Link,
    Observer,
    Overlay,
    Promise,
    Refused,
    Send,
    Strategy,
)
from twigcast.simulation.conditions import Conditions, MeasuredTime, ProcessingTime
from twigcast.simulation.faults import Fault
from twigcast.simulation.summary import Summary, summarise
from twigcast.simulation.traffic import Traffic
from twigcast.simulation.transport import TimedTransport


class _Observers(Observer):
    """Reports to the transport when a broker is done, before others see what it has done."""

    def __init__(self, transport: TimedTransport, *observers: Observer) -> None:
        self._transport = transport
        self._observers = observers

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        self._transport.finish()
        for each in self._observers:
            each.on_handled(envelope, sends)

    def on_delivered(self, client: str, delivery: Deliver) -> None:
        for each in self._observers:
            each.on_delivered(client, delivery)

    def on_refused(self, link: str, refusal: Refused) -> None:
        for each in self._observers:
            each.on_refused(link, refusal)


class Simulation:
    """An overlay with clients, in simulated seconds.

    What is asked of it is said at the time that it is, ``now``, and happens when the simulation
    runs.  ``loss``, ``duplication`` and ``reordering`` are shares of the frames on every link,
    ``jitter`` is in seconds (:class:`~twigcast.simulation.Conditions`).  Brokers gather for as many
    seconds as ``gathering`` says before they flush.  An ``observer`` sees what happens once it is
    counted.

    >>> from twigcast.routing import ANYTHING, LinkTraits
    >>> links = {("london", "rome"): LinkTraits(latency=0.02)}
    >>> simulation = Simulation(Overlay(["london", "rome"], links), client_latency=0.001)
    >>> simulation.attach("feed", "london")
    >>> simulation.attach("desk", "rome")
    >>> simulation.advertise("feed", "all", ANYTHING)
    >>> simulation.subscribe("desk", "dear", "//Stock[Price > 15]")
    >>> simulation.run()
    >>> simulation.publish("feed", "<Stock><Price>17</Price></Stock>")
    >>> simulation.run()
    >>> f"{simulation.summary().delay.mean:.4f}"  # 2 brokers, 2 clients' links, and the one between
    '0.0222'
    """

    def __init__(
        self,
        overlay: Overlay,
        strategy: Strategy | str | None = None,
        *,
        seed: int = 0,
        processing: ProcessingTime | None = None,
        loss: float = 0.0,
        duplication: float = 0.0,
        reordering: float = 0.0,
        jitter: float = 0.0,
        client_latency: float = 0.0,
        gathering: float = GATHERING,
        faults: Iterable[Fault] = (),
        limits: DocumentLimits | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._given = Conditions(0.0, jitter, loss, duplication, reordering)
        self._troubles: dict[Link, Conditions] = {}
        self._transport = TimedTransport(
            overlay,
            seed=seed,
            processing=processing,
            conditions=self._given,
            client_latency=client_latency,
            gathering=gathering,
        )
        self.traffic = Traffic(self._transport)
        looking_on: Observer = self.traffic
        if observer is not None or isinstance(processing, MeasuredTime):
            looking_on = _Observers(self._transport, self.traffic, observer or Observer())
        self.network = Network(
            overlay, strategy, transport=self._transport, observer=looking_on, limits=limits
        )
        for fault in faults:
            self.at(fault.time, partial(fault.apply, self))

    # --- time -------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The time in seconds since the start."""
        return self._transport.now

    def at(self, time: float, action: Callable[[], object]) -> None:
        """Call a function at a simulated time; :meth:`run` raises what the function raises."""
        if not self.now <= time < float("inf"):
            raise NetworkError(
                f"nothing can happen at {time} s, for it is {self.now:g} s; choose a later time"
            )
        self._transport.call_at(time, action)

    def run(self, until: float | None = None) -> None:
        """Let simulated time pass, until nothing is left to happen or up to a time."""
        if until is not None:
            self._transport.limit = until
        try:
            self.network.settle()
        finally:
            self._transport.limit = float("inf")
        if until is not None:
            self._transport.now = max(self.now, until)
        if self.is_at_rest:
            self.traffic.on_rest()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is in transit, and nothing was asked for at a later time."""
        return self._transport.is_at_rest

    # --- clients ----------------------------------------------------------------------------------

    def attach(self, client: str, broker: str) -> None:
        """Connect a client to a broker."""
        self.network.attach(client, broker)

    def detach(self, client: str) -> None:
        """Disconnect a client, with all it subscribes to and advertises."""
        self.network.detach(client)

    def subscribe(
        self,
        client: str,
        subscription_id: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        *,
        scope: str = "",
        **bindings: Unpack[BindingKeywords],
    ) -> None:
        """Subscribe under an id of the client's own; bindings are those of ``twigcast.parse``.

        ``scope``, here and below, is that of :class:`~twigcast.routing.Network`.
        """
        self.network.subscribe(
            client, subscription_id, subscription, namespaces, scope=scope, **bindings
        )

    def subscribe_all(
        self, client: str, subscriptions: Mapping[str, Pattern], *, scope: str = ""
    ) -> None:
        """Subscribe to many patterns with one message."""
        self.network.subscribe_all(client, subscriptions, scope=scope)

    def unsubscribe(self, client: str, *ids: str) -> None:
        """End subscriptions of a client, by their ids."""
        self.network.unsubscribe(client, *ids)

    def advertise(
        self, client: str, advertisement_id: str, promise: Promise, *, scope: str = ""
    ) -> None:
        """Promise documents under an id of the client's own."""
        self.network.advertise(client, advertisement_id, promise, scope=scope)

    def unadvertise(self, client: str, advertisement_id: str) -> None:
        """End an advertisement of a client."""
        self.network.unadvertise(client, advertisement_id)

    def publish(self, client: str, content: Source, *, scope: str = "") -> None:
        """Let a client publish a document."""
        self.network.publish(client, content, scope=scope)

    # --- faults -----------------------------------------------------------------------------------

    def cut(self, one: str, other: str) -> None:
        """Cut a link; what is in transit over it is lost."""
        self.network.cut(one, other)

    def heal(self, one: str, other: str) -> None:
        """Make a link that was cut whole again."""
        self.network.heal(one, other)

    def crash(self, broker: str) -> None:
        """Let a broker lose everything it knows, and what is in transit to it and from it."""
        self.network.crash(broker)

    def restart(self, broker: str) -> None:
        """Let a broker that has crashed begin anew; its clients attach again."""
        self.network.restart(broker)

    def slow(self, one: str, other: str, seconds: float) -> None:
        """Let messages on a link take so much longer than its latency, from now on.

        With 0 they take as long as before.
        """
        self._trouble(one, other, delay=seconds)

    def disturb(
        self,
        one: str,
        other: str,
        *,
        loss: float = 0.0,
        duplication: float = 0.0,
        reordering: float = 0.0,
    ) -> None:
        """Let these shares of the frames on a link be lost, come twice and come late, from now on.

        That is beside what the whole simulation was given: of what that leaves, these shares too.
        Without any, the link is as the simulation was given it.
        """
        self._trouble(one, other, loss=loss, duplication=duplication, reordering=reordering)

    def _trouble(self, one: str, other: str, **changed: float) -> None:
        link = self.network.overlay.link(one, other)
        trouble = replace(self._troubles.get(link, Conditions()), **changed)
        self._troubles[link] = trouble
        self._transport.set_conditions(link, self._given.beside(trouble))

    # --- to look at -------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """The figures up to now; false positives and table sizes are those at rest."""
        return summarise(self.network, self.traffic, self._transport.frames, self.now)

    def __repr__(self) -> str:
        return f"<Simulation at {self.now:g} s of {self.network!r}>"
