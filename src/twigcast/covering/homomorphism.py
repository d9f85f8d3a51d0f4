"""Whether one twig maps into another: the quick and sound test of covering.

Each node asked for is mapped to a node that is given, so that names, conditions and the lengths
of edges agree: an edge of length 2 onto two child edges, one of length ≥2 onto a path of two edges
or more, whatever they are.  Where such a map exists, every document that holds the given twig
holds the asked one.  The converse is true where the twig asked for is a path of names and ``*``
(the leftmost of two maps, edge by edge, is a map again, so one serves documents with short and
long ``//`` alike), and on trees without ``*`` or without ``//``.  Elsewhere a fork, a ``*`` with
several branches, may be missed that stands somewhere along a given ``//``: ``/z/*[.//a][.//c]`` on
``/z//x//b[a][c]``.  Right above the end of a ``//`` it is not missed (``between`` in
:mod:`twigcast.covering.twigs`), so a pattern covers itself with more conditions: these may make a
fork a bare ``*``, which the normal form moves to the other end of the ``//``.

A disjunction that was not split holds at a given node where one of its members does, or where the
same one is given.

Most pairs have nothing in common, and two facts kept with each twig show it: a full name that is
asked for must be among those given, and the depth asked for must be reached.

Cost: nodes asked × nodes given, in operations on sets of given nodes, which are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from twigcast.covering.conditions import OtherImplied
from twigcast.covering.splitting import Twig
from twigcast.covering.twigs import TwigNode, asked, given, leaves
from twigcast.language import (
    Both,
    Condition,
    Either,
    Kind,
    NodeTest,
    position_implies,
    value_implies,
)


class AskedTwig:
    """A twig in the role of the one that covers, with facts that are quick to compare.

    ``names`` are the tests that only an equal one fits; ``height`` is how deep elements must reach.
    ``steps`` come from the leaves up: the index of a node, the node, whether it asks for depth
    alone, and whether it asks for more than a name.  ``choices`` are the disjunctions that were not
    split, with what each of their members asks for.
    """

    __slots__ = ("choices", "has_forks", "has_more", "height", "names", "nodes", "steps")

    def __init__(self, conditions: Sequence[Condition], *, at_document: bool = True) -> None:
        nodes = self.nodes = asked(conditions, at_document=at_document)
        self.names = frozenset(node.test for node in nodes[1:] if _is_full_name(node.test))
        is_leaf = leaves(nodes)
        depths = [0] * len(nodes)
        self.height = 0
        for index, node in enumerate(nodes[1:], start=1):
            depths[index] = depths[node.parent] + node.length
            reach = 0 if node.test.kind is Kind.ELEMENT else 1
            self.height = max(self.height, depths[index] - reach)
        self.steps = [
            (
                index,
                nodes[index],
                is_leaf[index] and nodes[index].is_bare,
                _has_more(nodes[index]),
            )
            for index in range(len(nodes) - 1, 0, -1)
        ]
        self.has_more = _has_more(nodes[0])
        self.has_forks = any(
            node.is_bare and not is_leaf[index] for index, node in enumerate(nodes[1:], start=1)
        )
        self.choices = {
            each: [AskedTwig(_members(member), at_document=False) for member in each.members]
            for node in nodes
            for each in node.others
            if isinstance(each, Either)
        }


class GivenTwig:
    """A twig in the role of the one that is covered, with sets of its nodes.

    ``fitting`` remembers which nodes a test accepts and ``reaching`` below which ones elements
    reach so deep.
    """

    def __init__(self, twig: Twig, *, between: bool = False) -> None:
        self.twig = twig
        self.given = given(twig, between=between)
        self.names = frozenset(node.test for node in self.given.nodes[1:])
        self.height = self.given.height[0]
        self.fitting: dict[NodeTest, int] = {}
        self.reaching: dict[int, int] = {}

    @cached_property
    def between(self) -> GivenTwig:
        """The same with elements along each ``//``."""
        return GivenTwig(self.twig, between=True)

    def find(self, test: NodeTest) -> int:
        """The nodes that pass a test."""
        passing = 0
        for index, node in enumerate(self.given.nodes[1:], start=1):
            if test.covers(node.test):
                passing |= 1 << index
        self.fitting[test] = passing
        return passing

    def reach(self, length: int) -> int:
        """The nodes below which elements reach that deep."""
        high = 0
        for index, height in enumerate(self.given.height):
            if height >= length and self.given.nodes[index].test.kind is Kind.ELEMENT:
                high |= 1 << index
        self.reaching[length] = high
        return high


def fits(asked: AskedTwig, known: GivenTwig) -> bool:
    """Whether the twig asked for is known to be wherever the given one is."""
    if known.given.impossible:
        return True
    if asked.height > known.height or not asked.names <= known.names:
        return False
    return bool(_holding(asked, known.between if asked.has_forks else known, 1))


def _holding(asked: AskedTwig, known: GivenTwig, among: int) -> int:
    """The given nodes of a set at which all that is asked holds."""
    given = known.given
    exactly, least = given.exactly, given.least
    fitting = [(1 << len(given.nodes)) - 1] * len(asked.nodes)
    fitting[0] = among
    for index, node, is_depth, has_more in asked.steps:
        length = node.length
        if is_depth:
            above = known.reaching.get(length, -1)
            if above < 0:
                above = known.reach(length)
        else:
            candidates = known.fitting.get(node.test, -1)
            if candidates < 0:
                candidates = known.find(node.test)
            candidates &= fitting[index]
            above = 0
            while candidates:
                bit = candidates & -candidates
                candidates ^= bit
                candidate = bit.bit_length() - 1
                higher = exactly[candidate] if node.exact else least[candidate]
                if len(higher) < length:
                    continue
                if has_more and not _passes(asked, node, known, candidate):
                    continue
                above |= 1 << higher[length - 1] if node.exact else higher[length - 1]
        fitting[node.parent] &= above
        if not fitting[node.parent]:
            return 0
    if not asked.has_more:
        return fitting[0]
    holding = 0
    for candidate in range(len(given.nodes)):
        bit = 1 << candidate
        if fitting[0] & bit and _passes(asked, asked.nodes[0], known, candidate):
            holding |= bit
    return holding


def _passes(asked: AskedTwig, node: TwigNode, known: GivenTwig, candidate: int) -> bool:
    """Whether a given node, whose name fits, passes what else is asked."""
    here = known.given.nodes[candidate]
    if not position_implies(here.position, here.test, node.position, node.test):
        return False
    if not all(any(value_implies(have, want) for have in here.values) for want in node.values):
        return False
    is_implied = OtherImplied(here.values, here.others).visit
    return all(
        is_implied(want)
        or (
            isinstance(want, Either)
            and any(_holding(each, known, 1 << candidate) for each in asked.choices[want])
        )
        for want in node.others
    )


def _has_more(node: TwigNode) -> bool:
    return bool(node.position or node.values or node.others)


def _members(condition: Condition) -> tuple[Condition, ...]:
    return condition.members if isinstance(condition, Both) else (condition,)


def _is_full_name(test: NodeTest) -> bool:
    return test.kind is Kind.TEXT or (test.namespace is not None and test.local is not None)
