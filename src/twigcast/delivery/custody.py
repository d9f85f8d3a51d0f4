"""What a broker owes to homes, and what it has been given itself.

    custodian                                          home
    Custody    document 7 ──────────────────────►      Receipts     stored, 7
               ◄── receipt: 5 and 7
               document 6, addressed ───────────►

The custodian of a document is the broker where it was published, or a gateway that took it over.
It calls the document by an id with its own name, its incarnation and a number that grows: the id
that the document has anyway, or another one.  With each document travels how far everything is
settled: the home need not remember what lies before that.  The home knows by these ids what it has
had, so nothing counts twice, however often it is sent, and whatever crashes.  An incarnation is
never given twice, and nothing depends on which of two is the later one.

What a gateway has taken over it calls by new ids in its next life.  Homes recognise such a document
by its publication.

A document may pass from one home of a group to another that can be reached.  So what is settled for
one is settled for all of its group.

The custodian sends again what is not confirmed in time, a window of it at once.  What is not
confirmed goes to the back, so that it holds up nothing else.

Neither class has a clock or does anything: times come in, ids come out.  Cost: a few look-ups for
each document and home.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from twigcast.delivery.levels import group_of
from twigcast.delivery.writes import Line
from twigcast.routing import DocumentId

WINDOW: Final = 256
"""How many documents are sent to a home again and not yet confirmed, at most."""
FIRST_PATIENCE: Final = 2.0
LONGEST_PATIENCE: Final = 30.0
_MOST_EARLY: Final = 4096


class Debt(NamedTuple):
    """A home to which a document is owed, as it travels with the document."""

    home: str
    settled: int
    """Nothing of the custodian's incarnation below this number will come to the home any more."""


class _Account:
    """What is owed to one home; everything owed is either ready to be sent, or flying."""

    def __init__(self) -> None:
        self.ids: dict[DocumentId, DocumentId] = {}
        """What the custodian calls each document."""
        self.lives: dict[int, dict[int, DocumentId]] = {}
        """By incarnation and number of the custodian, in order."""
        self.ready: dict[DocumentId, None] = {}
        self.flying: dict[DocumentId, float] = {}
        """When each was sent, in that order."""
        self.again: set[DocumentId] = set()
        """Those of the flying that were sent by themselves, and not along the tree."""
        self.returned: set[DocumentId] = set()
        """Those that were sent and taken as lost."""
        self.patience = FIRST_PATIENCE
        self.offered: dict[DocumentId, DocumentId] = {}
        """What the home has been asked to take, though it is not owed it, and how it is called."""

    def add(self, document: DocumentId, custody: DocumentId) -> None:
        if document in self.ids:
            return
        self.ids[document] = custody
        self._count(document, custody)
        self.ready[document] = None

    def offer(self, document: DocumentId, custody: DocumentId) -> None:
        self.offered[document] = custody
        self._count(document, custody)

    def _count(self, document: DocumentId, custody: DocumentId) -> None:
        numbers = self.lives.setdefault(custody.incarnation, {})
        is_last = not numbers or custody.number > next(reversed(numbers))
        numbers[custody.number] = document
        if not is_last:
            self.lives[custody.incarnation] = dict(sorted(numbers.items()))

    def remove(self, document: DocumentId) -> bool:
        was_offered = self.withdraw(document)
        custody = self.ids.pop(document, None)
        if custody is None:
            return was_offered
        self._discount(custody)
        self.ready.pop(document, None)
        self.flying.pop(document, None)
        self.again.discard(document)
        self.returned.discard(document)
        return True

    def withdraw(self, document: DocumentId) -> bool:
        custody = self.offered.pop(document, None)
        if custody is not None:
            self._discount(custody)
        return custody is not None

    def _discount(self, custody: DocumentId) -> None:
        numbers = self.lives[custody.incarnation]
        del numbers[custody.number]
        if not numbers:
            del self.lives[custody.incarnation]

    def land(self, documents: Iterable[DocumentId], *, was_sent: bool = True) -> None:
        """Take flying documents as lost, or as not sent at all."""
        for each in documents:
            del self.flying[each]
            self.again.discard(each)
            self.ready[each] = None
            if was_sent:
                self.returned.add(each)

    @property
    def count(self) -> int:
        return len(self.ready) + len(self.flying)


class Custody:
    """What one broker owes to homes; ``new_id`` gives ids for what it calls otherwise.

    A broker calls what was published there by its id.  It calls all that it takes over by another
    number each time: a higher one than all that homes have heard of, for a home that has heard of
    it takes a lower one for settled.  So documents must be owed in the order of these calls.  What
    ``may_return`` to where it was published gets another number, too, when the broker begins again.
    """

    def __init__(
        self,
        broker: str,
        new_id: Callable[[], DocumentId],
        owed: Mapping[str, Iterable[DocumentId]] | None = None,
        *,
        may_return: bool = False,
    ) -> None:
        self._broker = broker
        self._new_id = new_id
        self._accounts: dict[str, _Account] = {}
        self._groups: dict[str, dict[str, _Account]] = {}
        self._early: dict[tuple[str, DocumentId], None] = {}
        """By group, what it has already that may yet be owed to it, as others brought it there."""
        for home, documents in (owed or {}).items():
            for each in documents:
                keeps_id = each.origin == broker and not may_return
                self.owe(home, each, each if keeps_id else self.call())

    def call(self) -> DocumentId:
        """What this broker is to call a document that it takes over."""
        return self._new_id()

    def owe(self, home: str, document: DocumentId, custody: DocumentId | None = None) -> None:
        """Owe a document that is safe here to a home, unless it is owed to it already."""
        self._account(home).add(document, document if custody is None else custody)

    def offer(self, home: str, document: DocumentId) -> None:
        """Ask a home to take a document that is owed to another one, under a number of its own.

        It is in the account of the home only for what is said to be settled.
        """
        account = self._account(home)
        if document not in account.ids and document not in account.offered:
            account.offer(document, self.call())

    def withdraw(self, home: str, document: DocumentId) -> bool:
        """Ask a home for a document no more; whether it was asked."""
        return self._account(home).withdraw(document)

    def _account(self, home: str) -> _Account:
        account = self._accounts.get(home)
        if account is None:
            account = self._accounts[home] = _Account()
            self._groups.setdefault(group_of(home), {})[home] = account
        return account

    def called(self, home: str, document: DocumentId) -> DocumentId:
        """What this broker calls a document that is owed or offered to a home."""
        account = self._accounts[home]
        return account.ids.get(document) or account.offered.get(document, document)

    def debt(self, home: str, document: DocumentId) -> Debt:
        """What is said to a home with a document that is owed to it."""
        _, life, number = self.called(home, document)
        group = self._groups[group_of(home)].values()
        firsts = (next(iter(each.lives[life])) for each in group if life in each.lives)
        return Debt(home, min(firsts, default=number))

    def sent(self, home: str, document: DocumentId, now: float) -> None:
        """Note that a document is about to get to a home, along the tree."""
        account = self._accounts[home]
        if account.ready.pop(document, 0) is None:
            account.flying[document] = now

    def document(self, home: str, custody: DocumentId) -> DocumentId | None:
        """The document that is owed to a home and that this broker calls so."""
        account = self._accounts.get(home)
        if account is None or custody.origin != self._broker:
            return None
        return account.lives.get(custody.incarnation, {}).get(custody.number)

    def settle(
        self, home: str, received: Iterable[DocumentId]
    ) -> dict[str, tuple[DocumentId, ...]]:
        """Owe documents no more that a home, or another one of its group, has.

        They are named as this broker calls them, or by the ids of what others have published; by
        the home that each was owed to.
        """
        settled: dict[str, list[DocumentId]] = {}
        group = group_of(home)
        accounts = self._groups.get(group, {})
        for each in received:
            is_owed = False
            for name, account in accounts.items():
                document = self.document(name, each) if each.origin == self._broker else each
                if document is not None and account.remove(document):
                    account.patience = FIRST_PATIENCE
                    settled.setdefault(name, []).append(document)
                    is_owed = True
            if not is_owed and each.origin != self._broker:
                self._early[group, each] = None
                if len(self._early) > _MOST_EARLY:
                    del self._early[next(iter(self._early))]
        return {name: tuple(documents) for name, documents in settled.items()}

    def has_settled(self, home: str, document: DocumentId) -> bool:
        """Whether a home has a document that it is about to be owed."""
        return (group_of(home), document) in self._early

    def confirm(self, home: str, documents: Iterable[DocumentId]) -> tuple[DocumentId, ...]:
        """Owe documents no more: the home has them, or they are kept no longer; which were owed."""
        account = self._accounts.get(home)
        if account is None:
            return ()
        settled = tuple(each for each in documents if account.remove(each))
        if settled:
            account.patience = FIRST_PATIENCE
        return settled

    def hurry(self, home: str) -> None:
        """Be impatient again: the home, or the route to it, is new."""
        account = self._accounts.get(home)
        if account is not None:
            account.patience = FIRST_PATIENCE
            account.land(tuple(account.flying))

    def due(self, home: str, now: float) -> list[DocumentId]:
        """What is to be sent to a home that can be reached, now; it counts as sent."""
        account = self._accounts.get(home)
        if account is None:
            return []
        late = []
        for document, sent in account.flying.items():
            if sent + account.patience > now:
                break
            late.append(document)
        if late:
            account.land(late)
            account.patience = min(2 * account.patience, LONGEST_PATIENCE)
        documents = list(islice(account.ready, WINDOW - len(account.again)))
        for each in documents:
            del account.ready[each]
            account.flying[each] = now
        account.again.update(documents)
        return documents

    def unsent(self, home: str, documents: Sequence[DocumentId]) -> None:
        """Note that some of what was due was too much to send at once."""
        account = self._accounts.get(home)
        if account is not None:
            flying = [each for each in documents if each in account.flying]
            account.land(flying, was_sent=False)

    def was_sent(self, home: str, document: DocumentId) -> bool:
        """Whether a document that is owed to a home was sent to it before, and taken as lost."""
        return document in self._accounts[home].returned

    def is_owed(self, home: str, document: DocumentId) -> bool:
        """Whether a home has not confirmed a document."""
        account = self._accounts.get(home)
        return account is not None and document in account.ids

    def forget(self, home: str) -> None:
        """Owe nothing to a home any more."""
        account = self._accounts.pop(home, None)
        if account is not None:
            del self._groups[group_of(home)][home]

    @property
    def owed(self) -> dict[str, int]:
        """How many documents are owed to each home."""
        return {home: account.count for home, account in self._accounts.items()}


def line_of(home: str, custody: DocumentId, *, is_standing: bool) -> DocumentId:
    """What a home calls a document that is owed to it; standing homes have lines of their own."""
    return custody._replace(origin=f"{home}<{custody.origin}") if is_standing else custody


class _Incoming:
    """The numbers that have come from one incarnation of one origin."""

    __slots__ = ("being_stored", "numbers", "passed", "settled")

    def __init__(self, line: Line) -> None:
        self.settled = line.settled
        self.numbers = set(line.numbers)
        self.being_stored: set[int] = set()
        self.passed: set[int] = set()

    def settle(self, settled: int) -> None:
        if settled - self.settled < len(self.numbers):
            self.numbers.difference_update(range(self.settled, settled))
        elif settled > self.settled:
            self.numbers = {each for each in self.numbers if each >= settled}
        if self.passed:
            self.passed = {each for each in self.passed if each >= settled}
        self.settled = max(self.settled, settled)


class Receipts:
    """What homes of one broker have been given, by origin and incarnation of :func:`line_of`."""

    def __init__(self, received: Mapping[tuple[str, int], Line] | None = None) -> None:
        self._lines = {key: _Incoming(line) for key, line in (received or {}).items()}

    def begin(self, document: DocumentId, settled: int) -> bool:
        """Whether a document is new; it is then being stored, until ``done`` or ``failed``."""
        line = self._lines.get(document[:2])
        if line is None:
            line = self._lines[document[:2]] = _Incoming(Line())
        number = document.number
        if number < line.settled or number in line.numbers or number in line.being_stored:
            return False
        line.settle(min(settled, number))
        line.being_stored.add(number)
        return True

    def has(self, document: DocumentId) -> bool:
        """Whether a document is safely stored, or was."""
        line = self._lines.get(document[:2])
        return line is not None and (
            document.number < line.settled or document.number in line.numbers
        )

    def done(self, document: DocumentId) -> None:
        """Note that a document is safely stored."""
        line = self._lines[document[:2]]
        line.being_stored.discard(document.number)
        line.passed.discard(document.number)
        if document.number >= line.settled:
            line.numbers.add(document.number)

    def passed(self, document: DocumentId) -> None:
        """Note that others will have a document, which comes again for what has no room here."""
        line = self._lines[document[:2]]
        line.being_stored.discard(document.number)
        if document.number >= line.settled:
            line.passed.add(document.number)

    def has_passed(self, document: DocumentId) -> bool:
        """Whether others have a document already, in this life."""
        line = self._lines.get(document[:2])
        return line is not None and document.number in line.passed

    def failed(self, document: DocumentId) -> None:
        """Note that a document could not be stored; it will come again."""
        self._lines[document[:2]].being_stored.discard(document.number)
