"""Comparisons with constants: value tests of a pattern, and what else a pattern can say."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Final

from twigcast.language import normal
from twigcast.language.analysis import (
    static_type,
)
from twigcast.language.expressions import (
    CONTEXT,
    GENERAL_COMPARISONS,
    Call,
    ContextItem,
    Expression,
    Operation,
    Path,
    Typed,
)
from twigcast.language.lowering.constants import at_none, constants_in
from twigcast.language.lowering.paths import Ending, PathLowering
from twigcast.language.nodes import (
    ALWAYS,
    NEVER,
    Condition,
    Kind,
    node_test,
)
from twigcast.language.numbers import to_number
from twigcast.language.operators import (
    FUNCTIONS,
    MIRRORED,
    NUMBER_OPERATORS,
    TEXT_OPERATORS,
)
from twigcast.language.tokens import NAME
from twigcast.language.upward import (
    CannotLowerError,
    at_self,
    negate,
)

VALUE_COMPARISONS: Final = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ORDERING: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_AT_MOST: Final = {"<": ">=", "<=": ">"}
_MOMENTS: Final = frozenset(
    "xs:date xs:dateTime xs:time current-date current-dateTime current-time".split()
)
_COUNTS: Final = ("count", "string-length")
_NAME_FUNCTIONS: Final = ("local-name", "namespace-uri")


class ComparisonLowering(PathLowering):
    """The lowering of paths and comparisons."""

    @abstractmethod
    def _negated(self, expression: Expression) -> Condition:
        """The effective boolean value of the expression is false."""

    def _comparison(
        self, whole: Expression, operator: str, left: Expression, right: Expression
    ) -> Condition:
        self._check_moments(whole, operator, left, right)
        if operator in VALUE_COMPARISONS:
            self._check_types(whole, left, right)
            return self._value_comparison(operator, left, right)
        if operator not in GENERAL_COMPARISONS:
            raise CannotLowerError
        constants = constants_in(right)
        if constants is None:
            constants = constants_in(left)
            if constants is None:
                return self._compared_truths(operator, left, right)
            left, right, operator = right, left, MIRRORED[operator]
        known = constants_in(left)
        if known is not None:
            return self._of_constants(operator, known, constants)
        is_text = operator in ("=", "!=") and all(isinstance(each, str) for each in constants)
        is_count = isinstance(left, Call) and left.name == "count"
        if self._is_version_2 and not is_text and not is_count:
            raise CannotLowerError
        try:
            return self._compared(Operation(operator, (left, right)), whole, constants)
        except CannotLowerError:
            opposite = _AT_MOST.get(operator)
            is_count = isinstance(left, Call) and left.name in _COUNTS
            is_number = len(constants) == 1 and isinstance(constants[0], float)
            if opposite is None or not is_count or not is_number:
                raise
            # Where nothing is there to be counted, no document is asked.
            return self._negated(Operation(opposite, (left, right)))

    def _of_constants(
        self, operator: str, left: Sequence[str | float], right: Sequence[str | float]
    ) -> Condition:
        """A comparison that no document changes."""
        are_texts = all(isinstance(each, str) for each in (*left, *right))
        if self._is_version_2 and not (are_texts and operator in TEXT_OPERATORS):
            raise CannotLowerError  # exact numbers, the order of texts, errors
        holds = any(_constants_compare(operator, *pair) for pair in product(left, right))
        return ALWAYS if holds else NEVER

    def _check_moments(
        self, whole: Expression, operator: str, left: Expression, right: Expression
    ) -> None:
        """Note a comparison with a date that never holds."""
        if not (is_moment(left) or is_moment(right)):
            return
        ordering = _ORDERING.get(operator)
        if ordering is not None and not self._is_version_2:
            reason = (
                f"this comparison never holds: {operator} compares numbers, as in XPath 1.0, and a "
                f"date is no number; write {ordering}, or choose version 2.0"
            )
            self._notice(whole, reason)
        elif operator in VALUE_COMPARISONS and not (is_moment(left) and is_moment(right)):
            other = right if is_moment(left) else left
            if static_type(other) in ("nodes", "string"):
                reason = (
                    f"this comparison never holds: {operator} does not compare a text with a date; "
                    "write xs:date(…) around the text"
                )
                self._notice(whole, reason)

    def _check_types(self, whole: Expression, left: Expression, right: Expression) -> None:
        """Note a value comparison between a node, whose value is a text, and a number."""
        if {static_type(left), static_type(right)} == {"nodes", "number"}:
            assert isinstance(whole, Operation)
            operator = whole.operator
            reason = (
                f"this comparison never holds: {operator} does not compare a text with a number; "
                f"write {VALUE_COMPARISONS[operator]}, or xs:decimal(…) around the text"
            )
            self._notice(whole, reason)

    def _value_comparison(self, operator: str, left: Expression, right: Expression) -> Condition:
        constants = constants_in(right)
        if constants is None or len(constants) != 1 or not isinstance(constants[0], str):
            raise CannotLowerError
        if operator not in ("eq", "ne"):
            raise CannotLowerError
        _, steps = self._plain_steps(left)
        if not normal.select_at_most_one(steps or ()):
            raise CannotLowerError  # several nodes are an error
        compared = Operation(VALUE_COMPARISONS[operator], (left, right))
        return self._compared(compared, compared, constants)

    def _compared_truths(self, operator: str, left: Expression, right: Expression) -> Condition:
        """A comparison with ``true()`` or ``false()``: both sides are truths."""
        for truth, other in ((left, right), (right, left)):
            if isinstance(truth, Call) and truth.name in ("true", "false"):
                is_truth = static_type(other) == "boolean"
                if operator not in ("=", "!=") or (self._is_version_2 and not is_truth):
                    raise CannotLowerError
                if static_type(other) == "any":
                    raise CannotLowerError
                wanted = (truth.name == "true") is (operator == "=")
                return self.condition(other) if wanted else self._negated(other)
        raise CannotLowerError

    def _compared(
        self, comparison: Operation, written: Expression, constants: Sequence[str | float]
    ) -> Condition:
        """A comparison with the constants at its right side."""
        operator, (subject, right) = comparison.operator, comparison.operands
        if isinstance(subject, Call):
            called = self._called(operator, subject, constants)
            if called is not None:
                return called
        match subject:
            case ContextItem():
                return self._value_tests(written, operator, constants)
            case Call(name=name, arguments=() | (ContextItem(),)) if name in _NAME_FUNCTIONS:
                return self._named(operator, name, constants)
            case Path(steps=(*steps, Call() as call)):
                each = Operation(operator, (call, right))
                ending = Ending(
                    lambda: self.condition(each),
                    lambda path: Operation(operator, (joined(path, call), right)),
                )
                return self._path(tuple(steps), ending)
        if static_type(subject) != "nodes":
            raise CannotLowerError
        ending = Ending(
            lambda: self._value_tests(written, operator, constants),
            lambda path: Operation(operator, (path, right)),
        )
        return self._path((subject,), ending)

    def _called(
        self, operator: str, call: Call, constants: Sequence[str | float]
    ) -> Condition | None:
        """A function compared with constants, one of which is enough; None for others."""
        compare = {
            "count": self._counted,
            "string": self._string,
            "number": self._number,
            "string-length": self._length,
        }.get(call.name)
        if compare is None:
            return None
        subject = call.arguments[0] if call.arguments else CONTEXT
        return normal.either([compare(operator, subject, each) for each in constants])

    def _value_tests(
        self, written: Expression, operator: str, constants: Sequence[str | float]
    ) -> Condition:
        tests = []
        for constant in constants:
            try:
                test = normal.value_test(operator, constant)
            except ValueError:
                raise CannotLowerError from None  # an infinite number
            if test is NEVER:
                texts = ["=", "!=", *(f"{each}()" for each in TEXT_OPERATORS if each in FUNCTIONS)]
                texts.append(_ORDERING[operator])
                reason = (
                    f"this comparison never holds: {operator} compares numbers, as in XPath 1.0, "
                    f"and {constant!r} is no number; {', '.join(texts)} compare texts"
                )
                self._notice(written, reason)
            tests.append(test)
        return normal.either(tests)

    def _counted(self, operator: str, counted: Expression, constant: str | float) -> Condition:
        """``count(a) > 0`` and its like; other counts stay expressions."""
        if static_type(counted) != "nodes":
            raise CannotLowerError
        none, some = at_none(operator, constant)
        if none == some:
            return ALWAYS if some else NEVER
        return self.condition(counted) if some else self._negated(counted)

    def _string(self, operator: str, subject: Expression, constant: str | float) -> Condition:
        if static_type(subject) != "nodes" and not isinstance(subject, ContextItem):
            raise CannotLowerError
        if not isinstance(constant, str) or operator not in ("=", "!="):
            return self._number(operator, subject, constant)
        if (operator == "=") is (constant == ""):  # no node gives an empty text
            opposite = "!=" if operator == "=" else "="
            return negate(self._first_node(subject, opposite, constant))
        return self._first_node(subject, operator, constant)

    def _number(self, operator: str, subject: Expression, constant: str | float) -> Condition:
        if static_type(subject) != "nodes" and not isinstance(subject, ContextItem):
            raise CannotLowerError
        number = normal.finite_number(constant)
        if number is None or self._is_version_2:
            raise CannotLowerError
        if operator == "!=":  # no node gives NaN, which differs from every number
            return negate(self._first_node(subject, "=", number))
        return self._first_node(subject, operator, number)

    def _length(self, operator: str, subject: Expression, constant: str | float) -> Condition:
        """``string-length(a) > 0`` and its like: the text is not empty."""
        none, some = at_none(operator, constant)
        if none == some:
            raise CannotLowerError
        return self._string("!=" if some else "=", subject, "")

    def _named(self, operator: str, name: str, constants: Sequence[str | float]) -> Condition:
        """``local-name() = 'b'``: a test of the node itself."""
        if operator != "=":
            raise CannotLowerError
        tests = []
        for constant in constants:
            if isinstance(constant, str) and constant and name == "local-name":
                if re.fullmatch(NAME, constant) is None:
                    self._notice(Call(name), f"no node has the name {constant!r}")
                    continue
            elif not isinstance(constant, str) or constant == "" or set(constant) & set("{}"):
                raise CannotLowerError  # nodes without a name have an empty one
            local, namespace = (constant, None) if name == "local-name" else (None, constant)
            tests.append(at_self(node_test(Kind.NODE, namespace, local)))
        return normal.either(tests)


def joined(path: Expression, last: Expression) -> Path:
    """The path with one more step."""
    return Path((*(path.steps if isinstance(path, Path) else (path,)), last))


def is_moment(expression: Expression) -> bool:
    """Whether the value is surely a date, a time, or both."""
    match expression:
        case Call(name=name):
            return name in _MOMENTS
        case Path(steps=(*_, last)):
            return is_moment(last)
        case Typed(kind="cast as" | "treat as", type_name=name):
            return name in _MOMENTS
        case _:
            return False


def _constants_compare(operator: str, one: str | float, other: str | float) -> bool:
    """By the rules of XPath 1.0: as texts where both are and their order is not asked for."""
    if isinstance(one, str) and isinstance(other, str) and operator in TEXT_OPERATORS:
        return TEXT_OPERATORS[operator].passes(one, other)
    numbers = [to_number(each) if isinstance(each, str) else each for each in (one, other)]
    return NUMBER_OPERATORS[operator].passes(*numbers)
