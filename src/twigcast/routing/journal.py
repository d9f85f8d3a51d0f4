"""What a link that comes back need not carry again: how both its ends remember the former one.

Each end sends the other what is wanted beyond it on channels.  The sender writes a *journal* of
that, entry by entry: the trees that a channel serves from now on, a pattern that it begins to send,
a pattern that it withdraws.  The receiver keeps a *mark*: how many entries it has taken in, and a
digest of them.  When the link goes down, both ends keep what they have, each for itself; when it
comes up, the receiver says how far it has come, and the sender goes on from there::

    sender                                                  receiver
    Sent: channels, journal ─────── serve, changes ───────► Received: channels, mark

        ─ ─ ─ ─ ─ ─ ─ ─ ─ the link goes down, and comes up ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─

    remembers channels    ◄─────── known: the mark ───────  remembers channels
    takes back the entries
    behind the mark       ─────── goes_on: the mark ──────► its channels hold again
    arranges channels     ─────── serve, changes ─────────► takes in the difference

*Sender.*  While the link is down its channels take in what clients and other neighbours begin and
cease to want, as before, and send nothing; each knows the difference to what it last sent.  An
entry behind the mark was lost with the link: to *take it back* is to add it to that difference.
When all are taken back, the channels get the courses that hold by now, and differences are sent as
ever.

*Receiver.*  The channels of a link that is down keep their patterns, and no documents or channels
follow them: no neighbour serves a tree with them.  They hold again when the sender goes on.

*Invariant.*  What the receiver has taken in is what the first entries of the journal say, as many
as its mark counts, because a link carries updates in order and loses only the last of them.  So
equal marks are equal channels, and the difference that a sender computes is exact.  The digest is
that of all entries, one after the other, so a mark of another life of either end, or of another
journal, is not among the sender's; then the sender begins anew, and says so by a mark that counts
nothing.  An end that remembers nothing sends no mark with its first update, and the other end
forgets.  So both ends may restart or forget, the link may come and go before any of this has
arrived, and tables may change meanwhile: each end keeps its memory until the other has answered.

What is sent again with every link: link states, which have versions, and advertisements, which are
few.  They come before ``goes_on``, so that channels are arranged once.  A neighbour that is new
costs nothing more than before: without a memory nobody waits for an answer.

*Cost.*  A digest for each entry at both ends, about 1 µs.  After a link has come back: a step for
each entry that was lost, and what channels cost for each pattern that has changed meanwhile.
Memory: the journal has at most as many entries as patterns are sent, and some more, of 75 bytes
each; who comes back with an earlier mark is sent everything anew.  A memory is as large as the
link's tables were.  What was sent is forgotten when half of it has changed, for to begin anew costs
less then; all of it when there are too many other links to remember, or when whoever drives the
router says that time is up (:meth:`~twigcast.routing.Router.forget`): a live broker does after ten
minutes.

Rejected: digests of the sets that were sent, in buckets.  They need a journal of nothing, but find
out less: a bucket differs, and all of it is sent or named anew.  Since links lose only what was
sent last, a prefix says it all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

from twigcast.language import Pattern
from twigcast.routing.messages import START, Mark, Update

SPARE: Final = 1024
"""How many entries a journal may have beyond as many as patterns are sent."""


class Entry(NamedTuple):
    """One thing that was sent on a channel."""

    channel: int
    sign: int
    """1 for a pattern that is wanted from here on, or trees; -1 for one that is withdrawn."""
    item: Pattern | frozenset[str] | None
    """The pattern, or else the trees that the channel served before; None if there was none."""


class Journal:
    """What was sent to a neighbour, as far as it may have to be taken back."""

    def __init__(self) -> None:
        self._base = START
        # By entry; apart, so that the collector of garbage need not look at each of them.
        self._digests: deque[bytes] = deque()
        self._channels: deque[int] = deque()  # times the sign
        self._items: deque[Pattern | frozenset[str] | None] = deque()
        self._sizes: dict[int, int] = {}  # by channel
        self._surplus = 0
        self.size = 0
        """How many patterns the neighbour has, once it has taken in everything."""

    @property
    def mark(self) -> Mark:
        """That of a neighbour which has taken in everything."""
        if not self._digests:
            return self._base
        return Mark(self._base.entries + len(self._digests), self._digests[-1])

    def note(self, update: Update, served: dict[int, frozenset[str]]) -> None:
        """Note what is sent; the channels have served these trees before."""
        digest = self.mark.digest
        for channel, trees in update.serve:
            digest = _digest(digest, _serving(channel, trees))
            self._append(digest, channel, served.get(channel))
            if not trees:
                self.size -= self._sizes.pop(channel, 0)
        for channel, change in update.changes:
            more = len(change.forward) - len(change.withdraw)
            self._sizes[channel] = self._sizes.get(channel, 0) + more
            self.size += more
            for sign, patterns in ((1, change.forward), (-1, change.withdraw)):
                for pattern in patterns:
                    digest = _digest(digest, _wanting(channel, sign, pattern))
                    self._append(digest, channel * sign, pattern)
        surplus = len(self._digests) - self.size - SPARE
        for _ in range(surplus):
            self._channels.popleft()
            self._items.popleft()
            self._base = Mark(self._base.entries + 1, self._digests.popleft())

    def _append(self, digest: bytes, channel: int, item: Pattern | frozenset[str] | None) -> None:
        self._digests.append(digest)
        self._channels.append(channel)
        self._items.append(item)

    # --- taking back ------------------------------------------------------------------------------

    def rewind(self, mark: Mark) -> bool:
        """Let what comes behind a mark be taken back; False where the mark is not known."""
        kept = mark.entries - self._base.entries
        if not 0 <= kept <= len(self._digests):
            return False
        if mark.digest != (self._digests[kept - 1] if kept else self._base.digest):
            return False
        self._surplus = len(self._digests) - kept
        return True

    @property
    def is_rewinding(self) -> bool:
        """Whether something is left to be taken back."""
        return self._surplus > 0

    def take_back(self) -> Entry:
        """The last entry, which counts no more."""
        self._surplus -= 1
        self._digests.pop()
        signed, item = self._channels.pop(), self._items.pop()
        entry = Entry(abs(signed), 1 if signed > 0 else -1, item)
        if isinstance(item, Pattern) and entry.channel in self._sizes:
            self._sizes[entry.channel] -= entry.sign
            self.size -= entry.sign
        return entry


def followed(mark: Mark, update: Update) -> Mark:
    """The mark of a receiver that has taken in one more update."""
    count, digest = mark
    for channel, trees in update.serve:
        digest = _digest(digest, _serving(channel, trees))
        count += 1
    for channel, change in update.changes:
        for sign, patterns in ((1, change.forward), (-1, change.withdraw)):
            count += len(patterns)
            for pattern in patterns:
                digest = _digest(digest, _wanting(channel, sign, pattern))
    return Mark(count, digest)


def _serving(channel: int, trees: Iterable[str]) -> str:
    return "\0".join((f"{channel}", *sorted(trees)))


def _wanting(channel: int, sign: int, pattern: Pattern) -> str:
    return f"{channel * sign}:{pattern}"


def _digest(before: bytes, entry: str) -> bytes:
    return blake2b(before + entry.encode(errors="surrogatepass"), digest_size=16).digest()
