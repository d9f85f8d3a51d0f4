"""Which values a schema lets an attribute or a text have, as far as tests of values go."""

from __future__ import annotations

from collections.abc import Callable

from twigcast.language import (
    XML_NAMESPACE,
    Both,
    Condition,
    Either,
    Negation,
    NodeTest,
    Step,
    ValueTest,
    passes,
)
from twigcast.schema.dtd import Attribute

_WHITE_SPACE = " \t\r\n"


def may_be_anything(test: ValueTest) -> bool:
    """Whether some text passes: taken to be so."""
    return True


def may_be_blank(test: ValueTest) -> bool:
    """Whether some text of white space passes; between elements there is no other."""
    if isinstance(test.operand, str):
        return test.operator == "!=" or not test.operand.strip(_WHITE_SPACE)
    return test.operator == "!="  # white space is not a number, and that differs from all numbers


def may_hold(condition: Condition, possible: Callable[[ValueTest], bool]) -> bool:
    """Whether the condition may hold at an attribute or text whose value is not known."""
    if isinstance(condition, ValueTest):
        return possible(condition)
    if isinstance(condition, Either):
        return any(may_hold(member, possible) for member in condition.members)
    if isinstance(condition, Both):
        return all(may_hold(member, possible) for member in condition.members)
    return isinstance(condition, Negation)  # branches do not go on from here


def may_pass(attribute: Attribute, step: Step) -> bool:
    """Whether an attribute so declared may be what an attribute step asks for."""
    if not _may_be_named(attribute.name, step.test):
        return False
    values = _known_values(attribute)
    if values is None:
        return all(may_hold(condition, may_be_anything) for condition in step.conditions)
    if attribute.kind != "cdata":
        # The DTD makes white space about tokens go, but who does not fetch the DTD reads it.
        if any(map(_looks_at_space, step.conditions)):
            return True
        values = tuple(form for value in values for form in (value, f" {value}", f"{value} "))
    return any(all(_holds(condition, value) for condition in step.conditions) for value in values)


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


def _holds(condition: Condition, value: str) -> bool:
    """Whether the condition holds at an attribute of that value: exact."""
    if isinstance(condition, ValueTest):
        return passes(value, condition)
    if isinstance(condition, Either):
        return any(_holds(member, value) for member in condition.members)
    if isinstance(condition, Both):
        return all(_holds(member, value) for member in condition.members)
    return isinstance(condition, Negation) and not _holds(condition.condition, value)


def _looks_at_space(condition: Condition) -> bool:
    """Whether the condition compares with a text that holds white space."""
    if isinstance(condition, ValueTest):
        operand = condition.operand
        return isinstance(operand, str) and any(space in operand for space in _WHITE_SPACE)
    if isinstance(condition, Either | Both):
        return any(map(_looks_at_space, condition.members))
    return isinstance(condition, Negation) and _looks_at_space(condition.condition)
