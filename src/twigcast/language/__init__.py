"""The subscription language: XPath text in, immutable patterns in normal form out.

    text ──grammar──► Expression ──lowering──► Condition ──► Pattern ──str()──► text
      │                              └► Residual: what no pattern tree says  ▲
      └──linear──► normal form of a path, as text ───────────────────────────┘

:func:`parse` reads any text of XPath into an expression (``grammar``), with names expanded,
variables replaced and relative paths anchored.  ``lowering`` turns as much of it as possible into
conditions, through the functions of ``normal``, so no condition outside the normal form ever
exists.  What no condition says stays an expression, in a :class:`Residual`.  For a path of names
and ``*`` alone :func:`parse` works on the text, and the tree is built when asked for.
:func:`read_normal_form` reads texts that brokers send each other; it builds most trees without the
grammar (``plain``).

A :class:`Pattern` is a union of conditions at the document node; each :class:`Step` of a condition
carries the axis of the edge to it and the conditions at it (``nodes`` draws this).  Whether a step
stood on the path that XPath selects along or in a predicate makes no difference to whether a
document matches, so the tree does not keep it.

Invariants: ``parse(str(p)) == p``; equal patterns match the same documents; evaluation of
``to_xpath()`` by libxml2 agrees with every matcher.  Cost: linear in the text, plus the product of
the sizes of sibling conditions for finding implied ones; bounded by :class:`LanguageLimits`.

The language itself is specified in ``docs/language.md``.
"""

from __future__ import annotations

from twigcast.language.analysis import is_of_name
from twigcast.language.beginnings import beginnings
from twigcast.language.binding_texts import (
    BINDING_COLUMNS,
    BINDING_LINE,
    bind_line,
    bindings_of_row,
    bindings_of_texts,
)
from twigcast.language.bindings import (
    NO_BINDINGS,
    XML_NAMESPACE,
    BindingKeywords,
    Bindings,
    RelativeTo,
    Value,
    Variables,
    Version,
)
from twigcast.language.expression_codes import (
    AXES,
    BINDINGS,
    ITEM_TYPES,
    OCCURRENCES,
    OPERATORS_OF_XPATH,
    TYPED,
)
from twigcast.language.expressions import (
    CONTEXT,
    EMPTY,
    GENERAL_COMPARISONS,
    REVERSE_AXES,
    ROOT,
    VALUE_COMPARISONS,
    Along,
    AxisName,
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
    walk_expression,
)
from twigcast.language.expressions import parts as parts_of_expression
from twigcast.language.functions import BY_NAME as FUNCTIONS_BY_NAME
from twigcast.language.functions import CODES, REGULAR
from twigcast.language.functions import TYPES as ATOMIC_TYPES
from twigcast.language.implication import implies, position_implies
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
    Residual,
    Step,
    ValueTest,
    document_text,
    may_fail,
    name_text,
    node_test,
)
from twigcast.language.normal import branch, value_test
from twigcast.language.numbers import number_text, to_number
from twigcast.language.operators import NUMBER_OPERATORS, Anchor
from twigcast.language.parser import (
    Reading,
    as_pattern,
    parse,
    parse_all,
    read_bound,
    read_expression,
    read_normal_form,
)
from twigcast.language.pattern import Pattern, require_pattern, restore_pattern
from twigcast.language.regular import compile_regular
from twigcast.language.relaxed import decided_by_paths, relaxed
from twigcast.language.subscription_file import (
    SUBSCRIPTION_COLUMNS,
    OnBad,
    Subscription,
    read_subscriptions,
    subscriptions_of_lines,
    subscriptions_of_rows,
)
from twigcast.language.tokens import NAME
from twigcast.language.value_consequences import with_consequences
from twigcast.language.value_implication import passes, value_implies
from twigcast.language.visiting import Fold, Question, Rewrite, parts, walk, walk_within
from twigcast.language.warning import Notices

__all__ = [
    "ATOMIC_TYPES",
    "AXES",
    "BINDINGS",
    "BINDING_COLUMNS",
    "BINDING_LINE",
    "CODES",
    "CONTEXT",
    "DEFAULT_LIMITS",
    "EMPTY",
    "FUNCTIONS_BY_NAME",
    "GENERAL_COMPARISONS",
    "ITEM_TYPES",
    "NAME",
    "NO_BINDINGS",
    "NUMBER_OPERATORS",
    "OCCURRENCES",
    "OPERATORS_OF_XPATH",
    "REGULAR",
    "REVERSE_AXES",
    "ROOT",
    "SUBSCRIPTION_COLUMNS",
    "TYPED",
    "VALUE_COMPARISONS",
    "XML_NAMESPACE",
    "Along",
    "Anchor",
    "Axis",
    "AxisName",
    "Binding",
    "BindingKeywords",
    "Bindings",
    "Both",
    "Call",
    "Condition",
    "Conditional",
    "Constant",
    "ContextItem",
    "Either",
    "Expression",
    "Filter",
    "FirstNode",
    "Fold",
    "Kind",
    "LanguageLimits",
    "Negation",
    "NodeTest",
    "Notices",
    "OnBad",
    "Operation",
    "Path",
    "Pattern",
    "Position",
    "Question",
    "Reading",
    "RelativeTo",
    "Residual",
    "Rewrite",
    "Root",
    "Step",
    "Subscription",
    "Typed",
    "Value",
    "ValueTest",
    "Variable",
    "Variables",
    "Version",
    "as_pattern",
    "beginnings",
    "bind_line",
    "bindings_of_row",
    "bindings_of_texts",
    "branch",
    "compile_regular",
    "decided_by_paths",
    "document_text",
    "implies",
    "is_of_name",
    "linear_normal_form",
    "may_fail",
    "name_text",
    "node_test",
    "number_text",
    "parse",
    "parse_all",
    "parts",
    "parts_of_expression",
    "passes",
    "position_implies",
    "read_bound",
    "read_expression",
    "read_normal_form",
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
    "walk_expression",
    "walk_within",
    "with_consequences",
]
