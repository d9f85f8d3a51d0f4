"""A quantified variable as the context item: ``some $x in a satisfies $x/b > 5`` is ``a[b > 5]``.

That is possible where the body asks for nothing but the variable, constants and the root: a
relative path in it would start at another node.
"""

from __future__ import annotations

from twigcast.language.expressions import (
    CONTEXT,
    Along,
    Binding,
    Call,
    Conditional,
    ContextItem,
    Expression,
    Filter,
    Operation,
    Path,
    Typed,
    Variable,
    walk_expression,
)
from twigcast.language.functions import BY_NAME
from twigcast.language.upward import CannotLowerError


def as_context(expression: Expression, name: str) -> Expression:
    """The expression with the context item in place of the variable.

    Raises CannotLowerError where that is not possible.
    """
    match expression:
        case Variable(name=known):
            if known != name:
                raise CannotLowerError
            return CONTEXT
        case Along() | ContextItem():
            raise CannotLowerError
        case Path(steps=(first, *rest)):
            start = as_context(first, name)
            _require_without(rest, name)
            steps = rest if isinstance(start, ContextItem) else (start, *rest)
            return steps[0] if len(steps) == 1 else Path(tuple(steps))
        case Filter(base=base, predicates=predicates):
            _require_without(predicates, name)
            return Filter(as_context(base, name), predicates)
        case Call(name=function, arguments=arguments):
            row = BY_NAME.get(function)
            if row is None or (row.uses_context and len(arguments) <= row.least):
                raise CannotLowerError
            return Call(function, tuple(as_context(each, name) for each in arguments))
        case Operation(operator="!", operands=(first, *rest)):
            _require_without(rest, name)
            return Operation("!", (as_context(first, name), *rest))
        case Operation(operator=operator, operands=operands):
            return Operation(operator, tuple(as_context(each, name) for each in operands))
        case Binding(kind=kind, name=inner, source=source, body=body):
            _require_without((body,), name)
            as_context(body, inner)  # it asks for nothing but its own variable
            return Binding(kind, inner, as_context(source, name), body)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return Conditional(*(as_context(each, name) for each in (condition, then, otherwise)))
        case Typed(kind=kind, operand=operand, type_name=type_name, occurrence=occurrence):
            return Typed(kind, as_context(operand, name), type_name, occurrence)
        case _:
            return expression


def _require_without(expressions: tuple[Expression, ...] | list[Expression], name: str) -> None:
    """Refuse expressions with another context that ask for the variable."""
    if any(each == Variable(name) for one in expressions for each in walk_expression(one)):
        raise CannotLowerError
