"""The client for programs without an event loop: the same verbs, which wait for their results.

    caller's thread ──coroutine──► loop thread ──► Client ──► broker
          ▲                            │
          └── results, events by the batch

Crossing from one thread to the other is what costs here, so events come over in batches, all that
wait, and documents and acknowledgements are handed over without waking the loop for each.
Iterables of documents are read on the caller's thread.  Several threads may use one client.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial, wraps
from queue import Empty, SimpleQueue
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from twigcast.client.advertising import Advertised, Promised
from twigcast.client.asking import Asked
from twigcast.client.client import DEFAULT_WINDOW, Client, Expressions
from twigcast.client.connection import log
from twigcast.client.endpoints import Endpoint
from twigcast.client.events import Document, Event, Moment, to_seconds
from twigcast.client.failures import closed
from twigcast.client.loop_thread import Handover, LoopThread
from twigcast.client.publishing import MOST_BYTES, MOST_DOCUMENTS, Outgoing, PublishResult
from twigcast.client.results import Documents
from twigcast.client.subscribing import Subscription
from twigcast.documents import Source
from twigcast.errors import NetworkError, TwigcastError
from twigcast.language import Pattern, RelativeTo, Variables, Version

_Inner = TypeVar("_Inner")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _Sync(Generic[_Inner]):
    """The synchronous twin of an object that lives on the loop thread."""

    def __init__(self, inner: _Inner, thread: LoopThread) -> None:
        self._inner = inner
        self._thread = thread

    def __repr__(self) -> str:
        return f"<Sync{repr(self._inner)[1:]}"


def _waiting(
    method: Callable[Concatenate[_Inner, _Arguments], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[_Sync[_Inner], _Arguments], _Result]:
    """The method of a twin: it has the same arguments, and waits for the result."""

    @wraps(method)
    def wait(
        self: _Sync[_Inner], /, *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Result:
        return self._thread.run(method(self._inner, *arguments, **named))

    return wait


def connect_sync(
    address: str | Iterable[str],
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    tls: bool = False,
    name: str | None = None,
    timeout: float = 10.0,
    reconnect: bool = True,
) -> SyncClient:
    """Connect to a broker; ``with`` closes the client.  Arguments are those of ``connect``."""
    endpoint = Endpoint(address, token=token, ca=ca, certificate=certificate, key=key, tls=tls)
    client = Client(endpoint, name=name, timeout=timeout, reconnect=reconnect)
    thread = LoopThread()
    try:
        thread.run(client.open())
    except BaseException:
        thread.stop()
        raise
    return SyncClient(client, thread)


class _Closing(ABC):
    """Something that ``with`` closes."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


class SyncEvent(Document):
    """A document delivered to a subscription."""

    __slots__ = ("_event", "_subscription", "attempts")

    def __init__(self, event: Event, subscription: SyncSubscription) -> None:
        self.id = event.id
        self.content = event.content
        self.keys = event.keys
        self.sequence = event.sequence
        self.headers = event.headers
        self.attempts = event.attempts
        self._milliseconds = event._milliseconds
        self._expires = event._expires
        self._event = event
        self._subscription = subscription

    def ack(self) -> None:
        """Say that this event need not come again; ``flush`` waits until that is sent."""
        self._subscription._settle(self._event.acknowledge)

    def give_back(self, delay: float | timedelta = 0.0) -> None:
        """Say that this event could not be used; see :meth:`Event.give_back`."""
        if not self._subscription._inner.durable:
            raise NetworkError("an ephemeral subscription cannot give documents back")
        self._subscription._settle(partial(self._event.return_after, to_seconds(delay)))


class SyncSubscription(_Sync[Subscription], _Closing):
    """A subscription, to be iterated over for its events; see :class:`Subscription`."""

    def __init__(self, inner: Subscription, thread: LoopThread) -> None:
        super().__init__(inner, thread)
        self._events: deque[SyncEvent] = deque()
        self._done: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self._is_closed = False

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {len(self._events):,} fetched>"

    @property
    def shared(self) -> bool:
        """Whether several clients share its documents."""
        return self._inner.shared

    @property
    def ordered_by(self) -> str:
        """The path to the value by which shared documents stay in order."""
        return self._inner.ordered_by

    @property
    def deliveries(self) -> int:
        """How often a document is given out before it becomes a letter; 0 for without end."""
        return self._inner.deliveries

    @property
    def scope(self) -> str:
        """The unit in which documents are published that it gets; empty for the whole network."""
        return self._inner.scope

    @property
    def unreached(self) -> tuple[str, ...]:
        """The brokers that may not know of a durable subscription; see :class:`Subscription`."""
        return self._inner.unreached

    @property
    def missed(self) -> int:
        """How many documents were dropped because the queue was full or retention had passed."""
        return self._inner.missed

    @property
    def interruptions(self) -> int:
        """How many times documents may have been lost because the connection was."""
        return self._inner.interruptions

    ready = _waiting(Subscription.ready)
    flush = _waiting(Subscription.flush)

    def __iter__(self) -> Iterator[SyncEvent]:
        return self

    def __next__(self) -> SyncEvent:
        while True:
            if self._is_closed or self._thread.is_stopped:
                raise StopIteration
            try:
                return self._events.popleft()
            except IndexError:
                if not self._fetch(None):
                    raise StopIteration from None

    def next(self, timeout: float | None = None) -> SyncEvent | None:
        """The next event; None if none comes within ``timeout`` seconds.

        Raises NetworkError when the subscription is closed.
        """
        try:
            return self._events.popleft()
        except IndexError:
            if self._fetch(timeout) is False or self._is_closed:
                raise closed("subscription") from None
            return self._events.popleft() if self._events else None

    def close(self) -> None:
        """End it here; a durable one stays at the broker and goes on queueing documents."""
        if not self._is_closed:
            self._is_closed = True
            if not self._thread.is_stopped:
                self._thread.run(self._inner.close())

    def forget(self) -> None:
        """End a durable subscription for good, with all documents that it keeps."""
        self._is_closed = True
        self._thread.run(self._inner.forget())

    def _settle(self, say: Callable[[], None]) -> None:
        """An event is done with, or given back; it calls this with what says so."""
        if self._is_closed or self._thread.is_stopped:
            raise closed("subscription")
        self._done.append(say)
        if not self._is_woken:
            self._is_woken = True
            self._thread.call(self._settle_done)

    def _settle_done(self) -> None:
        """Pass on what is done with; on the thread of the loop, before what is asked later."""
        self._is_woken = False
        try:
            while self._done:
                self._done.popleft()()
        except TwigcastError as error:
            self._done.clear()
            log.warning("acknowledgements are dropped: %s", error)

    def _fetch(self, timeout: float | None) -> bool | None:
        """Whether events have come; None if the time was over, False if there will be none."""
        events = self._thread.run(_take_all(self._inner, timeout))
        if events is None:
            return None
        self._events.extend(SyncEvent(event, self) for event in events)
        return bool(events)


class SyncAdvertised(_Sync[Advertised]):
    """An advertisement that holds until it is ended, or the client is closed."""

    end = _waiting(Advertised.end)


class SyncAsked(_Sync[Asked]):
    """The documents that a broker answers with; iterate over it once, or take :meth:`all`."""

    def __init__(self, inner: Asked, thread: LoopThread) -> None:
        super().__init__(inner, thread)
        self._documents = self._iterate()

    @property
    def examined(self) -> int:
        """How many documents the broker looked at; known at the end."""
        return self._inner.examined

    def count(self) -> int:
        """How many documents match; none of them is sent."""
        return self._thread.run(self._inner.count())

    def all(self) -> Documents:
        """All documents, as a list that notebooks show as a table."""
        return Documents(self)

    def __iter__(self) -> Iterator[Document]:
        return self._documents

    def __next__(self) -> Document:
        return next(self._documents)

    def close(self) -> None:
        """Ask for no more."""
        self._documents.close()

    def _iterate(self) -> Generator[Document, None, None]:
        batches = self._inner.batches()

        async def following() -> list[Document] | None:
            return await anext(batches, None)

        async def end() -> None:
            await batches.aclose()

        try:
            while (batch := self._thread.run(following())) is not None:
                yield from batch
        finally:
            if not self._thread.is_stopped:
                # Not waited for: what nobody refers to may be collected on the thread of the loop.
                self._thread.start(end())


class SyncClient(_Sync[Client], _Closing):
    """A connection to a broker, made by :func:`connect_sync`; see :class:`Client`."""

    publish = _waiting(Client.publish)
    acknowledge = _waiting(Client.acknowledge)
    forget = _waiting(Client.forget)
    queue_state = _waiting(Client.queue_state)
    status = _waiting(Client.status)
    letters = _waiting(Client.letters)
    read_letter = _waiting(Client.read_letter)
    replay_letters = _waiting(Client.replay_letters)
    drop_letters = _waiting(Client.drop_letters)

    def close(self) -> None:
        """Send what is still to be sent and end the connection; does nothing a second time."""
        if not self._thread.is_stopped:
            try:
                self._thread.run(self._inner.close())
            finally:
                self._thread.stop()

    @property
    def address(self) -> str:
        """The address of the broker that this client is connected to, or was last."""
        return self._inner.address

    @property
    def broker(self) -> str | None:
        """The name of the broker; None while there is no connection."""
        return self._inner.broker

    def publish_all(self, documents: Iterable[Source | Outgoing]) -> list[PublishResult]:
        """Publish documents as fast as the broker takes them; the results, in their order."""
        handover: Handover[Source | Outgoing] = Handover(self._thread)
        answers: SimpleQueue[PublishResult | BaseException | None] = SimpleQueue()
        cancel = self._thread.start(_publish_all(self._inner, handover, answers))
        results: list[PublishResult] = []
        sizes: deque[int] = deque()  # of the documents without a result
        total = 0
        try:
            for document in documents:
                handover.put(document)
                sizes.append(_size(document))
                total += sizes[-1]
                while _collect(
                    answers, results, wait=len(sizes) > MOST_DOCUMENTS or total > MOST_BYTES
                ):
                    total -= sizes.popleft()
            handover.end()
            while _collect(answers, results, wait=True):
                pass
        finally:
            cancel()
        return results

    def subscribe(
        self,
        expressions: Expressions | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Variables | None = None,
        relative_to: RelativeTo = "anywhere",
        version: Version = "1.0",
        durable: str | None = None,
        since: int | Moment | None = None,
        shared: bool | None = None,
        ordered_by: str | None = None,
        deliveries: int | None = None,
        scope: str = "",
        confirmed: bool = True,
        window: int = DEFAULT_WINDOW,
    ) -> SyncSubscription:
        """Subscribe to the documents that match; iterate over the result for its events.

        Arguments are those of :meth:`Client.subscribe`.  Returns when the broker has answered, so
        that every document published from then on comes; raises RefusedError if it says no.
        """

        async def subscribe() -> Subscription:
            subscription = self._inner.subscribe(
                expressions,
                namespaces=namespaces,
                variables=variables,
                relative_to=relative_to,
                version=version,
                durable=durable,
                since=since,
                shared=shared,
                ordered_by=ordered_by,
                deliveries=deliveries,
                scope=scope,
                confirmed=confirmed,
                window=window,
            )
            return await subscription.__aenter__()  # ready, or closed again

        return SyncSubscription(self._thread.run(subscribe()), self._thread)

    def advertise(
        self, promised: Promised = None, root: str | None = None, *, scope: str = ""
    ) -> SyncAdvertised:
        """Advertise what this client publishes; see :meth:`Client.advertise`."""
        advertised = self._inner.advertise(promised, root, scope=scope)
        return SyncAdvertised(self._thread.run(advertised), self._thread)

    def ask(
        self,
        expression: str | Pattern,
        *,
        namespaces: Mapping[str, str] | None = None,
        variables: Variables | None = None,
        relative_to: RelativeTo = "anywhere",
        version: Version = "1.0",
        limit: int = 0,
        since: Moment | None = None,
    ) -> SyncAsked:
        """The stored documents that match, newest first; see :meth:`Client.ask`."""
        asked = self._inner.ask(
            expression,
            namespaces=namespaces,
            variables=variables,
            relative_to=relative_to,
            version=version,
            limit=limit,
            since=since,
        )
        return SyncAsked(asked, self._thread)

    def read_queue(self, durable: str, first: int, last: int) -> SyncAsked:
        """The documents in the queue of a durable subscription from ``first`` to ``last``."""
        return SyncAsked(self._inner.read_queue(durable, first, last), self._thread)


def _size(document: object) -> int:
    """How large a document is; the publisher refuses what is none."""
    if isinstance(document, Outgoing):
        document = document.document
    return len(document) if isinstance(document, str | bytes | bytearray | memoryview) else 0


async def _take_all(subscription: Subscription, timeout: float | None) -> list[Event] | None:
    try:
        async with asyncio.timeout(timeout):
            return await subscription.take_all()
    except TimeoutError:
        return None


async def _publish_all(
    client: Client,
    documents: Handover[Source | Outgoing],
    answers: SimpleQueue[PublishResult | BaseException | None],
) -> None:
    """Put all results into a queue, and what ends them: None, or an error."""
    end: BaseException | None = closed("client")
    try:
        async for result in client.publish_all(documents):
            answers.put(result)
        end = None
    except Exception as error:
        end = error
    finally:
        answers.put(end)


def _collect(
    answers: SimpleQueue[PublishResult | BaseException | None],
    results: list[PublishResult],
    *,
    wait: bool,
) -> bool:
    """Move one answer to the results; False if none is there or the last has come."""
    try:
        answer = answers.get(block=wait)
    except Empty:
        return False
    if isinstance(answer, BaseException):
        raise answer
    if answer is None:
        return False
    results.append(answer)
    return True
