"""A set of members of units: one vector of 32 bits for each unit that has some of them.

    {0.1.2, 0.1.5, 3}      ()      bit 3                a member of the whole
                           (0, 1)  bits 2 and 5         two members of the unit 0.1

The bytes of a set go through these units from the outermost one.  Each has a byte that says how
many of its bits are members, and how many lead to further units; the bits of either kind follow, up
to three with a byte each, more as a vector of four bytes.  So a broker four levels deep takes 8
bytes, and ten members of one unit take 5.  One set has one spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from twigcast.hierarchy.units import MOST_LEVELS, MOST_MEMBERS

Address: TypeAlias = tuple[int, ...]
"""A bit for each unit that a member is in, the outermost first."""
_SPARSE: Final = 3
"""As many bits have a byte each; more are a vector."""
_PLAIN: Final = 4
"""Bytes of a vector, and the count that says that one follows."""


class Members:
    """An immutable set of addresses."""

    __slots__ = ("_vectors",)

    def __init__(self, addresses: Iterable[Address] = ()) -> None:
        vectors: dict[Address, int] = {}
        for address in addresses:
            if not 0 < len(address) <= MOST_LEVELS or not all(
                0 <= bit < MOST_MEMBERS for bit in address
            ):
                raise ValueError(
                    f"{address} is no address: it has 1 to {MOST_LEVELS} bits, each from 0 to "
                    f"{MOST_MEMBERS - 1}"
                )
            unit = address[:-1]
            vectors[unit] = vectors.get(unit, 0) | 1 << address[-1]
        self._vectors: Mapping[Address, int] = vectors

    def __iter__(self) -> Iterator[Address]:
        for unit in sorted(self._vectors):
            for bit in _bits(self._vectors[unit]):
                yield (*unit, bit)

    def __contains__(self, address: Address) -> bool:
        return bool(address) and bool(self._vectors.get(address[:-1], 0) >> address[-1] & 1)

    def __len__(self) -> int:
        return sum(vector.bit_count() for vector in self._vectors.values())

    def __or__(self, other: Members) -> Members:
        return self._with(other, lambda ours, theirs: ours | theirs)

    def __and__(self, other: Members) -> Members:
        return self._with(other, lambda ours, theirs: ours & theirs)

    def __sub__(self, other: Members) -> Members:
        return self._with(other, lambda ours, theirs: ours & ~theirs)

    def _with(self, other: Members, operation: Callable[[int, int], int]) -> Members:
        return _made(
            {
                unit: operation(self._vectors.get(unit, 0), other._vectors.get(unit, 0))
                for unit in {**self._vectors, **other._vectors}
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Members) and self._vectors == other._vectors

    def __hash__(self) -> int:
        return hash(frozenset(self._vectors.items()))

    def __repr__(self) -> str:
        return f"Members({', '.join('.'.join(map(str, each)) for each in self)})"

    def __bytes__(self) -> bytes:
        further: dict[Address, int] = {}
        for unit in self._vectors:
            for depth, bit in enumerate(unit):
                further[unit[:depth]] = further.get(unit[:depth], 0) | 1 << bit
        written = bytearray()

        def write(unit: Address) -> None:
            members, units = self._vectors.get(unit, 0), further.get(unit, 0)
            written.append(_count(members) << 4 | _count(units))
            written.extend(_spelled(members) + _spelled(units))
            for bit in _bits(units):
                write((*unit, bit))

        if self._vectors:
            write(())
        return bytes(written)

    @staticmethod
    def from_bytes(data: bytes) -> Members:
        """The set that has these bytes; ValueError if none has."""
        vectors: dict[Address, int] = {}
        at = 0

        def take(count: int) -> int:
            nonlocal at
            size = min(count, _PLAIN)
            taken = data[at : at + size]
            if count > _PLAIN or len(taken) < size:
                raise ValueError("the bytes of a set of members end early, or count too far")
            at += size
            if count == _PLAIN:
                return int.from_bytes(taken, "little")
            if any(bit >= MOST_MEMBERS for bit in taken):
                raise ValueError(f"a bit is from 0 to {MOST_MEMBERS - 1}")
            return sum(1 << bit for bit in {*taken})

        def read(unit: Address) -> None:
            nonlocal at
            if at >= len(data) or len(unit) >= MOST_LEVELS:
                raise ValueError("the bytes of a set of members end early, or lead too deep")
            counts = data[at]
            at += 1
            vectors[unit] = take(counts >> 4)
            for bit in _bits(take(counts & 0xF)):
                read((*unit, bit))

        if data:
            read(())
        members = _made(vectors)
        if bytes(members) != data:
            raise ValueError("the bytes of a set of members are not as they are written")
        return members


def _made(vectors: Mapping[Address, int]) -> Members:
    members = Members()
    members._vectors = {unit: vector for unit, vector in vectors.items() if vector}
    return members


def _bits(vector: int) -> Iterator[int]:
    while vector:
        lowest = vector & -vector
        yield lowest.bit_length() - 1
        vector ^= lowest


def _count(vector: int) -> int:
    return min(vector.bit_count(), _PLAIN)


def _spelled(vector: int) -> bytes:
    if vector.bit_count() > _SPARSE:
        return vector.to_bytes(_PLAIN, "little")
    return bytes(_bits(vector))
