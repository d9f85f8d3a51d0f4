"""Every matcher gives the answer that the conformance files state."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conformance_cases import Case, load_cases
from matcher_answers import answer, as_set, fill, one_by_one
from oracle import parse_tree, xpath_matches

from twigcast import Matcher
from twigcast.documents import read_document
from twigcast.language import Pattern, parse
from twigcast.matching import reference_matches

CASES = list(load_cases())


def by_libxml2(pattern: Pattern, document: str) -> bool:
    return xpath_matches(parse_tree(document), *pattern.to_xpath())


def by_reference(pattern: Pattern, document: str) -> bool:
    return reference_matches(pattern, read_document(document))


def by_kernel(pattern: Pattern, document: str) -> bool:
    return pattern.matches(document.encode())


def by_matcher(pattern: Pattern, document: str) -> bool:
    matcher = Matcher()
    matcher.add("key", pattern)
    return matcher.match(document) == ["key"]


@pytest.mark.parametrize("matcher", [by_libxml2, by_reference, by_kernel, by_matcher])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: Case, matcher: Callable[[Pattern, str], bool]) -> None:
    pattern = parse(case.xpath, case.namespaces)
    assert matcher(pattern, case.document) is case.expected


@pytest.mark.parametrize("cache_bytes", [256 * 2**20, 2_000, 0])
def test_conformance_of_all_subscriptions_at_once(cache_bytes: int) -> None:
    patterns = {
        f"{case.xpath} {case.namespaces}": parse(case.xpath, case.namespaces) for case in CASES
    }
    matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
    batch = matcher.match_batch([case.document for case in CASES])
    assert batch.errors == {}
    for number, case in enumerate(CASES):
        keys = answer(matcher, case.document)
        assert (f"{case.xpath} {case.namespaces}" in keys) is case.expected, case.name
        assert keys == as_set(batch[number]) == one_by_one(patterns, case.document), case.name


def test_there_are_cases_of_both_answers() -> None:
    assert {case.expected for case in CASES} == {True, False}
    assert len(CASES) > 200
