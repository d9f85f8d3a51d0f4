"""Conditions that are neither branches nor comparisons: what they imply, and what implies them.

    first nodes   contains(b, "x")     imply the branch b[contains(., "x")]
    residuals     count(b) > 2         imply the branch b, and what else a pattern can say of them
    negations     not(b/c)             are implied by not(b), and by what contradicts b/c

Where such a condition is given, what it implies is given, too (:func:`implied`).  Where it is asked
for, one of the conditions given must imply it (:func:`implies_other`), or a comparison contradicts
what it denies (:class:`Denial`).  So pairs of conditions decide, and a search looks at each pair of
distinct conditions once.

Cost: that of :func:`twigcast.language.implies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Question,
    Residual,
    Step,
    ValueTest,
    implies,
    may_fail,
    value_implies,
    with_consequences,
)


def implied(condition: Condition) -> tuple[Condition, ...]:
    """Branches, comparisons and the like that hold wherever a first node or a residual does.

    Disjunctions are left out.  An empty ``Either`` is among them where the condition never holds.
    """
    if isinstance(condition, FirstNode | Residual):
        return _implied(condition)
    return ()


@lru_cache(maxsize=4096)
def _implied(condition: FirstNode | Residual) -> tuple[Condition, ...]:
    if isinstance(condition, FirstNode):
        return (condition.as_branch(),)
    weaker = condition.implied
    members = weaker.members if isinstance(weaker, Both) else (weaker,)
    return tuple(
        each
        for member in members
        if not (isinstance(member, Either) and member.members)
        for each in (member, *implied(member))
    )


def can_all_hold(weaker: Sequence[Condition], test: NodeTest) -> bool:
    """False where a node that passes the test cannot have what its conditions imply."""
    return not any(
        (isinstance(each, Either) and not each.members)
        or (isinstance(each, Step) and test.kind is not Kind.ELEMENT)  # nothing is below it
        for each in weaker
    )


def implies_other(known: Condition, wanted: Condition) -> bool:
    """Whether a condition that is no branch is known to hold where another one holds."""
    if known == wanted:
        return True
    if isinstance(known, Negation) and isinstance(wanted, Negation):
        denied = wanted.condition
        # Where it may have no value, that what it needs is not there does not make it false.
        weaker = () if may_fail(denied) else implied(denied)
        return any(implies(each, known.condition) for each in (denied, *weaker))
    return implies(known, wanted)


class OtherImplied(Question[[]]):
    """Whether a condition that is no branch is known to hold at a node.

    ``values`` are the node's comparisons with their consequences, ``others`` what else is known
    that is no branch; compared attributes are among them and, at the document node, the root.
    """

    def __init__(self, values: Sequence[ValueTest], others: Sequence[Condition]) -> None:
        self._values = values
        self._others = others

    def visit(self, condition: Condition) -> bool:
        return any(implies_other(known, condition) for known in self._others) or super().visit(
            condition
        )

    def step(self, step: Step) -> bool:
        return False

    def value_test(self, test: ValueTest) -> bool:
        return any(value_implies(known, test) for known in self._values)

    def first_node(self, condition: FirstNode) -> bool:
        return False

    def residual(self, condition: Residual) -> bool:
        return False

    def negation(self, condition: Negation) -> bool:
        denial = denial_of(condition, at_document=True)
        if denial is None:
            return False
        if denial.test is None:
            return _exclude(self._values, denial.values)
        return any(
            isinstance(known, Step) and _exclude_each_other(known, denial) for known in self._others
        )


class Denial(NamedTuple):
    """What a negation denies, where something other than a negation may exclude it.

    Of the node itself, its comparisons; of an attribute, its test and comparisons; of the root, its
    test.
    """

    test: NodeTest | None
    values: tuple[ValueTest, ...] = ()


def denial_of(condition: Condition, *, at_document: bool) -> Denial | None:
    """The denial of a negation at a node; None where only another negation may imply it."""
    if not isinstance(condition, Negation):
        return None
    denied = condition.condition
    if isinstance(denied, ValueTest):
        return Denial(None, (denied,))
    if not isinstance(denied, Step):
        return None
    if is_compared(denied):
        return Denial(denied.test, _comparisons(denied))
    if at_document and denied.axis is Axis.CHILD and denied.test.kind is Kind.ELEMENT:
        return Denial(denied.test)
    return None


def _exclude_each_other(known: Step, denial: Denial) -> bool:
    """Whether a node is there that excludes what is denied."""
    if denial.test is None or known.test.kind is not denial.test.kind:
        return False
    if known.test.kind is Kind.ELEMENT:  # the root
        return not known.test.overlaps(denial.test)
    return known.test == denial.test and _exclude(_comparisons(known), denial.values)


def _exclude(known: Sequence[ValueTest], denied: Sequence[ValueTest]) -> bool:
    """Whether one of the comparisons contradicts one of those that are denied together."""
    return any(with_consequences(pair) is None for pair in product(known, denied))


def is_one_attribute(step: Step) -> bool:
    """Whether an element has at most one such node, and the step stands for it."""
    test = step.test
    return (
        test.kind is Kind.ATTRIBUTE
        and step.axis is Axis.CHILD
        and step.position is None
        and test.namespace is not None
        and test.local is not None
    )


def is_compared(condition: Condition) -> bool:
    """Whether the condition is that the one attribute of a name passes comparisons."""
    return (
        isinstance(condition, Step)
        and is_one_attribute(condition)
        and any(isinstance(below, ValueTest) for below in condition.conditions)
    )


def contradict(conditions: Sequence[Condition]) -> bool:
    """Whether one of the conditions of a node is denied by another: ``[b/c][not(b)]``."""
    for denied in conditions:
        if isinstance(denied, Negation) and any(
            known is not denied and implies(each, denied.condition)
            for known in conditions
            for each in (known, *implied(known))
        ):
            return True
    return False


def _comparisons(step: Step) -> tuple[ValueTest, ...]:
    return tuple(condition for condition in step.conditions if isinstance(condition, ValueTest))
