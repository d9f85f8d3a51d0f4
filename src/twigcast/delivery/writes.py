"""What a broker's store is asked to write, and what it has at opening: the contract of all stores.

A write is a plain value.  Writes are applied one after the other, each as a whole; the result comes
back when it is safe.  A live store does that in a database, many writes in one commit; a simulated
one in memory.

*Documents* are kept once, under their ids.  *Queues* are those of durable subscriptions: each has
the sequences 1, 2, 3, ..., which the store gives in the order of the writes.  A document is in a
queue at most once.  *Homes* are other brokers to which documents are owed until they confirm them.
*Received* is what other brokers owed to this one, so that nothing of it is taken twice.  *Letters*
are documents that were set aside, with the reason.

Times are milliseconds since 1970.  They decide how long something is kept or wanted, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from twigcast.routing import DocumentId

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""What a publisher says beside the document: names in small letters, and their values."""


class Destination(NamedTuple):
    """A durable subscription that a document is addressed to: its name, and its home."""

    broker: str
    """The full name of the home."""
    durable: str

    def __str__(self) -> str:
        return f"{self.broker}:{self.durable}"


class Parcel(NamedTuple):
    """A document with what its publisher says about it, as it travels and is kept."""

    id: DocumentId
    content: bytes
    published: int
    """When the first broker had it."""
    publication: str = ""
    """Who published it, and under which id of theirs; empty if they gave none.

    It holds in the whole network: of several documents of one publication, the first counts.
    """
    headers: Headers = ()
    expires: int = 0
    """From when on nobody wants it any more; 0 for never."""
    publisher: str = ""
    """On whose account it is kept where it was published; empty elsewhere."""
    scope: int = 0
    """How deep the unit lies that it does not leave; 0 for the whole network."""
    to: tuple[Destination, ...] = ()
    """Its destination list, if it is addressed: those that lie here, or beyond."""

    def is_outdated(self, time: int) -> bool:
        """Whether nobody wants it any more at a time."""
        return 0 < self.expires <= time


class Entry(NamedTuple):
    """A queue that a document goes into, and the keys of the expressions that it matches."""

    durable: str
    keys: tuple[str, ...]


# --- writes ---------------------------------------------------------------------------------------


class KeepDocument(NamedTuple):
    """Keep a document for queues and homes; the result is a :class:`Kept`.

    Of a document that is kept already, only what newly refers to it is added, and destinations
    that it did not have.  Its publication is known from then on, unless it was received for other
    homes only.

    A publication goes into queues once: where it is known already, it goes into none, and is no
    letter, whether its document is kept or not.  It may still be owed to homes.  Where it is known
    with another document, that is so only if the other one is of another origin: this broker
    answers for it then, whatever becomes of the other.  With another content nothing is owed
    either.  What was received is noted in any case.
    """

    parcel: Parcel
    stored: int
    entries: tuple[Entry, ...] = ()
    homes: tuple[str, ...] = ()
    settled: int | None = None
    """For a document that was owed to this broker: note it as received, see NoteReceived."""
    aside: str = ""
    """Why it is a letter, if it is one: nobody wants it, or its publication was another's."""
    line: DocumentId | None = None
    """What it is noted as when it was owed to this broker, unless that is the document's id."""
    is_part: bool = False
    """Whether it is not noted: it comes again for full queues, or another gateway notes it."""

    @property
    def is_for_others(self) -> bool:
        """Whether it was received for other homes only, as far as it is kept now."""
        return (self.settled is not None or self.is_part) and not self.entries


class Kept(NamedTuple):
    """What has become of a document."""

    sequences: tuple[int, ...]
    """In each of the queues that were named; 0 where it was already, or there is no such queue."""
    known: str = ""
    """The id of the other document that was kept under the same publication."""
    is_other: bool = False
    """Whether that one has another content."""
    is_added: bool = True
    """Whether the document was not kept before, and is now."""


class NoteReceived(NamedTuple):
    """Note a document that was owed to this broker, and that nobody here wants any more.

    Nothing of its origin and incarnation with a number below ``settled`` will come again.
    """

    id: DocumentId
    settled: int


class Acknowledge(NamedTuple):
    """Take entries of a queue as delivered: all up to one, and some besides."""

    durable: str
    upto: int
    sequences: tuple[int, ...]
    now: int


class Confirm(NamedTuple):
    """Owe documents no more to a home that has them."""

    home: str
    ids: tuple[DocumentId, ...]
    now: int


class NoteAttempts(NamedTuple):
    """Remember how often entries of a queue were given out in vain."""

    durable: str
    attempts: Mapping[int, int]


class SetAside(NamedTuple):
    """Take entries of a queue out of it, and keep their documents as letters."""

    durable: str
    sequences: tuple[int, ...]
    reason: str
    now: int


class SetAsideOwed(NamedTuple):
    """Owe a document to a home no more, and keep it as a letter."""

    home: str
    id: DocumentId
    reason: str
    now: int


class Replay(NamedTuple):
    """Give letters back to the queues they were in, under their sequences.

    The result is a :class:`Replayed`.  Letters that were in no queue are left.
    """

    letters: tuple[int, ...]
    now: int


class Replayed(NamedTuple):
    """What was given back."""

    entries: tuple[tuple[str, int], ...]
    """Durable subscriptions and sequences, which wait again though they were passed before."""


class DropLetters(NamedTuple):
    """Let go of letters."""

    letters: tuple[int, ...]
    now: int


NOTHING: Final = DropLetters((), 0)
"""Changes nothing; it is safe only while nobody else has opened the store."""


class DurableOptions(NamedTuple):
    """How a durable subscription is given out, and whence its documents come."""

    is_shared: bool = False
    """Whether several clients share its documents, each document for one of them."""
    key: str = ""
    """For a shared one: an expression whose value says what must stay in order."""
    most_attempts: int = 0
    """After how many attempts in vain a document becomes a letter; 0 for never."""
    scope: int = 0
    """How deep the unit lies in which its documents are published; 0 for the whole network."""


class PutDurable(NamedTuple):
    """Keep a durable subscription, or replace what it wants; its queue stays."""

    name: str
    owner: str
    expressions: Mapping[str, str]
    """The canonical text of each expression, by key."""
    options: DurableOptions = DurableOptions()


class DropDurable(NamedTuple):
    """Forget a durable subscription with its queue."""

    name: str


class NoteMissed(NamedTuple):
    """Store how many missed entries, of all there ever were, a consumer was told of."""

    durable: str
    missed: int


class Version(NamedTuple):
    """How new what is known of a home is; a higher one replaces a lower one."""

    epoch: int
    """Grows when a home finds that others know more of it than itself: it has lost its store."""
    version: int


class PutHome(NamedTuple):
    """Keep what a home wants: all of it if ``base`` is 0, or how that version has changed.

    If another version is kept than the one that this changes, since a write has failed, that one
    stays: it is known still, and after a restart all that is newer is asked for.
    """

    home: str
    version: Version
    forward: tuple[str, ...]
    withdraw: tuple[str, ...]
    base: int


class DropHome(NamedTuple):
    """Forget a home and everything owed to it."""

    home: str


class PutBook(NamedTuple):
    """Keep the bits of the members of a unit, instead of those that were kept of it."""

    unit: str
    bits: Mapping[str, int]


class SetHomeVersion(NamedTuple):
    """Keep the version of what our own durable subscriptions want."""

    version: Version


Write: TypeAlias = (
    KeepDocument
    | NoteReceived
    | Acknowledge
    | Confirm
    | NoteAttempts
    | SetAside
    | SetAsideOwed
    | Replay
    | DropLetters
    | PutDurable
    | DropDurable
    | NoteMissed
    | PutHome
    | DropHome
    | SetHomeVersion
    | PutBook
)

Result: TypeAlias = Kept | Replayed | None
"""What a write gives: a Kept for KeepDocument, a Replayed for Replay, None for all others."""


def is_of(id: str, origin: str) -> bool:  # noqa: A002 - what it is called everywhere
    """Whether the id of a document says that it was published at a broker."""
    return id.rsplit(":", 2)[0] == origin


# --- what there is at opening ---------------------------------------------------------------------


class Durable(NamedTuple):
    """A durable subscription and where its queue stands."""

    name: str
    owner: str
    expressions: Mapping[str, str]
    options: DurableOptions = DurableOptions()
    first: int = 1
    """The first sequence that is still kept; ``last`` + 1 if none is."""
    last: int = 0
    """The last sequence that was ever given; 0 if none was."""
    acknowledged: int = 0
    """Whatever is kept up to here is acknowledged, but for ``revived``."""
    beyond: frozenset[int] = frozenset()
    """Sequences after ``acknowledged`` that are acknowledged, too."""
    revived: frozenset[int] = frozenset()
    """Sequences up to ``acknowledged`` that wait again: they were letters."""
    attempts: Mapping[int, int] = {}
    """How often sequences that wait were given out in vain."""
    missed: int = 0
    """How many entries retention has dropped that nobody had acknowledged."""
    missed_reported: int = 0
    gap: tuple[int, int] = (0, 0)
    """Sequences that are never given: those after the first, up to and with the second.

    It lies between what the store knew when it had fallen back, and what came after that.
    """


class Home(NamedTuple):
    """What the durable subscriptions at another broker want, as far as it is known."""

    version: Version
    patterns: tuple[str, ...]


class Line(NamedTuple):
    """What has come from one incarnation of an origin."""

    settled: int = 0
    """Nothing below this number will come any more."""
    numbers: frozenset[int] = frozenset()
    """What has come from this number on."""


class StoreState(NamedTuple):
    """Everything in a store but documents: what a broker must know to go on."""

    incarnation: int
    """Grows with every opening, and is not given twice, whatever happens to store and clock."""
    home_version: Version = Version(0, 0)
    durables: tuple[Durable, ...] = ()
    homes: Mapping[str, Home] = {}
    owed: Mapping[str, tuple[DocumentId, ...]] = {}
    """By home, in the order in which they were kept."""
    received: Mapping[tuple[str, int], Line] = {}
    """By origin and incarnation."""
    bytes: int = 0
    """Of all documents."""
    publishers: Mapping[str, int] = {}
    """Bytes of documents that are kept on the account of each publisher."""
    books: Mapping[str, Mapping[str, int]] = {}
    """The bits of the members of units, by unit."""
