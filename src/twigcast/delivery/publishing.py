"""From a publisher's document to its answer: matched, stored, released in order.

    Published ──► router ──► stored, if somebody wants it durably ──► Answer
                                        │
                                        └──► released: neighbours, ephemeral and durable queues

A document leaves for others when it is safe, in the order in which its publisher gave it.  It is
safe on the disk of this broker; where this broker has none, on those of all homes that want it.
So a broker without a store refuses a document while a home that wants it cannot be reached, and
answers only when all have confirmed it.

A gateway takes documents over from other brokers: it keeps what is owed beyond it, and releases it
there when that is safe.  What passes it from the same broker keeps its order.

Where another process may open the store, this one may not know yet that it has, nor what is wanted
there since.  So a *guarded* broker answers only after a write, also what it need not store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from twigcast.delivery.custody import Custody, Debt
from twigcast.delivery.events import (
    Addressed,
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
from twigcast.delivery.held import Held, Taken
from twigcast.delivery.levels import Levels, broker_of, group_of, reduced
from twigcast.delivery.publications import Publication, RecentPublications
from twigcast.delivery.queues import Queues
from twigcast.delivery.room import Room
from twigcast.delivery.writes import NOTHING, Confirm, Entry, KeepDocument, Kept, Parcel
from twigcast.errors import RefusedError
from twigcast.routing import NOBODY, Copy, DocumentId, Recipients, shared_depth

UNCONFIRMED: Final = 30.0
"""How long, in seconds, a broker without a store waits for homes to confirm a document."""
NO_HOME: Final = "this broker stands there for nobody any more"
CUT_OFF: Final = "this gateway reaches nobody there now"
"""What a gateway says to another one of its unit that would have it bring something on."""
UNROUTED: Final = "nobody wants it"
_UNNAMED: Final = "\t"
"""Begins a publication that no publisher has named; the document's id follows."""


class Publishing:
    """What was published here and is not answered, or not released."""

    def __init__(
        self,
        broker: str,
        levels: Levels,
        queues: Queues,
        custody: Custody,
        offered: RecentPublications,
        room: Room,
        *,
        has_store: bool,
        keep_all: bool,
        keep_unrouted: bool,
        is_guarded: bool,
        wait: Callable[[Held], int],
    ) -> None:
        self._broker = broker
        self._levels = levels
        self._documents = levels.innermost.documents
        self._wait = wait
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

    def publish(self, event: Published, moment: Moment) -> list[Instruction]:
        """Take a document.

        Raises DocumentError for what is none, NetworkError where the client must advertise before,
        and RefusedError where it cannot be taken.
        """
        known = self._publications.find(event.publication) if event.publication else None
        if known is not None:
            return self._again(event, known)
        if 0 < event.expires <= moment.time:
            raise RefusedError(EXPIRED, "invalid")
        route = self._address if event.to else self._match
        identity, copies, recipients, entries, homes, own, is_wanted = route(event)
        parcel = Parcel(
            identity,
            event.content,
            moment.time,
            event.publication,
            event.headers,
            event.expires,
            event.publisher,
            event.scope,
            event.to,
        )
        if self._levels.innermost.depth or self._levels.are_several:
            parcel = published(parcel)
        held = Held([event.ticket], event.link, parcel, copies, recipients, own=own)
        if self._has_store:
            aside = UNROUTED if self._keep_unrouted and not is_wanted else ""
            if entries or homes or self._keep_all or aside:
                self._room.reserve(parcel, entries, self._queues)
                held.keep = KeepDocument(parcel, moment.time, entries, homes, aside=aside)
            instructions = self._enter(held, moment)
        else:
            instructions = self._publish_unstored(held, homes, moment)
        if event.publication:
            here = Publication(str(parcel.id), _fingerprint(event))
            self._publications.add(event.publication, here)
            if held.tickets:
                self._unanswered[event.publication] = held
        return instructions

    def _match(self, event: Published) -> _Concerned:
        """Whom a document concerns by what it matches."""
        routed = self._documents.publish(event.content, event.link, event.foreseen, event.scope)
        entries, recipients = self._queues.split(routed.recipients)
        homes: tuple[str, ...] = ()
        own: tuple[str, ...] = ()
        if routed.homes:
            innermost = self._levels.innermost
            parcel = Parcel(routed.document.id, event.content, 0, scope=event.scope)
            onward = self._levels.debtors(innermost, routed.homes, parcel)
            homes, own = onward.homes, onward.own
        is_wanted = bool(homes or routed.recipients.deliveries or routed.copies)
        return _Concerned(
            routed.document.id, routed.copies, recipients, entries, homes, own, is_wanted=is_wanted
        )

    def _address(self, event: Published) -> _Concerned:
        """Whom a document concerns that is addressed; raises RefusedError if it lacks one."""
        for each in event.to:
            if shared_depth(self._broker, each.broker) < event.scope:
                raise RefusedError(
                    f"{each} is outside the unit that the document is kept within: leave out the "
                    "scope, or address it to others",
                    "invalid",
                )
        onward = self._levels.addressed(self._levels.innermost, event.to)
        entries, missing = self._queues.named(self._broker, event.to)
        for lacking in (*onward.wrong, *onward.lacking, *missing):
            raise RefusedError(lacking, "unknown")
        identity = self._documents.accept(event.content, event.foreseen)
        self._levels.cross(onward.own, is_wanted=True)
        return _Concerned(identity, [], NOBODY, entries, onward.homes, (), is_wanted=True)

    def _again(self, event: Published, known: Publication) -> list[Instruction]:
        if known.fingerprint != _fingerprint(event):
            raise RefusedError(OTHER_CONTENT, "taken")
        held = self._unanswered.get(event.publication)
        if held is not None:
            held.tickets.append(event.ticket)
            return [Repeat(known.id)]
        return [Repeat(known.id), Answer(event.ticket, known.id)]

    # --- with a store -----------------------------------------------------------------------------

    def _enter(self, held: Held, moment: Moment) -> list[Instruction]:
        waiting = self._unreleased.get(held.link)
        if held.keep is not None:
            if waiting is None:
                waiting = self._unreleased[held.link] = deque()
            waiting.append(held)
            return [Store(self._wait(held), held.keep)]
        # Nothing of it is stored, so it is answered though it may be sent only in its turn.
        if self._is_guarded and held.tickets:
            instructions: list[Instruction] = [Store(self._wait(held), NOTHING)]
        else:
            instructions = self._answer(held)
        if waiting is None:
            return self._release(held, moment) + instructions
        waiting.append(held)
        return instructions

    def take_over(
        self,
        taken: Taken,
        keep: KeepDocument,
        copies: list[Copy],
        moment: Moment,
        *,
        goes_along: bool,
    ) -> list[Instruction]:
        """Take over a document from another broker, and release it beyond when it is safe.

        Raises FullError.
        """
        parcel = keep.parcel
        self._room.reserve(parcel, keep.entries, self._queues)
        held = Held([], _passing(parcel), parcel, copies, NOBODY, keep, taken=taken, own=taken.own)
        held.custody = self._custody.call()
        held.goes_along = goes_along
        return self._enter(held, moment)

    def pass_on(self, parcel: Parcel, copies: list[Copy], moment: Moment) -> list[Instruction]:
        """Release a document of another broker's beyond this one, which nobody is owed there."""
        return self._enter(Held([], _passing(parcel), parcel, copies, NOBODY), moment)

    def stored(self, held: Held, kept: Kept | None, moment: Moment) -> list[Instruction]:
        """Note that a document is safe, and release what has waited for it.

        None is kept of one that only waited to be answered.
        """
        if kept is None:
            return self._answer(held)
        held.kept = kept
        assert held.keep is not None, "something of it is stored"
        self._room.written(held.parcel, held.keep.entries, is_kept=kept.is_added)
        instructions: list[Instruction] = []
        if held.is_ours:
            document = held.parcel.id
            for home in held.keep.homes:
                if self._custody.has_settled(home, document):
                    instructions.append(Store(0, Confirm(home, (document,), moment.time)))
                else:
                    self._custody.owe(home, document, held.custody)
        return instructions + self._release_in_turn(held, moment)

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
        if not tickets:  # nobody here has published it, or all are answered
            return []
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
            # What cannot be taken over goes on to whoever is not owed it.
            return [] if held.taken is None else self._send(held, (), moment)
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
        # Retention may have been quicker; and what was taken over before has another name.
        owed = [each for each in homes if self._custody.is_owed(each, document)]
        called = self._custody.called(owed[0], document) if owed else held.custody or document
        owed = [each for each in owed if self._custody.called(each, document) == called]
        if held.parcel.to:
            for home in owed:
                if self._levels.can_reach(home):
                    self._custody.sent(home, document, moment.now)
                    instructions += self.send_to(home, held.parcel)
            return instructions
        for copy in held.copies:
            level = self._levels.at(copy.document.depth)
            assert level is not None, "a document leaves where this broker takes part"
            here = [home for home in owed if self._levels.of(home) is level]
            for home in here:
                if level.documents.leads(copy.document.tree, broker_of(home)):
                    self._custody.sent(home, document, moment.now)
            debts = [self._custody.debt(home, document) for home in here]
            # Other gateways by which it goes on take it over, too.
            own = (home for home in held.own if self._levels.of(home) is level)
            debts += (Debt(home, 0) for home in own if len(level.group(group_of(home))) > 1)
            custody = called if debts and called != document else None
            going = copy.document
            said = Routed(held.parcel, going.tree, tuple(debts), custody, level.depth, going.trace)
            instructions.append(Send(tuple(copy.neighbours), said))
        for home in owed if held.goes_along else ():
            level = self._levels.of(home)
            if level is not None and level.bringing(document.origin):
                self._custody.sent(home, document, moment.now)
        return instructions

    def send_to(self, home: str, parcel: Parcel) -> list[Instruction]:
        """Send a document to a home by itself that is owed it."""
        level, hop = self._levels.of(home), self._levels.next_hop(home)
        if hop is None or level is None:
            return []
        debts = (self._custody.debt(home, parcel.id),)
        custody = self._custody.called(home, parcel.id)
        called = None if custody == parcel.id else custody
        said = Routed(reduced(parcel, home), "", debts, called, level.depth)
        addressed = Addressed(broker_of(home), self._broker, said, depth=level.depth)
        return [Send((hop,), addressed, self._custody.was_sent(home, parcel.id))]

    # --- without one ------------------------------------------------------------------------------

    def _publish_unstored(
        self, held: Held, homes: tuple[str, ...], moment: Moment
    ) -> list[Instruction]:
        for home in homes:
            if not self._levels.can_reach(home):
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
            lost = [home for home in held.homes if not self._levels.can_reach(home)]
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


class _Concerned(NamedTuple):
    """A document that was published, and everyone whom it concerns."""

    identity: DocumentId
    copies: list[Copy]
    recipients: Recipients
    entries: tuple[Entry, ...]
    homes: tuple[str, ...]
    own: tuple[str, ...]
    """Our homes that take it over at once."""
    is_wanted: bool


def published(parcel: Parcel) -> Parcel:
    """A document that may come to a unit by several gateways, and is one by its publication."""
    return parcel if parcel.publication else parcel._replace(publication=f"{_UNNAMED}{parcel.id}")


def is_published_as_another(parcel: Parcel) -> bool:
    """Whether a document takes the publication of another one, which no broker gives it."""
    publication = parcel.publication
    return publication.startswith(_UNNAMED) and publication != f"{_UNNAMED}{parcel.id}"


def _fingerprint(event: Published) -> int:
    """What tells one publication from another in this process."""
    if event.to or event.scope:
        return hash((event.content, event.to, event.scope))
    return hash(event.content)


def _passing(parcel: Parcel) -> str:
    """What keeps documents in order that pass a gateway: where they were published."""
    return f"\0{parcel.id.origin}"


EXPIRED: Final = "the document has expired already: publish it with a later time, or without one"
OTHER_CONTENT: Final = (
    "another document was published under this id, or the same one for others: give each document "
    "an id of its own"
)
