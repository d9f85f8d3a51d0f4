"""What durable subscriptions want, wherever they are: known to every broker, and kept.

Each broker says what its own durable subscriptions want, reduced by covering, with a version that
grows.  That is passed on to all brokers, like link states: a broker that learns
something new sends it to all neighbours but the one it came from.  When a link comes up, both ends
say which versions they have, and send what the other one lacks.

Changes travel as differences from the version before; whoever lacks that one asks for the whole.
No version is given twice: a bound above those of one life is kept before the first is sent, and the
next life begins there.  A home that finds others to know a higher version of it than itself has
lost its store: it goes on in a higher epoch.

Decides, and sends nothing: messages in, messages out, and what has changed for the router.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from twigcast.covering import Change, CoveringTable
from twigcast.delivery.writes import Home, Version
from twigcast.language import Pattern, read_normal_form

_LEAP: Final = 2**16
_VERSIONS: Final = 2**32


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
_NO_PATTERNS: Mapping[str, Pattern] = {}


class _Known:
    __slots__ = ("is_forgotten", "patterns", "version")

    def __init__(self, version: Version, patterns: dict[str, Pattern]) -> None:
        self.version = version
        self.patterns = patterns
        self.is_forgotten = False


class Homes:
    """The durable interests of all brokers, as one of them knows them.

    ``salt`` is a number that no other life of this broker has.
    """

    def __init__(self, broker: str, version: Version, salt: int) -> None:
        self._broker = broker
        self._own = CoveringTable()
        self._version = version if version.epoch else Version(salt, 0)
        self._salt = salt
        self._known: dict[str, _Known] = {}

    # --- our own ----------------------------------------------------------------------------------

    def change_own(
        self, add: Mapping[str, Pattern] | None = None, remove: Iterable[str] = ()
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
        self._version = self._version._replace(version=base + 1)
        return HomeState(self._broker, self._version, base, forward, withdraw)

    def restore_own(self, wanted: Mapping[str, Pattern]) -> None:
        """Go on with durable expressions of an earlier life, by keys."""
        for key, pattern in wanted.items():
            self._own.add(key, pattern)

    @property
    def bound(self) -> Version:
        """What no version of this life comes up to, as far as can be foreseen."""
        return self._version._replace(version=self._version.version + _VERSIONS)

    @property
    def own_version(self) -> Version:
        """The version of what this broker's own durable subscriptions want."""
        return self._version

    @property
    def own_count(self) -> int:
        """How many patterns stand for all durable subscriptions here."""
        return len(self._own.forwarded)

    # --- others -----------------------------------------------------------------------------------

    def restore(self, name: str, home: Home) -> Change:
        """Go on with what was known of a home before a restart."""
        known = {text: read_normal_form(text) for text in home.patterns}
        self._known[name] = _Known(home.version, known)
        self._known[name].is_forgotten = not known  # or it wants nothing: nobody knows
        return Change(tuple(known.values()))

    def versions(self) -> dict[str, Version]:
        """What is known here, and how new it is; for a neighbour whose link comes up."""
        return {self._broker: self._version} | {
            home: known.version for home, known in self._known.items()
        }

    def lacking(self, theirs: Mapping[str, Version]) -> list[HomeState]:
        """What a neighbour with these versions lacks, whole."""
        states = []
        for home, version in self.versions().items():
            have = theirs.get(home)
            if not self.is_forgotten(home) and (have is None or have < version):
                states.append(self.state(home))
        return states

    def leap(self, theirs: Mapping[str, Version]) -> bool:
        """Go on in a higher epoch if a neighbour knows a higher version of us than we do.

        Only a store that was lost, or put back, brings this about.
        """
        known = theirs.get(self._broker)
        if known is None or known <= self._version:
            return False
        # By chance too, so that two lives that lost their stores do not come to the same epoch.
        self._version = Version(known.epoch + 1 + self._salt % _LEAP, 1)
        return True

    def state(self, home: str) -> HomeState:
        """All that a home is known to want; ours is one, too."""
        if home == self._broker:
            texts = tuple(str(each) for each in self._own.forwarded)
            return HomeState(home, self._version, 0, texts)
        known = self._known[home]
        return HomeState(home, known.version, 0, tuple(known.patterns))

    def unread(self, state: HomeState) -> list[str]:
        """The expressions that must be read before a state is accepted."""
        known = self._known.get(state.home)
        if self._is_known(state) or self._lacks_base(state):
            return []
        before: Mapping[str, Pattern] = {} if known is None else known.patterns
        return [text for text in state.forward if text not in before]

    def _is_known(self, state: HomeState) -> bool:
        """Whether a state is an echo, or not newer than what is known."""
        known = self._known.get(state.home)
        return state.home == self._broker or (known is not None and known.version >= state.version)

    def _lacks_base(self, state: HomeState) -> bool:
        known = self._known.get(state.home)
        base = Version(state.version.epoch, state.base)
        return bool(state.base) and (known is None or known.is_forgotten or known.version != base)

    def accept(self, state: HomeState, read: Mapping[str, Pattern] = _NO_PATTERNS) -> HomeNews:
        """Take in what a neighbour sends about a home; ``read`` are expressions read already.

        Raises SubscriptionError for an expression outside the language.
        """
        if self._is_known(state):
            return _NOTHING
        if self._lacks_base(state):
            return HomeNews(ask=True)
        known = self._known.get(state.home)
        before = {} if known is None else known.patterns
        if state.base:
            after = dict(before)
            for text in state.withdraw:
                after.pop(text, None)
        else:
            after = {}
        for text in state.forward:
            after[text] = before.get(text) or read.get(text) or read_normal_form(text)
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
        known.is_forgotten = True
        return known.version

    def is_forgotten(self, home: str) -> bool:
        """Whether a home may want more than is known here, and nobody is to hear of it."""
        known = self._known.get(home)
        return known is not None and known.is_forgotten

    @property
    def patterns(self) -> dict[str, int]:
        """How many patterns each other home wants."""
        return {home: len(known.patterns) for home, known in self._known.items()}
