"""Small networks with durable delivery, driven step by step."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from twigcast.delivery import (
    Answer,
    AskKnown,
    Destination,
    DurableOptions,
    DurablePut,
    DurableWants,
    Published,
    PutDurable,
)
from twigcast.language import parse
from twigcast.simulation.delivery.world import PUBLISHER, SimulatedBroker, World

TWO_UNITS = (
    [("n/a", "n/b"), ("s/a", "s/b"), ("n/b", "s/a")],
    {"n/b": "n", "s/a": "s"},
)
TWO_GATEWAYS = (
    [
        ("n/a", "n/b"),
        ("s/a", "s/c"),
        ("s/b", "s/c"),
        ("n/b", "s/a"),
        ("n/b", "s/b"),
    ],
    {"n/b": "n", "s/a": "s", "s/b": "s"},
)
THREE_LEVELS = (
    [("n/x/a", "n/x/b"), ("n/x/b", "n/y/a"), ("n/y/a", "n/y/b"), ("n/y/a", "s/a"), ("s/a", "s/b")],
    {"n/x/b": "n/x", "n/y/a": "n", "s/a": "s"},
)


class Net:
    """Brokers in units, with disks, of whom nothing is lost unless a test wants it."""

    def __init__(
        self,
        network: tuple[list[tuple[str, str]], Mapping[str, str]],
        *without_disk: str,
        strategy: str = "covering",
        random: Random | None = None,
    ) -> None:
        links, gateways = network
        names = sorted({name for link in links for name in link})
        brokers = {name: name not in without_disk for name in names}
        self.answers: list[tuple[str, Answer]] = []
        self.world = World(
            random or Random(0),
            brokers,
            links,
            lambda broker, answer: self.answers.append((broker.name, answer)),
            gateways=gateways,
            strategy=strategy,
        )
        self._ticket = 0
        self.settle()

    def __getitem__(self, name: str) -> SimulatedBroker:
        return self.world.brokers[name]

    def settle(self, seconds: float = 0.25) -> None:
        """Let everything happen that can, and then some time pass."""
        for _ in range(12):
            while self.world.step():
                pass
            self.world.tick(seconds / 12)
        while self.world.step():
            pass

    def subscribe(self, home: str, name: str = "d", xpath: str = "//a", scope: int = 0) -> None:
        put = PutDurable(name, "ann", {"k": xpath}, DurableOptions(scope=scope))
        self.world.happen(self[home], DurablePut(0, put))
        while self.world.step():
            pass
        self.world.happen(self[home], DurableWants(name, {"k": parse(xpath)}))
        self.settle()

    def publish(self, at: str, content: str = "<a/>", publication: str = "", *to: str) -> None:
        self._ticket += 1
        event = Published(self._ticket, PUBLISHER, content.encode(), publication, "ann")
        destinations = tuple(Destination(*each.split(":")) for each in to)
        self.world.happen(self[at], event._replace(to=destinations))

    def ask_known(self, home: str) -> tuple[str, ...] | None:
        self._ticket += 1
        self.world.happen(self[home], AskKnown(self._ticket, 9.0))
        self.settle()
        self.settle(30.0)
        return next(
            answer.unreached for name, answer in self.answers if answer.ticket == self._ticket
        )

    def queue(self, home: str, name: str = "d") -> list[str]:
        """The documents in a queue."""
        disk = self[home].disk
        assert disk is not None
        entries = disk.queues[name].entries.values()
        return [disk.documents[id_].content.decode() for id_, _ in entries]

    def owed(self) -> dict[str, dict[str, int]]:
        """What brokers owe, by broker and home."""
        owed = {}
        for name, broker in self.world.brokers.items():
            if broker.machine is not None:
                counts = {home: n for home, n in broker.machine.custody.owed.items() if n}
                if counts:
                    owed[name] = counts
        return owed
