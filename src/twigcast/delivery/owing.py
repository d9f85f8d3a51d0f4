"""What is owed to homes: sent again until it is confirmed, or can never get there.

Receipt ──► confirmed: owed no more
──► refused: a letter, and whoever runs the broker hears of it
Tick ──► due ──► Load ──► Loaded ──► sent to the home by itself, unless it has expired
                             ├─────► owed to another home of the group, if that can be reached
                             └─────► offered to another gateway of the unit, if none can

A document that passes to another home may have been taken over by the first one, whose receipt got
lost.  Then both bring it where it is wanted, and its publication makes it one.

A gateway that is cut off from an overlay holds what it owes there.  It offers that to other
gateways of its unit, and owes it as before until one of them has taken it over.  A gateway that is
cut off itself turns such offers away, so nothing goes back and forth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from twigcast.delivery.custody import FIRST_PATIENCE, Custody
from twigcast.delivery.events import (
    Drop,
    Instruction,
    Load,
    Loaded,
    Moment,
    Outdated,
    Receipt,
    Store,
)
from twigcast.delivery.levels import Levels, group_of
from twigcast.delivery.publishing import CUT_OFF, NO_HOME, Publishing
from twigcast.delivery.writes import Confirm, KeepDocument, Parcel, SetAsideOwed
from twigcast.routing import DocumentId, View


class Moving(NamedTuple):
    """A document that is being kept for another home of the same group."""

    home: str
    other: str
    document: DocumentId


class Owing:
    """What one broker does about the documents that it owes; ``wait`` gives a write's ticket."""

    def __init__(
        self,
        levels: Levels,
        custody: Custody,
        publishing: Publishing,
        *,
        has_store: bool,
        wait: Callable[[Moving], int],
    ) -> None:
        self._levels = levels
        self._custody = custody
        self._publishing = publishing
        self._has_store = has_store
        self._wait = wait
        self._views = self._views_now()
        self._lost: dict[str, float] = {}
        """Since when homes cannot be reached."""
        self._left: set[str] = set()
        """The homes that take nothing over, as they have said: they are none, or reach nobody."""
        self._moving: set[tuple[str, DocumentId]] = set()
        """What is being kept for another home, by the home that it was owed to."""
        self._offers: dict[tuple[str, DocumentId], set[str]] = {}
        """What is offered to other gateways, and the homes that it is owed to."""
        self._turned_away: set[str] = set()
        """The homes that have turned offers away."""

    def _views_now(self) -> list[View]:
        return [level.documents.view for level in self._levels]

    def on_receipt(self, home: str, receipt: Receipt, moment: Moment) -> list[Instruction]:
        """Take in what a home says of the documents that it was sent."""
        instructions: list[Instruction] = []
        settled = self._custody.settle(home, receipt.stored)
        for owed, documents in settled.items():
            if self._has_store:
                instructions.append(Store(0, Confirm(owed, documents, moment.time)))
            else:
                instructions += self._publishing.confirmed(owed, documents)
            for each in documents:
                instructions += self._brought_on(owed, each, moment)
        for custody, reason in receipt.refused:
            document = self._custody.document(home, custody)
            if document is not None and self._custody.withdraw(home, document):
                del self._offers[home, document]
                self._turned_away.add(home)
            elif document is not None and reason in (NO_HOME, CUT_OFF) and self._others(home):
                self._left.add(home)
                self._custody.unsent(home, (document,))
            elif reason == CUT_OFF:
                continue  # it comes again
            elif document is not None and self._custody.confirm(home, (document,)):
                instructions.append(Drop(document, f"not for {home}: {reason}"))
                if self._has_store:
                    aside = SetAsideOwed(home, document, reason, moment.time)
                    instructions.append(Store(0, aside))
                else:
                    instructions += self._publishing.refused(home, document, reason)
        for owed in settled:
            instructions += self._send_due(owed, moment)
        return instructions

    def on_loaded(self, event: Loaded, moment: Moment) -> list[Instruction]:
        """Send what was loaded, or let another home of the group have it."""
        self._custody.confirm(event.home, event.gone)  # retention has taken them
        self._custody.unsent(event.home, event.unread)
        if self._is_there(event.home):
            return self._send_again(event.home, event.parcels, moment)
        return self._move(event.home, event.parcels, moment)

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
        views = self._views_now()
        for home in self._custody.owed:
            if views != self._views:
                # There may be a route where there was none, and what was in transit is lost.
                self._custody.hurry(home)
                self._left.discard(home)
            instructions += self._send_due(home, moment)
        if views != self._views:
            self._turned_away.clear()
        self._views = views
        for (other, document), homes in list(self._offers.items()):
            if not any(self._custody.is_owed(home, document) for home in homes):
                del self._offers[other, document]
                self._custody.withdraw(other, document)
        return instructions + self._publishing.look_at_unconfirmed(moment.now)

    def _send_due(self, home: str, moment: Moment) -> list[Instruction]:
        if self._is_there(home):
            self._lost.pop(home, None)
        elif (
            not self._has_store
            or not (self._others(home) or self._is_cut_off(home))
            or moment.now - self._lost.setdefault(home, moment.now) < FIRST_PATIENCE
        ):
            return []
        documents = self._custody.due(home, moment.now)
        if not documents:
            return []
        if self._has_store:
            return [Load(home, tuple(documents))]
        return self._send_again(home, self._publishing.parcels(documents), moment)

    def _is_there(self, home: str) -> bool:
        return self._levels.can_reach(home) and home not in self._left

    # --- another home of the group ----------------------------------------------------------------

    def _others(self, home: str) -> list[str]:
        """The homes of the same group that can be reached."""
        level = self._levels.of(home)
        if level is None or group_of(home) == home:
            return []
        others = level.group(group_of(home))
        return [each for each in others if each != home and self._is_there(each)]

    def _move(self, home: str, parcels: Iterable[Parcel], moment: Moment) -> list[Instruction]:
        """Keep documents for others of the group, as far as these want them."""
        instructions: list[Instruction] = []
        others = self._others(home)
        level = self._levels.of(home)
        if not others:
            return self._offer(home, parcels)
        for parcel in parcels:
            if not self._custody.is_owed(home, parcel.id) or (home, parcel.id) in self._moving:
                continue
            wanting: list[str] = []
            if parcel.to:
                wanting = others
            elif others and level is not None:
                homes = level.documents.homes(parcel.content, parcel.id.origin, parcel.scope)
                wanting = [each for each in homes if each in others]
            if level is None or not wanting:
                self._custody.unsent(home, (parcel.id,))
                continue
            moving = Moving(home, level.nearest(wanting), parcel.id)
            self._moving.add((home, parcel.id))
            # It is kept, and its publication is known here if it was wanted here.
            parcel = parcel._replace(publication="")
            keep = KeepDocument(parcel, moment.time, homes=(moving.other,))
            instructions.append(Store(self._wait(moving), keep))
        return instructions

    def moved(self, moving: Moving, moment: Moment) -> list[Instruction]:
        """Owe a document to another home, now that it is kept for that."""
        home, other, document = moving
        self._moving.discard((home, document))
        if not self._custody.is_owed(home, document):  # a receipt came after all
            is_owed = self._custody.is_owed(other, document)
            return [] if is_owed else [Store(0, Confirm(other, (document,), moment.time))]
        self._custody.owe(other, document, self._custody.called(home, document))
        self._custody.confirm(home, (document,))
        confirm = Store(0, Confirm(home, (document,), moment.time))
        return [confirm, *self._send_due(other, moment)]

    def not_moved(self, moving: Moving) -> None:
        """Go on to owe a document to a home."""
        self._moving.discard((moving.home, moving.document))
        self._custody.unsent(moving.home, (moving.document,))

    # --- another gateway of the unit --------------------------------------------------------------

    def _is_cut_off(self, home: str) -> bool:
        level = self._levels.of(home)
        return self._levels.are_several and level is not None and level.is_cut_off

    def _offer(self, home: str, parcels: Iterable[Parcel]) -> list[Instruction]:
        """Ask other gateways to bring on what this one cannot."""
        instructions: list[Instruction] = []
        for parcel in parcels:
            others = self._bearers(home, parcel)
            if fresh := [each for each in others if each not in self._turned_away]:
                level = self._levels.of(fresh[0])
                assert level is not None, "it can be reached"
                other = level.nearest(fresh)
                self._custody.offer(other, parcel.id)
                self._offers.setdefault((other, parcel.id), set()).add(home)
                instructions += self._publishing.send_to(other, parcel)
            else:
                self._turned_away.difference_update(others)  # perhaps they can the next time
        return instructions

    def _bearers(self, home: str, parcel: Parcel) -> list[str]:
        """The homes at other gateways that could bring a document on, and want it."""
        bearers = self._levels.bearers(home, parcel.id.origin)
        level = self._levels.of(bearers[0]) if bearers else None
        if level is None or parcel.scope > level.depth:
            return []
        if parcel.to:
            return bearers
        wanting = level.documents.homes(parcel.content, parcel.id.origin, parcel.scope)
        return [each for each in bearers if each in wanting]

    def _brought_on(self, other: str, document: DocumentId, moment: Moment) -> list[Instruction]:
        """Owe a document no more that another gateway has taken over."""
        instructions: list[Instruction] = []
        for home in self._offers.pop((other, document), ()):
            if self._custody.confirm(home, (document,)):
                instructions.append(Store(0, Confirm(home, (document,), moment.time)))
                instructions += self._send_due(home, moment)
        return instructions

    def _send_again(
        self, home: str, parcels: Iterable[Parcel], moment: Moment
    ) -> list[Instruction]:
        instructions: list[Instruction] = []
        for parcel in parcels:
            if not self._custody.is_owed(home, parcel.id):
                continue
            if parcel.is_outdated(moment.time):
                instructions += self._give_up(home, parcel.id, moment)
                continue
            instructions += self._publishing.send_to(home, parcel)
        return instructions

    def _give_up(self, home: str, document: DocumentId, moment: Moment) -> list[Instruction]:
        """Owe a document no more that has expired."""
        self._custody.confirm(home, (document,))
        if self._has_store:
            confirm = Confirm(home, (document,), moment.time)
            return [Outdated(document), Store(0, confirm)]
        return [Outdated(document), *self._publishing.refused(home, document, "it has expired")]
