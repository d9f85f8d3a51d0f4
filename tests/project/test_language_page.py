"""The examples of docs/language.md, executed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from folders import DOCS
from oracle import anchored, parse_tree, xpath_matches

from twigcast.documents import read_document
from twigcast.errors import SubscriptionError, SubscriptionWarning
from twigcast.language import parse
from twigcast.matching import reference_matches

PAGE = (DOCS / "language.md").read_text(encoding="utf-8")


def blocks(kind: str) -> Iterator[str]:
    for block in re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        yield from block.splitlines()


def examples() -> Iterator[tuple[str, str, bool]]:
    subscription = ""
    for line in blocks("subscription"):
        if line.startswith("  "):
            answer, document = line.split(maxsplit=1)
            yield subscription, document, {"yes": True, "no": False}[answer]
        elif line:
            subscription = line


@pytest.mark.parametrize(("subscription", "document", "expected"), list(examples()))
def test_examples(subscription: str, document: str, expected: bool) -> None:
    pattern = parse(subscription)
    assert pattern.matches(document) is expected
    assert reference_matches(pattern, read_document(document)) is expected
    assert xpath_matches(parse_tree(document), *pattern.to_xpath()) is expected
    if "Q{" not in subscription and "*:" not in subscription:
        assert xpath_matches(parse_tree(document), anchored(subscription)) is expected


@pytest.mark.parametrize("line", list(blocks("normal-form")))
def test_normal_forms(line: str) -> None:
    written, normal = (part.strip() for part in line.split("→"))
    assert str(parse(written)) == normal
    assert str(parse(normal)) == normal


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


def test_every_block_is_executed() -> None:
    kinds = set(re.findall(r"^```(\S+)", PAGE, re.MULTILINE))
    # test_readme executes the Python.
    assert kinds == {"subscription", "normal-form", "refused", "warned", "python"}
