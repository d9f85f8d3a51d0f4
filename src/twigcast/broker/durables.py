"""The durable subscriptions of a broker: made, changed, used and ended, one at a time.

The disk is changed first and the memory after it, so that a write which fails changes nothing; only
an end is in the reverse order, so that no document is queued for a subscription that is gone.  Each
change in what is wanted goes to the router and, reduced by covering, to all brokers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from twigcast.broker.access import Access, Permission, Principal
from twigcast.broker.config import LimitsConfig
from twigcast.broker.homes import Homes, HomeState
from twigcast.broker.pace import taking_turns
from twigcast.broker.store import Durable, Store
from twigcast.broker.subscriptions import Attachment, DurableSubscription, EphemeralSubscription
from twigcast.errors import AccessError, RefusedError, StoreError
from twigcast.language import Pattern, parse
from twigcast.routing import LinkDown, LinkKind, LinkUp, Message, Router, Subscribe, Unsubscribe


class Durables:
    """All durable subscriptions of one broker.

    ``handle`` gives a message to the router and sends what it answers, ``send`` sends to all
    neighbours what is wanted durably here.
    """

    def __init__(
        self,
        router: Router,
        store: Store | None,
        homes: Homes,
        access: Access,
        limits: LimitsConfig,
        receivers: dict[str, EphemeralSubscription | DurableSubscription],
        handle: Callable[[Message, str], None],
        send: Callable[[HomeState], None],
    ) -> None:
        self.by_name: dict[str, DurableSubscription] = {}
        self._router = router
        self._store = store
        self._homes = homes
        self._access = access
        self._limits = limits
        self._receivers = receivers
        self._handle = handle
        self._send = send
        self._changing = asyncio.Lock()

    def restore(self) -> None:
        """Go on with what was kept before a restart."""
        if self._store is not None:
            for kept in self._store.durables:
                patterns = {key: parse(text) for key, text in kept.expressions.items()}
                self._open_durable(DurableSubscription(kept, patterns, self._store))

    async def put(
        self, name: str, principal: Principal, patterns: Mapping[str, Pattern]
    ) -> DurableSubscription:
        """Make a durable subscription, or give it other expressions; it is kept when this returns.

        Raises RefusedError where there is no store, where nothing says what is wanted, or where
        somebody would have too many, and StoreError.
        """
        store = self.require_store()
        texts = {key: str(each) for key, each in patterns.items()}
        async with self._changing:
            durable = self.by_name.get(name)
            if durable is None:
                if not patterns:
                    raise RefusedError(
                        f"there is no durable subscription {name!r}: subscribe with expressions "
                        "first",
                        "unknown",
                    )
                self._require_durable_quota(principal.name, len(patterns))
                await store.put_durable(name, principal.name, texts)
                kept = Durable(name, principal.name, texts, 1, 0, 0, frozenset(), 0)
                durable = DurableSubscription(kept, {}, store)
                self._open_durable(durable)
                async for key in taking_turns(patterns):
                    durable.patterns[key] = patterns[key]
                    self._want_durably(durable, {key: patterns[key]})
                    self._router.documents.prepare()
            elif patterns and patterns != durable.patterns:
                more = len(patterns) - len(durable.patterns)
                self._require_durable_quota(durable.owner, more, new=0)
                await store.put_durable(name, durable.owner, texts)
                self._replace_patterns(durable, patterns)
            return durable

    def _require_durable_quota(self, owner: str, expressions: int, new: int = 1) -> None:
        limits = self._limits
        theirs = [each for each in self.by_name.values() if each.owner == owner]
        if len(theirs) + new > limits.subscriptions_per_client:
            raise RefusedError(
                f"{owner} has {len(theirs):,} durable subscriptions, as many as a client may "
                "have here (limits.subscriptions_per_client): end some",
                "quota",
            )
        if sum(len(each.patterns) for each in theirs) + expressions > limits.expressions_per_client:
            raise RefusedError(
                f"the durable subscriptions of {owner} would have more expressions than a client "
                "may have here (limits.expressions_per_client): end some",
                "quota",
            )

    def _open_durable(self, durable: DurableSubscription) -> None:
        self.by_name[durable.name] = durable
        self._receivers[durable.link] = durable
        self._handle(LinkUp(LinkKind.CLIENT), durable.link)
        self._want_durably(durable, durable.patterns)

    def _want_durably(self, durable: DurableSubscription, patterns: Mapping[str, Pattern]) -> None:
        if patterns:
            self._handle(Subscribe(patterns), durable.link)
            self._send_own(add=_home_keys(durable, patterns))

    def _replace_patterns(
        self, durable: DurableSubscription, patterns: Mapping[str, Pattern]
    ) -> None:
        before = durable.patterns
        old = tuple(key for key, each in before.items() if patterns.get(key) != each)
        new = {key: each for key, each in patterns.items() if before.get(key) != each}
        gone = _home_keys(durable, old)
        durable.patterns = dict(patterns)
        if old:
            self._handle(Unsubscribe(old), durable.link)
        self._send_own(remove=gone)
        self._want_durably(durable, new)

    async def forget(self, name: str) -> None:
        """End a durable subscription for good, with the documents it keeps; raises StoreError."""
        store = self.require_store()
        async with self._changing:
            durable = self.by_name.pop(name, None)
            if durable is None:
                return
            del self._receivers[durable.link]
            self._handle(LinkDown(), durable.link)
            self._send_own(remove=_home_keys(durable))
            try:
                await store.drop_durable(name)
            except StoreError:
                self._open_durable(durable)  # it is still kept
                raise
        if durable.attached is not None:
            durable.attached.end("the subscription was ended for good", "unknown")

    async def first_since(self, durable: DurableSubscription, moment: int) -> int:
        """The sequence of the first document that was stored at a time or after it."""
        return await self.require_store().first_since(durable.name, moment)

    def attach(
        self, durable: DurableSubscription, name: str, window: int, start: int | None
    ) -> Attachment:
        """Serve a client from a sequence on; the client that was attached before loses it."""
        if self.by_name.get(durable.name) is not durable:
            raise RefusedError("the subscription was ended for good meanwhile", "unknown")
        if durable.attached is not None:
            durable.attached.end("another client has attached to it", "taken")
        return durable.attach(name, window, start)

    def acknowledge(
        self, durable: DurableSubscription, upto: int, sequences: Sequence[int]
    ) -> asyncio.Future[None] | None:
        """Note what a client has acknowledged; done when that is stored, None if it was before."""
        news = durable.acknowledge(upto, sequences)
        if news is None or self._store is None:
            return None
        durable.storing = self._store.acknowledge(durable.name, *news)
        return durable.storing

    def of(self, principal: Principal, name: str) -> DurableSubscription:
        """A durable subscription that somebody may use.

        Raises RefusedError if there is none, and AccessError if it is not theirs.
        """
        self.require(principal, name)
        durable = self.by_name.get(name)
        if durable is None:
            raise RefusedError(f"there is no durable subscription {name!r}", "unknown")
        return durable

    def require(self, principal: Principal, name: str) -> None:
        """Raise AccessError if somebody may not use a durable subscription, there or not."""
        self._access.require_durable(principal, name)
        durable = self.by_name.get(name)
        if durable is None or durable.owner == principal.name:
            return
        if not self._access.may(principal, Permission.ADMINISTER):
            raise AccessError(f"the durable subscription {name!r} belongs to {durable.owner!r}")

    def require_store(self) -> Store:
        if self._store is None:
            raise RefusedError(
                f"the broker {self._router.name!r} keeps nothing: start it with a store "
                "(--store FOLDER)",
                "unavailable",
            )
        return self._store

    def _send_own(
        self, add: Mapping[str, Pattern] | None = None, remove: Iterable[str] = ()
    ) -> None:
        state = self._homes.change_own(int(time.time() * 1000), add, remove)
        if state is not None and self._store is not None:
            self._store.set_own_version(self._homes.own_version)
            self._send(state)


def _home_keys(
    durable: DurableSubscription, keys: Iterable[str] | None = None
) -> dict[str, Pattern]:
    """The keys under which expressions of a durable subscription are sent to other brokers."""
    chosen = durable.patterns if keys is None else keys
    return {f"{durable.name}\0{key}": durable.patterns[key] for key in chosen}
