"""What the kernel reads of expressions by itself is what the parser, plans and programs say."""

from __future__ import annotations

import ast
import re
import time
import tomllib
from itertools import islice
from pathlib import Path

import pytest
from folders import ROOT
from hypothesis import given
from hypothesis import strategies as st
from strategies import expressions

from twigcast import Matcher
from twigcast.cli import read_schema
from twigcast.errors import SubscriptionError
from twigcast.language import DEFAULT_LIMITS, NO_BINDINGS
from twigcast.language.parser import Reading, read_by_grammar
from twigcast.matching._kernel import CompiledPattern, normal_form, plan_tree
from twigcast.matching.plan import make_units
from twigcast.matching.program import make_program
from twigcast.workload import TreeParameters, ValueParameters, generate_subscriptions

READ = {
    "/a": "/a",
    "a": "//a",
    " / a // b ": "/a//b",
    "//*/a": "/*//a",
    "//*/@x": "//@x",
    "/a/@*": "/a/@*",
    "a[b][c]": "//a[b][c]",
    "a[c and b]": "//a[b][c]",
    "a[b][b/c][.//c]": "//a/b/c",
    "a[*//b][.//*/b]": "//a/*//b",
    "a[b > 5][b > 3]": "//a[b>5]",
    "a[b = 5][b > 3][c != 'x']/d": '//a[b=5][c!="x"][d]',
    "a[. > 5][. <= 9]": "//a[.<=9][.>5]",
    "a[.='x'][.!='y']": '//a[.="x"]',
    "a[b < '7']": "//a[b<7]",
    "a[b = -.50]": "//a[b=-0.5]",
    "a[b = - 0]": "//a[b=0]",
    "a[b = 'it''s']": None,
    'a[b = "it\'s"]': '//a[b="it\'s"]',
    "a[b = 'say \"x\"']": "//a[b='say \"x\"']",
    "a[contains(., 'x')][starts-with(@y,'z')]": '//a[@y[starts-with(.,"z")]][contains(.,"x")]',
    "a[2][b]": "//a[2]/b",
    "//a[07]/text()": "//a[7]/text()",
    "text()[. = '(']": '//text()[.="("]',
    "and[and and and = 5]": "//and[and=5]",
    "text/contains[text()]": "//text/contains/text()",
    "Größe[価格 > 5]": "//Größe[価格>5]",
    "a[b = '\0']": '//a[b="\0"]',
}
"""Expressions and their normal forms; None where the parser has to decide."""

LEFT_TO_THE_PARSER = (
    *("", "/", "//", ".", "..", "/a/", "a]", "a[", "a[]", "a[b", "/ /a", "///a", "a b"),
    *("p:a", "*:a", "Q{urn:p}a", "child::a", "a::b", "a | b", "a or b", "a = 5", "$v", "a[$v]"),
    *("a[b or c]", "a[not(b)]", "a[(b)]", "a[/b]", "a[//b]", "a[..]", "a[.]", "a[./.]", "a/./b"),
    *("a[0]", "a[1.0]", "a[1][2]", "a[b][1]", "@a[1]", "a[1 and b]", "a[4294967297]", "a[last()]"),
    *("a[5]b", "a[5 < b]", "a[b = c]", "a[b = 5 = 5]", "a[b << 5]", "a[b == 5]", "a[b ! 5]"),
    *("a[b = 1e3]", "a[b = 1000000000000000]", "a[b = 0.0000000001]", "a[b = +5]", "a[b = --5]"),
    *("a[b < 'x']", "a[. < 'x']", "a[b = 'x]", "a[b = ()]", "a[b = ('x', 'y')]", "a['x' and b]"),
    *("a[.='x'][.='y']", "a[. > 5][. < 5]", "a[.>1][.<9][.!=4]", "a[contains(.,'x')][.=5]"),
    *("a[contains(b,'x')]", "a[contains(@*,'x')]", "a[contains(.,'')]", "a[matches(.,'x')]"),
    *("@a/b", "@a[b]", "text()/b", "text()[b]", "@text()", "node()", "a[comment()]", "a(: x :)"),
    *(
        "a[b = '(:']",
        "a[b = 5\u00a0]",
        "\u00b7a",
        "a[b = '\ud800']",
        "a\0",
        "a\x0b",
        "a[b='x'\x85]",
    ),
)


def read(text: str) -> Reading:
    return read_by_grammar(text, NO_BINDINGS, DEFAULT_LIMITS)


def check(text: str) -> bool:
    """Whether the kernel reads the expression; all that it then says must be what Python says."""
    form = normal_form(text)
    if form is None:
        return False
    reading = read(text)
    assert str(reading.pattern) == form.decode()
    assert reading == Reading(reading.pattern, [], set(), set())  # nothing else was noticed
    planned = plan_tree(form.decode())
    if planned is None:
        return True  # the normal form is deeper than the expression
    assert normal_form(form.decode()) == form
    (unit,) = make_units(reading.pattern)
    assert planned[0] == (unit.needs_check, unit.branches)
    assert not unit.denials
    assert planned[1] == CompiledPattern(make_program(reading.pattern)).code
    return True


@pytest.mark.parametrize("text", READ)
def test_what_is_read_has_a_known_form(text: str) -> None:
    form = normal_form(text)
    assert (form and form.decode()) == READ[text]
    assert check(text) is (form is not None)


@pytest.mark.parametrize("text", LEFT_TO_THE_PARSER)
def test_all_else_is_left_to_the_parser(text: str) -> None:
    assert normal_form(text) is None


# --- the same as the parser, for whatever is read ------------------------------------------------


@given(expressions())
def test_random_expressions(text: str) -> None:
    check(text)


ODD = st.sampled_from(
    [
        *"/*@.[]()'\"=<>!- 125ab\0é\u00b7\u1680\n:|$,{}",
        "//",
        " and ",
        "text()",
        "(:",
        "[1]",
        "[b>1]",
    ]
)


@st.composite
def trees(draw: st.DrawFn, depth: int = 2) -> str:
    """A plain tree of few names, so that conditions often imply or exclude each other."""
    text = draw(st.sampled_from(("a", "b", "*", "@x", "text()") if depth < 2 else ("a", "*")))
    if text.startswith(("@", "text")) or draw(st.integers(0, 3)) == 0:
        return text + draw(st.sampled_from(("", "", "[.='x']", "[.>1]", "[contains(.,'x')]")))
    text += draw(st.sampled_from(("", "", "", "", "", "[1]", "[2]")))
    if depth > 0:
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.sampled_from(("", "", ".//", "*/", "*//")))
            end = draw(st.sampled_from(("", "", "", " and b", ">1", "<=1", "=3", "!=3", "='x'")))
            text += f"[{start}{draw(trees(depth - 1))}{end}]"
        text += draw(st.sampled_from(("", "", "", "[.>1]", "[.<9]", "[.='x']", "[.!='xy']")))
        if draw(st.booleans()):
            text += draw(st.sampled_from(("/", "//"))) + draw(trees(depth - 1))
    return text


@given(st.sampled_from(("/", "//", "")), trees())
def test_trees_of_few_names(start: str, tree: str) -> None:
    check(start + tree)


@given(st.one_of(trees(), expressions()), st.data())
def test_expressions_with_a_slip(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    check(text[:at] + data.draw(ODD) + text[at + data.draw(st.integers(0, 3)) :])


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("values", [None, ValueParameters(fraction=1.0)], ids=["plain", "valued"])
@pytest.mark.parametrize("dtd", ["news", "protein"])
def test_generated_subscriptions_are_read(
    dtd: str, values: ValueParameters | None, count: int
) -> None:
    schema = read_schema(str(ROOT / "examples" / f"{dtd}.dtd"), None)
    generated = generate_subscriptions(schema, TreeParameters(), seed=1, values=values)
    texts = list(map(str, islice(generated, count)))
    left = [text for text in texts if not check(text)]
    assert all("Q{" in text for text in left)
    assert len(left) < len(texts) / 50


def test_real_expressions(shared_data: Path) -> None:
    for path in (shared_data / "expressions").glob("*.tsv"):
        for line in path.read_text("utf-8").splitlines():
            check(line.partition("\t")[0])


def test_every_text_in_the_tests_of_the_language() -> None:
    texts: set[str] = set()
    for folder in ("conformance", "language", "matching"):
        for path in (ROOT / "tests" / folder).iterdir():
            if path.suffix == ".py":
                nodes = ast.walk(ast.parse(path.read_text("utf-8")))
                constants = (node.value for node in nodes if isinstance(node, ast.Constant))
                texts.update(each for each in constants if isinstance(each, str))
            elif path.suffix == ".toml":
                cases = tomllib.loads(path.read_text("utf-8")).get("case", ())
                texts.update(case["xpath"] for case in cases)
            elif path.suffix == ".txt":
                texts.update(path.read_text("utf-8").splitlines())
    assert sum(map(check, texts)) > 500


# --- bounds --------------------------------------------------------------------------------------


def test_what_is_large_is_left_to_the_parser() -> None:
    assert check("/a" * 30)
    for text in ("/a" * 31, "a[" * 16 + "a" + "]" * 16, "a" * 4001, "a" + "[b]" * 300):
        assert normal_form(text) is None
        read(text)
    with pytest.raises(SubscriptionError):
        read("/a" * 101)


def test_conditions_that_take_long_to_compare_are_left_to_the_parser() -> None:
    chains = "a[.//" + "a//" * 10 + "b][.//" + "a//" * 11 + "c]"
    runs = "a" + "".join(f"[.//{'*/' * at}b]" for at in range(1, 12))
    wide = "a" + "".join(f"[b[c{at}]//d]" for at in range(60))
    start = time.process_time()
    for text in (chains, runs, wide):
        check(text)
    assert time.process_time() - start < 5
    assert normal_form(wide) is None


def test_a_text_may_be_of_a_class_that_extends_str() -> None:
    class Name(str):
        __slots__ = ()

    assert normal_form(Name("/a[b]/c")) == b"/a[b][c]"
    assert Matcher([(Name("x"), Name("/a[b]/c"))]).match("<a><b/><c/></a>") == ["x"]


# --- matchers ------------------------------------------------------------------------------------


def test_a_normal_form_may_be_deeper_than_the_kernel_reads() -> None:
    text = "/a" * 20 + "[b/c/d/e/f/g/h/i/j > 5][k]"
    form = normal_form(text)
    assert form is not None
    assert plan_tree(form.decode()) is None
    matcher = Matcher({"x": text})
    assert str(matcher["x"]) == form.decode() == str(read(text).pattern)
    names = re.findall("[b-j]", "b/c/d/e/f/g/h/i/j")
    inner = "".join(f"<{name}>" for name in names) + "6" + "".join(f"</{n}>" for n in names[::-1])
    assert matcher.match("<a>" * 20 + inner + "<k/>" + "</a>" * 20) == ["x"]


DEEP = "<a>" * 70 + "<b>6</b><c/>" + "</a>" * 70
"""Too deep for the join, so that programs are asked."""

QUESTIONS = {
    "position": ("//a[2][b]", "<r><a/><a><b/></a></r>", "<r><a><b/></a><a/></r>"),
    "deep": ("//a[b > 5][c]", DEEP, DEEP.replace("6", "5")),
    "deep text": ("//a[b[. = '6'][. != 'x']][c]", DEEP, DEEP.replace("6", "x")),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_programs_are_made_when_they_are_needed(name: str, tmp_path: Path) -> None:
    text, match, miss = QUESTIONS[name]
    assert check(text)
    matcher = Matcher({"x": text, "other": "/r/s"})
    matcher.save(tmp_path / "matcher")
    for each in (matcher, Matcher.load(tmp_path / "matcher")):
        assert each.match(match) == ["x"]
        assert each.match(miss) == []
    for number in range(3000):  # until the index is built again of what is left
        matcher.add(str(number), f"//n{number}[a][b]")
        matcher.remove(str(number))
    assert matcher.match(match) == ["x"]
    assert matcher.match(miss) == []


def test_errors_of_one_expression_change_nothing() -> None:
    matcher = Matcher({"x": "/a[b][c]"})
    with pytest.raises(SubscriptionError, match="y: "):
        matcher.update({"x": "/a[d][e]", "y": "/a[b][c", "z": "/a[f]"})
    assert [str(matcher["x"]), len(matcher)] == ["/a[b][c]", 1]
