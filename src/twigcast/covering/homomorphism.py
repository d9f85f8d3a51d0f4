"""Whether one twig maps into another: the quick and sound test of covering.

Each node asked for is mapped to a node that is given, so that names, comparisons and the lengths
of edges agree: an edge of length 2 onto two child edges, one of length ≥2 onto a path of two edges
or more, whatever they are.  Where such a map exists, every document that holds the given twig
holds the asked one.  The converse is true where the twig asked for is a path of names and ``*``
(the leftmost of two maps, edge by edge, is a map again, so one serves documents with short and
long ``//`` alike), and on trees without ``*`` or without ``//``.  Elsewhere a ``*`` with several
branches may be missed that stands somewhere along a given ``//``: ``/*[.//a][.//c]`` on
``//b[a][c]``, where the root is b or above it.

Most pairs have nothing to do with each other, and what tells is kept with each twig: a full name
that is asked for must be among those given, and the depth asked for must be reached.

Cost: nodes asked × nodes given, in operations on sets of given nodes, which are integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from twigcast.covering.twigs import Given, TwigNode, asks_for_depth, leaves
from twigcast.covering.values import OtherImplied
from twigcast.language import Kind, NodeTest, position_implies, value_implies


class AskedTwig:
    """A twig in the role of the one that covers, with what is quickly told about it.

    ``names`` are the tests that only an equal one fits; ``height`` is how deep elements must reach.
    ``steps`` come from the leaves up: the place of a node, the node, whether it asks for depth
    alone, and whether it asks for more than a name.
    """

    __slots__ = ("height", "names", "nodes", "steps")

    def __init__(self, nodes: Sequence[TwigNode]) -> None:
        self.nodes = nodes
        self.names = frozenset(node.test for node in nodes[1:] if _is_full_name(node.test))
        is_leaf = leaves(nodes)
        depths = [0] * len(nodes)
        self.height = 0
        for place, node in enumerate(nodes[1:], start=1):
            depths[place] = depths[node.parent] + node.length
            reach = 0 if node.test.kind is Kind.ELEMENT else 1
            self.height = max(self.height, depths[place] - reach)
        self.steps = [
            (
                place,
                nodes[place],
                asks_for_depth(nodes[place], is_leaf[place]),
                bool(nodes[place].position or nodes[place].values or nodes[place].others),
            )
            for place in range(len(nodes) - 1, 0, -1)
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
        for place, node in enumerate(given.nodes[1:], start=1):
            self.ancestors[place] = self.ancestors[node.parent] | 1 << node.parent
        self.fitting: dict[NodeTest, int] = {}
        self.reaching: dict[int, int] = {}

    def find(self, test: NodeTest) -> int:
        """The nodes that pass a test."""
        found = 0
        for place, node in enumerate(self.given.nodes[1:], start=1):
            if test.covers(node.test):
                found |= 1 << place
        self.fitting[test] = found
        return found

    def reach(self, length: int) -> int:
        """The nodes below which elements reach that deep."""
        found = 0
        for place, height in enumerate(self.given.height):
            if height >= length and self.given.nodes[place].test.kind is Kind.ELEMENT:
                found |= 1 << place
        self.reaching[length] = found
        return found


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
    for place, node, is_depth, has_more in asked.steps:
        length = node.length
        if is_depth:
            above = known.reaching.get(length, -1)
            if above < 0:
                above = known.reach(length)
        else:
            found = known.fitting.get(node.test, -1)
            if found < 0:
                found = known.find(node.test)
            found &= fitting[place]
            above = 0
            while found:
                bit = found & -found
                found ^= bit
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
