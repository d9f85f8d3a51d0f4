"""Who wants what, as one broker sees it: the publication routing table.

A *source* of patterns is a client, or a channel on which a neighbour sends what is wanted behind
it.  Sources have numbers.  A pattern is kept once, with the sources that want it, however many
there are::

    //Stock[Price>15]   ──►  3 (client desk-7), 5 (channel 1 of rome)
    /news/body//p       ──►  5 (channel 1 of rome)

The sources of the patterns that a document matches are where it may have to go.  Of a channel it
suffices to know that something matches, so patterns that no client wants are not named
(:mod:`~twigcast.routing.channel_sets`).  Those of clients are named by a matcher of their own: it
answers with numbers, and each number leads to the entry of its pattern.  A document is read twice
where there are patterns of both kinds; that takes less time than naming some hundred of them.

Documents with the same channels and the same patterns of clients have the same answer, the same
object: what others make of it need not be made for each.  The matchers are brought up to date when
a document comes; changes that undo each other in the meantime cost nothing there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from twigcast.documents import DocumentLimits, Source
from twigcast.errors import DocumentError, EvaluationBudgetError
from twigcast.language import Pattern
from twigcast.matching import BatchDestinations, BatchMatches, ByNumber, Matcher, ReaderName
from twigcast.routing.channel_sets import NO_CHANNELS, ChannelSets

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Wanting:
    """Who wants a document: channels, and clients with the patterns that it matches."""

    channels: frozenset[int]
    clients: Mapping[int, list[Pattern]]


class Foreseen(NamedTuple):
    """Who wants a document, or why it is none, as long as nothing else comes to be wanted."""

    answer: Wanting | DocumentError
    moment: int
    """After how many changes of what is wanted."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A pattern and its sources."""

    pattern: Pattern
    channels: frozenset[int] = NO_CHANNELS
    clients: dict[int, None] = field(default_factory=dict)
    unnamed: frozenset[int] = NO_CHANNELS
    """The channels that get documents without naming the pattern: all of them, or none."""


_SPARE_SETS: Final = 1024
_REMEMBERED: Final = 100_000
"""How many matches all answers have together that are kept, at most."""


class Interests:
    """Patterns, and the sources that want them; a source may want a pattern several times."""

    def __init__(
        self, limits: DocumentLimits | None = None, reader: ReaderName = "checked"
    ) -> None:
        self._named = Matcher(limits=limits, reader=reader)  # the patterns of clients
        self._channels = ChannelSets(limits, reader)
        self._entries: dict[str, _Entry] = {}  # by the text of the pattern
        # Entries that have changed since the matchers were brought up to date.  A pattern has one
        # entry for as long as a matcher has it, so that the number of a match leads to it.
        self._stale: dict[str, _Entry] = {}
        self._by_number = ByNumber(self._entries.__getitem__)
        self._patterns: dict[int, dict[Pattern, int]] = {}
        self._clients: dict[int, None] = {}
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self._next = 0
        self._moment = 0
        """How often what is wanted has changed."""
        self._answers: dict[tuple[bytes, bytes], Wanting] = {}  # by vectors and numbers
        self._answered: tuple[int, int] = (0, 0)  # the generation and moment of these answers
        self._remembered = 0  # matches of these answers

    def open(self, *, is_client: bool) -> int:
        """A new source, which wants nothing yet."""
        self._next += 1
        self._patterns[self._next] = {}
        if is_client:
            self._clients[self._next] = None
        return self._next

    def close(self, source: int) -> None:
        """Forget a source that wants nothing any more."""
        assert not self._patterns[source], "what a source wants is removed first"
        del self._patterns[source]
        self._clients.pop(source, None)

    @property
    def clients(self) -> AbstractSet[int]:
        """The sources that are clients."""
        return self._clients.keys()

    def add(self, source: int, pattern: Pattern) -> None:
        """Note that a source wants a pattern, once or once more."""
        self._moment += 1
        patterns = self._patterns[source]
        count = patterns.get(pattern, 0)
        patterns[pattern] = count + 1
        if count:
            return
        text = str(pattern)
        entry = self._entries.get(text)
        if entry is None:
            entry = self._entries[text] = self._stale.get(text) or _Entry(pattern)
        self._stale[text] = entry
        if source in self._clients:
            entry.clients[source] = None
        else:
            entry.channels = self._kept(entry.channels | {source})

    def remove(self, source: int, pattern: Pattern) -> None:
        """Note that a source ceases to want a pattern that it wanted, or does so once less."""
        self._moment += 1
        patterns = self._patterns[source]
        count = patterns[pattern]
        if count > 1:
            patterns[pattern] = count - 1
            return
        del patterns[pattern]
        text = str(pattern)
        entry = self._stale[text] = self._entries[text]
        if source in self._clients:
            del entry.clients[source]
        else:
            entry.channels = self._kept(entry.channels - {source})
        if not entry.clients and not entry.channels:
            del self._entries[text]

    def _kept(self, channels: frozenset[int]) -> frozenset[int]:
        if len(self._sets) > 2 * len(self._entries) + _SPARE_SETS:
            self._sets = {entry.channels: entry.channels for entry in self._entries.values()}
        return self._sets.setdefault(channels, channels)

    def patterns(self, source: int) -> Mapping[Pattern, int]:
        """What a source wants, and how many times."""
        return MappingProxyType(self._patterns[source])

    def wants(self, source: int, pattern: Pattern) -> bool:
        """Whether a source wants a pattern."""
        return pattern in self._patterns[source]

    def is_wanted(self, pattern: Pattern, channels: frozenset[int]) -> bool:
        """Whether a client wants a pattern, or one of these channels."""
        entry = self._entries.get(str(pattern))
        return entry is not None and (
            bool(entry.clients) or not entry.channels.isdisjoint(channels)
        )

    def count(self, pattern: Pattern, channels: frozenset[int]) -> int:
        """How many times clients and these channels want a pattern, all together."""
        entry = self._entries.get(str(pattern))
        if entry is None:
            return 0
        sources = (*entry.clients, *(entry.channels & channels))
        return sum(self._patterns[source][pattern] for source in sources)

    def match(self, document: Source, foreseen: Foreseen | None = None) -> Wanting:
        """Who wants a document, which may have been looked at before.

        Raises :class:`~twigcast.errors.DocumentError` for what is not a document.  A pattern that
        takes too much work is logged, and does no harm to the others.
        """
        if foreseen is None or foreseen.moment != self._moment:
            [foreseen] = self.foresee([document])
        answer = foreseen.answer
        if isinstance(answer, DocumentError):
            raise answer
        return answer

    def foresee(self, documents: Sequence[Source]) -> list[Foreseen]:
        """Match documents in one go, which costs less than one by one."""
        self.refresh()
        destinations = self._channels.match(documents) if len(self._channels) else None
        # Somebody has to see whether they are documents, also when nobody wants anything.
        is_needed = destinations is None or len(self._named)
        matches = self._named.match_batch(documents) if is_needed else None
        rows = b"" if destinations is None else destinations.vectors.tobytes()
        width = len(rows) // max(1, len(documents))
        answers: list[Foreseen] = []
        for number in range(len(documents)):
            error = _error_of(number, destinations, matches)
            if error is not None:
                answers.append(Foreseen(error, self._moment))
                continue
            row = rows[number * width : (number + 1) * width]
            answers.append(
                Foreseen(self._wanting(destinations, row, matches, number), self._moment)
            )
        return answers

    def _wanting(
        self,
        destinations: BatchDestinations | None,
        row: bytes,
        matches: BatchMatches | None,
        number: int,
    ) -> Wanting:
        """Who wants a document: the same object for the same matches, while nothing changes."""
        numbers = b""
        if matches is not None:
            begin, end = matches.offsets[number : number + 2]
            numbers = matches.ids[begin:end].tobytes()
        moment = 0 if matches is None else matches.generation, self._moment
        if moment != self._answered or self._remembered > _REMEMBERED:
            self._answers, self._answered, self._remembered = {}, moment, 0
        wanting = self._answers.get((row, numbers))
        if wanting is None:
            entries = [] if matches is None else self._by_number.of(matches, number)
            sets = [] if destinations is None else self._channels.sets(destinations[number])
            wanting = self._answers[row, numbers] = _wanting_of(entries, sets)
            self._remembered += 1 + len(entries)
        return wanting

    def refresh(self) -> None:
        """Bring the matchers up to date."""
        for text, entry in self._stale.items():
            channels = NO_CHANNELS if entry.clients else entry.channels
            entry.unnamed = self._channels.change(entry.pattern, entry.unnamed, channels)
            if not entry.clients and entry.unnamed == entry.channels:
                self._named.discard(text)
            elif text not in self._named:
                self._named.add(text, entry.pattern)
        self._stale.clear()

    def __len__(self) -> int:
        """The number of distinct patterns."""
        return len(self._entries)


def _error_of(
    number: int, *batches: BatchDestinations | BatchMatches | None
) -> DocumentError | None:
    """Why a document is none; what only was not decided is logged."""
    for batch in batches:
        error = batch.errors.get(number) if batch is not None and batch.errors else None
        if isinstance(error, EvaluationBudgetError):
            _log.warning("a document goes on without an answer for some: %s", error)
        elif error is not None:
            return error
    return None


def _wanting_of(entries: list[_Entry], sets: list[frozenset[int]]) -> Wanting:
    """Who wants the patterns that were named, and the sets of channels besides."""
    clients: dict[int, list[Pattern]] = {}
    for entry in entries:
        for client in entry.clients:
            if client in clients:
                clients[client].append(entry.pattern)
            else:
                clients[client] = [entry.pattern]
    every_set = {*sets, *(entry.channels for entry in entries)}
    return Wanting(NO_CHANNELS.union(*every_set), clients)
