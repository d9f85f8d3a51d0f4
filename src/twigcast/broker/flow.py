"""How documents pass through a broker: from publishers and neighbours to queues, disk and links.

    publish ──► router ──► stored, if somebody wants it durably ──► answer to the publisher
                                          │
                                          └──► released: links, ephemeral queues, durable queues

    neighbour ──► router ──► links, ephemeral queues; stored for durable ones ──► receipt to origin

A document that is published here leaves for others only when it is safe here, in the order in which
its publisher gave it.  A document from a neighbour is passed on at once: its origin answers for it.
See :mod:`~twigcast.broker.custody` for what origins owe.

Cost: one match for each document and broker; durable documents are written once here, and once at
each home, many in one commit.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import Future
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from twigcast.broker.custody import Custody, Debt, Receipts
from twigcast.broker.link_codec import (
    decode_document,
    decode_name,
    encode_document,
    encode_receipt,
)
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.metrics import Metrics
from twigcast.broker.store import Owed, QueueEntry, Received, Store
from twigcast.broker.subscriptions import (
    DurableSubscription,
    EphemeralSubscription,
    encode_common,
)
from twigcast.errors import DocumentError, StoreError
from twigcast.routing import Deliveries, DocumentId, Router
from twigcast.wire import messages

_HOPS: Final = 64
_RESEND_BYTES: Final = 4 * 1024 * 1024
_RECENT_PUBLICATIONS: Final = 65_536
_RECEIPT_DELAY: Final = 0.01
RESEND_EACH: Final = 0.25

QueueEntries: TypeAlias = list[tuple[DurableSubscription, QueueEntry]]


class Published(NamedTuple):
    """A document that was accepted: its id, and when it is safe."""

    id: str
    safe: Future[None] | None
    """Done when it is stored; None if nothing of it needs to be."""

    @property
    def failed(self) -> bool:
        """Whether it could not be stored."""
        return self.safe is not None and _failed(self.safe)


class DocumentFlow:
    """What one broker does with documents."""

    def __init__(
        self,
        router: Router,
        store: Store | None,
        receivers: Mapping[str, EphemeralSubscription | DurableSubscription],
        links: Mapping[str, LinkConnection],
        metrics: Metrics,
        *,
        keep_all: bool,
    ) -> None:
        self._router = router
        self._documents = router.documents
        self._store = store
        self._epoch = "" if store is None else store.epoch
        self._receivers = receivers
        self._links = links
        self._metrics = metrics
        self._keep_all = keep_all and store is not None
        self.custody = Custody(1 if store is None else store.first_number)
        self.receipts = Receipts()
        self._publications: OrderedDict[str, Published] = OrderedDict()
        self._unreleased: dict[str, deque[tuple[Future[None] | None, Callable[[], None]]]] = {}
        """By publisher: what is not safe yet, and what must not overtake it."""
        self._receipts_due: set[tuple[str, str]] = set()
        self._view = self._documents.view
        self._resending: dict[str, asyncio.Task[None]] = {}
        if store is not None:
            for home, owed in store.owed.items():
                self.custody.restore(home, owed.next, owed.pending)
            for (origin, epoch), (upto, beyond) in store.received.items():
                self.receipts.restore(origin, epoch, upto, beyond)

    # --- published here ---------------------------------------------------------------------------

    async def find_publication(self, publication: str, again: bool) -> Published | None:
        """The document that was accepted under a publication id before, if any."""
        known = self._recent_publication(publication)
        if known is None and again and self._store is not None:
            stored = await self._store.find_publication(publication)
            # Somebody else may have published it meanwhile.
            known = self._recent_publication(publication)
            if known is None and stored is not None:
                known = Published(stored, None)
        return known

    def _recent_publication(self, publication: str) -> Published | None:
        known = self._publications.get(publication)
        return None if known is None or known.failed else known

    def publish(self, content: bytes, link: str, publication: str) -> Published:
        """Take a document from a client of this broker.

        Raises DocumentError for what is none, and NetworkError where the client must advertise
        before.
        """
        began = time.perf_counter()
        now = int(time.time() * 1000)
        routed = self._documents.publish(content, link)
        identity = routed.document.id
        debts: tuple[Debt, ...] = ()
        if routed.homes and self._store is not None:
            debts = self.custody.owe(routed.homes)
        common = encode_common(str(identity), content, now) if routed.deliveries else b""
        entries = self._enter(routed.deliveries)
        safe = None
        if self._store is not None and (entries or debts or self._keep_all):
            safe = self._store.add_document(
                str(identity),
                content,
                published=now,
                publication=publication,
                queues=[entry for _, entry in entries],
                owed=[Owed(debt.home, debt.number) for debt in debts],
            )
            self._notify_queues(safe, entries, common, now)

        def release() -> None:
            if safe is not None and _failed(safe):
                for debt in debts:
                    self.custody.give_up(debt.home, (debt.number,))
                return
            if debts:
                reachable = [home for home in routed.homes if self._documents.can_reach(home)]
                self.custody.safe(debts, reachable, time.monotonic())
            self._offer(routed.deliveries, common, now)
            if routed.neighbours:
                said = encode_document(
                    identity, routed.document.tree, content, debts, self._epoch, now
                )
                self._pass_on(routed.neighbours, said)

        self._release_in_turn(link, safe, release)
        published = Published(str(identity), safe)
        if publication:
            self._publications[publication] = published
            if len(self._publications) > _RECENT_PUBLICATIONS:
                self._publications.popitem(last=False)
        self._metrics.matched(
            len(content), time.perf_counter() - began, bool(routed.deliveries or routed.neighbours)
        )
        return published

    def _release_in_turn(
        self, link: str, safe: Future[None] | None, release: Callable[[], None]
    ) -> None:
        """Let a document go once it is safe, after those its publisher gave before."""
        waiting = self._unreleased.get(link)
        if waiting is None:
            if safe is None:
                release()
                return
            waiting = self._unreleased[link] = deque()
        waiting.append((safe, release))
        if safe is not None:
            safe.add_done_callback(lambda _: self._release_safe(link))

    def _release_safe(self, link: str) -> None:
        waiting = self._unreleased.get(link)
        while waiting and (waiting[0][0] is None or waiting[0][0].done()):
            waiting.popleft()[1]()
        if waiting is not None and not waiting:
            del self._unreleased[link]

    def _enter(self, deliveries: Deliveries) -> QueueEntries:
        """Give a document its sequences in the queues of the durable subscriptions that want it."""
        entries = []
        for name, keys in deliveries:
            receiver = self._receivers[name]
            if isinstance(receiver, DurableSubscription):
                entry = QueueEntry(receiver.name, receiver.next_sequence(), keys)
                entries.append((receiver, entry))
        return entries

    def _notify_queues(
        self, safe: Future[None], entries: QueueEntries, common: bytes, published: int
    ) -> None:
        """Hand a document to the queues once it is safe, which is in the order of sequences."""

        def notify(safe: Future[None]) -> None:
            if not _failed(safe):  # otherwise its sequences stay empty
                for durable, entry in entries:
                    durable.committed(entry.sequence, common, entry.keys)
                    self._metrics.delivered(True, published)

        if entries:
            safe.add_done_callback(notify)

    def _offer(self, deliveries: Deliveries, common: bytes, published: int) -> None:
        for name, keys in deliveries:
            receiver = self._receivers.get(name)  # it may have gone while the document was stored
            if isinstance(receiver, EphemeralSubscription):
                self._metrics.delivered(receiver.offer(common, keys), published)

    def _pass_on(self, neighbours: Iterable[str], said: messages.RoutedDocument) -> None:
        item = messages.LinkItem(document=said).SerializeToString()
        for name in neighbours:
            link = self._links.get(name)
            if link is not None:
                self._metrics.forwarded(link.pass_on(item))

    # --- from neighbours --------------------------------------------------------------------------

    def take_document(self, said: messages.RoutedDocument, link: LinkConnection) -> None:
        """Take a document from a neighbour, and pass it on."""
        began = time.perf_counter()
        document = decode_document(said)
        link.documents_received += 1
        mine = self._number_for_us(said)
        is_owed = mine is not None and self.receipts.begin(
            document.id.origin, said.epoch, mine.number, mine.settled
        )
        try:
            routed = self._documents.route(document, link.name)
            if routed is None:
                deliveries = self._documents.deliveries(said.content) if is_owed else []
            else:
                deliveries = routed.deliveries
        except DocumentError:  # its origin takes larger ones than this broker, say
            self._metrics.refused("malformed")
            routed, deliveries = None, []
        if routed is None:
            self._metrics.repeated()
        else:
            self._pass_on(routed.neighbours, said)
            if deliveries:
                common = encode_common(str(document.id), said.content, said.published)
                self._offer(deliveries, common, said.published)
            self._metrics.matched(
                len(said.content),
                time.perf_counter() - began,
                bool(deliveries or routed.neighbours),
            )
        if mine is None:
            # Published before its origin knew of what is wanted here; a gift, then.
            self._keep(document.id, said, deliveries, None)
        elif is_owed:
            received = Received(document.id.origin, said.epoch, mine.number, mine.settled)
            self._keep(document.id, said, deliveries, received)
        else:
            self._owe_receipt(document.id.origin, said.epoch)

    def _number_for_us(self, said: messages.RoutedDocument) -> messages.Destination | None:
        if self._store is None:
            return None
        return next((each for each in said.destinations if each.home == self._router.name), None)

    def _keep(
        self,
        identity: DocumentId,
        said: messages.RoutedDocument,
        deliveries: Deliveries,
        received: Received | None,
    ) -> None:
        """Store a document from elsewhere for the durable subscriptions here; then confirm it."""
        store = self._store
        entries = self._enter(deliveries)
        if store is None or (not entries and received is None):
            return
        if entries:
            safe = store.add_document(
                str(identity),
                said.content,
                published=said.published,
                queues=[entry for _, entry in entries],
                received=received,
            )
            common = encode_common(str(identity), said.content, said.published)
            self._notify_queues(safe, entries, common, said.published)
        else:
            assert received is not None
            safe = store.note_received(received)
        if received is None:
            return

        def confirm(safe: Future[None]) -> None:
            end = self.receipts.failed if _failed(safe) else self.receipts.done
            end(received.origin, received.epoch, received.number)
            self._owe_receipt(received.origin, received.epoch)

        safe.add_done_callback(confirm)

    # --- to one broker ----------------------------------------------------------------------------

    def take_addressed(self, said: messages.Addressed, link: LinkConnection) -> None:
        """Take what is addressed to one broker: to this one, or to pass it on."""
        if decode_name(said.to) != self._router.name:
            if said.hops > 1:
                said.hops = min(said.hops, _HOPS) - 1
                self._send_addressed(said)
            return
        content = said.WhichOneof("content")
        if content == "receipt":
            self._take_receipt(decode_name(said.sender), said.receipt)
        elif content == "document":
            self._take_owed(said.document)

    def _send_addressed(self, said: messages.Addressed) -> bool:
        hop = self._documents.next_hop(said.to)
        link = None if hop is None else self._links.get(hop)
        if link is None:
            return False
        item = messages.LinkItem(addressed=said).SerializeToString()
        if said.HasField("document"):
            return link.pass_on(item)
        link.say((item,))
        return True

    def _take_owed(self, said: messages.RoutedDocument) -> None:
        """Take a document that was sent again: it did not come before, or its receipt got lost."""
        document = decode_document(said)
        mine = self._number_for_us(said)
        if mine is None:
            return
        origin = document.id.origin
        if not self.receipts.begin(origin, said.epoch, mine.number, mine.settled):
            self._owe_receipt(origin, said.epoch)
            return
        try:
            deliveries = self._documents.deliveries(said.content)
        except DocumentError:
            self._metrics.refused("malformed")
            deliveries = []
        received = Received(origin, said.epoch, mine.number, mine.settled)
        self._keep(document.id, said, deliveries, received)

    def _owe_receipt(self, origin: str, epoch: str) -> None:
        if not self._receipts_due:
            asyncio.get_running_loop().call_later(_RECEIPT_DELAY, self._send_receipts)
        self._receipts_due.add((origin, epoch))

    def _send_receipts(self) -> None:
        for origin, epoch in self._receipts_due:
            receipt = self.receipts.receipt(origin, epoch)
            if receipt is not None:
                self._send_addressed(
                    messages.Addressed(
                        to=origin,
                        sender=self._router.name,
                        hops=_HOPS,
                        receipt=encode_receipt(epoch, receipt),
                    )
                )
        self._receipts_due.clear()

    def _take_receipt(self, home: str, said: messages.Receipt) -> None:
        if self._store is None or said.epoch != self._epoch:
            return
        settled = self.custody.confirm(home, said.upto, said.numbers)
        if settled:
            highest = said.upto
            self._store.confirm(home, highest, [each for each in settled if each > highest])
            self._send_due(home)

    # --- what is owed, again ----------------------------------------------------------------------

    async def send_owed(self) -> None:
        """Send again what homes have not confirmed; to be done now and then."""
        view = self._documents.view
        for home in self.custody.owed:
            if view is not self._view:
                # There may be a route where there was none, and what was in transit is lost.
                self.custody.hurry(home)
            self._send_due(home)
        self._view = view

    def _send_due(self, home: str) -> None:
        if home not in self._resending and self._documents.can_reach(home):
            debts = self.custody.due(home, time.monotonic())
            if debts:
                task = asyncio.create_task(self._resend(home, debts), name=f"owed to {home}")
                self._resending[home] = task
                task.add_done_callback(lambda _: self._resending.pop(home, None))

    async def _resend(self, home: str, debts: list[Debt]) -> None:
        assert self._store is not None, "nothing is owed without a store"
        by_number = {debt.number: debt for debt in debts}
        try:
            owed = await self._store.read_owed(home, list(by_number), max_bytes=_RESEND_BYTES)
        except StoreError:
            return
        for number, document in owed.documents:
            said = encode_document(
                _identity(document.id),
                "",
                document.content,
                (by_number.pop(number),),
                self._epoch,
                document.published,
            )
            self._metrics.resent()
            self._send_addressed(
                messages.Addressed(to=home, sender=self._router.name, hops=_HOPS, document=said)
            )
        self.custody.give_up(home, owed.gone)  # retention has taken them
        self.custody.unsent(home, by_number)

    async def close(self) -> None:
        """Stop sending."""
        tasks = list(self._resending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _failed(safe: Future[None]) -> bool:
    return safe.done() and (safe.cancelled() or safe.exception() is not None)


def _identity(text: str) -> DocumentId:
    origin, incarnation, number = text.rsplit(":", 2)
    return DocumentId(origin, int(incarnation), int(number))
