"""Covering, equivalence and overlap of two patterns: nothing wrong, and on paths nothing missed."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence

import pytest
from covering_oracle import (
    documents_of,
    matched,
    path_covers,
    random_document,
    random_expression,
    random_path,
    random_tree,
    weakened,
)
from folders import DOCS
from hypothesis import given
from hypothesis import strategies as st
from strategies import NAMESPACES, documents, expressions
from workloads import example

from twigcast.covering.pairwise import Prepared, covers, equivalent, overlaps
from twigcast.language import Pattern, Step, parse
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

NEVER = "/*[not(.)]"


def assert_paths_are_exact(first: Sequence[Pattern], second: Sequence[Pattern]) -> int:
    """Compare with the automata, all with all; how many pairs cover."""
    asked = [(Prepared(pattern), pattern.linear_steps) for pattern in first]
    known = [(Prepared(pattern), pattern.linear_steps) for pattern in second]
    found = 0
    for (p, p_steps), (q, q_steps) in itertools.product(asked, known):
        assert p_steps is not None
        assert q_steps is not None
        answer = p.covers(q)
        assert answer is path_covers(p_steps, q_steps), (p.pattern, q.pattern)
        found += answer
    return found


# --- Paths -------------------------------------------------------------------------------------


def test_all_pairs_of_short_paths_agree_with_automata() -> None:
    edges, names = ("/", "//"), ("a", "b", "*")
    texts = [
        "".join(edge + name for edge, name in zip(slashes, chosen, strict=True))
        for length in (1, 2, 3)
        for slashes in itertools.product(edges, repeat=length)
        for chosen in itertools.product(names, repeat=length)
    ]
    patterns = sorted({parse(text) for text in texts}, key=str)
    found = assert_paths_are_exact(patterns, patterns)
    assert len(patterns) > 150
    assert found > 2_000


@pytest.mark.parametrize(
    ("names", "longest", "seed"),
    [
        (("a", "b", "*", "*"), 7, 1),
        (("a", "*", "*"), 9, 2),
        (("a", "b", "c", "d", "*"), 5, 3),
        (("a", "*:a", "Q{u}a", "Q{u}*", "*:b", "Q{v}b", "*", "*", "Q{}*"), 5, 4),
    ],
)
def test_random_paths_agree_with_automata(names: Sequence[str], longest: int, seed: int) -> None:
    rng = random.Random(seed)
    patterns = [parse(random_path(rng, names, longest)) for _ in range(70)]
    patterns += [weakened(rng, pattern, 0.2) for pattern in patterns[:30]]
    found = assert_paths_are_exact(patterns, patterns)
    assert found > len(patterns) * 3


@pytest.mark.parametrize("seed", range(4))
def test_random_weakened_paths_agree_with_automata(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    for _ in range(400):
        q = parse(random_path(rng, ("a", "b", "*"), 8))
        p = weakened(rng, q, 0.25)
        found += assert_paths_are_exact([p], [q])
        found += assert_paths_are_exact([q], [p])
    assert found > 400


@pytest.mark.slow
def test_many_random_paths_agree_with_automata() -> None:
    rng = random.Random(99)
    for _ in range(15):
        patterns = [parse(random_path(rng, ("a", "b", "*", "*"), 9)) for _ in range(100)]
        assert_paths_are_exact(patterns, patterns)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        pytest.param("/*/*", "a/b", id="an absolute expression covers a relative one"),
        pytest.param("/*", "a", id="the root is there anyway"),
        pytest.param("/*/a//*/c", "/a/a/*//c/b/d", id="whatever stands before c is the star"),
        pytest.param("/a/*", "/a//b", id="an a with a descendant has a child"),
        pytest.param("/a/*/*", "/a//b/c", id="and a grandchild"),
        pytest.param("/a/*//c", "/a//b//c", id="the star is below a and above c"),
    ],
)
def test_coverings_that_the_papers_miss(p: str, q: str) -> None:
    assert covers(parse(p), parse(q))
    assert not covers(parse(q), parse(p))


# --- Trees and values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("//b", "/a[b][c]"),
        ("/a[b]", "/a[b/c]/d"),
        ("/a[.//d]", "/a[b[c//d]]"),
        ("/a[*/c]", "/a[b[c][d]]"),
        ("/a[b or c]", "/a/b"),
        ("/a[b or c]", "/a/b | /a/c[d]"),
        ("/a | /b", "/b[c]"),
        ("/a[b or c][d]", "/a[d][b] | /a[c][d]"),
        ("//@x", "/a/b[@x='1']"),
        ("/*/*/@*", "/a/b/@x"),
        ("//text()", "/a/text()[.='x']"),
        ("/a[b>3]", "/a[b>5]"),
        ("/a/b[.=5]", "/a/b[.>=5][.<=5]"),
        ("/a/b[.>5]", "/a/b[.>=5][.!=5]"),
        ("/a/b[.>5]", "/a/b[.='7'][c]"),
        ("/a[@x>1][@x<9]", "/a/@x[.>2][.<8]"),
        ("/a/@x[.>1][.<9]", "/a[@x>2][@x<8]"),
        ("/a[b>1][b<9]", "/a/b[.>2][.<8]"),
        ("/a/b[not(.<5)]", "/a/b[.>=5]"),
        ("/a/b[not(.<5)]", "/a/b[.='x']"),
        ("/a/b[not(.<5) or c]", "/a/b[.>7]"),
        ("/a[not(b)]", "/a[not(b)][c]"),
        ("/a[not(b/c)]", "/a[not(b)]"),
        ("/a/b[.!=5]", "/a/b[starts-with(., 'EU-')]"),
        ("/a/b", "/a[contains(b, 'x')]"),
        ("/a/b[contains(., 'x')]", "/a[contains(b, 'xy')]"),
        ("/a/b", "/a/b[2]"),
        ("/a/b[position()<4]", "/a/b[2]"),
        ("/a/b[1]", "/a/b"),
        ("/a/b[2]", "/a/b[position()>2]"),
        ("/a/b[2]", "/a/b[3][c]"),
        ("/a/*[2]", "/a/b[2]"),
        ("/a/*[2]", "/a/b[position()>=3][c]"),
        ("/a[not(@x<5)]", "/a[@x>7]"),
        ("/a[not(@x<5)]", "/a[@x='u']"),
        ("/a[not(@x='u')]", "/a[@x='v'][b]"),
        ("/a[not(@x=1)]", "/a[@x!=1]"),
        ("/a[@x][not(@x<5)]", "/a[@x>=5]"),
        ("/a[1]", "/a"),
        ("//text()[.!='']", "//text()"),
        ("/b", "/a[2]"),
        ("/b", "/a/b[.=1][.=2]"),
        ("/b", "/a[@x=1][@x=2]"),
        ("/b", "//text()[.='']"),
        ("/b", "/a[b/c][not(b)]"),
        ("/b", NEVER),
        ("//*:b", "//p:b"),
        ("//p:*", "//p:b/c"),
    ],
)
def test_what_is_covered(p: str, q: str) -> None:
    first, second = parse(p, NAMESPACES), parse(q, NAMESPACES)
    assert covers(first, second)
    assert covers(first, second, exact=True)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("/a/b", "/a//b"),
        ("/a[b/c]", "/a[b][.//c]"),
        ("/a[b[c][d]]", "/a[b/c][b/d]"),
        ("/a/b[.>1][.<9]", "/a[b>1][b<9]"),
        ("/a[@*>1][@*<9]/@x", "/a[@x>1]"),
        ("/a/@*[.>1][.<9]", "/a[@*>1][@*<9]"),
        ("/a/@*:x[.>1][.<9]", "/a[@*:x>1][@*:x<9]"),
        ("/a/b | /a/*/b | /a/*/*/b", "/a//b"),
        ("/a/b[.>=5]", "/a/b[not(.<5)]"),
        ("/a/b[.=5]", "/a/b[.='five']"),
        ("/a/b[.='5']", "/a/b[.=5]"),
        ("/a[not(b)]", "/a"),
        ("/a[not(b)]", "/a[not(b/c)]"),
        ("/a[b!='x']", "/a[not(b='x')]"),
        ("/a[contains(b, 'x')]", "/a/b[contains(., 'x')]"),
        ("/a/b[1][c]", "/a/b[c]"),
        ("/a/b[2]", "/a/b"),
        ("/a/*[2]", "/a/b"),
        ("/a/*[3][c]", "/a/b[2][c]"),
        ("/a/b[2]", "/a/*[2]"),
        ("/a[not(@x<5)]", "/a[@x>3]"),
        ("/a[not(@x<5)]", "/a[@y>7]"),
        ("/a[not(@*<5)]", "/a[@x>7]"),
        ("/a[not(b<5)]", "/a[b>7]"),
        ("/a[not(@x<5)]", "/a/b[@x>7]"),
        ("/a/text()", "/a[.='x']"),
        ("/a[.='x']", "/a[text()='x']"),
        (NEVER, "/a"),
        ("//b", "//p:b"),
    ],
)
def test_what_is_not_covered(p: str, q: str) -> None:
    first, second = parse(p, NAMESPACES), parse(q, NAMESPACES)
    assert not covers(first, second)
    assert not covers(first, second, exact=True)


# --- Laws --------------------------------------------------------------------------------------


def assert_documents_follow(patterns: Sequence[Pattern], written: Sequence[str]) -> int:
    """Of each two, if one covers then documents agree; how many pairs of different ones cover."""
    answers = matched(patterns, written)
    prepared = [Prepared(pattern) for pattern in patterns]
    found = 0
    for (p, in_p), (q, in_q) in itertools.permutations(zip(prepared, answers, strict=True), 2):
        if p.covers(q):
            found += p.pattern != q.pattern
            wrong = in_q & ~in_p
            assert not wrong, (p.pattern, q.pattern, written[wrong.bit_length() - 1])
    return found


@pytest.mark.parametrize("seed", range(10))
def test_documents_follow_coverings(seed: int) -> None:
    rng = random.Random(seed)
    patterns = [parse(random_expression(rng), NAMESPACES) for _ in range(35)]
    patterns += [weakened(rng, pattern) for pattern in patterns]
    written = [random_document(rng) for _ in range(60)]
    for pattern in patterns:
        written += documents_of(rng, pattern, rng.choice(patterns), 2)
    assert assert_documents_follow(patterns, written) > len(patterns) // 2


@given(
    st.lists(expressions(), min_size=2, max_size=2),
    st.lists(documents(2), min_size=1, max_size=1),
    st.integers(0, 2**32),
)
def test_documents_follow_coverings_of_drawn_expressions(
    texts: list[str], written: list[str], seed: int
) -> None:
    rng = random.Random(seed)
    patterns = [parse(text, NAMESPACES) for text in texts]
    patterns += [weakened(rng, pattern) for pattern in patterns]
    for pattern in patterns:
        written = written + documents_of(rng, pattern, rng.choice(patterns), 1)
    assert_documents_follow(patterns, written)


@pytest.mark.parametrize(
    ("parameters", "values"),
    [
        (TreeParameters(wildcard=0.2, descendant=0.2, branching=0.3), None),
        (TreeParameters(height=5, wildcard=0.2, descendant=0.2), ValueParameters(fraction=0.8)),
        (PathParameters(wildcard=0.3, descendant=0.3, shortest=2), None),
    ],
)
def test_documents_follow_coverings_of_workloads(
    parameters: TreeParameters | PathParameters, values: ValueParameters | None
) -> None:
    schema = example("news.dtd")
    rng = random.Random(7)
    generated = generate_subscriptions(schema, parameters, seed=7, values=values)
    patterns = list(itertools.islice(generated, 80))
    patterns += [weakened(rng, pattern) for pattern in patterns]
    stream = generate_documents(schema, DocumentParameters(), seed=7)
    written = [document.decode().split("?>", 1)[1] for document in itertools.islice(stream, 30)]
    for pattern in patterns:
        written += documents_of(rng, pattern, pattern, 1)
    assert assert_documents_follow(patterns, written) > len(patterns)


@pytest.mark.parametrize("seed", range(3))
def test_nearly_all_weakened_patterns_cover(seed: int) -> None:
    rng = random.Random(seed)
    different = found = 0
    for _ in range(600):
        q = parse(random_expression(rng), NAMESPACES)
        p = weakened(rng, q)
        if p != q:
            different += 1
            found += covers(p, q)
    assert different > 300
    assert found > 0.97 * different


def test_covering_is_reflexive_and_transitive() -> None:
    rng = random.Random(11)
    chains = 0
    for _ in range(1_500):
        r = parse(random_expression(rng), NAMESPACES)
        q = weakened(rng, r)
        p = weakened(rng, q)
        assert covers(r, r)
        assert Prepared(r).covers(Prepared(r))
        if covers(p, q) and covers(q, r):
            chains += 1
            assert covers(p, r), (p, q, r)
    assert chains > 1_000


def test_covering_of_trees_is_transitive() -> None:
    rng = random.Random(12)
    patterns = [parse(random_tree(rng, ("a", "b", "*"), rng.randint(1, 4))) for _ in range(130)]
    prepared = [Prepared(pattern) for pattern in patterns]
    below = [sum(1 << k for k, q in enumerate(prepared) if p.covers(q)) for p in prepared]
    for covered in below:
        for place, others in enumerate(below):
            assert not covered >> place & 1 or not others & ~covered


def test_equivalent_is_covering_both_ways() -> None:
    rng = random.Random(13)
    patterns = [parse(random_tree(rng, ("a", "b", "*"), 2)) for _ in range(60)]
    for p, q in itertools.product(patterns, repeat=2):
        assert equivalent(p, q) is (covers(p, q) and covers(q, p))


def test_equivalent_patterns_of_different_normal_form() -> None:
    assert equivalent(parse("/a[@x>1][@x<9]"), parse("/a/@x[.>1][.<9]"))
    assert equivalent(parse("/a/b[1]"), parse("/a/b"))
    assert equivalent(parse("/a[b or c]"), parse("/a/b | /a/c"))
    assert not equivalent(parse("/a[b>1][b<9]"), parse("/a/b[.>1][.<9]"))


# --- Overlap -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ("/a", "/b", False),
        ("/a/b", "/a/c", True),
        ("//b", "/a", True),
        ("/*", "/a", True),
        ("/*:a", "/Q{u}*", True),
        ("/*:a", "/Q{u}b", False),
        ("/a", "/Q{u}a", False),
        ("/a/b", "/*/b/c", True),
        ("/a[@x=1]", "/a[@x=2]", False),
        ("/a[@x=1]", "/a[@x>0]/b", True),
        ("/a[@x=1]", "/a[@y=2]", True),
        ("/a[@x=1]", "/*[.//@x=2]", True),
        ("/a[@*=1]", "/a[@*=2]", True),
        ("/a[.='x']", "/a[.='y']", False),
        ("/a[.>5]", "/a[.<3]", False),
        ("/a[b=1]", "/a[b=2]", True),
        ("/a[not(b)]", "/a/b/c", False),
        ("/a[not(b/c)]", "/a/b", True),
        ("/a | /b", "/b[c]", True),
        ("/a | /b", "/c", False),
        ("/a[b or @x=1]", "/a[@x=2]", True),
        ("/a[@x=1 or @x=3]", "/a[@x=2]", False),
        ("/a[2]", "/a", False),
        ("//a[.=1][.=2]", "//b", False),
        (NEVER, "/a", False),
    ],
)
def test_what_overlaps(p: str, q: str, expected: bool) -> None:
    assert overlaps(parse(p), parse(q)) is expected
    assert overlaps(parse(q), parse(p)) is expected


@pytest.mark.parametrize("seed", range(3))
def test_patterns_that_share_a_document_overlap(seed: int) -> None:
    rng = random.Random(seed)
    patterns = [parse(random_expression(rng), NAMESPACES) for _ in range(90)]
    written = [random_document(rng) for _ in range(100)]
    for pattern in patterns:
        written += documents_of(rng, pattern, rng.choice(patterns), 2)
    apart = 0
    answers = matched(patterns, written)
    for (p, in_p), (q, in_q) in itertools.product(zip(patterns, answers, strict=True), repeat=2):
        if not overlaps(p, q):
            apart += 1
            assert not in_p & in_q, (p, q)
    assert apart > 300


def test_paths_overlap_exactly_where_the_roots_agree() -> None:
    rng = random.Random(5)
    patterns = [parse(random_path(rng, ("a", "b", "*", "Q{u}*", "*:a"), 3)) for _ in range(60)]
    for p, q in itertools.product(patterns, repeat=2):
        first, second = p.alternatives[0], q.alternatives[0]
        assert isinstance(first, Step)
        assert isinstance(second, Step)
        anchored = first.text[:2] != "//" and second.text[:2] != "//"
        names = [("", "a"), ("", "b"), ("u", "a"), ("u", "b"), ("v", "a"), ("v", "z"), ("", "z")]
        agree = any(first.test.accepts(*name) and second.test.accepts(*name) for name in names)
        assert overlaps(p, q) is (agree or not anchored), (p, q)


# --- Arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [covers, equivalent, overlaps])
@pytest.mark.parametrize("wrong", ["/a", None, ["/a"]])
def test_only_patterns_are_compared(function: object, wrong: object) -> None:
    assert callable(function)
    for arguments in ((wrong, parse("/a")), (parse("/a"), wrong)):
        with pytest.raises(TypeError, match=r"make one with twigcast\.parse"):
            function(*arguments)
    with pytest.raises(TypeError, match=r"make one with twigcast\.parse"):
        Prepared(wrong)  # type: ignore[arg-type]


# --- The page ----------------------------------------------------------------------------------

PAGE = DOCS / "covering.md"
ROW = re.compile(r"^\| (`.*?) \| (`.*?) \| (yes|no|with `exact=True`) \|", re.MULTILINE)


def test_the_examples_of_the_page() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == 19
    for cells in rows:
        p, q = (parse(cell.replace("`", "").replace("&#124;", "|")) for cell in cells[:2])
        assert covers(p, q) is (cells[2] == "yes"), (p, q)
        assert covers(p, q, exact=True) is (cells[2] != "no"), (p, q)
