"""Small documents that only one of two patterns matches, and whether a pattern matches one.

A model is a document as XPath sees it, in parallel lists: node n has a kind, a name, a parent and a
value.  Node 0 is the document node; nodes come in document order, attributes right behind their
element.  Text nodes may be neighbours, since in a document a comment can keep them apart::

    <a x="1">5<b/></a>      0 document   1 a   2 @x   3 text   4 b
                  parent        -        0     1      1        1
                  value         -       "5"   "1"    "5"       ""

Sets of nodes are integers.  A pattern is evaluated from its leaves up, each step once for the whole
model: the set of nodes that fit it, then the set of nodes that have one of those below.

Cost of an evaluation: steps × nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from twigcast.covering.splitting import Twig
from twigcast.language import (
    Axis,
    Both,
    Either,
    FirstNode,
    Fold,
    Kind,
    Negation,
    Residual,
    Step,
    ValueTest,
    passes,
)
from twigcast.schema import bits

Name = tuple[str, str]
"""A namespace and a local name."""

DOCUMENT = 0
_NO_NAME = ("", "")


class Model(Fold[[int], int]):
    """A document that is built in document order and then asked."""

    __slots__ = ("_is_generous", "above", "kinds", "names", "parents", "values")

    def __init__(self) -> None:
        self._is_generous = False
        self.kinds: list[Kind | None] = [None]
        self.names: list[Name] = [_NO_NAME]
        self.parents: list[int] = [-1]
        self.above: list[int] = [0]
        self.values: list[str] = [""]

    def __len__(self) -> int:
        return len(self.kinds)

    def add_element(self, parent: int, name: Name) -> int:
        """Put an element behind what is in its parent already."""
        return self._add(parent, Kind.ELEMENT, name, "")

    def add_text(self, parent: int, text: str) -> int:
        """Put a text, which is not empty, behind what is in its parent already."""
        above = parent
        while above != DOCUMENT:
            self.values[above] += text
            above = self.parents[above]
        return self._add(parent, Kind.TEXT, _NO_NAME, text)

    def add_attribute(self, owner: int, name: Name, value: str) -> bool:
        """Give the newest element an attribute; False where it has another value already."""
        for node in range(owner + 1, len(self.kinds)):
            if self.kinds[node] is Kind.ATTRIBUTE and self.names[node] == name:
                return self.values[node] == value
        self._add(owner, Kind.ATTRIBUTE, name, value)
        return True

    def _add(self, parent: int, kind: Kind, name: Name, value: str) -> int:
        self.kinds.append(kind)
        self.names.append(name)
        self.parents.append(parent)
        self.above.append(self.above[parent] | 1 << parent)
        self.values.append(value)
        return len(self.kinds) - 1

    def may_have_one_of(self, twigs: Iterable[Twig]) -> bool:
        """Whether one of the twigs may hold in the document."""
        return self._has_one_of(twigs, is_generous=True)

    def has_one_of(self, twigs: Iterable[Twig]) -> bool:
        """Whether one of the twigs is known to hold in the document."""
        return self._has_one_of(twigs, is_generous=False)

    def _has_one_of(self, twigs: Iterable[Twig], *, is_generous: bool) -> bool:
        self._is_generous = is_generous
        return any(
            all(self.visit(condition, 1 << DOCUMENT) for condition in twig) for twig in twigs
        )

    def _having(self, step: Step) -> int:
        """The nodes at which the step holds: those with a fitting node below."""
        nodes = 0
        for node in bits(self._fitting(step)):
            nodes |= self.above[node] if step.axis is Axis.DESCENDANT else 1 << self.parents[node]
        return nodes

    def _fitting(self, step: Step) -> int:
        """The nodes that pass all that a step asks, wherever they are."""
        nodes = 0
        counts: dict[int, int] = {}
        kind, accepts, position = step.test.kind, step.test.accepts, step.position
        for node, name in enumerate(self.names):
            if self.kinds[node] is not kind or (kind is not Kind.TEXT and not accepts(*name)):
                continue
            if position is not None:
                parent = self.parents[node]
                counts[parent] = counts.get(parent, 0) + 1
                if not position.accepts(counts[parent]):
                    continue
            nodes |= 1 << node
        for condition in step.conditions:
            if not nodes:
                break
            nodes = self.visit(condition, nodes)
        return nodes

    # As a fold, a model says at which nodes of a set a condition holds.

    def step(self, step: Step, among: int) -> int:
        return among & self._having(step)

    def either(self, condition: Either, among: int) -> int:
        nodes = 0
        for member in condition.members:
            nodes |= self.visit(member, among)
        return nodes

    def both(self, condition: Both, among: int) -> int:
        for member in condition.members:
            among = self.visit(member, among)
        return among

    def residual(self, condition: Residual, among: int) -> int:
        # Expressions are not evaluated: they may hold wherever what they imply does.
        return self.visit(condition.implied, among) if self._is_generous else 0

    def negation(self, condition: Negation, among: int) -> int:
        self._is_generous = not self._is_generous
        denied = self.visit(condition.condition, among)
        self._is_generous = not self._is_generous
        return among & ~denied

    def value_test(self, test: ValueTest, among: int) -> int:
        nodes = 0
        for node in bits(among):
            if passes(self.values[node], test):
                nodes |= 1 << node
        return nodes

    def first_node(self, condition: FirstNode, among: int) -> int:
        fitting = [(step.axis, self._fitting(step)) for step in condition.path]
        nodes = 0
        for start in bits(among):
            selected = 1 << start
            for axis, candidates in fitting:
                selected = self._reached(axis, candidates, selected)
            # Document order is the order of the numbers.
            if selected and self.value_test(condition.test, selected & -selected):
                nodes |= 1 << start
        return nodes

    def _reached(self, axis: Axis, candidates: int, starts: int) -> int:
        nodes = 0
        for node in bits(candidates):
            above = self.above[node] if axis is Axis.DESCENDANT else 1 << self.parents[node]
            if above & starts:
                nodes |= 1 << node
        return nodes
