"""What is on its way to one client, by itself: what it counts, and what it tells of losses."""

from __future__ import annotations

import logging

import pytest

from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.outbox import Outbox
from twigcast.broker.shared_queues import REFERENCE_BYTES, DocumentQueue, Kept, QueueSpace

KEYS = ("k",)


def subscription(
    outbox: Outbox, space: QueueSpace, number: int, window: int
) -> EphemeralSubscription:
    made = EphemeralSubscription("x", number, window, DocumentQueue(space, 10**7))
    made.begin(outbox, KEYS, lambda: None)
    return made


def test_what_an_entry_takes_is_counted_once() -> None:
    space = QueueSpace(memory_bytes=10**8, disk_bytes=10**8)
    outbox = Outbox(space, 25_000, 10**6)
    subscriptions = [subscription(outbox, space, number, 256) for number in range(1, 1001)]
    for _ in range(5):  # there is room for one
        document = bytes(20_000)
        for each in subscriptions:
            each.offer(document, KEYS)
    waiting = sum(len(each.queue) for each in subscriptions)
    assert waiting == 4_000
    assert space.references < 2 * (waiting + 1) * REFERENCE_BYTES
    outbox.close()
    for each in subscriptions:
        each.close()
    assert (space.references, space.memory_bytes_used) == (0, 0)


def test_what_was_lost_is_told_with_the_next_document() -> None:
    space = QueueSpace(memory_bytes=4_000, disk_bytes=100)
    outbox = Outbox(space, 10**6, 10**6)
    slow = subscription(outbox, space, 1, 2)
    for text in (b"1", b"2"):
        slow.offer(text, KEYS)
    assert outbox.next() is not None
    slow.offer(bytes(2_000), KEYS)  # waits: there is no credit
    slow.consumed(2)
    DocumentQueue(space, 10**6).put(bytes(3_000), None)  # and is lost, for want of memory
    assert slow.queue.dropped == 1
    slow.offer(b"4", KEYS)
    sent = outbox.next()
    assert sent is not None
    assert [document for document, _ in sent.documents] == [b"4"]
    assert sent.missed == {1: 1}


def test_what_expires_while_it_is_pinned_is_passed_over() -> None:
    space = QueueSpace(memory_bytes=10**6, disk_bytes=10**6)
    outbox = Outbox(space, 10**6, 10**6)
    heard: list[int] = []
    outbox.durable[7] = heard.append
    also = subscription(outbox, space, 1, 2)
    document = b"x"
    outbox.pin(document, 1).add(7, None, 5)
    also.offer(document, KEYS, 1)
    outbox.pin_more(b"y", 0).add(7, None, 6)
    sent = outbox.next()
    assert sent is not None
    assert [each for each, _ in sent.documents] == [b"y"]
    assert heard == [5]
    assert also.credit == 2
    assert space.pinned_bytes == 0


def test_what_was_read_goes_out_although_the_next_document_cannot_be(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, logger="twigcast")
    space = QueueSpace(memory_bytes=10**6, disk_bytes=10**6)
    outbox = Outbox(space, 10**6, 10**6)
    reader = subscription(outbox, space, 1, 10)
    documents = [b"1", b"2", b"3"]
    for each in documents:
        reader.offer(each, KEYS)
    read = QueueSpace.read

    def read_some(self: QueueSpace, kept: Kept) -> bytes:
        if kept.content == b"2":
            raise OSError("the disk fails")
        return read(self, kept)

    monkeypatch.setattr(QueueSpace, "read", read_some)
    first = outbox.next()
    assert first is not None
    assert [document for document, _ in first.documents] == [b"1"]
    assert "the disk fails" in caplog.text
    last = outbox.next()
    assert last is not None
    assert [document for document, _ in last.documents] == [b"3"]
    assert reader.queue.dropped == 1
    assert reader.credit == 8
