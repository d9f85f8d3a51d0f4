"""What a unit wants, in at most so many patterns.

    //Stock[Price>15]  /news/body//p  …  ──► Profile ──►  //Stock  /news/body  …   at most ``most``

Beyond the budget patterns are *cut*: values go first, then the last steps, so that a prefix of the
path stands for all that begin with it.  The deepest prefixes that stand for the most are cut first,
since there the least is lost for a place; in the end ``/*`` would stand for everything.  Whatever a
pattern matches, what stands for it matches too, so nothing is lost; documents that nobody inside
wants may come as far as the gateway.

Cuts stay as they are while patterns come and go, so that little has to be said.  When there are too
many again, some of what is said is cut further; once three quarters of the budget hold all that is
wanted, nothing is.  Cost: some steps for a pattern; cutting further takes as many for each that is
said, and happens once in a quarter of the budget at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

from twigcast.covering import Change
from twigcast.language import Pattern, beginnings


class Profile:
    """Patterns that cover all that are wanted; ``most`` at most, where that is not None."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._wanted: Counter[Pattern] = Counter()
        self._cuts: set[Pattern] | None = None
        """The prefixes that stand for all that begin with them; None while everything fits."""
        self._standing: dict[Pattern, tuple[Pattern, ...]] = {}
        """By what is wanted, what is said for it."""
        self._said: dict[Pattern, set[Pattern]] = {}
        """By what is said, what is wanted."""

    @property
    def is_cut(self) -> bool:
        """Whether more is said than is wanted."""
        return self._cuts is not None

    @property
    def said(self) -> Collection[Pattern]:
        """The patterns that stand for all that is wanted."""
        return self._said.keys()

    def update(self, change: Change) -> Change:
        """Note what begins and ceases to be wanted; what to tell because of it."""
        was_said: dict[Pattern, bool] = {}
        for pattern in change.forward:
            self._wanted[pattern] += 1
            if self._wanted[pattern] == 1:
                self._say(pattern, was_said)
        for pattern in change.withdraw:
            self._wanted[pattern] -= 1
            if not self._wanted[pattern]:
                del self._wanted[pattern]
                self._unsay(pattern, was_said)
        self._keep_to_budget(was_said)
        return Change(
            tuple(each for each, was in was_said.items() if not was and each in self._said),
            tuple(each for each, was in was_said.items() if was and each not in self._said),
        )

    def _say(self, pattern: Pattern, was_said: dict[Pattern, bool]) -> None:
        standing = self._standing[pattern] = self._what_stands_for(pattern)
        for said in standing:
            was_said.setdefault(said, said in self._said)
            self._said.setdefault(said, set()).add(pattern)

    def _unsay(self, pattern: Pattern, was_said: dict[Pattern, bool]) -> None:
        for said in self._standing.pop(pattern):
            was_said.setdefault(said, True)
            self._said[said].remove(pattern)
            if not self._said[said]:
                del self._said[said]

    def _what_stands_for(self, pattern: Pattern) -> tuple[Pattern, ...]:
        cuts = self._cuts
        if cuts is None:
            return (pattern,)
        standing = (
            next((prefix for prefix in _beginnings_of(each) if prefix in cuts), each)
            for each in pattern.by_alternative
        )
        return tuple(dict.fromkeys(standing))

    def _keep_to_budget(self, was_said: dict[Pattern, bool]) -> None:
        if self._most is None:
            return
        if self._cuts is not None and len(self._wanted) <= self._most * 3 // 4:
            self._cuts = None
            self._say_anew(tuple(self._wanted), was_said)
        if len(self._said) <= self._most:
            return
        if self._cuts is None:  # alternatives of a union are cut one by one
            self._cuts = set()
            self._say_anew(tuple(self._wanted), was_said)
        if len(self._said) > self._most:
            cuts = _cuts(self._said, self._most * 3 // 4)
            self._cuts |= cuts
            cut = [each for each in self._said if not cuts.isdisjoint(_beginnings_of(each))]
            self._say_anew({each for said in cut for each in self._said[said]}, was_said)

    def _say_anew(self, wanted: Iterable[Pattern], was_said: dict[Pattern, bool]) -> None:
        for pattern in wanted:
            self._unsay(pattern, was_said)
            self._say(pattern, was_said)


def _cuts(said: Iterable[Pattern], most: int) -> set[Pattern]:
    """The prefixes to cut at, the deepest first and of these the ones that save the most."""
    cuts: set[Pattern] = set()
    chains = {each: _beginnings_of(each) for each in said}
    stands = {each: each for each in chains}
    count = len(chains)
    for depth in reversed(range(max(map(len, chains.values()), default=0))):
        below: dict[Pattern, set[Pattern]] = {}
        for each, chain in chains.items():
            if depth < len(chain):
                below.setdefault(chain[depth], set()).add(stands[each])
        for prefix in sorted(below, key=lambda prefix: (-len(below[prefix]), str(prefix))):
            if count <= most:
                return cuts
            if len(below[prefix]) == 1:
                break  # nor do those that follow save anything
            cuts.add(prefix)
            count -= len(below[prefix]) - 1
        for each, chain in chains.items():
            if depth < len(chain) and chain[depth] in cuts:
                stands[each] = chain[depth]
    return cuts


@lru_cache(maxsize=2**14)
def _beginnings_of(pattern: Pattern) -> tuple[Pattern, ...]:
    return beginnings(pattern)
