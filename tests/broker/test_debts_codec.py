"""The homes of a document survive the wire, by bits or by name; what is hostile is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.debts_codec import read_debts, write_debts
from twigcast.broker.link_codec import LinkProtocolError
from twigcast.delivery import Debt
from twigcast.hierarchy import NO_NUMBERING, Members, Numbering, numbering_of
from twigcast.wire import messages

HOMES = [f"n/b{number}" for number in range(32)]
BOOK = numbering_of({home: bit for bit, home in enumerate(reversed(HOMES))})
NUMBERS = st.integers(0, 2**60)
DEBTS = st.lists(
    st.builds(Debt, st.sampled_from([*HOMES, "^n/@g", "n/@u", "n/b99"]), NUMBERS), max_size=20
)


def document(number: int, custody: int | None = None) -> messages.RoutedDocument:
    said = messages.RoutedDocument(depth=1)
    said.id.number = number
    if custody is not None:
        said.custody.number = custody
    return said


def known(depth: int, digest: bytes) -> Numbering | None:
    return BOOK if (depth, digest) == (1, BOOK.digest) else None


@given(DEBTS, NUMBERS, st.none() | NUMBERS, st.sampled_from([BOOK, NO_NUMBERING]))
def test_what_is_owed_arrives_as_it_was(
    debts: list[Debt], number: int, custody: int | None, numbering: Numbering
) -> None:
    said = document(number, custody)
    write_debts(said, debts, numbering)
    said = messages.RoutedDocument.FromString(said.SerializeToString())
    assert sorted(read_debts(said, known)) == sorted(debts)


@pytest.mark.parametrize(("count", "size"), [(1, 12), (4, 25), (10, 31), (32, 53)])
def test_homes_that_are_members_take_a_few_bytes(count: int, size: int) -> None:
    said = document(123_460)
    before = said.ByteSize()
    write_debts(said, [Debt(home, 123_450) for home in HOMES[:count]], BOOK)
    assert said.ByteSize() - before == size


def test_who_does_not_know_the_book_knows_only_the_names() -> None:
    said = document(9)
    owed = [Debt(home, 3) for home in HOMES[:4]]
    write_debts(said, [*owed, Debt("^n/@g", 4)], BOOK)
    other = numbering_of({"n/b1": 0, "n/b2": 1})
    for none in (None, lambda depth, digest: {other.digest: other}.get(digest)):
        assert read_debts(said, none) == (Debt("^n/@g", 4),)


@pytest.mark.parametrize(
    ("book", "members", "behind"),
    [
        (b"7 bytes", Members([(0,), (1,)]), [0, 0]),
        (BOOK.digest, b"\x50", [0, 0]),
        (BOOK.digest, Members([(0,), (1,)]), [0]),
        (BOOK.digest, Members([(0,)]), [0, 0]),
        (BOOK.digest, Members([(0, 1), (1,)]), [0, 0]),
        (BOOK.digest, Members([(0,), (1,)]), [0, 10]),
        (BOOK.digest, Members([(0,), (1,)]), [0, -(2**61)]),
        (BOOK.digest, b"\x10" * 6, [0] * 6),
    ],
)
def test_what_is_hostile_is_refused(
    book: bytes, members: Members | bytes, behind: list[int]
) -> None:
    said = document(9)
    said.members.book, said.members.members = book, bytes(members)
    said.members.behind.extend(behind)
    with pytest.raises(LinkProtocolError):
        read_debts(said, known)


def test_a_bit_that_nobody_has_is_refused() -> None:
    few = numbering_of({home: bit for bit, home in enumerate(HOMES[:4])})
    said = document(9)
    write_debts(said, [Debt(home, 3) for home in HOMES[:4]], few)
    with pytest.raises(LinkProtocolError, match="which cannot be"):
        read_debts(said, lambda depth, digest: few._replace(members={0: "n/b1"}))
