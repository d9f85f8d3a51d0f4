"""The queue of a durable subscription: what waits, who has which of it, and what comes again.

    entered ──► waiting ──take──► out, at a consumer ──acknowledge──► passed
                   ▲                    │
                   └── after a while ◄──┴── give back, or the consumer leaves
                                        │
                                        └── too often ──► set aside

A consumer may take for a while only: it has what it was given until its *lease* ends, takes nothing
more, and is gone when it has said what became of all of it.

A queue is a log: documents have the sequences 1, 2, 3, ... and stay until retention.  One consumer
at a time has it, or several share it: each document is then for one of them.  Where a shared queue
has keys, documents of one key go to one consumer as long as that has some of them, so that they
stay in order; those that it gives back come again behind the others.

Decides, and reads nothing: whoever serves a consumer asks what to give it and fetches that.  Which
key a document has is known only then.  So of a queue with keys one consumer reads at a time: what
it took is assigned, each to whoever has the key, before another takes what comes after it.

Invariant: what waits is at one consumer, or is assigned to one, or comes again at some time, or has
not been reached; never two of these.  Cost: some steps for each document that is given out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from twigcast.delivery.writes import Durable

_NO_GAP: Final = (sys.maxsize, sys.maxsize)


class Passed(NamedTuple):
    """What was newly acknowledged: everything up to a sequence, and some besides."""

    upto: int
    sequences: tuple[int, ...]


class Returned(NamedTuple):
    """What came back in vain: how often by now, and which of it came back too often."""

    attempts: dict[int, int]
    too_often: tuple[int, ...]


class _Consumer:
    """Somebody who is given documents."""

    __slots__ = ("assigned", "is_passing", "name", "out", "spare")

    def __init__(self, name: str, *, is_passing: bool) -> None:
        self.name = name
        self.is_passing = is_passing
        """Whether it takes documents once."""
        self.out: dict[int, None] = {}
        """What it has, in the order in which it got it."""
        self.assigned: list[int] = []
        """A heap of what is for it alone, since it has some of the same key; some has gone."""
        self.spare = 0
        """How many more it was ready for when it took the last time."""


class DurableQueue:
    """One durable subscription's queue."""

    def __init__(self, kept: Durable) -> None:
        self.name = kept.name
        self.owner = kept.owner
        self.options = kept.options
        self.last = kept.last
        """The last sequence that was given to a document."""
        self.acknowledged = kept.acknowledged
        self.first = kept.first
        self.missed = kept.missed
        self.missed_reported = kept.missed_reported
        self._beyond = set(kept.beyond)
        self._revived = set(kept.revived)
        self._attempts = dict(kept.attempts)
        self._gap = kept.gap
        self._pass_over()
        self._begin()

    def _begin(self, start: int | None = None) -> None:
        """Give everything that waits to consumers who come; or, to one, all from a sequence on."""
        self._replays = start is not None
        self._is_shared = self.options.is_shared
        self._consumers: dict[str, _Consumer] = {}
        self._leases: dict[str, float] = {}
        """By consumer that takes nothing more, until when it has what it has."""
        self._done: list[str] = []
        """Consumers with a lease that have nothing any more."""
        self._holders: dict[int, _Consumer] = {}
        """Who has a document, or is the only one to get it."""
        self._keys: dict[int, str] = {}
        self._of_key: dict[str, dict[int, None]] = {}
        """By key, the documents that have a holder; it is the same for all of them."""
        self._unassigned: dict[int, None] = {}
        """What one consumer has taken whose keys are not known yet."""
        self._next = self.acknowledged + 1 if start is None else max(start, self.first)
        self._released = self._next - 1
        """Up to here nothing is held, or comes again, but for what was revived."""
        self._due: dict[int, float] = {}
        """What comes again, and when."""
        self._returned: list[tuple[float, int]] = []
        """A heap of the same; some of it is over."""
        self._attempts = {
            each: count for each, count in self._attempts.items() if self.is_waiting(each)
        }
        if start is None:
            for sequence in sorted(self._revived):
                self._return(sequence, 0.0)

    # --- what is in it ----------------------------------------------------------------------------

    def enter(self, sequence: int) -> None:
        """Note that a document is safe under a sequence."""
        self.last = max(self.last, sequence)

    def acknowledge(self, upto: int, sequences: Iterable[int]) -> Passed | None:
        """Note documents that need not come again; returns what of that is new, if anything.

        What was revived is acknowledged by its sequence only.
        """
        upto = min(upto, self.last)
        before = self.acknowledged
        singles = []
        for each in sequences:
            if self.is_waiting(each):
                if each in self._revived:
                    self._revived.remove(each)
                else:
                    self._beyond.add(each)
                singles.append(each)
            self._release(each)
        if upto > self.acknowledged:
            self._beyond.difference_update(_some(self._beyond, self.acknowledged, upto))
            self.acknowledged = upto
        self._pass_over()
        self._release_upto(upto if self._replays else self.acknowledged)
        self._dismiss()
        if self.acknowledged > before or singles:
            return Passed(self.acknowledged, tuple(singles))
        return None

    def _pass_over(self) -> None:
        """Go on behind what is acknowledged singly, and behind sequences that were never given."""
        while True:
            if self.acknowledged >= self._gap[0]:
                self.acknowledged = max(self.acknowledged, self._gap[1])
                self._gap = _NO_GAP
            if self.acknowledged + 1 not in self._beyond:
                break
            self.acknowledged += 1
            self._beyond.remove(self.acknowledged)

    def _release_upto(self, upto: int) -> None:
        """Let go of all up to a sequence, but for what was revived: each sequence costs once."""
        if upto <= self._released:
            return
        for known in (self._holders, self._due, self._attempts):
            for each in _some(known, self._released, upto):
                if each not in self._revived:
                    self._release(each)
        self._released = upto
        self._next = max(self._next, upto + 1)

    def _release(self, sequence: int) -> None:
        """Give a document to nobody any more."""
        self._attempts.pop(sequence, None)
        self._due.pop(sequence, None)
        self._let_go(sequence)

    def _let_go(self, sequence: int) -> None:
        """Take a document from whoever has it."""
        holder = self._holders.pop(sequence, None)
        if holder is None:
            return
        if holder.out.pop(sequence, 0) is None and not holder.out and holder.name in self._leases:
            self._done.append(holder.name)
        self._unassigned.pop(sequence, None)
        key = self._keys.pop(sequence, None)
        if key is not None:
            of_key = self._of_key[key]
            del of_key[sequence]
            if not of_key:
                del self._of_key[key]

    def _return(self, sequence: int, due: float) -> None:
        """Let a document come again at a time."""
        self._due[sequence] = due
        heappush(self._returned, (due, sequence))

    def trimmed(self, first: int, lost: int) -> None:
        """Note that retention has dropped what was before a sequence, ``lost`` of it unread."""
        self.first = max(self.first, first)
        self.missed += lost
        for each in [each for each in self._revived if each < first]:
            self._revived.remove(each)
            self._release(each)
        self.acknowledge(first - 1, ())

    def revive(self, sequence: int) -> None:
        """Let a document wait again that was passed, or set aside."""
        if self.is_waiting(sequence) or not self.first <= sequence <= self.last:
            return
        if sequence <= self.acknowledged:
            self._revived.add(sequence)
        else:
            self._beyond.discard(sequence)
        if sequence < self._next and sequence not in self._holders:
            self._return(sequence, 0.0)

    def is_waiting(self, sequence: int) -> bool:
        """Whether the document with a sequence is not acknowledged."""
        if sequence <= self.acknowledged:
            return sequence in self._revived
        is_given = sequence <= self.last and not self._gap[0] < sequence <= self._gap[1]
        return is_given and sequence not in self._beyond

    @property
    def waiting(self) -> int:
        """How many documents are not acknowledged."""
        never = self._gap[1] - self._gap[0]
        passed = self.acknowledged + len(self._beyond) + never
        return self.last - passed + len(self._revived)

    # --- consumers --------------------------------------------------------------------------------

    def attach(self, consumer: str, start: int | None = None, *, joins: bool = False) -> list[str]:
        """Give documents to a consumer; those who had them before and lose them.

        The only consumer begins with the first that waits, or where it says; then what is passed
        comes again, too.  One of several goes on with what the others do not have, and so does one
        that ``joins`` others.
        """
        if (self.options.is_shared and self._is_shared) or (joins and self._consumers):
            self.detach(consumer)
            before = []
        else:
            before = list(self._consumers)
            self._begin(None if self.options.is_shared else start)
        self._consumers[consumer] = _Consumer(consumer, is_passing=joins)
        return before

    def detach(self, consumer: str, taken: int = 0) -> Returned:
        """Give what a consumer has to others; of that it had taken some, the first, in vain."""
        left = self._consumers.pop(consumer, None)
        self._leases.pop(consumer, None)
        if left is None:
            return Returned({}, ())
        out = [each for each in left.out if self.is_waiting(each)]
        for sequence in (*left.out, *left.assigned):
            if self._holders.get(sequence) is left:
                self._let_go(sequence)
                if self.is_waiting(sequence):
                    self._return(sequence, 0.0)
        # What comes again may go before what somebody else is reading, and be of the same key.
        self._take_back(tuple(self._unassigned))
        return self._came_back(out[:taken], 0.0)

    def _take_back(self, sequences: Iterable[int]) -> None:
        for each in sequences:
            self._let_go(each)
            self._return(each, 0.0)

    def give_back(self, consumer: str, sequences: Iterable[int], due: float) -> Returned:
        """Take documents back from a consumer that could not use them; they wait until a time."""
        holder = self._consumers.get(consumer)
        if holder is None:
            return Returned({}, ())
        back = [each for each in dict.fromkeys(sequences) if each in holder.out]
        for each in back:
            self._let_go(each)
        self._dismiss()
        return self._came_back([each for each in back if self.is_waiting(each)], due)

    def lease(self, consumer: str, until: float) -> None:
        """Give a consumer nothing more; it has what it has until a time, unless it says before."""
        holder = self._consumers.get(consumer)
        if holder is not None:
            self._leases[consumer] = until
            if not holder.out:
                self.detach(consumer)

    def leased(self, until: float = math.inf) -> list[str]:
        """The consumers whose leases end before a time, or at all."""
        return [consumer for consumer, end in self._leases.items() if end <= until]

    def _dismiss(self) -> None:
        """Take leave of those that have nothing any more: what was for them alone is for others."""
        while self._done:
            self.detach(self._done.pop())

    def _came_back(self, sequences: Sequence[int], due: float) -> Returned:
        attempts, too_often = {}, []
        for each in sequences:
            attempts[each] = self._attempts[each] = self._attempts.get(each, 0) + 1
            if 0 < self.options.most_attempts <= attempts[each]:
                self._due.pop(each, None)
                too_often.append(each)
            else:
                self._return(each, due)
        return Returned(attempts, tuple(too_often))

    def give(self, consumer: str, sequence: int) -> bool:
        """Give a document to the only consumer, if it is the next one; whether it was given.

        This is what ``take`` does, for a consumer that keeps up: with fewer steps.
        """
        holder = self._consumers.get(consumer)
        if sequence != self._next or holder is None or self._is_shared or self._due:
            return False
        if sequence in self._beyond or self.missed != self.missed_reported:
            return False
        holder.out[sequence] = None
        self._holders[sequence] = holder
        self._next = sequence + 1
        return True

    def take(self, consumer: str, most: int, now: float) -> list[int]:
        """The sequences to give to a consumer now; it has them until it says what became of them.

        Where the queue has keys, each is to be confirmed with ``assign``, or to be given up with
        ``untake`` or ``gone``; until then nobody else takes any.
        """
        holder = self._consumers.get(consumer)
        if holder is None:
            return []
        taken = self._take(holder, most, now)
        holder.spare = most - len(taken)
        return taken

    def _take(self, holder: _Consumer, most: int, now: float) -> list[int]:
        taken: list[int] = []
        while len(taken) < most and self._has_assigned(holder):
            sequence = heappop(holder.assigned)
            holder.out[sequence] = None
            taken.append(sequence)
        if not self._may_read(holder):
            return taken
        is_unassigned = bool(self._is_shared and self.options.key)
        while len(taken) < most:
            found = self._find(now)
            if found is None:
                break
            holder.out[found] = None
            self._holders[found] = holder
            if is_unassigned:
                self._unassigned[found] = None
            taken.append(found)
        return taken

    def _find(self, now: float) -> int | None:
        """The first that is for whoever takes it."""
        if self._has_returned(now):
            sequence = heappop(self._returned)[1]
            del self._due[sequence]
            return sequence
        while self._next <= self.last:
            sequence = self._next
            if self._gap[0] < sequence <= self._gap[1]:
                self._next = self._gap[1] + 1
                continue
            self._next += 1
            if self._replays or self.is_waiting(sequence):
                return sequence
        return None

    def _has_assigned(self, holder: _Consumer) -> bool:
        assigned = holder.assigned
        while assigned and (
            self._holders.get(assigned[0]) is not holder or assigned[0] in holder.out
        ):
            heappop(assigned)
        return bool(assigned)

    def _may_read(self, holder: _Consumer) -> bool:
        return not self._unassigned or self._holders[next(iter(self._unassigned))] is holder

    def _has_returned(self, now: float) -> bool:
        due = self.next_due()
        return due is not None and due <= now

    def untake(self, consumer: str, sequences: Iterable[int]) -> None:
        """Take back what a consumer was not given after all: it comes first the next time.

        What has a key stays with the others of that key.
        """
        holder = self._consumers.get(consumer)
        for each in sequences:
            if holder is None or each not in holder.out:
                continue
            if each in self._keys:
                del holder.out[each]
                heappush(holder.assigned, each)
            else:
                self._take_back((each,))

    def assign(self, sequence: int, key: str, consumer: str) -> bool:
        """Whether a document is for the consumer that took it; or else for another, or later.

        ``key`` is what the document has for a key; empty if it has none, and may go to anybody.
        """
        holder = self._consumers.get(consumer)
        if holder is None or sequence not in holder.out:
            return False
        if self._unassigned.pop(sequence, 0) is not None or not key:
            return True  # its key is known already, or it has none
        of_key = self._of_key.setdefault(key, {})
        keeper = self._holders[next(iter(of_key))] if of_key else self._freest(holder)
        of_key[sequence] = None
        self._keys[sequence] = key
        if keeper is holder:
            return True
        del holder.out[sequence]
        self._holders[sequence] = keeper
        keeper.spare -= 1
        heappush(keeper.assigned, sequence)
        return False

    def _freest(self, taker: _Consumer) -> _Consumer:
        """Who is to have a new key: the taker, or one that has fewer documents and takes more."""
        least, freest = len(taker.out) - len(self._unassigned) - 1, taker
        for each in self._consumers.values():
            load = len(each.out) + len(each.assigned)
            may_have_more = each.spare > 0 and not each.is_passing
            if each is not taker and may_have_more and load < least:
                least, freest = load, each
        return freest

    def who_has(self, sequences: Iterable[int]) -> dict[str, list[int]]:
        """By consumer, those documents that it has and has not acknowledged."""
        found: dict[str, list[int]] = {}
        for each in dict.fromkeys(sequences):
            holder = self._holders.get(each)
            if holder is not None and each in holder.out and self.is_waiting(each):
                found.setdefault(holder.name, []).append(each)
        return found

    def held(self, consumer: str) -> list[int]:
        """What a consumer has and has not acknowledged, in the order in which it got it."""
        holder = self._consumers.get(consumer)
        return [] if holder is None else [each for each in holder.out if self.is_waiting(each)]

    @property
    def attempts(self) -> Mapping[int, int]:
        """How often documents that wait were given out in vain, if they were."""
        return self._attempts

    def gone(self, sequences: Iterable[int]) -> None:
        """Note that documents which were to be given out are kept no more."""
        self.acknowledge(0, sequences)

    def next_due(self) -> float | None:
        """When something comes back, if anything does."""
        returned = self._returned
        while returned and self._due.get(returned[0][1]) != returned[0][0]:
            heappop(returned)
        return returned[0][0] if returned else None

    def has_work(self, consumer: str, now: float) -> bool:
        """Whether a consumer may be given something."""
        holder = self._consumers.get(consumer)
        if holder is None:
            return False
        if self._has_assigned(holder):
            return True
        return self._may_read(holder) and (self._has_returned(now) or self._next <= self.last)

    @property
    def consumers(self) -> list[str]:
        """Who is given documents."""
        return list(self._consumers)

    def take_missed(self) -> int:
        """How many documents were missed since this was last called, for a consumer to hear."""
        missed = self.missed - self.missed_reported
        self.missed_reported = self.missed
        return missed


def _some(sequences: Collection[int], after: int, upto: int) -> list[int]:
    """Those after one and up to another, in as few steps as there are of either."""
    if upto - after < len(sequences):
        return [each for each in range(after + 1, upto + 1) if each in sequences]
    return [each for each in sequences if after < each <= upto]
