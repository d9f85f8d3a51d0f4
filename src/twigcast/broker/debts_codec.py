"""The homes that a document is owed to, on the wire: members of the unit by bits, others by name.

    debts of b1 b7 b9, and of ^north/@b2  ──►  book, bits 1 7 9  +  a name

Bits take a few bytes for a unit's homes together, where each name takes more than twenty.  A few
homes are named, and so is the home of a document that is sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from twigcast.broker.link_codec import LinkProtocolError, require_number
from twigcast.delivery import Debt
from twigcast.hierarchy import DIGEST, Members, Numbering
from twigcast.wire import messages

Known: TypeAlias = Callable[[int, bytes], Numbering | None]
"""The numbering of a unit, by the depth of the unit and the digest of the book."""
_FEWEST: Final = 4
"""Below that, names cost less time and few more bytes."""
_MOST_BYTES: Final = 5
"""Of any members of one unit."""
_log = logging.getLogger(__name__)


def write_debts(said: messages.RoutedDocument, debts: Sequence[Debt], numbering: Numbering) -> None:
    """Write to which homes a document is owed, behind the ids of the document."""
    bits = numbering.bits
    members: dict[int, int] = {}
    named: list[Debt] = []
    for each in debts:
        bit = bits.get(each.home)
        if bit is None or bit in members:
            named.append(each)
        else:
            members[bit] = each.settled
    if len(members) < _FEWEST:
        members, named = {}, [*debts]
    for home, settled in named:
        said.destinations.add(home=home, settled=settled)
    if members:
        number = _number(said)
        said.members.book = numbering.digest
        said.members.members = bytes(Members((bit,) for bit in members))
        said.members.behind.extend(number - members[bit] for bit in sorted(members))


def read_debts(said: messages.RoutedDocument, known: Known | None) -> tuple[Debt, ...]:
    """To which homes a document is owed; raises LinkProtocolError for what none are."""
    debts = [Debt(each.home, each.settled) for each in said.destinations]
    if said.HasField("members"):
        debts += _read_members(said, known)
    for each in debts:
        require_number(each.settled)
    return tuple(debts)


def _read_members(said: messages.RoutedDocument, known: Known | None) -> Iterator[Debt]:
    members = said.members
    if len(members.book) != DIGEST:
        raise LinkProtocolError(f"the digest of a book has {DIGEST} bytes")
    if len(members.members) > _MOST_BYTES:
        raise LinkProtocolError(f"homes of one unit take up to {_MOST_BYTES} bytes")
    try:
        addresses = [*Members.from_bytes(members.members)]
    except ValueError as error:
        raise LinkProtocolError(f"the homes of a document cannot be read: {error}") from None
    if len(addresses) != len(members.behind) or any(len(each) != 1 for each in addresses):
        raise LinkProtocolError("the homes of a document have not one bit and one number each")
    numbering = None if known is None else known(said.depth, members.book)
    if numbering is None:
        _log.info("a document names homes by bits not known here; it comes to them again, by name")
        return
    number = _number(said)
    for (bit,), behind in zip(addresses, members.behind, strict=True):
        if bit not in numbering.members or behind > number:
            raise LinkProtocolError(f"a document is owed to the bit {bit}, which cannot be")
        yield Debt(numbering.members[bit], number - behind)


def _number(said: messages.RoutedDocument) -> int:
    """What the custodian of a document counts it as."""
    return said.custody.number if said.HasField("custody") else said.id.number
