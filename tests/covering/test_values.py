"""What comparisons of one node say together, against a text of every region they cut out."""

from __future__ import annotations

import itertools
import random
import re
from math import inf, nextafter

import pytest

from twigcast.covering.conditions import OtherImplied, contradict
from twigcast.covering.regions import representatives
from twigcast.errors import SubscriptionWarning
from twigcast.language import (
    Condition,
    Either,
    Negation,
    Step,
    ValueTest,
    parse,
    passes,
    to_number,
    value_implies,
    with_consequences,
)

JUST_ABOVE = nextafter(5.0, inf)
COMPARISONS = [
    *(
        ValueTest(operator, number)
        for operator in ("=", "!=", "<", "<=", ">", ">=")
        for number in (-3.0, 5.0, JUST_ABOVE, 7.0)
    ),
    *(ValueTest(operator, text) for operator in ("=", "!=") for text in ("", "5", "7.0", "x")),
]
FUNCTIONS = [
    ValueTest(operator, text)
    for operator in ("contains", "starts-with", "ends-with")
    for text in ("a", "ab", "b", "5", " ", "-", "e", "7.", "+")
]
TEXTS = [
    *("", " ", "5", "5.0", " 5", "7", "7.0", "7.5", "-3", "-4", "6", "x", "abc", "ab", "b", "ba"),
    *("5e0", "5ab", "e5", "1e+1", "-", "a5", "+5", "1e999", "-1e999", "57", "7.", "a b", "-a"),
    *representatives(COMPARISONS),
    *representatives(FUNCTIONS),
]


def root_of(text: str) -> Step:
    (alternative,) = parse(text).alternatives
    assert isinstance(alternative, Step)
    return alternative


def comparisons(text: str) -> list[ValueTest]:
    """Each bracket on its own, since together they may be known never to hold."""
    brackets = re.findall(r"\[[^]]*\]", text)
    conditions = [each for bracket in brackets for each in root_of(f"/a{bracket}").conditions]
    assert all(isinstance(condition, ValueTest) for condition in conditions)
    return [condition for condition in conditions if isinstance(condition, ValueTest)]


def condition_of(text: str) -> Condition:
    (condition,) = root_of(f"/a[{text}]").conditions
    return condition


def test_comparisons_together_are_decided_one_by_one() -> None:
    universe = representatives(COMPARISONS)
    passing = {
        test: frozenset(text for text in universe if passes(text, test)) for test in COMPARISONS
    }
    impossible = implied = 0
    for tests in itertools.combinations(COMPARISONS, 3):
        left = passing[tests[0]] & passing[tests[1]] & passing[tests[2]]
        together = with_consequences(tests)
        assert (together is None) is (not left), tests
        if together is None:
            impossible += 1
            continue
        assert all(passes(text, test) for text in left for test in together), tests
        for asked in COMPARISONS:
            shown = any(value_implies(known, asked) for known in together)
            assert shown is (left <= passing[asked]), (tests, asked)
            implied += shown
    assert impossible > 1_000
    assert implied > 10_000


def test_single_comparisons_imply_exactly_what_follows() -> None:
    universe = representatives(COMPARISONS)
    for known, asked in itertools.product(COMPARISONS, repeat=2):
        follows = all(passes(text, asked) for text in universe if passes(text, known))
        assert value_implies(known, asked) is follows, (known, asked)


def test_nothing_that_a_text_passes_is_called_impossible() -> None:
    rng = random.Random(1)
    pool = COMPARISONS + FUNCTIONS
    for _ in range(1_500):
        tests = rng.sample(pool, rng.randint(1, 4))
        left = [text for text in TEXTS if all(passes(text, test) for test in tests)]
        together = with_consequences(tests)
        if together is None:
            assert not left, tests
            continue
        for asked in pool:
            if any(value_implies(known, asked) for known in together):
                assert all(passes(text, asked) for text in left), (tests, asked)
            if OtherImplied(together, ()).visit(Negation(asked)):
                assert not any(passes(text, asked) for text in left), (tests, asked)


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ("[.>=5][.<=5]", ".=5"),
        ("[.>=5][.!=5]", ".>5"),
        ("[.<=5][.!=5]", ".<5"),
        ("[.>=5][.<=6][.!=6]", ".<6"),
        ("[.>3][.<9]", ".!=10"),
        ("[.>3][.<9]", '.!="x"'),
        ("[starts-with(.,'a')][.!='x']", ".!=5"),
        ("[contains(.,'x')][contains(.,'y')]", ".!=5"),
    ],
)
def test_what_follows_from_several(tests: str, expected: str) -> None:
    together = with_consequences(comparisons(tests))
    assert together is not None
    (asked,) = comparisons(f"[{expected}]")
    assert any(value_implies(known, asked) for known in together)


@pytest.mark.parametrize(
    "tests",
    [
        "[.>5][.<3]",
        "[.>5][.<5.000000000000001]",
        "[.>=5][.<5]",
        "[.=1][.=2]",
        "[.='x'][.='y']",
        "[.='15'][.>20]",
        "[.='x'][.!='x']",
        "[.=5][.!=5]",
        "[.>=5][.<=5][.!=5]",
        "[starts-with(.,'ab')][starts-with(.,'b')]",
        "[ends-with(.,'ab')][ends-with(.,'a')]",
        "[ends-with(.,'ab')][.<5]",
        "[starts-with(.,'ab')][.>5]",
        "[contains(.,'x')][.<5]",
        "[.='ab'][contains(.,'x')]",
    ],
)
def test_what_never_holds_together(tests: str) -> None:
    assert with_consequences(comparisons(tests)) is None
    with pytest.warns(SubscriptionWarning, match="no document"):
        assert not parse(f"/a{tests}").alternatives


@pytest.mark.parametrize(
    "tests",
    [
        "[.=5][.!='5']",  # 5.0
        "[.!=5][.!=6]",
        "[.>5][contains(.,'e')]",  # 1e9
        "[.<5][starts-with(.,'-')]",
        "[starts-with(.,'ab')][starts-with(.,'a')]",
        "[ends-with(.,'ab')][ends-with(.,'b')]",
        "[starts-with(.,'ab')][ends-with(.,'c')]",
        "[ends-with(.,'5')][.>5]",
        "[starts-with(.,'ab')][contains(.,'x')]",
        "[.>5][.<5.000000000000002]",
    ],
)
def test_what_may_hold_together(tests: str) -> None:
    assert with_consequences(comparisons(tests)) is not None


@pytest.mark.parametrize(
    ("values", "asked", "expected"),
    [
        ("[.>=5]", "not(.<5)", True),
        ("[.>=5]", "not(.<=5)", False),
        ("[.>=5]", "not(.<4)", True),
        ("[.='x']", "not(.<5)", True),
        ("[.!=5]", "not(.<5)", False),
        ("[.='abc']", "not(contains(.,'x'))", True),
        ("[.='abc']", "not(contains(.,'b'))", False),
        ("[starts-with(.,'b')]", "not(starts-with(.,'a'))", True),
        ("[.>5]", "not(b)", False),
        ("[.>5]", "not(.<5) or b", True),
        ("[.>5]", "b or not(.<7)", False),
    ],
)
def test_what_comparisons_say_about_other_conditions(
    values: str, asked: str, expected: bool
) -> None:
    known = with_consequences(comparisons(values))
    assert known is not None
    assert OtherImplied(known, ()).visit(condition_of(asked)) is expected


def test_negations_are_implied_by_wider_ones() -> None:
    known = condition_of("not(b)")
    assert OtherImplied((), (known,)).visit(condition_of("not(b/c)"))
    assert not OtherImplied((), (condition_of("not(b/c)"),)).visit(known)
    both = condition_of("not(b) and not(.<5) or c")
    assert isinstance(both, Either)
    assert OtherImplied(comparisons("[.>7]"), (known,)).visit(both)


def test_a_condition_and_its_negation_contradict() -> None:
    assert contradict([condition_of("b/c"), condition_of("not(b)")])
    assert contradict([condition_of(".<3"), condition_of("not(.<5)")])
    assert not contradict([condition_of("b"), condition_of("not(b/c)")])
    assert not contradict([condition_of("not(b)"), condition_of("not(b/c)")])


def test_every_text_has_a_representative() -> None:
    rng = random.Random(2)
    for _ in range(300):
        tests = rng.sample(COMPARISONS, rng.randint(0, 5))
        ways = {tuple(passes(text, test) for test in tests) for text in representatives(tests)}
        for text in TEXTS:
            assert tuple(passes(text, test) for test in tests) in ways, (text, tests)


def test_representatives_can_stand_in_a_document() -> None:
    assert "\x01" not in representatives([ValueTest("=", "\x01")])
    largest = 1.7976931348623157e308
    texts = representatives([ValueTest("<", largest), ValueTest(">", -largest)])
    assert {"1e999", "-1e999"} <= set(texts)
    assert any(-largest < to_number(text) < largest for text in texts)
