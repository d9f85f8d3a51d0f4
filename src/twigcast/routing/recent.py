"""Which documents have been seen already, with bounded memory.

Along a tree each document comes once.  While trees change it may come by the old path and by the
new one, or go round; a broker that has seen it drops it then.  Where a unit of brokers has parted,
a document may come by several trees; it follows each of them once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from twigcast.routing.messages import DocumentId

WINDOW = 4096
_MOST_LIVES = 4096


class RecentDocuments:
    """The documents of each incarnation of an origin that were seen last, by tree.

    Of each the last ``window`` numbers are remembered; what is older than that is taken to have
    been seen.  Which of two incarnations is the later one does not matter.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._lives: dict[tuple[str, int, str], _Life] = {}

    def add(self, document: DocumentId, tree: str = "") -> bool:
        """Take note of a document; whether it is new."""
        key = (document.origin, document.incarnation, tree)
        life = self._lives.get(key)
        if life is None:
            if len(self._lives) >= _MOST_LIVES:
                del self._lives[next(iter(self._lives))]
            life = self._lives[key] = _Life()
        return life.add(document.number, self._window)


@dataclass(slots=True, eq=False)
class _Life:
    highest: int = -1
    pruned: int = 0  # how high the highest was when what is too old was forgotten
    seen: set[int] = field(default_factory=set)

    def add(self, number: int, window: int) -> bool:
        if number <= self.highest - window or number in self.seen:
            return False
        self.seen.add(number)
        if number > self.highest:
            self.highest = number
            if number > self.pruned + window:
                self.pruned = number
                self.seen = {each for each in self.seen if each > number - window}
        return True
