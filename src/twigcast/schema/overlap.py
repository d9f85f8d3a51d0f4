"""Whether documents with promised paths, or of a schema, may match a subscription.

Two questions of different sharpness.  :func:`path_overlaps` knows paths only and follows the
branches of a pattern along them from the root.  :class:`SchemaOverlap` knows what an element may
hold beside what, and works upwards from the leaves of the pattern: for each condition it finds
the set of elements at which the condition may hold.

Both are exact for linear expressions.  For the rest they never say "no" where a document exists
(a valid one, that is): what they do not model (positions, negations, several tests of one value)
they take to be possible.  Deciding those as well would mean solving satisfiability of XPath under
a DTD, which is NP-hard from child steps and predicates on.

Cost: each condition of the pattern once, a few operations on sets of elements (bits) for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Fold,
    Kind,
    Negation,
    Pattern,
    Question,
    Residual,
    Step,
    ValueTest,
    passes,
)
from twigcast.schema.automaton import PathAutomaton, bits
from twigcast.schema.content import Empty, Text, companions, holds_text
from twigcast.schema.declarations import Attribute, ElementDeclaration
from twigcast.schema.simple_type import SimpleType
from twigcast.schema.values import may_be, may_be_anything, may_be_blank, may_hold, may_pass


def path_overlaps(automaton: PathAutomaton, pattern: Pattern) -> bool:
    """Whether a branch of ``pattern``, from the root to its last element, can lie along a path."""
    lies_along = _LiesAlong(automaton).visit
    alternatives: Sequence[Condition] = pattern.alternatives
    return any(not isinstance(each, Step) or lies_along(each, None) for each in alternatives)


class _LiesAlong(Question[[int | None]]):
    """Whether a branch of a condition goes on from positions of the automaton.

    A condition that asks for no element holds no branch up; None are the positions before the root.
    """

    def __init__(self, automaton: PathAutomaton) -> None:
        self._automaton = automaton

    def step(self, step: Step, positions: int | None) -> bool:
        if step.test.kind is not Kind.ELEMENT:
            return positions is not None or step.axis is Axis.DESCENDANT
        reached = self._automaton.advance(positions, step)
        return bool(reached) and self._any(step.conditions, reached)

    def value_test(self, test: ValueTest, positions: int | None) -> bool:
        return True

    def first_node(self, condition: FirstNode, positions: int | None) -> bool:
        return self.visit(condition.as_branch(), positions)

    def both(self, condition: Both, positions: int | None) -> bool:
        return self._any(condition.members, positions)

    def residual(self, condition: Residual, positions: int | None) -> bool:
        return True

    def negation(self, condition: Negation, positions: int | None) -> bool:
        return True

    def _any(self, conditions: Sequence[Condition], positions: int | None) -> bool:
        asking = [condition for condition in conditions if _asks_for_element(condition)]
        return not asking or any(self.visit(each, positions) for each in asking)


class _AsksForElement(Question[[]]):
    """Whether a condition holds only where there is an element below."""

    def step(self, step: Step) -> bool:
        return step.test.kind is Kind.ELEMENT

    def value_test(self, test: ValueTest) -> bool:
        return False

    def first_node(self, condition: FirstNode) -> bool:
        return self.visit(condition.path[0])

    def either(self, condition: Either) -> bool:
        return all(map(self.visit, condition.members))

    def both(self, condition: Both) -> bool:
        return any(map(self.visit, condition.members))

    def residual(self, condition: Residual) -> bool:
        return False

    def negation(self, condition: Negation) -> bool:
        return False


_asks_for_element = _AsksForElement().visit


class SchemaOverlap:
    """Overlap with the valid documents of a schema.

    ``names`` are the keys of the elements at the automaton's positions.  An element that is not
    among the declared ones may have any attributes and text, but no children.
    """

    def __init__(
        self,
        automaton: PathAutomaton,
        names: Sequence[str],
        elements: Mapping[str, ElementDeclaration],
    ) -> None:
        self.automaton = automaton
        self._index = {name: index for index, name in enumerate(names)}
        self._declarations = tuple(elements.get(name) for name in names)
        self._companions: dict[int, dict[int, int] | None] = {}
        self._attributes: dict[str | None, list[tuple[int, Attribute]]] = {}
        self._typed: dict[SimpleType, int] = {}
        self._undeclared = self.empty = self._texts = 0
        for index, declaration in enumerate(self._declarations):
            if declaration is None:
                self._undeclared |= 1 << index
                continue
            if holds_text(declaration.content):
                self._texts |= 1 << index
            elif isinstance(declaration.content, Empty):
                self.empty |= 1 << index
            content = declaration.content
            if isinstance(content, Text) and content.simple is not None:
                self._typed[content.simple] = self._typed.get(content.simple, 0) | 1 << index
            for attribute in declaration.attributes:
                if not attribute.is_namespace_declaration:
                    self._attributes.setdefault(_local(attribute), []).append((index, attribute))
        self._texts |= self._undeclared
        # Elements whose string-value may be more than white space.
        self.worded = self._texts | automaton.far_above(self._texts)

    def overlaps(self, pattern: Pattern) -> bool:
        """Whether some valid document may match."""
        steps = pattern.linear_steps
        if steps is not None:
            return self.automaton.overlaps_linear(steps)
        where = _Where(self)
        alternatives: Sequence[Condition] = pattern.alternatives
        return any(
            not isinstance(each, Step) or self._at_document(each, where) for each in alternatives
        )

    def _at_document(self, step: Step, where: _Where) -> bool:
        if step.axis is Axis.CHILD and step.test.kind is not Kind.ELEMENT:
            return False
        result = self.find(step, where)
        return bool(result & self.automaton.first if step.axis is Axis.CHILD else result)

    def find(self, step: Step, where: _Where) -> int:
        """The elements that the step may find, or those with such an attribute or text in them."""
        if step.test.kind is Kind.ATTRIBUTE:
            return self._find_attribute(step)
        if step.test.kind is Kind.TEXT:
            result = 0
            if all(may_hold(each, may_be_anything) for each in step.conditions):
                result |= self._texts
            if all(may_hold(each, may_be_blank) for each in step.conditions):
                result |= self.automaton.everywhere & ~self.empty
            return result
        named = self.automaton.positions(step.test.namespace, step.test.local)
        return self.all_of(named, step.conditions, where)

    def _find_attribute(self, step: Step) -> int:
        result = 0
        if all(may_hold(each, may_be_anything) for each in step.conditions):
            result |= self._undeclared
        names = self._attributes if step.test.local is None else (step.test.local, None)
        passing: dict[Attribute, bool] = {}
        for name in names:
            for index, attribute in self._attributes.get(name, ()):
                if attribute not in passing:
                    passing[attribute] = may_pass(attribute, step)
                if passing[attribute]:
                    result |= 1 << index
        return result

    def worded_for(self, test: ValueTest) -> int:
        """The elements whose string-value may be more than white space, and pass."""
        result = self.worded
        for simple, elements in self._typed.items():
            if not may_be(simple, test):
                result &= ~elements
        return result

    def all_of(self, elements: int, conditions: Sequence[Condition], where: _Where) -> int:
        """Those of ``elements`` at which all the conditions may hold together."""
        for condition in conditions:
            elements &= where.visit(condition)
        asked = [
            self._children_asked(condition, where)
            for condition in conditions
            if isinstance(condition, Step) and condition.test.kind is Kind.ELEMENT
        ]
        if len(asked) > 1:
            for index in bits(elements):
                if not self._go_together(index, asked):
                    elements &= ~(1 << index)
        return elements

    def _children_asked(self, step: Step, where: _Where) -> int:
        """The elements one of which must be a child for the branch to be there."""
        result = self.find(step, where)
        return result if step.axis is Axis.CHILD else result | self.automaton.far_above(result)

    def _go_together(self, index: int, asked: Sequence[int]) -> bool:
        """Whether, for any two of the sets, children from both can stand side by side."""
        beside = self._beside(index)
        if beside is None:
            return True
        for number, one in enumerate(asked):
            reached = 0
            for child in bits(one & self.automaton.follow[index]):
                reached |= beside[child]
            if not all(reached & other for other in asked[:number]):
                return False
        return True

    def _beside(self, index: int) -> dict[int, int] | None:
        """For each child of an element, the set of those that can stand beside it; None: all."""
        if index not in self._companions:
            declaration = self._declarations[index]
            result = None
            if declaration is not None:
                result = companions(declaration.content, self._index)
            self._companions[index] = None
            if result is not None:
                self._companions[index] = {
                    self._index[child]: sum(1 << self._index[other] for other in others)
                    for child, others in result.items()
                }
        return self._companions[index]


def _local(attribute: Attribute) -> str | None:
    """The local name; None for a wildcard."""
    if attribute.label is not None:
        return attribute.label.local
    return attribute.name.rpartition(":")[2]


class _Where(Fold[[], int]):
    """The elements at which a condition may hold, for the conditions of one pattern."""

    def __init__(self, schema: SchemaOverlap) -> None:
        self._schema = schema
        self._known: dict[Condition, int] = {}

    def visit(self, condition: Condition) -> int:
        known = self._known.get(condition)
        if known is None:
            known = self._known[condition] = super().visit(condition)
        return known

    def step(self, step: Step) -> int:
        automaton = self._schema.automaton
        elements = self._schema.find(step, self)
        if step.test.kind is Kind.ELEMENT:
            return (automaton.above if step.axis is Axis.CHILD else automaton.far_above)(elements)
        # XPath's `.//@x` and `.//text()` include those of the element itself.
        if step.axis is Axis.CHILD:
            return elements
        return elements | automaton.far_above(elements)

    def value_test(self, test: ValueTest) -> int:
        schema = self._schema
        elements = schema.worded_for(test)
        if passes("", test):
            elements |= schema.empty
        if may_be_blank(test):
            elements |= schema.automaton.everywhere & ~schema.empty
        return elements

    def first_node(self, condition: FirstNode) -> int:
        return self.visit(condition.as_branch())

    def either(self, condition: Either) -> int:
        elements = 0
        for member in condition.members:
            elements |= self.visit(member)
        return elements

    def both(self, condition: Both) -> int:
        return self._schema.all_of(self._schema.automaton.everywhere, condition.members, self)

    def residual(self, condition: Residual) -> int:
        return self._schema.automaton.everywhere

    def negation(self, condition: Negation) -> int:
        return self._schema.automaton.everywhere
