"""Expressions: the syntax tree of all of XPath, in one spelling.

    text ──tokens──► grammar ──► Expression ──lowering──► Condition
                                                             └─ Residual: what no pattern says

A pattern tree (:mod:`twigcast.language.nodes`) says what indexes understand.  An expression says
everything else: axes in all directions, numbers, texts, counts, quantifiers.  The grammar reads any
text into an expression first; the lowering turns as much of it as possible into conditions of a
pattern; the rest stays an expression, in a :class:`~twigcast.language.nodes.Residual`.

The language is XPath 2.0 with what real rules use of 3.1, in its *XPath 1.0 compatibility mode*
unless a subscription asks for version 2.0.  In that mode every XPath 1.0 expression means what
XPath 1.0 says.  The kinds of expressions:

===================== ====================================================================
:class:`Constant`      ``'x'``, ``5`` (int), ``0.5`` (Decimal), ``5e0`` (float)
:class:`ContextItem`   ``.``
:class:`Root`          ``/``, the document node
:class:`Along`         an axis step: ``b``, ``@b``, ``..``, ``ancestor::b[c]``
:class:`Filter`        predicates behind anything else: ``(a | b)[1]``
:class:`Path`          ``e1/e2/e3``: each evaluated at the nodes of the one before
:class:`Call`          a function of :mod:`twigcast.language.functions`, ``xs:date(…)`` included
:class:`Operation`     an operator with its operands: ``and``, ``+``, ``=``, ``eq``, ``|``, ``,``
:class:`Variable`      ``$v``, bound by a :class:`Binding` around it
:class:`Binding`       ``some``, ``every``, ``for`` or ``let`` one variable
:class:`Conditional`   ``if (…) then … else …``
:class:`Typed`         ``cast as``, ``castable as``, ``treat as``, ``instance of``
===================== ====================================================================

Like the nodes of a pattern, expressions are immutable and have a canonical ``text``, which the
grammar reads back to an equal expression.  It is made when first asked for, since most expressions
become conditions and are gone.  Names are expanded in it (``Q{uri}local``), variables
that a subscriber binds are constants.  ``strength`` says which of them need parentheses where.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import isinf
from typing import Final, Literal, TypeAlias

from twigcast.language.nodes import Kind, NodeTest, Spelled, quote
from twigcast.language.numbers import number_text

AxisName: TypeAlias = Literal[
    "child",
    "descendant",
    "descendant-or-self",
    "self",
    "parent",
    "ancestor",
    "ancestor-or-self",
    "following-sibling",
    "preceding-sibling",
    "following",
    "preceding",
    "attribute",
    "namespace",
]

REVERSE_AXES: Final = frozenset(
    {"parent", "ancestor", "ancestor-or-self", "preceding-sibling", "preceding"}
)
"""The axes along which positions count backwards."""

_PRINCIPAL: Final = {"attribute": Kind.ATTRIBUTE, "namespace": Kind.NAMESPACE}
"""The kind of node that a name stands for on an axis; an element on all others."""

# How strongly the parts of each spelling hold together, as in the grammar.
_COMMA, _SINGLE, _OR, _AND, _COMPARISON, _CONCATENATION, _RANGE, _SUM, _PRODUCT = range(9)
_UNARY, _UNION, _INTERSECTION, _TYPED, _MAPPING, _PATH, _PRIMARY = range(9, 16)

STRENGTHS: Final[dict[str, int]] = {
    ",": _COMMA,
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "is", "<<", ">>"), _COMPARISON),
    "||": _CONCATENATION,
    "to": _RANGE,
    "+": _SUM,
    "-": _SUM,
    **dict.fromkeys(("*", "div", "idiv", "mod"), _PRODUCT),
    "|": _UNION,
    **dict.fromkeys(("intersect", "except"), _INTERSECTION),
    "!": _MAPPING,
}
"""The operators with two operands or more.  With one operand, ``-`` is the unary minus."""

TYPED_STRENGTH: Final = _TYPED
"""That of ``cast as`` and its like."""

GENERAL_COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=")
VALUE_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")


class Expression(Spelled):
    """Something that has a value at a node.

    No abstract base class by Python's rules: those make ``isinstance``, and so ``match``, slow.
    """

    __slots__ = ("_spelling",)
    strength: int = _PRIMARY

    @property
    def text(self) -> str:
        """The canonical spelling."""
        try:
            return self._spelling
        except AttributeError:
            self._spelling: str = self._spell()
            return self._spelling

    @abstractmethod
    def _spell(self) -> str: ...

    def within(self, strength: int) -> str:
        """The spelling where that strength is needed, in parentheses if it has less."""
        return self.text if self.strength >= strength else f"({self.text})"

    @property
    def operand_text(self) -> str:
        """The spelling as an operand of ``and``."""
        return self.within(_COMPARISON)


@dataclass(slots=True, eq=False, repr=False)
class Constant(Expression):
    """A text or a number; an int, a Decimal and a float are literals of different types."""

    value: str | int | Decimal | float
    strength = _PRIMARY

    def _spell(self) -> str:
        return _constant_text(self.value)


@dataclass(slots=True, eq=False, repr=False)
class ContextItem(Expression):
    """The context item, ``.``."""

    strength = _PATH

    def _spell(self) -> str:
        return "."


@dataclass(slots=True, eq=False, repr=False)
class Root(Expression):
    """``/``: the document node.  Alone it needs parentheses before ``*`` and ``<``."""

    strength = _COMMA

    def _spell(self) -> str:
        return "/"


@dataclass(slots=True, eq=False, repr=False)
class Along(Expression):
    """The nodes on an axis that pass a test and, one after the other, the predicates."""

    axis: AxisName
    test: NodeTest
    predicates: tuple[Expression, ...] = ()
    strength = _PATH

    def _spell(self) -> str:
        test, kind = self.test.text, self.test.kind
        if kind in (Kind.ELEMENT, Kind.ATTRIBUTE) and kind is not _PRINCIPAL.get(
            self.axis, Kind.ELEMENT
        ):
            test = f"{kind.value}({test.removeprefix('@')})"
        if self.axis == "parent" and kind is Kind.NODE and not self.predicates:
            head = ".."
        elif self.axis == "child" or (self.axis == "attribute" and kind is Kind.ATTRIBUTE):
            head = test
        else:
            head = f"{self.axis}::{test}"
        return head + _brackets(self.predicates)


@dataclass(slots=True, eq=False, repr=False)
class Filter(Expression):
    """The items of an expression that pass, one after the other, the predicates."""

    base: Expression
    predicates: tuple[Expression, ...]
    strength = _PATH

    def _spell(self) -> str:
        return self.base.within(_PRIMARY) + _brackets(self.predicates)


@dataclass(slots=True, eq=False, repr=False)
class Path(Expression):
    """Expressions joined by ``/``: each is evaluated at every node of the one before.

    At least two; none is a path itself, and only the first is ``/`` or ``.``.
    """

    steps: tuple[Expression, ...]
    strength = _PATH

    def _spell(self) -> str:
        first, *rest = self.steps
        text = "" if isinstance(first, Root) else first.within(_PATH)
        text += "".join("/" + step.within(_PATH) for step in rest)
        return text


@dataclass(slots=True, eq=False, repr=False)
class Call(Expression):
    """A function by its name in the table of functions, with all arguments spelled out or none."""

    name: str
    arguments: tuple[Expression, ...] = ()
    strength = _PRIMARY

    def _spell(self) -> str:
        arguments = ",".join(argument.within(_SINGLE) for argument in self.arguments)
        return f"{self.name}({arguments})"


@dataclass(slots=True, eq=False, repr=False)
class Operation(Expression):
    """An operator with its operands.

    One for the unary minus; any number for ``and``, ``or``, ``|`` and ``,`` (of which ``()`` has
    none); two for all others.
    """

    operator: str
    operands: tuple[Expression, ...]

    @property
    def strength(self) -> int:  # type: ignore[override]  # of all others it is a constant
        if self.operator == "," and len(self.operands) != 1:
            return _PRIMARY
        return _UNARY if len(self.operands) == 1 else STRENGTHS[self.operator]

    def _spell(self) -> str:
        operator, operands = self.operator, self.operands
        if operator == "," and len(operands) != 1:
            return f"({','.join(each.within(_SINGLE) for each in operands)})"
        if len(operands) == 1:
            return f"-{operands[0].within(_UNARY)}"
        strength = STRENGTHS[operator]
        glue = operator if operator in GENERAL_COMPARISONS else f" {operator} "
        # Operators of one strength group to the left, but comparisons are never read so.
        left = strength + (strength in (_COMPARISON, _RANGE, _CONCATENATION))
        first, *rest = operands
        return glue.join([first.within(left), *(each.within(strength + 1) for each in rest)])


@dataclass(slots=True, eq=False, repr=False)
class Variable(Expression):
    """A variable that an expression around this one binds."""

    name: str
    strength = _PRIMARY

    def _spell(self) -> str:
        return f"${self.name}"


BindingKind: TypeAlias = Literal["some", "every", "for", "let"]


@dataclass(slots=True, eq=False, repr=False)
class Binding(Expression):
    """One variable bound to the items of ``source`` in turn (``let``: to all of them)."""

    kind: BindingKind
    name: str
    source: Expression
    body: Expression
    strength = _SINGLE

    def _spell(self) -> str:
        joint = ":=" if self.kind == "let" else " in "
        then = "satisfies" if self.kind in ("some", "every") else "return"
        source, body = self.source.within(_SINGLE), self.body.within(_SINGLE)
        return f"{self.kind} ${self.name}{joint}{source} {then} {body}"


@dataclass(slots=True, eq=False, repr=False)
class Conditional(Expression):
    """One of two values: ``if (condition) then … else …``."""

    condition: Expression
    then: Expression
    otherwise: Expression
    strength = _SINGLE

    def _spell(self) -> str:
        then, otherwise = self.then.within(_SINGLE), self.otherwise.within(_SINGLE)
        return f"if ({self.condition.text}) then {then} else {otherwise}"


TypedKind: TypeAlias = Literal["cast as", "castable as", "treat as", "instance of"]


@dataclass(slots=True, eq=False, repr=False)
class Typed(Expression):
    """An expression and a type.

    ``type_name`` is ``xs:decimal`` and its like, or a kind of node as ``element()``, ``item()``;
    ``occurrence`` is what stands behind it: nothing, ``?``, ``*`` or ``+``.
    """

    kind: TypedKind
    operand: Expression
    type_name: str
    occurrence: Literal["", "?", "*", "+"] = ""
    strength = _SINGLE  # behind a type, `*` and `+` would be read as part of it

    def _spell(self) -> str:
        operand = self.operand.within(_TYPED + 1)
        return f"{operand} {self.kind} {self.type_name}{self.occurrence}"


CONTEXT: Final = ContextItem()
ROOT: Final = Root()
EMPTY: Final = Operation(",", ())
"""``()``, the empty sequence."""


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions right below one, in the order of their spelling."""
    match expression:
        case Along(predicates=predicates):
            return predicates
        case Filter(base=base, predicates=predicates):
            return (base, *predicates)
        case Path(steps=steps):
            return steps
        case Call(arguments=arguments):
            return arguments
        case Operation(operands=operands):
            return operands
        case Binding(source=source, body=body):
            return source, body
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return condition, then, otherwise
        case Typed(operand=operand):
            return (operand,)
        case _:
            return ()


def walk_expression(expression: Expression) -> Iterator[Expression]:
    """The expression and all within it, each before its parts."""
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(parts(each)))


def _constant_text(value: str | Decimal | float) -> str:
    if isinstance(value, str):
        if '"' in value and "'" in value:
            return '"' + value.replace('"', '""') + '"'
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "1e999" if isinf(value) else f"{number_text(value)}e0"
    text = format(value, "f")
    return text if "." in text else f"{text}.0"


def _brackets(predicates: tuple[Expression, ...]) -> str:
    return "".join(f"[{predicate.text}]" for predicate in predicates)
