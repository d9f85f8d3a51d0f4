"""When one condition at a node implies another at the same node.

Sound, not complete: True is always right, False means "not shown".  Branches are compared by
homomorphism (each step asked for maps to one of the steps given), values by what one string or
number says about another (``value_implication``), residuals part by part
(``expression_implication``).  The normal form uses it to drop what is implied anyway, so it must be
quick on the few conditions of one node; exact covering of whole patterns is another matter.

Cost: each pair of steps is looked at once in one question, so |given| × |asked|.
"""

from __future__ import annotations

from twigcast.language.expression_implication import residual_implies
from twigcast.language.nodes import (
    CHILD,
    DESCENDANT,
    ELEMENT,
    Both,
    Condition,
    Either,
    FirstNode,
    Negation,
    NodeTest,
    Position,
    Residual,
    Step,
    ValueTest,
)
from twigcast.language.operators import NUMBER_OPERATORS
from twigcast.language.value_implication import number_implies, value_implies


def implies(given: Condition, asked: Condition) -> bool:
    """Whether ``asked`` is known to hold wherever ``given`` holds."""
    if isinstance(given, Step) and isinstance(asked, Step) and _have_different_names(given, asked):
        return False
    return _Question().implies(given, asked)


class _Question:
    """One question, with the answers that it has led to so far."""

    def __init__(self) -> None:
        self._branches: dict[tuple[Step, Step], bool] = {}

    def implies(self, given: Condition, asked: Condition) -> bool:
        if isinstance(given, Step) and isinstance(asked, Step):
            return self._branch(given, asked)
        if isinstance(given, ValueTest) and isinstance(asked, ValueTest):
            return value_implies(given, asked)
        if isinstance(given, Either):
            return all(self.implies(member, asked) for member in given.members)
        if isinstance(asked, Both):
            return all(self.implies(given, member) for member in asked.members)
        if isinstance(asked, Either) and any(self.implies(given, m) for m in asked.members):
            return True
        if isinstance(given, Both):
            return any(self.implies(member, asked) for member in given.members)
        if isinstance(given, Negation) and isinstance(asked, Negation):
            return self.implies(asked.condition, given.condition)
        if isinstance(given, FirstNode) and isinstance(asked, FirstNode):
            return given.path == asked.path and value_implies(given.test, asked.test)
        if isinstance(given, Residual) and isinstance(asked, Residual):
            return residual_implies(given, asked)
        return given == asked

    def _branch(self, given: Step, asked: Step) -> bool:
        if given.text == asked.text:
            return True
        known = self._branches.get((given, asked))
        if known is None:
            known = self._branches[given, asked] = self._find(given, asked)
        return known

    def _find(self, given: Step, asked: Step) -> bool:
        if asked.axis is CHILD:
            if given.axis is CHILD:
                return self._node(given, asked)
            if given.test.kind is not ELEMENT:
                return False
            slid = slide(asked)
            return slid is not None and self._branch(given, slid)
        if self._node(given, asked):
            return True
        return any(
            isinstance(below, Step) and self._branch(below, asked) for below in given.conditions
        )

    def _node(self, given: Step, asked: Step) -> bool:
        """Whether the node that ``given`` finds is one that ``asked`` accepts."""
        return (
            asked.test.covers(given.test)
            and position_implies(given.position, given.test, asked.position, asked.test)
            and all(
                any(self.implies(known, wanted) for known in given.conditions)
                for wanted in asked.conditions
            )
        )


def _have_different_names(given: Step, asked: Step) -> bool:
    """Whether both are reached at once and by other names, as most siblings are."""
    return given.axis is CHILD and asked.axis is CHILD and not asked.test.covers(given.test)


def slide(step: Step) -> Step | None:
    """The same branch with its descendant edge first, where it starts with a run of bare ``*``.

    ``*/*//b`` (the normal form) and ``.//*/*/b`` say the same, as do ``*/*`` and ``.//*/*``.
    A run of fixed depth, like ``*/b``, has no such form: None.
    """
    if not step.is_wildcard:
        return None
    if not step.conditions:
        return Step(DESCENDANT, step.test)
    below = step.only_branch
    if below is None:
        return None
    if below.axis is DESCENDANT:
        below = Step(CHILD, below.test, below.position, below.conditions)
    else:
        slid = slide(below)
        if slid is None:
            return None
        below = Step(CHILD, slid.test, slid.position, slid.conditions)
    return Step(DESCENDANT, step.test, None, (below,))


def position_implies(
    given: Position | None, given_test: NodeTest, asked: Position | None, asked_test: NodeTest
) -> bool:
    """Whether a position among siblings of one test implies the asked one of another test."""
    if asked is None:
        return True
    if given is None:
        return False
    if given_test == asked_test:
        return _positions_within(given, asked)
    # The third b is the third element at least.
    return (
        asked.operator == ">="
        and given.operator in ("=", ">=")
        and given.value >= asked.value
        and asked_test.covers(given_test)
    )


def _positions_within(given: Position, asked: Position) -> bool:
    known, wanted = NUMBER_OPERATORS[given.operator], NUMBER_OPERATORS[asked.operator]
    return given == asked or number_implies(known, given.value, wanted, asked.value)
