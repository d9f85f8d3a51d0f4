"""What one overlay tells another, all of it as of one broker there.

    Updates to a leaf, from all over the unit ──► Passage ──► Updates as from one neighbour

Who promised something, and where, is not told: of each promise that is made in one overlay the
other hears once, however many make it.  What is wanted has been aggregated by the channel that
leads here, and is passed on in at most so many patterns.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from twigcast.covering import Change
from twigcast.hierarchy.profile import Profile
from twigcast.language import Pattern
from twigcast.routing import LEAF_CHANNEL, AdvertisementKey, Promise, Update


class Passage:
    """From one overlay to another; ``origin`` is the leaf that stands for the former there."""

    def __init__(self, origin: str, depth: int, most_patterns: int | None) -> None:
        self.origin = origin
        self.profile = Profile(most_patterns)
        self.depth = depth
        self._promises: dict[AdvertisementKey, Promise] = {}
        self._made: dict[Promise, tuple[str, set[AdvertisementKey]]] = {}
        """By promise, its id in the other overlay, and who makes it in this one."""
        self._numbered = 0
        self._wanted: defaultdict[int, Counter[Pattern]] = defaultdict(Counter)
        """By channel, how often what has been wanted."""

    def pass_on(self, update: Update) -> Update:
        """What to tell the other overlay; channels and promises as they are there."""
        ended = [self._end(key) for key in update.unadvertise]
        begun = [self._begin(key, promise) for key, promise in update.advertise]
        return Update(
            advertise=tuple(each for each in begun if each is not None),
            unadvertise=tuple(each for each in ended if each is not None),
            changes=self._changes(update),
            depth=self.depth,
        )

    def _begin(
        self, key: AdvertisementKey, promise: Promise
    ) -> tuple[AdvertisementKey, Promise] | None:
        self._promises[key] = promise
        if promise in self._made:
            self._made[promise][1].add(key)
            return None
        self._numbered += 1
        self._made[promise] = (str(self._numbered), {key})
        return self._key(str(self._numbered)), promise

    def _end(self, key: AdvertisementKey) -> AdvertisementKey | None:
        promise = self._promises.pop(key)
        number, makers = self._made[promise]
        makers.remove(key)
        if makers:
            return None
        del self._made[promise]
        return self._key(number)

    def _key(self, number: str) -> AdvertisementKey:
        return AdvertisementKey(self.origin, "", number)

    def _changes(self, update: Update) -> tuple[tuple[int, Change], ...]:
        balance: Counter[Pattern] = Counter()
        for number, change in update.changes:
            wanted = self._wanted[number]
            for pattern in change.forward:
                wanted[pattern] += 1
                balance[pattern] += 1
            for pattern in change.withdraw:
                wanted[pattern] -= 1
                balance[pattern] -= 1
                if not wanted[pattern]:
                    del wanted[pattern]
        for number, trees in update.serve:
            if not trees:
                balance.subtract(self._wanted.pop(number, {}))
        forward = tuple(each for each, count in balance.items() for _ in range(count))
        withdraw = tuple(each for each, count in balance.items() for _ in range(-count))
        change = self.profile.update(Change(forward, withdraw))
        return ((LEAF_CHANNEL, change),) if change else ()
