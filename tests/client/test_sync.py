"""The synchronous client: the same verbs on a thread of their own, and nothing left behind."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from scripted_broker import Drop, Queue, Session, broker_thread, serve

from twigcast.client import SyncClient, connect_sync
from twigcast.errors import ConnectionFailedError, NetworkError, RefusedError
from twigcast.wire import messages


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Neither ours nor gRPC's own, which ends some time after the last object that needs it."""
    before = set(threading.enumerate())
    yield
    gc.collect()  # the scripted broker's errors keep its side alive
    deadline = time.monotonic() + 30
    while not set(threading.enumerate()) <= before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert set(threading.enumerate()) <= before


def test_publishing_and_subscribing() -> None:
    with broker_thread() as scripted, connect_sync(scripted.address) as client:
        assert client.broker == "scripted"
        assert client.address == scripted.address
        with client.subscribe("//a", durable="desk") as subscription:
            assert client.publish("<a/>") == "scripted:1:1"
            results = client.publish_all(f"<a>{number}</a>" for number in range(2999))
            assert len({result.id for result in results}) == 2999
            seen = []
            for event in subscription:
                seen.append(event)
                event.ack()
                if len(seen) == 3000:
                    break
            assert [event.sequence for event in seen] == list(range(1, 3001))
            assert (seen[0].content, seen[0].keys) == (b"<a/>", ("any",))
            assert seen[0].published.year == 2027
            subscription.flush()
            deadline = time.monotonic() + 30  # sent, though perhaps not read yet
            while client.queue_state("desk").acknowledged < 3000 and time.monotonic() < deadline:
                pass
            assert client.queue_state("desk").acknowledged == 3000
            assert subscription.next(timeout=0.05) is None
            client.publish("<b/>")
            event_or_none = subscription.next(timeout=30)
            assert event_or_none is not None
            assert event_or_none.content == b"<b/>"
            assert (subscription.missed, subscription.interruptions) == (0, 0)
        with pytest.raises(NetworkError, match="closed"):
            event_or_none.ack()
        with pytest.raises(NetworkError, match="closed"):
            subscription.next()
        assert list(subscription) == []


def test_a_subscription_is_there_when_subscribing_returns() -> None:
    with (
        broker_thread() as scripted,
        connect_sync(scripted.address) as one,
        connect_sync(scripted.address) as other,
    ):
        for number in range(20):
            subscription = one.subscribe(["//a", "//b"])
            other.publish(f"<a>{number}</a>")
            event = subscription.next(timeout=30)
            assert event is not None
            assert event.content == b"<a>%d</a>" % number
            subscription.close()


def test_closing_sends_what_is_acknowledged() -> None:
    with broker_thread() as scripted:
        with connect_sync(scripted.address) as client:
            subscription = client.subscribe("//a", durable="desk")
            subscription.ready()
            client.publish_all(["<a/>"] * 100)
            for _ in range(100):
                next(subscription).ack()
        assert scripted.durable["desk"].acknowledged == 100
        with pytest.raises(NetworkError, match="closed"):
            client.publish("<a/>")
        with pytest.raises(NetworkError, match="closed"):
            client.publish_all(["<a/>"])
        client.close()
        subscription.close()


def test_the_other_verbs() -> None:
    def answers(request: messages.AskRequest) -> list[messages.AskAnswer]:
        deliveries = [messages.Delivery(id=f"b:1:{n}", content=b"<a/>") for n in range(10)]
        return [messages.AskAnswer(documents=deliveries[n : n + 3]) for n in range(0, 9, 3)]

    with broker_thread() as scripted, connect_sync(scripted.address) as client:
        scripted.ask = answers
        scripted.status = lambda _: messages.StatusAnswer(json=json.dumps({"broker": "x"}))
        advertised = client.advertise("/a/b")
        advertised.end()
        assert [document.id for document in client.ask("//a")] == [f"b:1:{n}" for n in range(9)]
        assert next(iter(client.ask("//a"))).content == b"<a/>"
        assert client.status() == {"broker": "x"}
        scripted.durable["desk"] = Queue("desk")
        client.publish_all(["<a/>"] * 5)
        assert [found.sequence for found in client.read_queue("desk", 2, 3)] == [2, 3]
        client.forget("desk")
        with pytest.raises(RefusedError):
            client.forget("desk")
        with client.subscribe("//a", durable="other") as subscription:
            subscription.forget()
        assert not scripted.durable


def test_an_answer_left_halfway_may_be_collected_on_the_thread_of_the_loop() -> None:
    def answers(request: messages.AskRequest) -> list[messages.AskAnswer]:
        return [messages.AskAnswer(documents=[messages.Delivery(content=b"<a/>")])] * 2

    def collect() -> None:
        gc.collect()
        collected.set()

    collected = threading.Event()
    with broker_thread() as scripted, connect_sync(scripted.address) as client:
        scripted.ask = answers
        gc.disable()
        try:
            asked = client.ask("//a")  # it and its generator refer to each other
            assert next(asked).content == b"<a/>"
            del asked
            client._thread.call(collect)
            assert collected.wait(60)
            assert len(client.ask("//a").all()) == 2
        finally:
            gc.enable()


def test_errors_come_through() -> None:
    async def strict(session: Session) -> None:
        await session.welcome()
        subscribe = await session.expect("subscribe")
        await session.refuse(subscribe.request, "bad-expression", "no step")
        while (frame := await session.read()) is not None:
            await session.handle(frame)

    def source() -> Iterator[str]:
        yield "<a/>"
        raise OSError("the disk is gone")

    with broker_thread(strict) as scripted, connect_sync(scripted.address) as client:
        with pytest.raises(RefusedError, match="no step"):
            client.subscribe("//a")
        with pytest.raises(ValueError, match="since"):
            client.subscribe("//a", since=1)
        with pytest.raises(OSError, match="the disk is gone"):
            client.publish_all(source())
        with pytest.raises(TypeError, match="bytes or str"):
            client.publish_all([7])  # type: ignore[list-item]
        assert client.publish("<a/>")
    with pytest.raises(ConnectionFailedError, match="twigcast broker"):
        connect_sync(scripted.address)


def test_a_source_is_read_on_the_thread_of_the_caller_and_not_far_ahead() -> None:
    threads = set()
    asked: list[float] = []

    def source() -> Iterator[bytes]:
        for number in range(5000):
            threads.add(threading.current_thread())
            if number == 1:
                # What was yielded before has gone out, although the source is not done.
                deadline = time.monotonic() + 30
                while not scripted.published and time.monotonic() < deadline:
                    time.sleep(0.001)
                asked.append(len(scripted.published))
            yield b"<a/>"

    with broker_thread() as scripted, connect_sync(scripted.address) as client:
        assert len(client.publish_all(source())) == 5000
    assert threads == {threading.current_thread()}
    assert asked == [1]


def test_several_threads_share_a_client() -> None:
    def work(client: SyncClient, number: int, ids: list[str]) -> None:
        ids.extend(client.publish(f"<a>{number}-{count}</a>") for count in range(50))

    with broker_thread() as scripted, connect_sync(scripted.address) as client:
        ids: list[str] = []
        workers = [threading.Thread(target=work, args=(client, n, ids)) for n in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(set(ids)) == 200


def test_closing_wakes_threads_that_wait() -> None:
    with broker_thread() as scripted:
        client = connect_sync(scripted.address)
        subscription = client.subscribe("//a")
        subscription.ready()
        seen: list[object] = []
        waiting = threading.Thread(target=lambda: seen.extend(subscription))
        waiting.start()
        client.close()
        waiting.join(10)
        assert not waiting.is_alive()
        assert seen == []


def test_a_lost_connection_is_made_again() -> None:
    async def drop(session: Session) -> None:
        await session.welcome()
        await session.expect("publish")
        raise Drop

    with broker_thread(drop, serve) as scripted, connect_sync(scripted.address) as client:
        assert client.publish("<a/>") == "scripted:1:1"


def test_two_clients_in_one_process() -> None:
    with (
        broker_thread() as scripted,
        connect_sync(scripted.address) as one,
        connect_sync(scripted.address) as other,
        one.subscribe("//a") as subscription,
    ):
        other.publish("<a/>")
        assert next(subscription).content == b"<a/>"


def test_a_program_that_does_not_close_ends_all_the_same() -> None:
    script = (
        "import sys; from twigcast.client import connect_sync; "
        "client = connect_sync(sys.argv[1]); print(client.publish('<a/>'))"
    )
    with broker_thread() as scripted:
        done = subprocess.run(
            [sys.executable, "-c", script, scripted.address],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert done.stdout == "scripted:1:1\n"
    assert done.stderr == ""
