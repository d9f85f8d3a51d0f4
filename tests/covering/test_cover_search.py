"""The compiled search of coverings finds exactly what ``covers`` finds pair by pair."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product
from math import inf, nextafter
from pathlib import Path
from random import Random
from subprocess import run

import pytest
from covering_oracle import random_expression, random_path, random_tree, weakened
from folders import SUPPORT
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NAMESPACES, expressions, linear_expressions
from workloads import example, real

from lab.published import LinearSearch
from twigcast.covering import PatternSearch, Search
from twigcast.covering._cover import SearchKernel
from twigcast.language import (
    Axis,
    Kind,
    LanguageLimits,
    Pattern,
    Step,
    ValueTest,
    node_test,
    parse,
    value_implies,
)
from twigcast.schema import Schema
from twigcast.workload import (
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_subscriptions,
)

DEEP = LanguageLimits(length=10**6, steps=10**5, depth=200)
NEVER = "/*[not(.)]"


def texts(patterns: Iterable[Pattern]) -> list[str]:
    return sorted(map(str, patterns))


def searches_of(patterns: Iterable[Pattern]) -> tuple[PatternSearch, PatternSearch, LinearSearch]:
    searches = PatternSearch(), PatternSearch(linear=True), LinearSearch()
    for pattern in dict.fromkeys(patterns):
        for search in searches:
            search.add(pattern)
    return searches


def assert_searches_agree(patterns: Sequence[Pattern], asked: Iterable[Pattern]) -> int:
    """All three searches find the same, both ways; how many coverings of another pattern."""
    quick, compared, one_by_one = searches_of(patterns)
    found = 0
    for pattern in asked:
        covered, covering = set(one_by_one.covered_by(pattern)), set(one_by_one.covering(pattern))
        for search in (quick, compared):
            assert texts(search.covered_by(pattern)) == texts(covered), pattern
            assert texts(search.covering(pattern)) == texts(covering), pattern
        found += len(covered - {pattern}) + len(covering - {pattern})
    return found


# --- random sets -------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.lists(linear_expressions(), min_size=2, max_size=12))
def test_linear_expressions(drawn: list[str]) -> None:
    patterns = list(map(parse, drawn))
    assert_searches_agree(patterns[1:], patterns)


@settings(max_examples=60)
@given(st.lists(expressions(), min_size=2, max_size=8))
def test_all_that_the_language_has(drawn: list[str]) -> None:
    patterns = [parse(text, NAMESPACES) for text in drawn]
    assert_searches_agree(patterns[1:], patterns)


@pytest.mark.parametrize(
    ("draw", "least"),
    [
        (lambda rng: random_path(rng, ("a", "b", "*", "*"), 10), 1_500),
        (
            lambda rng: random_path(rng, ("a", "*:a", "Q{u}a", "Q{u}*", "*:b", "*", "Q{}*"), 6),
            1_500,
        ),
        (lambda rng: random_tree(rng, ("a", "b", "*"), rng.randint(2, 8)), 800),
        (lambda rng: random_tree(rng, ("a", "*:a", "Q{u}*", "b"), rng.randint(2, 8)), 150),
        (random_expression, 600),
    ],
    ids=["paths", "paths with namespaces", "trees", "trees with namespaces", "anything"],
)
def test_random_sets(draw: Callable[[Random], str], least: int) -> None:
    rng = Random(3)
    found = 0
    for _ in range(4):
        patterns = [parse(draw(rng), NAMESPACES) for _ in range(60)]
        patterns += [weakened(rng, pattern) for pattern in patterns[:40]]
        rng.shuffle(patterns)
        found += assert_searches_agree(patterns[20:], patterns)
    assert found > least


def test_labels_that_are_first_met_in_a_search() -> None:
    """What a wider name accepts was stored before the wider name was known."""
    patterns = list(map(parse, ("/a[b][c]", "/a[@x][c]", "/a[b='1']/c", "//b[@x]/@y")))
    wider = ("/a[*:b][c]", "/a[@*][c]", "/a[Q{}*][*:c]", "/*:a[*:b][c]", "//*:b[@*:x][@*]")
    assert assert_searches_agree(patterns, map(parse, wider)) == 9


def test_contradictions_and_what_never_matches() -> None:
    patterns = [
        parse(text)
        for text in (
            NEVER,
            "/a/b[.=1][.=2]",
            "/a[b='x'][b='y']",
            "/a[@x='x'][@x='y']",
            "/a[2]",
            "/a/b[.<1][.>2] | /a/b[c]",
            "/a[b][not(b)]",
            "/a/text()[.='']",
            "/a/b[c]",
            "//b",
            "/*",
        )
    ]
    assert_searches_agree(patterns, patterns)
    search = searches_of(patterns)[0]
    impossible = [NEVER, '/a[@x="x"][@x="y"]', "/a[2]", '/a[text()=""]']
    assert set(map(str, search.covered_by(parse("/z")))) == set(impossible)
    assert len(search.covering(parse(NEVER))) == len(set(patterns))


@pytest.mark.parametrize("linear", [False, True])
def test_unions_are_covered_twig_by_twig(linear: bool) -> None:
    search = PatternSearch(linear=linear)
    for text in ("/a | /b", "/a[b or c]", "/a/b | /a/c | /d", "//a", "/a[not(z)] | /a/b"):
        search.add(parse(text))
    assert texts(search.covered_by(parse("/a"))) == ["/a/b | /a[not(z)]", "/a[b or c]"]
    assert texts(search.covering(parse("/a/b | /a/c"))) == sorted(
        ("/a | /b", "/a/b | /a/c | /d", "/a[b or c]", "//a")
    )


# --- workloads ---------------------------------------------------------------------------------


def generated(schema: Schema, most: int, seed: int, *, linear: bool = False) -> list[Pattern]:
    """Distinct subscriptions of two mixtures."""
    values = ValueParameters()
    stream = (
        generate_subscriptions(schema, PathParameters(10, wildcard=0.2, descendant=0.2), seed=seed)
        if linear
        else generate_subscriptions(schema, TreeParameters(6), seed=seed, values=values)
    )
    return list(islice(stream, most))


def assert_a_workload_agrees(patterns: Sequence[Pattern], rng: Random, asked: int) -> None:
    quick, compared, _ = searches_of(patterns)
    for pattern in rng.sample(patterns, asked):
        weaker = weakened(rng, pattern)
        for one in (pattern, weaker):
            assert texts(quick.covered_by(one)) == texts(compared.covered_by(one))
            assert texts(quick.covering(one)) == texts(compared.covering(one))
        assert pattern in quick.covering(pattern)
        assert pattern in quick.covered_by(pattern)
    few = rng.sample(patterns, 150)
    assert_searches_agree(few, few[:30])


@pytest.mark.parametrize("linear", [False, True], ids=["trees", "paths"])
@pytest.mark.parametrize("name", ["news.dtd", "protein.dtd"])
def test_workloads_of_the_examples(name: str, linear: bool) -> None:
    assert_a_workload_agrees(generated(example(name), 2_000, 5, linear=linear), Random(1), 40)


@pytest.mark.parametrize("linear", [False, True], ids=["trees", "paths"])
def test_workloads_of_a_real_schema(shared_data: Path, linear: bool) -> None:
    patterns = generated(real(shared_data, "nitf-2-5.dtd"), 4_000, 5, linear=linear)
    assert_a_workload_agrees(patterns, Random(1), 25)


# --- histories ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_searches_agree_at_any_time(seed: int) -> None:
    """Tails unfold as others come; places go with those who have them."""
    rng = Random(seed)
    draws = (
        lambda: random_path(rng, ("a", "b", "*"), 6),
        lambda: random_tree(rng, ("a", "b", "*"), rng.randint(2, 7)),
        lambda: random_expression(rng),
    )
    pool = list({parse(rng.choice(draws)(), NAMESPACES) for _ in range(60)})
    pool += [weakened(rng, pattern) for pattern in pool]
    pool = sorted(set(pool), key=str)
    searches: tuple[Search, ...] = (PatternSearch(), PatternSearch(linear=True), LinearSearch())
    quick = searches[0]
    assert isinstance(quick, PatternSearch)
    present: set[Pattern] = set()
    for turn in range(600):
        pattern = rng.choice(pool)
        change = "remove" if pattern in present else "add"
        present ^= {pattern}
        for search in searches:
            getattr(search, change)(pattern)
        asked = rng.choice(pool)
        if turn % 3 == 0:
            covered, covering = (
                [texts(search.covered_by(asked)) for search in searches],
                [texts(search.covering(asked)) for search in searches],
            )
            assert covered[0] == covered[1] == covered[2]
            assert covering[0] == covering[1] == covering[2]
    assert len(quick) == len(present) > 10
    for pattern in rng.sample(sorted(present, key=str), len(present)):
        assert pattern in quick
        quick.remove(pattern)
        assert pattern not in quick
    assert quick.trie_nodes == len(quick) == 0
    assert quick.covered_by(parse("//*")) == quick.covering(parse("//*")) == []
    for pattern in pool:
        quick.add(pattern)
    assert texts(quick.covering(pool[0])) == texts(searches_of(pool)[1].covering(pool[0]))


def test_a_tail_unfolds_where_a_second_pattern_goes_on() -> None:
    search = PatternSearch()
    first, second, third = map(parse, ("/a/b/c/d[@x]/e", "/a/b/x", "/a/b/c/d/f"))
    search.add(first)
    assert search.trie_nodes == 1
    search.add(second)
    assert search.trie_nodes == 4  # a, b and two tails
    search.add(third)
    assert search.trie_nodes == 8  # c and d for themselves; below d the tails of @x, e and f
    for one in (first, third, second):
        assert search.covered_by(one) == [one]
        search.remove(one)
    assert search.trie_nodes == 0


# --- large and deep patterns -------------------------------------------------------------------


@pytest.mark.parametrize("branches", [62, 63, 64, 65, 300])
def test_patterns_with_many_branches(branches: int) -> None:
    wide = parse("/a" + "".join(f"[b{number}]" for number in range(branches)), limits=DEEP)
    wider = parse("/a" + "".join(f"[b{n}/c]" for n in range(branches + 5)), limits=DEEP)
    narrow = list(map(parse, ("/a[b1][b61]", "/a[b1][*]", "//b9", "/*[b0]", "/a[b400]", "/a/b1/c")))
    assert assert_searches_agree([wide, wider, *narrow], [wide, wider, *narrow]) == 24


@pytest.mark.parametrize("length", [62, 63, 64, 65, 124, 125, 126, 127, 128, 199])
def test_deep_paths(length: int) -> None:
    spellings = (
        "/a" * length,
        "/a" * (length - 1),
        "//a" * (length - 1),
        "/a" * (length - 1) + "//a",
        "//a" + "/a" * (length - 2),
        "/*" * length,
        "/a//*" + "/*" * (length - 3) + "/a",
        "/a" * (length // 2) + "//b" + "/a" * (length - length // 2 - 1),
        "/a" * (length - 1) + "/b",
        "//a//b",
        "//b",
        "//a[b]//a",
    )
    patterns = [parse(text, limits=DEEP) for text in spellings]
    assert assert_searches_agree(patterns, patterns) > 20


def test_deep_trees() -> None:
    rng = Random(8)
    patterns = []
    for _ in range(40):
        steps = [rng.choice(("/a", "/a", "/a", "//a", "/*")) for _ in range(rng.randint(110, 140))]
        steps[rng.randrange(len(steps))] += rng.choice(("[b]", "[@x]", "[.//c]", "[@x>1]"))
        patterns.append(parse("".join(steps), limits=DEEP))
    patterns += [parse("//" + "a/" * rng.randint(5, 100) + "*[b]", limits=DEEP) for _ in range(10)]
    patterns += map(parse, ("//a[b]", "//a//b", "//@x[.>0]", "//c", "//a/@*"))
    assert assert_searches_agree(patterns, patterns) > 200


def chain(length: int) -> Pattern:
    """A pattern that no text can ask for: language limits forbid it."""
    step = Step(Axis.CHILD, node_test(Kind.ELEMENT, "", "a"))
    for _ in range(length - 1):
        step = Step(Axis.CHILD, step.test, None, (step,))
    return Pattern((step,))


def test_patterns_that_are_too_deep_to_walk_are_refused() -> None:
    search = PatternSearch()
    search.add(chain(1_000))
    assert len(search.covering(chain(1_000))) == 1
    deep = chain(5_000)
    for refused in (search.add, search.covered_by, search.covering):
        with pytest.raises((ValueError, RecursionError)):
            refused(deep)
    assert len(search) == 1
    assert deep not in search
    search.remove(chain(1_000))
    assert search.trie_nodes == 0


def test_many_values_at_one_place() -> None:
    rng = Random(2)
    patterns = [parse(f"/a/b[@x='{number}']") for number in range(3_000)]
    patterns += [parse(f"/a/b[@x{rng.choice('<>')}{number}]") for number in range(300)]
    quick, compared, _ = searches_of(patterns)
    for text in ("/a/b/@x", "/a/b[@x='77']", "//b[@x>100]", "/a/*[@x!='5']", "/a/b[@x=7]", "//@*"):
        pattern = parse(text)
        assert texts(quick.covered_by(pattern)) == texts(compared.covered_by(pattern))
        assert texts(quick.covering(pattern)) == texts(compared.covering(pattern))
    assert len(quick.covered_by(parse("/a/b/@x"))) == len(set(patterns))
    for pattern in set(patterns):
        quick.remove(pattern)
    assert quick.trie_nodes == 0


# --- values ------------------------------------------------------------------------------------

NUMBERS = (
    *(0.0, -0.0, 1.0, -1.0, 5.0, nextafter(5.0, inf), nextafter(5.0, -inf), 1.5, 15.0, 5e-324),
    *(1.7976931348623157e308, -1.7976931348623157e308, nextafter(0.0, -1.0), 2.0**53, 1e-7),
)
TEXTS = (
    *("", " ", "5", "5.0", " 5 ", "05", "-0", "0", "1e1", "1e999", "-1e999", "1e", "e", "+5", ".5"),
    *("-", ".", "5a", "a", "ab", "b", "abc", "\u00e9", "e\u0301", "\U0001f600", "\ud83d", "\t5\n"),
    *("'", '"', "<&", "\u00a05", "NaN", "Infinity", "\n", "1.", "--1", "1 1", "\0"),
)
TESTS = [
    *(ValueTest(*each) for each in product(("=", "!=", "<", "<=", ">", ">="), NUMBERS)),
    *(
        ValueTest(*each)
        for each in product(("=", "!=", "contains", "starts-with", "ends-with"), TEXTS)
    ),
]


def test_values_imply_each_other_as_in_the_language() -> None:
    kernel = SearchKernel()
    wrong = [
        (known, wanted)
        for known, wanted in product(TESTS, TESTS)
        if kernel.value_implies(known, wanted) is not value_implies(known, wanted)
    ]
    assert wrong == []


def test_what_comparisons_say_together_is_known_to_the_search() -> None:
    rng = Random(4)
    few = (
        "=5",
        "!=5",
        "<5",
        "<=5",
        ">5",
        ">=5",
        "<7",
        ">7",
        "!=7",
        "='5'",
        "!='5'",
        "!='x'",
        "='7'",
    )
    names = ("contains", "starts-with", "ends-with")
    functions = (f"{name}(.,'{text}')" for name in names for text in "5x")
    conditions = [*(f".{each}" for each in few), *functions]
    patterns = [
        parse("/a/b" + "".join(f"[{each}]" for each in rng.sample(conditions, rng.randint(1, 3))))
        for _ in range(120)
    ]
    assert assert_searches_agree(patterns, patterns) > 2_000


@pytest.mark.parametrize("wrong", ["/a", None, 7, b"/a"])
def test_only_patterns_are_searched(wrong: object) -> None:
    search = PatternSearch()
    for refused in (search.add, search.covered_by, search.covering):
        with pytest.raises(TypeError, match="a Pattern is needed here"):
            refused(wrong)  # type: ignore[arg-type]
    assert len(search) == 0


# --- growth ------------------------------------------------------------------------------------


def fresh(number: int) -> Pattern:
    """A pattern with a name, a text and a number of its own."""
    return parse(f"/a/n{number}[@x='{number}'][b>{number}]")


def known_after(search: PatternSearch, turns: int) -> int:
    """The most names and comparisons that were known while patterns came, were sought and went."""
    most = 0
    for number in range(turns):
        pattern = fresh(number)
        search.add(pattern)
        assert search.covered_by(fresh(-number - 1)) == []
        search.remove(pattern)
        most = max(most, search._kernel.terms_known)
    return most


def test_names_and_values_of_the_past_are_forgotten() -> None:
    search = PatternSearch()
    kept = list(map(fresh, range(-1_000_100, -1_000_000)))
    for pattern in kept:
        search.add(pattern)
    assert known_after(search, 4_000) < 12_000
    assert search.covered_by(parse("/a/*[@*]")) != []
    assert texts(search.covered_by(parse("/a"))) == texts(kept)


@pytest.mark.slow
def test_names_and_values_of_the_past_are_forgotten_for_ever() -> None:
    assert known_after(PatternSearch(), 200_000) < 12_000


LEAKS = """
import ctypes, gc, sys
sys.path[:0] = sys.argv[1:]
from test_cover_search import WORK

class Usage(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

measure = ctypes.CDLL(None).mallinfo2
measure.restype = Usage

def largest(work):
    sizes = []
    for _ in range(6):
        work()
        gc.collect()
        usage = measure()
        sizes.append(usage.uordblks + usage.hblkhd)
    return max(sizes)

for name, work in WORK.items():
    before = largest(work)
    print(name, largest(work) - before)
"""


def build_and_drop() -> None:
    rng = Random(6)
    patterns = {parse(random_expression(rng), NAMESPACES) for _ in range(60)}
    for _ in range(4):
        for search in searches_of(patterns)[:2]:
            search.covered_by(parse("//a"))
            search.covering(parse("/a/b[@x='1']/c"))
            with pytest.raises(ValueError, match="deep"):
                search.covering(chain(1_200))


_KEPT = PatternSearch()


def come_and_go() -> None:
    known_after(_KEPT, 500)


WORK = {"whole sets": build_and_drop, "patterns in one set": come_and_go}


def test_nothing_leaks() -> None:
    folders = [str(Path(__file__).parent), str(SUPPORT)]
    told = run([sys.executable, "-c", LEAKS, *folders], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    grown = {line.rpartition(" ")[0]: int(line.split()[-1]) for line in told.stdout.splitlines()}
    assert grown.keys() == WORK.keys()
    assert max(grown.values()) < 50_000, grown
