"""Which documents have been seen already, with bounded memory.

Along a tree each document comes once.  While trees change it may come by the old path and by the
new one, or go round; a broker that has seen it drops it then.
"""

from __future__ import annotations

from twigcast.routing.messages import Document, DocumentId

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

    def add(self, document: Document) -> bool:
        """Take note of a document, or of a path of it; whether it is new."""
        origin = self._origins.get(document.id.origin)
        if origin is None or origin.incarnation < document.id.incarnation:
            if origin is None and len(self._origins) >= _MOST_ORIGINS:
                del self._origins[next(iter(self._origins))]
            origin = self._origins[document.id.origin] = _Origin(document.id.incarnation)
        return origin.add(document.id, document.path, self._window)


class _Origin:
    __slots__ = ("highest", "incarnation", "pruned", "seen")

    def __init__(self, incarnation: int) -> None:
        self.incarnation = incarnation
        self.highest = -1
        self.pruned = 0  # how high the highest was when what is too old was forgotten
        self.seen: set[int | tuple[int, int]] = set()  # documents, or their paths

    def add(self, document: DocumentId, path: int | None, window: int) -> bool:
        number = document.number
        if document.incarnation < self.incarnation or number <= self.highest - window:
            return False
        key = number if path is None else (number, path)
        if key in self.seen:
            return False
        self.seen.add(key)
        if number > self.highest:
            self.highest = number
            if number > self.pruned + window:
                self.pruned = number
                self.seen = {each for each in self.seen if _number(each) > number - window}
        return True


def _number(seen: int | tuple[int, int]) -> int:
    return seen if isinstance(seen, int) else seen[0]
