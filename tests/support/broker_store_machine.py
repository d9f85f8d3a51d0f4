"""A broker's store driven beside a model in dictionaries, with writes and reads by chance."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Coroutine
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from broker_store_model import StoreModel
from broker_stores import DATABASES, Stores, User, identity
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from twigcast.broker.store import Retention
from twigcast.broker.store.postgres import trimming as postgres_trimming
from twigcast.broker.store.sqlite import tables as sqlite_tables
from twigcast.broker.store.sqlite import trimming as sqlite_trimming
from twigcast.delivery import writes
from twigcast.delivery.writes import Destination, DurableOptions, Entry, Parcel, Version, Write
from twigcast.routing.messages import DocumentId

Outcome = TypeVar("Outcome")

RETENTION = Retention(age=100.0, acknowledged_age=20.0, size=60, publisher_size=25)
NAMES = ["north", "south", "west"]
DURABLES = st.sampled_from(NAMES)
HOMES = st.sampled_from(["far", "near"])
NUMBERS = st.integers(0, 14)
IDS = st.builds(identity, st.integers(1, 14))
PATTERNS = st.lists(st.sampled_from(["//a", "//b", "//c"]), max_size=3).map(tuple)
KEYS = st.sampled_from([(), ("k",), ("k", 'l"\n')])
OPTIONS = st.builds(
    DurableOptions,
    st.booleans(),
    st.sampled_from(["", "//a"]),
    st.integers(0, 3),
    st.integers(0, 2),
)


class StoreMachine(RuleBasedStateMachine):
    """Every write and read on a real store and on dictionaries; both must tell the same."""

    database = ""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.patches = ExitStack()
        for module, name, value in (
            (sqlite_tables, "SEGMENT_BITS", 2),
            (sqlite_trimming, "SLICE", 3),
            (sqlite_trimming, "SLICE_ENTRIES", 4),
            (postgres_trimming, "SLICE", 3),
        ):
            self.patches.enter_context(mock.patch.object(module, name, value))
        folder = self.patches.enter_context(tempfile.TemporaryDirectory())
        self.stores: Stores = DATABASES[self.database](Path(folder) / "store")
        self.loop = asyncio.new_event_loop()
        self.model = StoreModel(RETENTION)
        self.incarnation = 0
        self.count = 0
        self.expected: list[tuple[asyncio.Future[Any], Any]] = []
        self.open()

    def open(self) -> None:
        store = self.stores.open(RETENTION)
        assert store.state.incarnation > self.incarnation
        self.incarnation = store.state.incarnation
        assert store.state == self.model.state(self.incarnation)

        async def use() -> User:
            return User(store)

        self.user = self.loop.run_until_complete(use())
        self.store = store

    def do(self, write: Write) -> None:
        """Submit a write; its result is looked at later, so that several make a transaction."""

        async def submit() -> asyncio.Future[Any]:
            return self.user.do(write)

        future = self.loop.run_until_complete(submit())
        self.expected.append((future, self.model.apply(write)))

    def wait(self, question: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Wait for what was submitted, and look at it; then ask."""
        for future, expected in self.expected:
            assert self.loop.run_until_complete(future) == expected
        self.expected.clear()
        return self.loop.run_until_complete(question)

    def teardown(self) -> None:
        self.wait(self.store.close())
        self.loop.close()
        self.stores.audit()
        self.patches.close()

    # ---- writes ---------------------------------------------------------------------------------

    @rule(name=DURABLES, owner=st.sampled_from("ab"), keys=st.sets(KEYS), options=OPTIONS)
    def put_durable(
        self, name: str, owner: str, keys: set[tuple[str, ...]], options: DurableOptions
    ) -> None:
        expressions = {key: f"//{key}" for each in keys for key in each}
        self.do(writes.PutDurable(name, owner, expressions, options))

    @initialize()
    def put_all(self) -> None:
        for name in NAMES:
            self.put_durable(name, "a", {("k",)}, DurableOptions())

    @rule(numbers=st.lists(st.integers(1, 14), max_size=5))
    def keep_some(self, numbers: list[int]) -> None:
        for number in numbers:
            names = [name for place, name in enumerate(NAMES) if number >> place & 1]
            self.keep(names, ("k",), ("far",), 1, identity(number), "", "ann", None, "", None)

    @rule(
        names=st.lists(DURABLES, max_size=4),
        keys=KEYS,
        homes=st.sets(HOMES).map(tuple),
        size=st.integers(0, 20),
        id_=IDS,
        publication=st.sampled_from(["", "", "p1", "p2"]),
        publisher=st.sampled_from(["", "ann", "bob"]),
        settled=st.none() | NUMBERS,
        aside=st.sampled_from(["", "", "", "nobody's"]),
        line=st.none() | IDS,
    )
    def keep(
        self,
        names: list[str],
        keys: tuple[str, ...],
        homes: tuple[str, ...],
        size: int,
        id_: DocumentId,
        publication: str,
        publisher: str,
        settled: int | None,
        aside: str,
        line: DocumentId | None,
    ) -> None:
        self.count += 1
        headers = (("name", "value"),) if size % 2 else ()
        parcel = Parcel(
            id_,
            bytes([size]) * size,
            self.count,
            publication,
            headers,
            size,
            publisher,
            size % 3,
            tuple(Destination(home, f"{home}{size % 3}") for home in homes) if size % 2 else (),
        )
        entries = tuple(Entry(name, keys) for name in names)
        self.do(writes.KeepDocument(parcel, self.now, entries, homes, settled, aside, line))

    @rule(name=DURABLES, upto=NUMBERS, sequences=st.lists(NUMBERS, max_size=4).map(tuple))
    def acknowledge(self, name: str, upto: int, sequences: tuple[int, ...]) -> None:
        self.do(writes.Acknowledge(name, upto, sequences, self.now))

    @rule(home=HOMES, ids=st.lists(IDS, max_size=4).map(tuple))
    def confirm(self, home: str, ids: tuple[DocumentId, ...]) -> None:
        self.do(writes.Confirm(home, ids, self.now))

    @rule(name=DURABLES, attempts=st.dictionaries(NUMBERS, st.integers(1, 9), max_size=3))
    def note_attempts(self, name: str, attempts: dict[int, int]) -> None:
        self.do(writes.NoteAttempts(name, attempts))

    @rule(name=DURABLES, sequences=st.lists(NUMBERS, max_size=4).map(tuple))
    def set_aside(self, name: str, sequences: tuple[int, ...]) -> None:
        self.do(writes.SetAside(name, sequences, "too often", self.now))

    @rule(home=HOMES, id_=IDS)
    def set_aside_owed(self, home: str, id_: DocumentId) -> None:
        self.do(writes.SetAsideOwed(home, id_, "refused", self.now))

    @rule(name=DURABLES, upto=NUMBERS, sequence=NUMBERS)
    def set_aside_and_replay(self, name: str, upto: int, sequence: int) -> None:
        self.set_aside(name, (sequence,))
        self.acknowledge(name, upto, ())
        self.replay(tuple(self.model.letters))

    @rule(letters=st.lists(st.integers(1, 9), max_size=4).map(tuple))
    def replay(self, letters: tuple[int, ...]) -> None:
        self.do(writes.Replay(letters, self.now))

    @rule(letters=st.lists(st.integers(1, 9), max_size=2).map(tuple))
    def drop_letters(self, letters: tuple[int, ...]) -> None:
        self.do(writes.DropLetters(letters, self.now))

    @rule(name=DURABLES, is_spared=st.integers(0, 3).map(bool))
    def drop_durable(self, name: str, is_spared: bool) -> None:
        if not is_spared:
            self.do(writes.DropDurable(name))

    @rule(name=DURABLES, count=st.integers(0, 5))
    def note_missed(self, name: str, count: int) -> None:
        self.do(writes.NoteMissed(name, count))

    @rule(home=HOMES, forward=PATTERNS, withdraw=PATTERNS, is_new=st.booleans(), ahead=NUMBERS)
    def put_home(
        self,
        home: str,
        forward: tuple[str, ...],
        withdraw: tuple[str, ...],
        is_new: bool,
        ahead: int,
    ) -> None:
        self.count += 1
        known, _ = self.model.homes.get(home, (Version(1, 1), set()))
        base = 0 if is_new else known.version + (ahead == 1)
        only = tuple(each for each in withdraw if each not in forward)
        version = Version(known.epoch + (ahead == 2), self.count)
        self.do(writes.PutHome(home, version, forward, only, base))

    @rule(home=HOMES, is_spared=st.integers(0, 3).map(bool))
    def drop_home(self, home: str, is_spared: bool) -> None:
        if not is_spared:
            self.do(writes.DropHome(home))

    @rule(
        origin=st.sampled_from("pq"), incarnation=st.integers(1, 2), number=NUMBERS, settled=NUMBERS
    )
    def note_received(self, origin: str, incarnation: int, number: int, settled: int) -> None:
        id_ = DocumentId(origin, incarnation, number)
        self.do(writes.NoteReceived(id_, settled))

    @rule(epoch=NUMBERS, version=NUMBERS)
    def set_home_version(self, epoch: int, version: int) -> None:
        self.do(writes.SetHomeVersion(Version(epoch, version)))

    @rule(
        unit=st.sampled_from(["", "north"]),
        bits=st.dictionaries(st.sampled_from(["a", "north/b"]), st.integers(0, 31), min_size=1),
    )
    def put_book(self, unit: str, bits: dict[str, int]) -> None:
        self.do(writes.PutBook(unit, bits))

    # ---- the whole ------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 15, 30, 90]))
    def trim_later(self, seconds: int) -> None:
        self.now += seconds * 1000
        expected = self.model.trim(self.now)
        trimmed = self.wait(self.store.trim(self.now))
        for each in (expected, trimmed):
            for home, ids in each.owed.items():
                each.owed[home] = tuple(sorted(ids))  # type: ignore[index]
        assert trimmed == expected

    @rule()
    def open_again(self) -> None:
        self.wait(self.store.close())
        self.stores.audit()
        self.open()

    @rule()
    def figures(self) -> None:
        assert self.wait(self.store.figures()) == self.model.figures()

    # ---- reads ----------------------------------------------------------------------------------

    @rule(name=DURABLES, first=NUMBERS, last=NUMBERS, limit=st.integers(1, 9))
    def read_queue(self, name: str, first: int, last: int, limit: int) -> None:
        read = self.wait(self.store.read_queue(name, first, last, limit=limit, max_bytes=9999))
        entries = self.model.queues[name].entries if name in self.model.queues else {}
        assert [(each.sequence, each.keys, each.document.id) for each in read] == [
            (sequence, keys, id_)
            for sequence, (id_, keys) in sorted(entries.items())
            if first <= sequence <= last
        ][:limit]
        for each in read:
            kept = self.model.documents[each.document.id].write
            parcel = kept.parcel
            assert each.document[1:] == (
                *(parcel.content, parcel.published, kept.stored, parcel.headers, parcel.expires),
                parcel.scope,
                (),
            )

    @rule(home=HOMES, ids=st.lists(IDS, unique=True), room=st.integers(0, 60))
    def read_owed(self, home: str, ids: list[DocumentId], room: int) -> None:
        found, gone = self.wait(self.store.read_owed(home, ids, max_bytes=room))
        owed = self.model.owed.get(home, [])
        assert list(gone) == [id_ for id_ in ids if id_ not in owed]
        wanted = [self.model.documents[str(id_)].write.parcel for id_ in ids if id_ in owed]
        sizes = [len(parcel.content) for parcel in wanted]
        fitting = [n for n in range(len(sizes) + 1) if n <= 1 or sum(sizes[:n]) <= room]
        assert found == wanted[: max(fitting)]

    @rule(seconds=st.sampled_from([0, 20, 60]))
    def newest_first(self, seconds: int) -> None:
        since = self.now - seconds * 1000

        async def newest() -> list[str]:
            batches = [batch async for batch in self.store.newest_first(since, 2)]
            return [document.id for batch in batches for document in batch]

        kept = self.model.documents.items()
        wanted = [id_ for id_, each in kept if each.write.stored >= since]
        assert self.wait(newest()) == wanted[::-1]

    @rule(publication=st.sampled_from(["p1", "p2"]))
    def find_publication(self, publication: str) -> None:
        found = self.wait(self.store.find_publication(publication))
        known = self.model.publications.get(publication)
        if known is None:
            assert found is None
        else:
            assert found == (known[0], blake2b(known[1], digest_size=16).digest())

    @rule(name=st.just("") | DURABLES, home=st.just("") | HOMES, after=st.integers(0, 3))
    def letters(self, name: str, home: str, after: int) -> None:
        found = self.wait(self.store.letters(name, home, after, limit=3))
        assert (
            found
            == [
                letter
                for number, (letter, _) in sorted(self.model.letters.items())
                if number > after and name in ("", letter.durable) and home in ("", letter.home)
            ][:3]
        )
        for letter in found:
            read = self.wait(self.store.read_letter(letter.number))
            assert read is not None
            to = self.model.documents[letter.id].write.parcel.to
            assert (read[0], read[1].id, read[1].to) == (letter, letter.id, to)


def machine_of(database: str) -> Any:
    """The machine of one database."""
    return type(f"StoreMachine_{database}", (StoreMachine,), {"database": database})


class LongLife:
    """Writes and reads by chance, many in one store, where a machine tries few in many."""

    def __init__(self, database: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.machine: StoreMachine = machine_of(database)()

    def run(self, steps: int) -> None:
        self.machine.put_all()
        kinds = [self.keep] * 6 + [self.deliver] * 4 + [self.letters] * 3 + [self.read] * 2
        for _ in range(steps):
            self.chance.choice([*kinds, self.administer])()
        self.machine.teardown()

    def _numbers(self, highest: int, most: int = 4) -> tuple[int, ...]:
        return tuple(self.chance.randint(1, highest) for _ in range(self.chance.randint(0, most)))

    def _sequences(self, name: str) -> tuple[int, ...]:
        queue = self.machine.model.queues.get(name)
        return self._numbers(queue.last + 1 if queue else 3)

    def keep(self) -> None:
        chance, machine = self.chance, self.machine
        recent = max(1, machine.count - 20)
        machine.keep(
            [chance.choice(NAMES) for _ in range(chance.randint(0, 4))],
            ("k",),
            tuple({chance.choice(["far", "near"]) for _ in range(chance.randint(0, 2))}),
            chance.randint(0, 9),
            identity(chance.randint(recent, machine.count + 2)),
            chance.choice(["", "", f"p{chance.randint(1, 30)}"]),
            chance.choice(["", "ann", "bob"]),
            chance.choice([None, None, chance.randint(0, machine.count)]),
            chance.choice(["", "", "", "", "nobody's"]),
            chance.choice([None, identity(chance.randint(1, 9))._replace(origin="home<o")]),
        )

    def deliver(self) -> None:
        chance, machine = self.chance, self.machine
        name, home = chance.choice(NAMES), chance.choice(["far", "near"])
        queue = machine.model.queues.get(name)
        upto = chance.choice([0, 0, queue.acknowledged + 2 if queue else 1])
        machine.acknowledge(name, upto, self._sequences(name))
        owed = machine.model.owed.get(home, [])
        machine.confirm(home, tuple(chance.sample(owed, len(owed) // 2)))
        attempts = dict.fromkeys(self._sequences(name), chance.randint(1, 5))
        machine.note_attempts(name, attempts)

    def letters(self) -> None:
        chance, machine = self.chance, self.machine
        name = chance.choice(NAMES)
        machine.set_aside(name, self._sequences(name))
        owed = machine.model.owed.get("far", [])
        if owed:
            machine.set_aside_owed("far", chance.choice(owed))
        letters = [*machine.model.letters, 999]
        machine.replay(tuple(chance.sample(letters, len(letters) // 2)))
        machine.drop_letters(tuple(chance.sample(letters, len(letters) // 3)))

    def read(self) -> None:
        chance, machine = self.chance, self.machine
        name, home = chance.choice(NAMES), chance.choice(["far", "near"])
        queue = machine.model.queues.get(name)
        first = chance.randint(0, queue.last if queue else 1)
        machine.read_queue(name, first, first + chance.randint(0, 30), chance.randint(1, 30))
        owed = [*machine.model.owed.get(home, []), identity(99_999)]
        machine.read_owed(home, chance.sample(owed, len(owed)), chance.randint(0, 40))
        machine.letters("", "", 0)
        machine.newest_first(60)
        machine.find_publication(f"p{chance.randint(1, 30)}")

    def administer(self) -> None:
        machine = self.machine
        machine.figures()
        match self.chance.randint(0, 9):
            case 0:
                machine.drop_durable(self.chance.choice(NAMES), False)
            case 1:
                machine.drop_home("near", False)
            case 2 | 3:
                machine.put_all()
            case 4 | 5:
                machine.open_again()
            case _:
                machine.trim_later(self.chance.choice([1, 15, 30, 90]))
