"""Consumers of durable subscriptions in a history, and what they must and must not be given.

They attach, alone or together, take documents, for a while only or not, acknowledge them, give them
back, and leave.  No
document is at two of them at once, and none comes again in one life of its broker after it was
acknowledged.  In the end all that waits can be taken; what does not was acknowledged, or set aside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from twigcast.delivery import (
    Acknowledged,
    Asked,
    ConsumerLeft,
    DurableQueue,
    GivenBack,
    Leased,
    Replay,
)
from twigcast.simulation.delivery.errors import HistoryError
from twigcast.simulation.delivery.world import SimulatedBroker, World

_NAMES: Final = ("x", "y")
_LATER: Final = 1000.0


@dataclass(eq=False)
class _Life:
    """What consumers of one queue have, and have acknowledged, in one life of its broker."""

    held: dict[str, dict[int, None]] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)


class Consumers:
    """The consumers of all queues."""

    def __init__(self, random: Random, world: World) -> None:
        self._random = random
        self._world = world
        self._lives: dict[tuple[str, int], _Life] = {}
        self._acknowledged: dict[str, set[int]] = {}
        """By subscription, what was ever acknowledged."""

    def _life(self, home: SimulatedBroker, name: str) -> _Life:
        return self._lives.setdefault((name, home.life), _Life())

    def act(self, home: SimulatedBroker, name: str) -> int:
        """Let one of the consumers of a queue do something; how many documents it was given."""
        assert home.machine is not None, "it runs"
        queue = home.machine.queues[name]
        held = self._life(home, name).held
        for gone in [each for each in held if each not in queue.consumers]:
            del held[gone]  # its time was over, or it had nothing any more
        consumer = self._random.choice(_NAMES)
        if consumer in queue.leased():
            self._finish(home, queue, consumer)
            return 0
        if consumer not in queue.consumers:
            for other in queue.attach(consumer):
                del held[other]
            held[consumer] = {}
        taken = self._take(home, queue, consumer)
        self._finish(home, queue, consumer)
        return taken

    def _take(self, home: SimulatedBroker, queue: DurableQueue, consumer: str) -> int:
        assert home.disk is not None, "a home has one"
        life = self._life(home, queue.name)
        taken = queue.take(consumer, self._random.randrange(1, 5), self._world.now)
        for sequence in taken:
            if any(sequence in held for held in life.held.values()):
                raise HistoryError(f"{sequence} of {queue.name} is at two consumers")
            if sequence in life.acknowledged:
                raise HistoryError(f"{sequence} of {queue.name} was acknowledged, and comes again")
            parcel = home.disk.read(queue.name, sequence)
            if parcel is None:
                queue.gone((sequence,))
            elif not queue.options.key or queue.assign(sequence, _key(parcel.content), consumer):
                life.held[consumer][sequence] = None
        return len(taken)

    def _finish(self, home: SimulatedBroker, queue: DurableQueue, consumer: str) -> None:
        life = self._life(home, queue.name)
        held = list(life.held[consumer])
        some = held[: self._random.randrange(len(held) + 1)]
        act = self._random.random()
        if act < 0.5 and some:
            upto = 0 if queue.options.is_shared else max(some, default=0) * (act < 0.1)
            self._acknowledge(home, queue, upto, some)
        elif act < 0.75 and some:
            for each in some:
                del life.held[consumer][each]
            delay = self._random.choice((0.0, 0.5, 5.0))
            self._world.happen(home, GivenBack(queue.name, consumer, some, delay))
        elif act < 0.8:
            seconds = self._random.choice((0.0, 1.0, 20.0))
            self._world.happen(home, Leased(queue.name, consumer, seconds))
        elif act < 0.9:
            del life.held[consumer]
            taken = self._random.randrange(len(held) + 1)
            self._world.happen(home, ConsumerLeft(queue.name, consumer, taken))

    def _acknowledge(
        self, home: SimulatedBroker, queue: DurableQueue, upto: int, some: list[int]
    ) -> None:
        life = self._life(home, queue.name)
        passed = {*some, *(each for each in range(queue.acknowledged + 1, upto + 1))}
        life.acknowledged |= passed
        self._acknowledged.setdefault(queue.name, set()).update(passed)
        for each in life.held.values():
            for sequence in passed:
                each.pop(sequence, None)
        self._world.happen(home, Acknowledged(0, queue.name, upto, some))

    def replay(self, home: SimulatedBroker) -> None:
        """Give a letter back to its queue."""
        assert home.disk is not None, "a home has one"
        if home.disk.letters:
            number = self._random.choice(list(home.disk.letters))
            letter = home.disk.letters[number]
            life = self._life(home, letter.durable)
            life.acknowledged.discard(letter.sequence)
            self._world.happen(home, Asked(0, Replay((number,), home.clock)))

    def look(self, home: SimulatedBroker, name: str) -> None:
        """Take all that waits in the end, and see where the rest is."""
        assert home.machine is not None, "everything runs in the end"
        assert home.disk is not None, "a home has one"
        queue, kept = home.machine.queues[name], home.disk.queues[name]
        if again := self._life(home, name).acknowledged & kept.waiting:
            raise HistoryError(f"{again} of {name} are acknowledged, and wait on the disk")
        if leased := queue.leased():
            raise HistoryError(f"{leased} have documents of {name} for ever")
        for consumer in queue.consumers:
            queue.detach(consumer)
        queue.attach("last")
        taken: list[int] = []
        while found := queue.take("last", 3, self._world.now + _LATER):
            # Retention may have dropped one that came into the queue long after it was kept.
            gone = [each for each in found if home.disk.read(name, each) is None]
            queue.gone(gone)
            taken += [each for each in found if each not in gone]
            for each in found:
                queue.assign(each, "", "last")
        if len(set(taken)) < len(taken) or set(taken) != kept.waiting:
            raise HistoryError(f"{taken} of {name} are given out, and {kept.waiting} wait")
        letters = {each.sequence for each in home.disk.letters.values() if each.durable == name}
        lost = set(kept.entries) - kept.waiting - letters - self._acknowledged.get(name, set())
        if lost:
            raise HistoryError(f"{lost} of {name} are neither waiting, nor letters, nor read")


def _key(content: bytes) -> str:
    """Documents of one kind stay in order."""
    return content[1:2].decode()
