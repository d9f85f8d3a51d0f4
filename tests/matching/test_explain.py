"""Explanations: the outcomes are those of every matcher, and what is shown is in the document."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from random import Random

import pytest
from bounds import bounded
from conformance_cases import load_cases
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from oracle import parse_tree, to_xpath_1, xpath_matches
from strategies import NAMESPACES, documents, expressions

from twigcast.documents import DocumentLimits, read_document
from twigcast.errors import DocumentError
from twigcast.language import Kind, LanguageLimits, Pattern, parse
from twigcast.matching import reference_matches
from twigcast.matching.explain import explain
from twigcast.matching.explanation import ConditionKind, Explanation, Finding, Outcome, Witness
from twigcast.matching.locations import Locations
from twigcast.matching.reference import Definitions, NodeTree, Setting, subtree
from twigcast.matching.remembered import RememberedDefinitions

STOCK = "<Stock><Symbol>GHI</Symbol><Price>12</Price></Stock>"
STOCKS = f"<Stocks>{STOCK}<Stock><Symbol>XYZ</Symbol><Price>20</Price></Stock></Stocks>"
ALERT = '<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><info><area>Bay</area></info></alert>'


def findings(explanation: Explanation) -> Iterator[Finding]:
    waiting = list(explanation.alternatives)
    while waiting:
        finding = waiting.pop()
        yield finding
        waiting.extend(finding.parts)


def select(tree: etree._ElementTree, location: str) -> list[object]:
    selected = tree.xpath(to_xpath_1(location, NAMESPACES), namespaces=NAMESPACES)
    assert isinstance(selected, list)
    return list(selected)


def string_value(node: object) -> str:
    return str(node.xpath("string()")) if isinstance(node, etree._Element) else str(node)


@given(expressions(), documents())
def test_outcomes_are_those_of_the_reference_and_of_libxml2(expression: str, document: str) -> None:
    pattern = parse(expression, NAMESPACES)
    tree = parse_tree(document)
    explanation = explain(pattern, document)
    assert explanation.matches is reference_matches(pattern, read_document(document))
    assert explanation.matches is xpath_matches(tree, *pattern.to_xpath())
    for step, finding in zip(pattern.alternatives, explanation.alternatives, strict=True):
        holds = xpath_matches(tree, *Pattern((step,)).to_xpath())
        assert finding.outcome is (Outcome.HOLDS if holds else Outcome.FAILS)
    assert bool(explanation.reasons) is not explanation.matches


def test_conformance() -> None:
    for case in load_cases():
        assert explain(case.question.pattern, case.document).matches is case.expected, case


@given(expressions(), documents())
def test_findings_are_true(expression: str, document: str) -> None:
    tree = parse_tree(document)
    for finding in findings(explain(parse(expression, NAMESPACES), document)):
        check_parts(finding)
        for witness in finding.witnesses:
            nodes = select(tree, witness.location)
            assert len(nodes) == 1
            if witness.text is not None:
                check_text(tree, finding, witness, string_value(nodes[0]))


def check_parts(finding: Finding) -> None:
    """The outcome on the whole follows from those on its parts."""
    outcomes = {part.outcome for part in finding.parts}
    if not outcomes or outcomes == {Outcome.NOT_REACHED}:
        return
    if finding.kind is ConditionKind.EITHER:
        expected = Outcome.HOLDS in outcomes
    elif finding.kind is ConditionKind.NEGATION:
        expected = outcomes == {Outcome.FAILS}
    else:
        expected = outcomes == {Outcome.HOLDS}
    assert (finding.outcome is Outcome.HOLDS) is expected


def check_text(tree: etree._ElementTree, finding: Finding, witness: Witness, whole: str) -> None:
    """The text is the node's, and passes the finding's comparison exactly where that holds."""
    assert witness.text is not None
    assert whole[witness.start : witness.start + len(witness.text)] == witness.text
    assert witness.length == len(whole)
    assert witness.text == whole or len(witness.text) == 60
    function = re.search(
        r"""(contains|starts-with|ends-with)\(.*, ("[^"]*"|'[^']*')\)]?$""", finding.text
    )
    if function is not None:
        predicate = f"{function[1]}(., {function[2]})"
    else:
        predicate = (
            "." + re.findall(r"( [!<>=]+ (?:\"[^\"]*\"|'[^']*'|[-.0-9]+))]?$", finding.text)[0]
        )
    passes = bool(select(tree, f"{witness.location}[{predicate}]"))
    assert passes is (finding.outcome is Outcome.HOLDS)


@given(expressions(), documents(), st.randoms(use_true_random=False))
def test_remembered_answers_are_those_of_the_definitions(
    expression: str, document: str, random: Random
) -> None:
    setting = Setting(NodeTree(read_document(document)))
    inner = (Kind.DOCUMENT, Kind.ELEMENT)
    nodes = [node for node in subtree(setting.tree.top) if node.kind in inner]
    random.shuffle(nodes)
    remembered, definitions = RememberedDefinitions(setting), Definitions(setting)
    for step in parse(expression, NAMESPACES).steps():
        for node in nodes:
            assert remembered.visit(step, node) is definitions.visit(step, node)
            assert remembered.first((step, step), node) is definitions.first((step, step), node)


@given(documents())
def test_a_location_selects_its_node_and_no_other(document: str) -> None:
    tree = parse_tree(document)
    locations = Locations()
    nodes = list(subtree(NodeTree(read_document(document)).top))[1:]
    for node in nodes:
        location = locations.location(node)
        selected = select(tree, location)
        assert len(selected) == 1
        assert string_value(selected[0]) == node.string_value()
    assert reference_matches(parse(locations.location(nodes[-1])), read_document(document))
    assert len({locations.location(node) for node in nodes}) == len(nodes)


@pytest.mark.parametrize(
    ("xpath", "document", "reasons"),
    [
        (
            "//Stock[Symbol='GHI'][Price>15]",
            STOCK,
            ["Price > 15 fails: 12 at /Stock[1]/Price[1]"],
        ),
        (
            "//Stock[Symbol='GHI'][Price>15]",  # the one that the equality names, not the other
            STOCKS,
            ["Price > 15 fails: 12 at /Stocks[1]/Stock[1]/Price[1]"],
        ),
        (
            "//Stock[Symbol='ABC'][Price>15]",
            STOCKS,
            ['Symbol = "ABC" fails: "XYZ" at /Stocks[1]/Stock[2]/Symbol[1]'],
        ),
        (
            "//Stock/Price[.>15][.<18]",
            STOCK,
            [". > 15 fails: 12 at /Stock[1]/Price[1]"],
        ),
        (
            "/a[b>15]",
            "<a><b>1</b><b>n/a</b><b>1</b><b>3</b><b>4</b><b>5</b></a>",
            [
                (
                    '/a[b > 15] fails: 1 at /a[1]/b[1], "n/a" (not a number) at /a[1]/b[2], '
                    "3 at /a[1]/b[4], and 3 more"
                )
            ],
        ),
        (
            "/a[b='x']",
            "<a><b> x</b><b> x</b></a>",
            ['/a[b = "x"] fails: " x" at /a[1]/b[1] and 1 more'],
        ),
        ("/menu/drink", STOCKS, ["/menu/drink fails: the root element is Stocks"]),
        ("//drink/price", STOCKS, ["//drink/price fails: no drink in the document"]),
        (
            "//Stock/Price/Currency",
            STOCKS,
            [
                (
                    "//Stock/Price/Currency fails: no Currency in any of 2 Price, "
                    "the first is /Stocks[1]/Stock[1]/Price[1]"
                )
            ],
        ),
        (
            "//Stock/price",
            STOCK,
            ["//Stock/price fails: no price in /Stock[1]; seen: Price, Symbol"],
        ),
        ("/a/b", "<a b='1'/>", ["/a/b fails: no b in /a[1]; seen: @b"]),
        ("/a//b/c", "<a><b/></a>", ["/a//b/c fails: no c in /a[1]/b[1]"]),
        ("/a[.//b/@c]", "<a><b/></a>", ["/a//b/@c fails: no @c in /a[1]/b[1]"]),
        ("//b//c", "<a><b/></a>", ["//b//c fails: no c anywhere in /a[1]/b[1]"]),
        (
            "/a[b][.//c]",
            "<a><b/></a>",
            [".//c fails: no c anywhere in /a[1]"],
        ),
        (
            "/a[b][.//c/d>5]",
            "<a><b/><c><d>4</d></c></a>",
            [".//c[d > 5] fails: 4 at /a[1]/c[1]/d[1]"],
        ),
        (
            "/a[b][.//c>5]",
            "<a><b/><c>4</c></a>",
            [".//c > 5 fails: 4 at /a[1]/c[1]"],
        ),
        (
            "/a[contains(.//c, 'x')]",
            "<a><b/><c>4</c></a>",
            ['contains(.//c, "x") fails: the first is "4" at /a[1]/c[1]'],
        ),
        ("/a/text()", "<a><b/></a>", ["/a/text() fails: no text() in /a[1]"]),
        (
            "/@id",
            "<a id='1'/>",
            ["/@id fails: nothing but the root element is at the top of a document"],
        ),
        (
            "//p/quote[2]",
            "<a><p><quote/></p><p><quote/></p></a>",
            [
                (
                    "//p/quote[2] fails: at most 1 quote side by side, 2 needed; "
                    "the last is /a[1]/p[1]/quote[1]"
                )
            ],
        ),
        (
            "/a/b[position()>=2][.='x']",
            "<a><b>x</b><b>y</b></a>",
            ['/a[b[position()>=2] = "x"] fails: "y" at /a[1]/b[2]'],
        ),
        (
            "/story[not(byline)]",
            "<story><byline/></story>",
            ["not(byline) fails, because byline holds: found at /story[1]/byline[1]"],
        ),
        (
            "//p[not(@lang='en')]",
            "<a><p lang='en'/><p lang='en'/></a>",
            [
                (
                    'not(@lang = "en") fails: at each of 2 nodes, '
                    'because @lang = "en" holds: "en" at /a[1]/p[1]/@lang'
                )
            ],
        ),
        (
            "/a[b='x' or c>1]",
            "<a><b>y</b><c>0</c></a>",
            ['b = "x" fails: "y" at /a[1]/b[1]', "c > 1 fails: 0 at /a[1]/c[1]"],
        ),
        (
            "/a[b and c or d]",
            "<a><b/></a>",
            ["d fails: no d in /a[1]; seen: b", "c fails: no c in /a[1]; seen: b"],
        ),
        (
            "//Stock[Symbol='GHI' and Price>15 or Halted]",
            STOCKS,
            [
                (
                    "Halted fails: no Halted in any of 2 Stock, the first is /Stocks[1]/Stock[1]; "
                    "seen: Symbol, Price"
                ),
                "Price > 15 fails: 12 at /Stocks[1]/Stock[1]/Price[1]",
            ],
        ),
        (
            "/a//b[.>5]",  # in document order
            "<a><x><b>1</b></x><b>2</b></a>",
            ["/a[.//b > 5] fails: 1 at /a[1]/x[1]/b[1], 2 at /a[1]/b[1]"],
        ),
        (
            "/a[contains(b, 'x')]",
            "<a><b>y</b><b>x</b></a>",
            ['contains(b, "x") fails: the first is "y" at /a[1]/b[1]'],
        ),
        (
            "/a[starts-with(b[c]/d, 'x')]",
            "<a><b/></a>",
            ["b/c fails: no c in /a[1]/b[1]"],
        ),
        (
            "/a | //b[.='x']",
            "<c><b>y</b></c>",
            ['//b[. = "x"] fails: "y" at /c[1]/b[1]', "/a fails: the root element is c"],
        ),
        ("/a[b<'x']", "<a/>", ["no document can match this subscription"]),
        (
            "//info",
            ALERT,
            ["//info fails: no info in the document; seen: Q{…cap:1.2}info"],
        ),
        (
            "//Q{urn:oasis:names:tc:emergency:cap:1.1}info/*:area",
            ALERT,
            [
                (
                    "//Q{…cap:1.1}info/*:area fails: no Q{…cap:1.1}info in the document; "
                    "seen: Q{…cap:1.2}info"
                )
            ],
        ),
        (
            "//Q{http://example.org/emergency:cap:1.2}info",
            ALERT,
            [
                (
                    "//Q{http://example.org/emergency:cap:1.2}info fails: "
                    "no Q{http://example.org/emergency:cap:1.2}info in the document; "
                    "seen: Q{urn:oasis:names:tc:emergency:cap:1.2}info"
                )
            ],
        ),
        (
            "//*:area[.='Cape']",
            ALERT,
            ['//*:area[. = "Cape"] fails: "Bay" at /*:alert[1]/*:info[1]/*:area[1]'],
        ),
    ],
)
def test_a_failure_names_what_is_missing(xpath: str, document: str, reasons: list[str]) -> None:
    explanation = explain(parse(xpath), document)
    assert not explanation.matches
    assert list(explanation.reasons) == reasons


def test_the_whole_tree_in_words() -> None:
    pattern = parse("//Stock[Symbol='GHI'][Price>15][not(Halted)] | //Bond/Yield")
    assert str(explain(pattern, STOCKS)).splitlines() == [
        '//Bond/Yield | //Stock[Price>15][Symbol="GHI"][not(Halted)] does not match',
        "  ✗ //Bond/Yield fails: no Bond in the document",
        (
            '  ✗ //Stock[Price > 15][Symbol = "GHI"][not(Halted)] fails: 2 Stock found, '
            "none passes; 2 of 3 conditions hold at /Stocks[1]/Stock[1]"
        ),
        "    ✗ Price > 15 fails: 12 at /Stocks[1]/Stock[1]/Price[1]",
        '    ✓ Symbol = "GHI" holds: "GHI" at /Stocks[1]/Stock[1]/Symbol[1]',
        "    ✓ not(Halted) holds",
        "      ✗ Halted fails: no Halted in /Stocks[1]/Stock[1]; seen: Symbol, Price",
    ]
    bond = "<a><Bond><Yield/></Bond></a>"
    assert str(explain(pattern, bond)).splitlines() == [
        '//Bond/Yield | //Stock[Price>15][Symbol="GHI"][not(Halted)] matches',
        "  ✓ //Bond/Yield holds: found at /a[1]/Bond[1]/Yield[1]",
        '  ✗ //Stock[Price > 15][Symbol = "GHI"][not(Halted)] fails: no Stock in the document',
        "    – Price > 15 not reached",
        '    – Symbol = "GHI" not reached',
        "    – not(Halted) not reached",
    ]


def test_progress_tells_how_far_a_path_went() -> None:
    (finding,) = explain(parse("//Stock/Price/Currency/@code"), STOCKS).alternatives
    assert [(entry.step, entry.reached) for entry in finding.progress] == [
        ("Stock", 2),
        ("Price", 2),
        ("Currency", 0),
    ]
    (finding,) = explain(parse("//a//a/z"), "<a><a><a/></a></a>").alternatives
    assert [entry.reached for entry in finding.progress] == [3, 2, 0]


def test_long_texts_are_shortened_about_what_was_found() -> None:
    text = "x" * 500 + "needle" + "y" * 500
    (finding,) = explain(parse("/a[contains(., 'needle')]"), f"<a>{text}</a>").alternatives
    (witness,) = finding.witnesses
    assert witness.text is not None
    assert len(witness.text) == 60
    assert witness.text[27:33] == "needle"
    assert witness.length == 1006
    assert f'holds: …"{witness.text}"… at /a[1]' in finding.sentence
    (finding,) = explain(parse("/a[.='needle']"), f"<a>{text}</a>").alternatives
    assert f'fails: "{"x" * 60}"… at' in finding.sentence


def test_texts_cannot_steer_the_terminal() -> None:
    explanation = explain(parse("/a[.='x']"), "<a>1\n\x9b2J\u202e</a>")
    assert explanation.reasons == (r'/a[. = "x"] fails: "1\n\x9b2J\u202e" at /a[1]',)

    explanation = explain(parse("//a"), "<a xmlns='\x9b2J'/>")
    assert explanation.reasons == (r"//a fails: no a in the document; seen: Q{\x9b2J}a",)


def test_long_namespaces_are_cut_between_words_where_there_are_words() -> None:
    for namespace, shown in (
        ("http://example.org/schemas/news#", "…schemas/news#"),
        ("x" * 40, "…" + "x" * 16),
        ("urn:" + "x" * 15 + ":", "…" + "x" * 15 + ":"),
    ):
        (reason,) = explain(parse("//a"), f"<a xmlns='{namespace}'/>").reasons
        assert reason == f"//a fails: no a in the document; seen: Q{{{shown}}}a"


def test_a_long_text_is_not_called_a_number_or_none() -> None:
    (reason,) = explain(parse("/a[.<5]"), f"<a>{'7' * 100}</a>").reasons
    assert reason == f'/a[. < 5] fails: "{"7" * 60}"… at /a[1]'


def test_an_explanation_is_plain_data() -> None:
    explanation = explain(parse("//Stock[Price>15][not(Symbol='ABC')]"), STOCK)
    plain = json.loads(json.dumps(dataclasses.asdict(explanation)))
    assert plain["matches"] is False
    assert plain["alternatives"][0]["parts"][0] == {
        "kind": "path",
        "text": "Price > 15",
        "outcome": "fails",
        "detail": "12 at /Stock[1]/Price[1]",
        "asked": 1,
        "witnesses": [
            {"location": "/Stock[1]/Price[1]", "text": "12", "start": 0, "length": 2},
        ],
        "more": 0,
        "progress": [{"step": "Price", "reached": 1}],
        "parts": [],
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        explanation.matches = True  # type: ignore[misc]


def test_documents_are_read_within_limits() -> None:
    with pytest.raises(DocumentError, match="nested deeper"):
        explain(parse("/a"), "<a><a/></a>", DocumentLimits(depth=1))
    with pytest.raises(DocumentError, match="not well-formed"):
        explain(parse("/a"), "<a>")
    assert explain(parse("/a"), read_document("<a/>")).matches
    with pytest.raises(TypeError, match="Pattern is needed"):
        explain("/a", "<a/>")  # type: ignore[arg-type]


CHAIN = "<a>" * 200 + "</a>" * 200
DEEPEST = LanguageLimits(depth=200, steps=1000)


@pytest.mark.parametrize(
    "xpath",
    [
        "//a" * 50 + "/z",
        "//a[x or .//z]" * 20,
        "//a[contains(.//a//a, 'z')]",
        "/a" * 199 + "/z",
        "/a" + "[x or .//y][a" * 90 + "]" * 90,
        "/a" + "[not(x)][a" * 90 + "]" * 90,
    ],
    ids=lambda xpath: xpath[:12],
)
def test_nested_steps_on_nested_elements_cost_little(xpath: str) -> None:
    pattern = parse(xpath, limits=DEEPEST)
    with bounded(seconds=15, mebibytes=20):
        explanation = explain(pattern, CHAIN)
        text = json.dumps(dataclasses.asdict(explanation))
    assert explanation.matches is pattern.matches(CHAIN)
    assert len(text) < 300_000
    assert max(len(finding.sentence) for finding in findings(explanation)) < 400


def test_wide_documents_leave_few_witnesses() -> None:
    entries = "".join(f"<i><k>{number}</k><v>{number % 7}</v></i>" for number in range(3000))
    explanation = explain(parse("//i[k='x'][v>100]"), f"<r>{entries}</r>")
    assert all(len(finding.witnesses) <= 3 for finding in findings(explanation))
    assert len(str(explanation)) < 500
    assert explanation.reasons[0].endswith('"2" at /r[1]/i[3]/k[1], and 2,997 more')


def test_long_names_do_not_make_long_explanations() -> None:
    names = [f"n{number}" + "x" * 3000 for number in range(30)]
    document = "".join(f"<{name}>" for name in names) + "<a/>"
    document += "".join(f"</{name}>" for name in reversed(names))
    explanation = explain(parse("//a[not(.)]|//a"), document)
    (witness,) = explanation.alternatives[0].witnesses
    assert witness.location == "/*[1]" * 31
    assert len(select(parse_tree(document), witness.location)) == 1
    assert max(map(len, explain(parse("/*/b"), document).reasons)) < 400
