"""What is owed to homes: sent again until it is confirmed, or can never get there.

Receipt ──► confirmed: owed no more
──► refused: a letter, and whoever runs the broker hears of it
Tick ──► due ──► Load ──► Loaded ──► sent to the home by itself, unless it has expired
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twigcast.delivery.custody import Custody
from twigcast.delivery.events import (
    Addressed,
    Drop,
    Instruction,
    Load,
    Loaded,
    Moment,
    Outdated,
    Receipt,
    Routed,
    Send,
    Store,
)
from twigcast.delivery.publishing import Publishing
from twigcast.delivery.writes import Confirm, Parcel, SetAsideOwed
from twigcast.routing import DocumentId, DocumentRouter


class Owing:
    """What one broker does about the documents that it owes."""

    def __init__(
        self,
        broker: str,
        documents: DocumentRouter,
        custody: Custody,
        publishing: Publishing,
        *,
        has_store: bool,
    ) -> None:
        self._broker = broker
        self._documents = documents
        self._custody = custody
        self._publishing = publishing
        self._has_store = has_store
        self._view = documents.view

    def on_receipt(self, home: str, receipt: Receipt, moment: Moment) -> list[Instruction]:
        """Take in what a home says of the documents that it was sent."""
        instructions: list[Instruction] = []
        settled = self._custody.confirm(home, receipt.stored)
        if settled and self._has_store:
            instructions.append(Store(0, Confirm(home, settled, moment.time)))
        elif settled:
            instructions += self._publishing.confirmed(home, settled)
        for document, reason in receipt.refused:
            if self._custody.confirm(home, (document,)):
                instructions.append(Drop(document, f"not for {home}: {reason}"))
                if self._has_store:
                    aside = SetAsideOwed(home, document, reason, moment.time)
                    instructions.append(Store(0, aside))
                else:
                    instructions += self._publishing.refused(home, document, reason)
        return instructions + self._send_due(home, moment) if settled else instructions

    def on_loaded(self, event: Loaded, moment: Moment) -> list[Instruction]:
        """Send what was loaded."""
        self._custody.confirm(event.home, event.gone)  # retention has taken them
        self._custody.unsent(event.home, event.unread)
        return self._send_again(event.home, event.parcels, moment)

    def on_expired(self, owed: Mapping[str, tuple[DocumentId, ...]]) -> list[Instruction]:
        """Give up what retention has dropped."""
        return [
            Drop(each, f"it was owed to {home} for too long, and has expired")
            for home, documents in owed.items()
            for each in self._custody.confirm(home, documents)
        ]

    def look(self, moment: Moment) -> list[Instruction]:
        """Send what is due, and answer for what cannot be confirmed any more."""
        instructions: list[Instruction] = []
        view = self._documents.view
        for home in self._custody.owed:
            if view is not self._view:
                # There may be a route where there was none, and what was in transit is lost.
                self._custody.hurry(home)
            instructions += self._send_due(home, moment)
        self._view = view
        return instructions + self._publishing.look_at_unconfirmed(moment.now)

    def _send_due(self, home: str, moment: Moment) -> list[Instruction]:
        if not self._documents.can_reach(home):
            return []
        documents = self._custody.due(home, moment.now)
        if not documents:
            return []
        if self._has_store:
            return [Load(home, tuple(documents))]
        return self._send_again(home, self._publishing.parcels(documents), moment)

    def _send_again(
        self, home: str, parcels: Iterable[Parcel], moment: Moment
    ) -> list[Instruction]:
        hop = self._documents.next_hop(home)
        instructions: list[Instruction] = []
        if hop is None:
            return instructions
        for parcel in parcels:
            if not self._custody.is_owed(home, parcel.id):
                continue
            if parcel.is_outdated(moment.time):
                instructions += self._give_up(home, parcel.id, moment)
                continue
            said = Routed(parcel, "", (self._custody.debt(home, parcel.id),))
            instructions.append(Send((hop,), Addressed(home, self._broker, said)))
        return instructions

    def _give_up(self, home: str, document: DocumentId, moment: Moment) -> list[Instruction]:
        """Owe a document no more that has expired."""
        self._custody.confirm(home, (document,))
        if self._has_store:
            confirm = Confirm(home, (document,), moment.time)
            return [Outdated(document), Store(0, confirm)]
        return [Outdated(document), *self._publishing.refused(home, document, "it has expired")]
