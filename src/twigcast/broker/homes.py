"""What durable subscriptions want, wherever they are: known to every broker, and kept.

Each broker says what its own durable subscriptions want, reduced by covering, with a version that
grows.  That is passed on to all brokers, like link states: a broker that learns
something new sends it to all neighbours but the one it came from.  When a link comes up, both ends
say which versions they have, and send what the other one lacks.

Changes travel as differences from the version before; whoever lacks that one asks for the whole.
Versions are milliseconds since 1970, or one more than the last: so they grow across restarts,
without being written before they are sent.  Of two epochs of one home, the later counts; it begins
with its store, and epochs sort by time.

Decides, and sends nothing: messages in, messages out, and what has changed for the router.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from twigcast.covering import Change, CoveringTable
from twigcast.language import Pattern, read_expression


class Version(NamedTuple):
    """How new what is known of a home is; a higher one replaces a lower one."""

    epoch: str
    version: int


@dataclass(frozen=True, slots=True)
class HomeState:
    """What a home wants, or how that has changed since ``base``."""

    home: str
    version: Version
    base: int
    """The version that this changes; 0 if it is complete."""
    forward: tuple[str, ...]
    withdraw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HomeNews:
    """What to do about a state that has come."""

    change: Change | None = None
    """What has changed for the router, if anything; all neighbours are sent the same."""
    ask: bool = False
    """Whether to say which version we have, so that we are sent the whole."""


_NOTHING = HomeNews()


class _Known:
    __slots__ = ("patterns", "version")

    def __init__(self, version: Version, patterns: dict[str, Pattern]) -> None:
        self.version = version
        self.patterns = patterns


class Homes:
    """The durable interests of all brokers, as one of them knows them."""

    def __init__(self, broker: str, epoch: str, version: int) -> None:
        self._broker = broker
        self._own = CoveringTable()
        self._version = Version(epoch, version)
        self._known: dict[str, _Known] = {}

    # --- our own ----------------------------------------------------------------------------------

    def change_own(
        self,
        now: int,
        add: Mapping[str, Pattern] | None = None,
        remove: Iterable[str] = (),
    ) -> HomeState | None:
        """Add and remove durable expressions of this broker, by keys; what to send, if anything."""
        balance: Counter[Pattern] = Counter()
        changes = [self._own.remove(key) for key in remove]
        changes += [self._own.add(key, pattern) for key, pattern in (add or {}).items()]
        for change in changes:
            balance.update(change.forward)
            balance.subtract(change.withdraw)
        forward = tuple(str(pattern) for pattern, count in balance.items() if count > 0)
        withdraw = tuple(str(pattern) for pattern, count in balance.items() if count < 0)
        if not forward and not withdraw:
            return None
        base = self._version.version
        self._version = self._version._replace(version=max(base + 1, now))
        return HomeState(self._broker, self._version, base, forward, withdraw)

    @property
    def own_version(self) -> int:
        """The version of what this broker's own durable subscriptions want."""
        return self._version.version

    @property
    def own_count(self) -> int:
        """How many patterns stand for all durable subscriptions here."""
        return len(self._own.forwarded)

    # --- others -----------------------------------------------------------------------------------

    def restore(self, home: str, version: Version, patterns: Iterable[str]) -> Change:
        """Go on with what was known of a home before a restart."""
        known = {text: read_expression(text).pattern for text in patterns}
        self._known[home] = _Known(version, known)
        return Change(tuple(known.values()))

    def versions(self) -> dict[str, Version]:
        """What is known here, and how new it is; for a neighbour whose link comes up."""
        return {self._broker: self._version} | {
            home: known.version for home, known in self._known.items()
        }

    def lacking(self, theirs: Mapping[str, Version]) -> list[HomeState]:
        """What a neighbour with these versions lacks, whole."""
        ours = theirs.get(self._broker)
        if ours is not None and ours > self._version and ours.epoch == self._version.epoch:
            # Only a clock that went back, or a store that was put back, brings this about.
            self._version = ours._replace(version=ours.version + 1)
        states = []
        for home, version in self.versions().items():
            have = theirs.get(home)
            if have is None or have < version:
                states.append(self._whole(home))
        return states

    def _whole(self, home: str) -> HomeState:
        if home == self._broker:
            texts = tuple(str(each) for each in self._own.forwarded)
            return HomeState(home, self._version, 0, texts)
        known = self._known[home]
        return HomeState(home, known.version, 0, tuple(known.patterns))

    def accept(self, state: HomeState) -> HomeNews:
        """Take in what a neighbour sends about a home.

        Raises SubscriptionError for an expression outside the language.
        """
        if state.home == self._broker:  # an echo
            return _NOTHING
        known = self._known.get(state.home)
        if known is not None and known.version >= state.version:
            return _NOTHING
        if state.base and (
            known is None or known.version != Version(state.version.epoch, state.base)
        ):
            return HomeNews(ask=True)
        before = {} if known is None else known.patterns
        if state.base:
            after = dict(before)
            for text in state.withdraw:
                after.pop(text, None)
        else:
            after = {}
        for text in state.forward:
            after[text] = before.get(text) or read_expression(text).pattern
        self._known[state.home] = _Known(state.version, after)
        forward = tuple(pattern for text, pattern in after.items() if text not in before)
        withdraw = tuple(pattern for text, pattern in before.items() if text not in after)
        return HomeNews(Change(forward, withdraw))

    def forget(self, home: str) -> Version | None:
        """Take a home to want nothing, until it says something new; what is known of it."""
        known = self._known.get(home)
        if known is None:
            return None
        known.patterns = {}
        return known.version

    @property
    def patterns(self) -> dict[str, int]:
        """How many patterns each other home wants."""
        return {home: len(known.patterns) for home, known in self._known.items()}
