"""A store in memory that does what the contract says and nothing else: the disk of a simulation.

It is written for being read: each write is a few lines, and nothing is fast.  Live stores are
compared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from twigcast.delivery import (
    Acknowledge,
    Confirm,
    DropDurable,
    DropHome,
    DropLetters,
    Durable,
    DurableOptions,
    Expired,
    Home,
    KeepDocument,
    Kept,
    Line,
    NoteAttempts,
    NoteMissed,
    NoteReceived,
    Parcel,
    PutBook,
    PutDurable,
    PutHome,
    Replay,
    Replayed,
    Result,
    SetAside,
    SetAsideOwed,
    SetHomeVersion,
    StoreState,
    Version,
    Write,
    digest_of,
    is_of,
)
from twigcast.routing import DocumentId


@dataclass(slots=True)
class ModelQueue:
    """The queue of a durable subscription."""

    owner: str
    expressions: dict[str, str]
    options: DurableOptions
    entries: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """By sequence, the document and the keys."""
    last: int = 0
    waiting: set[int] = field(default_factory=set)
    revived: set[int] = field(default_factory=set)
    """Those that were letters and wait again."""
    attempts: dict[int, int] = field(default_factory=dict)
    missed: int = 0
    missed_reported: int = 0


@dataclass(frozen=True, slots=True)
class ModelLetter:
    """A document that was set aside."""

    id: str
    durable: str
    home: str
    sequence: int
    reason: str


class ModelStore:
    """What is on a disk."""

    def __init__(self) -> None:
        self.documents: dict[str, Parcel] = {}
        self.queues: dict[str, ModelQueue] = {}
        self.owed: dict[str, dict[DocumentId, None]] = {}
        self.received: dict[tuple[str, int], Line] = {}
        self.publications: dict[str, tuple[str, bytes]] = {}
        self.homes: dict[str, Home] = {}
        self.home_version = Version(0, 0)
        self.books: dict[str, dict[str, int]] = {}
        self.letters: dict[int, ModelLetter] = {}
        self._letters = 0
        self._apply: dict[type[Any], Callable[[Any], Result]] = {
            KeepDocument: self._keep,
            NoteReceived: lambda write: self._receive(write.id, write.settled),
            Acknowledge: self._acknowledge,
            Confirm: self._confirm,
            NoteAttempts: self._note_attempts,
            SetAside: self._set_aside,
            SetAsideOwed: self._set_aside_owed,
            Replay: self._replay,
            DropLetters: self._drop_letters,
            PutDurable: self._put_durable,
            DropDurable: self._drop_durable,
            NoteMissed: self._note_missed,
            PutHome: self._put_home,
            DropHome: self._drop_home,
            SetHomeVersion: self._set_home_version,
            PutBook: lambda write: self.books.update({write.unit: dict(write.bits)}),
        }

    def apply(self, write: Write) -> Result:
        """Carry out one write."""
        return self._apply[type(write)](write)

    def state(self, incarnation: int) -> StoreState:
        """What a new life begins with."""
        return StoreState(
            incarnation,
            self.home_version,
            tuple(_durable(name, queue) for name, queue in sorted(self.queues.items())),
            dict(self.homes),
            {home: tuple(owed) for home, owed in self.owed.items() if owed},
            dict(self.received),
            sum(len(each.content) for each in self.documents.values()),
            _publishers(self.documents.values()),
            dict(self.books),
        )

    def read(self, durable: str, sequence: int) -> Parcel | None:
        """The document with a sequence."""
        entry = self.queues[durable].entries.get(sequence)
        return None if entry is None else self.documents.get(entry[0])

    # --- documents --------------------------------------------------------------------------------

    def _keep(self, write: KeepDocument) -> Kept:
        parcel, id_ = write.parcel, str(write.parcel.id)
        if write.settled is not None:
            self._receive(write.line or parcel.id, write.settled)
        has_come, known, is_other = (
            (False, "", False) if write.is_for_others else self._know(parcel)
        )
        nowhere = (0,) * len(write.entries)
        if is_other or (known and is_of(known, parcel.id.origin)):
            return Kept(nowhere, known, is_other, is_added=False)
        if has_come and not write.homes:
            return Kept(nowhere, known, is_added=False)
        is_added = id_ not in self.documents
        known_to = self.documents.setdefault(id_, parcel).to
        to = tuple(sorted({*known_to, *parcel.to}))
        self.documents[id_] = self.documents[id_]._replace(to=to)
        for home in write.homes:
            self.owed.setdefault(home, {})[parcel.id] = None
        if has_come:
            return Kept(nowhere, known, is_added=is_added)
        if write.aside:
            self._add_letter(ModelLetter(id_, "", "", 0, write.aside))
        sequences = tuple(self._enter(id_, *entry) for entry in write.entries)
        return Kept(sequences, is_added=is_added)

    def _know(self, parcel: Parcel) -> tuple[bool, str, bool]:
        """Whether a publication has come before.

        And its document, if that is another one, and whether it has another content.
        """
        if not parcel.publication:
            return False, "", False
        here = (str(parcel.id), digest_of(parcel.content))
        known = self.publications.setdefault(parcel.publication, here)
        if known is here:
            return False, "", False
        is_same = known[0] == here[0]
        return True, "" if is_same else known[0], not is_same and known[1] != here[1]

    def _enter(self, id_: str, durable: str, keys: tuple[str, ...]) -> int:
        queue = self.queues.get(durable)
        if queue is None or any(entry[0] == id_ for entry in queue.entries.values()):
            return 0
        queue.last += 1
        queue.entries[queue.last] = (id_, keys)
        queue.waiting.add(queue.last)
        return queue.last

    def _receive(self, document: DocumentId, settled: int) -> None:
        line = self.received.get(document[:2], Line())
        settled = max(line.settled, min(settled, document.number))
        numbers = {*line.numbers, document.number}
        self.received[document[:2]] = Line(
            settled, frozenset(each for each in numbers if each >= settled)
        )

    def _confirm(self, write: Confirm) -> None:
        for document in write.ids:
            self.owed.get(write.home, {}).pop(document, None)

    def expire(self, count: int) -> Expired:
        """Drop the oldest documents, wanted or not, as retention does."""
        return self._drop(list(self.documents)[:count])

    def drop_unneeded(self) -> Expired:
        """Drop what nobody needs any more."""
        needed = {each.id for each in self.letters.values()}
        needed |= {str(each) for owed in self.owed.values() for each in owed}
        for queue in self.queues.values():
            needed |= {queue.entries[each][0] for each in queue.waiting}
        return self._drop([each for each in self.documents if each not in needed])

    def _drop(self, ids: list[str]) -> Expired:
        dropped = {id_: self.documents.pop(id_) for id_ in ids}
        owed: dict[str, tuple[DocumentId, ...]] = {}
        first, lost = {}, {}
        for home, documents in self.owed.items():
            owed[home] = tuple(each for each in documents if str(each) in dropped)
            for each in owed[home]:
                del documents[each]
        for name, queue in self.queues.items():
            over = [each for each, entry in queue.entries.items() if entry[0] in dropped]
            lost[name] = len(queue.waiting.intersection(over))
            queue.missed += lost[name]
            self._pass(queue, over)
            for sequence in over:
                del queue.entries[sequence]
            first[name] = min(queue.entries, default=queue.last + 1)
        self.letters = {
            number: each for number, each in self.letters.items() if each.id not in dropped
        }
        size = sum(len(each.content) for each in dropped.values())
        return Expired(size, _publishers(dropped.values()), owed, first, lost)

    # --- queues -----------------------------------------------------------------------------------

    def _acknowledge(self, write: Acknowledge) -> None:
        queue = self.queues.get(write.durable)
        if queue is not None:
            upto = set(range(1, write.upto + 1)) - queue.revived
            self._pass(queue, [*upto, *write.sequences])

    def _pass(self, queue: ModelQueue, sequences: Iterable[int]) -> None:
        for each in sequences:
            queue.waiting.discard(each)
            queue.revived.discard(each)
            queue.attempts.pop(each, None)

    def _note_attempts(self, write: NoteAttempts) -> None:
        queue = self.queues.get(write.durable)
        if queue is not None:
            queue.attempts |= {
                sequence: count
                for sequence, count in write.attempts.items()
                if sequence in queue.waiting
            }

    def _put_durable(self, write: PutDurable) -> None:
        queue = self.queues.setdefault(write.name, ModelQueue(write.owner, {}, write.options))
        queue.owner, queue.options = write.owner, write.options
        queue.expressions = dict(write.expressions)

    def _drop_durable(self, write: DropDurable) -> None:
        self.queues.pop(write.name, None)
        self.letters = {
            number: each for number, each in self.letters.items() if each.durable != write.name
        }

    def _note_missed(self, write: NoteMissed) -> None:
        queue = self.queues.get(write.durable)
        if queue is not None:
            queue.missed_reported = max(queue.missed_reported, write.missed)

    # --- letters ----------------------------------------------------------------------------------

    def _add_letter(self, letter: ModelLetter) -> None:
        self._letters += 1
        self.letters[self._letters] = letter

    def _set_aside(self, write: SetAside) -> None:
        queue = self.queues.get(write.durable)
        for sequence in write.sequences if queue is not None else ():
            assert queue is not None
            entry = queue.entries.get(sequence)
            if entry is not None and sequence in queue.waiting:
                self._add_letter(ModelLetter(entry[0], write.durable, "", sequence, write.reason))
                self._pass(queue, [sequence])

    def _set_aside_owed(self, write: SetAsideOwed) -> None:
        owed = self.owed.get(write.home, {})
        if write.id in owed:
            del owed[write.id]
            self._add_letter(ModelLetter(str(write.id), "", write.home, 0, write.reason))

    def _replay(self, write: Replay) -> Replayed:
        entries = []
        for number in write.letters:
            letter = self.letters.get(number)
            if letter is not None and letter.durable:
                del self.letters[number]
                queue = self.queues[letter.durable]
                queue.waiting.add(letter.sequence)
                queue.revived.add(letter.sequence)
                entries.append((letter.durable, letter.sequence))
        return Replayed(tuple(entries))

    def _drop_letters(self, write: DropLetters) -> None:
        for number in write.letters:
            self.letters.pop(number, None)

    # --- homes ------------------------------------------------------------------------------------

    def _put_home(self, write: PutHome) -> None:
        known = self.homes.get(write.home)
        patterns = set()
        if write.base:
            if known is None or known.version != Version(write.version.epoch, write.base):
                return
            patterns = set(known.patterns) - set(write.withdraw)
        patterns.update(write.forward)
        self.homes[write.home] = Home(write.version, tuple(sorted(patterns)))

    def _drop_home(self, write: DropHome) -> None:
        self.homes.pop(write.home, None)
        self.owed.pop(write.home, None)

    def _set_home_version(self, write: SetHomeVersion) -> None:
        self.home_version = write.version


def _publishers(parcels: Iterable[Parcel]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for each in parcels:
        if each.publisher:
            sizes[each.publisher] += len(each.content)
    return dict(sizes)


def _durable(name: str, queue: ModelQueue) -> Durable:
    acknowledged = min(queue.waiting - queue.revived, default=queue.last + 1) - 1
    return Durable(
        name,
        queue.owner,
        queue.expressions,
        queue.options,
        min(queue.entries, default=queue.last + 1),
        queue.last,
        acknowledged,
        frozenset(range(acknowledged + 1, queue.last + 1)) - queue.waiting,
        frozenset(each for each in queue.revived if each <= acknowledged),
        dict(queue.attempts),
        queue.missed,
        queue.missed_reported,
    )
