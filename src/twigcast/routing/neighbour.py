"""What stands between a broker and one of its neighbours, at the broker's end.

A neighbour is another broker, or a leaf: another overlay as a whole, which a gateway speaks for.

A :class:`Neighbour` lives as long as the link is up.  Link states and advertisements are collected
while one message is handled, and leave in an :class:`~twigcast.routing.messages.Update` with the
answer; when the link comes up again, they are sent anew.  The trees that channels serve and the
patterns on them are gathered, and leave in another when the broker flushes.

The channels outlive the link: :class:`~twigcast.routing.sent.Sent` and :class:`Received` become a
:class:`Memory` when it goes down, with which the next neighbour of that name begins
(:mod:`~twigcast.routing.journal`)::

    LinkUp         the first update says what is remembered here
    note_known     what is remembered there: lost entries are taken back, or all is sent anew
    note_going_on  the neighbour goes on likewise: what it sent before holds again
    is_ready       all of this has been done: channels are arranged, and send again
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from twigcast.routing.channels import Channel, Course
from twigcast.routing.journal import followed
from twigcast.routing.messages import START, AdvertisementKey, LinkState, Mark, Update
from twigcast.routing.promises import Promise
from twigcast.routing.sent import NewChannel, Sent

Advertised: TypeAlias = Mapping[AdvertisementKey, Promise]


@dataclass(slots=True)
class Incoming:
    """A channel at the end that receives."""

    source: int
    trees: frozenset[str] = frozenset()


_NONE: frozenset[int] = frozenset()


class Received:
    """What a neighbour has sent on channels; this outlives the link."""

    def __init__(self) -> None:
        self.channels: dict[int, Incoming] = {}
        self.mark = START
        self._serving: dict[str, frozenset[int]] = {}

    @property
    def trees(self) -> Iterable[str]:
        """The trees for which there are channels."""
        return self._serving.keys()

    def serving(self, tree: str) -> frozenset[int]:
        """The sources of the channels on which the neighbour sends what it wants of a tree."""
        return self._serving.get(tree, _NONE)

    def note_serving(self, channel: Incoming, trees: frozenset[str]) -> frozenset[str]:
        """Note for which trees a channel holds from now on; the trees for which that is news."""
        source = {channel.source}
        for tree in trees - channel.trees:
            self._serving[tree] = self.serving(tree) | source
        for tree in channel.trees - trees:
            left = self._serving.pop(tree) - source
            if left:
                self._serving[tree] = left
        news = trees ^ channel.trees
        channel.trees = trees
        return news


class Memory(NamedTuple):
    """What is left of a link that is down."""

    received: Received
    sent: Sent


class Neighbour:
    """A broker at the other end of a link; ``memory`` is of the link's former life."""

    is_broker = True
    """Whether it is a single broker, which has the same overlay as we."""

    def __init__(
        self,
        name: str,
        to_answer: dict[str, None],
        gathered: dict[str, None],
        new_channel: NewChannel,
        memory: Memory | None = None,
    ) -> None:
        self.name = name
        self._to_answer = to_answer  # neighbours to send something to at once
        self._gathered = gathered  # neighbours for whom something is gathered
        self._new_channel = new_channel
        self.received = Received()
        self.sent = Sent(new_channel, has_journal=self.is_broker)
        self.former: Received | None = None
        """What was received before the link was down, until it is known whether that holds."""
        self.courses: list[Course] = []
        """What channels to the neighbour are to be, once it is ready."""
        self._advertised: dict[str, dict[AdvertisementKey, Promise]] = {}  # by origin
        self._sent: dict[AdvertisementKey, Promise] = {}
        self._sent_from: dict[str, set[AdvertisementKey]] = {}  # by origin
        self._states: list[LinkState] = []
        self._advertise: dict[AdvertisementKey, Promise] = {}
        self._unadvertise: dict[AdvertisementKey, None] = {}
        self._known: Mark | None = None  # to be sent, and likewise the next
        self._goes_on: Mark | None = None
        self.is_met = False
        """Whether an update has come since the link is up."""
        self._awaits_known = False
        if memory is not None:
            self.sent, self.former = memory.sent, memory.received
            self._known = self.former.mark
            self._awaits_known = True
        self.sent.on_news = self.gather

    @property
    def incoming(self) -> dict[int, Incoming]:
        """The channels from the neighbour, by number."""
        return self.received.channels

    @property
    def outgoing(self) -> dict[int, Channel]:
        """The channels to the neighbour, by number."""
        return self.sent.channels

    # --- what is remembered of the link -----------------------------------------------------------

    def note_known(self, known: Mark | None) -> bool:
        """Note what the neighbour remembers, as its first update says; later ones say nothing.

        False if what is remembered here is of no use: the neighbour remembers nothing.
        """
        self.is_met = True
        if not self._awaits_known:  # it learns from our own first update that we begin anew
            return True
        self._awaits_known = False
        if known is not None and self.sent.rewind(known):
            self._goes_on = known
        else:
            self.sent.suspend()
            self.sent = Sent(self._new_channel)
            self.sent.on_news = self.gather
            self._goes_on = None if known is None else START
        self._to_answer[self.name] = None
        return known is not None

    def note_going_on(self, mark: Mark) -> bool:
        """Note from where the neighbour goes on; whether what it sent before holds again."""
        if self.former is None or self.former.mark != mark:
            return False
        self.received, self.former = self.former, None
        return True

    @property
    def is_ready(self) -> bool:
        """Whether both ends have agreed on what they remember."""
        return not self._awaits_known and self.former is None and not self.sent.is_behind

    def memory(self) -> Memory:
        """What is to be remembered, now that the link is down."""
        self.sent.suspend()
        return Memory(self.former or self.received, self.sent)

    # --- what the neighbour has sent --------------------------------------------------------------

    @property
    def advertised(self) -> Advertised:
        """The advertisements that the neighbour has sent."""
        return {key: each for sent in self._advertised.values() for key, each in sent.items()}

    @property
    def origins(self) -> Iterable[str]:
        """The brokers whose advertisements the neighbour has sent."""
        return self._advertised.keys()

    def advertised_from(self, origin: str) -> Advertised:
        """The advertisements at a broker that the neighbour has sent."""
        return dict(self._advertised.get(origin, {}))

    def note_advertised(self, key: AdvertisementKey, promise: Promise) -> None:
        """Note an advertisement that the neighbour sends."""
        self._advertised.setdefault(key.origin, {})[key] = promise

    def note_unadvertised(self, key: AdvertisementKey) -> bool:
        """Note that an advertisement has ended; whether the neighbour had sent it."""
        sent = self._advertised.get(key.origin, {})
        if sent.pop(key, None) is None:
            return False
        if not sent:
            del self._advertised[key.origin]
        return True

    def serving(self, tree: str) -> frozenset[int]:
        """The sources of the channels on which the neighbour sends what it wants of a tree."""
        return self.received.serving(tree)

    def note_followed(self, update: Update) -> None:
        """Note that what an update says of channels has been taken in."""
        if self.is_broker:
            self.received.mark = followed(self.received.mark, update)

    # --- what is sent to the neighbour ------------------------------------------------------------

    def send_states(self, states: Iterable[LinkState]) -> None:
        """Put link states into the next update to the neighbour."""
        self._to_answer[self.name] = None
        self._states.extend(states)

    def send_advertised(self, origin: str, wanted: Advertised) -> None:
        """Let the neighbour know of these advertisements at a broker and of no others there."""
        self._to_answer[self.name] = None
        for key in self._sent_from.pop(origin, ()):
            if wanted.get(key) != self._sent[key]:
                del self._sent[key]
                if self._advertise.pop(key, None) is None:
                    self._unadvertise[key] = None
        for key, promise in wanted.items():
            if key not in self._sent:
                self._sent[key] = promise
                self._advertise[key] = promise
        if wanted:
            self._sent_from[origin] = set(wanted)

    def gather(self) -> None:
        """Note that something is gathered for the neighbour."""
        self._gathered[self.name] = None

    def take_answer(self) -> Update:
        """What cannot wait: all that has come up since this was last called."""
        update = Update(
            tuple(self._states),
            tuple(self._advertise.items()),
            tuple(self._unadvertise),
            known=self._known,
            goes_on=self._goes_on,
        )
        self._states.clear()
        self._advertise.clear()
        self._unadvertise.clear()
        self._known = self._goes_on = None
        return update

    def take_gathered(self, most: int) -> Update:
        """What channels serve and want, up to so many patterns of each, since this was called."""
        return self.sent.take(most) if self.is_ready else Update()


class Leaf(Neighbour):
    """Another overlay as a whole; what it wants, it wants of all trees that lead to it."""

    is_broker = False

    def __init__(
        self,
        name: str,
        to_answer: dict[str, None],
        gathered: dict[str, None],
        new_channel: NewChannel,
        source: int,
    ) -> None:
        super().__init__(name, to_answer, gathered, new_channel)
        self.incoming[LEAF_CHANNEL] = Incoming(source)
        self._source = frozenset((source,))

    def serving(self, tree: str) -> frozenset[int]:
        return self._source

    def rename(self, name: str) -> None:
        """Go on under another name."""
        for names in (self._to_answer, self._gathered):
            if self.name in names:
                del names[self.name]
                names[name] = None
        advertised = self._advertised.pop(self.name, {})
        self.name = name
        self._advertised[name] = {key._replace(origin=name): advertised[key] for key in advertised}


LEAF_CHANNEL: Final = 1
