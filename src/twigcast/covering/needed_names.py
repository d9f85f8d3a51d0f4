"""The names that a pattern needs and those that it offers: what lets coverings meet.

    /a/*[b or c]/d[@x > 1]   needs   a, d, @x     names that are in every document that matches
                             offers  a, d, @x     names that another one may need and cover it

p covers q by mapping what p asks for into what q gives, so p covers q only where every name that p
needs is among those that q offers.  A large set is cut along this: p is put where one of its
names belongs, and q is asked wherever one of its own does.  A pattern with several twigs needs what
all of them need and offers what all of them offer; the two differ where the first node of a path is
compared, ``contains(b, "x")``, which gives a b but asks for none, and at expressions such as
``count(b)>2``.

The test of covering is not transitive, because a fork (a ``*`` with several branches) may be mapped
to a ``*`` that, when it is asked in turn, is but a length: ``/z/*[.//x][.//y]`` covers
``/z/*//b[x][y]``, which covers ``/z//a//b[x][y]``, and the first is not known to cover the last.
Two properties say where that cannot happen.  A pattern is *firm* when it is one twig of steps
alone, none of them a fork; it is *plain* when it is one twig without first nodes, residuals and
disjunctions.  Where p is firm, q plain, p covers q and q covers r, the two maps make one of p into
r.

Cost: linear in the twigs; some microseconds for a tree, less than one for a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from twigcast.covering.conditions import implied
from twigcast.covering.splitting import Twig, choices, split
from twigcast.covering.twigs import given
from twigcast.language import (
    Both,
    Condition,
    Either,
    FirstNode,
    Kind,
    NodeTest,
    Pattern,
    Residual,
    Step,
    ValueTest,
    linear_normal_form,
    walk,
)

_ELEMENT, _TEXT = Kind.ELEMENT, Kind.TEXT


@dataclass(frozen=True, slots=True)
class NeededNames:
    """What a pattern needs and offers: local names, those of attributes behind an ``@``.

    ``possible`` says whether some document may match; everything covers a pattern that none does.
    """

    needs: frozenset[str]
    offers: frozenset[str]
    firm: bool
    plain: bool
    possible: bool = True

    def is_strictly_below(self, other: NeededNames, *, covers_other: bool) -> bool:
        """Whether a pattern that another one covers can be left out of sight for good.

        True says that whatever this pattern covers the other does too, and that nothing which this
        one covers covers the other, be it in several steps.  ``covers_other`` is whether this one
        covers the other in turn.
        """
        return (
            other.firm
            and self.plain
            and (self.offers != other.offers or (self.firm and not covers_other))
        )


def needed_names(pattern: Pattern) -> NeededNames:
    """The names of a pattern."""
    path = linear_normal_form(str(pattern))
    if path is not None:
        names = frozenset(path.split("/")) - {"", "*"}
        return NeededNames(names, names, firm=True, plain=True)
    twigs = [twig for twig in map(_Twig, split(pattern)) if twig.possible]
    if not twigs:
        return NeededNames(frozenset(), frozenset(), firm=False, plain=False, possible=False)
    if len(twigs) > 1:
        return NeededNames(
            reduce(frozenset.intersection, (frozenset(twig.needs) for twig in twigs)),
            reduce(frozenset.intersection, (frozenset(twig.offers) for twig in twigs)),
            firm=False,
            plain=False,
        )
    twig = twigs[0]
    return NeededNames(frozenset(twig.needs), frozenset(twig.offers), twig.firm, twig.plain)


class _Twig:
    """The names of one twig, collected on a walk over its steps."""

    __slots__ = ("firm", "is_doubtful", "needs", "offers", "plain", "possible")

    def __init__(self, twig: Twig) -> None:
        self.needs: set[str] = set()
        self.firm = self.plain = True
        self.is_doubtful = False
        weaker: list[Condition] = []
        self._walk_all(twig, self.needs, weaker)
        self.offers = set(self.needs)
        while weaker:
            self._walk_all((weaker.pop(),), self.offers, weaker)
        for choice in choices(twig):
            for each in walk(choice):
                if isinstance(each, Step):
                    _add_name(each.test, self.offers)
        self.possible = not (self.is_doubtful and given(twig).impossible)

    def _walk(self, step: Step, names: set[str], weaker: list[Condition]) -> None:
        _add_name(step.test, names)
        branches = self._walk_all(step.conditions, names, weaker)
        if step.position is not None or (branches > 1 and step.is_wildcard):
            self.firm = False

    def _walk_all(
        self, conditions: Sequence[Condition], names: set[str], weaker: list[Condition]
    ) -> int:
        """Walk over the conditions of a node; how many of them are branches."""
        values = branches = 0
        for condition in conditions:
            if type(condition) is Step:
                branches += 1
                self._walk(condition, names, weaker)
                continue
            self.firm = False
            if type(condition) is ValueTest:
                values += 1
            elif isinstance(condition, Either | Both):
                self.plain = False
            elif isinstance(condition, FirstNode | Residual):
                self.plain = False
                self.is_doubtful = True
                weaker.extend(implied(condition))
        if values > 1:
            self.is_doubtful = True
        return branches


def _add_name(test: NodeTest, names: set[str]) -> None:
    if test.local is not None:
        names.add(test.local if test.kind is _ELEMENT else "@" + test.local)
    elif test.kind is _TEXT:
        names.add("text()")
