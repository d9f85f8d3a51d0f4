"""A broker's store against a model in dictionaries, through whatever order of calls."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from broker_store_audit import audit
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from twigcast.broker.store import schema as store_schema
from twigcast.broker.store import store as store_module
from twigcast.broker.store import trimming as store_trimming
from twigcast.broker.store.records import Owed, QueueEntry, Received
from twigcast.broker.store.retention import Retention, Trimmed
from twigcast.broker.store.store import FILE, Store

Result = TypeVar("Result")

RETENTION = Retention(age=100.0, acknowledged_age=20.0, size=60)
DURABLES = st.sampled_from(["north", "south", "west"])
HOMES = st.sampled_from(["far", "near"])
ORIGINS = st.sampled_from(["p", "q"])
NUMBERS = st.integers(0, 12)


@dataclass
class Document:
    content: bytes
    stored: int
    number: int
    released: int | None = None


@dataclass
class Queue:
    owner: str
    expressions: dict[str, str]
    entries: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    delivered: set[int] = field(default_factory=set)
    last: int = 0
    missed: int = 0
    missed_reported: int = 0

    @property
    def waiting(self) -> set[int]:
        return self.entries.keys() - self.delivered

    @property
    def acknowledged(self) -> int:
        return min(self.waiting, default=self.last + 1) - 1


@dataclass
class Debt:
    pending: dict[int, str] = field(default_factory=dict)
    next: int = 1


class StoreMachine(RuleBasedStateMachine):
    """Every call on a real store and on dictionaries; both must tell the same."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.number = 1  # where the numbers of debts begin at the next opening
        self.patches = ExitStack()
        clock = self.patches.enter_context(mock.patch.object(store_module, "now_ms"))
        clock.side_effect = lambda: self.now
        numbers = self.patches.enter_context(mock.patch.object(store_schema, "now_us"))
        numbers.side_effect = lambda: self.number
        self.patches.enter_context(mock.patch.object(store_trimming, "SLICE", 3))
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.documents: dict[str, Document] = {}
        self.queues: dict[str, Queue] = {}
        self.debts: dict[str, Debt] = {}
        self.homes: dict[str, tuple[str, int, set[str]]] = {}
        self.received: dict[str, tuple[str, set[int]]] = {}
        self.count = 0
        self.incarnation = 0
        self.next_numbers = dict.fromkeys(["far", "near"], 1)
        self.open()

    def open(self) -> None:
        self.store = Store.open(
            Path(self.folder.name), broker="home", sync="normal", retention=RETENTION
        )
        assert self.store.incarnation > self.incarnation
        self.incarnation = self.store.incarnation
        self.store.start(self.loop)

    def wait(self, future: Awaitable[Result]) -> Result:
        async def waited() -> Result:
            return await future

        return self.loop.run_until_complete(waited())

    def teardown(self) -> None:
        self.wait(self.store.close())
        self.loop.close()
        audit(Path(self.folder.name))
        self.folder.cleanup()
        self.patches.close()

    def wait_until_clean(self) -> None:
        """What was dropped is removed behind the scenes; how long that takes is not modelled."""
        query = (
            "SELECT (SELECT count(*) FROM durables WHERE name IS NULL)"
            " + (SELECT count(*) FROM debts WHERE home IS NULL)"
        )
        deadline = time.monotonic() + 30
        with closing(sqlite3.connect(Path(self.folder.name) / FILE)) as connection:
            while connection.execute(query).fetchone() != (0,):
                assert time.monotonic() < deadline

    # ---- the model ------------------------------------------------------------------------------

    def is_needed(self, id_: str) -> bool:
        return any(
            queue.entries[number][0] == id_
            for queue in self.queues.values()
            for number in queue.waiting
        ) or any(id_ in debt.pending.values() for debt in self.debts.values())

    def note_released(self) -> None:
        for id_, document in self.documents.items():
            if self.is_needed(id_):
                document.released = None
            elif document.released is None:
                document.released = self.now

    def is_doomed(self, document: Document) -> bool:
        if document.stored < self.now - RETENTION.age * 1000:
            return True
        limit = self.now - RETENTION.acknowledged_age * 1000
        return document.released is not None and document.released < limit

    def drop_documents(self) -> Trimmed:
        doomed = {id_ for id_, each in self.documents.items() if self.is_doomed(each)}
        size = sum(len(d.content) for id_, d in self.documents.items() if id_ not in doomed)
        for id_, document in sorted(self.documents.items(), key=lambda item: item[1].number):
            if size <= RETENTION.size:
                break
            if id_ not in doomed:
                doomed.add(id_)
                size -= len(document.content)
        lost: dict[str, int] = {}
        first: dict[str, int] = {}
        owed_lost: dict[str, tuple[int, ...]] = {}
        for name, queue in self.queues.items():
            gone = {number for number, (id_, _) in queue.entries.items() if id_ in doomed}
            if missed := len(gone & queue.waiting):
                lost[name] = missed
                queue.missed += missed
            queue.entries = {n: each for n, each in queue.entries.items() if n not in gone}
            if gone:
                first[name] = min(queue.entries, default=queue.last + 1)
        for home, debt in self.debts.items():
            if numbers := sorted(n for n, id_ in debt.pending.items() if id_ in doomed):
                owed_lost[home] = tuple(numbers)
                debt.pending = {n: id_ for n, id_ in debt.pending.items() if id_ not in doomed}
        bytes_ = sum(len(self.documents.pop(id_).content) for id_ in doomed)
        return Trimmed(len(doomed), bytes_, lost, first, owed_lost)

    # ---- the calls ------------------------------------------------------------------------------

    @rule(name=DURABLES, owner=st.sampled_from("ab"), keys=st.sets(st.sampled_from("klm")))
    def put_durable(self, name: str, owner: str, keys: set[str]) -> None:
        expressions = {key: f"//{key}" for key in keys}
        self.wait(self.store.put_durable(name, owner, expressions))
        queue = self.queues.setdefault(name, Queue(owner, expressions))
        queue.owner, queue.expressions = owner, expressions

    @rule(
        names=st.sets(DURABLES),
        homes=st.sets(HOMES),
        size=st.integers(0, 20),
        again=st.booleans(),
        data=st.data(),
    )
    def add_document(
        self, names: set[str], homes: set[str], size: int, again: bool, data: st.DataObject
    ) -> None:
        self.count += 1
        id_ = f"o:1:{self.count}"
        if again and self.documents:
            id_ = data.draw(st.sampled_from(sorted(self.documents)))
        entries = []
        for name in sorted(names & self.queues.keys()):
            queue = self.queues[name]
            queue.last += 1
            entries.append(QueueEntry(name, queue.last, ("k", name)))
            queue.entries[queue.last] = (id_, ("k", name))
        owed = []
        for home in sorted(homes):
            debt = self.debts.setdefault(home, Debt(next=self.next_numbers[home]))
            owed.append(Owed(home, debt.next))
            debt.pending[debt.next] = id_
            debt.next += 1
            self.next_numbers[home] = debt.next
        content = bytes([self.count % 256]) * size
        self.documents.setdefault(id_, Document(content, self.now, self.count))
        self.wait(
            self.store.add_document(
                id_, content, published=7, publication=f"for {id_}", queues=entries, owed=owed
            )
        )
        self.note_released()

    @rule(name=DURABLES, upto=NUMBERS, sequences=st.lists(NUMBERS, max_size=4))
    def acknowledge(self, name: str, upto: int, sequences: list[int]) -> None:
        self.wait(self.store.acknowledge(name, upto, sequences))
        if name in self.queues:
            queue = self.queues[name]
            queue.delivered |= {n for n in queue.entries if n <= upto or n in sequences}
            self.note_released()

    @rule(home=HOMES, upto=NUMBERS, numbers=st.lists(NUMBERS, max_size=4))
    def confirm(self, home: str, upto: int, numbers: list[int]) -> None:
        self.wait(self.store.confirm(home, upto, numbers))
        if home in self.debts:
            pending = self.debts[home].pending
            for number in [n for n in pending if n <= upto or n in numbers]:
                del pending[number]
            self.note_released()

    @rule(name=DURABLES)
    def drop_durable(self, name: str) -> None:
        self.wait(self.store.drop_durable(name))
        self.wait_until_clean()
        self.queues.pop(name, None)
        self.note_released()

    @rule(home=HOMES)
    def drop_home(self, home: str) -> None:
        self.wait(self.store.drop_home(home))
        self.wait_until_clean()
        self.homes.pop(home, None)
        self.debts.pop(home, None)
        self.note_released()

    @rule(
        home=HOMES,
        forward=st.lists(st.sampled_from(["//a", "//b", "//c"])),
        withdraw=st.lists(st.sampled_from(["//d", "//e", "//f"])),
        base=st.sampled_from(["none", "known", "other"]),
        swap=st.booleans(),
    )
    def put_home(
        self, home: str, forward: list[str], withdraw: list[str], base: str, swap: bool
    ) -> None:
        if swap:
            forward, withdraw = withdraw, forward
        self.count += 1
        _, known, before = self.homes.get(home, ("", 9999, set[str]()))
        number = {"none": 0, "known": known, "other": known + 1}[base]
        self.wait(self.store.put_home(home, "e", self.count, forward, withdraw, base=number))
        if not number:
            self.homes[home] = ("e", self.count, set(forward))
        elif home in self.homes and base == "known":
            self.homes[home] = ("e", self.count, (before - set(withdraw)) | set(forward))
        else:
            self.homes.pop(home, None)

    @rule(origin=ORIGINS, epoch=st.sampled_from(["e1", "e2"]), number=st.integers(1, 6))
    def note_received(self, origin: str, epoch: str, number: int) -> None:
        self.wait(self.store.note_received(Received(origin, epoch, number)))
        known = self.received.get(origin)
        if known is None or known[0] < epoch:
            known = self.received[origin] = (epoch, set())
        if known[0] == epoch:
            known[1].add(number)

    @rule(name=DURABLES, count=st.integers(0, 5))
    def note_missed_reported(self, name: str, count: int) -> None:
        self.wait(self.store.note_missed_reported(name, count))
        if name in self.queues:
            queue = self.queues[name]
            queue.missed_reported = max(queue.missed_reported, min(count, queue.missed))

    @rule(seconds=st.sampled_from([1, 15, 30, 90]))
    def trim_later(self, seconds: int) -> None:
        self.now += seconds * 1000
        trimmed = self.wait(self.store.trim(self.now))
        expected = self.drop_documents()
        owed_lost = {home: tuple(sorted(numbers)) for home, numbers in trimmed.owed_lost.items()}
        assert (trimmed.documents, trimmed.bytes) == (expected.documents, expected.bytes)
        assert (trimmed.lost, trimmed.first) == (expected.lost, expected.first)
        assert owed_lost == expected.owed_lost

    @rule(later=st.integers(0, 3))
    def open_again(self, later: int) -> None:
        self.wait(self.store.close())
        audit(Path(self.folder.name))
        self.number += later
        self.open()
        store = self.store
        for debt in self.debts.values():
            debt.next = max(debt.next, store.first_number)
        for home, given in self.next_numbers.items():
            assert home in self.debts or store.first_number >= given
            self.next_numbers[home] = store.first_number
        assert {each.name: each[1:] for each in store.durables} == {
            name: (
                queue.owner,
                queue.expressions,
                min(queue.entries, default=queue.last + 1),
                queue.last,
                queue.acknowledged,
                frozenset(
                    n for n in queue.entries.keys() & queue.delivered if n > queue.acknowledged
                ),
                queue.missed,
                queue.missed_reported,
                (0, 0),
            )
            for name, queue in self.queues.items()
        }
        assert store.homes == {
            home: (epoch, version, tuple(sorted(patterns)))
            for home, (epoch, version, patterns) in self.homes.items()
        }
        assert store.owed == {
            home: (debt.next, tuple(debt.pending)) for home, debt in self.debts.items()
        }
        assert store.received == {
            (origin, epoch): upto_and_beyond(numbers)
            for origin, (epoch, numbers) in self.received.items()
        }

    @invariant()
    def figures_are_right(self) -> None:
        assert self.wait(self.store.figures()) == (
            len(self.documents),
            sum(len(each.content) for each in self.documents.values()),
            {name: len(queue.waiting) for name, queue in self.queues.items()},
            {home: len(debt.pending) for home, debt in self.debts.items()},
        )

    @rule(name=DURABLES, first=NUMBERS, last=NUMBERS)
    def read_queue(self, name: str, first: int, last: int) -> None:
        read = self.wait(self.store.read_queue(name, first, last, limit=99, max_bytes=9999))
        entries = self.queues[name].entries if name in self.queues else {}
        expected = [
            (number, keys, self.documents[id_].content, self.documents[id_].stored)
            for number, (id_, keys) in sorted(entries.items())
            if first <= number <= last
        ]
        assert [
            (each.sequence, each.keys, each.document.content, each.document.stored) for each in read
        ] == expected

    @precondition(lambda self: bool(self.debts))
    @rule(data=st.data())
    def read_owed(self, data: st.DataObject) -> None:
        home = data.draw(st.sampled_from(sorted(self.debts)))
        room = data.draw(st.integers(0, 60))
        pending = self.debts[home].pending
        numbers = range(1, self.debts[home].next)
        found, gone = self.wait(self.store.read_owed(home, numbers, max_bytes=room))
        assert list(gone) == [number for number in numbers if number not in pending]
        sizes = [len(self.documents[id_].content) for id_ in pending.values()]
        fitting = [n for n in range(len(sizes) + 1) if n <= 1 or sum(sizes[:n]) <= room]
        expected = list(pending.items())[: max(fitting)]
        assert [(number, document.id) for number, document in found] == expected

    @rule(seconds=st.sampled_from([0, 20, 60]))
    def ask(self, seconds: int) -> None:
        since = self.now - seconds * 1000

        async def newest() -> list[str]:
            batches = [batch async for batch in self.store.newest_first(since, 2)]
            return [document.id for batch in batches for document in batch]

        wanted: list[Any] = [item for item in self.documents.items() if item[1].stored >= since]
        wanted.sort(key=lambda item: item[1].number, reverse=True)
        assert self.wait(newest()) == [id_ for id_, _ in wanted]

    @rule(number=st.integers(1, 30))
    def find_publication(self, number: int) -> None:
        id_ = f"o:1:{number}"
        found = self.wait(self.store.find_publication(f"for {id_}"))
        assert found == (id_ if id_ in self.documents else None)


def upto_and_beyond(numbers: set[int]) -> tuple[int, tuple[int, ...]]:
    upto = 0
    while upto + 1 in numbers:
        upto += 1
    return upto, tuple(sorted(number for number in numbers if number > upto))


StoreMachine.TestCase.settings = settings(
    max_examples=max(50, settings().max_examples // 6), stateful_step_count=40
)
test_the_store_does_what_the_model_does = StoreMachine.TestCase
