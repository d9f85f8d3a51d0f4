"""What two conditions show at a glance, before a search asks whether one implies the other.

    not(a/b)     denies   a, b, a/b     what a condition must hold for its negation to be implied
    count(c)>2   needs    c             the names in an expression that implies this one

One condition implies another only where what the latter *needs* is among what the former *offers*;
of two negations, the other way round.  Names are needed, and paths of names from the node by ``/``
alone; of first nodes, the whole path; of expressions, that they are some, and their names, but for
those in alternatives and below ``not()``.  All are bits of a number of fixed
width, chosen by a checksum: where two share a bit, less is ruled out, and nothing wrongly.

Invariant: where :func:`twigcast.covering.conditions.implies_other` says yes, so does
:meth:`Signature.may_imply`.  Cost: linear in the condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from twigcast.covering.conditions import implied
from twigcast.language import (
    Along,
    Axis,
    Call,
    Condition,
    Expression,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Operation,
    Residual,
    Step,
    parts,
    parts_of_expression,
    walk_expression,
)

WIDTH = 256


@dataclass(frozen=True, slots=True)
class Signature:
    """What a condition needs and offers, or what the condition that it denies does."""

    needs: int
    offers: int
    is_negated: bool

    def may_imply(self, other: Signature) -> bool:
        """False only where the condition does not imply the other one; the kernel repeats this."""
        if self.is_negated is not other.is_negated:
            return False
        if self.is_negated:
            self, other = other, self
        return not other.needs & ~self.offers


def signature(condition: Condition) -> Signature:
    """The signature of a condition that is neither a branch nor a comparison."""
    is_negated = isinstance(condition, Negation)
    inner = condition.condition if isinstance(condition, Negation) else condition
    return Signature(_needs(inner, ""), _offers(inner, ""), is_negated)


def _needs(condition: Condition, path: str | None) -> int:
    """What is needed of a condition that implies this one, at the end of a path of names."""
    if isinstance(condition, Residual):
        return _expression_needs(condition.expression) if path == "" else 0
    if isinstance(condition, FirstNode):
        return _bit(condition.path_text) if path == "" else 0
    if not isinstance(condition, Step):
        return 0
    bits, path = _step_bits(condition, path)
    for below in condition.conditions:
        if isinstance(below, Step):
            bits |= _needs(below, path)
    return bits


def _offers(condition: Condition, path: str | None) -> int:
    bits = 0
    below: tuple[Condition, ...] = (*parts(condition), *implied(condition))
    if isinstance(condition, Residual):
        bits, below = _expression_offers(condition.expression), implied(condition)
    elif isinstance(condition, FirstNode):
        bits, below = _bit(condition.path_text), implied(condition)
    elif isinstance(condition, Step):
        bits, path = _step_bits(condition, path)
    for each in below:
        bits |= _offers(each, path)
    return bits


def _step_bits(step: Step, path: str | None) -> tuple[int, str | None]:
    """The bits of a step's name and path, and the path for what is below it."""
    test = step.test
    if not _is_full_name(test):
        return 0, None
    bits = _bit(test.text)
    if path is None or step.axis is not Axis.CHILD:
        return bits, None
    path = f"{path}/{test.text}"
    return bits | _bit(path), path


def _expression_needs(expression: Expression) -> int:
    """The names that stand in every expression that implies this one."""
    bits = _AN_EXPRESSION
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Operation) and each.operator in ("or", "|"):
            continue
        if isinstance(each, Call) and each.name == "not":
            continue
        bits |= _name_bit(each)
        waiting.extend(parts_of_expression(each))
    return bits


def _expression_offers(expression: Expression) -> int:
    bits = _AN_EXPRESSION
    for each in walk_expression(expression):
        bits |= _name_bit(each)
    return bits


def _name_bit(expression: Expression) -> int:
    if isinstance(expression, Along) and _is_full_name(expression.test):
        return _bit(f"expression {expression.test.text}")
    return 0


def _bit(text: str) -> int:
    return 1 << crc32(text.encode("utf-8", "surrogatepass")) % WIDTH


def _is_full_name(test: NodeTest) -> bool:
    return test.kind is Kind.TEXT or (test.namespace is not None and test.local is not None)


_AN_EXPRESSION = _bit("expression")
