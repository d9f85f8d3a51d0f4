"""Who knows what is wanted durably: brokers are asked, and asked again, until all have answered.

    AskKnown ──► round ──► HomeAsk, to every broker of the overlay ──► HomeKnown ──► all: Answer
                                         │                                 ▲
                                         └── at a gateway: rounds beyond ──┘

A durable subscription is confirmed when every broker has said that it knows what is wanted: from
then on whatever is published anywhere is owed to it.  Brokers are asked in rounds: whoever asks
while a round goes on is served by the next, so that many together cost no more than one.  Whoever
knows what the home said before it lost its store asks the home back, which says all anew.

A gateway says that it knows when all brokers beyond it do, and names those that may not: it holds
rounds about its standing homes that want what this home wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from twigcast.delivery.events import Addressed, Answer, HomeAsk, HomeKnown, Instruction, Send
from twigcast.delivery.levels import Level, broker_of
from twigcast.delivery.writes import Version

Done: TypeAlias = Callable[[tuple[str, ...], float], list[Instruction]]
"""What to do when a round is over: with the brokers that may not know, and the time."""


def answering(ticket: int, others: tuple[str, ...] = ()) -> Done:
    """Answer under a ticket, with others besides that may not know."""
    return lambda unreached, _: [Answer(ticket, unreached=tuple(sorted({*unreached, *others})))]


@dataclass(eq=False)
class _Round:
    """Those who wait for one answer of all brokers."""

    number: int
    version: Version
    until: float
    waiting: list[Done]
    answered: set[str] = field(default_factory=set)
    """The brokers that know."""
    unreached: set[str] = field(default_factory=set)
    """Brokers beyond these that may not."""


class Asking:
    """The rounds about one home of ours, in the overlay of its level."""

    def __init__(self, level: Level, home: str, version: Callable[[], Version]) -> None:
        self._level = level
        self._home = home
        self._version = version
        self._round: _Round | None = None
        self._rounds = 0
        self._next: list[tuple[Done, float]] = []
        """Who waits for the next round, and for how long it may take."""

    def ask(self, done: Done, patience: float, now: float) -> list[Instruction]:
        """Let somebody know when all brokers know what the home wants as of now."""
        self._next.append((done, patience))
        return [] if self._round is not None else self._begin(now)

    def begin_anew(self) -> None:
        """Ask for the version of now: nobody knows what is sent only now."""
        if self._round is not None:
            self._rounds += 1
            self._round.answered.clear()
            self._round.number, self._round.version = self._rounds, self._version()

    def _begin(self, now: float) -> list[Instruction]:
        if not self._next:
            return []
        self._rounds += 1
        until = now + max(patience for _, patience in self._next)
        waiting = [done for done, _ in self._next]
        self._round = _Round(self._rounds, self._version(), until, waiting)
        self._next.clear()
        return self.go_on(now)

    def go_on(self, now: float) -> list[Instruction]:
        """Ask those that have not answered, again perhaps; end the round if none can."""
        if self._round is None:
            return []
        level = self._level
        hops = {
            # Of a link that has just come up, the neighbour has said nothing yet.
            each: each if each in level.router.neighbours else level.documents.next_hop(each)
            for each in self._unreached(self._round)
        }
        ask = HomeAsk(self._home, self._round.version, self._round.number)
        asks: list[Instruction] = [
            Send((hop,), Addressed(broker, level.router.name, ask, depth=level.depth))
            for broker, hop in hops.items()
            if hop is not None
        ]
        return asks if asks and now < self._round.until else self._end(now)

    def _end(self, now: float) -> list[Instruction]:
        assert self._round is not None, "a round goes on"
        unreached = tuple(sorted({*self._unreached(self._round), *self._round.unreached}))
        instructions = [each for done in self._round.waiting for each in done(unreached, now)]
        self._round = None
        return instructions + self._begin(now)

    def on_known(self, broker: str, known: HomeKnown, now: float) -> list[Instruction]:
        """Note that a broker knows what the home wants."""
        if self._round is None or known.round != self._round.number:
            return []
        self._round.answered.add(broker)
        self._round.unreached.update(known.unreached)
        return [] if self._unreached(self._round) else self._end(now)

    def _unreached(self, round_: _Round) -> list[str]:
        """Those that have not answered: all brokers, and all that are known as homes only.

        Of a broker that was down while all others began anew, only what it wants is remembered;
        when it comes back, documents may be owed to it, and it may have to owe them on.
        """
        documents, name = self._level.documents, self._level.router.name
        brokers = dict.fromkeys([*documents.brokers(), *map(broker_of, documents.known_homes)])
        return [each for each in brokers if each != name and each not in round_.answered]


class Together:
    """Rounds about several homes of ours, of which somebody is to hear when all are over.

    ``done`` hears of it, perhaps more than once.
    """

    def __init__(self, homes: Iterable[str], done: Done) -> None:
        self._waiting = set(homes)
        self._done = done
        self._unreached: set[str] = set()

    def answer(self, now: float) -> list[Instruction]:
        """What to do if all rounds are over."""
        return [] if self._waiting else self._done(tuple(sorted(self._unreached)), now)

    def over(self, home: str) -> Done:
        """What to do when the round about one of the homes is over."""

        def note(unreached: tuple[str, ...], now: float) -> list[Instruction]:
            self._waiting.discard(home)
            self._unreached.update(unreached)
            return self.answer(now)

        return note
