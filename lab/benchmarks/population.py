"""Subscriptions that come and go while their number stays."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, Generic, TypeVar

_Subscription = TypeVar("_Subscription")

_ABSENT_SHARE: Final = 50


class Population(Generic[_Subscription]):
    """Who is subscribed and who is not, by key; at first, one in fifty is not.

    The keys are ``s0``, ``s1`` and so on, in the order of the subscriptions.
    """

    def __init__(self, subscriptions: Sequence[_Subscription], random: Random) -> None:
        self._behind = {f"s{number}": each for number, each in enumerate(subscriptions)}
        self._random = random
        keys = list(self._behind)
        random.shuffle(keys)
        outside = max(1, len(keys) // _ABSENT_SHARE)
        self.absent, self._present = keys[:outside], keys[outside:]

    def exchange(self) -> tuple[str, str, _Subscription]:
        """The key of one who leaves, and the key and subscription of one who comes instead."""
        leaving = self._random.randrange(len(self._present))
        coming = self._random.randrange(len(self.absent))
        gone, come = self._present[leaving], self.absent[coming]
        self._present[leaving], self.absent[coming] = come, gone
        return gone, come, self._behind[come]
