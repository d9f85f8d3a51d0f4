"""How much is kept, and on whose account: at a limit whoever publishes is refused."""

from __future__ import annotations

import pytest
from delivery_brokers import Broker, Net

from twigcast.delivery.events import Acknowledged, Drop, Expired
from twigcast.delivery.room import FullError, Limits
from twigcast.delivery.writes import KeepDocument


def home(limits: Limits) -> tuple[Net, Broker]:
    net = Net("h", "h", limits)
    broker = net.brokers["h"]
    broker.keep("d", "/a")
    broker.publish()
    net.settle()
    return net, broker


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (Limits(size=7), "store.retention_size"),
        (Limits(publisher_size=7), "store.publisher_size"),
        (Limits(queue_documents=1), "store.queue_documents"),
    ],
)
def test_at_a_limit_a_document_is_refused_and_nothing_is_kept(limits: Limits, named: str) -> None:
    net, broker = home(limits)
    with pytest.raises(FullError, match=named) as refused:
        broker.publish()
    assert refused.value.code == "full"
    net.settle()
    assert len(broker.written(KeepDocument)) == 1
    assert broker.publish(b"<b/>"), "nobody keeps it"


@pytest.mark.parametrize("limits", [Limits(size=8), Limits(publisher_size=8), Limits()])
def test_below_a_limit_a_document_is_taken(limits: Limits) -> None:
    net, broker = home(limits)
    broker.publish()
    net.settle()
    assert len(broker.queued()) == 2


@pytest.mark.parametrize("limits", [Limits(size=7), Limits(publisher_size=7)])
def test_what_has_expired_makes_room(limits: Limits) -> None:
    net, broker = home(limits)
    broker.tell(Expired(4, {"ann": 4}, {}, {"d": 2}, {"d": 1}))
    broker.publish()
    net.settle()
    assert len(broker.queued()) == 2
    assert broker.machine.queues["d"].missed == 1


def test_what_is_read_makes_room_in_its_queue() -> None:
    net, broker = home(Limits(queue_documents=1))
    broker.tell(Acknowledged(0, "d", 1))
    broker.publish()
    net.settle()
    assert len(broker.queued()) == 2


def test_limits_hold_after_a_restart() -> None:
    net, broker = home(Limits(publisher_size=7))
    net.restart("h", 5)
    with pytest.raises(FullError):
        broker.publish()


def test_a_home_that_is_full_takes_documents_later() -> None:
    net = Net("oh", "oh", Limits(queue_documents=1))
    origin, broker = net.brokers["o"], net.brokers["h"]
    broker.keep("d", "/a")
    for _ in range(2):
        origin.publish()
        net.settle()
    assert len(broker.queued()) == 1
    assert len(broker.all(Drop)) == 1
    broker.tell(Acknowledged(0, "d", 1))
    for _ in range(4):
        net.tick()
    assert len(broker.queued()) == 2
    assert origin.machine.custody.owed == {"h": 0}


def test_what_comes_from_other_brokers_is_on_nobody_s_account() -> None:
    net = Net("oh", "oh", Limits(publisher_size=7))
    origin, broker = net.brokers["o"], net.brokers["h"]
    broker.keep("d", "/a")
    for number in range(3):
        origin.limits = Limits()
        net.restart("o", 10 + number)
        origin.publish()
        net.settle()
    assert len(broker.queued()) == 3


def test_what_expires_is_owed_no_more() -> None:
    net = Net("oh", "oh")
    origin = net.brokers["o"]
    net.brokers["h"].keep("d", "/a")
    net.part("o", "h")
    origin.publish()
    net.settle()
    assert origin.disk is not None
    origin.tell(origin.disk.expire(1))
    assert origin.machine.custody.owed == {"h": 0}
    assert ["expired" in each.reason for each in origin.all(Drop)] == [True]
