"""The channels to one neighbour: what they are sent for, what was sent, and what is to be sent.

This outlives the link, at the end that sends (:mod:`~twigcast.routing.journal`)::

    courses ──► arrange ──► channels ──► take ──► Update(serve, changes) ──► neighbour
                               ▲           └──► journal ──┐
                               └── catch_up ◄── rewind ◄──┘   when the link has come back
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from twigcast.language import Pattern
from twigcast.routing.channels import Channel, Course, continued
from twigcast.routing.journal import Journal
from twigcast.routing.messages import Mark, Update

NewChannel: TypeAlias = Callable[[int, Callable[[], None]], Channel]
"""Makes a channel with a number that calls when it has something to send."""

_NO_TREES: frozenset[str] = frozenset()
_FEW: Final = 64
"""So many changes are no reason to begin anew."""


class Sent:
    """The channels to a neighbour; without a journal they cannot outlive the link."""

    def __init__(self, new_channel: NewChannel, *, has_journal: bool = True) -> None:
        self.channels: dict[int, Channel] = {}
        self.on_news: Callable[[], None] | None = None
        """Called when a channel has something to send; None while the link is down."""
        self._new_channel = new_channel
        self._journal = Journal() if has_journal else None
        self._served: dict[int, frozenset[str]] = {}  # by channel, the trees that it was sent for
        self._next = 0
        self._changed = 0

    def arrange(self, courses: Iterable[Course]) -> None:
        """Let the channels take these courses, and be no others."""
        self._note_news()
        before = self.channels
        self.channels = {}
        for course, number in continued(before, courses):
            if number is None:
                self._next += 1
                number = self._next
                channel = self._new_channel(number, self._note_news)
            else:
                channel = before.pop(number)
            if channel.course != course:
                channel.set_course(course)
            self.channels[number] = channel

    def _note_news(self) -> None:
        if self.on_news is not None:
            self.on_news()
        else:
            self._changed += 1

    def take(self, most: int) -> Update:
        """What channels serve and want, as far as that is not what this last gave.

        It has up to so many patterns of each channel; :meth:`on_news` is called if more are left.
        """
        served = self._served
        serving = {number: channel.course.trees for number, channel in self.channels.items()}
        serve = [each for each in serving.items() if each[1] != served.get(each[0])]
        closed = [(number, _NO_TREES) for number in served if number not in serving]
        changes = [
            (number, channel.take_change(most))
            for number, channel in self.channels.items()
            if channel.has_news
        ]
        if any(channel.has_news for channel in self.channels.values()):
            self._note_news()
        changed = tuple(each for each in changes if each[1])
        update = Update(serve=(*serve, *closed), changes=changed)
        if self._journal is not None:
            self._journal.note(update, served)
        self._served = serving
        return update

    # --- when the link is down, or has come back --------------------------------------------------

    def suspend(self) -> None:
        """Send nothing until the link comes back."""
        self.on_news = None
        self._changed = 0

    @property
    def is_outdated(self) -> bool:
        """Whether so much has changed since the link went down that to begin anew costs less.

        Where everything is withdrawn, nothing is what there is to send anew.
        """
        return self._journal is None or self._changed > self._journal.size // 2 + _FEW

    def rewind(self, mark: Mark) -> bool:
        """Let what a neighbour with this mark does not know be sent again.

        False where nothing is known of such a mark.  :meth:`catch_up` does the work.
        """
        return self._journal is not None and self._journal.rewind(mark)

    @property
    def is_behind(self) -> bool:
        """Whether something that was lost has yet to be taken back."""
        return self._journal is not None and self._journal.is_rewinding

    def catch_up(self, most: int) -> int:
        """Take back up to so many things that were lost; how many are left of ``most``."""
        while self._journal is not None and self._journal.is_rewinding and most > 0:
            number, sign, item = self._journal.take_back()
            if isinstance(item, Pattern):
                if number in self.channels:
                    self.channels[number].take_back(item, sign)
            elif item is None:
                del self._served[number]
            else:
                self._served[number] = item
            most -= 1
        return most
