"""What stands between a broker and one of its neighbours, at the broker's end.

A neighbour is another broker, or a leaf: another overlay as a whole, which a gateway speaks for.

Everything here lives as long as the link is up, at both ends alike; when the link comes up again,
everything is sent anew.  Link states and advertisements are collected while one message is handled,
and leave in an :class:`~twigcast.routing.messages.Update` with the answer.  The trees that channels
serve and the patterns on them are gathered, and leave in another when the broker flushes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from twigcast.routing.channels import Channel, Course, continued
from twigcast.routing.messages import AdvertisementKey, LinkState, Update
from twigcast.routing.promises import Promise

Advertised: TypeAlias = Mapping[AdvertisementKey, Promise]


@dataclass(slots=True)
class Incoming:
    """A channel at the end that receives."""

    source: int
    trees: frozenset[str] = frozenset()


_NONE: frozenset[int] = frozenset()
_NO_TREES: frozenset[str] = frozenset()


class Neighbour:
    """A broker at the other end of a link."""

    def __init__(self, name: str, to_answer: dict[str, None], gathered: dict[str, None]) -> None:
        self.name = name
        self._to_answer = to_answer  # neighbours to send something to at once
        self._gathered = gathered  # neighbours for whom something is gathered
        self.incoming: dict[int, Incoming] = {}
        self.outgoing: dict[int, Channel] = {}
        self._advertised: dict[str, dict[AdvertisementKey, Promise]] = {}  # by origin
        self._serving: dict[str, frozenset[int]] = {}
        self._sent: dict[AdvertisementKey, Promise] = {}
        self._sent_from: dict[str, set[AdvertisementKey]] = {}  # by origin
        self._served: dict[int, frozenset[str]] = {}  # by channel, the trees that it was sent for
        self._next = 0
        self._states: list[LinkState] = []
        self._advertise: dict[AdvertisementKey, Promise] = {}
        self._unadvertise: dict[AdvertisementKey, None] = {}

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

    # --- what is sent to the neighbour ------------------------------------------------------------

    @property
    def is_broker(self) -> bool:
        """Whether it is a single broker, which has the same overlay as we."""
        return True

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

    def arrange(self, courses: Iterable[Course], new_channel: Callable[[int], Channel]) -> None:
        """Let the channels to the neighbour take these courses, and be no others."""
        self.gather()
        before = self.outgoing
        self.outgoing = {}
        for course, number in continued(before, courses):
            if number is None:
                self._next += 1
                number = self._next
                channel = new_channel(number)
            else:
                channel = before.pop(number)
            if channel.course != course:
                channel.set_course(course)
            self.outgoing[number] = channel

    def gather(self) -> None:
        """Note that something is gathered for the neighbour."""
        self._gathered[self.name] = None

    def take_answer(self) -> Update:
        """The link states and advertisements to send, since this was last called."""
        update = Update(
            tuple(self._states), tuple(self._advertise.items()), tuple(self._unadvertise)
        )
        self._states.clear()
        self._advertise.clear()
        self._unadvertise.clear()
        return update

    def take_gathered(self) -> Update:
        """What channels serve and want, as far as that is not what this last gave."""
        served = self._served
        serving = {number: channel.course.trees for number, channel in self.outgoing.items()}
        serve = [each for each in serving.items() if each[1] != served.get(each[0])]
        closed = [(number, _NO_TREES) for number in served if number not in serving]
        self._served = serving
        changes = [
            (number, channel.take_change())
            for number, channel in self.outgoing.items()
            if channel.has_news
        ]
        if any(channel.has_news for channel in self.outgoing.values()):
            self.gather()
        return Update(serve=(*serve, *closed), changes=tuple(each for each in changes if each[1]))


class Leaf(Neighbour):
    """Another overlay as a whole; what it wants, it wants of all trees that lead to it."""

    def __init__(
        self, name: str, to_answer: dict[str, None], gathered: dict[str, None], source: int
    ) -> None:
        super().__init__(name, to_answer, gathered)
        self.incoming[LEAF_CHANNEL] = Incoming(source)
        self._source = frozenset((source,))

    @property
    def is_broker(self) -> bool:
        return False

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
