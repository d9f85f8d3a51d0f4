"""From expression to condition: as much of an expression as a pattern can say.

    count(b) >= 1 and c = 'x' and following-sibling::d
      └ Step b           └ Step c with a ValueTest  └ Residual

:func:`lower` gives the condition that the effective boolean value of an expression is true at a
node.  Steps that lead down become steps of the pattern; what looks upwards is moved
(:mod:`twigcast.language.upward`); comparisons with constants become value tests.  Where no pattern
says the same, exactly that part stays an expression: a :class:`~twigcast.language.nodes.Residual`.
Of a path, the steps before it are still steps of the pattern, and the residual asks for the rest.

:func:`implied_by` answers the other question for a residual: which conditions of a pattern hold
wherever it holds.  That is the same lowering in which a part without a pattern is left out.

Only meanings that both versions of XPath share are lowered for version 2.0.  There, a comparison
with a number may raise an error, so it stays an expression.

Invariants: the condition holds exactly where the expression is true; lowering the text of a
residual gives the same residual.  Cost: linear in the expression, but for what
:func:`twigcast.language.upward.branch` says.
"""

from __future__ import annotations

from twigcast.language.expressions import Expression
from twigcast.language.lowering.expressions import Lowering
from twigcast.language.lowering.implication import implied_by, needed_above
from twigcast.language.lowering.paths import Notice
from twigcast.language.nodes import Condition
from twigcast.language.upward import at_document

__all__ = ["Notice", "implied_by", "lower", "needed_above"]


def lower(expression: Expression, is_version_2: bool, notice: Notice) -> Condition:
    """The condition at the document node that the expression is true."""
    return at_document(Lowering(is_version_2, notice).condition(expression))
