"""Generated subscriptions of one kind, made as far as someone asks for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Final, Generic, TypeVar

from lab.benchmarks.measure import Progress, quiet
from twigcast.errors import WorkloadError

_Item = TypeVar("_Item")

_STEP: Final = 2_000
_PATIENCE: Final = 5.0
"""Seconds for a step of new subscriptions; a schema that needs more has few that are left."""


class Generated(Generic[_Item]):
    """A sequence whose beginnings are asked for again and again; what was made is kept."""

    def __init__(self, kind: str, source: Iterator[_Item]) -> None:
        self._kind = kind
        self._source = source
        self._made: list[_Item] = []

    def take(self, count: int, progress: Progress = quiet) -> list[_Item]:
        """That many, or all that the schema has."""
        made = self._made
        while len(made) < count:
            progress(f"making {count:,} {self._kind}", len(made), count)
            wanted = min(_STEP, count - len(made))
            if not self._make(wanted):
                # The schema has no more, or hardly any; the caller reports how many.
                self._source = iter(())
                break
        return made[:count]

    def _make(self, count: int) -> bool:
        """Make so many more; whether that came to its end, and in good time."""
        before = len(self._made)
        end = time.process_time() + _PATIENCE
        try:
            for item in islice(self._source, count):
                self._made.append(item)
                if time.process_time() > end:
                    break
        except WorkloadError:
            return False
        return len(self._made) - before == count
