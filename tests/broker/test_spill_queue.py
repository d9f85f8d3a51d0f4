"""The queue that goes on in a file: order, limits, and what it leaves behind."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.broker.spill_queue import ITEM_BYTES, SpillQueue

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 120), st.just(0)),
        st.tuples(st.just("take"), st.integers(1, 6), st.integers(0, 200)),
    ),
    max_size=80,
)


@pytest.fixture
def queue() -> Iterator[SpillQueue]:
    queue = SpillQueue(memory_bytes=1000, disk_bytes=10_000)
    yield queue
    queue.close()


@given(STEPS, st.integers(0, 400), st.integers(0, 500))
def test_it_is_a_queue_whatever_the_limits(
    steps: list[tuple[str, int, int]], memory_bytes: int, disk_bytes: int
) -> None:
    queue = SpillQueue(memory_bytes=memory_bytes, disk_bytes=disk_bytes)
    model: deque[bytes] = deque()
    dropped = 0
    for number, (what, size, max_bytes) in enumerate(steps):
        if what == "put":
            item = bytes([number % 256]) * size
            room = memory_bytes + disk_bytes - sum(len(each) + ITEM_BYTES for each in model)
            if queue.put(item):
                model.append(item)
            else:
                dropped += 1
                assert room < 3 * (size + ITEM_BYTES) + 120
        else:
            expected: list[bytes] = []
            while model and (
                not expected
                or (len(expected) < size and sum(map(len, [*expected, model[0]])) <= max_bytes)
            ):
                expected.append(model.popleft())
            assert queue.take(size, max_bytes) == expected
        assert len(queue) == len(model)
        assert queue.waiting_bytes == sum(map(len, model))
        assert queue.dropped == dropped
        assert queue.memory_bytes_used <= max(memory_bytes, 120 + ITEM_BYTES)
    assert [item for _ in range(len(model)) for item in queue.take(1, 0)] == list(model)
    assert (len(queue), queue.waiting_bytes, queue.memory_bytes_used) == (0, 0, 0)
    queue.close()


def test_memory_is_bounded_and_nothing_is_lost(queue: SpillQueue) -> None:
    items = [bytes([number]) * 90 for number in range(100)]
    assert all(queue.put(item) for item in items)
    assert queue.memory_bytes_used <= 1000
    assert queue.waiting_bytes == 9000
    taken: list[bytes] = []
    while len(queue):
        taken += queue.take(7, 10**9)
        assert queue.memory_bytes_used <= 1000
    assert taken == items


def test_what_does_not_fit_is_dropped_and_counted(queue: SpillQueue) -> None:
    results = [queue.put(bytes([number]) * 996) for number in range(20)]
    assert results == [True] * 10 + [False] * 10  # none in memory: an item counts for more there
    assert (queue.dropped, len(queue)) == (10, 10)
    assert [item[0] for item in queue.take(3, 10**9)] == [0, 1, 2]
    assert [queue.put(bytes([number]) * 996) for number in range(20, 24)] == [True] * 3 + [False]
    assert [item[0] for item in queue.take(99, 10**9)] == [*range(3, 10), 20, 21, 22]


def test_the_file_goes_round_and_stays_within_its_limit(
    queue: SpillQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[int] = []
    write = os.pwrite

    def noted(file: int, data: bytes, offset: int) -> int:
        ends.append(offset + len(data))
        return write(file, data, offset)

    monkeypatch.setattr(os, "pwrite", noted)
    following = 0
    for number in range(2000):
        assert queue.put(number.to_bytes(2, "big") * 150)
        if number >= 25:  # so it is never drained
            (item,) = queue.take(1, 0)
            assert item == following.to_bytes(2, "big") * 150
            following += 1
    assert len(ends) > 1900
    assert max(ends) == 10_000


def test_a_drained_file_is_cut_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    cut = os.ftruncate

    def noted(file: int, length: int) -> None:
        lengths.append(os.fstat(file).st_size)
        cut(file, length)
        assert os.fstat(file).st_size == 0

    monkeypatch.setattr(os, "ftruncate", noted)
    queue = SpillQueue(memory_bytes=100, disk_bytes=10_000, folder=tmp_path)
    for _ in range(3):
        for _ in range(50):
            queue.put(bytes(100))
        assert len(queue.take(99, 10**9)) == 50
    assert list(tmp_path.iterdir()) == []  # the file has no name
    queue.close()
    assert lengths == [50 * 104] * 3


def test_an_item_larger_than_memory_goes_through_the_file(queue: SpillQueue) -> None:
    large = os.urandom(5000)
    for item in (b"small", large, b"", b"last"):
        assert queue.put(item)
    assert queue.take(9, 10**9) == [b"small", large, b"", b"last"]
    assert queue.memory_bytes_used == 0


def test_a_disk_that_refuses_counts_as_full(
    queue: SpillQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [bytes([number]) * 400 for number in range(6)]
    assert all(queue.put(item) for item in items[:4])

    def full(file: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        assert not queue.put(items[4])
    assert queue.put(items[5])
    assert queue.take(9, 10**9) == [*items[:4], items[5]]
    assert queue.dropped == 1


def test_a_folder_that_is_not_there_counts_as_full(tmp_path: Path) -> None:
    queue = SpillQueue(memory_bytes=100, folder=tmp_path / "missing")
    assert queue.put(b"x")
    assert not queue.put(bytes(100))
    assert queue.take(9, 9) == [b"x"]
    queue.close()


def test_a_closed_queue_is_empty_and_takes_nothing(queue: SpillQueue) -> None:
    for _ in range(30):
        queue.put(bytes(100))
    queue.close()
    queue.close()
    assert (len(queue), queue.waiting_bytes, queue.take(1, 1)) == (0, 0, [])
    assert not queue.put(b"x")
