"""A broker: its tables, its clients, its neighbours and its store, in one event loop.

It decides nothing about routes itself: what comes in is handed to the router, and what that answers
is written to queues.  Each subscription, ephemeral or durable, is a client of the router's, and so
is each publisher.  Nothing here waits; the connections (:mod:`~twigcast.broker.client_stream`,
:mod:`~twigcast.broker.links`) do that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from twigcast.broker.access import Access
from twigcast.broker.config import BrokerConfig
from twigcast.broker.durables import Durables
from twigcast.broker.flow import RESEND_EACH, DocumentFlow
from twigcast.broker.homes import Homes, HomeState, Version
from twigcast.broker.link_codec import (
    HomeParts,
    LinkProtocolError,
    decode_update,
    decode_versions,
    encode_home,
    encode_update,
    encode_versions,
)
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.links import Links
from twigcast.broker.metrics import Metrics
from twigcast.broker.pace import WAITING_BYTES, taking_turns
from twigcast.broker.spill_queue import SpillQueue
from twigcast.broker.store import Store, StoredDocument
from twigcast.broker.subscriptions import DurableSubscription, EphemeralSubscription
from twigcast.documents import DocumentLimits
from twigcast.errors import RefusedError, SubscriptionError
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
    Refused,
    Router,
    Send,
    Subscribe,
    Unadvertise,
    Update,
)
from twigcast.wire import messages

_log = logging.getLogger(__name__)

_TRIM_EACH: Final = 30.0
_MERGE_EACH: Final = 10.0
_DISK_EACH: Final = 0.005
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
        self.access = Access(config)
        self.metrics = Metrics()
        self.store = store
        # How large a document may be is decided where it is published.
        self.document_limits = DocumentLimits()
        self.language_limits = LanguageLimits(
            length=config.limits.expression_length, steps=config.limits.expression_steps
        )
        incarnation = int(time.time() * 1000) if store is None else store.incarnation
        self.router = Router(
            name, config.strategy, incarnation, limits=self.document_limits, reader=config.reader
        )
        self.links = Links(self)
        self._receivers: dict[str, EphemeralSubscription | DurableSubscription] = {}
        self.flow = DocumentFlow(
            self.router,
            store,
            self._receivers,
            self.links.up,
            self.metrics,
            keep_all=config.store.keep == "all",
        )
        self.homes = (
            Homes(name, "", 0) if store is None else Homes(name, store.epoch, store.home_version)
        )
        self._home_parts: dict[str, HomeParts] = {}
        self.keeper = Durables(
            self.router,
            store,
            self.homes,
            self.access,
            config.limits,
            self._receivers,
            lambda message, link: self._dispatch(self.router.handle(message, link)),
            self._send_home,
        )
        self.durables = self.keeper.by_name
        self._tasks: list[asyncio.Task[None]] = []
        self._asking = asyncio.Semaphore(_ASKS)
        if store is not None:
            self._restore(store)

    @property
    def incarnation(self) -> int:
        """The number of this life of the broker."""
        return self.router.incarnation

    def _restore(self, store: Store) -> None:
        """Go on with what was kept before a restart."""
        for home, known in store.homes.items():
            change = self.homes.restore(home, Version(known.epoch, known.version), known.patterns)
            self.router.documents.set_home(home, change)
        self.keeper.restore()

    def start(self) -> None:
        """Begin to call neighbours, and start the periodic jobs."""
        self.links.start()
        jobs = [(RESEND_EACH, self.flow.send_owed), (_MERGE_EACH, self._merge)]
        if self.store is not None:
            jobs.append((_TRIM_EACH, partial(self._trim, self.store)))
        self._tasks = [asyncio.create_task(_periodically(*job)) for job in jobs]

    async def close(self) -> None:
        """Say good-bye to neighbours, write what waits, and stop."""
        await self.links.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.flow.close()
        if self.store is not None:
            await self.store.close()

    # --- clients ----------------------------------------------------------------------------------

    def open_publisher(self, link: str) -> None:
        """Let a client publish and advertise under a name."""
        self._dispatch(self.router.handle(LinkUp(LinkKind.CLIENT), link))

    def close_publisher(self, link: str) -> None:
        """End a client's advertisements."""
        self._dispatch(self.router.handle(LinkDown(), link))

    def advertise(self, link: str, advertisement: str, promise: Promise) -> None:
        """Take an advertisement; raises RefusedError."""
        self._dispatch(self.router.handle(Advertise(advertisement, promise), link), link)

    def unadvertise(self, link: str, advertisement: str) -> None:
        """End an advertisement; raises RefusedError."""
        self._dispatch(self.router.handle(Unadvertise(advertisement), link), link)

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
        self, link: str, name: str, patterns: Mapping[str, Pattern], window: int
    ) -> EphemeralSubscription:
        """Open an ephemeral subscription under a link of its own."""
        limits = self.config.limits
        queue = SpillQueue(memory_bytes=limits.queue_memory, disk_bytes=limits.queue_disk)
        subscription = EphemeralSubscription(link, name, window, queue)
        self._receivers[link] = subscription
        self._dispatch(self.router.handle(LinkUp(LinkKind.CLIENT), link))
        try:
            await self._subscribe_in_turns(link, patterns)
        except BaseException:
            self.unsubscribe(subscription)
            raise
        return subscription

    async def _subscribe_in_turns(self, link: str, patterns: Mapping[str, Pattern]) -> None:
        """Add patterns to a client of the router's; others have their turn in between."""
        async for key in taking_turns(patterns):
            self._dispatch(self.router.handle(Subscribe({key: patterns[key]}), link))
            self.router.documents.prepare()

    def unsubscribe(self, subscription: EphemeralSubscription) -> None:
        """End an ephemeral subscription."""
        self._dispatch(self.router.handle(LinkDown(), subscription.link))
        del self._receivers[subscription.link]
        subscription.close()

    # --- homes ------------------------------------------------------------------------------------

    def _send_home(self, state: HomeState, but: LinkConnection | None = None) -> None:
        items = encode_home(state)
        for link in self.links.up.values():
            if link is not but:
                link.say(items)

    def forget_home(self, home: str) -> None:
        """Owe nothing more to a broker that will not return, until it says something new."""
        known = self.homes.forget(home)
        self.router.documents.drop_home(home)
        self.flow.custody.forget(home)
        if self.store is not None:
            self.store.drop_home(home)
            if known is not None:
                self.store.put_home(home, *known, (), (), base=0)

    # --- asking -----------------------------------------------------------------------------------

    async def ask(
        self, pattern: Pattern, limit: int, since: int
    ) -> AsyncGenerator[tuple[list[StoredDocument], int], None]:
        """The stored documents that match, newest first, and how many were looked at so far."""
        store = self.keeper.require_store()
        matcher = Matcher(limits=self.document_limits, reader=self.config.reader)
        matcher.add("asked", pattern)
        examined = count = 0
        async with self._asking:
            async for batch in store.newest_first(since, _ASK_BATCH):
                contents = [each.content for each in batch]
                results = await asyncio.to_thread(matcher.match_batch, contents)
                matching = []
                for document, result in zip(batch, results, strict=True):
                    examined += 1
                    if result:
                        matching.append(document)
                        if limit and count + len(matching) >= limit:
                            break
                count += len(matching)
                yield matching, examined
                if limit and count >= limit:
                    return

    # --- neighbours -------------------------------------------------------------------------------

    def link_up(self, link: LinkConnection) -> None:
        """Note that a link is up, and send the neighbour everything."""
        self._home_parts[link.name] = HomeParts()
        self._dispatch(self.router.handle(LinkUp(LinkKind.BROKER, link.cost), link.name))
        if link.name not in self.router.neighbours:
            raise LinkProtocolError(f"{link.name!r} cannot be a neighbour of {self.name!r}")
        link.say(encode_versions(self.homes.versions()))

    def link_down(self, link: LinkConnection) -> None:
        """Note that a link is down."""
        self._home_parts.pop(link.name, None)
        if link.name in self.router.neighbours:
            self._dispatch(self.router.handle(LinkDown(), link.name))

    def handle_link(self, item: messages.LinkItem, link: LinkConnection) -> Awaitable[None] | None:
        """Handle an item from a neighbour; raises LinkProtocolError for what it may not send."""
        if not link.is_up:
            return None
        kind = item.WhichOneof("item")
        if kind == "document":
            self.flow.take_document(item.document, link)
            if self.store is not None and self.store.waiting_bytes > WAITING_BYTES:
                return self._until_disk_follows(self.store)
        elif kind == "update":
            update = decode_update(item.update)
            self._dispatch(self.router.handle(update, link.name))
        elif kind == "addressed":
            self.flow.take_addressed(item.addressed, link)
        elif kind == "home_versions":
            self._on_versions(item.home_versions, link)
        elif kind == "home_state":
            self._on_home(item.home_state, link)
        elif kind == "refused":
            _log.warning("%s refuses a message: %s", link.name, item.refused)
        elif kind != "heartbeat":
            raise LinkProtocolError(f"{link.name!r} sends an item that is not known here: {kind}")
        return None

    async def _until_disk_follows(self, store: Store) -> None:
        while store.waiting_bytes > WAITING_BYTES:
            await asyncio.sleep(_DISK_EACH)

    def _on_versions(self, said: messages.HomeVersions, link: LinkConnection) -> None:
        theirs = decode_versions(said)
        for state in self.homes.lacking(theirs):
            link.say(encode_home(state))

    def _on_home(self, said: messages.HomeState, link: LinkConnection) -> None:
        state = self._home_parts[link.name].add(said)
        if state is None:
            return
        try:
            news = self.homes.accept(state)
        except SubscriptionError as error:
            raise LinkProtocolError(f"an expression cannot be read: {error}") from None
        if news.ask:
            link.say(encode_versions(self.homes.versions()))
        if news.change is not None:
            self.router.documents.set_home(state.home, news.change)
            if self.store is not None:
                self.store.put_home(
                    state.home,
                    state.version.epoch,
                    state.version.version,
                    state.forward,
                    state.withdraw,
                    base=state.base,
                )
            self._send_home(state, but=link)

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

    # --- periodic jobs ----------------------------------------------------------------------------

    async def _merge(self) -> None:
        self._dispatch(self.router.merge())

    async def _trim(self, store: Store) -> None:
        trimmed = await store.trim(int(time.time() * 1000))
        for name, first in trimmed.first.items():
            if name in self.durables:
                self.durables[name].trimmed(first, trimmed.lost.get(name, 0))
        self.metrics.expired(sum(trimmed.lost.values()))
        for home, numbers in trimmed.owed_lost.items():
            self.flow.custody.give_up(home, numbers)
            _log.warning("%s documents owed to %s have expired", len(numbers), home)


async def _periodically(seconds: float, job: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await job()
        except Exception:  # the next time it may go well
            _log.exception("a periodic job has failed")
