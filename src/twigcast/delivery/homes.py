"""What durable subscriptions want, wherever they are: known to every broker, and kept.

Each broker says what its own homes want, reduced by covering, with a version that grows.  That is
passed on to all brokers of the overlay, like link states: a broker that learns something new sends
it to all neighbours but the one it came from.  When a link comes up, both ends say which versions
they have, and send what the other one lacks.

Changes travel as differences from the version before; whoever lacks that one asks for the whole.
No version is given twice: a bound above those of one life is kept before the first is sent, and the
next life begins there.  A home that finds others to know a higher version of it than itself has
lost its store: it goes on in a higher epoch.  It hears of that from neighbours whose links come up,
and from any broker that it says too low a version to.

Brokers in units may want something within a unit only.  What is wanted so is written with its scope
before it, as in ``^1 //stock``, and every scope is reduced by covering for itself.

Decides, and sends nothing: messages in, messages out, and what has changed for the router.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from twigcast.covering import Change, CoveringTable
from twigcast.delivery.writes import Home, Version
from twigcast.hierarchy import Profile
from twigcast.language import Pattern, read_normal_form

_LEAP: Final = 2**16
_HIGHEST_EPOCH: Final = 2**60 - 2 * _LEAP
"""Whoever claims to know a higher epoch of a home than this is wrong: brokers count no further."""
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
    depth: int = 0
    """How deep the unit lies in whose overlay the home is."""


@dataclass(frozen=True, slots=True)
class HomeNews:
    """What to do about a state that has come."""

    changes: Mapping[int, Change] | None = None
    """What has changed for the router, if anything, by scope; all neighbours are sent the same."""
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


class _Own:
    __slots__ = ("_most", "profiles", "tables", "version")

    def __init__(self, version: Version, most: int | None) -> None:
        self.version = version
        self._most = most
        self.tables: dict[int, CoveringTable] = {}
        self.profiles: dict[int, Profile] = {}
        """Like the tables by scope."""

    def add_scope(self, scope: int) -> None:
        if scope not in self.tables:
            self.tables[scope], self.profiles[scope] = CoveringTable(), Profile(self._most)

    @property
    def forwarded(self) -> list[str]:
        return [
            _written(pattern, scope)
            for scope, profile in self.profiles.items()
            for pattern in profile.said
        ]


class Homes:
    """The durable interests of all homes in an overlay, as one broker knows them.

    ``own`` are the homes of this broker, with how many patterns at most each may say that it wants;
    ``salt`` is a number that no other life of it has.
    """

    def __init__(
        self, own: Mapping[str, int | None], version: Version, salt: int, depth: int = 0
    ) -> None:
        first = version if version.epoch else Version(salt, 0)
        self._own = {home: _Own(first, most) for home, most in own.items()}
        self._salt = salt
        self._depth = depth
        self._known: dict[str, _Known] = {}

    # --- our own ----------------------------------------------------------------------------------

    def adopt(self, home: str) -> None:
        """Speak for a home that this broker was in an earlier life: it wants nothing any more."""
        if home not in self._own:
            self._known.pop(home, None)
            self._own[home] = _Own(self.latest, None)

    def change_own(
        self,
        home: str,
        add: Mapping[str, Pattern],
        remove: Iterable[str] = (),
        *,
        scope: int = 0,
        is_news: bool = True,
    ) -> tuple[HomeState, Change] | None:
        """Add and remove what a home of ours wants, by keys; what to send, and what that changes.

        All of it is wanted within one scope.

        None if nothing changes.  What is no news was said in an earlier life.
        """
        own = self._own[home]
        balance: Counter[Pattern] = Counter()
        own.add_scope(scope)
        table = own.tables[scope]
        changes = [table.remove(key) for key in remove]
        changes += [table.add(key, pattern) for key, pattern in add.items()]
        for each in changes:
            balance.update(each.forward)
            balance.subtract(each.withdraw)
        change = own.profiles[scope].update(
            Change(
                tuple(pattern for pattern, count in balance.items() if count > 0),
                tuple(pattern for pattern, count in balance.items() if count < 0),
            )
        )
        if not change:
            return None
        base = own.version.version
        if is_news:
            own.version = own.version._replace(version=base + 1)
        begins, ends = (
            tuple(_written(each, scope) for each in patterns)
            for patterns in (change.forward, change.withdraw)
        )
        state = HomeState(home, own.version, base, begins, ends, depth=self._depth)
        return state, change

    @property
    def latest(self) -> Version:
        """The highest version of a home of ours."""
        return max(own.version for own in self._own.values())

    @property
    def bound(self) -> Version:
        """What no version of this life comes up to, as far as can be foreseen."""
        return self.latest._replace(version=self.latest.version + _VERSIONS)

    def own_version(self, home: str) -> Version:
        """The version of what a home of ours wants."""
        return self._own[home].version

    def own_count(self, home: str) -> int:
        """How many patterns stand for all that a home of ours wants."""
        return len(self._own[home].forwarded)

    # --- others -----------------------------------------------------------------------------------

    def restore(self, name: str, home: Home) -> Mapping[int, Change]:
        """Go on with what was known of a home before a restart."""
        known = {text: read_want(text) for text in home.patterns}
        self._known[name] = _Known(home.version, known)
        self._known[name].is_forgotten = not known  # or it wants nothing: nobody knows
        return _changes(known, _NO_PATTERNS)

    def versions(self) -> dict[str, Version]:
        """What is known here, and how new it is; for a neighbour whose link comes up."""
        return {home: own.version for home, own in self._own.items()} | {
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

    def leap(self, theirs: Mapping[str, Version]) -> list[str]:
        """Go on in a higher epoch with what another broker knows a higher version of than we do.

        Only a store that was lost, or put back, brings this about.  Which homes of ours these are.
        """
        leapt = []
        for home, own in self._own.items():
            known = theirs.get(home)
            if known is not None and own.version < known < Version(_HIGHEST_EPOCH, 0):
                # By chance too, so that two lives that lost their stores do not come to the same
                # epoch.
                own.version = Version(known.epoch + 1 + self._salt % _LEAP, 1)
                leapt.append(home)
        return leapt

    def state(self, home: str) -> HomeState:
        """All that a home is known to want; ours are homes, too."""
        own = self._own.get(home)
        if own is not None:
            return HomeState(home, own.version, 0, tuple(own.forwarded), depth=self._depth)
        known = self._known[home]
        return HomeState(home, known.version, 0, tuple(known.patterns), depth=self._depth)

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
        return state.home in self._own or (known is not None and known.version >= state.version)

    def _lacks_base(self, state: HomeState) -> bool:
        known = self._known.get(state.home)
        base = Version(state.version.epoch, state.base)
        return bool(state.base) and (known is None or known.is_forgotten or known.version != base)

    def exceeding(self, home: str, version: Version) -> Version | None:
        """The version known here of another home, if it lost its store before it said this one.

        What is forgotten nobody hears of from us, so it may have lost that within an epoch, too.
        """
        known = self._known.get(home)
        if known is None or known.version <= version:
            return None
        is_lost = known.is_forgotten or known.version.epoch > version.epoch
        return known.version if is_lost else None

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
            after[text] = before.get(text) or read.get(text) or read_want(text)
        self._known[state.home] = _Known(state.version, after)
        return HomeNews(_changes(after, before))

    def forget(self, home: str) -> tuple[Version, Mapping[int, Change]] | None:
        """Take a home to want nothing, until it says something new; what was known of it."""
        known = self._known.get(home)
        if known is None:
            return None
        wanted, known.patterns = known.patterns, {}
        known.is_forgotten = True
        return known.version, _changes(_NO_PATTERNS, wanted)

    def is_forgotten(self, home: str) -> bool:
        """Whether a home may want more than is known here, and nobody is to hear of it."""
        known = self._known.get(home)
        return known is not None and known.is_forgotten

    @property
    def patterns(self) -> dict[str, int]:
        """How many patterns each other home wants."""
        return {home: len(known.patterns) for home, known in self._known.items()}


_SCOPE: Final = "^"


def _written(pattern: Pattern, scope: int) -> str:
    """What is wanted within a scope, as it travels and is kept."""
    return f"{_SCOPE}{scope} {pattern}" if scope else str(pattern)


def read_want(text: str) -> Pattern:
    """The pattern of what is wanted within a scope.

    Raises SubscriptionError for an expression outside the language.
    """
    return read_normal_form(text.partition(" ")[2] if scope_of(text) else text)


def scope_of(text: str) -> int:
    """The scope within which something is wanted; 0 for anywhere."""
    head, _, _ = text.partition(" ")
    number = head.removeprefix(_SCOPE)
    is_scope = number != head and len(number) == 1 and number in "123456789"
    return int(number) if is_scope else 0


def _changes(after: Mapping[str, Pattern], before: Mapping[str, Pattern]) -> dict[int, Change]:
    """What begins and ceases to be wanted, by scope."""
    forward: dict[int, list[Pattern]] = {}
    withdraw: dict[int, list[Pattern]] = {}
    for text, pattern in after.items():
        if text not in before:
            forward.setdefault(scope_of(text), []).append(pattern)
    for text, pattern in before.items():
        if text not in after:
            withdraw.setdefault(scope_of(text), []).append(pattern)
    return {
        scope: Change(tuple(forward.get(scope, ())), tuple(withdraw.get(scope, ())))
        for scope in sorted({*forward, *withdraw})
    }
