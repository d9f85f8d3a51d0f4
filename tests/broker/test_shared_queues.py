"""Queues that share their documents: order, bounds, who loses what, and what is written."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_brokers import one_broker, take

from twigcast.broker import BrokerConfig
from twigcast.broker.config import LimitsConfig
from twigcast.broker.shared_queues import REFERENCE_BYTES, DocumentQueue, QueueSpace
from twigcast.client import connect

MANY = 10**9


def taken(queue: DocumentQueue, most: int = MANY) -> list[bytes]:
    """Documents with their labels behind them."""
    found: list[bytes] = []
    while queue.items and len(found) < most:
        content, label = queue.take()
        found.append(content + (label or b""))
    return found


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sets(st.integers(0, 3), min_size=1), st.integers(0, 300)),
        st.tuples(st.just("put in all"), st.sets(st.integers(0, 3)), st.integers(0, 300)),
        st.tuples(st.just("take"), st.integers(0, 3), st.integers(1, 6)),
        st.tuples(st.just("close"), st.integers(0, 3), st.just(0)),
    ),
    max_size=80,
)


@given(STEPS, st.integers(1, 3_000), st.integers(0, 2_000), st.integers(100, 3_000))
def test_they_are_queues_whatever_the_bounds(
    steps: list[tuple[str, set[int] | int, int]], memory: int, disk: int, own: int
) -> None:
    space = QueueSpace(memory_bytes=memory, disk_bytes=disk)
    queues = [DocumentQueue(space, own) for _ in range(4)]
    put: list[list[bytes]] = [[] for _ in queues]
    got: list[list[bytes]] = [[] for _ in queues]
    closed: set[int] = set()
    for number, (what, which, size) in enumerate(steps):
        if isinstance(which, set):
            content = number.to_bytes(2, "big") + bytes(size)
            if what == "put in all":
                some = [queues[each] for each in which - closed]
                dropped = sum(each.dropped for each in some)
                count = space.put_in_all(some, content, 0)
                # What is lost to others in the same moment was in the queue before.
                assert len(some) - count <= sum(each.dropped for each in some) - dropped
                for each in which - closed:
                    put[each].append(content)
                continue
            for each in which - closed:
                queues[each].put(content, b"for %d" % each)
                put[each].append(content + b"for %d" % each)
        elif what == "take":
            got[which] += taken(queues[which], size)
        else:
            queues[which].close()
            closed.add(which)
        assert space.memory_bytes_used <= memory
        assert space.disk_bytes_used <= disk
        for each in set(range(4)) - closed:
            queue = queues[each]
            assert len(got[each]) + len(queue) + queue.dropped == len(put[each])
            assert queue.waiting_bytes + REFERENCE_BYTES * len(queue) <= own
    for each in set(range(4)) - closed:
        got[each] += taken(queues[each])
        following = iter(put[each])
        assert all(item in following for item in got[each]), "in order, each once"
    assert space.disk_bytes_used == space.memory_bytes_used == 0
    space.close()


def test_a_document_is_kept_and_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    write = os.pwrite

    def noted(file: int, data: bytes, offset: int) -> int:
        nonlocal written
        written += len(data)
        return write(file, data, offset)

    monkeypatch.setattr(os, "pwrite", noted)
    space = QueueSpace(memory_bytes=2_000_000, disk_bytes=10_000_000)
    queues = [DocumentQueue(space, MANY) for _ in range(50)]
    documents = [number.to_bytes(2, "big") * 5_000 for number in range(150)]
    for document in documents:
        for number, queue in enumerate(queues):
            assert queue.put(document, bytes([number]))
    assert 0 < written < 1_500_000
    for number, queue in enumerate(queues):
        assert taken(queue) == [each + bytes([number]) for each in documents]
        assert queue.dropped == 0
    space.close()


def test_who_keeps_up_loses_nothing_to_those_who_stall() -> None:
    space = QueueSpace(memory_bytes=100_000, disk_bytes=200_000)
    stalled = [DocumentQueue(space, MANY) for _ in range(20)]
    quick, behind = DocumentQueue(space, MANY), DocumentQueue(space, MANY)
    for number in range(1_000):
        document = number.to_bytes(2, "big") * 500
        for queue in (*stalled, quick, behind):
            assert queue.put(document, b"")
        assert taken(quick, 9) == [document]
        if number >= 10:  # always some documents behind
            assert taken(behind, 1) == [(number - 10).to_bytes(2, "big") * 500]
    assert quick.dropped == behind.dropped == 0
    for queue in stalled:
        assert queue.dropped > 500
        last = taken(queue)[-1]
        assert last == (999).to_bytes(2, "big") * 500
    space.close()


def test_a_queue_has_a_bound_of_its_own() -> None:
    space = QueueSpace(memory_bytes=MANY, disk_bytes=0)
    queue = DocumentQueue(space, 10 * (1_000 + REFERENCE_BYTES))
    assert [queue.put(bytes(1_000), b"") for _ in range(12)] == [True] * 10 + [False] * 2
    assert (len(queue), queue.dropped, queue.waiting_bytes) == (10, 2, 10_000)
    assert len(taken(queue, 3)) == 3
    assert queue.put(bytes(1_000), b"")
    queue.close()
    assert not queue.put(b"x", b"")


def test_a_disk_that_refuses_costs_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    space = QueueSpace(memory_bytes=5_000, disk_bytes=MANY)
    queue = DocumentQueue(space, MANY)
    documents = [bytes([number]) * 1_000 for number in range(10)]
    assert all(queue.put(each, b"") for each in documents)
    assert taken(queue) == documents[-4:]
    assert queue.dropped == 6
    space.close()


def test_a_folder_that_is_not_there_costs_the_oldest(tmp_path: Path) -> None:
    space = QueueSpace(memory_bytes=1_000, disk_bytes=MANY, folder=tmp_path / "missing")
    queue = DocumentQueue(space, MANY)
    assert not queue.put(bytes(5_000), b"")
    assert queue.put(b"x", b"y")
    assert taken(queue) == [b"xy"]
    space.close()


def test_stalled_subscribers_share_a_bound_and_a_reader_gets_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = 0
    write = os.pwrite

    def noted(file: int, data: bytes, offset: int) -> int:
        nonlocal written
        written += len(data)
        return write(file, data, offset)

    monkeypatch.setattr(os, "pwrite", noted)
    limits = LimitsConfig(queues_memory=1_000_000, queues_disk=1_000_000)

    async def scenario() -> None:
        async with (
            one_broker(config=BrokerConfig(limits=limits)) as running,
            connect(running.address) as publisher,
            connect(running.address) as other,
        ):
            stalled = [other.subscribe("/a", window=1) for _ in range(100)]
            for each in stalled:
                await each.ready()
            reading = publisher.subscribe("/a")
            await reading.ready()
            for number in range(200):
                await publisher.publish(f"<a n='{number}'>{'x' * 10_000}</a>")
                assert f"n='{number}'".encode() in (await take(reading, 1))[0].content
            assert reading.missed == 0
            assert written <= 2_100_000  # 200 documents once, not 100 times
            first = await take(stalled[0], 2)
            assert b"n='0'" in first[0].content
            assert stalled[0].missed > 0

    asyncio.run(scenario())
