"""Who wants what, as one broker sees it: the publication routing table.

A *source* of patterns is a client, or a channel on which a neighbour sends what is wanted behind
it.  Sources have numbers.  A pattern is kept once, with the sources that want it, however many
there are::

    //Stock[Price>15]   ──►  3 (client desk-7), 5 (channel 1 of rome)
    /news/body//p       ──►  5 (channel 1 of rome)

A document is matched with all patterns in one go; the sources of those that match are where it may
have to go.  Of a channel it suffices to know that something matches, so patterns that no client
wants are not named (:mod:`~twigcast.routing.channel_sets`).  Of the others, the matcher gives
numbers, and each number leads to the entry of its pattern.  Documents with the same channels and
the same patterns of clients have the same answer, the same object: what others make of it need not
be made for each.  The matcher is brought up to date when a document comes; changes that undo each
other in the meantime cost nothing there.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from twigcast.documents import DocumentLimits, Source
from twigcast.errors import DocumentError, EvaluationBudgetError
from twigcast.language import Pattern
from twigcast.matching import BatchDestinations, ByNumber, Matcher, ReaderName
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


_NO_CLIENTS: Final[AbstractSet[int]] = frozenset()
_STALE: Final = 500
"""As many patterns as the next document may bring into the matcher."""
_SPARE_SETS: Final = 1024
_REMEMBERED: Final = 100_000
"""How many matches all answers have together that are kept, at most."""


class Interests:
    """Patterns, and the sources that want them; a source may want a pattern several times."""

    def __init__(
        self, limits: DocumentLimits | None = None, reader: ReaderName = "checked"
    ) -> None:
        self._matcher = Matcher(limits=limits, reader=reader)  # of named patterns, by their text
        self._channels = ChannelSets(self._matcher)
        self._entries: dict[str, _Entry] = {}  # by the text of the pattern
        # Entries that have changed since the matcher was brought up to date.  A pattern has one
        # entry for as long as the matcher has it, so that the number of a match leads to it.
        self._stale: dict[str, _Entry] = {}
        self._by_number = ByNumber(self._entries.__getitem__)
        self._patterns: dict[int, dict[Pattern, int]] = {}
        self._clients: dict[int, set[int]] = {0: set()}
        """The sources that are clients, by scope; always with those that want anywhere."""
        self._scopes: dict[int, int] = {}
        """The scopes of sources that have one."""
        self._retired: set[int] = set()
        """Clients that get no documents any more, while what they wanted is removed."""
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self._next = 0
        self._moment = 0
        """How often what is wanted has changed."""
        self._answers: dict[tuple[bytes, bytes], Wanting] = {}  # by vectors and numbers
        self._answered: tuple[int, int] = (0, 0)  # the generation and moment of these answers
        self._remembered = 0  # matches of these answers

    def open(self, *, is_client: bool, scope: int = 0) -> int:
        """A new source, which wants nothing yet; ``scope`` as in a Subscribe."""
        self._next += 1
        self._patterns[self._next] = {}
        if scope:
            self._scopes[self._next] = scope
        if is_client:
            self._clients.setdefault(scope, set()).add(self._next)
        return self._next

    def close(self, source: int) -> None:
        """Forget a source that wants nothing any more."""
        assert not self._patterns[source], "what a source wants is removed first"
        del self._patterns[source]
        self._retired.discard(source)
        scope = self._scopes.pop(source, 0)
        if scope in self._clients:
            self._clients[scope].discard(source)
            if scope and not self._clients[scope]:
                del self._clients[scope]

    def retire(self, source: int) -> None:
        """Let a client get no documents from now on; what it wants is removed later."""
        self._retired.add(source)
        self._moment += 1

    def clients(self, scope: int) -> AbstractSet[int]:
        """The sources that are clients and want something within a scope."""
        return self._clients.get(scope, _NO_CLIENTS)

    def is_client(self, source: int, scope: int) -> bool:
        """Whether a source is a client that wants something within a scope."""
        return source in self._clients.get(scope, _NO_CLIENTS)

    @property
    def client_scopes(self) -> frozenset[int]:
        """The scopes within which clients want something."""
        return frozenset(self._clients)

    def scope(self, source: int) -> int:
        """The scope within which a source wants something."""
        return self._scopes.get(source, 0)

    @property
    def has_scopes(self) -> bool:
        """Whether anything is wanted within a scope."""
        return bool(self._scopes)

    def beyond(self, depth: int) -> frozenset[int]:
        """The sources that want nothing from outside a unit which is deeper than this."""
        return frozenset(source for source, scope in self._scopes.items() if scope > depth)

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
        if self.is_client(source, self.scope(source)):
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
        if self.is_client(source, self.scope(source)):
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

    def is_wanted(self, pattern: Pattern, channels: frozenset[int], scope: int = 0) -> bool:
        """Whether a client wants a pattern within a scope, or one of these channels."""
        entry = self._entries.get(str(pattern))
        return entry is not None and (
            bool(self._clients_of(entry, scope)) or not entry.channels.isdisjoint(channels)
        )

    def count(self, pattern: Pattern, channels: frozenset[int], scope: int = 0) -> int:
        """How many times clients in a scope and these channels want a pattern, all together."""
        entry = self._entries.get(str(pattern))
        if entry is None:
            return 0
        sources = (*self._clients_of(entry, scope), *(entry.channels & channels))
        return sum(self._patterns[source][pattern] for source in sources)

    def _clients_of(self, entry: _Entry, scope: int) -> Collection[int]:
        if not self._scopes and not scope:
            return entry.clients
        return [source for source in entry.clients if self.scope(source) == scope]

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
        batch = self._matcher.match_destinations(documents)
        errors, vectors = batch.errors, batch.vectors.tobytes()
        width = len(vectors) // max(1, len(documents))
        answers: list[Foreseen] = []
        for number in range(len(documents)):
            error = errors.get(number) if errors else None
            if isinstance(error, EvaluationBudgetError):
                _log.warning("a document goes on without an answer for some: %s", error)
            elif error is not None:
                answers.append(Foreseen(error, self._moment))
                continue
            vector = vectors[number * width : (number + 1) * width]
            answers.append(Foreseen(self._wanting(batch, vector, number), self._moment))
        return answers

    def _wanting(self, batch: BatchDestinations, vector: bytes, number: int) -> Wanting:
        """Who wants a document: the same object for the same matches, while nothing changes."""
        matches = batch.named
        begin, end = matches.offsets[number : number + 2]
        key = vector, matches.ids[begin:end].tobytes()
        moment = matches.generation, self._moment
        if moment != self._answered or self._remembered > _REMEMBERED:
            self._answers, self._answered, self._remembered = {}, moment, 0
        wanting = self._answers.get(key)
        if wanting is None:
            wanting = self._answers[key] = self._look_up(batch, number)
            self._remembered += 1 + end - begin
        return wanting

    def _look_up(self, batch: BatchDestinations, number: int) -> Wanting:
        sets = set(self._channels.sets(batch[number]))
        clients: dict[int, list[Pattern]] = {}
        for entry in self._by_number.of(batch.named, number):
            sets.add(entry.channels)
            for client in entry.clients:
                if client in self._retired:
                    continue
                if client in clients:
                    clients[client].append(entry.pattern)
                else:
                    clients[client] = [entry.pattern]
        return Wanting(NO_CHANNELS.union(*sets), clients)

    @property
    def is_outdated(self) -> bool:
        """Whether the next document would have to wait until the matcher is up to date."""
        return len(self._stale) > _STALE

    def refresh(self, most: int | None = None) -> None:
        """Bring the matcher up to date, or up to so many patterns."""
        for text in tuple(islice(self._stale, most)):
            entry = self._stale.pop(text)
            channels = NO_CHANNELS if entry.clients else entry.channels
            entry.unnamed = self._channels.change(entry.pattern, entry.unnamed, channels)
            if not entry.clients and entry.unnamed == entry.channels:
                self._matcher.discard(text)
            elif text not in self._matcher:
                self._matcher.add(text, entry.pattern)

    def __len__(self) -> int:
        """The number of distinct patterns."""
        return len(self._entries)
