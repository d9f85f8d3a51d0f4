"""What is wanted durably, announced to all brokers: versions of homes, and who knows which.

    DurableWants ──► version of our home ──► to all neighbours ──► and on ──► every broker
                          │
                          └──► at a gateway: versions of its standing homes ──► the units beyond

A gateway's standing homes want what other homes want (:mod:`~twigcast.delivery.levels`).  They are
homes like others.  What they want changes as the others change, and is derived anew from what is
kept of the others when a broker starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from twigcast.covering import Change
from twigcast.delivery.asking import Asking, Together, answering
from twigcast.delivery.events import (
    Addressed,
    HomeAsk,
    HomeKnown,
    HomeVersions,
    Instruction,
    Send,
    Store,
)
from twigcast.delivery.homes import Homes, HomeState
from twigcast.delivery.levels import Level, Levels, broker_of
from twigcast.delivery.writes import PutHome, SetHomeVersion, StoreState, Version
from twigcast.language import Pattern
from twigcast.routing import is_outer

_RELAY_PATIENCE = 10.0
"""How long, in seconds, a gateway asks others whether they know."""


class Announcing:
    """The homes that one broker knows of, and what others know of it."""

    def __init__(self, levels: Levels, state: StoreState, *, has_store: bool) -> None:
        self._levels = levels
        self._has_store = has_store
        self._homes: dict[int, Homes] = {}
        for level in levels:
            most = level.router.strategy.most_patterns
            own = {home: None if home == level.home else most for home in level.own}
            # What is said beyond our unit begins anew: nothing from there counts inside it.  Not
            # with version 0, which changes are based on that are complete.
            version = state.home_version if level.home else Version(state.incarnation, 1)
            self._homes[level.depth] = Homes(own, version, state.incarnation, level.depth)
        self._asking: dict[str, Asking] = {}
        for level in levels:
            version_of = self._homes[level.depth].own_version
            self._asking |= {
                home: Asking(level, home, partial(version_of, home)) for home in level.own
            }
        self._relays: dict[str, tuple[HomeAsk, Together]] = {}
        """By home, what it has asked last, and the rounds beyond."""
        self._safe: dict[str, Version] = {}
        """What is not forgotten in a restart."""
        self._said: dict[tuple[int, str], Mapping[str, Version]] = {}
        """By depth and neighbour, the versions that it knows."""
        self._unsafe: set[str] = set()
        """The homes of which something could not be stored."""
        for name, home in state.homes.items():
            known_in = levels.of(name)
            if known_in is None or name in known_in.own:
                continue  # it was known before this broker came into another unit
            self._safe[name] = home.version
            for scope, change in self._homes[known_in.depth].restore(name, home).items():
                known_in.documents.set_home(name, change, scope)
                self._feed(known_in, name, change, scope, is_news=False)

    def begin(self) -> list[Instruction]:
        """Keep a bound above all versions of this life, before any of them is sent."""
        return self._keep(self._inside.bound)

    def end(self) -> list[Instruction]:
        """Keep where this life ends, so that nothing has to be sent anew after it."""
        is_safe = all(
            self._safe.get(home) == version
            for level in self._levels
            for home, version in self._homes[level.depth].versions().items()
            if home not in level.own
        )
        # What a gateway's homes want is derived anew, from what is safe.
        if self._levels.are_several and not is_safe:
            return []
        return self._keep(self._inside.latest)

    @property
    def _inside(self) -> Homes:
        return self._homes[self._levels.innermost.depth]

    def _keep(self, version: Version) -> list[Instruction]:
        return [Store(0, SetHomeVersion(version))] if self._has_store else []

    # --- our own ----------------------------------------------------------------------------------

    def change_own(
        self, durable: str, add: Mapping[str, Pattern], remove: tuple[str, ...], scope: int = 0
    ) -> list[Instruction]:
        """Tell all brokers what a durable subscription begins and ceases to want in its scope."""
        level = self._levels.innermost
        return self._change(level, level.home, durable, add, remove, scope)

    def restore_own(self, durable: str, patterns: Mapping[str, Pattern], scope: int = 0) -> None:
        """Go on with a durable subscription of an earlier life, which all know of."""
        level = self._levels.innermost
        self._change(level, level.home, durable, patterns, (), scope, is_news=False)

    def _change(
        self,
        level: Level,
        home: str,
        key: str,
        add: Mapping[str, Pattern],
        remove: Iterable[str],
        scope: int,
        *,
        is_news: bool = True,
    ) -> list[Instruction]:
        """Let a home of ours begin and cease to want something within a scope."""
        keyed = {f"{key}\0{each}": pattern for each, pattern in add.items()}
        removed = [f"{key}\0{each}" for each in remove]
        homes = self._homes[level.depth]
        news = homes.change_own(home, keyed, removed, scope=scope, is_news=is_news)
        if news is None:
            return []
        state, change = news
        if home != level.home:  # what clients want here the router knows already
            note = level.documents.begin_home if is_news else level.documents.set_home
            note(home, change, scope)
        instructions = self._send(level, state) if is_news else []
        return instructions + self._feed(level, home, change, scope, is_news=is_news)

    def _feed(
        self, level: Level, home: str, change: Change, scope: int, *, is_news: bool = True
    ) -> list[Instruction]:
        """Let our standing homes in other overlays want what a home here wants.

        What is wanted within this unit only is not said outside it.  What is said inside has no
        scope any more, since all that is published there is inside.
        """
        if not self._has_store:
            return []  # it could take nothing over
        beyond = {
            standing: 0 if is_outer(standing) else scope
            for standing in level.fed_by(home)
            if is_outer(standing) or not scope or scope < level.depth
        }
        key = f"{home}\0{scope}"
        add = {str(pattern): pattern for pattern in change.forward}
        remove = [str(pattern) for pattern in change.withdraw]
        return [
            each
            for standing, within in beyond.items()
            for each in self._change(
                self._level_of(standing), standing, key, add, remove, within, is_news=is_news
            )
        ]

    def _level_of(self, home: str) -> Level:
        level = self._levels.of(home)
        assert level is not None, f"{home} is a home that this broker knows"
        return level

    def _send(self, level: Level, state: HomeState, but: str = "") -> list[Instruction]:
        links = tuple(each for each in level.neighbours if each != but)
        return [Send(links, state)] if links else []

    # --- others -----------------------------------------------------------------------------------

    @property
    def versions(self) -> Mapping[str, Version]:
        """What is known of each home, and how new it is; our own are among them."""
        return {
            home: version
            for homes in self._homes.values()
            for home, version in homes.versions().items()
        }

    def send_versions(self, link: str) -> list[Instruction]:
        """Tell a neighbour which versions are known here, for each overlay that has it."""
        return [self._versions(level, link) for level in self._levels if link in level.neighbours]

    def _versions(self, level: Level, link: str) -> Instruction:
        return Send((link,), HomeVersions(self._homes[level.depth].versions(), level.depth))

    def on_versions(self, said: HomeVersions, link: str) -> list[Instruction]:
        """Send a neighbour what it lacks."""
        level = self._levels.at(said.depth)
        if level is None:
            return []
        neighbours = {each.depth: each.neighbours for each in self._levels}
        self._said = {
            (depth, each): versions
            for (depth, each), versions in self._said.items()
            if each in neighbours[depth]
        }
        self._said[said.depth, link] = said.versions
        instructions = self._leap(level, said.versions)
        lacking = self._homes[said.depth].lacking(said.versions)
        return instructions + [Send((link,), each) for each in lacking]

    @property
    def is_informed(self) -> bool:
        """Whether everything is known here that the neighbours know."""
        return all(map(self._is_informed, self._levels))

    def _is_informed(self, level: Level) -> bool:
        known = self._homes[level.depth].versions()
        lacks = any(
            home not in known or known[home] < version
            for each in level.neighbours
            for home, version in self._said.get((level.depth, each), {"": Version(0, 0)}).items()
        )
        return not lacks and not level.documents.is_behind

    def _leap(self, level: Level, theirs: Mapping[str, Version]) -> list[Instruction]:
        homes = self._homes[level.depth]
        instructions: list[Instruction] = []
        for home in theirs:
            if broker_of(home) == level.router.name and home not in level.own:
                homes.adopt(home)  # it was a gateway's
                level.documents.drop_home(home)
        for home in homes.leap(theirs):
            if home in self._asking:
                self._asking[home].begin_anew()
            instructions += [*self.begin(), *self._send(level, homes.state(home))]
        return instructions

    def unread(self, state: HomeState) -> list[str]:
        """The expressions that must be read before a state can be taken in."""
        homes = self._homes.get(state.depth)
        return [] if homes is None else homes.unread(state)

    def on_state(
        self, state: HomeState, link: str, ticket: int, read: Mapping[str, Pattern]
    ) -> list[Instruction]:
        """Take in what a neighbour says of a home, to be stored under a ticket.

        Raises SubscriptionError for an expression that is not ``read`` already and cannot be.
        """
        level = self._levels.at(state.depth)
        if level is None or self._levels.of(state.home) is not level:
            return []
        if broker_of(state.home) == level.router.name:
            return self._leap(level, {state.home: state.version})
        news = self._homes[level.depth].accept(state, read)
        if news.ask:
            return [self._versions(level, link)]
        if news.changes is None:
            return self._ask_back(state.home, state.version, level)
        for scope, change in news.changes.items():
            level.documents.begin_home(state.home, change, scope)
        instructions: list[Instruction] = []
        if self._has_store:
            put = PutHome(state.home, state.version, state.forward, state.withdraw, state.base)
            instructions.append(Store(ticket, put))
        instructions += self._send(level, state, but=link)
        for scope, change in news.changes.items():
            instructions += self._feed(level, state.home, change, scope)
        return instructions

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
        level = self._levels.of(home)
        if level is None or home in level.own:
            return []
        known = self._homes[level.depth].forget(home)
        level.documents.drop_home(home)
        if known is None:
            return []
        version, changes = known
        instructions = []
        for scope, change in changes.items():
            instructions += self._feed(level, home, change, scope)
        if self._has_store:
            instructions.append(Store(0, PutHome(home, version, (), (), 0)))
        return instructions

    @property
    def patterns(self) -> dict[str, int]:
        """How many patterns each other home wants."""
        return {
            home: count for homes in self._homes.values() for home, count in homes.patterns.items()
        }

    @property
    def own_count(self) -> int:
        """How many patterns stand for all durable subscriptions here."""
        level = self._levels.innermost
        return self._homes[level.depth].own_count(level.home)

    # --- who knows --------------------------------------------------------------------------------

    def ask_known(self, ticket: int, patience: float, now: float) -> list[Instruction]:
        """Answer under a ticket when all brokers know what is wanted here as of now.

        Those of our own unit are asked last, so that those who join it meanwhile are among them.
        """
        level = self._levels.innermost
        asking = self._asking[level.home]
        beyond = self._beyond(level, level.home)
        if not beyond:
            return asking.ask(answering(ticket), patience, now)

        def ask_ours(unreached: tuple[str, ...], then: float) -> list[Instruction]:
            return asking.ask(answering(ticket, unreached), patience, then)

        return self._ask(Together(beyond, ask_ours), beyond, patience, now)

    def _beyond(self, level: Level, home: str) -> list[str]:
        """Our standing homes that want what a home wants, and those that want what these want."""
        if not self._has_store:
            return []
        homes = list(level.fed_by(home))
        for each in homes:
            homes += self._level_of(each).fed_by(each)
        # Who wants nothing, since all is kept within the unit, need not be known.
        return [each for each in homes if self._own_count(each)]

    def _own_count(self, home: str) -> int:
        return self._homes[self._level_of(home).depth].own_count(home)

    def _ask(
        self, together: Together, homes: Iterable[str], patience: float, now: float
    ) -> list[Instruction]:
        return [
            each
            for home in homes
            for each in self._asking[home].ask(together.over(home), patience, now)
        ]

    def go_on_asking(self, now: float) -> list[Instruction]:
        """Ask those that have not answered, again perhaps."""
        return [each for asking in self._asking.values() for each in asking.go_on(now)]

    def on_ask(
        self, broker: str, ask: HomeAsk, level: Level, ticket: int, now: float
    ) -> list[Instruction]:
        """Answer a home, if what it wants is known; a write under the ticket may be needed."""
        homes = self._homes[level.depth]
        if self._levels.of(ask.home) is not level:
            return []
        if broker_of(ask.home) == level.router.name:
            return self._leap(level, {ask.home: ask.version})
        if ask.home in self._unsafe:
            self._unsafe.discard(ask.home)
            whole = homes.state(ask.home)
            return [Store(ticket, PutHome(ask.home, whole.version, whole.forward, (), 0))]
        # What was said before a home lost its store is not known, nor is what could be forgotten.
        if homes.exceeding(ask.home, ask.version):
            return self._ask_back(ask.home, ask.version, level)
        known = (self._safe if self._has_store else homes.versions()).get(ask.home)
        if known is None or known < ask.version:
            return []
        if homes.is_forgotten(ask.home) or any(each.documents.is_behind for each in self._levels):
            return []
        asked, together = self._relays.get(ask.home, (None, None))
        if together is not None and asked == ask:
            return together.answer(now)
        return self._ask_beyond(broker, ask, level, now)

    def _ask_back(self, home: str, version: Version, level: Level) -> list[Instruction]:
        """Ask a home about the version known here, if it says one from after it lost its store."""
        higher = self._homes[level.depth].exceeding(home, version)
        hop = level.documents.next_hop(broker_of(home))
        if higher is None or hop is None:
            return []
        ask = HomeAsk(home, higher, 0)
        return [Send((hop,), Addressed(broker_of(home), level.router.name, ask, depth=level.depth))]

    def _ask_beyond(self, broker: str, ask: HomeAsk, level: Level, now: float) -> list[Instruction]:
        """Answer a home when all know beyond this broker, too."""

        def reply(unreached: tuple[str, ...], _: float) -> list[Instruction]:
            hop = level.documents.next_hop(broker)
            known = HomeKnown(ask.home, ask.round, unreached)
            said = Addressed(broker, level.router.name, known, depth=level.depth)
            return [] if hop is None else [Send((hop,), said)]

        beyond = self._beyond(level, ask.home)
        together = Together(beyond, reply)
        self._relays[ask.home] = ask, together
        if not beyond:
            return together.answer(now)
        return self._ask(together, beyond, _RELAY_PATIENCE, now)

    def on_known(self, broker: str, known: HomeKnown, now: float) -> list[Instruction]:
        """Note that a broker knows what is wanted here."""
        asking = self._asking.get(known.home)
        return [] if asking is None else asking.on_known(broker, known, now)
