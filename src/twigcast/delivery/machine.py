"""The machine of durable delivery: an event in, instructions out.

It has no clock, no socket and no disk: the same events at the same times give the same
instructions.  Whoever drives it carries them out in their order; a crash may come between any two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from twigcast.delivery.announcing import Announcing
from twigcast.delivery.arriving import Arrival, Arriving
from twigcast.delivery.consuming import Acknowledging, Consuming
from twigcast.delivery.custody import Custody, Receipts
from twigcast.delivery.durable_queue import DurableQueue
from twigcast.delivery.events import (
    Acknowledged,
    Addressed,
    Answer,
    Asked,
    AskKnown,
    Came,
    ConsumerLeft,
    DurableDropped,
    DurablePut,
    DurableWants,
    Event,
    Expired,
    GivenBack,
    HomeAsk,
    HomeForgotten,
    HomeVersions,
    Instruction,
    Leased,
    Loaded,
    MissedReported,
    Moment,
    NeighbourUp,
    Published,
    Receipt,
    Route,
    Routed,
    Send,
    Store,
    Stored,
    StoreFailed,
    Tick,
    TooLarge,
)
from twigcast.delivery.held import Held
from twigcast.delivery.homes import HomeState
from twigcast.delivery.levels import Levels
from twigcast.delivery.owing import Moving, Owing
from twigcast.delivery.publications import RecentPublications
from twigcast.delivery.publishing import Publishing
from twigcast.delivery.queues import Queues
from twigcast.delivery.room import Limits, Room
from twigcast.delivery.writes import (
    DropDurable,
    DropHome,
    Durable,
    Kept,
    PutDurable,
    PutHome,
    Replayed,
    StoreState,
)
from twigcast.language import Pattern, parse
from twigcast.routing import LinkDown, LinkKind, LinkUp, Router, Subscribe, Unsubscribe


class _Asking(NamedTuple):
    """Somebody waits for a write."""

    ticket: int


class _Putting(NamedTuple):
    """A durable subscription is being kept."""

    ticket: int
    write: PutDurable


class _Dropping(NamedTuple):
    """A durable subscription is being dropped; it is as it was if that fails."""

    ticket: int
    queue: DurableQueue
    wanted: dict[str, Pattern]


_Waiting: TypeAlias = (
    Held | Arrival | Moving | PutHome | _Asking | Acknowledging | _Putting | _Dropping
)


class Delivery:
    """What one broker does about documents; ``state`` is what its store has, None without one.

    ``router`` is asked where documents go, and told of durable subscriptions.  Whoever drives this
    tells the router of other clients and of links.  It ``is_guarded`` if another process may open
    the store, unnoticed for a while.
    """

    def __init__(
        self,
        router: Router,
        state: StoreState | None,
        *,
        limits: Limits = Limits(),  # noqa: B008 - it is immutable
        keep_all: bool = False,
        keep_unrouted: bool = False,
        is_guarded: bool = False,
    ) -> None:
        self._name = router.name
        self._has_store = state is not None
        self._state = StoreState(router.incarnation) if state is None else state
        self._router = router
        self._levels = Levels(router)
        self.queues = Queues()
        self._wanted: dict[str, dict[str, Pattern]] = {}
        """By durable subscription, what it wants, by key."""
        self._kept = {each.name: dict(each.expressions) for each in self._state.durables}
        """By durable subscription, what the store has of that."""
        self._tickets = count(1)
        self._writing: dict[int, _Waiting] = {}
        self.custody = Custody(
            self._name,
            router.documents.new_id,
            self._state.owed,
            may_return=self._levels.are_several,
        )
        self._room = Room(limits, self._state.bytes, self._state.publishers)
        offered = RecentPublications()
        self._publishing = Publishing(
            self._name,
            self._levels,
            self.queues,
            self.custody,
            offered,
            self._room,
            has_store=self._has_store,
            keep_all=keep_all,
            keep_unrouted=keep_unrouted,
            is_guarded=is_guarded,
            wait=self._wait,
        )
        self._owing = Owing(
            self._levels,
            self.custody,
            self._publishing,
            has_store=self._has_store,
            wait=self._wait,
        )
        self._arriving = Arriving(
            self._name,
            self._levels,
            self.queues,
            Receipts(self._state.received),
            self._publishing,
            offered,
            self._room,
            has_store=self._has_store,
            wait=self._wait,
        )
        self.announcing = Announcing(self._levels, self._state, has_store=self._has_store)
        self._consuming = Consuming(self.queues, self._wait)
        self._handlers: dict[type[Any], Callable[[Any, Moment], list[Instruction]]] = {
            Published: self._on_published,
            Stored: self._on_stored,
            StoreFailed: self._on_store_failed,
            Came: self._on_came,
            TooLarge: self._on_too_large,
            Loaded: self._on_loaded,
            NeighbourUp: self._on_neighbour_up,
            DurablePut: self._on_durable_put,
            DurableWants: self._on_durable_wants,
            DurableDropped: self._on_durable_dropped,
            Acknowledged: self._consuming.acknowledge,
            GivenBack: self._consuming.give_back,
            Leased: self._consuming.lease,
            ConsumerLeft: self._consuming.leave,
            MissedReported: self._consuming.report_missed,
            Asked: self._on_asked,
            HomeForgotten: self._on_home_forgotten,
            AskKnown: self._on_ask_known,
            Expired: self._on_expired,
            Tick: self._on_tick,
        }

    def begin(self) -> list[Instruction]:
        """Go on with what was kept; to be called once, before all events."""
        instructions = self.announcing.begin()
        for kept in self._state.durables:
            wanted = {key: parse(text) for key, text in kept.expressions.items()}
            instructions += self._open(kept)
            self._wanted[kept.name] = wanted
            scope = kept.options.scope
            self.announcing.restore_own(kept.name, wanted, scope)
            if wanted:
                link = self.queues.link(kept.name)
                instructions.append(Route(self._router.begin(Subscribe(wanted, scope), link)))
        return instructions

    def end(self) -> list[Instruction]:
        """What to write before a broker stops in order."""
        wanted = {
            name: {key: str(each) for key, each in patterns.items()}
            for name, patterns in self._wanted.items()
        }
        is_changing = any(isinstance(each, _Putting | _Dropping) for each in self._writing.values())
        # What is kept and not told yet must be told in the next life.
        return [] if is_changing or wanted != self._kept else self.announcing.end()

    def handle(self, event: Event, moment: Moment) -> list[Instruction]:
        """What to do, now that something has happened.

        Raises, for something published, DocumentError, NetworkError and RefusedError, and
        SubscriptionError for a neighbour's expression that cannot be read.
        """
        return self._handlers[type(event)](event, moment)

    # --- documents --------------------------------------------------------------------------------

    def _on_published(self, event: Published, moment: Moment) -> list[Instruction]:
        return self._publishing.publish(event, moment)

    def _on_came(self, event: Came, moment: Moment) -> list[Instruction]:
        said = event.message
        if isinstance(said, Routed):
            return self._arriving.take(said, event.link, moment)
        if isinstance(said, HomeVersions):
            return self.announcing.on_versions(said, event.link)
        if isinstance(said, HomeState):
            ticket = next(self._tickets)
            said_of = self.announcing.on_state(said, event.link, ticket, event.read)
            return self._await_home(said_of)
        if said.to != self._name:
            return self._pass_on(said)
        if isinstance(said.content, Routed):
            return self._arriving.take_addressed(said.content, moment)
        if isinstance(said.content, Receipt):
            return self._owing.on_receipt(said.content.home or said.sender, said.content, moment)
        if isinstance(said.content, HomeAsk):
            return self._on_home_ask(said, said.content, moment)
        return self.announcing.on_known(said.sender, said.content, moment.now)

    def _on_home_ask(self, said: Addressed, ask: HomeAsk, moment: Moment) -> list[Instruction]:
        level = self._levels.at(said.depth)
        if level is None:
            return []
        ticket = next(self._tickets)
        answers = self.announcing.on_ask(said.sender, ask, level, ticket, moment.now)
        return self._await_home(answers)

    def _await_home(self, instructions: list[Instruction]) -> list[Instruction]:
        for each in instructions:
            if isinstance(each, Store) and isinstance(each.write, PutHome):
                self._writing[each.ticket] = each.write
        return instructions

    def _next_hop(self, broker: str, depth: int) -> str | None:
        level = self._levels.at(depth)
        return None if level is None else level.documents.next_hop(broker)

    def _pass_on(self, said: Addressed) -> list[Instruction]:
        hop = self._next_hop(said.to, said.depth) if said.hops > 1 else None
        return [] if hop is None else [Send((hop,), said._replace(hops=said.hops - 1))]

    def _on_too_large(self, event: TooLarge, moment: Moment) -> list[Instruction]:
        """Tell the custodian of a document that it cannot get to a home.

        One that came along a tree is sent to the home by itself later, and then this is known.
        """
        said = event.message
        if not isinstance(said, Addressed) or not isinstance(said.content, Routed):
            return []
        custody = said.content.custody or said.content.parcel.id
        instructions: list[Instruction] = []
        for home, _ in said.content.debts:
            receipt = Receipt((), ((custody, event.reason),), home)
            if said.sender == self._name:
                instructions += self._owing.on_receipt(home, receipt, moment)
                continue
            hop = self._next_hop(said.sender, said.depth)
            message = Addressed(said.sender, self._name, receipt, depth=said.depth)
            instructions += [] if hop is None else [Send((hop,), message)]
        return instructions

    # --- writes -----------------------------------------------------------------------------------

    def _wait(self, waiting: _Waiting) -> int:
        """The ticket under which something waits for a write."""
        ticket = next(self._tickets)
        self._writing[ticket] = waiting
        return ticket

    def _on_stored(self, event: Stored, moment: Moment) -> list[Instruction]:
        waiting = self._writing.pop(event.ticket, None)
        kept = event.result if isinstance(event.result, Kept) else None
        if isinstance(waiting, Held):
            return self._on_held(waiting, kept, moment)
        if isinstance(waiting, Moving):
            return self._owing.moved(waiting, moment)
        if isinstance(waiting, Arrival):
            return self._arriving.stored(waiting, kept, moment)
        if isinstance(waiting, _Putting):
            return [*self._put(waiting.write), Answer(waiting.ticket)]
        if isinstance(waiting, PutHome):
            self.announcing.stored(waiting)
            return []
        if waiting is None:
            return []
        if isinstance(waiting, _Dropping):
            self._kept.pop(waiting.queue.name, None)
        if isinstance(event.result, Replayed):
            for durable, sequence in event.result.entries:
                queue = self.queues.get(durable)
                if queue is not None:
                    queue.revive(sequence)
        return [Answer(waiting.ticket, result=event.result)] if waiting.ticket else []

    def _on_held(self, held: Held, kept: Kept | None, moment: Moment) -> list[Instruction]:
        instructions = self._publishing.stored(held, kept, moment)
        if held.taken is not None:
            return instructions + self._arriving.has_taken(held.taken, held.parcel)
        for home in held.own if held.is_ours else ():
            instructions += self._arriving.say(home, held.parcel.id)
        return instructions

    def _on_store_failed(self, event: StoreFailed, moment: Moment) -> list[Instruction]:
        waiting = self._writing.pop(event.ticket, None)
        if isinstance(waiting, Held):
            if waiting.taken is not None:
                self._arriving.has_not_taken(waiting.taken)
            return self._publishing.failed(waiting, event.reason, moment)
        if isinstance(waiting, Moving):
            self._owing.not_moved(waiting)
            return []
        if isinstance(waiting, Acknowledging):
            self._consuming.failed(waiting)
        if isinstance(waiting, Arrival):
            self._arriving.failed(waiting)
            return []
        if isinstance(waiting, PutHome):
            self.announcing.not_stored(waiting)
            return []
        if waiting is None:
            return []
        instructions: list[Instruction] = []
        if isinstance(waiting, _Dropping):  # it is still kept
            name = waiting.queue.name
            self.queues.put(waiting.queue)
            self._wanted[name] = {}
            instructions += self._route_up(name)
            instructions += self._want(name, waiting.wanted, ())
        answer = Answer(waiting.ticket, code="unavailable", reason=event.reason)
        return [*instructions, answer] if waiting.ticket else instructions

    def _on_asked(self, event: Asked, moment: Moment) -> list[Instruction]:
        return [Store(self._wait(_Asking(event.ticket)), event.write)]

    # --- durable subscriptions --------------------------------------------------------------------

    def _on_durable_put(self, event: DurablePut, moment: Moment) -> list[Instruction]:
        return [Store(self._wait(_Putting(event.ticket, event.write)), event.write)]

    def _put(self, write: PutDurable) -> list[Instruction]:
        self._kept[write.name] = dict(write.expressions)
        queue = self.queues.get(write.name)
        if queue is not None:
            queue.options = write.options
            return []
        self._wanted[write.name] = {}
        return self._open(Durable(write.name, write.owner, {}, write.options))

    def _open(self, kept: Durable) -> list[Instruction]:
        self.queues.put(DurableQueue(kept))
        return self._route_up(kept.name)

    def _route_up(self, name: str) -> list[Instruction]:
        return [Route(self._router.begin(LinkUp(LinkKind.CLIENT), self.queues.link(name)))]

    def _on_durable_wants(self, event: DurableWants, moment: Moment) -> list[Instruction]:
        if event.durable not in self._wanted:
            return []
        return self._want(event.durable, event.add, event.remove)

    def _want(
        self, name: str, add: Mapping[str, Pattern], remove: tuple[str, ...]
    ) -> list[Instruction]:
        wanted = self._wanted[name]
        scope = self.queues[name].options.scope
        link = self.queues.link(name)
        instructions: list[Instruction] = []
        for key in remove:
            del wanted[key]
        wanted.update(add)
        if remove:
            instructions.append(Route(self._router.begin(Unsubscribe(remove), link)))
        if add:
            instructions.append(Route(self._router.begin(Subscribe(add, scope), link)))
        return instructions + self.announcing.change_own(name, add, remove, scope)

    def _on_durable_dropped(self, event: DurableDropped, moment: Moment) -> list[Instruction]:
        # First nothing more is queued for it.
        queue = self.queues.close(event.durable)
        wanted = self._wanted.pop(event.durable)
        sends = self._router.begin(LinkDown(), self.queues.link(event.durable))
        ticket = self._wait(_Dropping(event.ticket, queue, wanted))
        return [
            Route(sends),
            *self.announcing.change_own(event.durable, {}, tuple(wanted), queue.options.scope),
            Store(ticket, DropDurable(event.durable)),
        ]

    def wanted(self, durable: str) -> Mapping[str, Pattern]:
        """What a durable subscription wants, by key."""
        return self._wanted[durable]

    # --- what is owed -----------------------------------------------------------------------------

    def _on_loaded(self, event: Loaded, moment: Moment) -> list[Instruction]:
        return self._owing.on_loaded(event, moment)

    def _on_expired(self, event: Expired, moment: Moment) -> list[Instruction]:
        self._room.dropped(event.bytes, event.publishers)
        for name, first in event.first.items():
            queue = self.queues.get(name)
            if queue is not None:
                queue.trimmed(first, event.lost.get(name, 0))
        return self._owing.on_expired(event.owed)

    def _on_tick(self, event: Tick, moment: Moment) -> list[Instruction]:
        instructions = self._arriving.send_receipts() + self._owing.look(moment)
        instructions += self._consuming.look(moment)
        self._arriving.lacking.look(moment.now)
        return instructions + self.announcing.go_on_asking(moment.now)

    # --- homes ------------------------------------------------------------------------------------

    @property
    def waiting(self) -> tuple[str, ...]:
        """Why addressed documents wait where they are owed, and do not go on from here."""
        return self._arriving.lacking.reasons

    def can_reach(self, home: str) -> bool:
        """Whether links lead to a home, as far as is known."""
        return self._levels.can_reach(home)

    def _on_neighbour_up(self, event: NeighbourUp, moment: Moment) -> list[Instruction]:
        return self.announcing.send_versions(event.link)

    def _on_home_forgotten(self, event: HomeForgotten, moment: Moment) -> list[Instruction]:
        self.custody.forget(event.home)
        instructions: list[Instruction] = []
        if self._has_store:
            instructions.append(Store(0, DropHome(event.home)))
        return instructions + self.announcing.forget(event.home)

    def _on_ask_known(self, event: AskKnown, moment: Moment) -> list[Instruction]:
        return self.announcing.ask_known(event.ticket, event.patience, moment.now)
