"""Random expressions of the whole grammar: normal forms parse back, and the lowering is exact."""

from __future__ import annotations

from expression_strategies import expressions_1, expressions_2, rich_documents
from hypothesis import assume, given
from hypothesis import strategies as st
from match_oracles import Question
from oracle import parse_tree, xpath_matches

from twigcast import Matcher
from twigcast.documents import read_document
from twigcast.errors import SubscriptionError
from twigcast.language import Expression, Version, parse
from twigcast.matching import reference_matches

VERSIONS: st.SearchStrategy[Version] = st.sampled_from(("1.0", "2.0"))


def require_round_trip(question: Question) -> None:
    again = parse(str(question.pattern))
    assert again == question.pattern
    assert str(again) == str(question.pattern)


@given(expressions_1(), VERSIONS)
def test_normal_forms_of_xpath_1_parse_back(expression: Expression, version: Version) -> None:
    require_round_trip(Question(expression.text, version=version))


@given(expressions_2(depth=3), VERSIONS)
def test_normal_forms_of_xpath_2_parse_back(expression: Expression, version: Version) -> None:
    question = Question(expression.text, version=version)
    assume(_is_taken(question))
    require_round_trip(question)


@given(expressions_1(), rich_documents())
def test_the_lowering_is_exact(expression: Expression, document: str) -> None:
    question = Question(expression.text)
    tree = parse_tree(document)
    expected = question.by_libxml2(tree)
    pattern = question.pattern
    matcher = Matcher()
    matcher.add("key", pattern)
    assert pattern.matches(document) is expected, str(pattern)
    assert matcher.match(document) == (["key"] if expected else []), str(pattern)
    assert reference_matches(pattern, read_document(document)) is expected, str(pattern)
    assert xpath_matches(tree, *pattern.to_xpath()) is expected, str(pattern)


def _is_taken(question: Question) -> bool:
    try:
        question.pattern  # noqa: B018  # it is made here
    except SubscriptionError as error:
        if "regular expression" not in error.reason:
            raise
        return False
    return True
