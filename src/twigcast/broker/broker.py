"""A broker: its tables, its clients, its neighbours and its store, in one event loop.

It decides nothing about routes itself: what comes in is handed to the router, and what that answers
is written to queues.  Each subscription, ephemeral or durable, is a client of the router's, and so
is each publisher.  Nothing here waits; the connections (:mod:`~twigcast.broker.sessions`,
:mod:`~twigcast.broker.links`) do that.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from typing import Final

from twigcast.broker.access import Access, Permission, Principal
from twigcast.broker.config import BrokerConfig
from twigcast.broker.flow import DocumentFlow
from twigcast.broker.homes import Homes, HomeState, Version
from twigcast.broker.link import Link
from twigcast.broker.link_codec import (
    HomeParts,
    LinkProtocolError,
    decode_update,
    decode_versions,
    encode_home,
    encode_update,
    encode_versions,
)
from twigcast.broker.links import Links
from twigcast.broker.metrics import Metrics
from twigcast.broker.spill_queue import SpillQueue
from twigcast.broker.store import Durable, Store, StoredDocument
from twigcast.broker.subscriptions import (
    Attachment,
    DurableSubscription,
    EphemeralSubscription,
)
from twigcast.documents import DocumentLimits
from twigcast.errors import AccessError, RefusedError, StoreError, SubscriptionError
from twigcast.language import LanguageLimits, Pattern, parse
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
    Unsubscribe,
    Update,
)
from twigcast.wire import messages

_log = logging.getLogger(__name__)

_TRIM_EACH: Final = 30.0
_MERGE_EACH: Final = 10.0
_ASK_BATCH: Final = 200


class Broker:
    """One broker; ``store`` is open already, and None where nothing is kept."""

    def __init__(self, config: BrokerConfig, name: str, store: Store | None) -> None:
        self.config = config
        self.name = name
        self.started = time.time()
        self.access = Access(config)
        self.metrics = Metrics()
        self.store = store
        self.document_limits = DocumentLimits(size=config.limits.document_bytes)
        self.language_limits = LanguageLimits(
            length=config.limits.expression_length, steps=config.limits.expression_steps
        )
        incarnation = int(time.time() * 1000) if store is None else store.incarnation
        self.router = Router(name, config.strategy, incarnation, limits=self.document_limits)
        self.links = Links(self)
        self.durables: dict[str, DurableSubscription] = {}
        self._receivers: dict[str, EphemeralSubscription | DurableSubscription] = {}
        self.flow = DocumentFlow(
            self.router,
            store,
            self._receivers,
            self.durables,
            self.links.up,
            self.metrics,
            keep_all=config.store.keep == "all",
        )
        self.homes = (
            Homes(name, "", 0) if store is None else Homes(name, store.epoch, store.home_version)
        )
        self._home_parts: dict[str, HomeParts] = {}
        self._tasks: list[asyncio.Task[None]] = []
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
        for kept in store.durables:
            patterns = {key: parse(text) for key, text in kept.expressions.items()}
            self._open_durable(DurableSubscription(kept, patterns, store))

    def start(self) -> None:
        """Begin to call neighbours, and to do what is done now and then."""
        self.links.start()
        jobs = [self.flow.keep_sending(), self._keep_merging()]
        if self.store is not None:
            jobs.append(self._keep_trimming(self.store))
        self._tasks = [asyncio.create_task(job) for job in jobs]

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

    def parse_expressions(
        self, expressions: Mapping[str, messages.Expression]
    ) -> dict[str, Pattern]:
        """The patterns of a subscription; raises RefusedError with the place of a mistake."""
        patterns = {}
        for key, said in expressions.items():
            try:
                namespaces = dict(said.namespaces) or None
                patterns[key] = parse(said.xpath, namespaces, limits=self.language_limits)
            except ValueError as error:  # of the expression, or of a namespace
                where = f"{key}: " if len(expressions) > 1 else ""
                raise RefusedError(f"{where}{error}", "bad-expression") from None
        return patterns

    def subscribe(
        self, link: str, name: str, patterns: Mapping[str, Pattern], window: int
    ) -> EphemeralSubscription:
        """Open an ephemeral subscription under a link of its own."""
        limits = self.config.limits
        queue = SpillQueue(memory_bytes=limits.queue_memory, disk_bytes=limits.queue_disk)
        subscription = EphemeralSubscription(link, name, window, queue)
        self._receivers[link] = subscription
        self._dispatch(self.router.handle(LinkUp(LinkKind.CLIENT), link))
        self._dispatch(self.router.handle(Subscribe(patterns), link), link)
        return subscription

    def unsubscribe(self, subscription: EphemeralSubscription) -> None:
        """End an ephemeral subscription."""
        self._dispatch(self.router.handle(LinkDown(), subscription.link))
        del self._receivers[subscription.link]
        subscription.close()

    # --- durable subscriptions --------------------------------------------------------------------

    async def put_durable(
        self, name: str, owner: str, patterns: Mapping[str, Pattern]
    ) -> DurableSubscription:
        """Make a durable subscription, or give it other expressions; it is kept when this returns.

        Raises RefusedError where there is no store.
        """
        store = self._require_store()
        durable = self.durables.get(name)
        if durable is None:
            if not patterns:
                raise RefusedError(
                    f"there is no durable subscription {name!r}: subscribe with expressions first",
                    "unknown",
                )
            kept = Durable(name, owner, {}, 1, 0, 0, frozenset(), 0)
            durable = DurableSubscription(kept, patterns, store)
            self._open_durable(durable)
        elif patterns and patterns != durable.patterns:
            self._replace_patterns(durable, patterns)
        else:
            return durable
        await store.put_durable(name, owner, {key: str(each) for key, each in patterns.items()})
        return durable

    def _open_durable(self, durable: DurableSubscription) -> None:
        self.durables[durable.name] = durable
        self._receivers[durable.link] = durable
        self._dispatch(self.router.handle(LinkUp(LinkKind.CLIENT), durable.link))
        self._dispatch(self.router.handle(Subscribe(durable.patterns), durable.link))
        self._tell_own(add=_home_keys(durable))

    def _replace_patterns(
        self, durable: DurableSubscription, patterns: Mapping[str, Pattern]
    ) -> None:
        before = durable.patterns
        old = tuple(key for key, each in before.items() if patterns.get(key) != each)
        new = {key: each for key, each in patterns.items() if before.get(key) != each}
        gone = _home_keys(durable, old)
        durable.patterns = dict(patterns)
        if old:
            self._dispatch(self.router.handle(Unsubscribe(old), durable.link))
        if new:
            self._dispatch(self.router.handle(Subscribe(new), durable.link))
        self._tell_own(add=_home_keys(durable, new), remove=gone)

    async def forget_durable(self, name: str) -> None:
        """End a durable subscription for good, with the documents it keeps."""
        store = self._require_store()
        durable = self.durables.pop(name)
        del self._receivers[durable.link]
        self._dispatch(self.router.handle(LinkDown(), durable.link))
        self._tell_own(remove=_home_keys(durable))
        if durable.attached is not None:
            durable.attached.end("the subscription was ended for good", "unknown")
        await store.drop_durable(name)

    async def attach(
        self, durable: DurableSubscription, said: messages.Subscribe, window: int
    ) -> Attachment:
        """Serve a client from a durable subscription; whoever had it before loses it."""
        start: int | None = None
        since = said.WhichOneof("since")
        if since == "since_sequence":
            start = said.since_sequence
        elif since == "since_time":
            start = await self._require_store().first_since(durable.name, said.since_time)
        if durable.attached is not None:
            durable.attached.end("another client has attached to it", "taken")
        return durable.attach(said.subscription, window, start)

    def acknowledge(self, durable: DurableSubscription, upto: int, places: Sequence[int]) -> None:
        """Note what a client has done with documents of a durable subscription."""
        if self.store is not None and durable.acknowledge(upto, places):
            self.store.acknowledge(durable.name, min(upto, durable.last), places)

    def durable_of(self, principal: Principal, name: str) -> DurableSubscription:
        """A durable subscription that somebody may use.

        Raises RefusedError if there is none, and AccessError if it is not theirs.
        """
        self.require_durable(principal, name)
        durable = self.durables.get(name)
        if durable is None:
            raise RefusedError(f"there is no durable subscription {name!r}", "unknown")
        return durable

    def require_durable(self, principal: Principal, name: str) -> None:
        """Raise AccessError if somebody may not use a durable subscription, there or not."""
        self.access.require_durable(principal, name)
        durable = self.durables.get(name)
        if durable is None or durable.owner == principal.name:
            return
        if not self.access.may(principal, Permission.ADMINISTER):
            raise AccessError(f"the durable subscription {name!r} belongs to {durable.owner!r}")

    def _require_store(self) -> Store:
        if self.store is None:
            raise RefusedError(
                f"the broker {self.name!r} keeps nothing: start it with a store (--store FOLDER)",
                "unavailable",
            )
        return self.store

    def _tell_own(
        self, add: Mapping[str, Pattern] | None = None, remove: Iterable[str] = ()
    ) -> None:
        state = self.homes.change_own(int(time.time() * 1000), add, remove)
        if state is not None and self.store is not None:
            self.store.set_own_version(self.homes.own_version)
            self._tell_home(state)

    def _tell_home(self, state: HomeState, but: Link | None = None) -> None:
        items = encode_home(state)
        for link in self.links.up.values():
            if link is not but:
                link.say(items)

    def forget_home(self, home: str) -> None:
        """Owe nothing more to a broker that will not return."""
        self.homes.forget(home)
        self.router.documents.drop_home(home)
        self.flow.custody.forget(home)
        if self.store is not None:
            self.store.drop_home(home)

    # --- asking -----------------------------------------------------------------------------------

    async def ask(
        self, pattern: Pattern, limit: int, since: int
    ) -> AsyncIterator[tuple[list[StoredDocument], int]]:
        """The stored documents that match, newest first, and how many were looked at so far."""
        store = self._require_store()
        matcher = Matcher(limits=self.document_limits)
        matcher.add("asked", pattern)
        examined = found = 0
        async for batch in store.newest_first(since, _ASK_BATCH):
            contents = [each.content for each in batch]
            results = await asyncio.to_thread(matcher.match_batch, contents)
            matching = []
            for document, result in zip(batch, results, strict=True):
                examined += 1
                if result:
                    matching.append(document)
                    if limit and found + len(matching) >= limit:
                        break
            found += len(matching)
            yield matching, examined
            if limit and found >= limit:
                return

    # --- neighbours -------------------------------------------------------------------------------

    def link_up(self, link: Link) -> None:
        """Note that a link is up, and tell the neighbour everything."""
        self._home_parts[link.name] = HomeParts()
        self._dispatch(self.router.handle(LinkUp(LinkKind.BROKER, link.cost), link.name))
        link.say(encode_versions(self.homes.versions()))

    def link_down(self, link: Link) -> None:
        """Note that a link is down."""
        self._home_parts.pop(link.name, None)
        self._dispatch(self.router.handle(LinkDown(), link.name))

    def handle_link(self, item: messages.LinkItem, link: Link) -> Awaitable[None] | None:
        """Do what a neighbour says; raises LinkProtocolError for what it may not say."""
        if not link.is_up:
            return None
        kind = item.WhichOneof("item")
        if kind == "document":
            self.flow.take_document(item.document, link)
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
            _log.warning("%s refuses what it was told: %s", link.name, item.refused)
        elif kind != "heartbeat":
            raise LinkProtocolError(f"{link.name!r} says what is not known here: {kind}")
        return None

    def _on_versions(self, said: messages.HomeVersions, link: Link) -> None:
        theirs = decode_versions(said)
        for state in self.homes.lacking(theirs):
            link.say(encode_home(state))

    def _on_home(self, said: messages.HomeState, link: Link) -> None:
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
                    complete=not state.base,
                )
        if news.pass_on:
            self._tell_home(state, but=link)

    def _dispatch(self, sends: list[Send], client: str = "") -> None:
        """Write what the router answers to queues; what it refuses a client is raised."""
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

    # --- now and then -----------------------------------------------------------------------------

    async def _keep_merging(self) -> None:
        while True:
            await asyncio.sleep(_MERGE_EACH)
            self._dispatch(self.router.merge())

    async def _keep_trimming(self, store: Store) -> None:
        while True:
            await asyncio.sleep(_TRIM_EACH)
            try:
                trimmed = await store.trim(int(time.time() * 1000))
            except StoreError as error:
                _log.error("retention: %s", error)
                continue
            for name, first in trimmed.first.items():
                if name in self.durables:
                    self.durables[name].trimmed(first, trimmed.lost.get(name, 0))
            self.metrics.expired(sum(trimmed.lost.values()))
            for home, numbers in trimmed.owed_lost.items():
                self.flow.custody.give_up(home, numbers)
                _log.warning("%s documents owed to %s have expired", len(numbers), home)


def _home_keys(
    durable: DurableSubscription, keys: Iterable[str] | None = None
) -> dict[str, Pattern]:
    """The keys under which expressions of a durable subscription are told to other brokers."""
    chosen = durable.patterns if keys is None else keys
    return {f"{durable.name}\0{key}": durable.patterns[key] for key in chosen}
