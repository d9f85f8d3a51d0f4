"""The parts of :func:`twigcast.pipeline.cover` that run in workers, and how work is cut for them.

A pattern that covers another needs only names that the other offers
(:mod:`twigcast.covering.needed_names`).  So each pattern has one *home*, the rarest of the names it
needs, and what it may be covered by is at home in one of its own names::

    p needs news, body, table     ──home: table──►  block 3 ──┐
                                                              ├── searched in one worker
    q offers news, table, td      ──asks at news, table, td──►┘

Homes are packed into *blocks* of bounded size, so the index of a worker is bounded too; a home that
is larger is cut into several.  Where there are more workers than blocks, each block is given to
several, and each of these gets a *slice* of the patterns that ask; a block with its slice is a
*cell*.  Names are numbers of 15 bits, so that what the driver counts is bounded: two names of one
number share their fate, which costs time only.

Cost: a pattern is read again in each cell that it comes to, which with a search takes some
hundred microseconds.  An index takes about a kilobyte for each pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

import numpy as np
import pyarrow as pa

from twigcast.covering import NeededNames, TextSearch, first_replacing, needed_names, replaced_by
from twigcast.language import restore_pattern
from twigcast.pipeline.columns import arrow_schema, batch_of

Batches = Iterator[pa.RecordBatch]

STAYS, HIDDEN, GONE, NEVER = range(4)
"""What a first look says of a pattern.

It stays in question; or it is replaced, and must be asked all the same, since it may be the only
one that is shown to cover some other; or it is replaced and not needed any more; or it matches no
document, and so everything covers it.
"""
FIRST_LOOK: Final = (
    "text string, position bigint, keys bigint, fate tinyint, is_firm boolean, replaced_by bigint, "
    "needs array<smallint>, offers array<smallint>"
)
_NAMES: Final = 1 << 15
_NOWHERE: Final = _NAMES
"""The home of patterns that need no name; everyone asks there."""
_MOST_LEARNED: Final = 100_000
_MOST_SLICES: Final = 16
_FEW: Final = 2_000
"""Patterns that are not worth another worker."""


@lru_cache(maxsize=_NAMES)
def _number(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass")) & (_NAMES - 1)


def _numbers(names: frozenset[str]) -> list[int]:
    return sorted({_number(name) for name in names})


class _FirstLook:
    """What one worker has seen of the patterns so far, and which of those to come it replaces."""

    def __init__(self) -> None:
        self._seen: TextSearch[tuple[int, NeededNames]] = TextSearch()
        self._names: dict[NeededNames, NeededNames] = {}
        """Each set of names once, since many patterns share one."""

    def look(self, text: str, position: int) -> tuple[int, bool, int | None, list[int], list[int]]:
        """The fate of a pattern and what replaces it, and its names."""
        pattern = restore_pattern(text)
        names = needed_names(pattern)
        if not names.possible:
            return NEVER, False, None, [], []
        covering = self._seen.covering(pattern)
        for other, above in covering:
            # Most are below one with fewer names, so there is no need to ask whom they cover.
            if names.is_strictly_below(above, covers_other=True):
                return GONE, names.firm, other, [], []
        needs = _numbers(names.needs)
        offers = needs if names.needs == names.offers else _numbers(names.offers)
        if covering:
            mutual = {other for other, _ in self._seen.covered_by(pattern)}
            for other, above in covering:
                if names.is_strictly_below(above, covers_other=other in mutual):
                    return GONE, names.firm, other, [], []
            for other, _ in covering:
                if other < position or other not in mutual:
                    return HIDDEN, names.firm, other, needs, offers
        if len(self._seen) < _MOST_LEARNED:
            self._seen.add(pattern, (position, self._names.setdefault(names, names)))
        return STAYS, names.firm, None, needs, offers


def take_first_look(batches: Batches) -> Batches:
    """Drop what wider patterns of the same part replace; these should come first."""
    seen = _FirstLook()
    for batch in batches:
        rows = [
            (text, position, keys, *seen.look(text, position))
            for text, position, keys in _rows(batch, "text", "position", "keys")
        ]
        yield batch_of(rows, arrow_schema(FIRST_LOOK))


@dataclass(frozen=True, slots=True)
class Homes:
    """Where patterns are at home: ``ranks`` orders the names, the rarest first."""

    ranks: bytes

    @classmethod
    def by_count(cls, counts: Mapping[int, int]) -> Homes:
        """Homes where as few patterns as possible meet, by how many need each name."""
        ranks = np.zeros(_NAMES, dtype=np.int32)
        for rank, name in enumerate(sorted(counts, key=lambda name: (counts[name], name))):
            ranks[name] = rank
        return cls(ranks.tobytes())

    def find(self, needs: pa.ListArray) -> list[int]:
        """The home of each pattern, by the names it needs."""
        ranks = np.frombuffer(self.ranks, dtype=np.int32)
        return [
            min(names, key=ranks.__getitem__) if names else _NOWHERE for names in needs.to_pylist()
        ]


def count_homes(homes: Homes, batches: Batches) -> Batches:
    """For each batch, how many patterns have which home."""
    for batch in batches:
        names, counts = np.unique(homes.find(batch.column("needs")), return_counts=True)
        yield batch_of(list(zip(names, counts, strict=True)), arrow_schema(HOMES))


@dataclass(frozen=True, slots=True)
class Cells:
    """How the work is cut: the blocks of each home, and into how many slices those who ask."""

    blocks: Mapping[int, tuple[int, ...]]
    block_count: int
    slices: int

    @classmethod
    def plan(cls, counts: Mapping[int, int], most: int, asking: int, workers: int) -> Cells:
        """Blocks of ``most`` patterns each, about, and cells enough for the workers."""
        blocks: dict[int, tuple[int, ...]] = {}
        sizes = [0] * max(1, -(-sum(counts.values()) // most))
        for home in sorted(counts, key=lambda home: (-counts[home], home)):
            share = -(-counts[home] // most)
            chosen = sorted(range(len(sizes)), key=sizes.__getitem__)[:share]
            for block in chosen:
                sizes[block] += -(-counts[home] // share)
            blocks[home] = tuple(sorted(chosen))
        slices = max(1, min(-(-workers // len(sizes)), _MOST_SLICES, -(-asking // _FEW)))
        return cls(blocks, len(sizes), slices)

    @property
    def count(self) -> int:
        return self.block_count * self.slices

    def of_member(self, home: int, position: int) -> Iterator[int]:
        """The cells that hold a pattern for others to meet."""
        blocks = self.blocks[home]
        first = blocks[position % len(blocks)] * self.slices
        return iter(range(first, first + self.slices))

    def of_asking(self, offers: Sequence[int], position: int) -> list[int]:
        """The cells in which a pattern has to ask."""
        blocks = set(self.blocks.get(_NOWHERE, ()))
        for name in offers:
            blocks.update(self.blocks.get(name, ()))
        return [block * self.slices + position % self.slices for block in blocks]


HOMES: Final = "home int, patterns bigint"
SPREAD: Final = "cell int, asks boolean, position bigint, text string"


def spread(homes: Homes, cells: Cells, batches: Batches) -> Batches:
    """Copy patterns to the cells that hold them and to those in which they ask."""
    for batch in batches:
        described = _rows(batch, "position", "text", "fate", "offers")
        rows: list[tuple[object, ...]] = []
        for home, (position, text, fate, offers) in zip(
            homes.find(batch.column("needs")), described, strict=True
        ):
            rows += [(cell, False, position, text) for cell in cells.of_member(home, position)]
            if fate == STAYS:
                asked = cells.of_asking(offers, position)
                rows += [(cell, True, position, text) for cell in asked]
        yield batch_of(rows, arrow_schema(SPREAD))


PAIRS: Final = "position bigint, replaced_by bigint"


def search_cell(batches: Batches) -> Batches:
    """Which of the patterns that ask in a cell are replaced; its own come before them."""
    search: TextSearch[int] = TextSearch()
    for batch in batches:
        replaced: list[tuple[int, int]] = []
        for asks, position, text in _rows(batch, "asks", "position", "text"):
            pattern = restore_pattern(text)
            if not asks:
                search.add(pattern, position)
                continue
            other = first_replacing(position, pattern, search)
            if other is not None:
                replaced.append((position, other))
        yield batch_of(replaced, arrow_schema(PAIRS))


def find_replacing(few: Sequence[tuple[int, str]], batches: Batches) -> Batches:
    """Everything that replaces a few patterns, given by their positions and texts."""
    search: TextSearch[int] = TextSearch()
    for position, text in few:
        search.add(restore_pattern(text), position)
    for batch in batches:
        pairs: list[tuple[int, int]] = []
        for position, text in _rows(batch, "position", "text"):
            pattern = restore_pattern(text)
            pairs += [(below, position) for below in replaced_by(position, pattern, search)]
        yield batch_of(pairs, arrow_schema(PAIRS))


def _rows(batch: pa.RecordBatch, *columns: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(column).to_pylist() for column in columns), strict=True)
