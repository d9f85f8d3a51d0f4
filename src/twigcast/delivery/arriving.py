"""Documents that come from other brokers: passed on, stored, taken over, confirmed.

    Came ──► router ──► neighbours, ephemeral queues
                │
                ├──► stored, for durable subscriptions here ─────┬──► receipt to the custodian
                └──► at a gateway: taken over for homes beyond ──┘
                     (:meth:`~twigcast.delivery.publishing.Publishing.take_over`)

A document is passed on at once in the overlay in which it came: its custodian answers for it.  It
is confirmed when it is safe here, refused if it can never be taken, and left unanswered while it
cannot be stored: it comes again.

Several gateways of a unit may take a document over, each by which it goes on.  They owe it to the
same homes, and each home has it from one of them only.  So a receipt goes to all of them; those
that did not send the document know it by its id.

A document that has expired goes no further, and is confirmed without being stored.  Where others
are owed it, too, its custodian notices that by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

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
from twigcast.delivery.held import Taken
from twigcast.delivery.lacking import Lacking
from twigcast.delivery.levels import Level, Levels, broker_of, group_of, reduced
from twigcast.delivery.publications import RecentPublications
from twigcast.delivery.publishing import (
    CUT_OFF,
    NO_HOME,
    OTHER_CONTENT,
    Publishing,
    published,
)
from twigcast.delivery.queues import Queues
from twigcast.delivery.room import FullError, Room
from twigcast.delivery.writes import Entry, KeepDocument, Kept, NoteReceived, Parcel
from twigcast.errors import DocumentError
from twigcast.routing import Copy, Document, DocumentId
from twigcast.routing import Routed as DocumentRouted

RECEIPT_DELAY = 0.01
"""How long, in seconds, receipts gather before they are sent."""


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
        self.lacking = Lacking()
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
        owed += self._adopted(said, level, routed)
        entries, others = self._queues.split(routed.recipients)
        beyond = []
        for copy in routed.copies:
            if copy.document.depth == level.depth:
                instructions.append(Send(tuple(copy.neighbours), said))
            else:
                beyond.append(copy)
        if others.deliveries and self._offered.is_first(parcel):
            instructions.append(Offer(parcel, others))
        owing = (*(home for home, _ in said.debts), *(each.home for each in owed))
        if any(home in (level.home, level.inside) for home in owing):
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
        return instructions + self._store(parcel, level, owed, [], (), moment, goes_along=False)

    def _adopted(self, said: Routed, level: Level, routed: DocumentRouted) -> list[Taken]:
        """What is owed to others of our groups, and goes on from here along its tree."""
        owed: list[Taken] = []
        if not (self._levels.are_several and self._has_store):
            return owed
        depths = {copy.document.depth for copy in routed.copies}
        custody = said.custody or said.parcel.id
        for home, settled in said.debts:
            ours = level.ours(home)
            if not ours or home in level.own:
                continue
            if ours == level.outside:
                goes_on = min(depths, default=level.depth) < level.depth
            else:
                has_clients = bool(routed.recipients.deliveries)
                goes_on = has_clients or max(depths, default=level.depth) > level.depth
            if not goes_on:
                continue
            if broker_of(home) == custody.origin:
                owed.append(Taken(ours, custody, None, None))
                continue
            line = line_of(ours, custody, is_standing=True)
            if self._receipts.begin(line, settled):
                owed.append(Taken(ours, custody, line, min(settled, custody.number)))
        return owed

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
        *,
        goes_along: bool = True,
    ) -> list[Instruction]:
        """Store a document for durable subscriptions here, and take it over for homes beyond.

        Copies that go beyond what is owed there do so when that is safe.
        """
        if parcel.publisher:
            parcel = parcel._replace(publisher="")
        if self._levels.are_several:
            parcel = published(parcel)
        instructions: list[Instruction] = []
        left = beyond
        for taken in owed:
            try:
                if parcel.is_outdated(moment.time):
                    instructions += self._note(parcel, taken)
                    continue
                if parcel.to:
                    instructions += self._store_addressed(parcel, level, taken, moment)
                    continue
                onward = self._levels.beyond(level, taken.home, parcel)
                taken = taken._replace(own=onward.own)
                entered = self._entries(parcel) if onward.is_for_queues else ()
                keep = KeepDocument(
                    parcel,
                    moment.time,
                    entered,
                    onward.homes,
                    taken.settled,
                    line=taken.line,
                    is_part=taken.line is None and not entered,
                )
                if onward.homes and self._is_in_vain(level, taken):
                    instructions += self._turn_away(keep, taken, moment)
                elif onward.homes:
                    is_inside = taken.home == level.inside
                    copies = [
                        each for each in beyond if (each.document.depth > level.depth) is is_inside
                    ]
                    goes_on = self._take_over(taken, keep, copies, moment, goes_along=goes_along)
                    instructions += goes_on
                    left = [each for each in left if each not in copies]
                else:
                    instructions += self._keep(keep, taken)
                if not goes_along or self._leaves_later(parcel, level, taken, routed=beyond):
                    is_wanted = bool(keep.homes or keep.entries)
                    self._levels.cross((taken.home, *taken.own), is_wanted=is_wanted)
            except DocumentError as error:
                instructions.append(Drop(parcel.id, str(error)))
                instructions += self._refuse_all([taken], str(error))
            except FullError as error:
                self.has_not_taken(taken)
                instructions.append(Drop(parcel.id, str(error)))
        if entries and self._has_store:
            instructions += self._keep_unowed(parcel, entries, moment)
        return instructions + (self._publishing.pass_on(parcel, left, moment) if left else [])

    def _leaves_later(
        self, parcel: Parcel, level: Level, taken: Taken, *, routed: list[Copy]
    ) -> bool:
        """Whether a document that came along a tree leaves the unit here, but not along it."""
        if taken.home != level.outside or level.above is None:
            return False
        leaves = any(each.document.depth < level.depth for each in routed)
        return not leaves and not level.above.bringing(parcel.id.origin)

    def _note(self, parcel: Parcel, taken: Taken) -> list[Instruction]:
        """Note a document that was owed to us, and that nobody wants here or beyond."""
        if taken.line is None or taken.settled is None:
            return []
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
        if onward.lacking and not (entries or onward.homes) and self._is_cut_off(level, taken):
            return self._refuse_all([taken], CUT_OFF)
        if onward.lacking and self.lacking.is_uncertain(moment.now):
            self.has_not_taken(taken)
            said = self.lacking.wait_for(onward.lacking[0], moment.now)
            return [Drop(parcel.id, said)] if said else []
        lacking = "; ".join((*onward.wrong, *onward.lacking, *missing))
        if lacking and not (entries or onward.homes):
            return self._refuse_all([taken], lacking)
        self._documents.recipients(parcel.content)
        keep = KeepDocument(
            parcel, moment.time, entries, onward.homes, taken.settled, lacking, taken.line
        )
        if onward.homes and self._is_in_vain(level, taken):
            return self._turn_away(keep, taken, moment)
        if onward.homes:
            instructions = self._take_over(taken, keep, [], moment, goes_along=False)
        else:
            instructions = self._keep(keep, taken)
        self._levels.cross((taken.home, *onward.own), is_wanted=True)
        return instructions

    def _take_over(
        self,
        taken: Taken,
        keep: KeepDocument,
        copies: list[Copy],
        moment: Moment,
        *,
        goes_along: bool,
    ) -> list[Instruction]:
        """Take over a document for homes beyond; raises FullError.

        What has no room in a queue here goes on all the same.  It is not confirmed, so it comes
        again, and then it is for the queues here only.
        """
        if taken.line is not None and self._receipts.has_passed(taken.line):
            return self._keep(keep._replace(homes=()), taken)
        take_over = partial(self._publishing.take_over, goes_along=goes_along)
        try:
            return take_over(taken, keep, copies, moment)
        except FullError as error:
            if not keep.entries:
                raise
            part = keep._replace(entries=(), settled=None, is_part=True)
            rest = taken._replace(is_part=True)
            return [
                Drop(keep.parcel.id, str(error)),
                *take_over(rest, part, copies, moment),
            ]

    def _is_cut_off(self, level: Level, taken: Taken) -> bool:
        """Whether we reach nobody in the overlay into which we would bring a document on."""
        beyond = level.above if taken.home == level.outside else level.below
        return beyond is not None and beyond.is_cut_off

    def _is_in_vain(self, level: Level, taken: Taken) -> bool:
        """Whether another gateway of the unit would have us bring on what we cannot either."""
        group = map(broker_of, level.group(group_of(taken.home)))
        return self._is_cut_off(level, taken) and taken.custody.origin in group

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
        return instructions + ([] if taken is None else self.has_taken(taken, parcel))

    def failed(self, arrival: Arrival) -> None:
        """Note that a document could not be stored; it comes again."""
        if arrival.entries:
            self._room.written(arrival.parcel, arrival.entries, is_kept=False)
        if arrival.taken is not None:
            self.has_not_taken(arrival.taken)

    def has_taken(self, taken: Taken, parcel: Parcel) -> list[Instruction]:
        """Confirm what is safe here, unless it is still to come to queues."""
        if taken.is_part:
            if taken.line is not None:
                self._receipts.passed(taken.line)
            return []
        instructions: list[Instruction] = []
        but = ""
        if taken.line is not None:
            self._receipts.done(taken.line)
            instructions = self._confirm(taken)
            but = taken.custody.origin
        for home in () if parcel.to else (taken.home, *taken.own):
            instructions += self.say(home, parcel.id, but if home == taken.home else "")
        return instructions

    def has_not_taken(self, taken: Taken) -> None:
        """Leave unconfirmed what could not be stored: it comes again."""
        if taken.line is not None:
            self._receipts.failed(taken.line)

    def say(self, home: str, document: DocumentId, but: str = "") -> list[Instruction]:
        """Confirm what one of our homes has to all gateways that may owe it, but for one."""
        level = self._levels.of(home)
        assert level is not None, "it is a home of ours"
        instructions: list[Instruction] = []
        for broker in level.bringing(document.origin):
            if broker != but:
                due, wake = self._due_about(broker, home)
                due.stored[document] = None
                instructions += wake
        return instructions

    # --- receipts ---------------------------------------------------------------------------------

    def _confirm(self, taken: Taken) -> list[Instruction]:
        due, instructions = self._due_about(taken.custody.origin, taken.home)
        due.stored[taken.custody] = None
        return instructions

    def _refuse_all(self, owed: list[Taken], reason: str) -> list[Instruction]:
        instructions: list[Instruction] = []
        for taken in owed:
            self.has_not_taken(taken)
            instructions += self._refuse(taken, reason)
        return instructions

    def _refuse(self, taken: Taken, reason: str) -> list[Instruction]:
        due, instructions = self._due_about(taken.custody.origin, taken.home)
        due.refused[taken.custody] = reason
        return instructions

    def _due_about(self, custodian: str, home: str) -> tuple[_Due, list[Instruction]]:
        instructions: list[Instruction] = [] if self._due else [Wake(RECEIPT_DELAY)]
        return self._due.setdefault((custodian, home), _Due({}, {})), instructions

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
