"""Which documents have been seen already, with bounded memory.

Along a tree each document comes once.  While trees change it may come by the old path and by the
new one, or go round; a broker that has seen it drops it then.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twigcast.routing.messages import DocumentId

WINDOW = 4096
_MOST_ORIGINS = 4096


class RecentDocuments:
    """The documents of each origin that were seen last.

    Of each origin the last ``window`` numbers are remembered; what is older than that is taken to
    have been seen.  An earlier incarnation of an origin is older than all of a later one.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._origins: dict[str, _Origin] = {}

    def add(self, document: DocumentId) -> bool:
        """Take note of a document; whether it is new."""
        origin = self._origins.get(document.origin)
        if origin is None or origin.incarnation < document.incarnation:
            if origin is None and len(self._origins) >= _MOST_ORIGINS:
                del self._origins[next(iter(self._origins))]
            origin = self._origins[document.origin] = _Origin(document.incarnation)
        return origin.add(document, self._window)


@dataclass(slots=True, eq=False)
class _Origin:
    incarnation: int
    highest: int = -1
    pruned: int = 0  # how high the highest was when what is too old was forgotten
    seen: set[int] = field(default_factory=set)

    def add(self, document: DocumentId, window: int) -> bool:
        number = document.number
        if document.incarnation < self.incarnation or number <= self.highest - window:
            return False
        if number in self.seen:
            return False
        self.seen.add(number)
        if number > self.highest:
            self.highest = number
            if number > self.pruned + window:
                self.pruned = number
                self.seen = {each for each in self.seen if each > number - window}
        return True
