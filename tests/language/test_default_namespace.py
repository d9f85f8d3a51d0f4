"""An empty prefix binds the namespace of element names that have no prefix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twigcast import Matcher
from twigcast.language import parse, read_subscriptions

CAP = {"": "urn:cap"}


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("//info", "//Q{urn:cap}info"),
        ("alert/info[area]", "//Q{urn:cap}alert/Q{urn:cap}info/Q{urn:cap}area"),
        ("//info[@id='7']", '//Q{urn:cap}info[@id="7"]'),
        ("//info[contains(area, 'x')]", '//Q{urn:cap}info[contains(Q{urn:cap}area,"x")]'),
        ("//*/info", "/*//Q{urn:cap}info"),
        ("//*:info", "//*:info"),
        ("//Q{}info", "//info"),
        ("//Q{urn:x}info", "//Q{urn:x}info"),
        ("//info/text()", "//Q{urn:cap}info/text()"),
    ],
)
def test_element_names_have_it_and_nothing_else(written: str, normal: str) -> None:
    pattern = parse(written, CAP)
    assert str(pattern) == normal
    assert parse(str(pattern)) == pattern


def test_it_is_beside_prefixes() -> None:
    pattern = parse("//p:a/b", {"": "urn:d", "p": "urn:p"})
    assert pattern == parse("//Q{urn:p}a/Q{urn:d}b")


def test_an_empty_one_is_none() -> None:
    assert parse("//a/b", {"": ""}) == parse("//a/b")


def test_it_must_be_a_namespace() -> None:
    with pytest.raises(ValueError, match="the default namespace must not have braces"):
        parse("//a", {"": "urn:{x}"})
    with pytest.raises(TypeError, match="the default namespace is a str, not int"):
        parse("//a", {"": 7})  # type: ignore[dict-item]


def test_a_long_expression_keeps_names_without_namespace() -> None:
    deep = "/".join(f"Q{{}}a{number}" for number in range(60)) + "/b"
    names = [step.test.namespace for step in parse(deep, CAP).steps()]
    assert names == [""] * 60 + ["urn:cap"]


def test_a_text_binds_it_for_the_lines_below(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.txt"
    path.write_text('//a\nxmlns = urn:d\n//a\nxmlns = ""\n//a\n', encoding="utf-8")
    patterns = [each.pattern for each in read_subscriptions(path)]
    assert patterns == [parse("//a"), parse("//Q{urn:d}a"), parse("//a")]


def test_a_table_binds_it_for_its_row(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.csv"
    path.write_text('key,xpath,namespaces\n1,//a,"{"""": ""urn:d""}"\n2,//a,\n', encoding="utf-8")
    assert [each.pattern for each in read_subscriptions(path)] == [
        parse("//Q{urn:d}a"),
        parse("//a"),
    ]


def test_a_matcher_has_it_for_all_expressions() -> None:
    matcher = Matcher({"bulk": "//info"}, namespaces=CAP)
    matcher.add("one", "//info[p:x]", {"p": "urn:p"})
    assert matcher["bulk"] == parse("//Q{urn:cap}info")
    assert matcher["one"] == parse("//Q{urn:cap}info/Q{urn:p}x")
    assert matcher.match("<info xmlns='urn:cap'/>") == ["bulk"]


@pytest.mark.parametrize(
    "take", [lambda bound: parse("//a", bound), lambda bound: Matcher(namespaces=bound)]
)
@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        ({None: "urn:d"}, r'a prefix is a str, not NoneType; .* \{"": uri\}'),
        ({5: "urn:d"}, "a prefix is a str, not int"),
        ({"a b": "urn:d"}, "'a b' is no prefix"),
        ({"a:b": "urn:d"}, "without a colon"),
    ],
)
def test_what_is_no_prefix_is_refused(
    take: Callable[[Any], object], bound: dict[Any, str], reason: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        take(bound)
