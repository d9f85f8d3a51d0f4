"""The subscription language: XPath text in, immutable pattern trees in normal form out.

    text ──tokens──► tokens ──descent──► normal form of a tree ──► Pattern ──str()──► text
      │            (normal, implication: equivalent spellings meet)   ▲
      └──linear──► normal form of a path, as text ────────────────────┘

:func:`parse` reads an expression by recursive descent and builds the tree bottom-up through the
functions of ``normal``, so no tree outside the normal form ever exists; for a path of names and
``*`` alone it works on the text, and the tree is built when asked for.  A :class:`Pattern` is a
union of branches from the document node; each :class:`Step` of a branch carries the axis of the
edge to it and the conditions at it (``nodes`` draws this).  Whether a step stood on the path that
XPath selects along or in a predicate makes no difference to whether a document matches, so the
tree does not keep it.

Invariants: ``parse(str(p)) == p``; equal patterns match the same documents; evaluation of
``to_xpath()`` by libxml2 agrees with every matcher.  Cost: linear in the text, plus the product of
the sizes of sibling conditions for finding implied ones; bounded by :class:`LanguageLimits`.

The language itself is specified in ``docs/language.md``.
"""

from __future__ import annotations

from twigcast.language.implication import (
    implies,
    passes,
    position_implies,
    value_implies,
)
from twigcast.language.limits import DEFAULT_LIMITS, LanguageLimits
from twigcast.language.linear import linear_normal_form
from twigcast.language.nodes import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Kind,
    Negation,
    NodeTest,
    Position,
    Step,
    ValueTest,
    name_text,
    node_test,
)
from twigcast.language.normal import branch, value_test
from twigcast.language.numbers import number_text, to_number
from twigcast.language.operators import NUMBER_OPERATORS, Anchor
from twigcast.language.parser import (
    XML_NAMESPACE,
    Reading,
    as_pattern,
    check_namespaces,
    parse,
    read_expression,
    warn_of,
)
from twigcast.language.pattern import Pattern, require_pattern, restore_pattern
from twigcast.language.relaxed import decided_by_paths, relaxed
from twigcast.language.subscription_file import (
    OnBad,
    Subscription,
    read_binding,
    read_subscriptions,
    subscriptions_of_lines,
    subscriptions_of_rows,
)
from twigcast.language.tokens import NAME
from twigcast.language.visiting import Fold, Question, Rewrite, parts, walk, walk_within
from twigcast.language.warning import Notices

__all__ = [
    "DEFAULT_LIMITS",
    "NAME",
    "NUMBER_OPERATORS",
    "XML_NAMESPACE",
    "Anchor",
    "Axis",
    "Both",
    "Condition",
    "Either",
    "FirstNode",
    "Fold",
    "Kind",
    "LanguageLimits",
    "Negation",
    "NodeTest",
    "Notices",
    "OnBad",
    "Pattern",
    "Position",
    "Question",
    "Reading",
    "Rewrite",
    "Step",
    "Subscription",
    "ValueTest",
    "as_pattern",
    "branch",
    "check_namespaces",
    "decided_by_paths",
    "implies",
    "linear_normal_form",
    "name_text",
    "node_test",
    "number_text",
    "parse",
    "parts",
    "passes",
    "position_implies",
    "read_binding",
    "read_expression",
    "read_subscriptions",
    "relaxed",
    "require_pattern",
    "restore_pattern",
    "subscriptions_of_lines",
    "subscriptions_of_rows",
    "to_number",
    "value_implies",
    "value_test",
    "walk",
    "walk_within",
    "warn_of",
]
