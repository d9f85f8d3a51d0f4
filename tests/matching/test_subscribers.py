"""Many subscribers of few patterns: who comes and goes, and answers that are read later."""

from __future__ import annotations

import gc
import pickle
import tempfile
import time
from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from matcher_answers import as_set

from twigcast import Matcher

if TYPE_CHECKING:
    from twigcast.matching import BatchMatches

EXPRESSIONS = ("//a", "//a[b]", "/a/b", "//c")
DOCUMENTS = ("<a/>", "<a><b/></a>", "<a><b/><c/></a>", "<z/>")
MATCHED = (("//a",), ("//a", "//a[b]", "/a/b"), EXPRESSIONS, ())
"""What each of the documents matches."""

KEYS = st.integers(0, 40).map("key {}".format)
ENOUGH_TO_REBUILD = 1_100
"""So many who left, with few who stay, and the index is rebuilt."""


def check(batch: BatchMatches, expected: list[set[str]]) -> None:
    """Each way of reading a batch names the same subscribers."""
    offsets = batch.offsets.tolist()
    assert offsets == [0, *accumulate(map(len, expected))]
    assert list(map(as_set, batch)) == expected
    keys = list(map(batch.key, batch.ids))
    assert [set(keys[begin:end]) for begin, end in pairwise(offsets)] == expected
    column = batch.to_arrow()
    column.validate(full=True)
    assert list(map(as_set, column.to_pylist())) == expected


class Comings(RuleBasedStateMachine):
    """A matcher beside a dict, with answers that are read some steps after they were given."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.matcher = Matcher()
        self.model: dict[str, str] = {}
        self.held: list[tuple[BatchMatches, list[set[str]]]] = []

    def teardown(self) -> None:
        self.matcher = Matcher()
        for batch, expected in self.held:
            check(batch, expected)
        self.folder.cleanup()
        super().teardown()

    @rule(key=KEYS, expression=st.sampled_from(EXPRESSIONS))
    def put(self, key: str, expression: str) -> None:
        """Add, replace, or change nothing."""
        self.matcher.update({key: expression})
        self.model[key] = expression

    @rule(key=KEYS)
    def remove(self, key: str) -> None:
        if self.model.pop(key, None) is not None:
            self.matcher.remove(key)

    @rule(expression=st.sampled_from(EXPRESSIONS), count=st.integers(1, 40))
    def put_many(self, expression: str, count: int) -> None:
        for number in range(count):
            self.put(f"key {number}", expression)

    @rule(expression=st.sampled_from(EXPRESSIONS))
    def remove_all_of(self, expression: str) -> None:
        for key in [key for key, one in self.model.items() if one == expression]:
            self.remove(key)

    @rule(expression=st.sampled_from(EXPRESSIONS))
    def come_and_go(self, expression: str) -> None:
        for number in range(ENOUGH_TO_REBUILD):
            self.put(f"passing {number % 3}", expression)
            self.remove(f"passing {number % 3}")

    @rule()
    def save_and_load(self) -> None:
        path = Path(self.folder.name) / "matcher"
        self.matcher.save(path)
        self.matcher = Matcher.load(path)

    @rule()
    def copy(self) -> None:
        self.matcher = pickle.loads(pickle.dumps(self.matcher))

    @rule()
    def read_the_oldest(self) -> None:
        if self.held:
            check(*self.held.pop(0))

    @invariant()
    def answers_as_the_model_does(self) -> None:
        expected = [
            {key for key, expression in self.model.items() if expression in matched}
            for matched in MATCHED
        ]
        check(self.matcher.match_batch(DOCUMENTS), expected)
        self.held.append((self.matcher.match_batch(DOCUMENTS), expected))
        assert as_set(list(self.matcher)) == self.model.keys()


TestComings = Comings.TestCase
TestComings.settings = settings(max_examples=40, stateful_step_count=25)


def crowd(count: int) -> Matcher:
    """A matcher with one pattern that all subscribe to."""
    matcher = Matcher()
    for number in range(count):
        matcher.add(f"key {number}", "//a")
    return matcher


def quickest(call: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def test_coming_and_going_costs_the_same_in_a_crowd() -> None:
    """However many others subscribe to the pattern; answers of before are still right after."""

    def churn(matcher: Matcher, random: Random) -> None:
        for key in random.sample(range(500), 500):
            matcher.remove(f"key {key}")
            matcher.add(f"key {key}", "//a")

    few, many = crowd(1_000), crowd(100_000)
    before = many.match_numbered("<a/>")
    random = Random(1)
    alone = quickest(lambda: churn(few, random))
    crowded = quickest(lambda: churn(many, random))
    assert crowded < 8 * alone
    assert len(before.ids) == len(many) == 100_000
    assert set(before[0]) == set(many.match("<a/>")) == set(many)


def test_naming_a_crowd_is_quick() -> None:
    """Far below a microsecond for each: they are copied, not looked at one by one."""
    matcher = crowd(100_000)
    matcher.remove("key 5")
    matcher.add("key of somebody else", "//a")
    assert quickest(lambda: matcher.match_numbered("<a/>").ids) < 100_000 * 50e-9
    assert quickest(lambda: matcher.match_numbered("<a/>").to_arrow()) < 100_000 * 50e-9


@pytest.mark.parametrize("patterns", [1, 100, 20_000])
def test_memory_of_many_subscribers(patterns: int) -> None:
    """A key of ten bytes, its end, a number in the array, its place, and its slot in a table."""
    matcher = Matcher()
    empty = matcher.stats().bytes
    for number in range(50_000):
        matcher.add(f"key {number:06}", f"//a{number % patterns}")
    steps = 200 * patterns  # and their names
    assert matcher.stats().bytes - empty < 50_000 * 75 + steps


def test_what_leaves_is_forgotten_in_the_end() -> None:
    """Arrays that moved, keys and departures do not pile up."""
    matcher = crowd(2_000)
    sizes = []
    for number in range(30_000):
        matcher.remove(f"key {number}")
        matcher.add(f"key {number + 2_000}", "//a")
        sizes.append(matcher.stats().bytes)
    assert max(sizes[15_000:]) <= 1.1 * max(sizes[:15_000])


def test_an_array_of_arrow_outlives_what_it_was_made_of(tmp_path: Path) -> None:
    """The keys lie in the matcher's memory, which grows, or in its file, which is mapped."""
    path = tmp_path / "matcher"
    crowd(1_000).save(path)
    expected = {f"key {number}" for number in range(1_000)}
    for matcher in (crowd(1_000), Matcher.load(path)):
        columns = [matcher.match_numbered("<a/>").to_arrow()]
        for number in range(20_000):
            matcher.add(f"later {number}", "//b")
        columns.append(matcher.match_numbered("<a/>").to_arrow())
        for number in range(20_000):
            matcher.remove(f"later {number}")
        columns.append(matcher.match_numbered("<a/>").to_arrow())
        del matcher
        gc.collect()
        for column in columns:
            column.validate(full=True)
            assert as_set(column.to_pylist()[0]) == expected


def test_arrays_of_arrow_share_their_keys() -> None:
    matcher = crowd(1_000)
    one, other = (
        matcher.match_numbered("<a/>").to_arrow().values.dictionary.buffers() for _ in range(2)
    )
    assert [buffer and buffer.address for buffer in one] == [
        buffer and buffer.address for buffer in other
    ]


def test_an_array_of_arrow_can_be_had_without_the_other_keys() -> None:
    matcher = crowd(10_000)
    matcher.add("bob", "//b")
    column = matcher.match_numbered("<b/>").to_arrow()
    plain = column.cast(pa.list_(pa.string()))
    assert plain.to_pylist() == column.to_pylist() == [["bob"]]
    assert len(pickle.dumps(plain)) < 1_000 < len(pickle.dumps(column))
