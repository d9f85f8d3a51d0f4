"""A pattern taken apart for covering: twigs, each in two roles.

A pattern is first split into *twigs*: trees without ``or``, of which a document must hold one
(:func:`split`).  In the question "does p cover q", a twig of q is **given**, one of p **asked**::

    pattern ──split──► twigs ──┬──► Given: every step a node, edges as written, and what follows
                               └──► Asked: bare `*` are lengths of edges

    /a/*//b    given   (document) ─/─► a ─/─► * ─//─► b
               asked   (document) ═1═► a ─≥2─► b

That the runs of ``*`` become lengths is what makes covering of paths exact: the branch ``≥2`` asks
for *some* b two levels or more below a, wherever the stars of the other pattern stand.  A ``*`` at
the end of a path asks for depth only, so its edge is always of the second kind.

Cost: linear in the pattern, but for ``or``, which multiplies; where more than ``MOST_TWIGS`` twigs
would come out, the largest disjunctions stay, as conditions that only an equal or
stronger one implies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final, TypeAlias

from twigcast.covering.tidying import is_one_attribute, tidy
from twigcast.covering.values import with_consequences
from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Fold,
    Kind,
    Negation,
    NodeTest,
    Pattern,
    Position,
    Step,
    ValueTest,
    node_test,
)

MOST_TWIGS = 64
_BEYOND_NAMES = re.compile(r" or |[@()\"'<>=]|\[\d")
"""What the text of a pattern holds if there is anything but branches of elements in it."""
_DOCUMENT = 0


def split(pattern: Pattern, most: int = MOST_TWIGS) -> tuple[Step, ...]:
    """The twigs of a pattern: a document matches it exactly where it matches one of them.

    None for a pattern that never matches.
    """
    if _BEYOND_NAMES.search(str(pattern)) is None:
        return pattern.alternatives
    twigs: list[Step] = []
    for alternative in pattern.alternatives:
        if alternative.axis is Axis.CHILD and alternative.test.kind is not Kind.ELEMENT:
            continue  # the document node has neither attributes nor text
        for twig in _split_step(alternative, max(1, most // len(pattern.alternatives))):
            tidied = tidy(twig)
            if tidied is not None:
                twigs.append(tidied)
    return tuple(twigs)


def _split_step(step: Step, most: int) -> list[Step]:
    """The step with each choice of members of the disjunctions below it."""
    if not step.conditions:
        return [step]
    choices = [_split_condition(condition, most) for condition in step.conditions]
    count = 1
    # The smallest disjunctions first, so that as many as possible are split.
    for index in sorted(range(len(choices)), key=lambda index: len(choices[index])):
        if count * len(choices[index]) > most:
            choices[index] = [(step.conditions[index],)]
        count *= len(choices[index])
    if count == 1 and all(
        len(one) == 1 and one[0] is condition
        for (one,), condition in zip(choices, step.conditions, strict=True)
    ):
        return [step]
    return [
        Step(step.axis, step.test, step.position, tuple(c for part in chosen for c in part))
        for chosen in product(*choices)
    ]


_Choices: TypeAlias = list[tuple[Condition, ...]]


class _Split(Fold[[int], _Choices]):
    """The choices that a condition leaves, each a conjunction; at most so many."""

    def step(self, step: Step, most: int) -> _Choices:
        return [(chosen,) for chosen in _split_step(step, most)]

    def value_test(self, test: ValueTest, most: int) -> _Choices:
        return [(test,)]

    def first_node(self, condition: FirstNode, most: int) -> _Choices:
        return [(condition,)]

    def either(self, condition: Either, most: int) -> _Choices:
        choices = [choice for member in condition.members for choice in self.visit(member, most)]
        return choices if len(choices) <= most else [(condition,)]

    def both(self, condition: Both, most: int) -> _Choices:
        members = [self.visit(member, most) for member in condition.members]
        if prod(map(len, members)) > most:
            return [(condition,)]
        return [tuple(c for part in chosen for c in part) for chosen in product(*members)]

    def negation(self, condition: Negation, most: int) -> _Choices:
        return [(condition,)]


_split_condition: Final = _Split().visit


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


_ROOT = TwigNode(-1, True, 0, node_test(Kind.ELEMENT), None)


@dataclass(slots=True)
class Given:
    """A twig that is known to be in a document.

    ``nodes`` come parents first.  ``lineage[n]`` are the ancestors of n, nearest first.
    ``climb[n]`` is how many edges up from n are child edges, one after the other.  ``height[n]``
    is the depth below n to which elements are known to reach.  ``impossible`` says that the tests
    of one node contradict each other, so no document holds the twig.
    """

    nodes: list[TwigNode] = field(default_factory=lambda: [_ROOT])
    lineage: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    climb: list[int] = field(default_factory=lambda: [0])
    height: list[int] = field(default_factory=list)
    impossible: bool = False

    def add(self, step: Step, parent: int) -> None:
        """Put a branch below a node."""
        exact = step.axis is Axis.CHILD
        if parent == _DOCUMENT and step.test.kind is not Kind.ELEMENT:
            # An attribute or a text is in an element: the root, or one below it.
            parent = self._append(TwigNode(parent, True, 1, node_test(Kind.ELEMENT), None))
        values = [c for c in step.conditions if isinstance(c, ValueTest)]
        known = with_consequences(values)
        if known is None:
            self.impossible = True
            known = tuple(values)
        # A comparison of an attribute may contradict what is asked not to be there.
        others = tuple(
            c for c in step.conditions if not isinstance(c, (Step, ValueTest)) or is_compared(c)
        )
        index = self._append(
            TwigNode(parent, exact, 1, step.test, step.position, known, others),
        )
        for condition in step.conditions:
            if isinstance(condition, Step):
                self.add(condition, index)
            elif isinstance(condition, FirstNode):
                self.add(condition.as_branch(), index)

    def _append(self, node: TwigNode) -> int:
        index = len(self.nodes)
        self.nodes.append(node)
        self.lineage.append((node.parent, *self.lineage[node.parent]))
        self.climb.append(self.climb[node.parent] + 1 if node.exact else 0)
        return index

    def finish(self) -> None:
        """Compute the heights, once all branches are there."""
        self.height = [0] * len(self.nodes)
        for index, node in enumerate(self.nodes):
            reach = 0 if node.test.kind is Kind.ELEMENT else -1
            for distance, above in enumerate(self.lineage[index], 1):
                self.height[above] = max(self.height[above], distance + reach)


def given(twig: Step) -> Given:
    """The twig in the role of the one that is covered."""
    known = Given()
    known.add(twig, _DOCUMENT)
    known.finish()
    return known


def asked(twig: Step) -> tuple[TwigNode, ...]:
    """The twig in the role of the one that covers; parents first, the document node included."""
    nodes = [_ROOT]
    _ask(nodes, twig, _DOCUMENT)
    return tuple(nodes)


def _ask(nodes: list[TwigNode], step: Step, parent: int) -> None:
    length = 1
    exact = step.axis is Axis.CHILD
    if parent == _DOCUMENT and step.test.kind is not Kind.ELEMENT:
        length = 2
    while step.is_wildcard:
        below = step.only_branch
        if below is None:
            break
        length += 1
        exact = exact and below.axis is Axis.CHILD
        step = below
    if step.is_wildcard and not step.conditions:
        exact = False
    values = tuple(c for c in step.conditions if isinstance(c, ValueTest))
    others = tuple(c for c in step.conditions if not isinstance(c, (Step, ValueTest)))
    index = len(nodes)
    nodes.append(TwigNode(parent, exact, length, step.test, step.position, values, others))
    for condition in step.conditions:
        if isinstance(condition, Step):
            _ask(nodes, condition, index)


def is_compared(condition: Condition) -> bool:
    """Whether the condition is that the one attribute of a name passes comparisons."""
    return (
        isinstance(condition, Step)
        and is_one_attribute(condition)
        and bool(condition.conditions)
        and all(isinstance(below, ValueTest) for below in condition.conditions)
    )


def asks_for_depth(node: TwigNode, is_leaf: bool) -> bool:
    """Whether an asked node is a ``*`` at the end of a path, for which any element will do."""
    return (
        is_leaf
        and node.position is None
        and node.test.is_wildcard
        and not node.values
        and not node.others
    )


def leaves(nodes: Sequence[TwigNode]) -> list[bool]:
    """Which nodes have no others below them."""
    flags = [True] * len(nodes)
    for node in nodes:
        if node.parent >= 0:
            flags[node.parent] = False
    return flags
