"""From a publisher's document to its answer: matched, stored, released in order.

    Published ──► router ──► stored, if somebody wants it durably ──► Answer
                                        │
                                        └──► released: neighbours, ephemeral and durable queues

A document leaves for others when it is safe, in the order in which its publisher gave it.  It is
safe on the disk of this broker; where this broker has none, on those of all homes that want it.
So a broker without a store refuses a document while a home that wants it cannot be reached, and
answers only when all have confirmed it.

Where another process may open the store, this one may not know yet that it has, nor what is wanted
there since.  So a *guarded* broker answers only after a write, also what it need not store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from twigcast.delivery.custody import Custody
from twigcast.delivery.events import (
    Answer,
    Instruction,
    Moment,
    Offer,
    Published,
    Queue,
    Repeat,
    Routed,
    Send,
    Store,
)
from twigcast.delivery.publications import Publication, RecentPublications
from twigcast.delivery.queues import Queues
from twigcast.delivery.room import Room
from twigcast.delivery.writes import NOTHING, Entry, KeepDocument, Kept, Parcel, is_of
from twigcast.errors import RefusedError
from twigcast.routing import Copy, DocumentId, DocumentRouter, Recipients
from twigcast.routing import Routed as RoutedDocument

UNCONFIRMED: Final = 30.0
"""How long, in seconds, a broker without a store waits for homes to confirm a document."""
UNROUTED: Final = "nobody wants it"


@dataclass(slots=True, eq=False)
class Held:
    """A document that is not released yet, or not answered."""

    tickets: list[int]
    link: str
    parcel: Parcel
    copies: list[Copy]
    recipients: Recipients
    """The ephemeral subscriptions that want it."""
    keep: KeepDocument | None = None
    kept: Kept | None = None
    failure: str = ""
    homes: set[str] = field(default_factory=set)
    """Without a store: those that have not confirmed it."""
    until: float = 0.0
    """Without a store: when it is given up."""

    @property
    def is_settled(self) -> bool:
        """Whether it is safe, need not be, or cannot be."""
        return self.keep is None or self.kept is not None or bool(self.failure)

    @property
    def is_ours(self) -> bool:
        """Whether this broker answers for it: it was not refused, and did not come before."""
        if self.failure:
            return False
        kept = self.kept
        if kept is None or not kept.known:
            return True
        return not kept.is_other and not is_of(kept.known, self.parcel.id.origin)


class Publishing:
    """What was published here and is not answered, or not released."""

    def __init__(
        self,
        broker: str,
        documents: DocumentRouter,
        queues: Queues,
        custody: Custody,
        offered: RecentPublications,
        room: Room,
        *,
        has_store: bool,
        keep_all: bool,
        keep_unrouted: bool,
        is_guarded: bool,
    ) -> None:
        self._broker = broker
        self._documents = documents
        self._queues = queues
        self._custody = custody
        self._publications = RecentPublications()
        self._offered = offered
        self._room = room
        self._has_store = has_store
        self._keep_all = keep_all
        self._keep_unrouted = keep_unrouted
        self._is_guarded = is_guarded
        self._unreleased: dict[str, deque[Held]] = {}
        """By publisher: what is not safe yet, and what must not overtake it."""
        self._unanswered: dict[str, Held] = {}
        """By publication, what is being stored."""
        self._unconfirmed: dict[DocumentId, Held] = {}
        """Without a store: what homes have not confirmed."""

    def publish(
        self, event: Published, ticket: int, moment: Moment
    ) -> tuple[Held | None, list[Instruction]]:
        """Take a document; what waits for the write under a ticket, if anything does.

        Raises DocumentError for what is none, NetworkError where the client must advertise before,
        and RefusedError where it cannot be taken.
        """
        known = self._publications.find(event.publication) if event.publication else None
        if known is not None:
            return None, self._again(event, known)
        if 0 < event.expires <= moment.time:
            raise RefusedError(EXPIRED, "invalid")
        routed = self._documents.publish(event.content, event.link, event.foreseen)
        parcel = Parcel(
            routed.document.id,
            event.content,
            moment.time,
            event.publication,
            event.headers,
            event.expires,
            event.publisher,
        )
        entries, recipients = self._queues.split(routed.recipients)
        held = Held([event.ticket], event.link, parcel, routed.copies, recipients)
        if self._has_store:
            held.keep = self._what_to_keep(routed, parcel, entries, moment)
            instructions = self._enter(held, ticket, moment)
        else:
            instructions = self._publish_unstored(held, routed.homes, moment)
        if event.publication:
            here = Publication(str(parcel.id), hash(event.content))
            self._publications.add(event.publication, here)
            if held.tickets:
                self._unanswered[event.publication] = held
        return held if self._has_store and held.tickets else None, instructions

    def _what_to_keep(
        self, routed: RoutedDocument, parcel: Parcel, entries: tuple[Entry, ...], moment: Moment
    ) -> KeepDocument | None:
        is_wanted = routed.homes or routed.recipients.deliveries or routed.copies
        aside = UNROUTED if self._keep_unrouted and not is_wanted else ""
        if not (entries or routed.homes or self._keep_all or aside):
            return None
        self._room.reserve(parcel, entries, self._queues)
        return KeepDocument(parcel, moment.time, entries, tuple(routed.homes), aside=aside)

    def _again(self, event: Published, known: Publication) -> list[Instruction]:
        if known.fingerprint != hash(event.content):
            raise RefusedError(OTHER_CONTENT, "taken")
        held = self._unanswered.get(event.publication)
        if held is not None:
            held.tickets.append(event.ticket)
            return [Repeat(known.id)]
        return [Repeat(known.id), Answer(event.ticket, known.id)]

    # --- with a store -----------------------------------------------------------------------------

    def _enter(self, held: Held, ticket: int, moment: Moment) -> list[Instruction]:
        waiting = self._unreleased.get(held.link)
        if held.keep is not None:
            if waiting is None:
                waiting = self._unreleased[held.link] = deque()
            waiting.append(held)
            return [Store(ticket, held.keep)]
        # Nothing of it is stored, so it is answered though it may be sent only in its turn.
        instructions: list[Instruction] = [Store(ticket, NOTHING)]
        if not self._is_guarded:
            instructions = self._answer(held)
        if waiting is None:
            return self._release(held, moment) + instructions
        waiting.append(held)
        return instructions

    def stored(self, held: Held, kept: Kept | None, moment: Moment) -> list[Instruction]:
        """Note that a document is safe, and release what has waited for it.

        None is kept of one that only waited to be answered.
        """
        if kept is None:
            return self._answer(held)
        held.kept = kept
        assert held.keep is not None, "something of it is stored"
        is_kept = held.is_ours and bool(held.keep.homes or not kept.known)
        self._room.written(held.parcel, held.keep.entries, is_kept=is_kept)
        if held.is_ours:
            for home in held.keep.homes:
                self._custody.owe(home, held.parcel.id)
        return self._release_in_turn(held, moment)

    def failed(self, held: Held, reason: str, moment: Moment) -> list[Instruction]:
        """Note that a document could not be stored; its publisher hears of it."""
        held.failure = reason
        if held.keep is None:
            return self._answer(held)
        self._room.written(held.parcel, held.keep.entries, is_kept=False)
        return self._release_in_turn(held, moment)

    def _release_in_turn(self, held: Held, moment: Moment) -> list[Instruction]:
        instructions = self._answer(held)
        waiting = self._unreleased[held.link]
        while waiting and waiting[0].is_settled:
            instructions += self._release(waiting.popleft(), moment)
        if not waiting:
            del self._unreleased[held.link]
        return instructions

    def _answer(self, held: Held) -> list[Instruction]:
        tickets, held.tickets = held.tickets, []
        own = id_ = str(held.parcel.id)
        code = reason = ""
        if held.failure:
            id_, code, reason = "", "unavailable", held.failure
        elif held.kept is not None and held.kept.known:
            id_ = held.kept.known
            if held.kept.is_other:
                id_, code, reason = "", "taken", OTHER_CONTENT
        publication = held.parcel.publication
        if publication:
            self._unanswered.pop(publication, None)
            if id_ != own:
                self._publications.forget(publication, own)
        return [Answer(each, id_, code, reason) for each in tickets]

    def _release(self, held: Held, moment: Moment) -> list[Instruction]:
        """Let a document go to everybody whom it concerns."""
        if not held.is_ours:
            return []
        instructions: list[Instruction] = []
        homes: tuple[str, ...] = ()
        if held.keep is not None and held.kept is not None:
            homes = held.keep.homes
            if queued := self._queues.enter(held.keep.entries, held.kept.sequences):
                instructions.append(Queue(held.parcel, queued))
        return instructions + self._send(held, homes, moment)

    def _send(self, held: Held, homes: Iterable[str], moment: Moment) -> list[Instruction]:
        instructions: list[Instruction] = []
        if held.recipients.deliveries and self._offered.is_first(held.parcel):
            instructions.append(Offer(held.parcel, held.recipients))
        document = held.parcel.id
        # Retention may have been quicker.
        owed = [each for each in homes if self._custody.is_owed(each, document)]
        for home in owed:
            if self._documents.can_reach(home):
                self._custody.sent(home, document, moment.now)
        for copy in held.copies:
            debts = tuple(self._custody.debt(home, document) for home in owed)
            said = Routed(held.parcel, copy.document.tree, debts)
            instructions.append(Send(tuple(copy.neighbours), said))
        return instructions

    # --- without one ------------------------------------------------------------------------------

    def _publish_unstored(self, held: Held, homes: list[str], moment: Moment) -> list[Instruction]:
        for home in homes:
            if not self._documents.can_reach(home):
                raise RefusedError(
                    f"durable subscriptions at {home} want this document, {home} cannot be "
                    f"reached, and {self._broker} keeps nothing: publish it again later, or at a "
                    "broker with a store",
                    "unavailable",
                )
        for home in homes:
            self._custody.owe(home, held.parcel.id)
        instructions = self._send(held, homes, moment)
        if not homes:
            return instructions + self._answer(held)
        held.homes = set(homes)
        held.until = moment.now + UNCONFIRMED
        self._unconfirmed[held.parcel.id] = held
        return instructions

    def confirmed(self, home: str, documents: tuple[DocumentId, ...]) -> list[Instruction]:
        """Note that a home has documents of a broker without a store."""
        instructions: list[Instruction] = []
        for document in documents:
            held = self._unconfirmed.get(document)
            if held is not None:
                held.homes.discard(home)
                if not held.homes:
                    del self._unconfirmed[document]
                    instructions += self._answer(held)
        return instructions

    def refused(self, home: str, document: DocumentId, reason: str) -> list[Instruction]:
        """Note that a home can never take a document of a broker without a store."""
        held = self._unconfirmed.pop(document, None)
        if held is None:
            return []
        held.failure = f"{home} does not take it: {reason}"
        return self._give_up(held)

    def look_at_unconfirmed(self, now: float) -> list[Instruction]:
        """Answer for what homes have not confirmed in time, or cannot any more."""
        instructions: list[Instruction] = []
        for document, held in list(self._unconfirmed.items()):
            lost = [home for home in held.homes if not self._documents.can_reach(home)]
            if lost or now > held.until:
                del self._unconfirmed[document]
                named = ", ".join(sorted(lost or held.homes))
                held.failure = (
                    f"durable subscriptions at {named} want this document, and it is not certain "
                    f"that they have it: publish it again, under the same id"
                )
                instructions += self._give_up(held)
        return instructions

    def _give_up(self, held: Held) -> list[Instruction]:
        for home in held.homes:
            self._custody.confirm(home, (held.parcel.id,))
        return self._answer(held)

    def parcels(self, documents: list[DocumentId]) -> list[Parcel]:
        """Documents that are not confirmed, to be sent again."""
        return [self._unconfirmed[each].parcel for each in documents if each in self._unconfirmed]


EXPIRED: Final = "the document has expired already: publish it with a later time, or without one"
OTHER_CONTENT: Final = (
    "another document was published under this id: give each document an id of its own"
)
