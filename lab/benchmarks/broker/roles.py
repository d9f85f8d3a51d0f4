"""The roles of the processes that make load: who holds, publishes, receives, or subscribes anew.

Each is a coroutine with its parameters, the address of a broker among them.  It reports that it is
ready and then carries out orders until there are no more.  See
:mod:`~lab.benchmarks.broker.load` for the other side.

Publications whose latency is taken carry the time at which they were sent in a comment behind the
root element, where no expression sees it.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from lab.benchmarks.broker.echo import echo, serve_echo
from lab.benchmarks.broker.load import PATIENCE
from twigcast.client import Client, Subscription, connect

_WINDOW: Final = 1_024
"""Documents in transit to a receiver; the most that a broker grants by default."""
_AT_ONCE: Final = 25
"""Connections that one process makes at the same time."""
_CONNECTING: Final = 60.0
_SUBSCRIBING: Final = 20.0


# --- who stands by --------------------------------------------------------------------------------


async def hold(
    *,
    address: str,
    file: str,
    first: int,
    clients: int,
    expressions: int,
    together: int,
    window: int = _WINDOW,
) -> None:
    """Clients that subscribe and go on being there; ``together`` expressions a subscription.

    Client by client they take their ``expressions`` from the lines of a file, from ``first`` on.
    They never take a document, so that each subscription has a ``window`` of them in transit, at
    most.
    """
    lines = Path(file).read_text(encoding="utf-8").splitlines()[first:]
    room = asyncio.Semaphore(_AT_ONCE)

    async def begin(client: Client, own: list[str]) -> None:
        async with room:
            await client.open()
            groups = (own[start : start + together] for start in range(0, len(own), together))
            begun = [
                client.subscribe({text: text for text in group}, window=window) for group in groups
            ]
            for subscription in begun:
                await subscription.ready()

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        began = time.monotonic()
        beginning = []
        for number in range(clients):
            client = connect(address, timeout=_CONNECTING)
            stack.push_async_callback(client.close)
            own = lines[number * expressions : (number + 1) * expressions]
            beginning.append(tasks.create_task(begin(client, own)))
        for task in beginning:
            await task
        report(seconds=time.monotonic() - began)
        async for _ in orders():
            report()


# --- who publishes --------------------------------------------------------------------------------


async def publish(*, address: str, folder: str) -> None:
    """Publish ``count`` documents of a folder in turn: as fast as can be, or ``rate`` a second.

    At a rate they carry the time at which they are sent.  ``singly``, each is published when the
    one before is answered.
    """
    contents = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    documents = cycle(contents)
    async with connect(address) as client:
        report()
        async for order in orders():
            chosen = islice(documents, order["count"])
            rate = order.get("rate")
            began = time.monotonic()
            if order.get("singly"):
                for document in chosen:
                    await client.publish(document)
                report(began=began, ended=time.monotonic())
                continue
            results = client.publish_all(_paced(chosen, rate) if rate else chosen)
            async for result in results:
                if result.error is not None:
                    raise result.error
            report(began=began, ended=time.monotonic())


async def _paced(documents: Iterator[bytes], rate: float) -> AsyncIterator[bytes]:
    """The documents at that rate; one that is late is followed by the next at once."""
    due = time.monotonic()
    for document in documents:
        due += 1 / rate
        wait = due - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        yield b"%b<!--%.6f-->" % (document, time.monotonic())


def _sent_at(content: bytes) -> float:
    return float(content[content.rindex(b"<!--") + 4 : -3])


# --- who receives ---------------------------------------------------------------------------------


async def receive(*, address: str, expression: str, durable: str | None = None) -> None:
    """Take ``count`` documents; a durable subscription acknowledges each.

    Reports when the last had come, with ``latencies`` also how long each took.
    """
    async with (
        connect(address) as client,
        client.subscribe(expression, durable=durable, window=_WINDOW) as subscription,
    ):
        report()
        async for order in orders():
            async with asyncio.timeout(PATIENCE):
                latencies = await _take(subscription, order["count"], order.get("latencies"))
                if durable is not None:
                    await subscription.flush()
            last = time.monotonic()
            acknowledged = 0
            if durable is not None:
                async with asyncio.timeout(PATIENCE):
                    acknowledged = await _when_acknowledged(client, durable)
            report(
                last=last,
                missed=subscription.missed,
                acknowledged=acknowledged,
                latencies=latencies,
            )


async def _when_acknowledged(client: Client, durable: str) -> int:
    """How many documents are acknowledged, when the broker has heard of all that were sent."""
    while True:
        state = await client.queue_state(durable)
        if state.acknowledged == state.last:
            return state.acknowledged
        await asyncio.sleep(0.01)


async def _take(subscription: Subscription, count: int, is_timed: bool | None) -> list[float]:
    latencies: list[float] = []
    while count > 0:
        events = await subscription.take_all()
        now = time.monotonic()
        for event in events:
            if is_timed:
                latencies.append(now - _sent_at(event.content))
            event.acknowledge()
        count -= len(events)
    return latencies


async def receive_many(*, address: str, file: str, is_durable: bool) -> None:
    """A client with a subscription for each line of a file; takes ``count`` deliveries in all.

    Reports when the last had come and, for durable subscriptions, all are acknowledged.
    """
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    async with connect(address, timeout=_CONNECTING) as client:
        subscriptions = [
            client.subscribe(
                {text: text},
                durable=f"d{number}" if is_durable else None,
                confirmed=False,
                window=_WINDOW,
            )
            for number, text in enumerate(lines)
        ]
        for subscription in subscriptions:
            await subscription.ready()
        took = asyncio.Queue[int]()

        async def take(subscription: Subscription) -> None:
            while events := await subscription.take_all():
                for event in events:
                    event.acknowledge()
                took.put_nowait(len(events))

        async with asyncio.TaskGroup() as tasks:
            for subscription in subscriptions:
                tasks.create_task(take(subscription))
            report()
            async for order in orders():
                async with asyncio.timeout(PATIENCE):
                    left = order["count"]
                    while left > 0:
                        left -= await took.get()
                    if is_durable:
                        for subscription in subscriptions:
                            await subscription.flush()
                missed = sum(each.missed for each in subscriptions)
                report(last=time.monotonic(), missed=missed)


async def resubscribe(*, address: str) -> None:
    """Subscribe ``count`` times in turn, to ``/probe/s0`` and so on, while somebody publishes.

    Reports for each how long after the call the first document that came was sent, and when the
    first broker had it; the subscription is ended before the next begins.
    """
    async with connect(address) as client:
        report()
        async for order in orders():
            sent, taken = [], []
            for number in range(order["count"]):
                began, began_at = time.monotonic(), time.time()
                async with (
                    asyncio.timeout(_SUBSCRIBING),
                    client.subscribe(f"/probe/s{number}") as subscription,
                ):
                    event = await anext(subscription)
                    sent.append(_sent_at(event.content) - began)
                    taken.append(event.published.timestamp() - began_at)
            report(sent=sent, taken=taken)


# --- the echo -----------------------------------------------------------------------------------


async def _serve_echo() -> None:
    """Send back whatever comes."""
    async with serve_echo() as address:
        report(address=address)
        async for _ in orders():
            report()


async def _echo(*, address: str, folder: str, batch: int) -> None:
    """Send ``count`` documents to be sent back, ``batch`` of them a message."""
    contents = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    report()
    async for order in orders():
        report(seconds=await echo(address, contents, order["count"], batch))


# --- a process and its orders ---------------------------------------------------------------------


class _Orders:
    """The orders that come in, read by a thread; when there will be no more, the role ends.

    It ends whatever it does at that moment: who gave the orders may have gone in the middle of one.
    """

    def __init__(self, role: asyncio.Task[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._role = role
        self.lines: asyncio.Queue[str] = asyncio.Queue()
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._loop.call_soon_threadsafe(self.lines.put_nowait, line)
        self._loop.call_soon_threadsafe(self._role.cancel)


_orders: ContextVar[_Orders] = ContextVar("orders")


async def orders() -> AsyncIterator[dict[str, Any]]:
    """The orders, one by one."""
    lines = _orders.get().lines
    while True:
        yield json.loads(await lines.get())


def report(**answer: object) -> None:
    """Answer an order, or say that all is ready."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


_ROLES: Final[dict[str, Callable[..., Awaitable[None]]]] = {
    "hold": hold,
    "publish": publish,
    "receive": receive,
    "receive_many": receive_many,
    "resubscribe": resubscribe,
    "serve_echo": _serve_echo,
    "echo": _echo,
}


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop that sleeps to the microsecond; those with epoll sleep whole milliseconds."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main() -> None:
    """Carry out the role named by the first argument, with the parameters of the second."""
    role, parameters = sys.argv[1:]
    # SelectSelector cannot watch descriptors from 1,024 on, and who holds connections has many.
    factory = None if role == "hold" else _new_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_run(_ROLES[role], json.loads(parameters)))


async def _run(role: Callable[..., Awaitable[None]], parameters: dict[str, Any]) -> None:
    current = asyncio.current_task()
    assert current is not None, "this is a coroutine"
    _orders.set(_Orders(current))
    with suppress(asyncio.CancelledError):
        await role(**parameters)
