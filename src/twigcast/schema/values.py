"""Which values a schema lets an attribute or a text have, as far as tests of values go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, ParamSpec

from twigcast.language import (
    XML_NAMESPACE,
    Condition,
    FirstNode,
    Negation,
    NodeTest,
    Question,
    Residual,
    Step,
    ValueTest,
    passes,
    walk,
)
from twigcast.schema.declarations import Attribute
from twigcast.schema.simple_type import UNION, SimpleType

P = ParamSpec("P")
_WHITE_SPACE = " \t\r\n"


def may_be_anything(test: ValueTest) -> bool:
    """Whether some text passes: taken to be so."""
    return True


def may_be_blank(test: ValueTest) -> bool:
    """Whether some text of white space passes; between elements there is no other."""
    if isinstance(test.operand, str):
        return test.operator == "!=" or not test.operand.strip(_WHITE_SPACE)
    return test.operator == "!="  # white space is not a number, and that differs from all numbers


class _AtLeaf(Question[P]):
    """A question about an attribute or a text: no branch goes on from there."""

    def step(self, step: Step, /, *args: P.args, **kwargs: P.kwargs) -> bool:
        return False

    def first_node(self, condition: FirstNode, /, *args: P.args, **kwargs: P.kwargs) -> bool:
        return False

    def residual(self, condition: Residual, /, *args: P.args, **kwargs: P.kwargs) -> bool:
        return True


class _MayHold(_AtLeaf[[Callable[[ValueTest], bool]]]):
    def value_test(self, test: ValueTest, possible: Callable[[ValueTest], bool]) -> bool:
        return possible(test)

    def negation(self, condition: Negation, possible: Callable[[ValueTest], bool]) -> bool:
        return True


may_hold: Final = _MayHold().visit
"""Whether a condition may hold at an attribute or text of which it is known what tests pass."""


def may_pass(attribute: Attribute, step: Step) -> bool:
    """Whether an attribute so declared may be what an attribute step asks for."""
    if attribute.label is not None:
        if not attribute.label.overlaps(step.test):
            return False
    elif not _may_be_named(attribute.name, step.test):
        return False
    if attribute.simple is not None:
        return _may_be_all(attribute.simple, step.conditions)
    return _may_be_one_of(_known_values(attribute), attribute.kind != "cdata", step.conditions)


def may_be(simple: SimpleType, test: ValueTest) -> bool:
    """Whether a text of that type, and not empty, may pass."""
    return _may_be_all(simple, (test,))


def _may_be_all(simple: SimpleType, conditions: Sequence[Condition]) -> bool:
    if simple.kind == UNION:
        return any(_may_be_all(member, conditions) for member in simple.members)
    bounds = simple.bounds
    if bounds is not None:
        possible = partial(_may_be_number, bounds)
        return all(may_hold(condition, possible) for condition in conditions)
    return _may_be_one_of(simple.known_texts, not simple.preserves_space, conditions)


def _may_be_one_of(
    values: tuple[str, ...] | None, trimmed: bool, conditions: Sequence[Condition]
) -> bool:
    """Whether one of the values may pass; None stands for any text.

    Of values that are ``trimmed``, white space about them goes before they are looked up in the
    schema, but who does not validate reads it.
    """
    if values is None:
        return all(may_hold(condition, may_be_anything) for condition in conditions)
    if trimmed:
        if any(map(_looks_at_space, conditions)):
            return True
        values = tuple(
            form for value in values for form in (value, f" {value}", f"{value} ", f" {value} ")
        )
    return any(all(_holds(condition, value) for condition in conditions) for value in values)


def _may_be_number(bounds: tuple[float, float], test: ValueTest) -> bool:
    """Whether the spelling of a number within bounds may pass.

    One with a plus sign is a number to the schema and none to XPath; it differs from all numbers.
    """
    if isinstance(test.operand, str) or test.operator == "!=":
        return True
    lowest, highest = bounds
    if test.comparison.bounds == "below":
        return test.comparison.passes(lowest, test.operand)
    if test.comparison.bounds == "above":
        return test.comparison.passes(highest, test.operand)
    return lowest <= test.operand <= highest


def _may_be_named(name: str, test: NodeTest) -> bool:
    """Whether the names may be the same.

    The prefix ``xml`` has its namespace; which one another prefix stands for is up to the
    document, but some it must be.
    """
    prefix, _, local = name.rpartition(":")
    if test.local is not None and test.local != local:
        return False
    if test.namespace is None:
        return True
    if prefix == "xml":
        return test.namespace == XML_NAMESPACE
    return (test.namespace == "") == (prefix == "")


def _known_values(attribute: Attribute) -> tuple[str, ...] | None:
    """All values that a valid document can give the attribute, where the DTD lists them."""
    if attribute.default == "fixed" and attribute.value is not None:
        return (attribute.value,)
    return attribute.choices or None


class _Holds(_AtLeaf[[str]]):
    """Whether a condition holds at an attribute of that value: exact."""

    def value_test(self, test: ValueTest, value: str) -> bool:
        return passes(value, test)

    def negation(self, condition: Negation, value: str) -> bool:
        return not self.visit(condition.condition, value)


_holds: Final = _Holds().visit


def _looks_at_space(condition: Condition) -> bool:
    """Whether the condition compares with a text that holds white space."""
    return any(
        isinstance(each, ValueTest)
        and isinstance(each.operand, str)
        and any(space in each.operand for space in _WHITE_SPACE)
        for each in walk(condition)
    )
