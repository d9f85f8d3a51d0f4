"""Paths: the steps that lead down become steps of a pattern.

A path is lowered step by step; what must hold at its end is an :class:`Ending`.  Where a step has
no form in a pattern, the rest of the path from there on stays an expression.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isfinite
from typing import Final, NamedTuple

from twigcast.language import normal
from twigcast.language.analysis import (
    is_anywhere,
    is_position_free,
    static_type,
)
from twigcast.language.expressions import (
    Along,
    Call,
    Constant,
    ContextItem,
    Expression,
    Filter,
    Operation,
    Path,
    Root,
    walk_expression,
)
from twigcast.language.lowering.constants import constants_in
from twigcast.language.nodes import (
    ALWAYS,
    ATTRIBUTE,
    CHILD,
    DESCENDANT,
    ELEMENT,
    NEVER,
    TEXT,
    Axis,
    Condition,
    Kind,
    NodeTest,
    Position,
    Step,
    node_test,
)
from twigcast.language.operators import (
    MIRRORED,
)
from twigcast.language.upward import (
    CannotLowerError,
    Where,
    above,
    at_self,
    branch,
    looks_up,
)

Notice = Callable[[Expression, str], None]
"""Called with an expression that can never hold, and the reason."""

DOWN: Final[dict[str, Axis]] = {"child": CHILD, "descendant": DESCENDANT, "attribute": CHILD}


class Ending(NamedTuple):
    """What must hold at the end of a path."""

    condition: Callable[[], Condition]
    rebuild: Callable[[Expression], Expression]
    """The expression that asks for it at the end of another path, as an effective boolean value."""


THERE: Final = Ending(lambda: ALWAYS, lambda path: path)


class PathLowering(ABC):
    """The lowering of paths; a subclass lowers all other expressions."""

    def __init__(self, is_version_2: bool, notice: Notice) -> None:
        self._is_version_2 = is_version_2
        self._notice = notice

    @abstractmethod
    def condition(self, expression: Expression) -> Condition:
        """The effective boolean value of the expression is true."""

    @abstractmethod
    def rest(self, expression: Expression) -> Condition:
        """What becomes of an expression that no pattern says."""

    def _path(self, steps: tuple[Expression, ...], ending: Ending) -> Condition:
        """The path selects a node where the ending holds."""
        if not steps:
            return ending.condition()
        first = steps[0]
        try:
            if isinstance(first, Along) and first.axis in DOWN:  # as most do; quick to see
                return self._down(DOWN[first.axis], first, steps[1:], ending)
            return self._step(steps, ending)
        except CannotLowerError:
            path = steps[0] if len(steps) == 1 else Path(steps)
            return self.rest(ending.rebuild(path))

    def _step(self, steps: tuple[Expression, ...], ending: Ending) -> Condition:
        first, rest = steps[0], steps[1:]
        match first:
            case Along():  # first, since most are
                return self._along(first, rest, ending)
            case Path(steps=inner):
                return self._step((*inner, *rest), ending)
            case Root():
                if not rest:
                    return above(Where.ROOT, ending.condition())
                return above(Where.ROOT, self._step(rest, ending))
            case ContextItem():
                return self._path(rest, ending)
            case Operation(operator="|" | ",", operands=operands):
                if any(map(_is_multiple, rest)) or static_type(first) != "nodes":
                    raise CannotLowerError  # each would double what is behind it
                return normal.either([self._path((each, *rest), ending) for each in operands])
            case Filter(base=base, predicates=predicates):
                return self._step((filtered(base, predicates), *rest), ending)
            case _:
                raise CannotLowerError

    def _along(self, step: Along, rest: tuple[Expression, ...], ending: Ending) -> Condition:
        axis = step.axis
        if axis in DOWN:
            return self._down(DOWN[axis], step, rest, ending)
        if is_anywhere(step) and rest:
            following = rest[0]
            if isinstance(following, Along) and following.axis in ("child", "attribute"):
                return self._down(DESCENDANT, following, rest[1:], ending)
            if not isinstance(following, Along) or following.axis != "self":
                raise CannotLowerError
            step = Along("descendant-or-self", following.test, following.predicates)
            return self._along(step, rest[1:], ending)
        if not all(map(is_position_free, step.predicates)):
            raise CannotLowerError
        if axis in ("descendant-or-self", "ancestor-or-self") and any(map(_is_multiple, rest)):
            raise CannotLowerError
        if axis == "descendant-or-self":
            return normal.either(
                [
                    self._along(Along("self", step.test, step.predicates), rest, ending),
                    self._along(Along("descendant", step.test, step.predicates), rest, ending),
                ]
            )
        if axis == "ancestor-or-self":
            return normal.either(
                [
                    self._along(Along("self", step.test, step.predicates), rest, ending),
                    self._along(Along("ancestor", step.test, step.predicates), rest, ending),
                ]
            )
        if step.test.kind not in (Kind.NODE, ELEMENT):
            raise CannotLowerError
        here = [at_self(step.test), *map(self.condition, step.predicates)]
        here.append(self._path(rest, ending))
        match axis:
            case "self":
                return normal.both(here)
            case "parent":
                return above(Where.PARENT, normal.both(here))
            case "ancestor" if step.test.kind is ELEMENT:
                return above(Where.ANCESTOR, normal.both(here))
            case _:
                raise CannotLowerError

    def _down(
        self, axis: Axis, step: Along, rest: tuple[Expression, ...], ending: Ending
    ) -> Condition:
        test = down_test(step)
        if test is None:
            return NEVER
        if not step.predicates:
            return branch(axis, test, None, (self._path(rest, ending),))
        position, conditions = self._predicates(step)
        conditions.append(self._path(rest, ending))
        return branch(axis, test, position, conditions)

    def _predicates(self, step: Along) -> tuple[Position | None, list[Condition]]:
        """The position that a step asks for, and the conditions in its brackets."""
        predicates = step.predicates
        if not predicates:
            return None, []
        position: Position | None = None
        conditions: list[Condition] = []
        compared = compared_position(predicates[0])
        if compared is not None and step.axis == "child":
            asked = normal.position(*compared)
            predicates = predicates[1:]
            if isinstance(asked, Position):
                position = asked
            elif not asked:
                reason = "no sibling has this position; positions are 1, 2, 3, …"
                self._notice(step.predicates[0], reason)
                conditions.append(NEVER)
        if not all(map(is_position_free, predicates)):
            raise CannotLowerError
        conditions.extend(map(self.condition, predicates))
        return position, conditions

    def _first_node(self, subject: Expression, operator: str, operand: str | float) -> Condition:
        """A test of the text of the first node of a path; there must be one for it to pass."""
        if isinstance(subject, Call) and subject.name == "string" and subject.arguments:
            subject = subject.arguments[0]
        if isinstance(subject, ContextItem):
            return normal.value_test(operator, operand)
        is_rooted, steps = self._plain_steps(subject)
        if self._is_version_2 and not normal.select_at_most_one(steps or ()):
            raise CannotLowerError  # several nodes are an error
        if steps is None:
            condition = normal.test_of_nothing(operator, operand)
        else:
            condition = normal.first_node(steps, operator, operand)
        return above(Where.ROOT, condition) if is_rooted else condition

    def _plain_steps(self, path: Expression) -> tuple[bool, list[Step] | None]:
        """The steps of a path that only leads down, and whether it starts at the root.

        None for a path that selects nothing.
        """
        expressions = path.steps if isinstance(path, Path) else (path,)
        is_rooted = isinstance(expressions[0], Root)
        steps: list[Step] = []
        waiting = list(reversed(expressions[is_rooted:]))
        while waiting:
            expression = waiting.pop()
            if not isinstance(expression, Along):
                raise CannotLowerError
            axis: Axis | None = None
            if is_anywhere(expression) and waiting:
                axis, expression = DESCENDANT, waiting.pop()
                if not isinstance(expression, Along) or expression.axis == "descendant":
                    raise CannotLowerError
            test = down_test(expression)
            position, conditions = self._predicates(expression)
            if (steps and steps[-1].test.kind is not ELEMENT) or test is None:
                return is_rooted, None
            if any(map(looks_up, conditions)) or (conditions and test.kind is not ELEMENT):
                raise CannotLowerError
            kept = normal.conjunction(conditions)
            if kept is None:
                return is_rooted, None
            steps.append(Step(axis or DOWN[expression.axis], test, position, kept))
        if not steps:
            raise CannotLowerError
        return is_rooted, steps


def _is_multiple(step: Expression) -> bool:
    """Whether the lowering of a step repeats what stands behind it."""
    return any(
        (
            isinstance(each, Operation)
            and each.operator in ("|", ",")
            and not all(isinstance(operand, Constant) for operand in each.operands)
        )
        or (isinstance(each, Along) and each.axis.endswith("-or-self") and not is_anywhere(each))
        for each in walk_expression(step)
    )


def down_test(step: Along) -> NodeTest | None:
    """The test of a step that leads down, in terms of patterns; None where no node passes."""
    kind = step.test.kind
    if step.axis == "child" and kind is ELEMENT:
        return step.test
    if step.axis == "attribute":
        if kind is Kind.NODE:
            return node_test(ATTRIBUTE)
        return step.test if kind is ATTRIBUTE else None
    if step.axis not in DOWN:
        raise CannotLowerError
    if kind in (ELEMENT, TEXT):
        return step.test
    if kind in (ATTRIBUTE, Kind.DOCUMENT, Kind.NAMESPACE):
        return None
    raise CannotLowerError


def filtered(base: Expression, predicates: tuple[Expression, ...]) -> Expression:
    """The expression with more predicates at its end, where that means the same."""
    if not all(map(is_position_free, predicates)):
        raise CannotLowerError
    match base:
        case Along(axis=axis, test=test, predicates=known):
            return Along(axis, test, (*known, *predicates))
        case Path(steps=(*steps, last)):
            return Path((*steps, filtered(last, predicates)))
        case Operation(operator="|", operands=operands):
            if any(map(_is_multiple, predicates)):
                raise CannotLowerError
            return Operation("|", tuple(filtered(each, predicates) for each in operands))
        case ContextItem():
            return Along("self", node_test(Kind.NODE), predicates)
        case _:
            raise CannotLowerError


def compared_position(predicate: Expression) -> tuple[str, float] | None:
    """The operator and number of a predicate on the position alone."""
    match predicate:
        case Operation(operator=operator, operands=(Call(name="position"), other)) if (
            operator in MIRRORED
        ):
            pass
        case Operation(operator=operator, operands=(other, Call(name="position"))) if (
            operator in MIRRORED
        ):
            operator = MIRRORED[operator]
        case _:
            operator, other = "=", predicate
    match constants_in(other):
        case [float(number)] if isfinite(number):
            return operator, number
        case _:
            return None
