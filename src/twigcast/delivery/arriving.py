"""Documents that come from other brokers: passed on, stored, taken over, confirmed.

    Came ──► router ──► neighbours, ephemeral queues
                │
                ├──► stored, for durable subscriptions here ─────┬──► receipt to the custodian
                └──► at a gateway: taken over for homes beyond ──┘
                     (:meth:`~twigcast.delivery.publishing.Publishing.take_over`)

A document is passed on at once in the overlay in which it came: its custodian answers for it.  It
is confirmed when it is safe here, refused if it can never be taken, and left unanswered while it
cannot be stored: it comes again.

A document that has expired goes no further, and is confirmed without being stored.  Where others
are owed it, too, its custodian notices that by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from twigcast.delivery.custody import Receipts, line_of
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
from twigcast.delivery.levels import Level, Levels, broker_of, group_of, reduced
from twigcast.delivery.publications import RecentPublications
from twigcast.delivery.publishing import (
    CUT_OFF,
    NO_HOME,
    OTHER_CONTENT,
    Publishing,
    Taken,
    published,
)
from twigcast.delivery.queues import Queues
from twigcast.delivery.room import FullError, Room
from twigcast.delivery.writes import Entry, KeepDocument, Kept, NoteReceived, Parcel
from twigcast.errors import DocumentError
from twigcast.routing import Copy, Document, DocumentId

RECEIPT_DELAY = 0.01
"""How long, in seconds, receipts gather before they are sent."""
_UNCERTAIN: Final = 3600.0
"""How long, in seconds, a unit or broker may still become known: links may have been down."""


class Arrival(NamedTuple):
    """A document of another broker's that is being stored, or noted."""

    parcel: Parcel
    entries: tuple[Entry, ...] = ()
    taken: Taken | None = None
    """From whom, if it was owed to us."""


class _Due(NamedTuple):
    """What a custodian is to hear of its documents."""

    stored: dict[DocumentId, None]
    refused: dict[DocumentId, str]


class Arriving:
    """What comes from other brokers and is not confirmed yet; ``wait`` gives a write's ticket."""

    def __init__(
        self,
        broker: str,
        levels: Levels,
        queues: Queues,
        receipts: Receipts,
        publishing: Publishing,
        offered: RecentPublications,
        room: Room,
        *,
        has_store: bool,
        wait: Callable[[Arrival], int],
    ) -> None:
        self._broker = broker
        self._levels = levels
        self._documents = levels.innermost.documents
        self._queues = queues
        self._receipts = receipts
        self._publishing = publishing
        self._offered = offered
        self._room = room
        self._has_store = has_store
        self._wait = wait
        self._lacks_since = math.inf
        """Since when destinations come up that are not known here."""
        self._due: dict[tuple[str, str], _Due] = {}
        """By custodian and home of ours."""

    def take(self, said: Routed, link: str, moment: Moment) -> list[Instruction]:
        """Take a document that came along a tree."""
        level = self._levels.at(said.depth)
        parcel = said.parcel
        if level is None or parcel.scope > level.depth:  # it ought not to be here
            return []
        document = Document(
            parcel.id, said.tree, parcel.content, said.depth, parcel.scope, said.trace
        )
        owed, instructions = self._owed_to_us(said, level)
        try:
            routed = level.documents.route(document, link)
        except DocumentError as error:  # its custodian takes more than this broker
            instructions.append(Drop(parcel.id, str(error)))
            return instructions + self._refuse_all(owed, str(error))
        if routed is None:
            instructions.append(Repeat(str(parcel.id)))
            return instructions + self._store(parcel, level, owed, [], (), moment)
        if parcel.is_outdated(moment.time):
            instructions.append(Outdated(parcel.id))
            return instructions + self._store(parcel, level, owed, [], (), moment)
        entries, others = self._queues.split(routed.recipients)
        beyond = []
        for copy in routed.copies:
            if copy.document.depth == level.depth:
                instructions.append(Send(tuple(copy.neighbours), said))
            else:
                beyond.append(copy)
        if others.deliveries and self._offered.is_first(parcel):
            instructions.append(Offer(parcel, others))
        if any(home in (level.home, level.inside) for home, _ in said.debts):
            entries = ()  # what is owed here is enough
        return instructions + self._store(parcel, level, owed, beyond, entries, moment)

    def take_addressed(self, said: Routed, moment: Moment) -> list[Instruction]:
        """Take a document that was sent again: it did not come before, or its receipt got lost."""
        level = self._levels.at(said.depth)
        if level is None or said.parcel.scope > level.depth:
            return []
        owed, instructions = self._owed_to_us(said, level)
        parcel = said.parcel
        if not owed:
            is_ours = any(home in level.own for home, _ in said.debts)
            return [Repeat(str(parcel.id)), *instructions] if is_ours else instructions
        if parcel.is_outdated(moment.time):
            instructions.append(Outdated(parcel.id))
        return instructions + self._store(parcel, level, owed, [], (), moment)

    def _owed_to_us(self, said: Routed, level: Level) -> tuple[list[Taken], list[Instruction]]:
        """What homes of ours are owed and have not had; what was had is confirmed again."""
        owed: list[Taken] = []
        instructions: list[Instruction] = []
        custody = said.custody or said.parcel.id
        for home, settled in said.debts if self._has_store or said.parcel.to else ():
            if home not in level.own:
                if broker_of(home) == self._broker:
                    taken = Taken(home, custody, custody, settled)
                    instructions += self._refuse(taken, NO_HOME)
            else:
                line = line_of(home, custody, is_standing=home != level.home)
                taken = Taken(home, custody, line, min(settled, custody.number))
                if self._receipts.begin(line, settled):
                    owed.append(taken)
                elif self._receipts.has(line):
                    instructions += self._confirm(taken)
        return owed, instructions

    def _store(
        self,
        parcel: Parcel,
        level: Level,
        owed: list[Taken],
        beyond: list[Copy],
        entries: tuple[Entry, ...],
        moment: Moment,
    ) -> list[Instruction]:
        """Store a document for durable subscriptions here, and take it over for homes beyond.

        Copies that go beyond what is owed there do so when that is safe.
        """
        if parcel.publisher:
            parcel = parcel._replace(publisher="")
        if self._levels.are_several:
            parcel = published(parcel)
        instructions: list[Instruction] = []
        for taken in owed:
            try:
                if parcel.is_outdated(moment.time):
                    instructions += self._note(parcel, taken)
                    continue
                if parcel.to:
                    instructions += self._store_addressed(parcel, level, taken, moment)
                    continue
                onward = self._levels.beyond(level, taken.home, parcel)
                keep = KeepDocument(
                    parcel,
                    moment.time,
                    self._entries(parcel) if onward.is_for_queues else (),
                    onward.homes,
                    taken.settled,
                    line=taken.line,
                )
                if onward.homes and self._is_in_vain(level, taken):
                    instructions += self._turn_away(keep, taken, moment)
                elif onward.homes:
                    is_inside = taken.home == level.inside
                    copies = [
                        each for each in beyond if (each.document.depth > level.depth) is is_inside
                    ]
                    instructions += self._take_over(taken, keep, copies, moment)
                    beyond = [each for each in beyond if each not in copies]
                else:
                    instructions += self._keep(keep, taken)
            except DocumentError as error:
                instructions.append(Drop(parcel.id, str(error)))
                instructions += self._refuse_all([taken], str(error))
            except FullError as error:
                self._receipts.failed(taken.line)
                instructions.append(Drop(parcel.id, str(error)))
        if entries and self._has_store:
            instructions += self._keep_unowed(parcel, entries, moment)
        return instructions + (self._publishing.pass_on(parcel, beyond, moment) if beyond else [])

    def _note(self, parcel: Parcel, taken: Taken) -> list[Instruction]:
        """Note a document that was owed to us, and that nobody wants here or beyond."""
        ticket = self._wait(Arrival(parcel, (), taken))
        return [Store(ticket, NoteReceived(taken.line, taken.settled))]

    def _store_addressed(
        self, parcel: Parcel, level: Level, taken: Taken, moment: Moment
    ) -> list[Instruction]:
        """Store a document that is addressed, for durable subscriptions here and homes beyond.

        Where none of its destinations can be had it is refused; where some cannot, it is a letter
        besides.  A broker that does not know a destination may not know it yet; it leaves the
        document unconfirmed for a while.  Raises DocumentError and FullError.
        """
        parcel = reduced(parcel, taken.home)
        onward = self._levels.addressed_beyond(level, taken.home, parcel.to)
        entries, missing = self._queues.named(self._broker, parcel.to)
        if onward.lacking:
            self._lacks_since = min(self._lacks_since, moment.now)
            if moment.now < self._lacks_since + _UNCERTAIN:
                self._receipts.failed(taken.line)
                return [Drop(parcel.id, onward.lacking[0])]
        lacking = "; ".join((*onward.lacking, *missing))
        if lacking and not (entries or onward.homes):
            return self._refuse_all([taken], lacking)
        self._documents.recipients(parcel.content)
        keep = KeepDocument(
            parcel, moment.time, entries, onward.homes, taken.settled, lacking, taken.line
        )
        if onward.homes and self._is_in_vain(level, taken):
            return self._turn_away(keep, taken, moment)
        if onward.homes:
            return self._take_over(taken, keep, [], moment)
        return self._keep(keep, taken)

    def _take_over(
        self, taken: Taken, keep: KeepDocument, copies: list[Copy], moment: Moment
    ) -> list[Instruction]:
        """Take over a document for homes beyond; raises FullError.

        What has no room in a queue here goes on all the same.  It is not confirmed, so it comes
        again, and then it is for the queues here only.
        """
        if self._receipts.has_passed(taken.line):
            return self._keep(keep._replace(homes=()), taken)
        try:
            return self._publishing.take_over(taken, keep, copies, moment)
        except FullError as error:
            if not keep.entries:
                raise
            part = keep._replace(entries=(), settled=None, is_part=True)
            rest = taken._replace(is_part=True)
            return [
                Drop(keep.parcel.id, str(error)),
                *self._publishing.take_over(rest, part, copies, moment),
            ]

    def _is_in_vain(self, level: Level, taken: Taken) -> bool:
        """Whether another gateway of the unit would have us bring on what we cannot either."""
        beyond = level.above if taken.home == level.outside else level.below
        if beyond is None or not beyond.is_cut_off:
            return False
        return taken.custody.origin in map(broker_of, level.group(group_of(taken.home)))

    def _turn_away(self, keep: KeepDocument, taken: Taken, moment: Moment) -> list[Instruction]:
        """Leave a document to the gateway that has it, but for queues here."""
        instructions = self._refuse_all([taken], CUT_OFF)
        if keep.entries:
            instructions += self._keep_unowed(keep.parcel, keep.entries, moment)
        return instructions

    def _entries(self, parcel: Parcel) -> tuple[Entry, ...]:
        """The queues here of whoever wants a document; raises DocumentError."""
        return self._queues.split(self._documents.recipients(parcel.content, parcel.id.origin))[0]

    def _keep(self, keep: KeepDocument, taken: Taken) -> list[Instruction]:
        """Keep a document for durable subscriptions here; raises FullError."""
        parcel, entries = keep.parcel, keep.entries
        if not entries:
            return self._note(parcel, taken)
        self._room.reserve(parcel, entries, self._queues)
        return [Store(self._wait(Arrival(parcel, entries, taken)), keep)]

    def _keep_unowed(
        self, parcel: Parcel, entries: tuple[Entry, ...], moment: Moment
    ) -> list[Instruction]:
        """Keep a document that no custodian knows to be wanted here."""
        try:
            self._room.reserve(parcel, entries, self._queues)
        except FullError as error:
            return [Drop(parcel.id, str(error))]
        ticket = self._wait(Arrival(parcel, entries))
        return [Store(ticket, KeepDocument(parcel, moment.time, entries))]

    # --- stored -----------------------------------------------------------------------------------

    def stored(self, arrival: Arrival, kept: Kept | None, moment: Moment) -> list[Instruction]:
        """Note that a document is safe, and confirm it."""
        parcel, entries, taken = arrival
        instructions: list[Instruction] = []
        if entries and kept is not None:
            self._room.written(parcel, entries, is_kept=kept.is_added)
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
        return instructions + ([] if taken is None else self.has_taken(taken))

    def failed(self, arrival: Arrival) -> None:
        """Note that a document could not be stored; it comes again."""
        if arrival.entries:
            self._room.written(arrival.parcel, arrival.entries, is_kept=False)
        if arrival.taken is not None:
            self.has_not_taken(arrival.taken)

    def has_taken(self, taken: Taken) -> list[Instruction]:
        """Confirm what is safe here, unless it is still to come to queues."""
        if taken.is_part:
            self._receipts.passed(taken.line)
            return []
        self._receipts.done(taken.line)
        return self._confirm(taken)

    def has_not_taken(self, taken: Taken) -> None:
        """Leave unconfirmed what could not be stored: it comes again."""
        self._receipts.failed(taken.line)

    # --- receipts ---------------------------------------------------------------------------------

    def _confirm(self, taken: Taken) -> list[Instruction]:
        due, instructions = self._due_about(taken)
        due.stored[taken.custody] = None
        return instructions

    def _refuse_all(self, owed: list[Taken], reason: str) -> list[Instruction]:
        instructions: list[Instruction] = []
        for taken in owed:
            self._receipts.failed(taken.line)
            instructions += self._refuse(taken, reason)
        return instructions

    def _refuse(self, taken: Taken, reason: str) -> list[Instruction]:
        due, instructions = self._due_about(taken)
        due.refused[taken.custody] = reason
        return instructions

    def _due_about(self, taken: Taken) -> tuple[_Due, list[Instruction]]:
        instructions: list[Instruction] = [] if self._due else [Wake(RECEIPT_DELAY)]
        key = taken.custody.origin, taken.home
        return self._due.setdefault(key, _Due({}, {})), instructions

    def send_receipts(self) -> list[Instruction]:
        """Confirm and refuse what is due."""
        instructions: list[Instruction] = []
        for (custodian, home), due in self._due.items():
            level = self._levels.of(home)
            assert level is not None, "it is a home of ours"
            hop = level.documents.next_hop(custodian)
            if hop is not None:
                about = "" if home == self._broker else home
                receipt = Receipt(tuple(due.stored), tuple(due.refused.items()), about)
                said = Addressed(custodian, self._broker, receipt, depth=level.depth)
                instructions.append(Send((hop,), said))
        self._due.clear()
        return instructions
