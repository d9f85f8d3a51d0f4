"""What an expression is read with: as values, as texts, in files and in tables."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import twigcast
from twigcast import CoverIndex, CoveringTable, Matcher, SubscriptionTree
from twigcast.errors import SubscriptionError, SubscriptionFileError, SubscriptionWarning
from twigcast.language import (
    NO_BINDINGS,
    Bindings,
    LanguageLimits,
    Value,
    bind_line,
    bindings_of_row,
    bindings_of_texts,
    parse,
    parse_all,
    read_bound,
    read_expression,
    read_subscriptions,
)

# --- lines and texts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "bindings"),
    [
        ("xmlns:p = urn:p", Bindings({"p": "urn:p"})),
        ("xmlns:p='urn:p'", Bindings({"p": "urn:p"})),
        ("xmlns\t=\turn:d", Bindings({"": "urn:d"})),
        ('xmlns = ""', Bindings({"": ""})),
        ("$limit = 5", Bindings(variables={"limit": 5})),
        ("  $limit=-0.50  ", Bindings(variables={"limit": Decimal("-0.50")})),
        ("$p:limit = 1e3", Bindings(variables={"p:limit": 1000.0})),
        ("$open = true", Bindings(variables={"open": True})),
        ('$name = "5 = a"', Bindings(variables={"name": "5 = a"})),
        ('$kinds = ["A", 7]', Bindings(variables={"kinds": ["A", 7]})),
        ("$none = []", Bindings(variables={"none": []})),
        ("relative-to = document", Bindings(relative_to="document")),
        ('relative-to="anywhere"', NO_BINDINGS),
        ("version = 2.0", Bindings(version="2.0")),
        ("version = '1.0'", NO_BINDINGS),
    ],
)
def test_a_line_that_binds(line: str, bindings: Bindings) -> None:
    assert bind_line(NO_BINDINGS, line) == bindings


@pytest.mark.parametrize(
    "line",
    [
        "key\t$limit = 5",
        "version\tversion = 2.0",
        "\tversion = 2.0",
        "version = 2.0 or a",
        "version != 2.0",
        "versions = 2.0",
        "relative-to[. = 'document']",
        "$limit != 5",
        "$limit/a",
        "xmlns",
        "//a[$limit = 5]",
    ],
)
def test_every_other_line_is_a_subscription(line: str) -> None:
    assert bind_line(NO_BINDINGS, line) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("$symbol = GHI", r"'GHI' is no value of \$symbol; .* a text in double quotes"),
        ("$symbol = 'GHI'", "a text in double quotes"),
        ("$limit =", "is no value"),
        ("$limit = NaN", "is no value"),
        ("$limit = null", "is no value"),
        ('$limit = {"a": 1}', "is no value"),
        ("$limit = [[1]]", "is no value"),
        ("$limit = //a/b", "an expression needs a key and a tab before it"),
        ("version = 3.1", "version is 1.0 or 2.0, not 3.1; an expression needs a key and a tab"),
        ("relative-to = root", "relative-to is anywhere or document, not root"),
        ("xmlns:xml = urn:x", "belong together"),
    ],
)
def test_a_line_that_binds_to_something_else_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        bind_line(NO_BINDINGS, line)


def test_texts_of_options_and_messages() -> None:
    assert bindings_of_texts({}, {}) is NO_BINDINGS
    bindings = bindings_of_texts({"p": "urn:p"}, {"x": "[1, true]"}, "document", "2.0")
    assert bindings == Bindings({"p": "urn:p"}, {"x": [1, True]}, "document", "2.0")
    for variables, relative_to, version in (
        ({"x": "word"}, "", ""),
        ({"$x": "5"}, "", ""),
        ({}, "root", ""),
        ({}, "", "3.1"),
    ):
        with pytest.raises(ValueError, match=r"is no|is '"):
            bindings_of_texts({}, variables, relative_to, version)


# --- files and tables -----------------------------------------------------------------------------

TEXT = """\
before\ta[b > 5]
$limit = 5
$kinds = ["A", "B"]
relative-to = document
after\ta[b > $limit]
version = 2.0
a[b > $limit]
$limit = 7
relative-to = anywhere
version = 1.0
last\ta[b > $limit][c = $kinds]
version\tversion = 2.0
"""


def test_a_file_binds_for_the_lines_below(tmp_path: Path) -> None:
    path = tmp_path / "desk.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert {each.key: (str(each.pattern), each.xpath) for each in read_subscriptions(path)} == {
        "before": ("//a[b>5]", "a[b > 5]"),
        "after": ("/a[b>5]", "a[b > $limit]"),
        "7": ("/a[xpath-2.0(b>5)]", "a[b > $limit]"),
        "last": ('//a[b>7][c[.="A" or .="B"]]', "a[b > $limit][c = $kinds]"),
        "version": ("//version[.=2]", "version = 2.0"),
    }


def test_a_line_that_cannot_bind_is_never_left_out(tmp_path: Path) -> None:
    path = tmp_path / "desk.txt"
    path.write_text("one\t//a\n$limit = five\ntwo\t//a[b > $limit]\n", encoding="utf-8")
    errors: list[SubscriptionFileError] = []
    with pytest.raises(SubscriptionFileError, match=r"line 2: 'five' is no value of \$limit"):
        list(read_subscriptions(path, errors.append))
    assert errors == []


def test_a_variable_that_is_not_bound_names_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "desk.txt"
    path.write_text("one\t//a[b > $limit]\n", encoding="utf-8")
    with pytest.raises(SubscriptionFileError, match=r"line 1: .*\$limit is not bound; bind it"):
        list(read_subscriptions(path))


def test_a_variable_that_no_line_uses_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "desk.txt"
    text = "$limit = 5\n$limit = 6\n$kinds = [1, 2]\n//a[b > $limit]\n$limit = 7\n//a[b = $kinds]\n"
    path.write_text(text, encoding="utf-8")
    with pytest.warns(SubscriptionWarning) as caught:
        assert len(list(read_subscriptions(path))) == 2
    assert [str(each.message) for each in caught] == [
        f"{path}, line 1: the variable $limit is bound and not used",
        f"{path}, line 5: the variable $limit is bound and not used",
    ]


ROW = {"namespaces": None, "variables": None, "relative_to": None, "version": None}


@pytest.mark.parametrize(
    ("row", "bindings"),
    [
        ({}, NO_BINDINGS),
        (dict.fromkeys(ROW, ""), NO_BINDINGS),
        ({"variables": '{"limit": 0.5}'}, Bindings(variables={"limit": Decimal("0.5")})),
        ({"variables": [("limit", 5)]}, Bindings(variables={"limit": 5})),
        ({"variables": {"limit": 5, "other": None}}, Bindings(variables={"limit": 5})),
        ({"relative_to": "document", "version": 2.0}, Bindings({}, {}, "document", "2.0")),
    ],
)
def test_the_cells_of_a_row(row: dict[str, Any], bindings: Bindings) -> None:
    assert bindings_of_row(ROW | row) == bindings


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"variables": "limit = 5"}, "variables must be a JSON object such as"),
        ({"variables": "[5]"}, "variables must be a JSON object such as"),
        ({"variables": '{"limit": null}'}, r"\$limit is a text, a number"),
        ({"variables": '{"limit": {"a": 1}}'}, r"\$limit is a text, a number"),
        ({"namespaces": '{"p": 1}'}, "namespaces must be a JSON object"),
        ({"relative_to": "root"}, "'anywhere' or 'document'"),
        ({"version": 2}, "'1.0' or '2.0'"),
    ],
)
def test_cells_that_cannot_bind_are_refused(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        bindings_of_row(ROW | row)


def test_a_table_binds_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "desk.csv"
    path.write_text(
        "key,xpath,variables,relative_to,version\n"
        'one,a[b = $kinds],"{""kinds"": [""A"", ""B""]}",document,\n'
        "two,a[b = 5],,,2.0\nthree,a,,,\n",
        encoding="utf-8",
    )
    expected = {
        "one": '/a/b[.="A" or .="B"]',
        "two": "//a[xpath-2.0(b=5)]",
        "three": "//a",
    }
    assert {each.key: str(each.pattern) for each in read_subscriptions(path)} == expected
    path.write_text("key,xpath,version\none,//a,3\n", encoding="utf-8")
    with pytest.raises(SubscriptionFileError, match="line 2: version is"):
        list(read_subscriptions(path))


def test_a_map_of_parquet_binds_variables(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    columns = {
        "key": ["one", "two"],
        "xpath": ["//a[b > $limit]", "//a"],
        "variables": arrow.array(
            [[("limit", 5.0)], None], arrow.map_(arrow.string(), arrow.float64())
        ),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "desk.parquet")
    found = [str(each.pattern) for each in read_subscriptions(tmp_path / "desk.parquet")]
    assert found == ["//a[b>5]", "//a"]


# --- values ---------------------------------------------------------------------------------------


def test_expressions_that_share_bindings() -> None:
    bindings = Bindings(variables={"x": 5, "y": 6})
    with pytest.warns(SubscriptionWarning, match=r"\$y is bound and not used") as caught:
        patterns = parse_all({"a": "//a[b = $x]", "b": parse("//b")}, bindings)
    assert len(caught) == 1
    assert {key: str(each) for key, each in patterns.items()} == {"a": "//a[b=5]", "b": "//b"}
    assert read_bound("//a[b = $x]", bindings).variables == {"x"}


def test_bindings_are_copied_without_what_was_computed() -> None:
    bindings = Bindings({"p": "urn:p"}, {"x": ["A"]}, "document", "2.0")
    assert bindings.scope.variables
    assert pickle.loads(pickle.dumps(bindings)) == bindings
    assert "scope" not in vars(pickle.loads(pickle.dumps(bindings)))
    assert bindings
    assert not NO_BINDINGS


def test_limits_hold_for_the_expression_with_its_values() -> None:
    few, many = [str(each) for each in range(100)], [str(each) for each in range(100_000)]
    text = "//a[b = $x][c = $x]"
    pattern = parse(text, variables={"x": few})
    assert parse(str(pattern)) == pattern
    values: tuple[Value | Sequence[Value], ...]
    for values, reason in (
        ((many, few * 3), "more than 500 steps"),
        (("x" * 20_000, "x" * 10_000, ["x" * 15_000]), "with its variables, .* 20000 characters"),
    ):
        for value in values:
            with pytest.raises(SubscriptionError, match=reason):
                parse(text, variables={"x": value})
    with pytest.raises(SubscriptionError, match="more than 40 steps"):
        read_expression("//a[b = $x]", variables={"x": few}, limits=LanguageLimits(steps=40))


# --- who takes them -------------------------------------------------------------------------------


def test_a_matcher_has_bindings_for_all_its_expressions() -> None:
    matcher = Matcher(
        {"one": "a[b > $limit]", "two": "c"}, variables={"limit": 5}, relative_to="document"
    )
    matcher.add("three", "a[b = $limit]", version="2.0")
    matcher.replace("two", "c", relative_to="anywhere")
    matcher.add("four", "a[b = $other]", variables={"other": "x"})
    matcher.update({"five": "d/e"})
    expected = {
        "one": "/a[b>5]",
        "two": "//c",
        "three": "/a[xpath-2.0(b=5)]",
        "four": '/a[b="x"]',
        "five": "/d/e",
    }
    assert {key: str(each) for key, each in matcher.items()} == expected
    copied = pickle.loads(pickle.dumps(matcher))
    copied.add("six", "a[b < $limit]")
    assert str(copied["six"]) == "/a[b<5]"
    with pytest.warns(SubscriptionWarning, match=r"\$y is bound"):
        matcher.add("seven", "//a", variables={"y": 1})
    with pytest.warns(SubscriptionWarning, match=r"\$y is bound"):
        Matcher({"k": "//a[b = 1]"}, variables={"y": 1})


def test_a_loaded_matcher_has_bindings_for_what_is_added(tmp_path: Path) -> None:
    Matcher({"one": "//a"}).save(tmp_path / "index")
    matcher = Matcher.load(tmp_path / "index", variables={"x": 5}, relative_to="document")
    matcher.add("two", "a[b = $x]")
    assert {key: str(each) for key, each in matcher.items()} == {"one": "//a", "two": "/a[b=5]"}


@pytest.mark.parametrize("made", [CoverIndex, CoveringTable, SubscriptionTree])
def test_sets_under_covering(made: Any) -> None:
    subscriptions = made()
    subscriptions.add("one", "a[b > $x]", variables={"x": 5}, relative_to="document")
    assert str(subscriptions["one"]) == "/a[b>5]"
    if made is not CoveringTable:
        asked = {"variables": {"x": 7}, "relative_to": "document"}
        assert subscriptions.covering("a[b > $x]", **asked) == ["one"]
        assert subscriptions.covered_by("a[b > $x]", **asked) == []
    with pytest.raises(TypeError, match="'variabels'; did you mean 'variables'"):
        subscriptions.add("two", "//a", variabels={})
    with pytest.raises(TypeError, match="a Pattern has them already"):
        subscriptions.add("two", parse("//a"), version="2.0")


def test_a_network_takes_them() -> None:
    network = twigcast.Network(twigcast.Overlay(["rome"], {}))
    network.attach("desk", "rome")
    network.subscribe("desk", "one", "a[b > $x]", variables={"x": 5}, relative_to="document")
    assert str(network.client("desk").subscriptions["one"]) == "/a[b>5]"


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(TypeError, match="variables are a mapping"):
        parse("//a[b = $v]", variables=[("v", 5)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="namespaces are a mapping"):
        parse("//c:a", "urn:x")  # type: ignore[arg-type]


def test_a_large_integer_is_taken() -> None:
    assert parse("//a[b = $v]", variables={"v": 10**400}).matches("<a><b>1e400</b></a>")
