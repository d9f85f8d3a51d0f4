"""Every matcher gives the answer that the conformance files state."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conformance_cases import Case, load_cases
from oracle import parse_tree, xpath_matches

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


@pytest.mark.parametrize("matcher", [by_libxml2, by_reference, by_kernel])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: Case, matcher: Callable[[Pattern, str], bool]) -> None:
    pattern = parse(case.xpath, case.namespaces)
    assert matcher(pattern, case.document) is case.expected


def test_there_are_cases_of_both_answers() -> None:
    assert {case.expected for case in CASES} == {True, False}
    assert len(CASES) > 200
