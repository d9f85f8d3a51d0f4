"""Sets of members as vectors, held against sets of Python's."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.hierarchy.vectors import Address, Members

ADDRESSES = st.lists(st.integers(0, 3) | st.integers(0, 31), min_size=1, max_size=4).map(tuple)
SETS = st.sets(ADDRESSES, max_size=20)


@given(SETS, SETS)
def test_vectors_do_what_sets_do(one: set[Address], other: set[Address]) -> None:
    ours, theirs = Members(one), Members(other)
    assert set(ours | theirs) == one | other
    assert set(ours & theirs) == one & other
    assert set(ours - theirs) == one - other
    assert (len(ours), bool(ours)) == (len(one), bool(one))
    assert all((address in ours) == (address in one) for address in one | other)
    assert (ours == theirs) == (one == other)
    assert hash(ours - theirs) == hash(Members(one - other))


@given(SETS)
def test_a_set_survives_its_bytes(addresses: set[Address]) -> None:
    members = Members(addresses)
    assert Members.from_bytes(bytes(members)) == members


@given(st.binary(max_size=12))
def test_bytes_are_those_of_one_set_or_refused(data: bytes) -> None:
    try:
        members = Members.from_bytes(data)
    except ValueError:
        return
    assert bytes(members) == data


@pytest.mark.parametrize(
    ("addresses", "size"),
    [
        ([], 0),
        ([(7,)], 2),
        ([(1, 2, 3, 4)], 8),
        ([(bit,) for bit in range(10)], 5),
        (list(product(range(4), range(5))), 1 + 4 + 4 * 5),
        (list(product(range(32), range(32))), 1 + 4 + 32 * 5),
    ],
)
def test_a_set_takes_a_few_bytes(addresses: list[Address], size: int) -> None:
    assert len(bytes(Members(addresses))) == size


@pytest.mark.parametrize(
    "data", [b"\x00", b"\x10", b"\x10\x20", b"\x20\x01\x01", b"\x50", b"\x40abc"]
)
def test_what_no_set_is_written_as_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"bytes of a set|a bit is from"):
        Members.from_bytes(data)


@pytest.mark.parametrize("address", [(), (0, 0, 0, 0, 0), (32,), (-1,)])
def test_what_is_no_address_is_refused(address: Address) -> None:
    with pytest.raises(ValueError, match="is no address"):
        Members([address])


def test_a_set_is_shown_by_its_addresses() -> None:
    assert str(Members([(3,), (0, 1, 5), (0, 1, 2)])) == "Members(3, 0.1.2, 0.1.5)"
