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
    Kind,
    Negation,
    Pattern,
    Step,
    ValueTest,
    passes,
)
from twigcast.schema.automaton import PathAutomaton, bits
from twigcast.schema.content import Empty, companions, holds_text
from twigcast.schema.dtd import Attribute, ElementDeclaration
from twigcast.schema.values import may_be_anything, may_be_blank, may_hold, may_pass


def path_overlaps(automaton: PathAutomaton, pattern: Pattern) -> bool:
    """Whether a branch of ``pattern``, from the root to its last element, can lie along a path."""
    return any(_lies_along(automaton, None, step) for step in pattern.alternatives)


def _lies_along(automaton: PathAutomaton, positions: int | None, condition: Condition) -> bool:
    """Whether a branch of a condition that asks for elements goes on from ``positions``."""
    if isinstance(condition, Step):
        if condition.test.kind is not Kind.ELEMENT:
            return positions is not None or condition.axis is Axis.DESCENDANT
        reached = automaton.advance(positions, condition)
        return bool(reached) and _any_lies_along(automaton, reached, condition.conditions)
    if isinstance(condition, FirstNode):
        return _lies_along(automaton, positions, condition.as_branch())
    if isinstance(condition, Either):
        return any(_lies_along(automaton, positions, member) for member in condition.members)
    assert isinstance(condition, Both)
    assert positions is not None
    return _any_lies_along(automaton, positions, condition.members)


def _any_lies_along(
    automaton: PathAutomaton, positions: int, conditions: Sequence[Condition]
) -> bool:
    asking = [condition for condition in conditions if _asks_for_element(condition)]
    return not asking or any(_lies_along(automaton, positions, each) for each in asking)


def _asks_for_element(condition: Condition) -> bool:
    """Whether the condition holds only where there is an element below."""
    if isinstance(condition, Step):
        return condition.test.kind is Kind.ELEMENT
    if isinstance(condition, FirstNode):
        return condition.path[0].test.kind is Kind.ELEMENT
    if isinstance(condition, Either):
        return all(map(_asks_for_element, condition.members))
    return isinstance(condition, Both) and any(map(_asks_for_element, condition.members))


class SchemaOverlap:
    """Overlap with the valid documents of a schema.

    ``names`` are those of the elements at the automaton's positions.  An element that is not
    among the declared ones may have any attributes and text, but no children.
    """

    def __init__(
        self,
        automaton: PathAutomaton,
        names: Sequence[str],
        elements: Mapping[str, ElementDeclaration],
    ) -> None:
        self._automaton = automaton
        self._index = {name: index for index, name in enumerate(names)}
        self._declarations = tuple(elements.get(name) for name in names)
        self._companions: dict[int, dict[int, int] | None] = {}
        self._attributes: dict[str, list[tuple[int, Attribute]]] = {}
        self._undeclared = self._empty = self._texts = 0
        for index, declaration in enumerate(self._declarations):
            if declaration is None:
                self._undeclared |= 1 << index
                continue
            if holds_text(declaration.content):
                self._texts |= 1 << index
            elif isinstance(declaration.content, Empty):
                self._empty |= 1 << index
            for attribute in declaration.attributes:
                if not attribute.is_namespace_declaration:
                    same = self._attributes.setdefault(attribute.name.rpartition(":")[2], [])
                    same.append((index, attribute))
        self._texts |= self._undeclared
        # Elements whose string-value may be more than white space.
        self._worded = self._texts | automaton.far_above(self._texts)

    def overlaps(self, pattern: Pattern) -> bool:
        """Whether some valid document may match."""
        steps = pattern.linear_steps
        if steps is not None:
            return self._automaton.overlaps_linear(steps)
        known: dict[Condition, int] = {}
        return any(self._at_document(step, known) for step in pattern.alternatives)

    def _at_document(self, step: Step, known: dict[Condition, int]) -> bool:
        if step.axis is Axis.CHILD and step.test.kind is not Kind.ELEMENT:
            return False
        found = self._find(step, known)
        return bool(found & self._automaton.first if step.axis is Axis.CHILD else found)

    def _where(self, condition: Condition, known: dict[Condition, int]) -> int:
        """The elements at which the condition may hold."""
        found = known.get(condition)
        if found is None:
            found = known[condition] = self._decide(condition, known)
        return found

    def _decide(self, condition: Condition, known: dict[Condition, int]) -> int:
        automaton = self._automaton
        if isinstance(condition, Step):
            found = self._find(condition, known)
            if condition.test.kind is Kind.ELEMENT:
                if condition.axis is Axis.CHILD:
                    return automaton.above(found)
                return automaton.far_above(found)
            # XPath's `.//@x` and `.//text()` include those of the element itself.
            return found if condition.axis is Axis.CHILD else found | automaton.far_above(found)
        if isinstance(condition, ValueTest):
            found = self._worded
            if passes("", condition):
                found |= self._empty
            if may_be_blank(condition):
                found |= automaton.everywhere & ~self._empty
            return found
        if isinstance(condition, FirstNode):
            return self._where(condition.as_branch(), known)
        if isinstance(condition, Either):
            found = 0
            for member in condition.members:
                found |= self._where(member, known)
            return found
        if isinstance(condition, Both):
            return self._where_all(automaton.everywhere, condition.members, known)
        assert isinstance(condition, Negation)
        return automaton.everywhere

    def _find(self, step: Step, known: dict[Condition, int]) -> int:
        """The elements that the step may find, or those with such an attribute or text in them."""
        if step.test.kind is Kind.ATTRIBUTE:
            return self._find_attribute(step)
        if step.test.kind is Kind.TEXT:
            found = 0
            if all(may_hold(each, may_be_anything) for each in step.conditions):
                found |= self._texts
            if all(may_hold(each, may_be_blank) for each in step.conditions):
                found |= self._automaton.everywhere & ~self._empty
            return found
        named = self._automaton.positions(step.test.namespace, step.test.local)
        return self._where_all(named, step.conditions, known)

    def _find_attribute(self, step: Step) -> int:
        found = 0
        if all(may_hold(each, may_be_anything) for each in step.conditions):
            found |= self._undeclared
        local = step.test.local
        named = self._attributes if local is None else {local: self._attributes.get(local, [])}
        for candidates in named.values():
            for index, attribute in candidates:
                if may_pass(attribute, step):
                    found |= 1 << index
        return found

    def _where_all(
        self, elements: int, conditions: Sequence[Condition], known: dict[Condition, int]
    ) -> int:
        """Those of ``elements`` at which all the conditions may hold together."""
        for condition in conditions:
            elements &= self._where(condition, known)
        asked = [
            self._children_asked(condition, known)
            for condition in conditions
            if isinstance(condition, Step) and condition.test.kind is Kind.ELEMENT
        ]
        if len(asked) > 1:
            for index in bits(elements):
                if not self._go_together(index, asked):
                    elements &= ~(1 << index)
        return elements

    def _children_asked(self, step: Step, known: dict[Condition, int]) -> int:
        """The elements one of which must be a child for the branch to be there."""
        found = self._find(step, known)
        return found if step.axis is Axis.CHILD else found | self._automaton.far_above(found)

    def _go_together(self, index: int, asked: Sequence[int]) -> bool:
        """Whether, for any two of the sets, children from both can stand side by side."""
        beside = self._beside(index)
        if beside is None:
            return True
        for place, one in enumerate(asked):
            reached = 0
            for child in bits(one & self._automaton.follow[index]):
                reached |= beside[child]
            if not all(reached & other for other in asked[:place]):
                return False
        return True

    def _beside(self, index: int) -> dict[int, int] | None:
        """For each child of an element, the set of those that can stand beside it; None: all."""
        if index not in self._companions:
            declaration = self._declarations[index]
            found = None
            if declaration is not None:
                found = companions(declaration.content, self._index)
            self._companions[index] = None
            if found is not None:
                self._companions[index] = {
                    self._index[child]: sum(1 << self._index[other] for other in others)
                    for child, others in found.items()
                }
        return self._companions[index]
