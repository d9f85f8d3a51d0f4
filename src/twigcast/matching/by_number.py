"""What a caller keeps beside the subscriptions of a matcher, looked up by the kernel's numbers.

    document ──► numbers of subscriptions ──► values           no key is spelled, none is hashed
                          │ first time only
                          └──► key ──► lookup(key)

A number stands for one subscription for as long as the index is not rebuilt; the *generation* of an
answer says which index that is.  Cost: an index into a dictionary of integers for each match.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from twigcast.matching.batch_matches import BatchMatches

T = TypeVar("T")


class ByNumber(Generic[T]):
    """Values by the numbers of one matcher's subscriptions.

    ``lookup`` gives the value of a key; the value of a subscription must stay the same object for
    as long as the matcher has the subscription.
    """

    def __init__(self, lookup: Callable[[str], T]) -> None:
        self._lookup = lookup
        self._known: tuple[int, dict[int, T]] = (-1, {})  # a generation, and its values

    def of(self, matches: BatchMatches, document: int = 0) -> list[T]:
        """The values of the subscriptions that a document of a batch matches, in no order."""
        generation, values = self._known
        if generation != matches.generation:
            values = {}
            self._known = (matches.generation, values)
        numbers = matches.numbers(document)
        try:
            return list(map(values.__getitem__, numbers))
        except KeyError:  # of a number that no answer had before
            for number in numbers:
                if number not in values:
                    values[number] = self._lookup(matches.key(number))
            return list(map(values.__getitem__, numbers))
