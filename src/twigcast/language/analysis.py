"""What can be said of an expression before a document is there.

    static_type        boolean, number, string, nodes, or any: what its value is
    is_position_free   as a predicate: its truth does not depend on where its node stands
    is_context_free    its value is the same at every node of a document
    is_of_name         its value depends on the name of the context item alone
    always_has_value   by the rules of XPath 1.0 it has one at every node, and is never an error

All five err on the safe side: ``any``, and False.  Cost: linear in the expression, each time.
"""

from __future__ import annotations

from functools import lru_cache

from twigcast.language.expressions import (
    GENERAL_COMPARISONS,
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
    Typed,
    Variable,
    parts,
    walk_expression,
)
from twigcast.language.functions import BY_NAME, Result
from twigcast.language.nodes import Kind

_NUMBERS = frozenset({"+", "-", "*", "div", "idiv", "mod"})
_NODES = frozenset({"|", "intersect", "except"})
_PLAIN_OPERATORS = frozenset(("and", "or", "|", "+", "-", "*", "div", "mod", *GENERAL_COMPARISONS))
_OF_NODES = frozenset({"count", "sum", "local-name", "namespace-uri", "name"})
"""Functions of XPath 1.0 whose argument must be nodes."""
_MOST = {"lang": 1, "round": 1}
"""How many arguments functions have in XPath 1.0 that may have more since."""


def static_type(expression: Expression) -> Result:
    """The type of the expression's value, as far as it is known."""
    match expression:
        case Constant(value=value):
            return "string" if isinstance(value, str) else "number"
        case Root() | Along() | ContextItem():
            return "nodes"  # of a context item that is none, only residuals ask
        case Filter(base=base):
            return "nodes" if static_type(base) == "nodes" else "any"
        case Path(steps=steps):
            return "nodes" if static_type(steps[-1]) == "nodes" else "any"
        case Call(name=name):
            return BY_NAME[name].result if name in BY_NAME else "boolean"
        case Operation(operator=operator, operands=operands):
            if operator in _NUMBERS:
                # Dates and durations are added, too.
                return "number" if all(static_type(each) != "any" for each in operands) else "any"
            if operator in _NODES or operator == ",":
                return "nodes" if all(static_type(each) == "nodes" for each in operands) else "any"
            if operator == "||":
                return "string"
            return "any" if operator in ("to", "!") else "boolean"
        case Binding(kind=kind, body=body):
            if kind in ("some", "every"):
                return "boolean"
            return static_type(body) if kind == "let" else "any"
        case Conditional(then=then, otherwise=otherwise):
            result = static_type(then)
            return result if result == static_type(otherwise) else "any"
        case Typed(kind=kind):
            return "boolean" if kind in ("castable as", "instance of") else "any"
        case _:
            return "any"


def is_anywhere(step: Expression) -> bool:
    """Whether a step is ``descendant-or-self::node()``, which ``//`` stands for."""
    return (
        isinstance(step, Along)
        and step.axis == "descendant-or-self"
        and step.test.kind is Kind.NODE
        and not step.predicates
    )


def is_position_free(predicate: Expression) -> bool:
    """Whether a predicate asks nothing about the position of its node among others."""
    if isinstance(predicate, Along):
        return True
    return static_type(predicate) in ("boolean", "string", "nodes") and not _asks_position(
        predicate
    )


def _asks_position(expression: Expression) -> bool:
    """Whether ``position()`` or ``last()`` of the context itself are asked for."""
    match expression:
        case Call(name="position" | "last"):
            return True
        case Along():
            return False  # within its predicates, they count the nodes of the step
        case Filter(base=base):
            return _asks_position(base)
        case Path(steps=steps):
            return _asks_position(steps[0])
        case Operation(operator="!", operands=operands):
            return _asks_position(operands[0])
        case _:
            return any(map(_asks_position, parts(expression)))


@lru_cache(maxsize=4096)
def always_has_value(expression: Expression) -> bool:
    """Whether it is of XPath 1.0 throughout, by whose rules nothing is an error."""
    for each in walk_expression(expression):
        match each:
            case Call(name=name, arguments=arguments):
                function = BY_NAME.get(name)
                if function is None or not function.is_xpath_1:
                    return False
                if len(arguments) > _MOST.get(name, function.most):
                    return False
                of_nodes = arguments[:1] if name in _OF_NODES else ()
            case Operation(operator=operator, operands=operands):
                if operator not in _PLAIN_OPERATORS:
                    return False
                of_nodes = operands if operator == "|" else ()
            case Filter(base=base):
                of_nodes = (base,)
            case Path(steps=steps):
                of_nodes = steps
            case Constant() | ContextItem() | Root() | Along():
                of_nodes = ()
            case _:
                return False
        if any(static_type(part) != "nodes" for part in of_nodes):
            return False
    return True


def is_of_name(expression: Expression) -> bool:
    """Whether the name of the context item decides the value, in any document."""
    match expression:
        case Constant():
            return True
        case Call(name="local-name" | "namespace-uri", arguments=() | (ContextItem(),)):
            return True
        case Call(name="id" | "current-date" | "current-dateTime" | "current-time"):
            return False
        case Call(name=name, arguments=arguments):
            function = BY_NAME.get(name)
            if function is None or (function.uses_context and len(arguments) < function.most):
                return False
            return all(map(is_of_name, arguments))
        case Operation(operator=operator) if operator == "!":
            return False
        case Operation() | Conditional():
            return all(map(is_of_name, parts(expression)))
        case _:
            return False


def is_context_free(expression: Expression, bound: frozenset[str] = frozenset()) -> bool:
    """Whether the expression has one value in a document, wherever it is evaluated.

    ``bound`` are the variables around it that have such a value.
    """
    match expression:
        case Variable(name=name):
            return name in bound
        case Along() | ContextItem():
            return False
        case Path(steps=(first, *_)) | Filter(base=first):
            return is_context_free(first, bound)
        case Operation(operator="!", operands=(first, *_)):
            return is_context_free(first, bound)
        case Call(name=name, arguments=arguments):
            function = BY_NAME.get(name)
            if function is None or (function.uses_context and len(arguments) < function.most):
                return False
            return all(is_context_free(each, bound) for each in arguments)
        case Binding(name=name, source=source, body=body):
            return is_context_free(source, bound) and is_context_free(body, bound | {name})
        case _:
            return all(is_context_free(each, bound) for each in parts(expression))
