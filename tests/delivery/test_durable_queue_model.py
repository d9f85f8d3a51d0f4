"""The queue of a durable subscription beside a model of it, through whatever consumers do."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from twigcast.delivery.durable_queue import DurableQueue, Returned
from twigcast.delivery.writes import Durable, DurableOptions

NAMES = ["x", "y", "z"]
CONSUMERS = st.sampled_from(NAMES)
MOST_ATTEMPTS = 3


class QueueModel(RuleBasedStateMachine):
    """What each consumer has, said by itself, must be what the queue gives."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: set[int] = set()
        self.out: dict[str, dict[int, None]] = {}
        self.reading: dict[str, list[int]] = {}
        self.leases: dict[str, float] = {}
        self.asides: set[int] = set()
        self.ever: set[int] = set()
        """What was given to somebody at some time."""
        self.replays = False
        self.last = 0
        self.first = 1
        self.now = 0.0

    @initialize(kind=st.sampled_from(["one", "shared", "keyed"]), after=st.integers(0, 3))
    def open(self, kind: str, after: int) -> None:
        options = DurableOptions(kind != "one", "@k" if kind == "keyed" else "", MOST_ATTEMPTS)
        revived = frozenset({1} if after else ())
        # Sequences were given up to 3; the store fell back, and goes on with 6.
        self.queue = DurableQueue(
            Durable("d", "ann", {}, options, 1, 5, after, frozenset(), revived, gap=(3, 5))
        )
        self.waiting = {each for each in (1, 2, 3) if each > after or each in revived}
        self.last = 5
        for name in NAMES[: 1 if kind == "one" else 3]:
            self.attach(name, None)
        self.enter(3)

    def key(self, sequence: int) -> str:
        return "ab"[sequence * 7 % 5 % 2] if sequence % 4 else ""

    @property
    def is_keyed(self) -> bool:
        return bool(self.queue.options.key)

    @rule(count=st.integers(1, 4))
    def enter(self, count: int) -> None:
        for _ in range(count):
            self.last += 1
            self.queue.enter(self.last)
            self.waiting.add(self.last)

    @rule(consumer=CONSUMERS, start=st.none() | st.integers(0, 8))
    def attach(self, consumer: str, start: int | None) -> None:
        lost = self.queue.attach(consumer, start)
        if self.queue.options.is_shared:
            assert lost == []
            self.interrupt(consumer)
        else:
            assert set(lost) == set(self.out)
            self.out, self.reading, self.leases = {}, {}, {}
            self.replays = start is not None
        self.out[consumer] = {}

    @precondition(lambda self: self.out and not self.replays)
    @rule(consumer=CONSUMERS)
    def join(self, consumer: str) -> None:
        assert self.queue.attach(consumer, joins=True) == []
        self.interrupt(consumer)
        self.out[consumer] = {}

    def interrupt(self, consumer: str) -> None:
        """Who leaves while others read: they lose what they read."""
        self.leases.pop(consumer, None)
        if self.out.pop(consumer, None) is None:
            return
        for name, reading in self.reading.items():
            for each in reading if self.is_keyed else ():
                if name in self.out:
                    self.out[name].pop(each, None)
        self.reading.clear()

    @rule(consumer=CONSUMERS, taken=st.integers(0, 3))
    def detach(self, consumer: str, taken: int) -> None:
        had = [each for each in self.out.get(consumer, {}) if each in self.waiting]
        self.interrupt(consumer)
        self.returned(self.queue.detach(consumer, taken), had[:taken])

    @rule(consumer=CONSUMERS, most=st.integers(1, 5))
    def take(self, consumer: str, most: int) -> None:
        if consumer in self.leases:
            return  # it takes nothing more
        had_work = self.queue.has_work(consumer, self.now)
        taken = self.queue.take(consumer, most, self.now)
        assert len(taken) <= most
        assert had_work or not taken
        assert not taken or consumer in self.out
        for each in taken:
            assert all(each not in out for out in self.out.values()), f"{each} is out twice"
            assert each in self.waiting or self.replays, f"{each} is acknowledged"
            self.out[consumer][each] = None
        if self.is_keyed and taken:
            self.reading.setdefault(consumer, []).extend(taken)

    @rule(consumer=CONSUMERS, most=st.integers(1, 3), count=st.sampled_from([9, 9, 1, 0]))
    def serve(self, consumer: str, most: int, count: int) -> None:
        """Take some and read them at once, or as many as fit."""
        self.take(consumer, most)
        self.assign(consumer, count)

    @rule(consumer=CONSUMERS, seconds=st.sampled_from([0.0, 2.0]))
    def lease(self, consumer: str, seconds: float) -> None:
        if not self.reading.get(consumer):
            until = self.now + seconds
            self.queue.lease(consumer, until)
            if consumer in self.out:
                self.leases[consumer] = until
            self.dismiss()

    def dismiss(self) -> None:
        """Who has a lease and nothing any more is gone, and nobody else."""
        having = self.queue.who_has(range(self.last + 1))
        for name in list(self.leases):
            if name in self.queue.consumers:
                assert name in having or self.replays
            else:
                assert not self.out[name]
                self.interrupt(name)

    @rule()
    def end_leases(self) -> None:
        ended = self.queue.leased(self.now)
        assert set(ended) == {each for each, until in self.leases.items() if until <= self.now}
        for each in ended:
            self.detach(each, len(NAMES) * 99)

    @precondition(lambda self: any(self.reading.values()))
    @rule(consumer=CONSUMERS, count=st.integers(0, 9))
    def assign(self, consumer: str, count: int) -> None:
        """Whoever has read documents says which keys they have, and leaves the rest."""
        reading = self.reading.pop(consumer, [])
        for each in reading[:count]:
            is_here = each in self.out.get(consumer, {})
            if self.queue.assign(each, self.key(each), consumer):
                assert is_here
                self.given(each, consumer)
            else:
                self.out.get(consumer, {}).pop(each, None)
        self.queue.untake(consumer, reading[count:])
        for each in reading[count:]:
            self.out.get(consumer, {}).pop(each, None)

    def given(self, sequence: int, consumer: str) -> None:
        key = self.key(sequence)
        if not key:
            return
        for name, out in self.out.items():
            if name != consumer:
                settled = set(out) - set(self.reading.get(name, ()))
                assert all(self.key(each) != key for each in settled), f"{key} at two consumers"
        before = {each for each in self.waiting if each < sequence and self.key(each) == key}
        assert before <= self.ever, f"{sequence} before {before}"
        self.ever.add(sequence)

    @rule(upto=st.integers(0, 30))
    def acknowledge_upto(self, upto: int) -> None:
        revived = {each for each in self.waiting if each <= self.queue.acknowledged}
        upto = min(upto, self.last)
        self.queue.acknowledge(upto, ())
        passed = {each for each in self.waiting if each <= upto} - revived
        self.pass_(passed | set(range(1, upto + 1)) - revived)

    @rule(sequences=st.lists(st.integers(0, 30), max_size=4))
    def acknowledge(self, sequences: list[int]) -> None:
        self.queue.acknowledge(0, sequences)
        self.pass_(set(sequences))

    def pass_(self, sequences: set[int]) -> None:
        self.waiting -= sequences
        for out in self.out.values():
            for each in sequences:
                out.pop(each, None)
        self.dismiss()

    @rule(consumer=CONSUMERS, data=st.data(), delay=st.sampled_from([0.0, 2.0]))
    def give_back(self, consumer: str, data: st.DataObject, delay: float) -> None:
        reading = self.reading.get(consumer, [])
        had = [each for each in self.out.get(consumer, {}) if each not in reading]
        if had:
            back = data.draw(st.lists(st.sampled_from(had), unique=True))
            for each in back:
                del self.out[consumer][each]
            waiting = [each for each in back if each in self.waiting]
            returned = self.queue.give_back(consumer, back, self.now + delay)
            self.dismiss()
            self.returned(returned, waiting)

    def returned(self, returned: Returned, expected: list[int]) -> None:
        assert list(returned.attempts) == expected
        for each, count in returned.attempts.items():
            assert (count >= MOST_ATTEMPTS) == (each in returned.too_often)
        self.queue.acknowledge(0, returned.too_often)
        self.pass_(set(returned.too_often))
        self.asides |= set(returned.too_often)

    @precondition(lambda self: self.asides)
    @rule(data=st.data())
    def revive(self, data: st.DataObject) -> None:
        sequence = data.draw(st.sampled_from(sorted(self.asides)))
        self.asides.remove(sequence)
        self.queue.revive(sequence)
        self.waiting.add(sequence)

    @rule(first=st.integers(1, 12))
    def trim(self, first: int) -> None:
        first = min(first, self.last + 1)
        lost = {each for each in self.waiting if each < first}
        self.queue.trimmed(first, len(lost))
        self.first = max(self.first, first)
        self.asides = {each for each in self.asides if each >= first}
        self.pass_(set(range(first)))

    @rule()
    def pass_time(self) -> None:
        self.now += 1.0

    @invariant()
    def counts_agree(self) -> None:
        assert self.queue.waiting == len(self.waiting)
        for each in range(1, self.last + 2):
            assert self.queue.is_waiting(each) == (each in self.waiting)
        having = self.queue.who_has(range(self.last + 2))
        for name, out in self.out.items():
            assert {each for each in out if each in self.waiting} <= set(having.get(name, ()))

    def teardown(self) -> None:
        """Whoever comes last can take all that waits."""
        self.leases.clear()
        for name in list(self.out):
            self.returned(self.queue.detach(name), [])
        self.queue.attach("last")
        self.queue.attach("last")
        taken = []
        while found := self.queue.take("last", 3, self.now + 10.0):
            taken += found
            assert all(self.queue.assign(each, self.key(each), "last") for each in found)
        assert len(taken) == len(set(taken))
        assert set(taken) == self.waiting
        assert not self.queue.has_work("last", self.now + 10.0)


TestQueueModel = QueueModel.TestCase
