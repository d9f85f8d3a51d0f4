"""The table of operators: what its rows promise, and that nobody else knows what is in it."""

from __future__ import annotations

import ast
import re
from itertools import product

import pytest
from folders import ROOT
from oracle import parse_tree, xpath_matches

from twigcast.language import ValueTest, parse, passes, value_implies
from twigcast.language.normal import value_test
from twigcast.language.operators import FUNCTIONS, MIRRORED, OPERATORS, Operator, operator_of

TEXTS = ["", "a", "b", "ab", "ba", "aba", "bab", "abab", "5", "-5", "5.0", "x5"]
OPERANDS: dict[type, list[str | float]] = {float: [4.0, 5.0, 6.0], str: [*TEXTS[1:]]}
KNOWS_FUNCTIONS = {
    "language/operators.py": "the table",
    "language/lowering/implication.py": "a list of codes is contains() the other way round",
    "matching/reference/text_functions.py": "the reference says by itself what they mean",
    "workload/values.py": "which functions suit generated values is a choice of the workload",
}


def rows(*, functions_only: bool = False) -> list[Operator]:
    return [row for row in OPERATORS if row.is_function or not functions_only]


def test_codes_are_indices_and_numbers_come_first() -> None:
    assert [row.code for row in OPERATORS] == list(range(len(OPERATORS)))
    kinds = [row.operand for row in OPERATORS]
    assert kinds == sorted(kinds, key=[float, str].index)


def test_an_operator_is_known_by_its_name_and_by_its_spelling_and_operand() -> None:
    assert len({row.name for row in OPERATORS}) == len(OPERATORS)
    assert len({(row.spelling, row.operand) for row in OPERATORS}) == len(OPERATORS)
    assert all(row.name.isidentifier() for row in OPERATORS)


@pytest.mark.parametrize(("spelling", "operand"), [("ends", "x"), ("contains", 5.0), ("<", "x")])
def test_an_operator_that_the_language_lacks_is_refused(
    spelling: str, operand: str | float
) -> None:
    with pytest.raises(ValueError, match="does not compare with"):
        operator_of(spelling, operand)
    with pytest.raises(ValueError, match="does not compare with"):
        passes("x", ValueTest(spelling, operand))


def test_the_normal_form_refuses_an_operator_that_the_language_lacks() -> None:
    with pytest.raises(ValueError, match="does not compare with"):
        value_test("ends", "x")


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.name)
def test_mirrored_and_negated_operators_say_so(row: Operator) -> None:
    for operand, other in product(OPERANDS[row.operand], repeat=2):
        if row.mirrored:
            mirrored = operator_of(MIRRORED[row.spelling], operand)
            assert mirrored.passes(operand, other) == row.passes(other, operand)
        if row.negated:
            negated = operator_of(row.negated, operand)
            assert negated.passes(other, operand) != row.passes(other, operand)


@pytest.mark.parametrize("row", rows(functions_only=True), ids=lambda row: row.name)
def test_functions_pass_every_text_where_nothing_is_asked_for(row: Operator) -> None:
    assert all(row.passes(text, "") for text in TEXTS)


@pytest.mark.parametrize(
    ("given", "asked"), list(product(OPERATORS, repeat=2)), ids=lambda row: row.name
)
def test_what_an_operator_implies_holds(given: Operator, asked: Operator) -> None:
    longer = [*TEXTS, *map("".join, product(TEXTS, repeat=2))]
    for known, wanted in product(OPERANDS[given.operand], OPERANDS[asked.operand]):
        first, second = ValueTest(given.spelling, known), ValueTest(asked.spelling, wanted)
        holds = all(passes(text, second) for text in longer if passes(text, first))
        if value_implies(first, second):
            assert holds
        elif given.is_function and asked.is_function:
            assert not holds, f"{first} implies {second}, which the table does not say"


@pytest.mark.parametrize(
    ("expression", "document", "matches"),
    [
        ("//a[ends-with(b[ends-with(c, ')')], 'y,')]", "<a><b><c>x)</c>y,</b></a>", True),
        ("//a[ends-with(b[ends-with(c, ')')], 'y,')]", "<a><b><c>x</c>y,</b></a>", False),
        ("//a[not(ends-with(., 'xyz')) or b]", "<a>yz</a>", True),
        ("//a[not(ends-with(., 'xyz')) or b]", "<a>wxyz</a>", False),
        ("""//a[ends-with(., "ends-with(b,'c')")]""", "<a>ends-with(b,'c')</a>", True),
    ],
)
def test_functions_that_xpath_1_lacks_are_said_in_its_words(
    expression: str, document: str, matches: bool
) -> None:
    pattern = parse(expression)
    text, prefixes = pattern.to_xpath()
    assert re.search(r"ends-with\((?!b,'c')", text) is None
    assert xpath_matches(parse_tree(document), text, prefixes) is matches
    assert pattern.matches(document) is matches


def test_only_the_table_knows_the_functions() -> None:
    source = ROOT / "src" / "twigcast"
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in FUNCTIONS
    }
    assert found == set(KNOWS_FUNCTIONS)
