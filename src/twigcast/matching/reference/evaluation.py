"""The value of an expression at a node: one short method for each kind of expression.

    Expression, Focus ──evaluate──► Sequence (items: nodes, atomic values)

The semantics are those of XPath 2.0, in its XPath 1.0 compatibility mode unless the setting says
otherwise; in that mode an XPath 1.0 expression has the value that libxml2 gives it.  What a value
is, how it is converted, compared, computed with and cast is said in the modules beside this one.

``and``, ``or``, quantifiers and comparisons of sequences go from the left and stop when they are
decided.  An expression that has no value raises :class:`DynamicError` with the reason.

Cost: polynomial in the document, of a degree that grows with the nesting of the expression.  Every
node and item that is looked at is charged to the budget of the setting.  Recursion goes along the
expression only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from twigcast.language import (
    FUNCTIONS_BY_NAME,
    GENERAL_COMPARISONS,
    REVERSE_AXES,
    VALUE_COMPARISONS,
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
)
from twigcast.matching.reference import types
from twigcast.matching.reference.arithmetic import compute, negate, operand
from twigcast.matching.reference.axes import AXES, ancestor_or_self, passes_test
from twigcast.matching.reference.comparisons import are_single, general_comparison, value_comparison
from twigcast.matching.reference.conversions import (
    as_float,
    effective_boolean,
    number_text_1,
    to_text,
)
from twigcast.matching.reference.functions import DEFINITIONS, as_sequence
from twigcast.matching.reference.items import (
    Atomic,
    DynamicError,
    Sequence,
    atomic,
    is_numeric,
)
from twigcast.matching.reference.nodes import Node, document_order, in_document_order
from twigcast.matching.reference.parameters import convert_argument, require_nodes
from twigcast.matching.reference.setting import Focus, Setting


class Evaluation:
    """Evaluates expressions in one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def holds(self, expression: Expression, node: Node) -> bool:
        """The effective boolean value of an expression with that node as the context item."""
        return effective_boolean(self.evaluate(expression, Focus(node)))

    def evaluate(self, expression: Expression, focus: Focus) -> Sequence:
        """The items that the expression comes to."""
        items = self._value(expression, focus)
        self.setting.budget.spend(1 + _cost(items))
        return items

    def _value(self, expression: Expression, focus: Focus) -> Sequence:
        match expression:
            case Constant(value=value):
                return [self._constant(value)]
            case ContextItem():
                return [focus.item]
            case Root():
                return [self._root(focus)]
            case Along():
                return self._along(expression, focus)
            case Filter(base=base, predicates=predicates):
                return self._filtered(self.evaluate(base, focus), predicates, focus)
            case Path(steps=steps):
                return self._path(steps, focus)
            case Call():
                return self._call(expression, focus)
            case Operation():
                return self._operation(expression, focus)
            case Variable(name=name):
                return list(focus.variables[name])
            case Binding():
                return self._binding(expression, focus)
            case Conditional(condition=condition, then=then, otherwise=otherwise):
                chosen = then if self._boolean(condition, focus) else otherwise
                return self.evaluate(chosen, focus)
            case Typed():
                return self._typed(expression, focus)
            case _:
                raise TypeError(f"{type(expression).__name__} is no kind of expression")

    def _constant(self, value: str | Decimal | float) -> Atomic:
        """A literal.  In XPath 1.0 it is a double, wherever that makes a difference to its text."""
        constant = atomic(value)
        if self.setting.is_version_2 or isinstance(value, str | float):
            return constant
        number = as_float(value)
        is_same = number_text_1(number) == to_text(constant, is_version_2=True)
        return constant if is_same else atomic(number)

    def _root(self, focus: Focus) -> Node:
        (node,) = require_nodes([focus.item])
        *_, top = ancestor_or_self(node)
        return top

    # Paths

    def _along(self, step: Along, focus: Focus) -> Sequence:
        """Predicates count along the axis; the result is in document order."""
        (node,) = require_nodes([focus.item])
        nodes: Sequence = []
        for candidate in AXES[step.axis](node):
            self.setting.budget.spend(1)
            if passes_test(candidate, step.test):
                nodes.append(candidate)
        selected = self._filtered(nodes, step.predicates, focus)
        return selected[::-1] if step.axis in REVERSE_AXES else selected

    def _filtered(
        self, items: Sequence, predicates: tuple[Expression, ...], focus: Focus
    ) -> Sequence:
        for predicate in predicates:
            size = len(items)
            items = [
                item
                for position, item in enumerate(items, start=1)
                if self._passes(predicate, focus.at(item, position, size))
            ]
        return items

    def _passes(self, predicate: Expression, focus: Focus) -> bool:
        """A number is the position that is asked for."""
        value = self.evaluate(predicate, focus)
        if len(value) == 1 and isinstance(value[0], Atomic) and is_numeric(value[0]):
            return value[0].value == focus.position
        return effective_boolean(value)

    def _path(self, steps: tuple[Expression, ...], focus: Focus) -> Sequence:
        items = self.evaluate(steps[0], focus)
        for step in steps[1:]:
            require_nodes(items)
            items = _joined(self._at_each(items, step, focus))
        return items

    def _at_each(self, items: Sequence, expression: Expression, focus: Focus) -> Sequence:
        """The values of an expression at each of the items, one after the other."""
        size = len(items)
        return [
            value
            for position, item in enumerate(items, start=1)
            for value in self.evaluate(expression, focus.at(item, position, size))
        ]

    # Functions

    def _call(self, call: Call, focus: Focus) -> Sequence:
        match call.name:
            case "position":
                return [atomic(focus.position)]
            case "last":
                return [atomic(focus.size)]
        arguments = [self.evaluate(argument, focus) for argument in call.arguments]
        if types.is_constructor(call.name):
            return types.construct(call.name, arguments[0])
        function = FUNCTIONS_BY_NAME[call.name]
        if function.uses_context and len(arguments) < function.most:
            arguments.append([focus.item])
        return DEFINITIONS[call.name].call(self.setting, arguments)

    # Operators

    def _operation(self, operation: Operation, focus: Focus) -> Sequence:
        operator, operands = operation.operator, operation.operands
        match operator:
            case "and":
                return [atomic(all(self._boolean(each, focus) for each in operands))]
            case "or":
                return [atomic(any(self._boolean(each, focus) for each in operands))]
            case ",":
                return [item for each in operands for item in self.evaluate(each, focus)]
            case "|":
                nodes = (require_nodes(self.evaluate(each, focus)) for each in operands)
                return list(in_document_order([node for each in nodes for node in each]))
            case "!":
                return self._at_each(self.evaluate(operands[0], focus), operands[1], focus)
            case _:
                values = [self.evaluate(each, focus) for each in operands]
                if operator not in _ON_NODES:
                    for value in values:
                        self.setting.charge(value)
                return as_sequence(self._computed(operator, *values))

    def _computed(
        self, operator: str, left: Sequence, right: Sequence | None = None
    ) -> Sequence | Atomic | bool | str | float | None:
        """The value of an operator that looks at the values of its operands alone."""
        is_version_2 = self.setting.is_version_2
        if right is None:
            value = operand(left, is_version_2=is_version_2)
            return None if value is None else negate(value)
        if operator in GENERAL_COMPARISONS:
            self.setting.budget.spend(len(left) * len(right))
            return general_comparison(operator, left, right, is_version_2=is_version_2)
        if operator in VALUE_COMPARISONS:
            return value_comparison(operator, left, right)
        if operator in _NODE_COMPARISONS:
            return _compare_nodes(operator, left, right)
        if operator in ("intersect", "except"):
            return _combine(operator, require_nodes(left), require_nodes(right))
        if operator == "||":
            texts = (self._argument("spelled", side) for side in (left, right))
            return "".join(texts)
        if operator == "to":
            return self._range(left, right)
        if not is_version_2 and not (left and right):
            return math.nan
        one = operand(left, is_version_2=is_version_2)
        other = operand(right, is_version_2=is_version_2)
        return None if one is None or other is None else compute(operator, one, other)

    def _range(self, left: Sequence, right: Sequence) -> Sequence:
        if not left or not right:
            return []
        first, last = self._argument("integer", left), self._argument("integer", right)
        self.setting.budget.spend(max(0, last - first))
        return [atomic(number) for number in range(first, last + 1)]

    # The rest

    def _binding(self, binding: Binding, focus: Focus) -> Sequence:
        source = self.evaluate(binding.source, focus)
        if binding.kind == "let":
            return self.evaluate(binding.body, _bind(focus, binding.name, source))
        inner = (_bind(focus, binding.name, [item]) for item in source)
        match binding.kind:
            case "some":
                return [atomic(any(self._boolean(binding.body, each) for each in inner))]
            case "every":
                return [atomic(all(self._boolean(binding.body, each) for each in inner))]
            case "for":
                return [item for each in inner for item in self.evaluate(binding.body, each)]

    def _typed(self, typed: Typed, focus: Focus) -> Sequence:
        items = self.evaluate(typed.operand, focus)
        if typed.kind in ("cast as", "castable as"):
            self.setting.charge(items)
        return as_sequence(_TYPED[typed.kind](items, typed.type_name, typed.occurrence))

    def _boolean(self, expression: Expression, focus: Focus) -> bool:
        return effective_boolean(self.evaluate(expression, focus))

    def _argument(self, kind: str, items: Sequence) -> Any:
        return convert_argument(kind, items, is_version_2=self.setting.is_version_2)


_NODE_COMPARISONS: Final = ("is", "<<", ">>")
_ON_NODES: Final = (*_NODE_COMPARISONS, "intersect", "except")

_TYPED: Final[dict[str, Callable[[Sequence, str, str], Sequence | bool]]] = {
    "cast as": types.cast_as,
    "castable as": types.castable_as,
    "treat as": types.treat_as,
    "instance of": types.instance_of,
}


def _cost(items: Sequence) -> int:
    """What items cost: one each, and more for long texts."""
    texts = (item.value for item in items if isinstance(item, Atomic))
    return len(items) + sum(len(text) // 8 for text in texts if isinstance(text, str))


def _bind(focus: Focus, name: str, items: Sequence) -> Focus:
    return replace(focus, variables={**focus.variables, name: items})


def _joined(items: Sequence) -> Sequence:
    """The result of a step: nodes in document order, each once; or values as they come."""
    nodes = [item for item in items if isinstance(item, Node)]
    if nodes and len(nodes) < len(items):
        raise DynamicError("a step gives both nodes and values")
    return list(in_document_order(nodes)) if nodes else items


def _compare_nodes(operator: str, left: Sequence, right: Sequence) -> bool | None:
    if not are_single(operator, left, right):
        return None
    one, other = require_nodes([*left, *right])
    match operator:
        case "is":
            return one is other
        case "<<":
            return document_order(one) < document_order(other)
        case _:
            return document_order(one) > document_order(other)


def _combine(operator: str, left: list[Node], right: list[Node]) -> Sequence:
    is_kept = set(right).__contains__
    kept = [node for node in left if is_kept(node) == (operator == "intersect")]
    return list(in_document_order(kept))
