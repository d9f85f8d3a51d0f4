"""A twig in two roles: what is given, what is asked.

In the question "does p cover q", a twig of q is **given**, one of p **asked**::

    pattern ──split──► twigs ──┬──► Given: every step a node, edges as written, and what follows
                               └──► Asked: bare `*` are lengths of edges

    /a/*//b    given   (document) ─/─► a ─/─► * ─//─► b
               asked   (document) ═1═► a ─≥2─► b

That the runs of ``*`` become lengths is what makes covering of paths exact: the branch ``≥2`` asks
for *some* b two levels or more below a, wherever the stars of the other pattern stand.  A ``*`` at
the end of a path asks for depth only, so its edge is always of the second kind.  There is one root,
so a bare ``*`` that stands for it is a length, too, even where it has several branches.

Elsewhere a ``*`` with several branches, a *fork*, is mapped to one element.  That may be an element
that the given twig does not spell out, because it lies along a ``//``.  The elements right above a
node behind ``//`` are known to be there, so :func:`given` can put them in::

    //a/*//b   ``between``   a ─/─► *        a ─≥1─► ? ─/─► ? ─/─► b

As many are known as there are bare ``*`` before the ``//`` and, below an element, one more, which
may be that element itself.

Cost: nodes × depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twigcast.covering.conditions import can_all_hold, implied, is_compared
from twigcast.covering.splitting import Twig, has_choice
from twigcast.language import (
    Axis,
    Condition,
    Either,
    Kind,
    NodeTest,
    Position,
    Step,
    ValueTest,
    node_test,
    with_consequences,
)

_ANY_ELEMENT = node_test(Kind.ELEMENT)
_DOCUMENT = 0


@dataclass(slots=True)
class TwigNode:
    """A node of a twig and the edge to it from ``parent``, an index; that of the document is 0.

    Given, an edge is one step: ``exact`` for a child, not so for a descendant.  Asked, it is
    ``length`` steps, or that many at least.
    """

    parent: int
    exact: bool
    length: int
    test: NodeTest
    position: Position | None
    values: tuple[ValueTest, ...] = ()
    others: tuple[Condition, ...] = ()
    """Conditions that are neither branches nor comparisons: ``not()`` and such."""

    @property
    def is_bare(self) -> bool:
        """Whether any element will do."""
        return (
            self.test.is_wildcard and self.position is None and not self.values and not self.others
        )


class Given:
    """A twig that is known to be in a document.

    ``exactly[n]`` are the nodes one, two, … levels above n, as far as they are known.
    ``least[n][k]`` are the nodes more than k levels above n, as a set in an integer.  ``height[n]``
    is the depth below n to which elements are known to reach.  ``impossible`` says that the tests
    of one node contradict each other, so no document holds the twig.
    """

    __slots__ = (
        "_above",
        "_between",
        "exactly",
        "has_choice",
        "height",
        "impossible",
        "least",
        "nodes",
    )

    def __init__(self, twig: Twig, *, between: bool) -> None:
        self.nodes: list[TwigNode] = []
        self.exactly: list[tuple[int, ...]] = []
        self._above: list[dict[int, int]] = []
        self._between = between
        self.impossible = False
        self.has_choice = has_choice(twig)
        document = self._node(-1, True, _ANY_ELEMENT, None, twig)
        self._put(document, {}, ())
        self._add_branches(twig, _DOCUMENT)
        if len(self.nodes) == 1:  # there is a root
            self._append(TwigNode(_DOCUMENT, True, 1, _ANY_ELEMENT, None))
        self.height = [0] * len(self.nodes)
        for above, node in zip(self._above, self.nodes, strict=True):
            reach = 0 if node.test.kind is Kind.ELEMENT else -1
            for index, distance in above.items():
                self.height[index] = max(self.height[index], distance + reach)
        self.least = [_by_distance(above) for above in self._above]

    def _add(self, step: Step, parent: int) -> None:
        """Put a branch below a node."""
        if parent == _DOCUMENT and step.test.kind is not Kind.ELEMENT:
            # An attribute or a text is in an element: the root, or one below it.
            parent = self._append(TwigNode(parent, True, 1, _ANY_ELEMENT, None))
        exact = step.axis is Axis.CHILD
        node = self._node(parent, exact, step.test, step.position, step.conditions)
        index = self._append(node)
        self._add_branches(step.conditions, index)

    def _add_branches(self, conditions: Sequence[Condition], index: int) -> None:
        for condition in conditions:
            if isinstance(condition, Step):
                self._add(condition, index)
            for weaker in implied(condition):
                if isinstance(weaker, Step):
                    self._add(weaker, index)

    def _node(
        self,
        parent: int,
        exact: bool,
        test: NodeTest,
        position: Position | None,
        conditions: Sequence[Condition],
    ) -> TwigNode:
        weaker = [each for condition in conditions for each in implied(condition)]
        known = (*conditions, *weaker)
        self.impossible |= not can_all_hold(weaker, test)
        values = [each for each in known if isinstance(each, ValueTest)]
        together = with_consequences(values)
        if together is None:
            self.impossible = True
            together = tuple(values)
        # What is asked not to be there may contradict a comparison of an attribute, or the root.
        others = tuple(
            each
            for each in known
            if not isinstance(each, Step | ValueTest | Either)
            or (isinstance(each, Either) and self.has_choice)
            or is_compared(each)
            or (parent < 0 and isinstance(each, Step) and each.axis is Axis.CHILD)
        )
        return TwigNode(parent, exact, 1, test, position, together, others)

    def _append(self, node: TwigNode) -> int:
        parent = node.parent
        above = {index: distance + 1 for index, distance in self._above[parent].items()}
        above[parent] = 1
        if node.exact:
            return self._put(node, above, (parent, *self.exactly[parent]))
        if not self._between:
            return self._put(node, above, ())
        chain: tuple[int, ...] = ()
        for level in range(self._levels_between(parent), 0, -1):
            higher = {index: far - level for index, far in above.items() if far > level}
            higher |= {index: far for far, index in enumerate(chain, 1)}
            element = TwigNode(parent, False, 1, _ANY_ELEMENT, None)
            chain = (self._put(element, higher, chain), *chain)
        above |= {index: far for far, index in enumerate(chain, 1)}
        return self._put(node, above, chain)

    def _levels_between(self, index: int) -> int:
        """How many elements right above a node behind ``//`` are known, which this is above."""
        levels = 0
        while index != _DOCUMENT and self._is_bare(node := self.nodes[index]):
            levels += 1
            index = node.parent
        return levels if index == _DOCUMENT else levels + 1

    @staticmethod
    def _is_bare(node: TwigNode) -> bool:
        return (
            node.exact
            and node.test.is_wildcard
            and node.position is None
            and not node.values
            and all(isinstance(other, Step) for other in node.others)
        )

    def _put(self, node: TwigNode, above: dict[int, int], exactly: tuple[int, ...]) -> int:
        self.nodes.append(node)
        self._above.append(above)
        self.exactly.append(exactly)
        return len(self.nodes) - 1


def _by_distance(above: dict[int, int]) -> list[int]:
    """The sets of the nodes that are 1, 2, … levels away, or farther."""
    sets = [0] * max(above.values(), default=0)
    for index, distance in above.items():
        sets[distance - 1] |= 1 << index
    for distance in range(len(sets) - 1, 0, -1):
        sets[distance - 1] |= sets[distance]
    return sets


def given(twig: Twig, *, between: bool = False) -> Given:
    """The twig in the role of the one that is covered."""
    return Given(twig, between=between)


def asked(conditions: Sequence[Condition], *, at_document: bool = True) -> tuple[TwigNode, ...]:
    """Conditions at a node in the role of what covers; parents first, that node included."""
    nodes = [_asked_node(-1, True, 0, _ANY_ELEMENT, None, conditions)]
    for condition in conditions:
        if isinstance(condition, Step):
            _ask(nodes, condition, _DOCUMENT, 0, exact=True, at_document=at_document)
    return tuple(nodes)


def _ask(
    nodes: list[TwigNode], step: Step, parent: int, length: int, *, exact: bool, at_document: bool
) -> None:
    exact = exact and step.axis is Axis.CHILD
    at_document = at_document and parent == _DOCUMENT and length == 0
    length += 1
    if at_document and step.test.kind is not Kind.ELEMENT:
        length = 2
    branches = [below for below in step.conditions if isinstance(below, Step)]
    if step.is_wildcard and len(branches) == len(step.conditions):
        if len(branches) == 1 or (branches and exact and at_document):
            for below in branches:
                _ask(nodes, below, parent, length, exact=exact, at_document=False)
            return
        exact = exact and bool(branches)
    index = len(nodes)
    nodes.append(_asked_node(parent, exact, length, step.test, step.position, step.conditions))
    for below in branches:
        _ask(nodes, below, index, 0, exact=True, at_document=False)


def _asked_node(
    parent: int,
    exact: bool,
    length: int,
    test: NodeTest,
    position: Position | None,
    conditions: Sequence[Condition],
) -> TwigNode:
    values = tuple(c for c in conditions if isinstance(c, ValueTest))
    others = tuple(c for c in conditions if not isinstance(c, Step | ValueTest))
    return TwigNode(parent, exact, length, test, position, values, others)


def leaves(nodes: Sequence[TwigNode]) -> list[bool]:
    """Which nodes have no others below them."""
    flags = [True] * len(nodes)
    for node in nodes:
        if node.parent >= 0:
            flags[node.parent] = False
    return flags
