"""A set of numbers that mostly follow each other, kept as runs.

    [1 … 40]   [42 … 57]   …

Cost: logarithmic time to look, constant time to add behind the last; memory for each run.
"""

from __future__ import annotations

from bisect import bisect_right


class Runs:
    """The set drawn above."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __contains__(self, number: int) -> bool:
        index = bisect_right(self._starts, number) - 1
        return index >= 0 and number <= self._ends[index]

    def __len__(self) -> int:
        return sum(self._ends) - sum(self._starts) + len(self._starts)

    def add(self, number: int) -> None:
        """Put a number in; nothing changes if it is there."""
        starts, ends = self._starts, self._ends
        index = bisect_right(starts, number)
        if index and number <= ends[index - 1]:
            return
        follows = index > 0 and ends[index - 1] == number - 1
        precedes = index < len(starts) and starts[index] == number + 1
        if follows and precedes:
            ends[index - 1] = ends.pop(index)
            del starts[index]
        elif follows:
            ends[index - 1] = number
        elif precedes:
            starts[index] = number
        else:
            starts.insert(index, number)
            ends.insert(index, number)

    def discard(self, number: int) -> None:
        """Take a number out; nothing changes if it is not there."""
        if number not in self:
            return
        index = bisect_right(self._starts, number) - 1
        start, end = self._starts[index], self._ends[index]
        rest = [run for run in ((start, number - 1), (number + 1, end)) if run[0] <= run[1]]
        self._starts[index : index + 1] = [each for each, _ in rest]
        self._ends[index : index + 1] = [each for _, each in rest]

    def clear(self) -> None:
        """Take all numbers out."""
        self._starts.clear()
        self._ends.clear()
