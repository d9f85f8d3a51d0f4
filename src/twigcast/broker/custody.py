"""Who owes which documents to whom, between the broker that has them and those that want them.

The broker where a document is published, its *origin*, answers for it until every *home*, a broker
with durable subscriptions that want it, has confirmed it.  Documents owed to a home are numbered
one after the other; the number travels with the document, down the ordinary tree or addressed to
the home::

    origin                                             home
    Custody    document, number 7 for this home ──►    Receipts     stored, number 7
               ◄── receipt: up to 5, and 7
               document, number 6, addressed ──►

The origin sends again what is not confirmed in time, oldest first and no more than a window of it,
while the home can be reached; what was published while it could not waits here.  The home knows by
the numbers what it has had, so nothing comes twice, after however many crashes of either: both
keep their side in their stores.  Numbers belong to an *epoch*, the life of the origin's store.

Neither class has a clock or does anything: times come in, numbers come out.  Cost: a look-up or two
for each document and home.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

WINDOW: Final = 256
FIRST_PATIENCE: Final = 2.0
LONGEST_PATIENCE: Final = 30.0
_MOST_BEYOND: Final = 2 * WINDOW
_MOST_KEPT: Final = 65_536
_NEVER: Final = float("-inf")
_NOT_YET: Final = float("inf")


class Debt(NamedTuple):
    """One document owed to one home."""

    home: str
    number: int
    settled: int
    """All numbers below are confirmed, or given up."""


class _Account:
    """What is owed to one home: the numbers, in order, and when each was sent last."""

    __slots__ = ("next", "patience", "pending")

    def __init__(self, following: int, pending: Iterable[int] = ()) -> None:
        self.next = following
        self.pending = dict.fromkeys(sorted(pending), _NEVER)
        self.patience = FIRST_PATIENCE

    @property
    def settled(self) -> int:
        return next(iter(self.pending), self.next)


class Custody:
    """What one broker owes to homes; ``first`` is the number that a new home begins with."""

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._accounts: dict[str, _Account] = {}

    def restore(self, home: str, following: int, pending: Iterable[int]) -> None:
        """Go on after a restart: the number that comes next, and those not confirmed."""
        self._accounts[home] = _Account(following, pending)

    def owe(self, homes: Sequence[str]) -> tuple[Debt, ...]:
        """Take over a new document for homes; nothing is sent of it until it is ``safe`` here."""
        debts = []
        for home in homes:
            account = self._accounts.get(home)
            if account is None:
                account = self._accounts[home] = _Account(self._first)
            number = account.next
            account.next += 1
            account.pending[number] = _NOT_YET
            debts.append(Debt(home, number, account.settled))
        return tuple(debts)

    def safe(self, debts: Iterable[Debt], reachable: Iterable[str], now: float) -> None:
        """Note that a document is stored; homes that can be reached are about to get it."""
        for home, number, _ in debts:
            pending = self._accounts[home].pending
            if number in pending:
                pending[number] = now if home in reachable else _NEVER

    def confirm(self, home: str, upto: int, numbers: Iterable[int]) -> list[int]:
        """Note a receipt; the numbers that are settled by it."""
        account = self._accounts.get(home)
        if account is None:
            return []
        settled = []
        for number in account.pending:
            if number > upto:
                break
            settled.append(number)
        settled += [each for each in numbers if each > upto and each in account.pending]
        for number in settled:
            del account.pending[number]
        if settled:
            account.patience = FIRST_PATIENCE
        return settled

    def give_up(self, home: str, numbers: Iterable[int]) -> None:
        """Cease to owe documents that are not kept any more."""
        account = self._accounts.get(home)
        if account is not None:
            for number in numbers:
                account.pending.pop(number, None)

    def hurry(self, home: str) -> None:
        """Be impatient again: the home, or the route to it, is new."""
        account = self._accounts.get(home)
        if account is not None:
            account.patience = FIRST_PATIENCE
            for number, sent in list(islice(account.pending.items(), WINDOW)):
                if sent != _NOT_YET:
                    account.pending[number] = _NEVER

    def due(self, home: str, now: float) -> list[Debt]:
        """What is to be sent to a home that can be reached, now; it counts as sent."""
        account = self._accounts.get(home)
        if account is None:
            return []
        early = now - account.patience
        numbers = [
            number for number, sent in islice(account.pending.items(), WINDOW) if sent <= early
        ]
        if any(account.pending[number] != _NEVER for number in numbers):
            account.patience = min(2 * account.patience, LONGEST_PATIENCE)
        for number in numbers:
            account.pending[number] = now
        return [Debt(home, number, account.settled) for number in numbers]

    def unsent(self, home: str, numbers: Iterable[int]) -> None:
        """Note that some of what was due was too much to send at once."""
        account = self._accounts.get(home)
        if account is not None:
            for number in numbers:
                if number in account.pending:
                    account.pending[number] = _NEVER

    def forget(self, home: str) -> None:
        """Owe nothing to a home any more; if it returns, numbers go on."""
        account = self._accounts.get(home)
        if account is not None:
            account.pending.clear()

    @property
    def owed(self) -> dict[str, int]:
        """How many documents are owed to each home."""
        return {home: len(account.pending) for home, account in self._accounts.items()}


class Receipt(NamedTuple):
    """What a home has of what an origin owes to it: all up to a number, and some beyond."""

    upto: int
    beyond: tuple[int, ...]


class _Line:
    """The numbers that have come from one epoch of one origin."""

    __slots__ = ("being_stored", "beyond", "upto")

    def __init__(self, upto: int = 0, beyond: Iterable[int] = ()) -> None:
        self.upto = upto
        self.beyond = set(beyond)
        self.being_stored: set[int] = set()

    def advance(self) -> None:
        while self.upto + 1 in self.beyond:
            self.upto += 1
            self.beyond.remove(self.upto)


class Receipts:
    """What one home has been given, by origin."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[str, _Line]] = {}  # by origin: the epoch and the numbers

    def restore(self, origin: str, epoch: str, upto: int, beyond: Iterable[int]) -> None:
        """Go on after a restart; of several epochs of an origin, with the latest."""
        known = self._lines.get(origin)
        if known is None or known[0] < epoch:
            self._lines[origin] = (epoch, _Line(upto, beyond))

    def begin(self, origin: str, epoch: str, number: int, settled: int) -> bool:
        """Whether a number is new; it is then being stored, until ``done`` or ``failed``."""
        line = self._line(origin, epoch)
        if line is None:
            return False
        if settled - 1 > line.upto:
            line.upto = settled - 1
            line.beyond = {each for each in line.beyond if each > line.upto}
            line.advance()
        if number <= line.upto or number in line.beyond or number in line.being_stored:
            return False
        if len(line.beyond) >= _MOST_KEPT:  # it comes again, once the gap before is closed
            return False
        line.being_stored.add(number)
        return True

    def done(self, origin: str, epoch: str, number: int) -> None:
        """Note that a number is safely stored."""
        line = self._line(origin, epoch)
        if line is not None:
            line.being_stored.discard(number)
            if number > line.upto:
                line.beyond.add(number)
                line.advance()

    def failed(self, origin: str, epoch: str, number: int) -> None:
        """Note that a number could not be stored; it will come again."""
        line = self._line(origin, epoch)
        if line is not None:
            line.being_stored.discard(number)

    def receipt(self, origin: str, epoch: str) -> Receipt | None:
        """What has come; None of an epoch that is over."""
        line = self._line(origin, epoch)
        if line is None:
            return None
        return Receipt(line.upto, tuple(islice(sorted(line.beyond), _MOST_BEYOND)))

    def _line(self, origin: str, epoch: str) -> _Line | None:
        known = self._lines.get(origin)
        if known is None or known[0] < epoch:
            known = self._lines[origin] = (epoch, _Line())
        return known[1] if known[0] == epoch else None
