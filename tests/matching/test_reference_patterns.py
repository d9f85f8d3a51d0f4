"""The reference on patterns: what the parser makes of an expression means what libxml2 says."""

from __future__ import annotations

import pytest
from expression_strategies import expressions_1, rich_documents
from expression_texts import DOCUMENTS, load_expressions, read_expression
from hypothesis import given
from lxml import etree
from oracle import parse_tree
from value_oracles import to_xpath_1

from twigcast.documents import read_document
from twigcast.language import Expression, parse
from twigcast.matching import reference_matches

READ = [(parse_tree(text), read_document(text)) for text in DOCUMENTS]


def matches_by_libxml2(tree: etree._ElementTree, expression: Expression, around: str) -> bool:
    text, prefixes = to_xpath_1(expression)
    return bool(tree.xpath(f"boolean({around.format(text)})", namespaces=prefixes or None))


@pytest.mark.parametrize("text", list(load_expressions("expressions_1.txt")))
def test_cases(text: str) -> None:
    expression = read_expression(text)
    for around in ("//*[{}]", "//*[boolean({})]", "//*[not({})]"):
        pattern = parse(around.format(expression.text))
        for tree, document in READ:
            expected = matches_by_libxml2(tree, expression, around)
            assert reference_matches(pattern, document) is expected


@given(expressions_1(2), rich_documents())
def test_any_expression(expression: Expression, text: str) -> None:
    tree, document = parse_tree(text), read_document(text)
    for around in ("//*[{}]", "//*[not({})]"):
        pattern = parse(around.format(expression.text))
        expected = matches_by_libxml2(tree, expression, around)
        assert reference_matches(pattern, document) is expected


GOOD = '<r><a d="2024-01-01"/></r>'
BAD = '<r><a d="today"/></r>'
BOTH = '<r><a d="today"/><a d="2024-01-01" b=""/></r>'


@pytest.mark.parametrize(
    ("xpath", "document", "expected"),
    [
        ("//a[xs:date(@d) gt xs:date('2000-01-01')]", GOOD, True),
        ("//a[xs:date(@d) gt xs:date('2000-01-01')]", BAD, False),
        ("//a[not(xs:date(@d) gt xs:date('2000-01-01'))]", BAD, False),
        ("not(//a[xs:date(@d) gt xs:date('2000-01-01')])", BAD, False),
        ("//a[xs:date(@d) gt xs:date('2000-01-01') or @d]", BAD, True),
        ("//a[xs:date(@d) gt xs:date('2000-01-01') and @x]", BAD, False),
        ("//a[xs:date(@d) gt xs:date('2000-01-01')]", BOTH, True),
        ("//a[@b][not(xs:date(@d) gt xs:date('2000-01-01'))]", BOTH, False),
        ("not(//a[@x][xs:date(@d) gt xs:date('2000-01-01')])", BOTH, True),
        ("//a[xs:date(@d) gt xs:date('2000-01-01')] | //r", BAD, True),
    ],
)
def test_an_error_counts_where_nothing_else_decides(
    xpath: str, document: str, expected: bool
) -> None:
    assert reference_matches(parse(xpath, version="2.0"), read_document(document)) is expected
