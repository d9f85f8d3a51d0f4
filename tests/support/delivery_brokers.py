"""Brokers' machines of durable delivery for tests: everything is in memory, and seen.

What a machine says to others is on the way until ``settle``; what it writes is safe then, unless
``holds`` is set.  Everything that it has said is in ``said``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import TypeVar

from twigcast.delivery import Delivery
from twigcast.delivery.events import (
    Answer,
    Came,
    DurablePut,
    DurableWants,
    Event,
    Instruction,
    LinkMessage,
    Load,
    Loaded,
    Moment,
    NeighbourUp,
    Offer,
    Published,
    Queue,
    Route,
    Send,
    Store,
    Stored,
    Tick,
)
from twigcast.delivery.room import Limits
from twigcast.delivery.writes import DurableOptions, PutDurable
from twigcast.language import parse
from twigcast.routing.messages import LinkDown, LinkKind, LinkUp, Subscribe, Update
from twigcast.routing.router import Router
from twigcast.simulation.delivery import ModelStore

_Any = TypeVar("_Any")
_lives = count(1000)


class Broker:
    """One broker; ``net`` carries what it says."""

    def __init__(self, net: Net, name: str, disk: ModelStore | None, limits: Limits) -> None:
        self.net = net
        self.name = name
        self.disk = disk
        self.limits = limits
        self.holds = False
        """Whether nothing is written."""
        self._tickets = count(1)
        self.start(next(_lives))

    def start(self, incarnation: int) -> None:
        """Begin a new life, with what is on the disk."""
        self.said: list[Instruction] = []
        self.writes: deque[Store] = deque()
        self.loads: deque[Load] = deque()
        self.router = Router(self.name, "covering", incarnation)
        state = None if self.disk is None else self.disk.state(incarnation)
        self.machine = Delivery(
            self.router, state, limits=self.limits, is_guarded=self.net.is_guarded
        )
        self.router.handle(LinkUp(LinkKind.CLIENT), "client")
        self._take(self.machine.begin())

    def tell(self, event: Event) -> list[Instruction]:
        """Let something happen; what the machine says."""
        said = self._take(self.machine.handle(event, Moment(self.net.now, self.net.time)))
        while self.router.is_behind:
            self.router.go_on(100)
        return said

    def _take(self, instructions: list[Instruction]) -> list[Instruction]:
        self.said += instructions
        for each in instructions:
            if isinstance(each, Store):
                self.writes.append(each)
            elif isinstance(each, Load):
                self.loads.append(each)
            elif isinstance(each, Send):
                for link in each.links:
                    self.net.way.append((self.name, link, each.message))
            elif isinstance(each, Route):
                self.route(each.sends)
        return instructions

    def route(self, sends: Sequence[tuple[str, object]]) -> None:
        for link, message in sends:
            if isinstance(message, Update):
                self.net.way.append((self.name, link, message))

    def write(self) -> list[Instruction]:
        """Carry out the next write."""
        ticket, write = self.writes.popleft()
        assert self.disk is not None
        return self.tell(Stored(ticket, self.disk.apply(write)))

    def load(self) -> None:
        home, documents = self.loads.popleft()
        assert self.disk is not None
        owed = self.disk.owed.get(home, {})
        parcels = tuple(self.disk.documents[str(each)] for each in documents if each in owed)
        self.tell(Loaded(home, parcels, tuple(each for each in documents if each not in owed)))

    # --- clients ----------------------------------------------------------------------------------

    def publish(
        self,
        content: bytes = b"<a/>",
        publication: str = "",
        link: str = "client",
        expires: int = 0,
    ) -> int:
        """Publish a document; the ticket."""
        ticket = next(self._tickets)
        self.tell(Published(ticket, link, content, publication, "ann", expires=expires))
        return ticket

    def answers(self, ticket: int) -> list[Answer]:
        return [each for each in self.all(Answer) if each.ticket == ticket]

    def all(self, kind: type[_Any]) -> list[_Any]:
        """All of one kind that was said."""
        return [each for each in self.said if isinstance(each, kind)]

    def written(self, kind: type[_Any]) -> list[_Any]:
        """All writes of one kind that were asked for."""
        return [each.write for each in self.all(Store) if isinstance(each.write, kind)]

    def subscribe(self, xpath: str, link: str = "client") -> None:
        """Make an ephemeral subscription."""
        self.route(self.router.handle(Subscribe({"k": parse(xpath)}), link))
        self.net.settle()

    def offered(self) -> list[bytes]:
        return [each.parcel.content for each in self.all(Offer)]

    def queued(self) -> list[bytes]:
        return [each.parcel.content for each in self.all(Queue)]

    def keep(self, name: str, xpath: str, options: DurableOptions = DurableOptions()) -> None:  # noqa: B008
        """Make a durable subscription, and tell all of it."""
        self.tell(DurablePut(0, PutDurable(name, "ann", {"k": xpath}, options)))
        self.net.settle()
        self.tell(DurableWants(name, {"k": parse(xpath)}))
        self.net.settle()


class Net:
    """Brokers in a row, each linked to the next; those in ``stores`` have one."""

    def __init__(
        self,
        names: str,
        stores: str,
        limits: Limits = Limits(),  # noqa: B008
        *,
        is_guarded: bool = False,
    ) -> None:
        self.is_guarded = is_guarded
        """Whether others may open the stores."""
        self.now = 0.0
        self.time = 1
        """Milliseconds since 1970."""
        self.way: deque[tuple[str, str, Update | LinkMessage]] = deque()
        """What is on the way."""
        self.lost: set[tuple[str, str]] = set()
        """By sender and receiver, where nothing gets through though links are up."""
        self.brokers = {
            name: Broker(self, name, ModelStore() if name in stores else None, limits)
            for name in names
        }
        self._links = list(pairwise(names))
        self.up: set[tuple[str, str]] = set()
        for link in self._links:
            self.join(*link)

    def __iter__(self) -> Iterator[Broker]:
        return iter(self.brokers.values())

    def join(self, one: str, other: str) -> None:
        self.up.add((one, other))
        for name, neighbour in ((one, other), (other, one)):
            broker = self.brokers[name]
            broker.route(broker.router.handle(LinkUp(LinkKind.BROKER), neighbour))
            broker.tell(NeighbourUp(neighbour))
        self.settle()

    def part(self, one: str, other: str) -> None:
        self.up.discard((one, other))
        for name, neighbour in ((one, other), (other, one)):
            broker = self.brokers[name]
            if neighbour in broker.router.neighbours:
                broker.route(broker.router.handle(LinkDown(), neighbour))
        self.settle()

    def restart(self, name: str, incarnation: int, *, replace: bool = False) -> None:
        """Let a broker begin a new life, perhaps with an empty disk."""
        links = [link for link in self.up if name in link]
        for link in links:
            self.part(*link)
        broker = self.brokers[name]
        if replace:
            broker.disk = ModelStore()
        broker.start(incarnation)
        for link in links:
            self.join(*link)

    def settle(self) -> None:
        """Carry out all that waits."""
        while True:
            if self.way:
                sender, receiver, message = self.way.popleft()
                link = (sender, receiver) if (sender, receiver) in self.up else (receiver, sender)
                if link not in self.up or (sender, receiver) in self.lost:
                    continue
                broker = self.brokers[receiver]
                if isinstance(message, Update):
                    broker.route(broker.router.handle(message, sender))
                else:
                    broker.tell(Came(sender, message))
                continue
            for broker in self:
                if broker.writes and not broker.holds:
                    broker.write()
                    break
                if broker.loads:
                    broker.load()
                    break
                if broker.router.has_news:
                    broker.route(broker.router.flush())
                    break
            else:
                return

    def tick(self, seconds: float = 1.0) -> None:
        """Let time pass."""
        self.now += seconds
        for broker in self:
            broker.tell(Tick())
        self.settle()
