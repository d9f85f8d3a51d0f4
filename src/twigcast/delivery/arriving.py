"""Documents that come from other brokers: passed on, stored, confirmed to their origins.

    Came ──► router ──► neighbours, ephemeral queues
                │
                └──► stored, for durable subscriptions here ──► receipt to the origin

A document is passed on at once: its origin answers for it.  It is confirmed when it is safe here,
refused if it can never be taken, and left unanswered while it cannot be stored: it comes again.

A document that has expired goes no further, and is confirmed without being stored.  Where others
are owed it, too, its origin notices that by itself.
"""

from __future__ import annotations

from typing import NamedTuple

from twigcast.delivery.custody import Receipts
from twigcast.delivery.events import (
    Addressed,
    Drop,
    Instruction,
    Moment,
    Offer,
    Outdated,
    Queue,
    Receipt,
    Repeat,
    Routed,
    Send,
    Store,
    Wake,
)
from twigcast.delivery.publications import RecentPublications
from twigcast.delivery.publishing import OTHER_CONTENT
from twigcast.delivery.queues import Queues
from twigcast.delivery.room import FullError, Room
from twigcast.delivery.writes import Entry, KeepDocument, Kept, NoteReceived, Parcel
from twigcast.errors import DocumentError
from twigcast.routing import NOBODY, Document, DocumentId, DocumentRouter

RECEIPT_DELAY = 0.01
"""How long, in seconds, receipts gather before they are sent."""


class Arrival(NamedTuple):
    """A document of another broker's that is being stored."""

    parcel: Parcel
    entries: tuple[Entry, ...] = ()
    settled: int | None = None


class _Due(NamedTuple):
    """What an origin is to hear of its documents."""

    stored: dict[DocumentId, None]
    refused: dict[DocumentId, str]


class Arriving:
    """What comes from other brokers and is not confirmed yet."""

    def __init__(
        self,
        broker: str,
        documents: DocumentRouter,
        queues: Queues,
        receipts: Receipts,
        offered: RecentPublications,
        room: Room,
        *,
        has_store: bool,
    ) -> None:
        self._broker = broker
        self._documents = documents
        self._queues = queues
        self._receipts = receipts
        self._offered = offered
        self._room = room
        self._has_store = has_store
        self._due: dict[str, _Due] = {}

    def take(
        self, said: Routed, link: str, ticket: int, moment: Moment
    ) -> tuple[Arrival | None, list[Instruction]]:
        """Take a document that came along a tree; what waits for a write, if anything does."""
        parcel = said.parcel
        instructions: list[Instruction] = []
        settled = self._settled_for_us(said)
        is_new = settled is not None and self._receipts.begin(parcel.id, settled)
        try:
            routed = self._documents.route(Document(parcel.id, said.tree, parcel.content), link)
            if routed is not None:
                recipients = routed.recipients
            else:
                recipients = self._documents.recipients(parcel.content) if is_new else NOBODY
        except DocumentError as error:  # its origin takes more than this broker
            instructions.append(Drop(parcel.id, str(error)))
            if is_new:
                self._receipts.failed(parcel.id)
                instructions += self._refuse(parcel.id, str(error))
            return None, instructions
        entries, others = self._queues.split(recipients)
        if routed is None:
            instructions.append(Repeat(str(parcel.id)))
        elif parcel.is_outdated(moment.time):
            instructions.append(Outdated(parcel.id))
        else:
            for copy in routed.copies:
                instructions.append(Send(tuple(copy.neighbours), said))
            if others.deliveries and self._offered.is_first(parcel):
                instructions.append(Offer(parcel, others))
        if settled is not None and not is_new:
            return None, instructions + self._confirm_again(parcel.id)
        if parcel.is_outdated(moment.time):
            entries = ()
        arrival, more = self._keep(parcel, entries, settled, ticket, moment)
        return arrival, instructions + more

    def take_addressed(
        self, said: Routed, ticket: int, moment: Moment
    ) -> tuple[Arrival | None, list[Instruction]]:
        """Take a document that was sent again: it did not come before, or its receipt got lost."""
        parcel = said.parcel
        settled = self._settled_for_us(said)
        if settled is None:
            return None, []
        if not self._receipts.begin(parcel.id, settled):
            return None, [Repeat(str(parcel.id)), *self._confirm_again(parcel.id)]
        if parcel.is_outdated(moment.time):
            arrival, instructions = self._keep(parcel, (), settled, ticket, moment)
            return arrival, [Outdated(parcel.id), *instructions]
        try:
            recipients = self._documents.recipients(parcel.content)
        except DocumentError as error:
            self._receipts.failed(parcel.id)
            return None, [Drop(parcel.id, str(error)), *self._refuse(parcel.id, str(error))]
        return self._keep(parcel, self._queues.split(recipients)[0], settled, ticket, moment)

    def _settled_for_us(self, said: Routed) -> int | None:
        if self._has_store:
            for home, settled in said.debts:
                if home == self._broker:
                    return settled
        return None

    def _keep(
        self,
        parcel: Parcel,
        entries: tuple[Entry, ...],
        settled: int | None,
        ticket: int,
        moment: Moment,
    ) -> tuple[Arrival | None, list[Instruction]]:
        if parcel.publisher:
            parcel = parcel._replace(publisher="")
        arrival = Arrival(parcel, entries, settled)
        if not entries:
            if settled is None:
                return None, []
            return arrival, [Store(ticket, NoteReceived(parcel.id, settled))]
        if not self._has_store:
            return None, []
        try:
            self._room.reserve(parcel, entries, self._queues)
        except FullError as error:
            if settled is not None:
                self._receipts.failed(parcel.id)
            return None, [Drop(parcel.id, str(error))]
        return arrival, [Store(ticket, KeepDocument(parcel, moment.time, entries, settled=settled))]

    # --- stored -----------------------------------------------------------------------------------

    def stored(self, arrival: Arrival, kept: Kept | None, moment: Moment) -> list[Instruction]:
        """Note that a document is safe, and confirm it."""
        parcel, entries, settled = arrival
        instructions: list[Instruction] = []
        if entries:
            is_kept = kept is not None and not kept.known and any(kept.sequences)
            self._room.written(parcel, entries, is_kept=is_kept)
        if kept is not None and kept.is_other:
            # The first document of the publication is in the queues; this one can only be read.
            write = KeepDocument(parcel._replace(publication=""), moment.time, aside=OTHER_CONTENT)
            instructions += [Drop(parcel.id, OTHER_CONTENT), Store(0, write)]
            self._room.add(parcel)
        elif (
            kept is not None
            and not kept.known
            and (entered := self._queues.enter(entries, kept.sequences))
        ):
            instructions.append(Queue(parcel, entered))
        if settled is not None:
            self._receipts.done(parcel.id)
            instructions += self._confirm(parcel.id)
        return instructions

    def failed(self, arrival: Arrival) -> None:
        """Note that a document could not be stored; it comes again."""
        if arrival.entries:
            self._room.written(arrival.parcel, arrival.entries, is_kept=False)
        if arrival.settled is not None:
            self._receipts.failed(arrival.parcel.id)

    # --- receipts ---------------------------------------------------------------------------------

    def _confirm_again(self, document: DocumentId) -> list[Instruction]:
        return self._confirm(document) if self._receipts.has(document) else []

    def _confirm(self, document: DocumentId) -> list[Instruction]:
        due, instructions = self._due_to(document.origin)
        due.stored[document] = None
        return instructions

    def _refuse(self, document: DocumentId, reason: str) -> list[Instruction]:
        due, instructions = self._due_to(document.origin)
        due.refused[document] = reason
        return instructions

    def _due_to(self, origin: str) -> tuple[_Due, list[Instruction]]:
        instructions: list[Instruction] = [] if self._due else [Wake(RECEIPT_DELAY)]
        return self._due.setdefault(origin, _Due({}, {})), instructions

    def send_receipts(self) -> list[Instruction]:
        """Confirm and refuse what is due."""
        instructions: list[Instruction] = []
        for origin, due in self._due.items():
            hop = self._documents.next_hop(origin)
            if hop is not None:
                receipt = Receipt(tuple(due.stored), tuple(due.refused.items()))
                instructions.append(Send((hop,), Addressed(origin, self._broker, receipt)))
        self._due.clear()
        return instructions
