"""What a broker's store does, in dictionaries: slow, and short enough to be believed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from twigcast.broker.store import Letter, Retention, StoreFigures, Trimmed
from twigcast.delivery import writes
from twigcast.delivery.writes import (
    Durable,
    DurableOptions,
    Home,
    KeepDocument,
    Kept,
    Line,
    Replayed,
    Result,
    StoreState,
    Version,
    Write,
    is_of,
)
from twigcast.routing.messages import DocumentId


@dataclass
class Document:
    write: KeepDocument
    number: int
    released: int | None = None

    @property
    def size(self) -> int:
        return len(self.write.parcel.content)


@dataclass
class Queue:
    put: writes.PutDurable
    entries: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Ids and keys, by sequence, of what is kept."""
    last: int = 0
    done: set[int] = field(default_factory=set)
    acknowledged: int = 0
    attempts: dict[int, int] = field(default_factory=dict)
    missed: int = 0
    missed_reported: int = 0

    @property
    def waiting(self) -> set[int]:
        return self.entries.keys() - self.done

    @property
    def first(self) -> int:
        return min(self.entries, default=self.last + 1)

    def finish(self, sequences: set[int]) -> None:
        self.done |= sequences & set(range(1, self.last + 1))
        self.attempts = {n: count for n, count in self.attempts.items() if n not in sequences}
        while self.acknowledged + 1 in self.done:
            self.acknowledged += 1


class StoreModel:
    """All that there is in a store."""

    def __init__(self, retention: Retention) -> None:
        self.retention = retention
        self.documents: dict[str, Document] = {}
        self.queues: dict[str, Queue] = {}
        self.owed: dict[str, list[DocumentId]] = {}
        self.letters: dict[int, tuple[Letter, Queue | None]] = {}
        self.publications: dict[str, tuple[str, bytes, int]] = {}
        self.homes: dict[str, tuple[Version, set[str]]] = {}
        self.received: dict[tuple[str, int], tuple[int, set[int]]] = {}
        self.home_version = Version(0, 0)
        self.books: dict[str, dict[str, int]] = {}
        self._documents = 0
        self._letters = 0

    # ---- writes ---------------------------------------------------------------------------------

    def apply(self, write: Write) -> Result:
        match write:
            case KeepDocument():
                return self._keep(write)
            case writes.NoteReceived(id_, settled):
                before, numbers = self.received.get(id_[:2], (0, set()))
                settled = max(before, settled)
                kept = {n for n in numbers | {id_.number} if n >= settled}
                self.received[id_[:2]] = (settled, kept)
            case writes.Acknowledge(name, upto, sequences):
                if queue := self.queues.get(name):
                    fresh = set(range(queue.acknowledged + 1, upto + 1))
                    queue.finish(fresh | set(sequences))
            case writes.Confirm(home, ids):
                self._pay(home, ids)
            case writes.NoteAttempts(name, attempts):
                if queue := self.queues.get(name):
                    queue.attempts |= {n: c for n, c in attempts.items() if n in queue.waiting}
            case writes.SetAside():
                self._set_aside(write)
            case writes.SetAsideOwed(home, id_, reason, now):
                if self._pay(home, (id_,)):
                    self._add_letter(str(id_), None, home, 0, (), reason, now)
            case writes.Replay(numbers):
                return self._replay(numbers)
            case writes.DropLetters(numbers):
                for number in numbers:
                    self.letters.pop(number, None)
            case writes.PutDurable(name):
                self.queues.setdefault(name, Queue(write)).put = write
            case writes.DropDurable(name):
                self.queues.pop(name, None)
            case writes.NoteMissed(name, count):
                if queue := self.queues.get(name):
                    told = min(count, queue.missed)
                    queue.missed_reported = max(queue.missed_reported, told)
            case writes.PutHome():
                self._put_home(write)
            case writes.DropHome(home):
                self.homes.pop(home, None)
                self.owed.pop(home, None)
            case writes.SetHomeVersion(version):
                self.home_version = version
            case writes.PutBook(unit, bits):
                self.books[unit] = dict(bits)
        return None

    def _keep(self, write: KeepDocument) -> Kept:
        parcel, id_ = write.parcel, str(write.parcel.id)
        if write.settled is not None:
            self.apply(writes.NoteReceived(write.line or parcel.id, write.settled))
        if parcel.publication and not write.is_for_others:
            publication = (id_, parcel.content, write.stored)
            is_known = parcel.publication in self.publications
            known, content, _ = self.publications.setdefault(parcel.publication, publication)
            if is_known:
                is_other = known != id_ and content != parcel.content
                is_added = False
                is_owed = known == id_ or not is_of(known, parcel.id.origin)
                if write.homes and is_owed and not is_other:
                    is_added = id_ not in self.documents
                    said = parcel._replace(publication="")
                    self._keep(write._replace(parcel=said, entries=(), settled=None, aside=""))
                said_known = "" if known == id_ else known
                return Kept((0,) * len(write.entries), said_known, is_other, is_added)
        is_added = id_ not in self.documents
        if is_added:
            self._documents += 1
            self.documents[id_] = Document(write, self._documents)
        document = self.documents[id_]
        first = document.write.parcel
        to = tuple(sorted({*first.to, *parcel.to}))
        document.write = document.write._replace(parcel=first._replace(to=to))
        sequences = tuple(self._enter(id_, entry) for entry in write.entries)
        for home in write.homes:
            owed = self.owed.setdefault(home, [])
            if parcel.id not in owed:
                owed.append(parcel.id)
        is_letter = any(
            letter.id == id_ and not letter.durable and not letter.home
            for letter, _ in self.letters.values()
        )
        if write.aside and not is_letter:
            self._add_letter(id_, None, "", 0, (), write.aside, write.stored)
        self._renew()
        return Kept(sequences, is_added=is_added)

    def _enter(self, id_: str, entry: writes.Entry) -> int:
        queue = self.queues.get(entry.durable)
        if queue is None or id_ in (each for each, _ in queue.entries.values()):
            return 0
        queue.last += 1
        queue.entries[queue.last] = (id_, entry.keys)
        return queue.last

    def _pay(self, home: str, ids: tuple[DocumentId, ...]) -> bool:
        owed = self.owed.get(home, [])
        paid = [id_ for id_ in owed if id_ in ids]
        for id_ in paid:
            owed.remove(id_)
        return bool(paid)

    def _set_aside(self, write: writes.SetAside) -> None:
        queue = self.queues.get(write.durable)
        for sequence in write.sequences if queue else ():
            assert queue is not None
            if sequence in queue.waiting:
                id_, keys = queue.entries[sequence]
                self._add_letter(id_, queue, "", sequence, keys, write.reason, write.now)
                queue.finish({sequence})

    def _add_letter(
        self,
        id_: str,
        queue: Queue | None,
        home: str,
        sequence: int,
        keys: tuple[str, ...],
        reason: str,
        now: int,
    ) -> None:
        self._letters += 1
        name = queue.put.name if queue else ""
        size = self.documents[id_].size
        letter = Letter(self._letters, id_, name, home, sequence, keys, reason, now, size)
        self.letters[self._letters] = (letter, queue)

    def _replay(self, numbers: tuple[int, ...]) -> Replayed:
        entries: list[tuple[str, int]] = []
        for number in numbers:
            letter, queue = self.letters.get(number, (None, None))
            if letter is None or queue is None or self.queues.get(letter.durable) is not queue:
                continue
            queue.done.discard(letter.sequence)
            entries.append((letter.durable, letter.sequence))
            del self.letters[number]
        self._renew()
        return Replayed(tuple(entries))

    def _put_home(self, write: writes.PutHome) -> None:
        known, patterns = self.homes.get(write.home, (None, set[str]()))
        if not write.base:
            patterns = set()
        elif known != Version(write.version.epoch, write.base):
            return
        patterns = (patterns - set(write.withdraw)) | set(write.forward)
        self.homes[write.home] = (write.version, patterns)

    # ---- retention ------------------------------------------------------------------------------

    def _is_needed(self, id_: str) -> bool:
        queues = self.queues.values()
        return (
            any(queue.entries[sequence][0] == id_ for queue in queues for sequence in queue.waiting)
            or any(id_ in map(str, owed) for owed in self.owed.values())
            or any(letter.id == id_ for letter, _ in self.letters.values())
        )

    def _renew(self) -> None:
        for id_, document in self.documents.items():
            if self._is_needed(id_):
                document.released = None

    def trim(self, now: int) -> Trimmed:
        age, released = (
            now - int(seconds * 1000)
            for seconds in (self.retention.age, self.retention.acknowledged_age)
        )
        gone: Counter[str] = Counter()
        old = [id_ for id_, each in self.documents.items() if each.write.stored < age]
        parts = [self._drop(old, gone)]
        self.publications = {
            key: value for key, value in self.publications.items() if value[2] >= age
        }
        for id_, document in self.documents.items():
            if document.released is None and not self._is_needed(id_):
                document.released = now
        due = [
            id_
            for id_, each in self.documents.items()
            if each.released is not None and each.released < released
        ]
        parts.append(self._drop(due, gone))
        excess = sum(each.size for each in self.documents.values()) - self.retention.size
        surplus = []
        for id_, document in self.documents.items():
            if excess > 0 and document.released is not None:
                surplus.append(id_)
                excess -= document.size
        parts.append(self._drop(surplus, gone))
        publishers = {each.write.parcel.publisher for each in self.documents.values()}
        parts += [self._drop(self._surplus_of(each), gone) for each in publishers]
        first = {name: self.queues[name].first for name in gone}
        return Trimmed.total([*parts, Trimmed(first=first)])

    def _surplus_of(self, publisher: str) -> list[str]:
        theirs = {
            id_: each
            for id_, each in self.documents.items()
            if publisher and each.write.parcel.publisher == publisher
        }
        excess = sum(each.size for each in theirs.values()) - self.retention.publisher_size
        surplus = []
        for id_, document in theirs.items():
            if excess > 0 and document.released is not None:
                surplus.append(id_)
                excess -= document.size
        return surplus

    def _drop(self, ids: list[str], gone: Counter[str]) -> Trimmed:
        lost: Counter[str] = Counter()
        publishers: Counter[str] = Counter()
        size = 0
        for name, queue in self.queues.items():
            sequences = {n for n, (id_, _) in queue.entries.items() if id_ in ids}
            unread = sequences & queue.waiting
            if sequences:
                gone[name] += len(sequences)
            if unread:
                lost[name] += len(unread)
            queue.missed += len(unread)
            queue.entries = {n: each for n, each in queue.entries.items() if n not in sequences}
            queue.finish(unread)
        owed = {}
        for home, debts in self.owed.items():
            if taken := tuple(id_ for id_ in debts if str(id_) in ids):
                owed[home] = taken
                self._pay(home, taken)
        self.letters = {n: each for n, each in self.letters.items() if each[0].id not in ids}
        for id_ in ids:
            document = self.documents.pop(id_)
            size += document.size
            if publisher := document.write.parcel.publisher:
                publishers[publisher] += document.size
        return Trimmed(len(ids), size, dict(lost), {}, owed, dict(publishers))

    # ---- what there is --------------------------------------------------------------------------

    def state(self, incarnation: int) -> StoreState:
        order = {id_: document.number for id_, document in self.documents.items()}
        return StoreState(
            incarnation,
            self.home_version,
            tuple(_durable(queue) for _, queue in sorted(self.queues.items())),
            {
                name: Home(version, tuple(sorted(all_)))
                for name, (version, all_) in self.homes.items()
            },
            {
                home: tuple(sorted(ids, key=lambda id_: order[str(id_)]))
                for home, ids in self.owed.items()
                if ids
            },
            {key: Line(settled, frozenset(all_)) for key, (settled, all_) in self.received.items()},
            sum(document.size for document in self.documents.values()),
            self._publishers(),
            dict(self.books),
        )

    def figures(self) -> StoreFigures:
        return StoreFigures(
            len(self.documents),
            sum(document.size for document in self.documents.values()),
            {name: len(queue.waiting) for name, queue in self.queues.items()},
            {home: len(ids) for home, ids in self.owed.items()},
            len(self.letters),
            self._publishers(),
        )

    def _publishers(self) -> dict[str, int]:
        sizes: Counter[str] = Counter()
        for document in self.documents.values():
            sizes[document.write.parcel.publisher] += document.size
        return {name: size for name, size in sizes.items() if name and size}


def _durable(queue: Queue) -> Durable:
    put = queue.put
    return Durable(
        put.name,
        put.owner,
        put.expressions,
        DurableOptions(*put.options),
        queue.first,
        queue.last,
        queue.acknowledged,
        frozenset(n for n in queue.done if n > queue.acknowledged),
        frozenset(n for n in queue.entries if n <= queue.acknowledged and n not in queue.done),
        queue.attempts,
        queue.missed,
        queue.missed_reported,
    )
