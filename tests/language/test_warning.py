"""What looks like a mistake in a subscription is a warning, with the position marked."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import twigcast
from twigcast.errors import SubscriptionError, SubscriptionWarning
from twigcast.language import (
    NO_BINDINGS,
    Notices,
    parse,
    read_expression,
    read_subscriptions,
)


def warned(*expressions: str, namespaces: dict[str, str] | None = None) -> list[str]:
    """The reasons of the warnings that parsing the expressions issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for expression in expressions:
            parse(expression, namespaces)
    return [each.message.reason for each in caught if isinstance(each.message, SubscriptionWarning)]


@pytest.mark.parametrize(
    ("expression", "position"),
    [
        ("//a[@d >= '2024-01-01']", 10),
        ("//a['high' < b]", 4),
        ("//a[not(b > 'x')]", 12),
        ("//a | //b[c <= '']", 15),
        ("//a[0]", 3),
        ("//a[position() < 1]/b", 17),
        ("//a[1.5]", 3),
        ("//a[xs:date(@d) > xs:date('2024-01-01')]", 18),
        ("//a[not(@d > current-date())]", 13),
        ("//a[@d gt xs:date('2024-01-01')]", 10),
        ("//a[b eq 5]", 9),
        ("//a[b = 'x' or 'y']", 3),
    ],
)
def test_what_never_holds_is_marked(expression: str, position: int) -> None:
    with pytest.warns(SubscriptionWarning) as caught:
        parse(expression)
    (warning,) = [each.message for each in caught]
    assert isinstance(warning, SubscriptionWarning)
    assert (warning.text, warning.position) == (expression, position)
    marked, caret = str(warning).splitlines()[1:]
    assert marked.strip() == expression
    assert caret.index("^") - 2 == position


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("//a[1 = 2]", "no document matches this expression"),
        ("//a[. = 'x'][. = 'y']", "no document matches this expression"),
        ("//a[b > 5 and not(b > 5)]", "no document matches this expression"),
        ("//a/@b/c", "no document matches this expression"),
        ("false()", "no document matches this expression"),
        ("'x'", "every document matches this expression"),
        ("//a or true()", "every document matches this expression"),
        ("2 < 10", "every document matches this expression"),
    ],
)
def test_what_no_document_decides_is_a_warning(expression: str, reason: str) -> None:
    assert warned(expression) == [reason]


@pytest.mark.parametrize(
    "expression",
    [
        "/",
        "/*",
        "//*",
        "//node()",
        ".",
        "//a[@d >= '7']",
        "//a[@d = '2024-01-01']",
        "//a[1]",
        "/*[not(.)]",
        "//a[contains(b, '')]",
    ],
)
def test_what_may_hold_is_no_warning(expression: str) -> None:
    assert warned(expression) == []


def test_the_warning_stands_at_the_line_of_the_caller() -> None:
    with pytest.warns(SubscriptionWarning) as caught:
        twigcast.Matcher({"k": "//a[b > 'x']"})
    assert [each.filename for each in caught] == [__file__]


def test_a_binding_that_does_nothing_is_a_warning() -> None:
    bound = {"p": "urn:p", "q": "urn:q"}
    assert warned("//p:a", namespaces=bound) == ["the prefix q is bound to urn:q and not used"]
    assert warned("//p:a[@q:b]", namespaces=bound) == []
    assert len(warned("//p:a", namespaces={"p": "urn:p", "": "urn:d"})) == 1
    assert warned("//a", namespaces={"": ""}) == []
    assert warned("//a", namespaces={"xml": "http://www.w3.org/XML/1998/namespace"}) == []


def test_programs_that_read_for_others_are_not_warned() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reading = read_expression("//a[b > 'x']", {"p": "urn:p"})
    assert [each.position for each in reading.warnings] == [8]
    assert reading.prefixes == set()


def test_one_binding_serves_all_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.txt"
    path.write_text("xmlns:p = urn:p\nxmlns:q = urn:q\n//a\n//p:b[c > 'x']\n", encoding="utf-8")
    with pytest.warns(SubscriptionWarning) as caught:
        assert len(list(read_subscriptions(path))) == 2
    never, unused = [str(each.message) for each in caught]
    assert never.startswith(f"{path}, line 4: this comparison never holds")
    assert unused == f"{path}, line 2: the prefix q is bound to urn:q and not used"


def test_a_column_of_namespaces_serves_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.csv"
    cell = '"{""p"": ""urn:p"", ""q"": ""urn:q""}"'
    path.write_text(f"key,xpath,namespaces\n1,//p:a,{cell}\n2,//b,{cell}\n", encoding="utf-8")
    with pytest.warns(SubscriptionWarning) as caught:
        assert len(list(read_subscriptions(path))) == 2
    assert [str(each.message) for each in caught] == [
        f"{path}, line 2: the prefix q is bound to urn:q and not used"
    ]


def test_a_long_file_is_not_a_flood_of_warnings() -> None:
    notices = Notices()
    for number in range(1_000):
        notices.add(read_expression("//a[b > 'x']"), NO_BINDINGS, f"line {number}")
    with pytest.warns(SubscriptionWarning) as caught:
        notices.issue("all.txt")
    assert len(caught) == 11
    assert str(caught[-1].message) == "all.txt: 990 more comparisons like these never hold"


def test_a_prefix_of_a_function_or_a_type_is_used() -> None:
    schema = "http://www.w3.org/2001/XMLSchema"
    functions = "http://www.w3.org/2005/xpath-functions"
    assert warned("//a[x:decimal(b) > 1]", namespaces={"x": schema}) == []
    assert warned("//a[xs:decimal(b) > 1]", namespaces={"xs": schema}) == []
    assert warned("//a[b castable as x:date]", namespaces={"x": schema}) == []
    assert warned("//a[f:exists(b)]", namespaces={"f": functions}) == []
    with pytest.raises(SubscriptionError, match="x is bound to urn:other"):
        parse("//a[x:decimal(b) > 1]", {"x": "urn:other"})
