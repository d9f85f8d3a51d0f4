"""All kinds of expressions: what is true of a node becomes a condition at it."""

from __future__ import annotations

from twigcast.language import normal
from twigcast.language.analysis import (
    is_context_free,
    static_type,
)
from twigcast.language.expressions import (
    CONTEXT,
    Along,
    Binding,
    Call,
    Conditional,
    Constant,
    ContextItem,
    Expression,
    Filter,
    Operation,
    Path,
    Root,
    walk_expression,
)
from twigcast.language.lowering.comparisons import ComparisonLowering
from twigcast.language.lowering.paths import THERE, Ending
from twigcast.language.nodes import (
    ALWAYS,
    NEVER,
    VERSION_2,
    Condition,
    may_fail,
)
from twigcast.language.operators import (
    FUNCTIONS,
    TEXT_OPERATORS,
)
from twigcast.language.substitution import as_context
from twigcast.language.upward import (
    CannotLowerError,
    Where,
    above,
    negate,
)


class Lowering(ComparisonLowering):
    """The lowering of expressions of one version."""

    def condition(self, expression: Expression) -> Condition:
        """The effective boolean value of the expression is true."""
        try:
            return self._condition(expression)
        except CannotLowerError:
            return self.rest(expression)

    def rest(self, expression: Expression) -> Condition:
        """What becomes of an expression that no pattern says."""
        if static_type(expression) in ("number", "any"):
            expression = Call("boolean", (expression,))
        residual = normal.residual(expression, self._is_version_2)
        return above(Where.ROOT, residual) if is_context_free(expression) else residual

    def _condition(self, expression: Expression) -> Condition:
        match expression:
            case Along():
                return self._path((expression,), THERE)
            case Path() | Filter() | Operation(operator="|" | ","):
                if static_type(expression) != "nodes":
                    raise CannotLowerError
                return self._path((expression,), THERE)
            case Constant(value=value):
                return ALWAYS if value else NEVER
            case ContextItem() | Root():
                return ALWAYS
            case Operation(operator="and" | "or" as operator, operands=operands):
                if any(isinstance(each, Constant) for each in operands):
                    reason = f"a constant beside {operator} is true unless it is empty or 0"
                    self._notice(expression, f"{reason}; compare it")
                truths = [self.condition(each) for each in operands]
                return normal.both(truths) if operator == "and" else normal.either(truths)
            case Operation(operator=operator, operands=(left, right)):
                return self._comparison(expression, operator, left, right)
            case Call():
                return self._call(expression)
            case Conditional(condition=asked, then=then, otherwise=otherwise):
                return self._conditional(asked, then, otherwise)
            case Binding(kind="some" | "every"):
                return self._quantified(expression)
            case _:
                raise CannotLowerError

    def _conditional(self, asked: Expression, then: Expression, otherwise: Expression) -> Condition:
        if any(isinstance(each, Conditional) for each in walk_expression(asked)):
            raise CannotLowerError  # each would double what is within it
        condition = self._exactly(asked)
        if may_fail(condition):
            raise CannotLowerError  # without a value of the condition there is none of the whole
        return normal.either(
            [
                normal.both([condition, self.condition(then)]),
                normal.both([negate(condition), self.condition(otherwise)]),
            ]
        )

    def _exactly(self, expression: Expression) -> Condition:
        """The condition, where a weaker one would not do."""
        return self.condition(expression)

    def _of_version_2(self) -> Lowering:
        return Lowering(True, self._notice)

    def _negated(self, expression: Expression) -> Condition:
        is_negated = True
        while isinstance(expression, Call) and expression.name == "not":
            (expression,) = expression.arguments
            is_negated = not is_negated
        if not is_negated:
            return self.condition(expression)
        match expression:  # so that what is denied twice is seen
            case Operation(operator="or", operands=operands):
                return normal.both([self._negated(each) for each in operands])
            case Operation(operator="and", operands=operands):
                return normal.either([self._negated(each) for each in operands])
        return negate(self._exactly(expression))

    def _quantified(self, binding: Binding) -> Condition:
        kind, name, source, body = binding.kind, binding.name, binding.source, binding.body
        if kind == "every":  # no item fails
            return self._negated(Binding("some", name, source, Call("not", (body,))))
        if static_type(source) != "nodes":
            raise CannotLowerError
        asked = as_context(body, name)
        ending = Ending(
            lambda: self.condition(asked), lambda path: Binding("some", name, path, body)
        )
        return self._path((source,), ending)

    def _call(self, call: Call) -> Condition:
        name, arguments = call.name, call.arguments
        match name, arguments:
            case "true", ():
                return ALWAYS
            case "false", ():
                return NEVER
            case "not", (argument,):
                return self._negated(argument)
            case "boolean", (argument,):
                return self.condition(argument)
            case "exists", (argument,):
                if static_type(argument) == "nodes":
                    return self.condition(argument)
            case "empty", (argument,):
                if static_type(argument) == "nodes":
                    return self._negated(argument)
            case _, (Call(name="name", arguments=named), Constant(value=str(end))) if (
                name in FUNCTIONS and TEXT_OPERATORS[name].anchor == "end" and ":" not in end
            ):
                # A prefix ends before the colon, so only the local part counts.
                return self.rest(Call(name, (Call("local-name", named), Constant(end))))
            case "string", ():
                return self._first_node(CONTEXT, "!=", "")
            case "string", (argument,):
                return self._string("!=", argument, "")
            case _ if name in FUNCTIONS and len(arguments) == 2:
                subject, operand = arguments
                if isinstance(operand, Constant) and isinstance(operand.value, str):
                    return self._first_node(subject, name, operand.value)
            case _ if name == VERSION_2 and len(arguments) == 1:
                return self._of_version_2().rest(arguments[0])
            case _:
                pass
        raise CannotLowerError
