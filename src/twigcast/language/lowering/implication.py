"""What a residual needs: conditions of a pattern that hold wherever it holds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from twigcast.language import normal
from twigcast.language.analysis import (
    is_anywhere,
    is_context_free,
    is_position_free,
    static_type,
)
from twigcast.language.expressions import (
    CONTEXT,
    GENERAL_COMPARISONS,
    Along,
    Binding,
    Call,
    Constant,
    Expression,
    Filter,
    Operation,
    Path,
    Root,
)
from twigcast.language.lowering.comparisons import VALUE_COMPARISONS
from twigcast.language.lowering.constants import constants_in
from twigcast.language.lowering.expressions import Lowering
from twigcast.language.lowering.paths import DOWN, THERE, Ending, Notice
from twigcast.language.nodes import (
    ALWAYS,
    NEVER,
    Both,
    Condition,
    Either,
    FirstNode,
    Negation,
    NodeTest,
    Residual,
    Step,
    ValueTest,
)
from twigcast.language.operators import (
    FUNCTIONS,
    MIRRORED,
    NUMBER_OPERATORS,
    RESEMBLES,
    TEXT_OPERATORS,
)
from twigcast.language.upward import (
    CannotLowerError,
    Upward,
    Where,
    at_document,
)

_TEXT = attrgetter("text")
_ARITHMETIC: Final = ("+", "-", "*", "div", "idiv", "mod")
_NUMBER_FUNCTIONS: Final = ("number", "round", "floor", "ceiling", "abs", "round-half-to-even")
_TEXT_FUNCTIONS: Final = (
    "string",
    "normalize-space",
    "upper-case",
    "lower-case",
    "translate",
    "substring",
    "substring-before",
    "substring-after",
)
"""Functions whose value is empty where that of their first argument is."""
_MOST_CODES: Final = 20
"""How many codes a list may have for each to be indexed, with all runs of neighbours."""
_RESPELLING: Final = ("string", "normalize-space", "upper-case", "lower-case")
"""Those that change letter case and white space only."""


def implied_by(residual: Residual) -> Condition:
    """Conditions of a pattern that hold at a node wherever the residual does."""
    condition = Implication(residual.is_version_2, _ignore).condition(residual.expression)
    if is_context_free(residual.expression):  # it stands at the document node
        return at_document(condition)
    return _without_upward(condition)


def needed_above(residual: Residual) -> list[Condition]:
    """What the residual needs above its node, as conditions that look upwards."""
    lowering = Implication(residual.is_version_2, _ignore, keeps_values=False)
    condition = lowering.condition(residual.expression)
    members = condition.members if isinstance(condition, Both) else (condition,)
    return [
        each
        for each in members
        if isinstance(each, Upward) and each.test is None and not _says_nothing(each)
    ]


def _looks_further(condition: Condition) -> bool:
    match condition:
        case Upward():
            return condition.where is not Where.SELF
        case Both(members=within) | Either(members=within):
            return any(map(_looks_further, within))
        case _:
            return False


def _says_nothing(condition: Condition) -> bool:
    """Whether it asks for nodes of any name only; said at every step, that would grow for ever."""
    match condition:
        case Upward(where=Where.ANCESTOR, condition=inner) if _looks_further(inner):
            return True  # it is not found again where it was put
        case Upward(test=None, condition=inner):
            return _says_nothing(inner)
        case Step(test=NodeTest(namespace=None, local=None), conditions=conditions):
            return all(map(_says_nothing, conditions))
        case Upward(test=NodeTest(namespace=None, local=None)):
            return True
        case Both(members=members):
            return all(map(_says_nothing, members))
        case Either():
            return True  # it would be multiplied
        case _:
            return False


def _ignore(expression: Expression, reason: str) -> None:
    pass


class Implication(Lowering):
    """The lowering in which a part without a pattern is replaced by something weaker.

    With ``keeps_values``, a value may be asked to resemble a constant, which no expression says.
    """

    def __init__(self, is_version_2: bool, notice: Notice, *, keeps_values: bool = True) -> None:
        super().__init__(is_version_2, notice)
        self._keeps_values = keeps_values

    def rest(self, expression: Expression) -> Condition:
        match expression:
            case Call(name="boolean" | "exists", arguments=(argument,)):
                return self.rest(argument)
            case Path(steps=steps):
                return self._needed_path(steps)
            case Along(axis=axis, test=test, predicates=predicates) if predicates:
                return self._needed_path((Along(axis, test, _weaker(predicates)),))
            case Filter(base=base):
                return self.condition(base) if static_type(base) == "nodes" else ALWAYS
            case Binding(kind="some", source=source):
                return self._needed(source)
            case Call(name="contains", arguments=(Constant(value=str(codes)), Call() as wanted)):
                return self._needed_code(codes, wanted)
            case Call(name=name, arguments=(subject, wanted)) if name in FUNCTIONS:
                is_empty = isinstance(wanted, Constant) and wanted.value == ""
                is_text = isinstance(wanted, Constant) and not is_empty
                return self._needed_text(subject) if is_text else ALWAYS
            case Call(name=name) if name in _TEXT_FUNCTIONS:
                return self._needed_text(expression)
            case Operation(operator=operator, operands=operands):
                if operator in GENERAL_COMPARISONS or operator in VALUE_COMPARISONS:
                    return self._needed_operands(operator, operands)
                return ALWAYS
            case _:
                return ALWAYS

    def _of_version_2(self) -> Lowering:
        return Implication(True, self._notice, keeps_values=self._keeps_values)

    def _exactly(self, expression: Expression) -> Condition:
        condition = Lowering(self._is_version_2, self._notice).condition(expression)
        if _has_residual(condition):
            raise CannotLowerError
        return condition

    def _needed_path(self, steps: Sequence[Expression]) -> Condition:
        """The nodes that a path passes, as far as it only leads down."""
        kept: list[Expression] = []
        for step in steps:
            if isinstance(step, Along) and not all(map(is_position_free, step.predicates)):
                step = Along(step.axis, step.test, _weaker(step.predicates))
            elif not isinstance(step, Along | Root):
                break
            if isinstance(step, Along) and not (step.axis in DOWN or is_anywhere(step)):
                break
            kept.append(step)
        if not kept:
            return ALWAYS
        try:
            return self._step(tuple(kept), THERE)
        except CannotLowerError:
            return ALWAYS

    def _needed_operands(self, operator: str, operands: Sequence[Expression]) -> Condition:
        """What a comparison needs of its sides to hold."""
        if not self._is_version_2 and any(map(_may_be_truth, operands)):
            return ALWAYS  # where one side is a truth, the other need not be there
        left, right = operands
        operator = VALUE_COMPARISONS.get(operator, operator)
        return normal.both(
            [
                self._needed_side(operator, left, constants_in(right)),
                self._needed_side(MIRRORED[operator], right, constants_in(left)),
            ]
        )

    def _needed_side(
        self, operator: str, side: Expression, constants: Sequence[str | float] | None
    ) -> Condition:
        """What a side needs for the comparison, perhaps with constants, to hold."""
        if static_type(side) == "nodes":
            return self._needed(side)
        match side:
            case Call(name="count" | "string-length", arguments=(argument,)):
                row = NUMBER_OPERATORS[operator]
                if constants is None or any(
                    isinstance(each, str) or row.passes(0.0, each) for each in constants
                ):
                    return ALWAYS
                return (
                    self._needed_text(argument)
                    if side.name == "string-length"
                    else (self._needed(argument))
                )
            case Call(name=name) if name in _TEXT_FUNCTIONS:
                if constants is None or operator not in ("=", "!="):
                    return ALWAYS
                equals = TEXT_OPERATORS[operator].passes
                if any(not isinstance(each, str) or equals("", each) for each in constants):
                    return ALWAYS
                return self._needed_text(side, constants if operator == "=" else ())
            case _ if operator != "!=":  # without a node it is NaN or empty, which equals nothing
                return self._needed_number(side)
            case _:
                return ALWAYS

    def _needed_text(
        self, expression: Expression, constants: Sequence[str | float] = ()
    ) -> Condition:
        """What a text needs for not being empty, or for being one of the constants."""
        while isinstance(expression, Call) and expression.name in _TEXT_FUNCTIONS:
            if expression.name not in _RESPELLING:
                constants = ()
            expression = expression.arguments[0] if expression.arguments else CONTEXT
        is_plain = all(isinstance(each, str) and each.isascii() for each in constants)
        if not constants or not is_plain or not self._keeps_values:
            return self._needed(expression)
        # None of them implies another, which need not be found out pair by pair.
        tests = sorted({ValueTest(RESEMBLES, str(each)) for each in constants}, key=_TEXT)
        one_of = tests[0] if len(tests) == 1 else Either(tuple(tests))
        ending = Ending(lambda: one_of, lambda path: path)
        if static_type(expression) != "nodes":
            return ALWAYS
        return self._path((expression,), ending)

    def _needed_code(self, codes: str, wanted: Call) -> Condition:
        """What a text needs for standing in a list of codes.

        ``contains(' A B ', concat(' ', x, ' '))``: ``A``, ``B`` or ``A B``.
        """
        match wanted:
            case Call(name="concat", arguments=(Constant(value=str(separator)), subject, behind)):
                pass
            case _:
                return ALWAYS
        if len(separator) != 1 or not isinstance(behind, Constant) or behind.value != separator:
            return ALWAYS
        words = codes.split(separator)[1:-1]
        if "" in words:
            return ALWAYS  # the text may be empty
        if len(words) > _MOST_CODES:
            return self._needed_text(subject)
        ends = range(1, len(words) + 1)
        values = [separator.join(words[begin:end]) for end in ends for begin in range(end)]
        return self._needed_text(subject, values) if values else NEVER

    def _needed_number(self, expression: Expression) -> Condition:
        """What a number needs for being one."""
        match expression:
            case Operation(operator=operator, operands=operands) if operator in _ARITHMETIC:
                return normal.both([self._needed_number(each) for each in operands])
            case Call(name=name, arguments=(argument, *_)) if (
                name in _NUMBER_FUNCTIONS or name.startswith("xs:")
            ):
                return self._needed_number(argument)
            case _:
                return self._needed(expression)

    def _needed(self, operand: Expression) -> Condition:
        return self.condition(operand) if static_type(operand) == "nodes" else ALWAYS


def _may_be_truth(expression: Expression) -> bool:
    """Whether the value may be a boolean."""
    match static_type(expression), expression:
        case "boolean", _:
            return True
        case "any", Call(name=name):
            return name == "xs:boolean" or not name.startswith("xs:")
        case "any", Path(steps=(*_, last)):
            return _may_be_truth(last)
        case "any", Operation(operator=operator):
            return operator not in _ARITHMETIC and constants_in(expression) is None
        case "any", _:
            return True
        case _:
            return False


def _weaker(predicates: Sequence[Expression]) -> tuple[Expression, ...]:
    """Those predicates that do not ask for a position."""
    return tuple(filter(is_position_free, predicates))


def _has_residual(condition: Condition) -> bool:
    match condition:
        case Residual():
            return True
        case Upward(condition=inner) | Negation(condition=inner):
            return _has_residual(inner)
        case Either(members=within) | Both(members=within) | Step(conditions=within):
            return any(map(_has_residual, within))
        case FirstNode(path=path):
            return any(map(_has_residual, path))
        case _:
            return False


def _without_upward(condition: Condition) -> Condition:
    """A weaker condition that does not look upwards."""
    match condition:
        case Upward():
            return ALWAYS
        case Either(members=members):
            return normal.either(map(_without_upward, members))
        case Both(members=members):
            return normal.both(map(_without_upward, members))
        case _:
            return condition
