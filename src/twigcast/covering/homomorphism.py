"""Whether one twig maps into another: the quick and sound test of covering.

Each node asked for is mapped to a node that is given, so that names, comparisons and the lengths
of edges agree: an edge of length 2 onto two child edges, one of length ≥2 onto a path of two edges
or more, whatever they are.  Where such a map exists, every document that holds the given twig
holds the asked one.  The converse is true where the twig asked for is a path of names and ``*``
(the leftmost of two maps, edge by edge, is a map again, so one serves documents with short and
long ``//`` alike), and on trees without ``*`` or without ``//``.  Elsewhere a ``*`` with several
branches may be missed that stands somewhere along a given ``//``: ``/*[.//a][.//c]`` on
``//b[a][c]``, where the root is b or above it.

Most pairs have nothing in common, and two facts kept with each twig show it: a full name that is
asked for must be among those given, and the depth asked for must be reached.

Cost: nodes asked × nodes given, in operations on sets of given nodes, which are integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from twigcast.covering.twigs import Given, TwigNode, asks_for_depth, leaves
from twigcast.covering.values import OtherImplied
from twigcast.language import Kind, NodeTest, position_implies, value_implies


class AskedTwig:
    """A twig in the role of the one that covers, with facts that are quick to compare.

    ``names`` are the tests that only an equal one fits; ``height`` is how deep elements must reach.
    ``steps`` come from the leaves up: the index of a node, the node, whether it asks for depth
    alone, and whether it asks for more than a name.
    """

    __slots__ = ("height", "names", "nodes", "steps")

    def __init__(self, nodes: Sequence[TwigNode]) -> None:
        self.nodes = nodes
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
                asks_for_depth(nodes[index], is_leaf[index]),
                bool(nodes[index].position or nodes[index].values or nodes[index].others),
            )
            for index in range(len(nodes) - 1, 0, -1)
        ]


class GivenTwig:
    """A twig in the role of the one that is covered, with sets of its nodes.

    ``ancestors[n]`` are the nodes above n; ``fitting`` remembers which nodes a test accepts and
    ``reaching`` below which ones elements reach so deep.
    """

    __slots__ = ("ancestors", "fitting", "given", "height", "names", "reaching")

    def __init__(self, given: Given) -> None:
        self.given = given
        self.names = frozenset(node.test for node in given.nodes[1:])
        self.height = given.height[0]
        self.ancestors = [0] * len(given.nodes)
        for index, node in enumerate(given.nodes[1:], start=1):
            self.ancestors[index] = self.ancestors[node.parent] | 1 << node.parent
        self.fitting: dict[NodeTest, int] = {}
        self.reaching: dict[int, int] = {}

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
    given = known.given
    if given.impossible:
        return True
    if asked.height > known.height or not asked.names <= known.names:
        return False
    nodes, lineages, climbs, ancestors = given.nodes, given.lineage, given.climb, known.ancestors
    everywhere = (1 << len(nodes)) - 1
    fitting = [everywhere] * len(asked.nodes)
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
                lineage = lineages[candidate]
                if len(lineage) < length or (node.exact and climbs[candidate] < length):
                    continue
                if has_more and not _passes(node, nodes[candidate]):
                    continue
                start = lineage[length - 1]
                above |= 1 << start
                if not node.exact:
                    above |= ancestors[start]
        fitting[node.parent] &= above
        if not fitting[node.parent]:
            return False
    return bool(fitting[0] & 1)


def _passes(node: TwigNode, known: TwigNode) -> bool:
    """Whether a given node, whose name fits, passes what else is asked."""
    return (
        position_implies(known.position, known.test, node.position, node.test)
        and all(any(value_implies(have, want) for have in known.values) for want in node.values)
        and all(map(OtherImplied(known.values, known.others).visit, node.others))
    )


def _is_full_name(test: NodeTest) -> bool:
    return test.kind is Kind.TEXT or (test.namespace is not None and test.local is not None)
