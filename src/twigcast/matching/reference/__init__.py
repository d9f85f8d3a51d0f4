"""What a subscription means, written down as plainly as possible: the second opinion.

    Document ──nodes──► NodeTree ──┐
                                   ├──patterns──► does the pattern match?
    Pattern, its residuals ────────┘     └─ evaluation ──► the value of an expression at a node

Every definition is one short function here: a condition of a pattern in ``patterns``, a kind of
expression in ``evaluation``, an axis in ``axes``, a function of XPath in one of the modules of
functions, a conversion, comparison, cast or operator in the module of that name.  On XPath 1.0
libxml2 is right, on everything else Saxon; the tests compare with both.

Nothing is indexed, cached or clever; the cost is polynomial with a high degree.  Matchers are
tested against it, explanations (:mod:`twigcast.matching.explain`) follow it node by node, and
nobody should use it for anything else.
"""

from __future__ import annotations

from twigcast.matching.reference.conversions import effective_boolean, to_text
from twigcast.matching.reference.evaluation import Evaluation
from twigcast.matching.reference.items import Atomic, DynamicError, Item, Sequence
from twigcast.matching.reference.nodes import (
    Node,
    NodeTree,
    document_order,
    in_document_order,
    subtree,
)
from twigcast.matching.reference.patterns import Definitions, owners, passing, reference_matches
from twigcast.matching.reference.setting import Budget, BudgetExceededError, Focus, Setting

__all__ = [
    "Atomic",
    "Budget",
    "BudgetExceededError",
    "Definitions",
    "DynamicError",
    "Evaluation",
    "Focus",
    "Item",
    "Node",
    "NodeTree",
    "Sequence",
    "Setting",
    "document_order",
    "effective_boolean",
    "in_document_order",
    "owners",
    "passing",
    "reference_matches",
    "subtree",
    "to_text",
]
