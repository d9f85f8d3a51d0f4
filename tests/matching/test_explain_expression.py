"""Explanations of expressions that no pattern says: the values of the parts that decided."""

from __future__ import annotations

import dataclasses
import json
import sys

import pytest
from bounds import bounded
from expression_strategies import booleans, rich_documents
from expression_texts import read_expression
from hypothesis import given

from twigcast.documents import read_document
from twigcast.errors import ExplanationBudgetError
from twigcast.language import (
    Axis,
    Expression,
    Kind,
    Pattern,
    Position,
    Residual,
    Step,
    node_test,
    parse,
)
from twigcast.matching import reference_matches
from twigcast.matching.explain import explain
from twigcast.matching.explanation import ConditionKind, Finding, Outcome

ORDERS = (
    '<orders><order day="2024-05-05"><item>1</item><item>5</item></order>'
    '<order day="today"><item>3</item></order></orders>'
)


@pytest.mark.parametrize(
    ("xpath", "lines"),
    [
        (
            "//order[count(item)>2]",
            [
                "//order[count(item)>2] does not match",
                (
                    "  ✗ //order[count(item)>2] fails: 2 order found, none passes; "
                    "the first is /orders[1]/order[1]"
                ),
                "    ✗ count(item)>2 fails: at /orders[1]/order[1] and 1 more",
                "      = count(item) is 2",
                (
                    '        = item is 2 nodes: "1" at /orders[1]/order[1]/item[1], '
                    '"5" at /orders[1]/order[1]/item[2]'
                ),
            ],
        ),
        (
            "sum(//item) > 20 or not(//order[2])",
            [
                "not(//order[2]) or sum(/descendant::item)>20 does not match",
                "  ✗ not(//order[2]) fails",
                "    ✓ //order[2] holds: found at /orders[1]/order[2]",
                "  ✗ sum(/descendant::item)>20 fails",
                "    = sum(/descendant::item) is 9",
                (
                    '      = /descendant::item is 3 nodes: "1" at /orders[1]/order[1]/item[1], '
                    '"5" at /orders[1]/order[1]/item[2], "3" at /orders[1]/order[2]/item[1]'
                ),
            ],
        ),
        (
            "/orders[order] and count(//item) = 3",
            [
                "/orders/order and count(/descendant::item)=3 matches",
                "  ✓ /orders/order and count(/descendant::item)=3 holds",
                "    ✓ /orders/order holds: found at /orders[1]/order[1]",
                "    ✓ count(/descendant::item)=3 holds",
                "      = count(/descendant::item) is 3",
                (
                    '        = /descendant::item is 3 nodes: "1" at /orders[1]/order[1]/item[1], '
                    '"5" at /orders[1]/order[1]/item[2], "3" at /orders[1]/order[2]/item[1]'
                ),
            ],
        ),
    ],
    ids=["a predicate", "alternatives at the document", "a conjunction at the document"],
)
def test_the_whole_tree_in_words(xpath: str, lines: list[str]) -> None:
    assert str(explain(parse(xpath), ORDERS)).splitlines() == lines


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("contains(@day, 'x')", ['@day is "2024-05-05" at /orders[1]/order[1]/@day']),
        ("concat(item, '-') = 'x'", ['concat(item,"-") is "1-"']),
        ("count(item) = 2 and count(@day) = 2", ["count(item)=2 holds", "count(@day)=2 fails"]),
        (
            "(count(item) = 3 and following::z) or number(@day) > 1",
            ["count(item)=3 and following::z fails", "number(@day)>1 fails"],
        ),
        ("count(item) * 2 = 5", ["count(item) * 2 is 4"]),
        (
            "item = preceding::item",
            [
                (
                    'item is 2 nodes: "1" at /orders[1]/order[1]/item[1], '
                    '"5" at /orders[1]/order[1]/item[2]'
                ),
                "preceding::item is empty",
            ],
        ),
        ("(1 to 5) = count(*) + 9", ["count(*) + 9 is 11"]),
        (
            "some $i in item satisfies $i * $i = 2",
            [
                (
                    'item is 2 nodes: "1" at /orders[1]/order[1]/item[1], '
                    '"5" at /orders[1]/order[1]/item[2]'
                ),
                "$i * $i=2 fails",
            ],
        ),
        (
            "if (count(item) = 2) then position() = 7 else true()",
            ["count(item)=2 holds", "position()=7 fails"],
        ),
        ("xs:date(@day) eq xs:date('2024-05-06')", ["xs:date(@day) is 2024-05-05"]),
        (
            "xs:integer(@day) eq 5",
            ['xs:integer(@day) has no value: "2024-05-05" (xs:untypedAtomic) is no xs:integer'],
        ),
        ("following::*/z", []),
    ],
)
def test_parts(expression: str, parts: list[str]) -> None:
    finding = explain_at_first_order(Residual(read_expression(expression)))
    assert finding.kind is ConditionKind.RESIDUAL
    assert finding.outcome in (Outcome.FAILS, Outcome.NO_VALUE)
    assert [part.sentence for part in finding.parts] == parts


def explain_at_first_order(residual: Residual) -> Finding:
    """The finding on the residual in ``/orders/order[1][residual]``."""
    order = Step(Axis.CHILD, node_test(Kind.ELEMENT, "", "order"), Position("=", 1), (residual,))
    orders = Step(Axis.CHILD, node_test(Kind.ELEMENT, "", "orders"), None, (order,))
    (finding,) = explain(Pattern((orders,)), ORDERS).alternatives
    (part,) = finding.parts
    return part


def test_reasons_name_the_values() -> None:
    assert explain(parse("count(//item)>5"), ORDERS).reasons == (
        "count(/descendant::item)>5 fails: count(/descendant::item) is 3",
    )
    assert explain(parse("/orders[boolean(count(order) mod 2 = 1)]"), ORDERS).reasons == (
        "count(order) mod 2=1 fails: count(order) mod 2 is 0",
    )


def test_an_expression_without_a_value_says_why() -> None:
    pattern = parse("//order[2][xs:date(@day) lt xs:date('2024-01-01')]", version="2.0")
    explanation = explain(pattern, ORDERS)
    assert not explanation.matches
    assert explanation.reasons == (
        (
            'xs:date(@day) has no value: "today" (xs:untypedAtomic) is no xs:date; '
            '@day is "today" at /orders[1]/order[2]/@day'
        ),
    )
    plain = json.loads(json.dumps(dataclasses.asdict(explanation)))
    assert "has no value" in json.dumps(plain)
    assert "has no value" in explanation._repr_html_()


@given(booleans(2), rich_documents())
def test_outcomes_are_those_of_the_reference(expression: Expression, document: str) -> None:
    pattern = parse(f"//*[{expression.text}]")
    explanation = explain(pattern, document)
    assert explanation.matches is reference_matches(pattern, read_document(document))
    assert bool(explanation.reasons) is not explanation.matches


WIDE = f"<r>{'<a><b>1</b></a>' * 5_000}</r>"
GROWING = (
    "let $a := concat(/a, /a), $b := concat($a, $a, $a, $a), $c := concat($b, $b, $b, $b), "
    "$d := concat($c, $c, $c, $c), $e := concat($d, $d, $d, $d), $f := concat($e, $e, $e), "
    "$g := concat($f, $f, $f) return contains(concat($g, $g, $g), 'x')"
)
LONG = f"<a>{'a' * 5_000}</a>"


@pytest.mark.parametrize(
    ("xpath", "document"),
    [
        ("//*[count(//*[count(//*)>1])>1]", WIDE),
        ("//a[b=//b[.=//b]/zz]", WIDE),
        ("//a[matches(., '(a*)*b')]", LONG),
        ("//a[matches(., '(a|aa)+x')]", LONG),
        ("count(1 to 1000000000) = 1", LONG),
        ("sum(for $x in 1 to 3000, $y in 1 to 3000 return $x) = 1", LONG),
        (GROWING, LONG),
        ("//a[distinct-values(//b/concat(., count(preceding::*))) = 'x']", WIDE),
    ],
    ids=lambda text: text[:20],
)
def test_too_much_work_is_refused(
    xpath: str, document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By its name the package has the function, which hides the module.
    monkeypatch.setattr(sys.modules["twigcast.matching.explain"], "_BUDGET", 200_000)
    pattern = parse(xpath)
    with (
        bounded(seconds=30, mebibytes=200),
        pytest.raises(ExplanationBudgetError, match=r"more than 200,000 steps; try a smaller"),
    ):
        explain(pattern, document)


def test_large_documents_leave_short_explanations() -> None:
    explanation = explain(parse("//a[count(b) > 3]"), WIDE)
    assert len(str(explanation)) < 500
    text = explain(parse("//a[concat(., 'x') = 'y']"), f"<a>{'é' * 100_000}</a>")
    assert len(str(text)) < 1_000
