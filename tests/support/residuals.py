"""Expressions asked of the kernel directly, and of the oracles: libxml2 and Saxon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lxml import etree

from twigcast.language.bindings import Scope
from twigcast.language.grammar import Grammar
from twigcast.language.limits import LanguageLimits
from twigcast.matching import CompactDocument, CompiledPattern
from twigcast.matching.expression_program import ExpressionCompiler, KindAndName
from twigcast.matching.program import Instruction, Operation, Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twigcast.language.expressions import Expression

LIMITS = LanguageLimits(depth=200, length=1_000_000)
NAMESPACES: Mapping[str, str] = {
    "p": "urn:p",
    "q": "urn:q",
    "xml": "http://www.w3.org/XML/1998/namespace",
}


def read(text: str) -> Expression:
    """The expression, whose relative paths begin at the document node."""
    return Grammar(text, Scope(NAMESPACES, {}, "document"), LIMITS).parse()


def compiled(expression: Expression | str, is_version_2: bool = False) -> CompiledPattern:
    """A program that asks the expression at the document node, and nothing else."""
    if isinstance(expression, str):
        expression = read(expression)
    tests: dict[KindAndName, int] = {}
    compiler = ExpressionCompiler(tests)
    number = compiler.add(expression)
    ask = Instruction(Operation.RESIDUAL, expression=number, is_version_2=is_version_2)
    return CompiledPattern(Program(tuple(tests), (ask,), (0,), tuple(compiler.parts)))


def holds(text: str, document: CompactDocument | str, is_version_2: bool = False) -> bool:
    """Whether the expression is true at the document node."""
    if isinstance(document, str):
        document = CompactDocument(document)
    return document.matches(compiled(text, is_version_2))


def reason(text: str, document: str, is_version_2: bool = False) -> str:
    """Why the expression has no value."""
    return CompactDocument(document).decide(compiled(text, is_version_2))[1]


def quoted(text: str) -> str:
    """A text as an expression of XPath 1.0."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    pieces = text.split("'")
    return "concat('" + "', \"'\", '".join(pieces) + "')"


class Libxml2:
    """A document as libxml2 sees it."""

    def __init__(self, document: str) -> None:
        self.tree = etree.fromstring(document.encode()).getroottree()

    def value(self, text: str) -> Any:
        return self.tree.xpath(text, namespaces=dict(NAMESPACES))

    def string(self, text: str) -> str:
        return str(self.value(f"string({text})"))
