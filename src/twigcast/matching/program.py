"""A pattern laid out flat, for the compiled kernel.

    Pattern ──make_program──► Program ──CompiledPattern──► arrays of the kernel
                 └─ Residual ──ExpressionCompiler──► parts of expressions

A :class:`Program` is the tree of :mod:`twigcast.language.nodes` as a list of instructions in
post-order: every instruction follows the conditions below it, which it names by their numbers.
Node tests are listed apart and once each, since the kernel looks their names up in each document.
Texts are UTF-8, as they are in the kernel's documents.

A program is made of tuples, numbers and bytes only, so it can be pickled and compared.  Making one
costs time linear in the pattern.  Of a plain tree that is in an index, the kernel makes the same
program by itself (``program/tree_program.hpp``), if it ever needs one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from twigcast.language import (
    NUMBER_OPERATORS,
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Fold,
    Negation,
    Position,
    Residual,
    Step,
    ValueTest,
    is_of_name,
)
from twigcast.matching.expression_program import (
    ExpressionCompiler,
    KindAndName,
    Part,
    encode,
    number_test,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twigcast.language import Pattern


class Operation(IntEnum):
    """What an instruction asks; the numbers are those of ``program/program.hpp``."""

    STEP = 0
    VALUE = 1
    FIRST_NODE = 2
    EITHER = 3
    BOTH = 4
    NEGATION = 5
    RESIDUAL = 6


class Instruction(NamedTuple):
    """One condition of a pattern; each operation uses the fields it needs.

    ``comparison``, the code of an operator, is that of a value, of a path's first node, or of a
    step's index among its siblings; the first two compare with ``operand``, the third with
    ``position``, which is 0 for a step that any index fits.  ``children`` are the numbers of the
    conditions of a step, of the members of a conjunction, and so on.  ``expression`` is the number
    of a residual's expression.
    """

    operation: Operation
    children: tuple[int, ...] = ()
    descendant: bool = False
    test: int = 0
    position: int = 0
    comparison: int = 0
    operand: bytes | float = b""
    expression: int = 0
    is_version_2: bool = False


class Program(NamedTuple):
    """A whole pattern; ``alternatives`` are the instructions to ask at the document node."""

    tests: tuple[KindAndName, ...]
    instructions: tuple[Instruction, ...]
    alternatives: tuple[int, ...]
    expressions: tuple[Part, ...] = ()


_LAST_POSITION: Final = 2**32 - 1
"""More than a document of the kernel can have siblings, so any larger position means the same."""


def make_program(pattern: Pattern) -> Program:
    """The program that finds out whether a document matches ``pattern``."""
    compiler = _Compiler()
    alternatives = tuple(map(compiler.add, pattern.alternatives))
    return Program(
        tuple(compiler.tests),
        tuple(compiler.instructions),
        alternatives,
        tuple(compiler.expressions.parts),
    )


class _Compiler(Fold[[], Instruction]):
    """The instruction of a condition; those of the conditions below it are appended first."""

    def __init__(self) -> None:
        self.tests: dict[KindAndName, int] = {}
        self.instructions: list[Instruction] = []
        self.expressions = ExpressionCompiler(self.tests)

    def add(self, condition: Condition) -> int:
        """Lay out a condition and all below it; the number of its instruction."""
        instruction = self.visit(condition)
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def step(self, step: Step) -> Instruction:
        conditions: Sequence[Condition] = step.conditions
        if len(conditions) > 1:
            conditions = sorted(conditions, key=_cost)
        comparison, position = _position(step.position)
        return Instruction(
            Operation.STEP,
            tuple(map(self.add, conditions)),
            descendant=step.axis is Axis.DESCENDANT,
            test=number_test(step.test, self.tests),
            position=position,
            comparison=comparison,
        )

    def value_test(self, test: ValueTest) -> Instruction:
        comparison, operand = comparison_of(test)
        return Instruction(Operation.VALUE, comparison=comparison, operand=operand)

    def first_node(self, condition: FirstNode) -> Instruction:
        path = tuple(map(self.add, condition.path))
        comparison, operand = comparison_of(condition.test)
        return Instruction(Operation.FIRST_NODE, path, comparison=comparison, operand=operand)

    def either(self, condition: Either) -> Instruction:
        return Instruction(Operation.EITHER, tuple(map(self.add, condition.members)))

    def both(self, condition: Both) -> Instruction:
        return Instruction(Operation.BOTH, tuple(map(self.add, condition.members)))

    def negation(self, condition: Negation) -> Instruction:
        return Instruction(Operation.NEGATION, (self.add(condition.condition),))

    def residual(self, condition: Residual) -> Instruction:
        return Instruction(
            Operation.RESIDUAL,
            expression=self.expressions.add(condition.expression),
            is_version_2=condition.is_version_2,
        )


def _cost(condition: Condition) -> tuple[int, int]:
    """What to ask last: the order of conditions is free, and the first to fail ends the matter."""
    return _rank(condition), len(condition.text)


def _rank(condition: Condition) -> int:
    """Names are asked first, which the kernel remembers; then values, steps, expressions."""
    match condition:
        case Step():
            return 2
        case ValueTest():
            return 1
        case Negation(condition=inner):
            return _rank(inner)
        case Either(members=members) | Both(members=members):
            return max(map(_rank, members))
        case Residual(expression=expression):
            return 0 if is_of_name(expression) else 3
        case _:
            return 2


def _position(position: Position | None) -> tuple[int, int]:
    if position is None:
        return 0, 0
    return NUMBER_OPERATORS[position.operator].code, min(position.value, _LAST_POSITION)


def comparison_of(test: ValueTest) -> tuple[int, bytes | float]:
    """The code of a test's operator, and what it compares with."""
    operand = test.operand
    return test.comparison.code, encode(operand) if isinstance(operand, str) else operand
