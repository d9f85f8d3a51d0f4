"""All queues of a broker, and what of a document goes into which of them."""

from __future__ import annotations

import weakref

from twigcast.delivery.durable_queue import DurableQueue
from twigcast.delivery.queues import Queues
from twigcast.delivery.writes import Durable, Entry
from twigcast.routing import Recipients


def test_deliveries_are_split_into_durable_and_others() -> None:
    queues = Queues()
    recipients = Recipients(((queues.link("d"), ("1", "2")), ("client:1", ("3",))))
    entries, others = queues.split(recipients)
    assert entries == (Entry("d", ("1", "2")),)
    assert others.deliveries == (("client:1", ("3",)),)
    assert queues.split(recipients) == (entries, others)


def test_what_is_split_is_kept_no_longer_than_its_recipients() -> None:
    queues = Queues()
    recipients = Recipients((("client:1", ("3",)),))
    others = weakref.ref(queues.split(recipients)[1])
    assert others() is not None
    del recipients
    assert others() is None


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
