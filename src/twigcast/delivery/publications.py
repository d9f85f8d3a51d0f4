"""Which publications a broker has had lately, so that one that comes twice counts once.

A publisher that got no answer publishes again, under the same id, perhaps at another broker.  What
was stored is found in the store; this is for what was not, and for what is being stored.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Final, NamedTuple

from twigcast.delivery.writes import Parcel

_MOST: Final = 65_536


class Publication(NamedTuple):
    """A document that came under a publication's id."""

    id: str
    fingerprint: int
    """The hash of its content in this process: quicker than a digest, which stores keep."""


def digest_of(content: bytes) -> bytes:
    """What tells one content from another, in every store."""
    return blake2b(content, digest_size=16).digest()


class RecentPublications:
    """The last publications, by their ids."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: OrderedDict[str, Publication] = OrderedDict()

    def find(self, publication: str) -> Publication | None:
        """What came under an id, if it is remembered."""
        return self._known.get(publication)

    def add(self, publication: str, known: Publication) -> Publication:
        """Remember what came under an id, unless something did before; what came first."""
        first = self._known.setdefault(publication, known)
        if first is known and len(self._known) > self._most:
            self._known.popitem(last=False)
        return first

    def is_first(self, parcel: Parcel) -> bool:
        """Whether no other document of its publication came before; it is remembered."""
        if not parcel.publication:
            return True
        here = Publication(str(parcel.id), 0)
        return self.add(parcel.publication, here).id == here.id

    def forget(self, publication: str, id: str) -> None:  # noqa: A002 - what it is called
        """Let an id be used again: its document was refused, or not stored."""
        known = self._known.get(publication)
        if known is not None and known.id == id:
            del self._known[publication]
