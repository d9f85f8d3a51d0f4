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
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Final, NamedTuple

from twigcast.broker.access import Access
from twigcast.broker.config import BrokerConfig
from twigcast.broker.delivery_codec import (
    HomeParts,
    decode_addressed,
    decode_document,
    decode_versions,
)
from twigcast.broker.durables import CONFIRM_PATIENCE, Durables
from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.flow import TICK, DocumentFlow
from twigcast.broker.letters import Letters
from twigcast.broker.link_codec import (
    LinkProtocolError,
    decode_update,
    decode_want,
    encode_update,
)
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.links import Links
from twigcast.broker.long_lived import LongLived
from twigcast.broker.metrics import Metrics
from twigcast.broker.objections import permitted
from twigcast.broker.pace import WAITING_BYTES, taking_turns
from twigcast.broker.shared_queues import DocumentQueue, QueueSpace
from twigcast.broker.store import Store, StoredDocument
from twigcast.broker.subscriptions import DurableSubscription
from twigcast.broker.wrong_tokens import Identification
from twigcast.delivery import (
    Asked,
    Came,
    HomeForgotten,
    HomeState,
    Limits,
    NeighbourUp,
    PutBook,
)
from twigcast.documents import DocumentLimits
from twigcast.errors import NetworkError, RefusedError, StoreError
from twigcast.hierarchy import Addresses, Gateway, make_router
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
    GATHERING,
    Advertise,
    LinkDown,
    LinkKind,
    LinkUp,
    Message,
    Promise,
    Refused,
    Send,
    Strategy,
    Subscribe,
    Unadvertise,
    Update,
    depth_of_scope,
)
from twigcast.times import now_milliseconds
from twigcast.wire import messages

_log = logging.getLogger(__name__)

_LEARN_EACH: Final = 0.02
_ADDRESS_EACH: Final = 0.5
_ADDRESS_AFTER: Final = 2.0
"""How long, in seconds, a broker hears of others before it gives bits."""
_TRIM_EACH: Final = 30.0
_DISK_EACH: Final = 0.005
_ASKS: Final = 4
_PARSED_HERE: Final = 10
_ASK_BATCH: Final = 200
_REMEMBERED: Final = 600.0
"""For how long, in seconds, a broker remembers what it had sent on a link that is down."""
_PATTERNS: Final = 500
"""How many patterns of a channel are sent before others have their turn."""
_STEPS: Final = 20
"""How many patterns the router looks at before the time is looked at."""


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
        self.flow = DocumentFlow(
            self.router,
            store,
            self.metrics,
            self.links.up.get,
            self._send_routed,
            self.queues,
            limits=Limits(
                settings.retention_size, settings.publisher_size, settings.queue_documents
            ),
            keep_all=settings.keep == "all",
            keep_unrouted=settings.unrouted,
            is_guarded=bool(settings.door),
        )
        self.homes = self.flow.machine.announcing
        self._home_parts: dict[str, HomeParts] = {}
        self.keeper = Durables(
            self.router, store, self.flow, self.queues, self.links, self.access, config.limits
        )
        self.letters = Letters(self)
        self._tasks: list[asyncio.Task[None]] = []
        self._going_on: asyncio.Task[None] | None = None
        self._flushing: asyncio.TimerHandle | None = None
        self._turned_away = 0
        self._forgetting: dict[str, asyncio.TimerHandle] = {}
        self._informed = asyncio.Event()
        self._taking_home = asyncio.Lock()
        self._long_lived = LongLived()
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
        self._send_routed(news.sends)
        self._go_on()
        for unit, book in news.books.items() if self.store is not None else ():
            self.flow.happen(Asked(0, PutBook(unit, book)))

    async def informed(self) -> None:
        """Wait until it is known what durable subscriptions at other brokers want."""
        await self._informed.wait()

    async def close(self) -> None:
        """Say good-bye to neighbours, write what waits, and stop."""
        await self.links.close()
        if self._flushing is not None:
            self._flushing.cancel()
        for timer in self._forgetting.values():
            timer.cancel()
        tasks = [*self._tasks, *((self._going_on,) if self._going_on else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.flow.close()
        self.queues.close()
        if self.store is not None:
            await self.store.close()

    # --- clients ----------------------------------------------------------------------------------

    def open_publisher(self, link: str) -> None:
        """Let a client publish and advertise under a name."""
        self._route(LinkUp(LinkKind.CLIENT), link)

    def close_publisher(self, link: str) -> None:
        """End a client's advertisements."""
        self._route(LinkDown(), link)

    def depth_of_scope(self, scope: str) -> int:
        """How deep the unit lies that a client names; raises RefusedError for one of others."""
        try:
            return depth_of_scope(self.name, scope)
        except NetworkError as error:
            raise RefusedError(str(error), "invalid") from None

    def advertise(self, link: str, advertisement: str, promise: Promise, scope: int = 0) -> None:
        """Take an advertisement; raises RefusedError."""
        self._route(Advertise(advertisement, promise, scope), link, link)

    def unadvertise(self, link: str, advertisement: str) -> None:
        """End an advertisement; raises RefusedError."""
        self._route(Unadvertise(advertisement), link, link)

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
        self._route(LinkUp(LinkKind.CLIENT), link)
        try:
            await self._subscribe_in_turns(link, patterns, scope)
        except BaseException:
            self.unsubscribe(subscription)
            raise
        self._flush()
        return subscription

    async def _subscribe_in_turns(
        self, link: str, patterns: Mapping[str, Pattern], scope: int
    ) -> None:
        """Add patterns to a client of the router's; others have their turn in between."""
        async for key in taking_turns(patterns):
            self._route(Subscribe({key: patterns[key]}, scope), link)
            self.router.prepare()

    def unsubscribe(self, subscription: EphemeralSubscription) -> None:
        """End an ephemeral subscription."""
        self._route(LinkDown(), subscription.link)
        self.flow.remove_ephemeral(subscription)
        subscription.close()

    @property
    def owed(self) -> dict[str, int]:
        """How many documents are owed to each home."""
        return self.flow.machine.custody.owed

    def forget_home(self, home: str) -> None:
        """Owe nothing more to a broker that will not return, until it says something new."""
        self.flow.happen(HomeForgotten(home))

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

    # --- neighbours -------------------------------------------------------------------------------

    def link_up(self, link: LinkConnection) -> None:
        """Note that a link is up, and send the neighbour what it does not know."""
        if link.name in self._forgetting:
            self._forgetting.pop(link.name).cancel()
        self._home_parts[link.name] = HomeParts()
        self._route(LinkUp(LinkKind.BROKER, link.cost, link.speaker.depths), link.name)
        if not self.router.has_link(link.name):
            raise LinkProtocolError(f"{link.name!r} cannot be a neighbour of {self.name!r}")
        self.flow.happen(NeighbourUp(link.name))

    def link_down(self, link: LinkConnection) -> None:
        """Note that a link is down."""
        self._home_parts.pop(link.name, None)
        if self.router.has_link(link.name):
            self._route(LinkDown(), link.name)
            loop = asyncio.get_running_loop()
            self._forgetting[link.name] = loop.call_later(_REMEMBERED, self._forget, link.name)

    def _forget(self, neighbour: str) -> None:
        """Let a link go that has been down for long."""
        del self._forgetting[neighbour]
        for level in self.router.levels:
            level.forget(neighbour)
        self._go_on()

    def handle_link(self, item: messages.LinkItem, link: LinkConnection) -> Awaitable[None] | None:
        """Handle an item from a neighbour; raises LinkProtocolError for what it may not send."""
        if not link.is_up:
            return None
        kind = item.WhichOneof("item")
        if kind == "document":
            self.flow.came(permitted(decode_document(item.document), link), link)
            self._note_turned_away(link)
            if self.store is not None and self.store.waiting_bytes > WAITING_BYTES:
                return self._until_disk_follows(self.store)
        elif kind == "update":
            self._route(permitted(decode_update(item.update), link), link.name)
            self.router.prepare()
        elif kind == "addressed":
            self.flow.came(permitted(decode_addressed(item.addressed), link), link)
        elif kind == "home_versions":
            self.flow.came(permitted(decode_versions(item.home_versions), link), link)
        elif kind == "home_state":
            state = self._home_parts[link.name].add(item.home_state)
            return None if state is None else self._take_home(permitted(state, link), link)
        elif kind == "refused":
            _log.warning("%s refuses a message: %s", link.name, item.refused)
        elif kind != "heartbeat":
            raise LinkProtocolError(f"{link.name!r} sends an item that is not known here: {kind}")
        return None

    def _note_turned_away(self, link: LinkConnection) -> None:
        """Report documents that were not let into a unit, which may be forged."""
        gateways = [level for level in self.router.levels if isinstance(level, Gateway)]
        turned_away = sum(each.crossings.turned_away for each in gateways)
        if turned_away > self._turned_away:
            self._turned_away = turned_away
            _log.warning(
                "a document has come over the link to %s from outside, under the name of a broker "
                "inside: it was not let in",
                link.name,
            )

    async def _until_disk_follows(self, store: Store) -> None:
        while store.waiting_bytes > WAITING_BYTES:
            await asyncio.sleep(_DISK_EACH)

    async def _take_home(self, state: HomeState, link: LinkConnection) -> None:
        """Take in what a home wants; others have their turn while the expressions are read."""
        async with self._taking_home:
            read: dict[str, Pattern] = {}
            async for text in taking_turns(self.homes.unread(state)):
                read[text] = decode_want(text)
                self._note_growth(len(read))
            self.flow.happen(Came(link.name, state, read))
            self._go_on()

    def _route(self, message: Message, link: str, client: str = "") -> None:
        """Give the router a message, and queue what it answers.

        What takes long goes on in turns, and what the router gathers is sent in a moment.  Raises
        what the router refuses ``client``.
        """
        self._dispatch(self.router.begin(message, link), client)
        self._go_on()

    def _note_growth(self, more: int = 0) -> None:
        """Note how much there is of what stays for long, ``more`` besides."""
        tables = sum(level.table_size for level in self.router.levels)
        size = tables + self.flow.subscriptions + more
        self._long_lived.grown(size)

    def _send_routed(self, sends: list[Send]) -> None:
        self._dispatch(sends)
        self._flush()  # who subscribes durably awaits documents by the shortest way from then on
        self._go_on()

    def _go_on(self) -> None:
        self._note_growth()
        self._flush_soon()
        if self._going_on is None and self.router.is_behind:
            self._going_on = asyncio.create_task(self._catch_up(), name="tables")

    def _flush_soon(self) -> None:
        """Send what the router has gathered in a moment, if there is anything."""
        if self._flushing is None and self.router.has_news:
            loop = asyncio.get_running_loop()
            self._flushing = loop.call_later(GATHERING, self._flush, _PATTERNS)

    def _flush(self, most: int = sys.maxsize) -> None:
        """Send neighbours what the router has gathered, so many patterns of each channel."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        self._dispatch(self.router.flush(most))
        self._flush_soon()

    async def _catch_up(self) -> None:
        """Do what the router has left to be done, while others have their turns."""
        try:
            async for most in taking_turns(repeat(_STEPS)):
                is_behind = self.router.go_on(most)
                self.router.prepare()
                self._note_growth()
                self._flush_soon()
                if not is_behind:
                    return
        finally:
            self._going_on = None

    def _dispatch(self, sends: list[Send], client: str = "") -> None:
        """Queue what the router answers; raises what the router refuses a client."""
        refused = None
        for to, message in sends:
            if isinstance(message, Refused):
                if to == client:
                    refused = RefusedError(message.reason, "invalid")
                else:
                    _log.warning("refused: %s", message.reason)
                    link = self.links.up.get(to)
                    if link is not None:
                        link.say((messages.LinkItem(refused=message.reason).SerializeToString(),))
            elif isinstance(message, Update):
                link = self.links.up.get(to)
                if link is not None:
                    link.say(encode_update(message))
        if refused is not None:
            raise refused


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
