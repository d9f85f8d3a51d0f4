"""Covering of conditions that are neither branches nor comparisons, and of whole documents."""

from __future__ import annotations

import random

import pytest
from covering_oracle import (
    documents_of,
    matched,
    random_document,
    random_residual,
    random_tree,
    random_wide_expression,
    weakened,
    with_one_more,
)
from strategies import NAMESPACES

from twigcast.covering import CoveringTable, PatternSearch, SubscriptionTree, needed_names
from twigcast.covering.conditions import implies_other
from twigcast.covering.outlines import Outline
from twigcast.covering.pairwise import Prepared, covers, equivalent, overlaps
from twigcast.covering.signatures import signature
from twigcast.errors import CoveringBudgetError, SubscriptionWarning
from twigcast.language import (
    Condition,
    FirstNode,
    Negation,
    Pattern,
    Residual,
    Step,
    parse,
    walk,
)
from twigcast.language.normal import both

pytestmark = pytest.mark.filterwarnings("ignore::twigcast.errors.SubscriptionWarning")


def read(text: str) -> Pattern:
    return parse(text, NAMESPACES)


def wide_patterns(seed: int, count: int) -> list[Pattern]:
    rng = random.Random(seed)
    patterns = [read(random_wide_expression(rng)) for _ in range(count)]
    return [pattern for pattern in patterns if pattern.alternatives]


def condition_of(text: str) -> Condition:
    (alternative,) = parse(f"/a[{text}]").alternatives
    assert isinstance(alternative, Step)
    return both(alternative.conditions)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("//*[.//a]/d", "//*[.//a]/d[a]"),
        ("//*[.//a]/*/d", "//*[.//a]/*/d[a]"),
        ("//b//*[.//a]/d", "//b//*[.//a]/d[a]"),
        ("/*[.//x][.//y]", "//a//b[x][y]"),
        ("/*//x and /*//y", "//b[x][y]"),
        ("//a", "//a and //b"),
        ("//b and //a", "//a[c] and //b and not(//d)"),
        ("/a//b", "/a and //b"),
        ("/a[b][c]", "/a[b] and /*[c]"),
        ("/a//@x", "/a and //@x"),
        ("/*", "not(//a)"),
        ("not(/b)", "/a"),
        ("not(/b) and //c", "/a//c"),
        ("not(//b/c)", "not(//b)"),
        ("//a[count(b)>2]", "//a[count(b)>2][c]"),
        ("//a/b", "//a[count(b)>2]"),
        ("//a[not(count(b)>2)]", "//a[not(b)]"),
        ("count(//b)>2", "/a and count(//b)>2"),
        ("//b", "count(//b)>2"),
        ("//a[count(b)>2 or c]", "//a[count(b)>2]"),
        ("//a[count(b)>2 or c]", "//a[c]"),
        ("//a[contains(b, 'x')]", "//a[starts-with(b, 'x')][c]"),
        ("//a[b]", "//a[string(b) = 'x']"),
        ("//a[not(contains(b, 'x'))]", "//a[not(b)]"),
    ],
)
def test_coverings(p: str, q: str) -> None:
    assert covers(parse(p), parse(q))
    search = PatternSearch()
    search.add(parse(p))
    assert search.covering(parse(q)) == [parse(p)]
    other = PatternSearch()
    other.add(parse(q))
    assert other.covered_by(parse(p)) == [parse(q)]


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("/a//a", "/a and //a"),
        ("//a[count(b)>2]", "//a[count(b)>1]"),
        ("//a[not(b)]", "//a[not(count(b)>2)]"),
        ("not(/b)", "/*"),
        ("not(//b)", "/a"),
        ("//a[string(b) = 'x']", "//a[b = 'x']"),
    ],
)
def test_no_coverings(p: str, q: str) -> None:
    assert not covers(parse(p), parse(q))


def test_overlap_of_whole_documents() -> None:
    assert not overlaps(parse("/a and //b"), parse("/c or not(//b)"))
    assert overlaps(parse("/a and //b"), parse("//c and not(/b)"))
    assert not overlaps(parse("count(//b)>2"), parse("not(//b)"))
    assert equivalent(parse("/a and //b"), parse("/a//b"))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("//a[count(b)>2]", "//a[count(b)>3]"),
        ("//a[count(b)>2]", "//a[count(b)=5]"),
        ("count(//a)>2", "count(//a[c])>3 and //b"),
        ("//a[string-length(b)>2]", "//a[string-length(b)>=3]"),
        ("//a[b*2>10]", "//a[b*2>20]"),
        ("//a[starts-with(concat(b,c),'x')]", "//a[starts-with(concat(b,c),'xy')]"),
        ("//a[b=c]", "//a[b[e]=c]"),
        ("//node()", "//node()[b]"),
        ("//comment()", "//comment()[contains(.,'x')]"),
        ("//a/b[last()]", "//a/b[last()][c]"),
        ("//a/b[last()]", "//a/b[last()]/c[1]"),
        ("(//a)[2]", "(//a)[2][b]"),
        ("(//a)[2]", "(//a)[2]/b"),
        ("//a/following-sibling::b", "//a/following-sibling::b[c]"),
        ("//a[preceding::*]", "//a[preceding::b[c]]"),
        ("//a[following::b>3]", "//a[following::b[c]>5]"),
        ("//a[not(count(b)>3)]", "//a[not(count(b)>2)]"),
        ("//a[not(following::b[c])]", "//a[not(following::b)]"),
    ],
)
def test_expressions_imply_each_other(p: str, q: str) -> None:
    assert covers(parse(p), parse(q))
    assert not covers(parse(q), parse(p))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("//a/b[last()][c]", "//a/b[c][last()]"),
        ("//a/following::b[2]", "//a/following::b[c][2]"),
        ("//a/following::*[2]", "//a/following::b[2][c]/d"),
        ("//a[contains(following::b,'x')]", "//a[following::b='x']"),
        ("//a[contains(following::b,'x')]", "//a[contains(following::b[c],'x')]"),
        ("//a[count(b)<3]", "//a[count(b[c])<3]"),
        ("//a[count(b)!=3]", "//a[count(b[c])!=3]"),
        ("//a[not(following::b[c][d])]", "//a[not(following::b[c][e])]"),
        ("//a[following::b=true()]", "//a[following::b[c]=false()]"),
        ("//a[following::b[xs:decimal(c)>1]]", "//a[following::b[d][xs:decimal(c)>1]]"),
        ("not(count(//@x[xs:integer(.)=1]/b) >= 3)", "not(//c)"),
        ("not(//@x[a = xs:integer(.)][last()])", "not(//c)"),
        ("not(//a[count((b=1)[c]) > 2])", "not(//a[count(b=1) > 2])"),
    ],
)
def test_expressions_that_do_not_imply_each_other(p: str, q: str) -> None:
    assert not covers(parse(p), parse(q))


@pytest.mark.parametrize(
    ("p", "q", "reason"),
    [
        ("//a[count(b)>1]", "//a[count(b)*2>4]", "the expression count(b)"),
        ("/a//a or /a[b]", "/a and //a/b", "a conjunction of paths"),
    ],
)
def test_what_is_not_decided_is_an_error(p: str, q: str, reason: str) -> None:
    with pytest.raises(CoveringBudgetError) as caught:
        covers(parse(p), parse(q), exact=True)
    assert caught.value.reason.startswith(reason)


def test_documents_refute_in_spite_of_expressions() -> None:
    assert not covers(parse("//a[count(b)>2]"), parse("//a"), exact=True)
    assert not covers(parse("//a[b]"), parse("//a[not(count(b)>2)]"), exact=True)


def test_every_covering_is_true_of_documents() -> None:
    rng = random.Random(11)
    patterns = wide_patterns(12, 120)
    patterns += [weakened(rng, pattern) for pattern in patterns]
    documents = [random_document(rng) for _ in range(150)]
    for pattern in patterns[:60]:
        documents += documents_of(rng, pattern, rng.choice(patterns), 2)
    found = matched(patterns, documents)
    shown = 0
    for p, in_p in zip(patterns, found, strict=True):
        for q, in_q in zip(patterns, found, strict=True):
            if p != q and covers(p, q):
                shown += 1
                assert not in_q & ~in_p, (p, q, documents[(in_q & ~in_p).bit_length() - 1])
            if not overlaps(p, q):
                assert not in_q & in_p, (p, q)
    assert shown > 300


def test_a_pattern_covers_itself_with_one_more_condition() -> None:
    rng = random.Random(13)
    patterns = wide_patterns(14, 700)
    patterns += [
        parse(random_tree(rng, ("a", "b", "*", "*"), rng.randint(2, 6))) for _ in range(700)
    ]
    for p in patterns:
        more = [
            random_residual(rng),
            rng.choice(("a", "b", ".//a", "b/a", "*/b", "not(a)", "a or c", "@x", ". > 5")),
            random_tree(rng, ("a", "b", "*"), 3).replace("//", ".//", 1).removeprefix("/"),
        ]
        q = with_one_more(rng, p, condition_of(rng.choice(more)))
        assert covers(p, q), (p, q)
        wider = Pattern((*p.alternatives, *rng.choice(patterns).alternatives))
        assert covers(wider, p), (wider, p)
        assert covers(wider, q), (wider, q)


def test_disjunctions_that_were_not_split() -> None:
    choices = "".join(f"[a{n} or b{n}/c or .//d{n}]" for n in range(8))
    wide, narrow = parse(f"//*{choices}"), parse(f"//*{choices}[e or f][a1]")
    assert covers(wide, narrow)
    assert not covers(narrow, wide)
    search = PatternSearch()
    for pattern in (wide, narrow, parse("//*[a1]"), parse("/*")):
        search.add(pattern)
    for pattern in (wide, narrow, parse("//*[a1]")):
        for mode in ("covering", "covered_by"):
            compare(search, mode, pattern, [wide, narrow, parse("//*[a1]"), parse("/*")])


def compare(search: PatternSearch, mode: str, pattern: Pattern, present: list[Pattern]) -> None:
    answers = getattr(search, mode)(pattern)
    is_above = mode == "covering"
    expected = [q for q in present if (covers(q, pattern) if is_above else covers(pattern, q))]
    assert sorted(map(str, answers)) == sorted(map(str, expected)), (mode, pattern)


def test_searches_find_what_covers_finds() -> None:
    rng = random.Random(15)
    for seed in range(6):
        patterns = wide_patterns(100 + seed, 50)
        patterns += [weakened(rng, pattern) for pattern in patterns]
        patterns = list(dict.fromkeys(patterns))
        search = PatternSearch()
        for pattern in patterns:
            search.add(pattern)
        for pattern in patterns:
            for mode in ("covering", "covered_by"):
                compare(search, mode, pattern, patterns)
        for pattern in patterns[::2]:
            search.remove(pattern)
        for pattern in patterns:
            for mode in ("covering", "covered_by"):
                compare(search, mode, pattern, patterns[1::2])
        for pattern in patterns[1::2]:
            search.remove(pattern)
        assert search.trie_nodes == 0


def test_signatures_rule_out_nothing_wrongly() -> None:
    conditions = [
        each
        for pattern in wide_patterns(16, 250)
        for each in walk(*pattern.alternatives)
        if isinstance(each, Negation | FirstNode | Residual)
    ]
    conditions = list(dict.fromkeys(conditions))
    marks = list(map(signature, conditions))
    ruled_out = 0
    for known, mark in zip(conditions, marks, strict=True):
        for wanted, other in zip(conditions, marks, strict=True):
            if implies_other(known, wanted):
                assert mark.may_imply(other), (known, wanted)
            ruled_out += not mark.may_imply(other)
    assert ruled_out > len(conditions) ** 2 // 2


def test_names_and_outlines_rule_out_nothing_wrongly() -> None:
    rng = random.Random(17)
    patterns = wide_patterns(18, 60)
    patterns += [weakened(rng, pattern) for pattern in patterns]
    prepared = [Prepared(pattern) for pattern in patterns]
    outlines = [Outline(each, impossible=not each.possible) for each in prepared]
    names = [needed_names(pattern) for pattern in patterns]
    for p, first, needs in zip(prepared, outlines, names, strict=True):
        for q, second, offers in zip(prepared, outlines, names, strict=True):
            if p.covers(q):
                assert first.may_cover(second), (p.pattern, q.pattern)
                assert not offers.possible or needs.needs <= offers.offers, (p.pattern, q.pattern)


def test_tables_and_trees_take_all_patterns() -> None:
    table, tree = CoveringTable(), SubscriptionTree()
    patterns = list(dict.fromkeys(wide_patterns(19, 80)))
    for number, pattern in enumerate(patterns):
        table.add(str(number), pattern)
        tree.add(str(number), pattern)
    for pattern in patterns:
        assert pattern in table.forwarded or table.witness(pattern) is not None
    for number in range(len(patterns)):
        table.remove(str(number))
        tree.remove(str(number))
    assert not table.forwarded


@pytest.mark.parametrize(
    "expression",
    ["not(count(/a/@b/c) >= 3)", "not(/@a[position()>1]/text())", "not(/b[self::a][last()])"],
)
def test_what_always_holds_covers_all_in_the_search_too(expression: str) -> None:
    with pytest.warns(SubscriptionWarning, match="every document"):
        always = parse(expression)
    search = PatternSearch()
    search.add(always)
    for asked in ("not(//a)", "//a", "count(//a) > 2"):
        assert covers(always, parse(asked))
        assert search.covering(parse(asked)) == [always]
