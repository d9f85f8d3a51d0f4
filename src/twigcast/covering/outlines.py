"""What two patterns show at a glance, before they are compared.

An :class:`Outline` holds two things about a pattern::

    /a/*/b[c][not(d)]     needs     a, b, c      names that every document that matches must have
                          mentions  a, b, c, d   names that occur anywhere in it
                          trunk     a, *, b      the steps by ``/`` alone, from the root down, up to
                                                 the first that has more below it than one branch

Some document that matches q has no name but those that q mentions (the others can be renamed) and
one element only at each level of the trunk of q.  So p cannot cover q where p needs a name that q
does not mention, nor where the trunk of p has a name at a level where q has another, or ``*``, or
is past its trunk and goes on by ``//``.  For absolute paths without ``*`` and ``//`` the latter
says that what covers is a prefix of what it covers; and an absolute path with a name in its trunk
covers nothing relative.  Without one it may: ``/*/*`` covers ``a/b`` (Li, Hou and Jacobsen, section
4.1, state the second property for all absolute paths).

These are facts about documents, so they hold for every sound test of covering.  The one exception
are patterns that no document matches, which everything covers; their outline rules out nothing.

Names are kept as bits of a number of fixed width, chosen by a checksum: where two share a bit, less
is ruled out, and nothing wrongly.  Cost: linear in the pattern to make, and some tenths of a
microsecond to use.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_
from zlib import crc32

from twigcast.covering.conditions import implied
from twigcast.covering.pairwise import Prepared
from twigcast.covering.splitting import Twig
from twigcast.language import Axis, Kind, NodeTest, Pattern, Step, walk, walk_within

_WIDTH = 256
_ALL = -1
_EVERY_LEVEL = sys.maxsize
_CHILD, _ELEMENT = Axis.CHILD, Kind.ELEMENT


class Outline:
    """The names and the trunk of a pattern.

    ``levels`` is to what depth two trunks that contradict each other show that nothing like this
    pattern is below both: all for a path, of which a document has one element at each level; the
    root for a tree; none for a pattern that no document matches.
    """

    __slots__ = ("_closed", "_names", "levels", "mentions", "needs", "trunk")

    def __init__(self, prepared: Prepared, *, impossible: bool) -> None:
        pattern = prepared.pattern
        self.needs: int = reduce(and_, map(_required, prepared.twigs), _ALL)
        self.mentions = _ALL if impossible else _bits(_mentioned(pattern))
        self.trunk, closed = _trunk(pattern)
        self._closed = closed and not impossible
        self._names = tuple(
            (level, test) for level, test in enumerate(self.trunk) if not test.is_wildcard
        )
        if impossible:
            self.trunk, self.levels = (), 0
        else:
            self.levels = 1 if pattern.linear_steps is None else _EVERY_LEVEL

    def may_cover(self, other: Outline) -> bool:
        """False only where this pattern does not cover the other one."""
        if self.needs & ~other.mentions:
            return False
        trunk = other.trunk
        for level, test in self._names:
            if level >= len(trunk):
                return not other._closed
            if not test.covers(trunk[level]):
                return False
        return True

    def contradicts(self, other: Outline, levels: int) -> bool:
        """Whether the trunks ask for different names somewhere on the first levels."""
        trunk = other.trunk
        for level, test in self._names:
            if level >= levels or level >= len(trunk):
                return False
            if not test.overlaps(trunk[level]):
                return True
        return False


def _trunk(pattern: Pattern) -> tuple[tuple[NodeTest, ...], bool]:
    """The tests of the trunk, and whether nothing below it is fixed to a level."""
    if len(pattern.alternatives) != 1:
        return (), False
    trunk: list[NodeTest] = []
    alternative = pattern.alternatives[0]
    step = alternative if isinstance(alternative, Step) else None
    while step is not None:
        if step.axis is not _CHILD or step.test.kind is not _ELEMENT:
            return tuple(trunk), True
        if step.position is not None:
            return tuple(trunk), False
        trunk.append(step.test)
        if not step.conditions:
            return tuple(trunk), True
        step = step.only_branch
    return tuple(trunk), False


def _mentioned(pattern: Pattern) -> Iterator[NodeTest]:
    """The tests of all steps, and of those that its expressions imply."""
    for condition in walk(*pattern.alternatives):
        for each in (condition, *walk(*implied(condition))):
            if isinstance(each, Step):
                yield each.test


def _required(twig: Twig) -> int:
    """The names on all branches of a twig."""
    steps = walk_within(twig, lambda each: isinstance(each, Step))
    return _bits(each.test for each in steps if isinstance(each, Step))


def _bits(tests: Iterable[NodeTest]) -> int:
    bits = 0
    for test in tests:
        if test.local is not None:
            name = test.local if test.kind is _ELEMENT else "@" + test.local
            bits |= 1 << crc32(name.encode()) % _WIDTH
    return bits
