"""The expression of a residual laid out flat, for the compiled kernel.

    Residual ──ExpressionCompiler──► parts in post-order, each named by its number

A :class:`Part` follows the parts below it.  Variables are numbered by how many bindings are around
them, so that the kernel keeps their values in one short array.  The regular expression of a call is
compiled here, once.
"""

from __future__ import annotations

from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from twigcast.language import (
    AXES,
    BINDINGS,
    CODES,
    ITEM_TYPES,
    OCCURRENCES,
    OPERATORS_OF_XPATH,
    REGULAR,
    TYPED,
    Along,
    Binding,
    Call,
    Conditional,
    Constant,
    ContextItem,
    Expression,
    Filter,
    Kind,
    NodeTest,
    Operation,
    Path,
    Root,
    Typed,
    Variable,
    compile_regular,
    parts_of_expression,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class Form(IntEnum):
    """What a part is; the numbers are those of ``program/expression.hpp``."""

    TEXT = 0
    INTEGER = 1
    DECIMAL = 2
    NUMBER = 3
    CONTEXT = 4
    ROOT = 5
    ALONG = 6
    FILTER = 7
    PATH = 8
    CALL = 9
    OPERATION = 10
    VARIABLE = 11
    BINDING = 12
    CONDITIONAL = 13
    TYPED = 14


class KindAndName(NamedTuple):
    """A node test; a part of the name that does not matter is None."""

    kind: int
    namespace: bytes | None
    local: bytes | None


class Part(NamedTuple):
    """One expression; each form uses the fields it needs.

    ``code`` is that of an axis, a function, an operator, a kind of binding or of typing.  ``test``
    is the number of a node test, of a variable or of a type.
    """

    form: Form
    children: tuple[int, ...] = ()
    code: int = 0
    occurrence: int = 0
    test: int = 0
    number: float = 0.0
    text: bytes = b""


_KINDS: Final = {
    Kind.DOCUMENT: 0,
    Kind.ELEMENT: 1,
    Kind.ATTRIBUTE: 2,
    Kind.TEXT: 3,
    Kind.COMMENT: 4,
    Kind.INSTRUCTION: 5,
    Kind.NAMESPACE: 6,
    Kind.NODE: 7,
}
_OPERATORS: Final = {spelling: code for code, spelling in enumerate(OPERATORS_OF_XPATH)}
_TYPES: Final = {
    **{name: code for name, code in CODES.items() if name.startswith("xs:")},
    **{name: len(CODES) + code for code, name in enumerate(ITEM_TYPES)},
}


class ExpressionCompiler:
    """Lays expressions out, one behind the other, with the node tests of the whole program."""

    def __init__(self, tests: dict[KindAndName, int]) -> None:
        self.parts: list[Part] = []
        self._tests = tests

    def add(self, expression: Expression) -> int:
        """Lay out an expression and all within it; the number of its part."""
        return self._add(expression, {})

    def _add(self, expression: Expression, bound: Mapping[str, int]) -> int:
        if isinstance(expression, Binding):
            within = {**bound, expression.name: len(set(bound.values()))}
            scopes: tuple[Mapping[str, int], ...] = (bound, within)
        else:
            scopes = (bound,) * len(parts_of_expression(expression))
        children = tuple(map(self._add, parts_of_expression(expression), scopes))
        self.parts.append(self._part(expression, bound)._replace(children=children))
        return len(self.parts) - 1

    def _part(self, expression: Expression, bound: Mapping[str, int]) -> Part:
        match expression:
            case Constant(value=value):
                return _constant(value)
            case ContextItem():
                return Part(Form.CONTEXT)
            case Root():
                return Part(Form.ROOT)
            case Along(axis=axis, test=test):
                return Part(Form.ALONG, code=AXES.index(axis), test=number_test(test, self._tests))
            case Filter():
                return Part(Form.FILTER)
            case Path():
                return Part(Form.PATH)
            case Call(name=name, arguments=arguments):
                return Part(Form.CALL, code=CODES[name], text=_regular(name, arguments))
            case Operation(operator=operator):
                return Part(Form.OPERATION, code=_OPERATORS[operator])
            case Variable(name=name):
                return Part(Form.VARIABLE, test=bound[name])
            case Binding(kind=kind):
                return Part(Form.BINDING, code=BINDINGS.index(kind), test=len(set(bound.values())))
            case Conditional():
                return Part(Form.CONDITIONAL)
        assert isinstance(expression, Typed)
        return Part(
            Form.TYPED,
            code=TYPED.index(expression.kind),
            occurrence=OCCURRENCES.index(expression.occurrence),
            test=_TYPES[expression.type_name],
        )


def _regular(name: str, arguments: tuple[Expression, ...]) -> bytes:
    """The compiled regular expression of a call; none for most functions."""
    flags_at = REGULAR.get(name)
    if flags_at is None or len(arguments) < 2:
        return b""
    given = (arguments[1], arguments[flags_at]) if len(arguments) > flags_at else (arguments[1],)
    texts = [each.value for each in given if isinstance(each, Constant)]
    if len(texts) != len(given) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"the regular expression and the flags of {name}() must be literals")
    return compile_regular(*map(str, texts))


def _constant(value: str | Decimal | float) -> Part:
    if isinstance(value, str):
        return Part(Form.TEXT, text=encode(value))
    if isinstance(value, int):
        return Part(Form.INTEGER, number=_nearest(value), text=str(value).encode())
    if isinstance(value, Decimal):
        return Part(Form.DECIMAL, number=float(value), text=format(value, "f").encode())
    return Part(Form.NUMBER, number=value)


def _nearest(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def number_test(test: NodeTest, tests: dict[KindAndName, int]) -> int:
    """The number of a node test among those of a program, added if it is new."""
    key = KindAndName(_KINDS[test.kind], _bytes(test.namespace), _bytes(test.local))
    return tests.setdefault(key, len(tests))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else encode(text)


def encode(text: str) -> bytes:
    """UTF-8; half a surrogate pair becomes bytes that no document holds."""
    return text.encode("utf-8", "surrogatepass")
