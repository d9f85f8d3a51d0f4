"""The examples of docs/language.md, executed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from folders import DOCS
from match_oracles import Question, libxml2_matches, saxon_tree
from oracle import parse_tree, xpath_matches

from twigcast import Matcher
from twigcast.documents import read_document
from twigcast.errors import SubscriptionError, SubscriptionWarning
from twigcast.language import Residual, Version, parse, walk
from twigcast.language.functions import FUNCTIONS_OF_XPATH
from twigcast.matching import reference_matches

PAGE = (DOCS / "language.md").read_text(encoding="utf-8")


def blocks(kind: str) -> Iterator[str]:
    for block in re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        yield from block.splitlines()


def examples(kind: str) -> list[tuple[str, str, bool]]:
    examples = []
    subscription = ""
    for line in blocks(kind):
        if line.startswith("  "):
            answer, document = line.split(maxsplit=1)
            examples.append((subscription, document, {"yes": True, "no": False}[answer]))
        elif line:
            subscription = line
    return examples


def arrows(kind: str) -> list[tuple[str, str]]:
    lines = ([part.strip() for part in line.split("→")] for line in blocks(kind))
    return [(written, normal) for written, normal in lines]


def check_matchers(question: Question, document: str, expected: bool) -> None:
    pattern = question.pattern
    matcher = Matcher()
    matcher.add("key", pattern)
    assert pattern.matches(document) is expected
    assert matcher.match(document) == (["key"] if expected else [])
    assert reference_matches(pattern, read_document(document)) is expected


@pytest.mark.parametrize(("subscription", "document", "expected"), examples("subscription"))
def test_examples(subscription: str, document: str, expected: bool) -> None:
    question = Question(subscription)
    assert libxml2_matches(question, document) is expected
    assert xpath_matches(parse_tree(document), *question.pattern.to_xpath()) is expected
    check_matchers(question, document, expected)


@pytest.mark.parametrize(
    ("version", "subscription", "document", "expected"),
    [("1.0", *example) for example in examples("subscription-2")]
    + [("2.0", *example) for example in examples("version-2")],
)
def test_examples_of_xpath_2(
    version: Version, subscription: str, document: str, expected: bool
) -> None:
    question = Question(subscription, version=version)
    assert (saxon_tree(document).matches(question) is True) is expected
    check_matchers(question, document, expected)


@pytest.mark.parametrize(("written", "normal"), arrows("normal-form") + arrows("indexed"))
def test_normal_forms(written: str, normal: str) -> None:
    assert str(parse(written)) == normal
    assert str(parse(normal)) == normal


@pytest.mark.parametrize(
    ("expression", "residuals"),
    [(written, []) for written, _ in arrows("indexed")]
    + [(written, [residual]) for written, residual in arrows("residual")],
)
def test_residuals(expression: str, residuals: list[str]) -> None:
    conditions = walk(*parse(expression).alternatives)
    assert [each.text for each in conditions if isinstance(each, Residual)] == residuals


@pytest.mark.parametrize("line", list(blocks("refused")))
def test_refusals(line: str) -> None:
    expression, reason = re.split(r"\s{2,}", line, maxsplit=1)
    with pytest.raises(SubscriptionError) as caught:
        parse(expression)
    assert reason in caught.value.reason


@pytest.mark.parametrize("line", list(blocks("warned")))
def test_warnings(line: str) -> None:
    expression, reason = re.split(r"\s{2,}", line, maxsplit=1)
    with pytest.warns(SubscriptionWarning) as caught:
        parse(expression)
    assert reason in str(caught[0].message)


def test_every_function_is_listed_once() -> None:
    listed = [
        (name, italics == "*")
        for italics, name in re.findall(
            r"(\*?)`([a-zA-Z-]+)\(\)`", "\n".join(_table_of_functions())
        )
    ]
    known = [each for each in FUNCTIONS_OF_XPATH if not each.name.startswith("xs:")]
    assert sorted(listed) == sorted((each.name, not each.is_xpath_1) for each in known)


def _table_of_functions() -> Iterator[str]:
    section = PAGE.partition("\n## Functions\n")[2].partition("\n## ")[0]
    return (line for line in section.splitlines() if line.startswith("|"))


def test_every_type_is_listed_once() -> None:
    section = PAGE.partition("\n### Types and dates\n\n")[2].partition("\n\n")[0]
    known = [each.name for each in FUNCTIONS_OF_XPATH if each.name.startswith("xs:")]
    assert sorted(re.findall(r"`(xs:\w+)`", section)) == sorted(known)


def test_every_block_is_executed() -> None:
    kinds = set(re.findall(r"^```(\S+)", PAGE, re.MULTILINE))
    examples = {"subscription", "subscription-2", "version-2"}
    lines = {"normal-form", "indexed", "residual", "refused", "warned"}
    assert kinds == examples | lines | {"python"}  # test_readme executes the Python
