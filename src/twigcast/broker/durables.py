"""The durable subscriptions of a broker: made, changed, used and ended, one at a time.

What is kept is changed first and what is wanted after it; the machine sees to the order
(:mod:`twigcast.delivery`).  Here is who may do it, how many there may be, and the pace:
many expressions are taken in bit by bit, so that others have their turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count, islice
from typing import Final, NamedTuple

from twigcast.broker.access import Access, Permission, Principal
from twigcast.broker.config import LimitsConfig
from twigcast.broker.flow import DocumentFlow
from twigcast.broker.links import Links
from twigcast.broker.pace import taking_turns
from twigcast.broker.pulls import Pull
from twigcast.broker.shared_queues import QueueSpace
from twigcast.broker.store import Store
from twigcast.broker.subscriptions import Attachment, DurableSubscription
from twigcast.delivery import (
    Acknowledged,
    AskKnown,
    ConsumerLeft,
    DurableDropped,
    DurableOptions,
    DurablePut,
    DurableWants,
    GivenBack,
    Leased,
    MissedReported,
    PutDurable,
)
from twigcast.documents import parse_value_path
from twigcast.errors import AccessError, RefusedError
from twigcast.hierarchy import unit_at
from twigcast.language import Pattern
from twigcast.routing import Router

_AT_ONCE: Final = 20
"""How many expressions are taken in before others have their turn."""
CONFIRM_PATIENCE: Final = 10.0
"""How long, in seconds, all brokers have to say that they know of a subscription."""


class AskedOptions(NamedTuple):
    """How a client wants documents given out; None for what it does not say."""

    is_shared: bool | None = None
    key: str | None = None
    most_attempts: int | None = None
    scope: int | None = None
    """The depth of a unit."""


NOTHING_ASKED: Final = AskedOptions()


class Durables:
    """All durable subscriptions of one broker."""

    def __init__(
        self,
        router: Router,
        store: Store | None,
        flow: DocumentFlow,
        space: QueueSpace,
        links: Links,
        access: Access,
        limits: LimitsConfig,
    ) -> None:
        self._router = router
        self._store = store
        self._flow = flow
        self._space = space
        self._links = links
        self._access = access
        self._limits = limits
        self._changing = asyncio.Lock()
        self._consumers = count(1)

    def restore(self) -> None:
        """Go on with what was kept before a restart."""
        if self._store is not None:
            for queue in self._flow.machine.queues:
                self._flow.add_durable(DurableSubscription(queue, self._store, self._space))

    @property
    def by_name(self) -> Mapping[str, DurableSubscription]:
        """The durable subscriptions."""
        return self._flow.durable

    def wanted(self, durable: DurableSubscription) -> Mapping[str, Pattern]:
        """What a durable subscription wants, by key."""
        return self._flow.machine.wanted(durable.name)

    async def put(
        self,
        name: str,
        principal: Principal,
        patterns: Mapping[str, Pattern],
        asked: AskedOptions = NOTHING_ASKED,
    ) -> DurableSubscription:
        """Make a durable subscription, or give it other expressions; it is kept when this returns.

        Raises RefusedError where there is no store, where nothing says what is wanted, where
        somebody would have too many, or where other options are kept; and StoreError.
        """
        store = self.require_store()
        texts = {key: str(each) for key, each in patterns.items()}
        async with self._changing:
            durable = self.by_name.get(name)
            before = {} if durable is None else self.wanted(durable)
            if durable is None and not patterns:
                raise RefusedError(
                    f"there is no durable subscription {name!r}: subscribe with expressions first",
                    "unknown",
                )
            if durable is None:
                options = _new_options(asked)
            else:
                options = durable.queue.options
                _require_same(name, asked, options, self._router.name)
            if not patterns or patterns == before:
                assert durable is not None, "it wants something already"
                return durable
            owner = principal.name if durable is None else durable.owner
            more = len(patterns) - len(before)
            self._require_durable_quota(owner, more, new=int(durable is None))
            write = PutDurable(name, owner, texts, options)
            await self._flow.ask(lambda ticket: DurablePut(ticket, write))
            if durable is None:
                durable = DurableSubscription(self._flow.machine.queues[name], store, self._space)
                self._flow.add_durable(durable)
            await self._want(name, before, patterns)
            return durable

    async def _want(
        self, name: str, before: Mapping[str, Pattern], after: Mapping[str, Pattern]
    ) -> None:
        gone = tuple(key for key, each in before.items() if after.get(key) != each)
        new = {key: each for key, each in after.items() if before.get(key) != each}
        # What is wanted in addition first, so that nothing in between is missed.
        replaced = tuple(key for key in gone if key in new)
        async for add in taking_turns(_some(new, replaced)):
            self._flow.happen(DurableWants(name, add, tuple(key for key in replaced if key in add)))
            self._router.prepare()
        self._flow.happen(DurableWants(name, {}, tuple(set(gone) - set(replaced))))

    async def confirm(self) -> tuple[str, ...]:
        """Wait until all brokers know what is wanted here; those that could not be reached.

        A neighbour that has not been found since this broker was started is told by its address.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_PATIENCE):
                await self._links.called()
        answer = await self._flow.ask(lambda ticket: AskKnown(ticket, CONFIRM_PATIENCE))
        return (*(answer.unreached or ()), *self._links.unknown)

    def _require_durable_quota(self, owner: str, expressions: int, new: int) -> None:
        limits = self._limits
        theirs = [each for each in self.by_name.values() if each.owner == owner]
        if len(theirs) + new > limits.subscriptions_per_client:
            raise RefusedError(
                f"{owner} has {len(theirs):,} durable subscriptions, as many as a client may "
                "have here (limits.subscriptions_per_client): end some",
                "quota",
            )
        have = sum(len(self.wanted(each)) for each in theirs)
        if have + expressions > limits.expressions_per_client:
            raise RefusedError(
                f"the durable subscriptions of {owner} would have more expressions than a client "
                "may have here (limits.expressions_per_client): end some",
                "quota",
            )

    async def forget(self, name: str) -> None:
        """End a durable subscription for good, with the documents it keeps; raises StoreError."""
        self.require_store()
        async with self._changing:
            durable = self.by_name.get(name)
            if durable is None:
                return
            await self._flow.ask(lambda ticket: DurableDropped(ticket, name))
            self._flow.remove_durable(durable)
        durable.end("the subscription was ended for good", "unknown")

    async def first_since(self, durable: DurableSubscription, moment: int) -> int:
        """The sequence of the first document that was stored at a time or after it."""
        return await self.require_store().first_since(durable.name, moment)

    def attach(
        self, durable: DurableSubscription, number: int, window: int, start: int | None
    ) -> Attachment:
        """Serve a client from a sequence on; the client that was attached before loses it."""
        self._require_kept(durable)
        attachment = Attachment(durable, self._new_consumer(), number, window)
        durable.attach(attachment, start)
        return attachment

    def pull(self, durable: DurableSubscription, most: int) -> Pull:
        """Serve a client that takes some documents once; to be followed by ``lease`` or ``detach``.

        A client that is attached for good loses the subscription, unless it is shared.
        """
        self._require_kept(durable)
        pull = Pull(durable, self._new_consumer(), most)
        durable.join(pull)
        return pull

    def lease(self, pull: Pull, seconds: float) -> None:
        """Let a client have what it took until its time is over."""
        if pull.durable.detach(pull):
            self._flow.happen(Leased(pull.durable.name, pull.consumer, seconds))

    def _new_consumer(self) -> str:
        return f"consumer/{next(self._consumers)}"

    def _require_kept(self, durable: DurableSubscription) -> None:
        if self.by_name.get(durable.name) is not durable:
            raise RefusedError("the subscription was ended for good meanwhile", "unknown")

    def detach(self, attachment: Attachment, *, is_lost: bool = False) -> None:
        """Serve a client no more; what it has not acknowledged is for others.

        What it had taken up was in vain.  Of a client that ``is_lost`` this is the first document
        at least, which may have been its end.
        """
        durable = attachment.durable
        taken = max(attachment.taken_up, int(is_lost))
        if durable.detach(attachment):
            self._flow.happen(ConsumerLeft(durable.name, attachment.consumer, taken))

    async def acknowledge(
        self, durable: DurableSubscription, upto: int, sequences: Sequence[int]
    ) -> None:
        """Note what a client has acknowledged; returns when that is stored."""
        await self._flow.ask(lambda ticket: Acknowledged(ticket, durable.name, upto, sequences))

    def note_acknowledged(
        self, durable: DurableSubscription, upto: int, sequences: Sequence[int]
    ) -> None:
        """Note what a client has acknowledged."""
        self._flow.happen(Acknowledged(0, durable.name, upto, sequences))

    def note_missed(self, durable: DurableSubscription) -> None:
        """Note that a client was told how many documents were missed."""
        self._flow.happen(MissedReported(durable.name))

    def give_back(self, attachment: Attachment, sequences: Sequence[int], delay: float) -> None:
        """Take documents back from a client that could not use them."""
        self._give_back(attachment.durable, attachment.consumer, sequences, delay)

    def _give_back(
        self, durable: DurableSubscription, consumer: str, sequences: Sequence[int], delay: float
    ) -> None:
        self._flow.happen(GivenBack(durable.name, consumer, sequences, delay))

    def give_back_any(
        self, durable: DurableSubscription, sequences: Sequence[int], delay: float
    ) -> list[int]:
        """Take documents back from whoever has them; those that somebody had."""
        having = durable.queue.who_has(sequences)
        for consumer, held in having.items():
            self._give_back(durable, consumer, held, delay)
        return sorted(each for held in having.values() for each in held)

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
        """The store; raises RefusedError where there is none."""
        if self._store is None:
            raise RefusedError(
                f"the broker {self._router.name!r} keeps nothing: start it with a store "
                "(--store FOLDER)",
                "unavailable",
            )
        return self._store


def _new_options(asked: AskedOptions) -> DurableOptions:
    """The options of a new durable subscription; raises RefusedError."""
    path = ""
    if asked.key:
        if not asked.is_shared:
            raise RefusedError(
                "ordered_by is for documents that several clients share: say shared, too, or leave "
                "it out, for one client gets all documents in order",
                "invalid",
            )
        path = _path_text(asked.key)
    return DurableOptions(bool(asked.is_shared), path, asked.most_attempts or 0, asked.scope or 0)


def _path_text(text: str) -> str:
    try:
        return str(parse_value_path(text))
    except ValueError as error:
        raise RefusedError(f"ordered_by: {error}", "bad-expression") from None


def _require_same(name: str, asked: AskedOptions, kept: DurableOptions, broker: str) -> None:
    """Raise RefusedError where a client wants documents given out in another form than is kept."""
    key = asked.key if not asked.key else _path_text(asked.key)
    scope = None if asked.scope is None else unit_at(broker, asked.scope)
    for option, said, has in (
        ("shared", asked.is_shared, kept.is_shared),
        ("ordered_by", key, kept.key),
        ("deliveries", asked.most_attempts, kept.most_attempts),
        ("scope", scope, unit_at(broker, kept.scope)),
    ):
        if said is not None and said != has:
            raise RefusedError(
                f"the durable subscription {name!r} was made with {option} = {has!r}, not "
                f"{said!r}: leave {option} out, or end the subscription and make it anew",
                "invalid",
            )


def _some(patterns: Mapping[str, Pattern], first: Sequence[str]) -> Iterator[dict[str, Pattern]]:
    """Patterns a few at a time; those that replace others all at once, before the rest."""
    if first:
        yield {key: patterns[key] for key in first}
    rest = iter([key for key in patterns if key not in set(first)])
    while keys := list(islice(rest, _AT_ONCE)):
        yield {key: patterns[key] for key in keys}
