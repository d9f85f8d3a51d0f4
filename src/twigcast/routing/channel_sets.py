"""Which channels want a document, found without naming a pattern.

Many patterns have the same channels, and such a set of channels is one destination of a matcher::

    //Stock[Price>15]   ──►  destination 2: channels {5, 8}
    /news/body//p       ──►  destination 0: channels {5}

A document gets the sets of the patterns that it matches, and what leads only to sets that it has is
not looked at.  A matcher has so many destinations; the patterns of further sets have to be named.
Where no pattern has a set any more, its destination is free for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from twigcast.language import Pattern
from twigcast.matching import DESTINATION_COUNT, Matcher

NO_CHANNELS: Final[frozenset[int]] = frozenset()
_UNNAMED: Final = "\0"
"""Before the keys of these patterns; no expression begins so, and no key that is named."""


class ChannelSets:
    """Patterns of a matcher, each with the set of channels that want it."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._destinations: dict[frozenset[int], int] = {}
        self._sets: dict[int, frozenset[int]] = {}  # by destination
        self._patterns: Counter[int] = Counter()  # how many have a set, by destination
        self._free = list(range(DESTINATION_COUNT))[::-1]

    def change(
        self, pattern: Pattern, former: frozenset[int], channels: frozenset[int]
    ) -> frozenset[int]:
        """Give a pattern other channels than the former; none if there is no room for the set."""
        if former == channels:
            return channels
        if former:
            self._give_up(former)
        key = f"{_UNNAMED}{pattern}"
        if not channels or (channels not in self._destinations and not self._free):
            self._matcher.discard(key)
            return NO_CHANNELS
        if channels not in self._destinations:
            self._destinations[channels] = self._free.pop()
            self._sets[self._destinations[channels]] = channels
        destination = self._destinations[channels]
        self._patterns[destination] += 1
        self._matcher.update({key: pattern}, destination=destination)
        return channels

    def _give_up(self, channels: frozenset[int]) -> None:
        destination = self._destinations[channels]
        self._patterns[destination] -= 1
        if not self._patterns[destination]:
            del self._patterns[destination], self._sets[destination], self._destinations[channels]
            self._free.append(destination)

    def sets(self, destinations: Iterable[int]) -> list[frozenset[int]]:
        """The sets that destinations stand for."""
        return [self._sets[destination] for destination in destinations]
