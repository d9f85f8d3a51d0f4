"""All queues of a broker, and what of a document goes into which of them."""

from __future__ import annotations

from twigcast.delivery.durable_queue import DurableQueue
from twigcast.delivery.queues import Queues
from twigcast.delivery.writes import Durable, Entry


def test_deliveries_are_split_into_durable_and_others() -> None:
    queues = Queues()
    deliveries = [(queues.link("d"), ("1", "2")), ("client/1", ("3",))]
    assert queues.split(deliveries) == ((Entry("d", ("1", "2")),), [("client/1", ("3",))])


def test_a_document_enters_where_it_is_new() -> None:
    queues = Queues()
    queues.put(DurableQueue(Durable("d", "ann", {})))
    entries = (Entry("d", ("1",)), Entry("gone", ()))
    assert queues.enter(entries, (0, 1)) == []
    assert queues.enter(entries, (1, 1)) == [("d", 1, ("1",))]
    assert queues["d"].last == 1
    assert queues.close("d").name == "d"
    assert queues.get("d") is None
    assert list(queues) == []
