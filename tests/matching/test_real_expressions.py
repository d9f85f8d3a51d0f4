"""Expressions of real programs: taken, and answered on real documents as the oracles answer.

libxml2 decides on XPath 1.0, Saxon on the rest.  ``make nightly`` asks about all documents.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from match_oracles import Question, SaxonTree
from matcher_answers import answer, fill, one_by_one
from real_expressions import (
    SMALL,
    documents_of,
    is_xpath_1,
    is_xpath_2,
    libxml2_answers,
    needs_a_program_around,
    read_corpus,
    refusal,
    saxon_answers,
)

from twigcast import Matcher
from twigcast.language import Version, parse

TAKEN_1 = {
    "camel": 121,
    "docbook-xslt-match": 1439,
    "fhir": 1358,
    "jats-xslt-match": 415,
    "libxml2": 314,
    "schematron-business": 2813,
}
"""How many expressions of a corpus are XPath 1.0 and need no program around them: all are taken."""

TAKEN_2 = {"camel": 4, "fhir": 89, "jats-xslt-match": 7, "schematron-business": 337}
"""How many more are taken, of those that Saxon reads."""

QUICK = 2
"""Documents of each folder for ``make test``."""

Amount = pytest.mark.parametrize(
    "most", [QUICK, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"]
)


@cache
def of_xpath_1(shared_data: Path, corpus: str) -> tuple[list[Question], dict[str, str]]:
    """The expressions that are taken, and why others are not."""
    questions = list(filter(is_xpath_1, read_corpus(shared_data, corpus)))
    return split(questions)


@cache
def of_xpath_2(
    shared_data: Path, corpus: str, version: Version
) -> tuple[list[Question], dict[str, str]]:
    """The same for expressions that are not XPath 1.0, and need no program around them."""
    small = SaxonTree(SMALL[0])
    questions = read_corpus(shared_data, corpus, version)
    return split([one for one in questions if not is_xpath_1(one) and is_xpath_2(one, small)])


def split(questions: list[Question]) -> tuple[list[Question], dict[str, str]]:
    reasons = [refusal(question) for question in questions]
    taken = [one for one, reason in zip(questions, reasons, strict=True) if reason is None]
    refused = {
        question.text: reason
        for question, reason in zip(questions, reasons, strict=True)
        if reason is not None and not needs_a_program_around(reason)
    }
    return taken, refused


def check_answers(
    questions: list[Question],
    documents: list[bytes],
    ask: Callable[[list[Question], bytes], dict[str, bool]],
) -> int:
    """All at once and one by one they answer as the oracle; the number of pairs."""
    patterns = {str(number): question.pattern for number, question in enumerate(questions)}
    matcher = fill(Matcher(), patterns)
    pairs = 0
    for document in documents:
        expected = ask(questions, document)
        matches = {key for key, is_match in expected.items() if is_match}
        assert answer(matcher, document) & expected.keys() == matches
        assert one_by_one(patterns, document) & expected.keys() == matches
        pairs += len(expected)
    return pairs


@pytest.mark.parametrize("corpus", TAKEN_1)
def test_all_expressions_of_xpath_1_are_taken(shared_data: Path, corpus: str) -> None:
    taken, refused = of_xpath_1(shared_data, corpus)
    assert refused == {}
    assert len(taken) == TAKEN_1[corpus]


@pytest.mark.parametrize("corpus", TAKEN_2)
def test_nearly_all_others_are_taken(shared_data: Path, corpus: str) -> None:
    taken, refused = of_xpath_2(shared_data, corpus, "2.0")
    assert len(taken) == TAKEN_2[corpus]
    assert len(taken) >= 0.8 * (len(taken) + len(refused))


@pytest.mark.parametrize("corpus", TAKEN_1)
def test_normal_forms_parse_back(shared_data: Path, corpus: str) -> None:
    questions = list(of_xpath_1(shared_data, corpus)[0])
    for version in ("1.0", "2.0") if corpus in TAKEN_2 else ():
        questions += of_xpath_2(shared_data, corpus, version)[0]
    for question in questions:
        assert parse(str(question.pattern)) == question.pattern, question.text


@Amount
@pytest.mark.parametrize("corpus", TAKEN_1)
def test_libxml2_answers_the_same(shared_data: Path, corpus: str, most: int | None) -> None:
    questions, _ = of_xpath_1(shared_data, corpus)
    documents = list(documents_of(shared_data, most))
    pairs = check_answers(questions, documents, libxml2_answers)
    assert pairs == len(questions) * len(documents)


@Amount
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("corpus", TAKEN_2)
def test_saxon_answers_the_same(
    shared_data: Path, corpus: str, version: Version, most: int | None
) -> None:
    questions, _ = of_xpath_2(shared_data, corpus, version)
    check_answers(questions, list(documents_of(shared_data, most)), saxon_answers)
