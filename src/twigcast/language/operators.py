"""The operators of value tests: every comparison and string function of the language, once.

All that knows operators reads this table: the parser and the printer (spelling), the normal form
(negation), the matchers (how a value passes), covering (what implies what), and the kernel, whose
header ``base/operators.hpp`` is made from it when the kernel is built.

An operator compares with one kind of operand, so ``=`` is two operators: ``. = 5``
compares numbers and ``. = "5"`` compares texts.  The *code* of an operator is its index in
:data:`OPERATORS`; the kernel, its programs and its index files use codes.

A new string function is a row here, a case of ``compare_text`` in the kernel's
``base/comparison.hpp``, and a case of ``ValueIndex::add``.  The module imports nothing of Twigcast,
so that ``setup.py`` can load it before the kernel exists.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

RESEMBLES: Final = " resembles "

Anchor: TypeAlias = Literal["", "start", "anywhere", "end"]


@dataclass(frozen=True, slots=True)
class Operator:
    """How a string-value is compared with one kind of operand."""

    name: str
    """The name of the operator in the kernel."""

    spelling: str
    """What stands in an expression, and in ``ValueTest.operator``."""

    operand: type[str | float]
    """What the value is compared with, and read as."""

    passes: Callable[[Any, Any], bool]
    """Whether a value passes, given the value as text or number and the operand."""

    mirrored: str = ""
    """The spelling with both sides exchanged: ``5 < .`` is ``. > 5``.  Functions have none."""

    negated: str = ""
    """The spelling of what passes exactly where this does not, if there is one."""

    bounds: Literal["", "below", "above"] = ""
    """On which side of the operand the numbers lie that pass, where they lie on one."""

    implies: frozenset[str] = frozenset()
    """The functions g such that this test with operand a implies g(., b) where a passes g(., b)."""

    anchor: Anchor = ""
    """Of a function: where in the value the operand stands."""

    xpath_1: str = ""
    """How XPath 1.0 says a function that it lacks, of the subject {0} and the operand {1}."""

    code: int = field(init=False, default=-1)

    @property
    def is_function(self) -> bool:
        """Whether it is written as a function: ``contains(., "x")``."""
        return self.anchor != ""


def _contains(value: str, operand: str) -> bool:
    return operand in value


def _resembles(value: str, operand: str) -> bool:
    """Whether letter case, as far as ASCII knows it, and white space make all the difference.

    A value beyond ASCII resembles everything: what its letters become in another case is not
    looked up here.
    """
    return not value.isascii() or value.lower().split() == operand.lower().split()


OPERATORS: Final = (
    Operator("equal", "=", float, operator.eq, mirrored="=", negated="!="),
    Operator("unequal", "!=", float, operator.ne, mirrored="!=", negated="="),
    Operator("less", "<", float, operator.lt, mirrored=">", bounds="below"),
    Operator("at_most", "<=", float, operator.le, mirrored=">=", bounds="below"),
    Operator("greater", ">", float, operator.gt, mirrored="<", bounds="above"),
    Operator("at_least", ">=", float, operator.ge, mirrored="<=", bounds="above"),
    Operator("equal_text", "=", str, operator.eq, mirrored="=", negated="!="),
    Operator("unequal_text", "!=", str, operator.ne, mirrored="!=", negated="="),
    Operator(
        "contains",
        "contains",
        str,
        _contains,
        implies=frozenset({"contains"}),
        anchor="anywhere",
    ),
    Operator(
        "starts_with",
        "starts-with",
        str,
        str.startswith,
        implies=frozenset({"starts-with", "contains"}),
        anchor="start",
    ),
    Operator(
        "ends_with",
        "ends-with",
        str,
        str.endswith,
        implies=frozenset({"ends-with", "contains"}),
        anchor="end",
        xpath_1="substring({0},string-length({0})-string-length({1})+1)={1}",
    ),
    # No expression says this.  It is what an index knows of ``normalize-space(x) = 'v'``,
    # ``upper-case(x) = 'V'`` and their like: they hold only of values that resemble the operand.
    Operator("resembles", RESEMBLES, str, _resembles),
)
"""Numbers before texts, and each kind together: the kernel distinguishes them by one comparison."""

for _code, _operator in enumerate(OPERATORS):
    object.__setattr__(_operator, "code", _code)

NUMBER_OPERATORS: Final = {each.spelling: each for each in OPERATORS if each.operand is float}
TEXT_OPERATORS: Final = {each.spelling: each for each in OPERATORS if each.operand is str}

FUNCTIONS: Final = frozenset(each.spelling for each in OPERATORS if each.is_function)
"""The string functions."""

MIRRORED: Final = {each.spelling: each.mirrored for each in OPERATORS if each.mirrored}
"""Each comparison that is no function, and what it becomes when its sides are exchanged."""


def operator_of(spelling: str, operand: str | float) -> Operator:
    """The operator of a test; ValueError where the language has no such comparison."""
    table = TEXT_OPERATORS if isinstance(operand, str) else NUMBER_OPERATORS
    known = table.get(spelling)
    if known is None:
        kind = "text" if isinstance(operand, str) else "number"
        raise ValueError(f"{spelling} does not compare with a {kind}: use one of {' '.join(table)}")
    return known
