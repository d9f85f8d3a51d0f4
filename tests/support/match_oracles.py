"""Whether a subscription matches, by those who decide: libxml2 and Saxon.

A :class:`Question` is a subscription as it is written, with all that goes with it.  The oracles
read its expression with relative paths anchored and names expanded, but not lowered, so that the
lowering and the normal form are judged, too.

libxml2 answers for XPath 1.0.  Saxon answers for everything else; an expression without a value (a
dynamic error) does not match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from lxml import etree
from oracle import parse_tree
from value_oracles import saxon_processor, to_xpath_1

from twigcast.language import DEFAULT_LIMITS, Expression, Pattern, parse
from twigcast.language.bindings import (
    RelativeTo,
    Scope,
    Variables,
    Version,
    check_namespaces,
    constants_of,
)
from twigcast.language.grammar import Grammar


@dataclass(frozen=True)
class Question:
    """A subscription: the arguments of ``parse``."""

    text: str
    namespaces: Mapping[str, str] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)
    relative_to: RelativeTo = "anywhere"
    version: Version = "1.0"

    @cached_property
    def pattern(self) -> Pattern:
        return parse(
            self.text,
            self.namespaces,
            variables=self.variables,
            relative_to=self.relative_to,
            version=self.version,
        )

    @cached_property
    def expression(self) -> Expression:
        """What is written, anchored and with names expanded, but not lowered."""
        bindings = Scope(
            check_namespaces(self.namespaces), constants_of(self.variables), self.relative_to
        )
        return Grammar(self.text, bindings, DEFAULT_LIMITS).parse()

    @cached_property
    def by_libxml2(self) -> etree.XPath:
        """The question as libxml2 compiles it; called with a tree, it answers."""
        text, prefixes = to_xpath_1(self.expression)
        # A compiled expression would begin at the root element, and have no position.
        return etree.XPath(f"boolean((/)[boolean({text})])", namespaces=prefixes or None)


def libxml2_matches(question: Question, document: str | bytes) -> bool:
    """The answer of libxml2."""
    answer = question.by_libxml2(parse_tree(document))
    assert isinstance(answer, bool)
    return answer


class SaxonTree:
    """A document as Saxon reads it."""

    def __init__(self, text: str) -> None:
        self._node = saxon_processor().parse_xml(xml_text=text)

    def show_to(self, processor: Any) -> None:
        """Let a processor evaluate at the document node."""
        processor.set_context(xdm_item=self._node)

    def matches(self, question: Question) -> bool | None:
        """The answer of Saxon; None for an expression that has no value."""
        processor = saxon_processor().new_xpath_processor()
        self.show_to(processor)
        processor.set_backwards_compatible(question.version == "1.0")
        try:
            return bool(processor.effective_boolean_value(question.expression.text))
        except Exception:  # of a class that saxonche does not export
            return None


@lru_cache(maxsize=256)
def saxon_tree(document: str) -> SaxonTree:
    """The document as Saxon reads it, kept for more questions."""
    return SaxonTree(document)
