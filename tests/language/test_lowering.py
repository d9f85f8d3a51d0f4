"""What becomes of an expression: conditions of a pattern, and residuals where there are none."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest

from twigcast import Matcher
from twigcast.errors import SubscriptionError
from twigcast.language import Residual, ValueTest, parse, walk
from twigcast.language.functions import FUNCTIONS_OF_XPATH

WHOLLY_LOWERED = """
//*[local-name() = 'a']                   //*:a
//*[namespace-uri() = 'urn:p']            //Q{urn:p}*
//a[count(b) >= 1]                        //a/b
//a[count(b) = 0]                         //a[not(b)]
//a[exists(b)]                            //a/b
//a[empty(b)]                             //a[not(b)]
//a[string-length(b) > 0]                 //a[string(b)!=""]
//b[parent::a]                            //a/b
//a/b/..                                  //a/b
//x/b[../c]                               //x[b][c]
//b[ancestor::a]                          //a//b
//*[self::a or self::b]                   //a | //b
//a[b | c]                                //a[b or c]
(//a)[b]                                  //a/b
//a[//b]                                  //a and //b
//a[some $b in b satisfies $b > 5]        //a[b>5]
//a[every $b in b satisfies $b = 'x']     //a[not(b!="x")]
//a[b = ('x', 'y')]                       //a/b[.="x" or .="y"]
//a[if (b) then c else d]                 //a[b[../c] or d and not(b)]
//a[1 = 1 or b]                           //a
//a[b or 'x' = ('y', 'z') or 5 < '4']     //a/b
//a[b or . = 'x' and . != 'x']            //a/b
//a[b or . > 5 and not(. != 3)]           //a[b or . > 5 and not(. != 3)]
//a[b or . > 5 and . = 3]                 //a/b
//a[b or c = d and not(c = d)]            //a/b
"""


def lines(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split("  ", 1)) for line in text.strip().splitlines()]  # type: ignore[misc]


def residuals(expression: str) -> list[str]:
    pattern = parse(expression)
    return [each.text for each in walk(*pattern.alternatives) if isinstance(each, Residual)]


@pytest.mark.parametrize(("written", "normal"), lines(WHOLLY_LOWERED))
def test_wholly_lowered(written: str, normal: str) -> None:
    assert residuals(written) == []
    assert str(parse(written)) == str(parse(normal))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("//a[following-sibling::b]", ["following-sibling::b"]),
        ("//a[b = c][d]", ["b=c"]),
        ("//a/b[last()]", ["b[last()]"]),
        ("count(//b) > 1", ["count(/descendant::b)>1"]),
    ],
)
def test_what_stays_an_expression(expression: str, expected: list[str]) -> None:
    assert residuals(expression) == expected


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("//c[contains(' A B ', concat(' ', normalize-space(.), ' '))]", ["A", "A B", "B"]),
        ("//c[contains(' A B ', concat(' ', upper-case(@d), ' '))]", ["A", "A B", "B"]),
        ("//c[contains(',A,', concat(',', d, ','))]", ["A"]),
        ("//c[contains(' A  B ', concat(' ', d, ' '))]", []),
        ("//c[contains('-+A+-', concat('-+', d, '+-'))]", []),
        ("//c[contains(' A ', concat(' ', d, ','))]", []),
        (f"//c[contains(' {' '.join(map(str, range(30)))} ', concat(' ', d, ' '))]", []),
    ],
)
def test_codes_of_a_list_are_indexed(expression: str, values: list[str]) -> None:
    (residual,) = (
        each for each in walk(*parse(expression).alternatives) if isinstance(each, Residual)
    )
    tests = [each for each in walk(residual.implied) if isinstance(each, ValueTest)]
    assert sorted(str(each.operand) for each in tests) == values


@pytest.mark.parametrize(
    "expression",
    [
        "//b[upper-case(../c) = 'X']",
        "//b[not(a = ../c) and not(d = ../e) and not(f = ../g)]",
        "//a[if (b = ../c) then d else e]",
        "//a[not(b = ../c) or ../d = e]",
    ],
)
def test_a_residual_that_looks_up_parses_back(expression: str) -> None:
    """What it needs above stands beside it, spelled in XPath, and not where it is negated."""
    pattern = parse(expression)
    assert parse(str(pattern)) == pattern
    assert len(str(pattern)) < 3 * len(expression)


def test_every_function_is_known_once() -> None:
    names = [function.name for function in FUNCTIONS_OF_XPATH]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("expression", "document", "expected"),
    [
        ("//a[lang('en')]", '<r><a xml:lang="de"/><a xml:lang="en"/></r>', True),
        ("not(//a[not(lang('de'))])", '<r><a xml:lang="de"/><a xml:lang="en"/></r>', False),
        ("//*[count(b) < 'a']", "<r><b>xx</b></r>", False),
        ("//*[not(count(b) < 'a')]", "<r><b>xx</b></r>", True),
        ("/r['a' >= string-length(b)]", "<r><b>xx</b></r>", False),
        ("//*[local-name() = 'x | //b']", "<a><b/></a>", False),
        ("//zzz | 'y'", "<a/>", False),
        ("//a[zzz | 1]", "<a/>", False),
        ("/text()[1][b[../d][1]]", "<a>x</a>", False),
        ("//text()[*[last()]]", "<a>x</a>", False),
        ("//text()[not(*[last()])]", "<a>x</a>", True),
        ("-1 castable as xs:byte", "<a/>", True),
        ("//a[b instance of empty-sequence()]", "<a/>", True),
        # An error is not false, so its negation is not true; an index must not say otherwise.
        ("//a[xpath-2.0(not(normalize-space(b)='X'))]", "<a><b>y</b><b>z</b></a>", False),
        ("//a[xpath-2.0(not(contains(' A B ',concat(' ',b,' '))))]", "<a><b/><b/></a>", False),
        ("not(//a[xs:integer(.) = @x/b])", '<a x="none">n</a>', False),
        ("not(//@x[xs:integer(.) = a])", '<a x="none">n</a>', False),
        ("not(//b[count(b) eq (1,2)])", "<b>1</b>", False),
        ("not(//a[exactly-one(b)/@y = c])", "<a/>", False),
        ("//a[not(if (xs:integer(.) = 1) then b else c)]", "<a>none</a>", False),
        ("//a[not(xs:integer(.)=1 and not(xs:integer(.)=1))]", "<a>none</a>", False),
        ("//a[not(if (xs:integer(.)=1) then false() else false())]", "<a>none</a>", False),
        # With a boolean, a sequence is compared by its effective boolean value.
        ("/a[(b,@x) >= true()]", '<a x="a"><b x=""/></a>', True),
        ("/a[(b,@x) < true()]", '<a x="a"><b>0</b></a>', False),
        ("/a[true() <= (b,b)]", "<a><b>0</b></a>", True),
        # What looks up by several levels; what is denied twice.
        ("//b/@a[. = ../..]", '<r>1<b a="1"/></r>', True),
        ("//*[name() >= parent::*]//*[name() >= parent::*]", "<a><b/></a>", False),
        ("//c/a[b = ../parent::*/ancestor::*]", "<a><c><a><b/></a></c></a>", False),
        ("//b[a = parent::*[d]/c]", "<x><b><a>1</a></b><c>1</c><d/></x>", True),
        ("//*[not(not(self::a) or false())]", "<a/>", True),
        ("/c[*[not(not(self::a) and true())]]", "<c><b/></c>", False),
    ],
)
def test_what_was_wrong_once(
    expression: str, document: str, expected: bool, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pattern = parse(expression)
    assert parse(str(pattern)) == pattern
    assert pattern.matches(document) is expected
    matcher = Matcher({"key": pattern})
    matcher.save(tmp_path / "saved")
    assert matcher.match(document) == Matcher.load(tmp_path / "saved").match(document)
    assert bool(matcher.match(document)) is expected


@pytest.mark.parametrize(
    "text",
    [
        "//a/" + "/".join(f"(b{number}|c{number})" for number in range(60)),
        "//a" + "/descendant-or-self::b" * 40,
        "a" + "[(b|c)" * 20 + "]" * 20,
        "//a" + "[../b]//c" * 25,
        "if (" * 20 + "a" + ") then b else c" * 20,
    ],
    ids=["unions", "axes", "predicates", "parents", "conditions"],
)
def test_nothing_doubles_without_end(text: str) -> None:
    start = time.process_time()
    assert parse(str(parse(text))) == parse(text)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "text",
    ["1 = xpath-2.0(a)", "//a[-xpath-2.0(b)]", "xpath-2.0()", "//a[Q{ (: 'x' } :)]"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(SubscriptionError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "//*[string-length()<=..]",
        "//a[(b instance of item()) * 2]",
        "/parent::attribute(x)",
        "//a[attribute::element(a) <= 1.5]",
        "namespace::attribute(x)",
        "//*[namespace-uri() = 'u}x']",
    ],
)
def test_odd_spellings_parse_back(text: str) -> None:
    assert parse(str(parse(text))) == parse(text)
