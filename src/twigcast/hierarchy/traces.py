"""Traces: a document carries a stamp of each part of a unit that it has left.

    oslo, stamp x ──► north, stamp y ──► the whole network ──► south
     trace ()          trace (x)         trace (x, y)        trace ()

A gateway lets no document into a part of a unit whose stamp the document carries.

*Why units left, and not units entered.*  A document climbs through the units that its origin is in,
and then comes down; what has come down never climbs.  So it can come back only to a unit that it
has left, and on the way down it needs no trace.

*Why stamps, and not bits.*  The name of its origin says already which units a document has left.
It does not say which part of each: a unit that has parted is reached by gateways of its parts, and
each part must get the document.  Bits say that no better, since both parts may have a gateway of
one member, and bits are given anew when parts meet.  A stamp is a digest of the brokers in the
part, and of their incarnations.  So it needs no book, and it is the same only if the same brokers
are there that the document was sent to.  A part that has grown, shrunk or restarted since has
another stamp and gets the document; then the ids make it one (:mod:`twigcast.routing.recent`).

*What a trace stops.*  Where trees begin at producers, nothing: the part that a document has left is
the root of its tree, and no tree leads to its root.  Where all documents take one tree, brokers
with different views may send a document back, while links change: into the unit where it was
published, which its id shows, and into units around that one, which only the trace shows.  What two
gateways let in that have got it on different branches, neither can see.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

STAMP: Final = 8
"""Bytes of a stamp."""


def stamp(unit: str, members: Iterable[tuple[str, int]]) -> bytes:
    """The stamp of a part of a unit, of the brokers there and their incarnations."""
    text = "\n".join([unit, *(f"{name} {life}" for name, life in sorted(members))])
    return blake2b(text.encode(), digest_size=STAMP).digest()
