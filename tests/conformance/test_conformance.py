"""Every matcher gives the answer that the conformance files state."""

from __future__ import annotations

import pytest
from conformance_cases import Case, load_cases
from matcher_answers import answer, as_set, fill, one_by_one
from oracle import parse_tree, xpath_matches

from twigcast import Matcher
from twigcast.documents import read_document
from twigcast.language import parse
from twigcast.matching import reference_matches

CASES = list(load_cases())
BY_QUESTION: dict[str, list[Case]] = {}
for one in CASES:
    BY_QUESTION.setdefault(one.name, []).append(one)


def by_oracle(case: Case) -> bool:
    return case.ask_oracle()


def by_reference(case: Case) -> bool:
    return reference_matches(case.question.pattern, read_document(case.document))


def by_kernel(case: Case) -> bool:
    return case.question.pattern.matches(case.document.encode())


def by_matcher(case: Case) -> bool:
    matcher = Matcher()
    matcher.add("key", case.question.pattern)
    return matcher.match(case.document) == ["key"]


def by_matcher_with_expat(case: Case) -> bool:
    matcher = Matcher({"key": case.question.pattern}, reader="expat")
    return matcher.match(case.document) == ["key"]


def by_normal_form(case: Case) -> bool:
    """libxml2 on the normal form, where that is XPath 1.0."""
    if case.by_saxon:
        return case.expected
    return xpath_matches(parse_tree(case.document), *case.question.pattern.to_xpath())


MATCHERS = (
    by_oracle,
    by_reference,
    by_kernel,
    by_matcher,
    by_matcher_with_expat,
    by_normal_form,
)


@pytest.mark.parametrize("cases", BY_QUESTION.values(), ids=BY_QUESTION)
def test_conformance(cases: list[Case]) -> None:
    for case in cases:
        answers = {matcher.__name__: matcher(case) for matcher in MATCHERS}
        assert answers == dict.fromkeys(answers, case.expected), case.document


@pytest.mark.parametrize("cases", BY_QUESTION.values(), ids=BY_QUESTION)
def test_the_normal_form_parses_back(cases: list[Case]) -> None:
    pattern = cases[0].question.pattern
    assert parse(str(pattern)) == pattern


@pytest.mark.parametrize("cache_bytes", [256 * 2**20, 2_000, 0])
def test_conformance_of_all_subscriptions_at_once(cache_bytes: int) -> None:
    patterns = {repr(case.question): case.question.pattern for case in CASES}
    matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
    documents = list(dict.fromkeys(case.document for case in CASES))
    batch = matcher.match_batch(documents)
    assert batch.errors == {}
    answers = {}
    for number, document in enumerate(documents):
        answers[document] = answer(matcher, document)
        assert answers[document] == as_set(batch[number]) == one_by_one(patterns, document)
    for case in CASES:
        assert (repr(case.question) in answers[case.document]) is case.expected, case.name


def test_there_are_cases_of_both_answers() -> None:
    for by_saxon in (False, True):
        cases = [case for case in CASES if case.by_saxon is by_saxon]
        assert {case.expected for case in cases} == {True, False}
        assert len(cases) > 150
