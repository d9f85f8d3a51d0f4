"""Brokers with disks and links, driven step by step by chance: nothing else happens at once.

    machine ──instructions──► one by one ──► disk: writes wait, then are safe, or fail
       ▲                          │     └──► links: messages wait, in order; documents may be lost
       │                          │                 or come twice
       └──────── events ◄─────────┘

A step is one of what may happen next: a message arrives, a write is safe, a document is loaded, a
broker's clock ticks.  A broker may crash before any instruction; of what it was writing, chance
says how much is on the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final, TypeAlias

from twigcast.delivery import (
    Acknowledge,
    Addressed,
    Answer,
    Came,
    Delivery,
    DropDurable,
    Event,
    Instruction,
    KeepDocument,
    Limits,
    LinkMessage,
    Load,
    Loaded,
    Moment,
    NeighbourUp,
    NoteReceived,
    PutDurable,
    PutHome,
    Route,
    Routed,
    Send,
    Store,
    Stored,
    StoreFailed,
    Tick,
    Write,
)
from twigcast.hierarchy import depth_of, make_router, units_of_link
from twigcast.routing import (
    ANYTHING,
    Advertise,
    Link,
    LinkDown,
    LinkKind,
    LinkUp,
    Overlay,
    Router,
    Update,
)
from twigcast.simulation.delivery.model_store import ModelStore

Said: TypeAlias = Update | LinkMessage
_LIFE_BITS: Final = 16
_NO_GATEWAYS: Final[Mapping[str, str]] = {}
_MAY_FAIL: Final = KeepDocument | NoteReceived | Acknowledge | PutHome | PutDurable | DropDurable
PUBLISHER: Final = "publisher"
"""The client of every broker that publishes."""


@dataclass(eq=False)
class SimulatedBroker:
    """A broker: what it has on disk, and while it runs its machine."""

    name: str
    disk: ModelStore | None
    router: Router | None = None
    machine: Delivery | None = None
    writes: deque[tuple[int, Write]] = field(default_factory=deque)
    loads: deque[Load] = field(default_factory=deque)
    clock: int = 0
    """What it takes for the time, in milliseconds."""
    life: int = 0
    """How often it was started."""

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.machine is not None


class World:
    """Brokers, disks, links and clocks; ``answered`` hears what clients are told.

    ``gateways`` as for :class:`~twigcast.routing.Overlay`.
    """

    def __init__(
        self,
        random: Random,
        brokers: dict[str, bool],
        links: list[tuple[str, str]],
        answered: Callable[[SimulatedBroker, Answer], None],
        limits: Limits = Limits(),  # noqa: B008 - it is immutable
        gateways: Mapping[str, str] = _NO_GATEWAYS,
        strategy: str = "covering",
    ) -> None:
        self.random = random
        self.overlay = Overlay(brokers, links, gateways)
        self.brokers = {
            name: SimulatedBroker(name, ModelStore() if has_disk else None)
            for name, has_disk in brokers.items()
        }
        self._links = links
        self._strategy = strategy
        self._answered = answered
        self._up: dict[tuple[str, str], deque[Said]] = {}
        """By sender and receiver, what is on the way."""
        self._cut: set[tuple[str, str]] = set()
        self._lives: set[int] = set()
        self.limits = limits
        """How much brokers keep that begin a life."""
        self.now = 0.0
        """Seconds since the beginning."""
        self.crashing = 0.0
        """How likely a broker is to crash before an instruction."""
        self.losing = 0.0
        """How likely a document is to be lost on a link, or to come twice."""
        self.failing = 0.0
        """How likely a disk is not to write something."""
        self.slow: set[str] = set()
        """The brokers whose disks write nothing while they are in here."""
        for broker in self.brokers.values():
            broker.clock = random.randrange(10**12)
            self.start(broker)

    # --- brokers ----------------------------------------------------------------------------------

    def start(self, broker: SimulatedBroker) -> None:
        """Begin a new life of a broker."""
        broker.life += 1
        incarnation = (broker.clock << _LIFE_BITS) + self.random.getrandbits(_LIFE_BITS)
        while incarnation in self._lives:  # none is ever given twice
            incarnation += 1
        self._lives.add(incarnation)
        gateway = self.overlay.gateways.get(broker.name)
        broker.router = make_router(broker.name, gateway, self._strategy, incarnation)
        state = None if broker.disk is None else broker.disk.state(incarnation)
        broker.machine = Delivery(broker.router, state, limits=self.limits)
        broker.router.handle(LinkUp(LinkKind.CLIENT), PUBLISHER)
        broker.router.handle(Advertise("all", ANYTHING), PUBLISHER)
        self._carry_out(broker, broker.machine.begin())
        for pair in self._links:
            if broker.name in pair:
                self._join(pair)

    def crash(self, broker: SimulatedBroker) -> None:
        """End the life of a broker at once; some of its writes are safe."""
        while broker.writes and broker.disk is not None and self.random.random() < 0.5:
            broker.disk.apply(broker.writes.popleft()[1])
        broker.writes.clear()
        broker.loads.clear()
        broker.machine = broker.router = None
        for pair in self._links:
            if broker.name in pair:
                self._part(pair)

    def stop(self, broker: SimulatedBroker) -> None:
        """End the life of a broker in order: all that it was writing is safe."""
        assert broker.machine is not None, "it runs"
        self._carry_out(broker, broker.machine.end())
        while broker.writes and broker.disk is not None:
            broker.disk.apply(broker.writes.popleft()[1])
        if broker.is_up:
            self.crash(broker)

    def replace_disk(self, broker: SimulatedBroker) -> None:
        """Give a broker that does not run an empty disk."""
        assert not broker.is_up, "a disk is replaced while nobody uses it"
        broker.disk = ModelStore()

    def happen(self, broker: SimulatedBroker, event: Event) -> None:
        """Let something happen at a broker; raises what its machine raises."""
        assert broker.machine is not None, "it runs"
        moment = Moment(self.now, broker.clock + int(self.now * 1000))
        self._carry_out(broker, broker.machine.handle(event, moment))

    def _carry_out(self, broker: SimulatedBroker, instructions: list[Instruction]) -> None:
        for each in instructions:
            if self.random.random() < self.crashing:
                self.crash(broker)
                return
            if isinstance(each, Store):
                broker.writes.append(each)
            elif isinstance(each, Load):
                broker.loads.append(each)
            elif isinstance(each, Route):
                for link, message in each.sends:
                    self._say(broker.name, link, message)
            elif isinstance(each, Send):
                for link in each.links:
                    self._say(broker.name, link, each.message)
            elif isinstance(each, Answer):
                self._answered(broker, each)

    # --- links ------------------------------------------------------------------------------------

    def cut(self, pair: tuple[str, str]) -> None:
        """Cut a link; what is on it is lost."""
        self._cut.add(pair)
        self._part(pair)

    def mend(self, pair: tuple[str, str]) -> None:
        """Let a link come up again."""
        self._cut.discard(pair)
        self._join(pair)

    @property
    def links(self) -> list[tuple[str, str]]:
        """All links, up or not."""
        return self._links

    @property
    def cut_links(self) -> list[tuple[str, str]]:
        """Those that are cut."""
        return sorted(self._cut)

    def _join(self, pair: tuple[str, str]) -> None:
        one, other = (self.brokers[name] for name in pair)
        if pair in self._cut or pair in self._up or not (one.is_up and other.is_up):
            return
        for sender, receiver in (pair, pair[::-1]):
            self._up[sender, receiver] = deque()
        for broker, neighbour in ((one, other.name), (other, one.name)):
            if broker.router is not None and pair in self._up:
                units = units_of_link(self.overlay, Link.between(*pair))
                up = LinkUp(LinkKind.BROKER, depths=tuple(map(depth_of, units)))
                sends = broker.router.handle(up, neighbour)
                self._carry_out(broker, [Route(list(sends))])
            if broker.is_up and (broker.name, neighbour) in self._up:
                self.happen(broker, NeighbourUp(neighbour))

    def _part(self, pair: tuple[str, str]) -> None:
        for sender, receiver in (pair, pair[::-1]):
            if self._up.pop((sender, receiver), None) is not None:
                router = self.brokers[sender].router
                if router is not None and router.has_link(receiver):
                    sends = router.handle(LinkDown(), receiver)
                    self._carry_out(self.brokers[sender], [Route(list(sends))])

    def _say(self, sender: str, receiver: str, message: object) -> None:
        link = self._up.get((sender, receiver))
        if link is None:
            return
        assert isinstance(message, Update | LinkMessage), f"nobody says {message!r}"
        times = 1
        if isinstance(message, Routed | Addressed) and self.random.random() < self.losing:
            times = self.random.choice((0, 2))
        link.extend([message] * times)

    # --- steps ------------------------------------------------------------------------------------

    def _possible(self) -> Iterator[Callable[[], object]]:
        for pair, link in self._up.items():
            if link:
                yield partial(self._arrive, *pair)
        for broker in self.brokers.values():
            if broker.writes and broker.name not in self.slow:
                yield partial(self._write, broker)
            if broker.loads:
                yield partial(self._load, broker)
            if broker.router is not None and broker.router.is_behind:
                yield partial(broker.router.go_on, 1)
            if broker.router is not None and broker.router.has_news:
                yield partial(self._flush, broker)

    def step(self) -> bool:
        """Let one thing happen that can; False if nothing can but time can pass."""
        possible = list(self._possible())
        if possible:
            self.random.choice(possible)()
        return bool(possible)

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        for broker in self.brokers.values():
            if broker.is_up:
                self.happen(broker, Tick())

    def _arrive(self, sender: str, receiver: str) -> None:
        message = self._up[sender, receiver].popleft()
        broker = self.brokers[receiver]
        assert broker.router is not None, "a link that is up has a broker at each end"
        if isinstance(message, Update):
            self._carry_out(broker, [Route(broker.router.handle(message, sender))])
        else:
            self.happen(broker, Came(sender, message))

    def _flush(self, broker: SimulatedBroker) -> None:
        assert broker.router is not None, "it runs"
        self._carry_out(broker, [Route(broker.router.flush())])

    def _write(self, broker: SimulatedBroker) -> None:
        ticket, write = broker.writes.popleft()
        assert broker.disk is not None, "nobody writes without a disk"
        if isinstance(write, _MAY_FAIL) and self.random.random() < self.failing:
            self.happen(broker, StoreFailed(ticket, "the disk does not write"))
        else:
            self.happen(broker, Stored(ticket, broker.disk.apply(write)))

    def _load(self, broker: SimulatedBroker) -> None:
        home, documents = broker.loads.popleft()
        assert broker.disk is not None, "nobody loads without a disk"
        owed = broker.disk.owed.get(home, {})
        fitting = documents[: self.random.randrange(1, len(documents) + 1)]
        self.happen(
            broker,
            Loaded(
                home,
                tuple(broker.disk.documents[str(each)] for each in fitting if each in owed),
                tuple(each for each in fitting if each not in owed),
                documents[len(fitting) :],
            ),
        )
