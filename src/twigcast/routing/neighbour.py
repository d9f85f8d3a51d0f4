"""What stands between a broker and one of its neighbours, at the broker's end.

Everything here lives as long as the link is up, at both ends alike; when it comes up again, all is
told anew.  What is to be told is collected while one message is handled and leaves in one
:class:`~twigcast.routing.messages.Update`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from twigcast.routing.channels import Channel, Course, continued
from twigcast.routing.messages import AdvertisementKey, LinkState, Update
from twigcast.routing.promises import Promise


@dataclass(slots=True)
class Incoming:
    """A channel at the end that is told."""

    source: int
    trees: frozenset[str]


class Neighbour:
    """A broker at the other end of a link."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.advertised: dict[AdvertisementKey, Promise] = {}
        """What the neighbour has told of advertisements."""
        self.incoming: dict[int, Incoming] = {}
        self.outgoing: dict[int, Channel] = {}
        self._told: dict[AdvertisementKey, Promise] = {}
        self._next = 0
        self._states: list[LinkState] = []
        self._advertise: dict[AdvertisementKey, Promise] = {}
        self._unadvertise: dict[AdvertisementKey, None] = {}
        self._serve: dict[int, frozenset[str]] = {}

    def serving(self, tree: str) -> Iterable[int]:
        """The sources of the channels on which the neighbour tells what it wants of a tree."""
        for channel in self.incoming.values():
            if tree in channel.trees:
                yield channel.source

    def tell_states(self, states: Iterable[LinkState]) -> None:
        """Pass on link states."""
        self._states.extend(states)

    def tell_advertisements(self, wanted: Mapping[AdvertisementKey, Promise]) -> None:
        """Let the neighbour know of these advertisements and of no others."""
        for key in [key for key, promise in self._told.items() if wanted.get(key) != promise]:
            del self._told[key]
            self._unadvertise[key] = None
        for key, promise in wanted.items():
            if key not in self._told:
                self._told[key] = promise
                self._advertise[key] = promise

    def arrange(self, courses: Iterable[Course], new_channel: Callable[[int], Channel]) -> None:
        """Let the channels to the neighbour take these courses, and be no others."""
        before = self.outgoing
        self.outgoing = {}
        for course, number in continued(before, courses):
            if number is None:
                self._next += 1
                number = self._next
                channel = new_channel(number)
            else:
                channel = before.pop(number)
            if channel.course.trees != course.trees:
                self._serve[number] = course.trees
            if channel.course != course:
                channel.set_course(course)
            self.outgoing[number] = channel
        for number in before:
            self._serve[number] = frozenset()

    def take_update(self) -> Update | None:
        """What is to be told since this was last asked, if there is anything."""
        changes = [
            (number, channel.take_change())
            for number, channel in self.outgoing.items()
            if channel.has_news
        ]
        changes = [each for each in changes if each[1]]
        if not (self._states or self._advertise or self._unadvertise or self._serve):
            return Update(changes=tuple(changes)) if changes else None
        update = Update(
            tuple(self._states),
            tuple(self._advertise.items()),
            tuple(self._unadvertise),
            tuple(self._serve.items()),
            tuple(changes),
        )
        self._states.clear()
        self._advertise.clear()
        self._unadvertise.clear()
        self._serve.clear()
        return update
