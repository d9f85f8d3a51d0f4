"""Expressions that are written down as text, and documents on which to evaluate them."""

from __future__ import annotations

from collections.abc import Iterator

from folders import ROOT

from twigcast.language import DEFAULT_LIMITS, XML_NAMESPACE, Expression
from twigcast.language.bindings import Scope
from twigcast.language.expressions import Filter
from twigcast.language.grammar import Grammar

NAMESPACES = {"p": "urn:p", "q": "urn:q"}

DOCUMENTS = (
    (
        '<!--top--><a x="1" ref="k2 k1" xmlns:p="urn:p" xmlns:q="urn:q" xml:lang="en-GB">'
        '<b xml:id="k1" x="1">1</b> <b x="2" y="z">15</b><?pi da ta?>'
        '<c xmlns="urn:p" xml:id="k2">1<!--ab--><d p:x="7"/>x</c>'
        '<p:a q:y="1"><b>ab<b x="-3">2</b></b><c xml:lang="de"> 2 </c></p:a></a><?end?>'
    ),
    "<a><b>1</b><b>2.0</b><c>2</c></a>",
    "<a><a><b x='1'/><a><b x='1'/><c x='2'>a b</c></a></a><b>1e1</b><c/></a>",
)


def load_expressions(name: str) -> Iterator[str]:
    """The expressions of a file of ``tests/conformance``."""
    path = ROOT / "tests" / "conformance" / name
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def read_expression(text: str) -> Expression:
    """The expression of a text, whose relative paths start at the context node."""
    bindings = Scope({"xml": XML_NAMESPACE, **NAMESPACES})
    whole = Grammar(f"(/)[{text}]", bindings, DEFAULT_LIMITS).parse()
    assert isinstance(whole, Filter)
    return whole.predicates[0]
