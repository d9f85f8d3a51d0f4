"""A broker: its tables, its clients, its neighbours and its store, in one event loop.

It decides nothing about routes itself: what comes in is handed to the router, and what that answers
is written to queues.  Each subscription, ephemeral or durable, is a client of the router's, and so
is each publisher.  Nothing here waits; the connections (:mod:`~twigcast.broker.client_stream`,
:mod:`~twigcast.broker.links`) do that.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from twigcast.broker.access import Access
from twigcast.broker.config import BrokerConfig
from twigcast.broker.durables import CONFIRM_PATIENCE, Durables
from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.flow import TICK, DocumentFlow
from twigcast.broker.letters import Letters
from twigcast.broker.links import Links
from twigcast.broker.metrics import Metrics
from twigcast.broker.neighbours import Neighbours
from twigcast.broker.pace import taking_turns
from twigcast.broker.shared_queues import DocumentQueue, QueueSpace
from twigcast.broker.store import Store, StoredDocument
from twigcast.broker.subscriptions import DurableSubscription
from twigcast.broker.tables import Tables
from twigcast.broker.wrong_tokens import Identification
from twigcast.delivery import (
    Asked,
    HomeForgotten,
    Limits,
    PutBook,
)
from twigcast.documents import DocumentLimits
from twigcast.errors import NetworkError, RefusedError, StoreError
from twigcast.hierarchy import Addresses, make_router
from twigcast.language import (
    NO_BINDINGS,
    Bindings,
    LanguageLimits,
    Pattern,
    bindings_of_texts,
    read_bound,
)
from twigcast.matching import Matcher
from twigcast.routing import (
    Advertise,
    LinkDown,
    LinkKind,
    LinkUp,
    Promise,
    Strategy,
    Subscribe,
    Unadvertise,
    depth_of_scope,
)
from twigcast.times import now_milliseconds

_log = logging.getLogger(__name__)

_LEARN_EACH: Final = 0.02
_ADDRESS_EACH: Final = 0.5
_ADDRESS_AFTER: Final = 2.0
"""How long, in seconds, a broker hears of others before it gives bits."""
_TRIM_EACH: Final = 30.0
_ASKS: Final = 4
_PARSED_HERE: Final = 10
_ASK_BATCH: Final = 200


class Expression(NamedTuple):
    """An XPath expression and what it is read with."""

    xpath: str
    bindings: Bindings = NO_BINDINGS


class Broker:
    """One broker; ``store`` is open already, and None where nothing is kept."""

    def __init__(self, config: BrokerConfig, name: str, store: Store | None) -> None:
        self.config = config
        self.name = name
        self.started = time.time()
        self.is_stopping = False
        """Whether clients lose their connections because the broker stops."""
        self.access = Access(config)
        self.metrics = Metrics()
        self.identification = Identification(self.access, self.metrics)
        self.store = store
        # How large a document may be is decided where it is published.
        self.document_limits = DocumentLimits()
        self.language_limits = LanguageLimits(
            length=config.limits.expression_length, steps=config.limits.expression_steps
        )
        incarnation = _new_incarnation() if store is None else store.state.incarnation
        self.router = make_router(
            name,
            config.gateway_of,
            replace(Strategy.named(config.strategy), most_patterns=config.most_patterns or None),
            incarnation,
            limits=self.document_limits,
            reader=config.reader,
        )
        self.addresses = Addresses(self.router, {} if store is None else store.state.books)
        self.links = Links(self)
        self.queues = QueueSpace(
            memory_bytes=config.limits.queues_memory, disk_bytes=config.limits.queues_disk
        )
        settings = config.store
        self.tables = Tables(self.router, self.links.up.get, lambda: self.flow.subscriptions)
        self.flow = DocumentFlow(
            self.router,
            store,
            self.metrics,
            self.links.up.get,
            self.tables.send,
            self.queues,
            limits=Limits(
                settings.retention_size, settings.publisher_size, settings.queue_documents
            ),
            keep_all=settings.keep == "all",
            keep_unrouted=settings.unrouted,
            is_guarded=bool(settings.door),
        )
        self.homes = self.flow.machine.announcing
        self.neighbours = Neighbours(self.tables, self.flow, store)
        self.keeper = Durables(
            self.router, store, self.flow, self.queues, self.links, self.access, config.limits
        )
        self.letters = Letters(self)
        self._tasks: list[asyncio.Task[None]] = []
        self._informed = asyncio.Event()
        self._asking = asyncio.Semaphore(_ASKS)
        self.flow.start()
        self.keeper.restore()

    @property
    def durables(self) -> Mapping[str, DurableSubscription]:
        """The durable subscriptions, by name."""
        return self.keeper.by_name

    @property
    def incarnation(self) -> int:
        """The number of this life of the broker."""
        return self.router.incarnation

    def start(self) -> None:
        """Begin to call neighbours, and start the periodic jobs."""
        self.links.start()
        jobs: list[tuple[float, Callable[[], Awaitable[object]]]]
        jobs = [
            (TICK, self.flow.tick),
            (_TRIM_EACH, self.flow.trim),
            (_ADDRESS_EACH, self._look_at_addresses),
        ]
        self._tasks = [asyncio.create_task(_periodically(*job)) for job in jobs]
        if self.store is None and self.config.links:
            self._tasks.append(asyncio.create_task(self._learn()))
        else:
            self._informed.set()

    async def _learn(self) -> None:
        """Hear of neighbours what homes want; a broker without a store begins with nothing."""
        try:
            async with asyncio.timeout(CONFIRM_PATIENCE):
                while self.links.unknown or not self.homes.is_informed:
                    await asyncio.sleep(_LEARN_EACH)
        except TimeoutError:
            _log.warning(
                "not all neighbours have said yet what durable subscriptions want: documents that "
                "are published here now may be missed there"
            )
        self._informed.set()

    async def _look_at_addresses(self) -> None:
        """Give bits to members of units, once neighbours have said which there are."""
        if time.time() - self.started < _ADDRESS_AFTER:
            return
        news = self.addresses.look()
        self.tables.send(news.sends)
        for unit, book in news.books.items() if self.store is not None else ():
            self.flow.happen(Asked(0, PutBook(unit, book)))

    async def informed(self) -> None:
        """Wait until it is known what durable subscriptions at other brokers want."""
        await self._informed.wait()

    async def close(self) -> None:
        """Say good-bye to neighbours, write what waits, and stop."""
        await self.links.close()
        self.neighbours.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.tables.close()
        await self.flow.close()
        self.queues.close()
        if self.store is not None:
            await self.store.close()

    # --- clients ----------------------------------------------------------------------------------

    def open_publisher(self, link: str) -> None:
        """Let a client publish and advertise under a name."""
        self.tables.route(LinkUp(LinkKind.CLIENT), link)

    def close_publisher(self, link: str) -> None:
        """End a client's advertisements."""
        self.tables.route(LinkDown(), link)

    def depth_of_scope(self, scope: str) -> int:
        """How deep the unit lies that a client names; raises RefusedError for one of others."""
        try:
            return depth_of_scope(self.name, scope)
        except NetworkError as error:
            raise RefusedError(str(error), "invalid") from None

    def advertise(self, link: str, advertisement: str, promise: Promise, scope: int = 0) -> None:
        """Take an advertisement; raises RefusedError."""
        self.tables.route(Advertise(advertisement, promise, scope), link, link)

    def unadvertise(self, link: str, advertisement: str) -> None:
        """End an advertisement; raises RefusedError."""
        self.tables.route(Unadvertise(advertisement), link, link)

    def bind(
        self,
        namespaces: Mapping[str, str],
        variables: Mapping[str, str],
        relative_to: str,
        version: str,
    ) -> Bindings:
        """What a client's expressions are read with; raises RefusedError for what cannot be bound.

        The values of variables are JSON, and together no longer than an expression may be.
        """
        most = self.language_limits.length
        if sum(map(len, variables.values())) > most:
            raise RefusedError(
                f"the values of the variables have more than {most} characters together", "invalid"
            )
        try:
            return bindings_of_texts(namespaces, variables, relative_to, version)
        except ValueError as error:
            raise RefusedError(str(error), "invalid") from None

    async def parse_expressions(self, expressions: Mapping[str, Expression]) -> dict[str, Pattern]:
        """The patterns of a subscription; raises RefusedError with the position of a mistake."""
        if len(expressions) <= _PARSED_HERE:
            return self._parse_expressions(expressions)
        # Elsewhere, so that others have their turn.
        return await asyncio.to_thread(self._parse_expressions, expressions)

    def _parse_expressions(self, expressions: Mapping[str, Expression]) -> dict[str, Pattern]:
        patterns = {}
        for key, expression in expressions.items():
            try:
                reading = read_bound(*expression, self.language_limits)
                patterns[key] = reading.pattern
            except ValueError as error:
                where = f"{key}: " if len(expressions) > 1 else ""
                raise RefusedError(f"{where}{error}", "bad-expression") from None
        return patterns

    async def subscribe(
        self,
        link: str,
        number: int,
        patterns: Mapping[str, Pattern],
        window: int,
        scope: int = 0,
    ) -> EphemeralSubscription:
        """Open an ephemeral subscription under a link of its own.

        When this returns, it has been sent to neighbours, ahead of whatever is sent from then on.
        """
        queue = DocumentQueue(self.queues, self.config.limits.queue_bytes)
        subscription = EphemeralSubscription(link, number, window, queue)
        self.flow.add_ephemeral(subscription)
        self.tables.route(LinkUp(LinkKind.CLIENT), link)
        try:
            await self._subscribe_in_turns(link, patterns, scope)
        except BaseException:
            self.unsubscribe(subscription)
            raise
        self.tables.flush()
        return subscription

    async def _subscribe_in_turns(
        self, link: str, patterns: Mapping[str, Pattern], scope: int
    ) -> None:
        """Add patterns to a client of the router's; others have their turn in between."""
        async for key in taking_turns(patterns):
            self.tables.route(Subscribe({key: patterns[key]}, scope), link)
            self.router.prepare()

    def unsubscribe(self, subscription: EphemeralSubscription) -> None:
        """End an ephemeral subscription."""
        self.tables.route(LinkDown(), subscription.link)
        self.flow.remove_ephemeral(subscription)
        subscription.close()

    @property
    def owed(self) -> dict[str, int]:
        """How many documents are owed to each home."""
        return self.flow.machine.custody.owed

    def forget_home(self, home: str) -> int:
        """Owe nothing more to a broker that will not return, until it says something new.

        How many documents are dropped.  Raises RefusedError for a home that can be reached: what is
        published later would be lost to it.
        """
        if self.flow.machine.can_reach(home):
            raise RefusedError(
                f"{home!r} can be reached, so it may return: stop its broker before, or end its "
                "durable subscriptions there",
                "taken",
            )
        dropped = self.owed.get(home, 0)
        self.flow.happen(HomeForgotten(home))
        _log.warning("nothing is owed to %s any more: %d documents are dropped", home, dropped)
        return dropped

    # --- asking -----------------------------------------------------------------------------------

    async def ask(
        self, pattern: Pattern, limit: int, since: int
    ) -> AsyncGenerator[tuple[list[StoredDocument], int], None]:
        """The stored documents that match, newest first, and how many were looked at so far.

        What has expired does not count.
        """
        store = self.keeper.require_store()
        matcher = Matcher(limits=self.document_limits, reader=self.config.reader)
        matcher.add("asked", pattern)
        examined = found = 0
        async with self._asking:
            async for batch in store.newest_first(since, _ASK_BATCH):
                contents = [each.content for each in batch]
                results = await asyncio.to_thread(matcher.match_batch, contents)
                matching = []
                for document, result in zip(batch, results, strict=True):
                    examined += 1
                    if result and not 0 < document.expires <= now_milliseconds():
                        matching.append(document)
                        if limit and found + len(matching) >= limit:
                            break
                found += len(matching)
                yield matching, examined
                if limit and found >= limit:
                    return


def _new_incarnation() -> int:
    """A number for a life without a store: the time, and 16 bits by chance."""
    return time.time_ns() // 1_000_000 << 16 | secrets.randbits(16)


async def _periodically(seconds: float, job: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await job()
        except StoreError:
            pass  # it is in the log of the store
        except Exception:  # the next time it may go well
            _log.exception("a periodic job has failed")
