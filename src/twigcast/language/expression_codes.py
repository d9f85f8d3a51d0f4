"""The codes of expressions in the kernel: its axes, operators and types, by number.

The *code* of an axis or an operator is its index here.  The kernel's header
``base/expression_codes.hpp`` is made from this module and from the table of functions when the
kernel is built; programs, and the index files that hold them, use the codes.

The module imports nothing of Twigcast, so that ``setup.py`` can load it before the kernel exists.
"""

from __future__ import annotations

from typing import Final

AXES: Final = (
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
)

OPERATORS_OF_XPATH: Final = {
    ",": "comma",
    "or": "either",
    "and": "both",
    "=": "equal",
    "!=": "unequal",
    "<": "less",
    "<=": "at_most",
    ">": "greater",
    ">=": "at_least",
    "eq": "value_equal",
    "ne": "value_unequal",
    "lt": "value_less",
    "le": "value_at_most",
    "gt": "value_greater",
    "ge": "value_at_least",
    "is": "same_node",
    "<<": "node_before",
    ">>": "node_after",
    "||": "concatenation",
    "to": "range",
    "+": "plus",
    "-": "minus",
    "*": "times",
    "div": "divide",
    "idiv": "divide_whole",
    "mod": "modulo",
    "|": "unite",
    "intersect": "intersect",
    "except": "subtract",
    "!": "mapping",
}
"""Spelling and name in the kernel.  With one operand, ``-`` is the unary minus."""

BINDINGS: Final = ("some", "every", "for", "let")
TYPED: Final = ("cast as", "castable as", "treat as", "instance of")
OCCURRENCES: Final = ("", "?", "*", "+")

ITEM_TYPES: Final = (
    "item()",
    "node()",
    "document-node()",
    "element()",
    "attribute()",
    "text()",
    "comment()",
    "processing-instruction()",
    "namespace-node()",
    "xs:anyAtomicType",
)
"""The types of ``treat as`` and ``instance of`` that no function constructs."""


def code_name(name: str) -> str:
    """How the kernel spells the name of an axis, a function or a type."""
    plain = name.removesuffix("()").replace("-", "_").replace(":", "_")
    return plain + "_" if plain in ("true", "false", "not", "namespace") else plain
