"""What is wanted durably, told to all brokers: versions of homes, and who knows which.

    DurableWants ──► version ──► to all neighbours ──► and on ──► every broker
    AskKnown ──► HomeAsk, to every broker that can be reached ──► HomeKnown ──► Answer

A durable subscription is confirmed when every broker has said that it knows what is wanted: from
then on whatever is published anywhere is owed to it.  Brokers are asked in rounds: whoever asks
while a round goes on is served by the next, so that many together cost no more than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twigcast.delivery.events import (
    Addressed,
    Answer,
    HomeAsk,
    HomeKnown,
    HomeVersions,
    Instruction,
    Send,
    Store,
)
from twigcast.delivery.homes import Homes, HomeState
from twigcast.delivery.writes import PutHome, SetHomeVersion, StoreState, Version
from twigcast.language import Pattern
from twigcast.routing import Router


class _Round(NamedTuple):
    """Those who wait for one answer of all brokers."""

    number: int
    version: Version
    until: float
    tickets: list[int]
    answered: set[str]
    """The brokers that know."""


class Announcing:
    """The homes that one broker knows of, and what others know of it."""

    def __init__(self, router: Router, state: StoreState, *, has_store: bool) -> None:
        self._name = router.name
        self._documents = router.documents
        self._neighbours = router.neighbours
        self._has_store = has_store
        self._homes = Homes(router.name, state.home_version, state.incarnation)
        self._round: _Round | None = None
        self._rounds = 0
        self._asking: list[tuple[int, float]] = []
        """Who waits for the next round, and for how long it may take."""
        self._safe = {name: home.version for name, home in state.homes.items()}
        """What is not forgotten in a restart."""
        self._said: dict[str, Mapping[str, Version]] = {}
        """By neighbour, the versions that it knows."""
        self._unsafe: set[str] = set()
        """The homes of which something could not be stored."""
        for name, home in state.homes.items():
            self._documents.set_home(name, self._homes.restore(name, home))

    def begin(self) -> list[Instruction]:
        """Keep a bound above all versions of this life, before any of them is sent."""
        return [Store(0, SetHomeVersion(self._homes.bound))] if self._has_store else []

    def end(self) -> list[Instruction]:
        """Keep where this life ends, so that nothing has to be sent anew after it."""
        return [Store(0, SetHomeVersion(self._homes.own_version))] if self._has_store else []

    # --- our own ----------------------------------------------------------------------------------

    def change_own(
        self, durable: str, add: Mapping[str, Pattern], remove: tuple[str, ...]
    ) -> list[Instruction]:
        """Tell all brokers what a durable subscription begins and ceases to want."""
        state = self._homes.change_own(
            {f"{durable}\0{key}": pattern for key, pattern in add.items()},
            [f"{durable}\0{key}" for key in remove],
        )
        return [] if state is None else self._send(state)

    def restore_own(self, durable: str, patterns: Mapping[str, Pattern]) -> None:
        """Go on with a durable subscription of an earlier life, which all know of."""
        self._homes.restore_own({f"{durable}\0{key}": each for key, each in patterns.items()})

    def _send(self, state: HomeState, but: str = "") -> list[Instruction]:
        links = tuple(each for each in self._neighbours if each != but)
        return [Send(links, state)] if links else []

    # --- others -----------------------------------------------------------------------------------

    @property
    def versions(self) -> Mapping[str, Version]:
        """What is known of each home, and how new it is; our own is among them."""
        return self._homes.versions()

    def send_versions(self, link: str) -> list[Instruction]:
        """Tell a neighbour which versions are known here."""
        return [Send((link,), HomeVersions(self.versions))]

    def on_versions(self, said: HomeVersions, link: str) -> list[Instruction]:
        """Send a neighbour what it lacks."""
        self._said = {each: self._said[each] for each in self._neighbours if each in self._said}
        self._said[link] = said.versions
        instructions = self._leap(said.versions)
        instructions += [Send((link,), each) for each in self._homes.lacking(said.versions)]
        return instructions

    @property
    def is_informed(self) -> bool:
        """Whether everything is known here that the neighbours know."""
        known = self._homes.versions()
        lacks = any(
            home not in known or known[home] < version
            for each in self._neighbours
            for home, version in self._said.get(each, {"": Version(0, 0)}).items()
        )
        return not lacks and not self._documents.is_behind

    def _leap(self, theirs: Mapping[str, Version]) -> list[Instruction]:
        if not self._homes.leap(theirs):
            return []
        if self._round is not None:  # nobody knows what is told only now
            self._rounds += 1
            self._round.answered.clear()
            self._round = self._round._replace(number=self._rounds, version=self._homes.own_version)
        return [*self.begin(), *self._send(self._homes.state(self._name))]

    def unread(self, state: HomeState) -> list[str]:
        """The expressions that must be read before a state can be taken in."""
        return self._homes.unread(state)

    def on_state(
        self, state: HomeState, link: str, ticket: int, read: Mapping[str, Pattern]
    ) -> list[Instruction]:
        """Take in what a neighbour says of a home, to be stored under a ticket.

        Raises SubscriptionError for an expression that is not ``read`` already and cannot be.
        """
        if state.home == self._name:
            return self._leap({state.home: state.version})
        news = self._homes.accept(state, read)
        if news.ask:
            return self.send_versions(link)
        if news.change is None:
            return []
        self._documents.begin_home(state.home, news.change)
        instructions: list[Instruction] = []
        if self._has_store:
            put = PutHome(state.home, state.version, state.forward, state.withdraw, state.base)
            instructions.append(Store(ticket, put))
        return instructions + self._send(state, but=link)

    def stored(self, put: PutHome) -> None:
        """Note that what a home wants is safe here, unless what it changes was not."""
        if not put.base or self._safe.get(put.home) == Version(put.version.epoch, put.base):
            self._safe[put.home] = put.version
        else:
            self.not_stored(put)

    def not_stored(self, put: PutHome) -> None:
        """Note that what a home wants is not safe here; it is stored whole when the home asks."""
        self._unsafe.add(put.home)

    def forget(self, home: str) -> list[Instruction]:
        """Take a home to want nothing, until it says something new."""
        known = self._homes.forget(home)
        self._documents.drop_home(home)
        if known is None or not self._has_store:
            return []
        return [Store(0, PutHome(home, known, (), (), 0))]

    @property
    def patterns(self) -> dict[str, int]:
        """How many patterns each other home wants."""
        return self._homes.patterns

    @property
    def own_count(self) -> int:
        """How many patterns stand for all durable subscriptions here."""
        return self._homes.own_count

    # --- who knows --------------------------------------------------------------------------------

    def ask_known(self, ticket: int, patience: float, now: float) -> list[Instruction]:
        """Answer under a ticket when all brokers know what is wanted here as of now."""
        self._asking.append((ticket, patience))
        return [] if self._round is not None else self._begin_round(now)

    def _begin_round(self, now: float) -> list[Instruction]:
        if not self._asking:
            return []
        self._rounds += 1
        tickets = [ticket for ticket, _ in self._asking]
        until = now + max(patience for _, patience in self._asking)
        self._round = _Round(self._rounds, self._homes.own_version, until, tickets, set())
        self._asking.clear()
        return self.go_on_asking(now)

    def go_on_asking(self, now: float) -> list[Instruction]:
        """Ask those that have not answered, again perhaps; end the round if none can."""
        if self._round is None:
            return []
        hops = {
            # Of a link that has just come up, the neighbour has said nothing yet.
            each: each if each in self._neighbours else self._documents.next_hop(each)
            for each in self._unreached(self._round)
        }
        ask = HomeAsk(self._round.version, self._round.number)
        asks: list[Instruction] = [
            Send((hop,), Addressed(broker, self._name, ask))
            for broker, hop in hops.items()
            if hop is not None
        ]
        return asks if asks and now < self._round.until else self._end_round(now)

    def _end_round(self, now: float) -> list[Instruction]:
        assert self._round is not None, "a round goes on"
        unreached = tuple(sorted(self._unreached(self._round)))
        answers: list[Instruction] = [
            Answer(ticket, unreached=unreached) for ticket in self._round.tickets
        ]
        self._round = None
        return answers + self._begin_round(now)

    def on_ask(self, home: str, ask: HomeAsk, ticket: int) -> list[Instruction]:
        """Answer a home, if what it wants is known; a write under the ticket may be needed."""
        if home in self._unsafe:
            self._unsafe.discard(home)
            whole = self._homes.state(home)
            return [Store(ticket, PutHome(home, whole.version, whole.forward, (), 0))]
        # What could be forgotten is not known, nor is what was said before a home lost its store.
        known = (self._safe if self._has_store else self._homes.versions()).get(home)
        hop = self._documents.next_hop(home)
        if hop is None or known is None or known < ask.version or known.epoch > ask.version.epoch:
            return []
        if self._homes.is_forgotten(home) or self._documents.is_behind:
            return []
        return [Send((hop,), Addressed(home, self._name, HomeKnown(ask.round)))]

    def on_known(self, broker: str, known: HomeKnown, now: float) -> list[Instruction]:
        """Note that a broker knows what is wanted here."""
        if self._round is None or known.round != self._round.number:
            return []
        self._round.answered.add(broker)
        return [] if self._unreached(self._round) else self._end_round(now)

    def _unreached(self, round_: _Round) -> list[str]:
        return [each for each in self._documents.brokers() if each not in round_.answered]
