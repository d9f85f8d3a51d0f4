"""What one overlay tells another, all of it as of one broker there.

    Updates to a leaf, from all over the unit ──► Passage ──► Updates as from one neighbour

Who promised something, and where, is not told: of each promise that is made in one overlay the
other hears once, however many make it.  What is wanted has been aggregated by the channel that
leads here, and is passed on in at most so many patterns.

What is kept within the unit is not passed up: a promise stops here, and no channel leads here for
what is wanted within the unit only.  What is kept within a unit further out is passed up with its
scope.  What is passed down has lost it: all that is published inside is inside that unit, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from twigcast.covering import Change
from twigcast.hierarchy.profile import Profile
from twigcast.language import Pattern
from twigcast.routing import LEAF_CHANNEL, AdvertisementKey, Promise, Serve, Update


class Passage:
    """From one overlay to another; ``origin`` is the leaf that stands for the former there.

    ``is_up`` where the other one is that of the unit around.
    """

    def __init__(self, origin: str, depth: int, most_patterns: int | None, *, is_up: bool) -> None:
        self.origin = origin
        self.depth = depth
        self._is_up = is_up
        self._most_patterns = most_patterns
        self._profiles = {0: Profile(most_patterns)}
        """By scope; other scopes have one while something is wanted within them."""
        self._scopes: dict[int, int] = {}
        """Those of channels that have one."""
        self._promises: dict[AdvertisementKey, Promise] = {}
        self._made: dict[tuple[Promise, int], tuple[str, set[AdvertisementKey]]] = {}
        """By promise and scope, its id in the other overlay, and who makes it in this one."""
        self._numbered = 0
        self._wanted: defaultdict[int, Counter[Pattern]] = defaultdict(Counter)
        """By channel, how often what has been wanted."""

    def pass_on(self, update: Update) -> Update:
        """What to tell the other overlay; channels and promises as they are there."""
        ended = [self._end(key) for key in update.unadvertise if self._goes_on(key)]
        begun = [self._begin(*each) for each in update.advertise if self._goes_on(each[0])]
        serve, changes = self._changes(update)
        return Update(
            advertise=tuple(each for each in begun if each is not None),
            unadvertise=tuple(each for each in ended if each is not None),
            serve=serve,
            changes=changes,
            depth=self.depth,
        )

    def _goes_on(self, key: AdvertisementKey) -> bool:
        return not self._is_up or key.scope <= self.depth

    def _begin(
        self, key: AdvertisementKey, promise: Promise
    ) -> tuple[AdvertisementKey, Promise] | None:
        self._promises[key] = promise
        made = promise, self._scope_beyond(key.scope)
        if made in self._made:
            self._made[made][1].add(key)
            return None
        self._numbered += 1
        self._made[made] = (str(self._numbered), {key})
        return self._key(str(self._numbered), made[1]), promise

    def _end(self, key: AdvertisementKey) -> AdvertisementKey | None:
        made = self._promises.pop(key), self._scope_beyond(key.scope)
        number, makers = self._made[made]
        makers.remove(key)
        if makers:
            return None
        del self._made[made]
        return self._key(number, made[1])

    def _key(self, number: str, scope: int) -> AdvertisementKey:
        return AdvertisementKey(self.origin, "", number, scope)

    def _scope_beyond(self, scope: int) -> int:
        return scope if self._is_up else 0

    def _changes(self, update: Update) -> tuple[tuple[Serve, ...], tuple[tuple[int, Change], ...]]:
        """What is wanted now, and for which scopes channels open and close."""
        for each in update.serve:
            if self._scope_beyond(each.scope) and each.trees:
                self._scopes[each.channel] = each.scope
        serve: list[Serve] = []
        changes: list[tuple[int, Change]] = []
        for scope, balance in self._balances(update).items():
            if scope not in self._profiles:
                self._profiles[scope] = Profile(self._most_patterns)
                trees = frozenset((self.origin,))
                serve.append(Serve(LEAF_CHANNEL + scope, trees, scope))
            forward = tuple(each for each, count in balance.items() for _ in range(count))
            withdraw = tuple(each for each, count in balance.items() for _ in range(-count))
            change = self._profiles[scope].update(Change(forward, withdraw))
            if change:
                changes.append((LEAF_CHANNEL + scope, change))
            if scope and self._profiles[scope].is_empty:
                del self._profiles[scope]
                serve.append(Serve(LEAF_CHANNEL + scope, frozenset(), scope))
        return tuple(serve), tuple(changes)

    def _balances(self, update: Update) -> dict[int, Counter[Pattern]]:
        """By scope, how much more often something is wanted now, or less."""
        balances: defaultdict[int, Counter[Pattern]] = defaultdict(Counter)
        for number, change in update.changes:
            wanted = self._wanted[number]
            balance = balances[self._scopes.get(number, 0)]
            for pattern in change.forward:
                wanted[pattern] += 1
                balance[pattern] += 1
            for pattern in change.withdraw:
                wanted[pattern] -= 1
                balance[pattern] -= 1
                if not wanted[pattern]:
                    del wanted[pattern]
        for number, trees, _ in update.serve:
            if not trees:
                scope = self._scopes.pop(number, 0)
                balances[scope].subtract(self._wanted.pop(number, {}))
        return {scope: balance for scope, balance in balances.items() if any(balance.values())}
