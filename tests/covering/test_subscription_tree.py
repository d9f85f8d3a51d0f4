"""The subscription tree: it says what covers what, whatever was added and removed before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import permutations, product
from operator import or_
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NAMESPACES, expressions, linear_expressions

from twigcast.covering.pairwise import Prepared
from twigcast.covering.subscription_tree import SubscriptionTree
from twigcast.errors import DuplicateKeyError, UnknownKeyError
from twigcast.language import Pattern, parse

Relation = dict[tuple[Pattern, Pattern], bool]


def tree_of(*texts: str) -> SubscriptionTree:
    """The texts, each its own key."""
    tree = SubscriptionTree()
    for text in texts:
        tree.add(text, parse(text))
    return tree


def below(tree: SubscriptionTree, text: str) -> set[str]:
    return set(map(str, tree.children(parse(text))))


def pointed(tree: SubscriptionTree, text: str) -> set[str]:
    return set(map(str, tree.super_pointers(parse(text))))


# --- the cases of the paper ------------------------------------------------------------------


def test_a_pattern_without_relation_becomes_a_sibling() -> None:
    tree = tree_of("/a/b", "/a/c", "//d")
    assert tree.maximal() == ["/a/b", "/a/c", "//d"]
    assert [depth for depth, _, _ in tree.walk()] == [0, 0, 0]


def test_a_pattern_that_covers_others_goes_between_them_and_their_parent() -> None:
    tree = tree_of("/a", "/a/b/c", "/a/b/d", "/a/c", "/a/b")
    assert below(tree, "/a") == {"/a/b", "/a/c"}
    assert below(tree, "/a/b") == {"/a/b/c", "/a/b/d"}


def test_a_covered_pattern_descends() -> None:
    tree = tree_of("/a", "/a/b", "/a/b/c", "/a/b/c/d")
    assert [(depth, str(pattern)) for depth, pattern, _ in tree.walk()] == [
        (0, "/a"),
        (1, "/a/b"),
        (2, "/a/b/c"),
        (3, "/a/b/c/d"),
    ]


def test_what_a_second_pattern_covers_is_pointed_to() -> None:
    tree = tree_of("//a", "//b", "/a/b")
    assert tree.parent(parse("/a/b")) == parse("//a")
    assert pointed(tree, "//b") == {"/a/b"}
    assert tree.maximal() == ["//a", "//b"]


def test_a_super_pointer_moves_to_the_new_pattern_between() -> None:
    tree = tree_of("//a", "//b", "/a/b", "//b[.=1]", "/a//b")
    assert pointed(tree, "//b") == {"/a//b"}
    assert below(tree, "/a//b") == {"/a/b"}


def test_what_a_covered_pattern_leads_to_is_not_pointed_to_again() -> None:
    tree = tree_of("//a", "//b/c", "/a/b/c", "//b")
    assert below(tree, "//b") == {"//b/c"}
    assert pointed(tree, "//b") == set()


def test_children_of_a_removed_pattern_go_to_its_parent() -> None:
    tree = tree_of("/a", "/a/b", "/a/b/c", "/a/b/d")
    tree.remove("/a/b")
    assert below(tree, "/a") == {"/a/b/c", "/a/b/d"}


def test_a_child_of_a_removed_pattern_goes_to_one_that_points_to_it() -> None:
    tree = tree_of("//a", "//b", "/a/b")
    tree.remove("//a")
    assert tree.parent(parse("/a/b")) == parse("//b")
    assert pointed(tree, "//b") == set()


def test_no_relation_is_lost_with_the_pattern_that_pointed() -> None:
    tree = tree_of("/*/*", "//a", "//b", "//c", "/a/b//c", "/a/b/c")
    tree.remove("/a/b//c")
    assert set(tree.covering(parse("/a/b/c"))) == {"/*/*", "//a", "//b", "//c", "/a/b/c"}
    above = [text for text in ("/*/*", "//a", "//b", "//c") if "/a/b/c" in pointed(tree, text)]
    assert len(above) + 1 == 4  # one of the four is the parent


# --- keys ------------------------------------------------------------------------------------


def test_many_keys_share_a_node() -> None:
    tree = SubscriptionTree()
    for key, text in (("alice", "//a"), ("bob", "//a"), ("carol", "//a/b")):
        tree.add(key, parse(text))
    assert [(str(pattern), keys) for _, pattern, keys in tree.walk()] == [
        ("//a", ("alice", "bob")),
        ("//a/b", ("carol",)),
    ]
    tree.remove("alice")
    assert tree.covering(parse("//a/b")) == ["bob", "carol"]
    tree.remove("bob")
    assert tree.maximal() == ["carol"]


def test_the_tree_is_a_container_of_keys() -> None:
    tree = tree_of("//a", "//b")
    assert (len(tree), list(tree)) == (2, ["//a", "//b"])
    assert "//a" in tree
    assert "//c" not in tree
    assert tree["//b"] == parse("//b")


def test_a_key_is_taken_once() -> None:
    tree = tree_of("//a")
    with pytest.raises(DuplicateKeyError):
        tree.add("//a", parse("//b"))
    assert len(tree) == 1
    assert tree.covering(parse("//b")) == []


@pytest.mark.parametrize("ask", [SubscriptionTree.remove, SubscriptionTree.__getitem__])
def test_an_unknown_key_is_refused(ask: Callable[[SubscriptionTree, str], object]) -> None:
    with pytest.raises(UnknownKeyError):
        ask(tree_of("//a"), "//b")


@pytest.mark.parametrize("name", ["children", "parent", "super_pointers"])
def test_an_unknown_pattern_is_refused(name: str) -> None:
    with pytest.raises(KeyError, match="the pattern //b is not in the tree; nobody subscribes"):
        getattr(tree_of("//a"), name)(parse("//b"))
    for wrong in ("//a", None, ["//a"]):
        kind = type(wrong).__name__
        with pytest.raises(TypeError, match=rf"not {kind}; make one with twigcast\.parse"):
            getattr(tree_of("//a"), name)(wrong)


def test_subscriptions_may_be_texts_and_keys_are_texts() -> None:
    tree = SubscriptionTree()
    tree.add("a", "//p:a", {"p": "urn:p"})
    assert tree["a"] == parse("//Q{urn:p}a")
    assert tree.covering("/Q{urn:p}a/b") == ["a"]
    assert tree.covered_by("/*") == ["a"]
    with pytest.raises(TypeError, match="key"):
        tree.add(1, parse("//a"))  # type: ignore[arg-type]
    assert list(tree) == ["a"]


# --- the order -------------------------------------------------------------------------------


def test_an_absolute_path_of_stars_covers_a_relative_one() -> None:
    for texts in permutations(("/*/*", "a/b", "/*")):
        tree = tree_of(*texts)
        assert below(tree, "/*") == {"/*/*"}
        assert below(tree, "/*/*") == {"//a/b"}
    for texts in permutations(("/*//b", "a/b")):
        assert below(tree_of(*texts), "/*//b") == {"//a/b"}


def test_of_equivalent_patterns_the_later_is_a_child_of_the_earlier() -> None:
    one, other = "/a[b or c]", "/a/b | /a/c"
    assert Prepared(parse(one)).covers(Prepared(parse(other)))
    for first, second in permutations((one, other)):
        tree = tree_of("/a", "/a/b", first, second)
        assert tree.parent(parse(second)) == parse(first)
        assert tree.parent(parse(first)) == parse("/a")
        assert tree.parent(parse("/a/b")) == parse(second)
        assert set(tree.covering(parse(first))) == {"/a", first, second}
        assert set(tree.covered_by(parse(first))) == {"/a/b", first, second}
        tree.remove(first)
        assert tree.parent(parse(second)) == parse("/a")


@pytest.mark.parametrize("never", ["//a[.=1][.=2]", "/x/z[.=1][.=2]", "/*[not(.)]"])
def test_what_never_matches_is_below_everything(never: str) -> None:
    for texts in permutations(("/x", "/y/z", "//b", never)):
        tree = tree_of(*texts)
        assert set(tree.covering(parse(never))) == set(texts)
        assert set(tree.covered_by(parse("/w"))) == {never}
        assert set(tree.maximal()) == {"/x", "/y/z", "//b"}


def test_a_position_and_a_value_keep_what_covers_their_step() -> None:
    for texts in permutations(("/a/b", "/a/b[2]", "/a[b=1]")):
        assert below(tree_of(*texts), "/a/b") == {"/a/b[2]", "/a[b=1]"}


def test_an_empty_tree_answers() -> None:
    tree = SubscriptionTree()
    assert tree.maximal() == tree.covering(parse("//a")) == tree.covered_by(parse("/*")) == []
    assert str(tree) == "(empty)"


# --- random histories, against all pairs -----------------------------------------------------


short_paths = st.lists(
    st.sampled_from(("/a", "//a", "/b", "//b", "/*", "//c")), min_size=1, max_size=3
).map("".join)
"""Paths of which most cover some other."""


@st.composite
def tree_expressions(draw: st.DrawFn) -> str:
    """Trees with values in which many cover many."""
    predicates = ("[b]", "[.//c]", "[b>1]", "[b>2]", "[b=3]", "[@x]", "[@x=1]", "[b/c]", "[b or c]")
    steps = draw(st.lists(st.sampled_from(("a", "a", "b", "*")), min_size=1, max_size=2))
    text = ""
    for step in steps:
        chosen = draw(st.lists(st.sampled_from(predicates), max_size=2, unique=True))
        text += draw(st.sampled_from(("/", "//"))) + step + "".join(chosen)
    return text


def relation_of(patterns: Iterable[Pattern]) -> Relation:
    prepared = [Prepared(pattern) for pattern in patterns]
    return {(p.pattern, q.pattern): p.covers(q) for p, q in product(prepared, repeat=2)}


def closed(relation: Relation, patterns: list[Pattern]) -> Relation:
    """The transitive closure."""
    relation = dict(relation)
    for middle, first, last in product(patterns, repeat=3):
        if relation[first, middle] and relation[middle, last]:
            relation[first, last] = True
    return relation


def led_to(tree: SubscriptionTree, pattern: Pattern) -> set[Pattern]:
    """All that edges lead to; fails if they lead back."""
    found: set[Pattern] = set()
    waiting = [pattern]
    while waiting:
        each = waiting.pop()
        for other in (*tree.children(each), *tree.super_pointers(each)):
            assert other != pattern, "a circle"
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def check_structure(tree: SubscriptionTree, present: list[Pattern]) -> dict[Pattern, set[Pattern]]:
    """What holds for any test of covering; the result is all that edges lead to."""
    walked = [pattern for _, pattern, _ in tree.walk()]
    assert sorted(walked, key=str) == sorted(present, key=str)
    lines: list[Pattern] = []
    for depth, pattern, _ in tree.walk():
        del lines[depth:]
        assert tree.parent(pattern) == (lines[-1] if lines else None)
        lines.append(pattern)
    for node in tree._node_of.values():
        sums = [(each.mentioned, each.levels) for each in (*node.children, *node.points_to)]
        sums.append((node.outline.mentions, node.outline.levels))
        assert node.mentioned == reduce(or_, (mentioned for mentioned, _ in sums))
        assert node.levels == min(levels for _, levels in sums)
    return {pattern: led_to(tree, pattern) for pattern in present}


def check_exactly(tree: SubscriptionTree, present: list[Pattern], relation: Relation) -> None:
    """The edges say what the relation says; ``present`` is in the order of addition."""
    found = check_structure(tree, present)
    for place, p in enumerate(present):
        expected = {
            q
            for at, q in enumerate(present)
            if p != q and relation[p, q] and (not relation[q, p] or place < at)
        }
        assert found[p] == expected
        direct = [*tree.children(p), *tree.super_pointers(p)]
        assert len(direct) == len(set(direct))
        for q in direct:
            assert not any(q in found[other] for other in direct), "an edge that follows"
    tops = [p for p in present if not any(p in found[q] for q in present)]
    assert sorted(tree.maximal()) == sorted(map(str, tops))


def toggle(tree: SubscriptionTree, present: list[Pattern], pattern: Pattern) -> None:
    if pattern in present:
        tree.remove(str(pattern))
        present.remove(pattern)
    else:
        tree.add(str(pattern), pattern)
        present.append(pattern)


def run_history(texts: list[str], toggles: list[int]) -> None:
    """Add the pattern of each number that comes up, or remove it if it is there."""
    patterns = list(dict.fromkeys(parse(text, NAMESPACES) for text in texts))
    relation = relation_of(patterns)
    whole = closed(relation, patterns)
    is_transitive = whole == relation
    known = dict(relation)

    def covers(p: Prepared, q: Prepared) -> bool:
        pair = p.pattern, q.pattern
        if pair not in known:
            known[pair] = p.covers(q)
        return known[pair]

    tree = SubscriptionTree(covers)
    present: list[Pattern] = []
    for number in toggles:
        pattern = patterns[number % len(patterns)]
        toggle(tree, present, pattern)
        above = {q for q in present if str(q) in tree.covering(pattern)}
        under = {q for q in present if str(q) in tree.covered_by(pattern)}
        if is_transitive:
            check_exactly(tree, present, relation)
            assert above == {q for q in present if relation[q, pattern]}
            assert under == {q for q in present if relation[pattern, q]}
        else:
            found = check_structure(tree, present)
            assert all(whole[p, q] for p in present for q in found[p])
            assert all(whole[q, pattern] for q in above)
            assert all(whole[pattern, q] for q in under)
    for pattern in present:
        tree.remove(str(pattern))
    assert (len(tree), list(tree.walk()), tree.maximal()) == (0, [], [])


toggles = st.lists(st.integers(0, 9), min_size=4, max_size=16)


@given(st.lists(st.one_of(short_paths, linear_expressions()), min_size=2, max_size=9), toggles)
def test_histories_of_paths(texts: list[str], toggles: list[int]) -> None:
    run_history(texts, toggles)


@given(st.lists(tree_expressions(), min_size=2, max_size=9), toggles)
def test_histories_of_trees_with_values(texts: list[str], toggles: list[int]) -> None:
    run_history(texts, toggles)


@settings(max_examples=100)
@given(st.lists(expressions(depth=1), min_size=2, max_size=8), toggles)
def test_histories_of_everything(texts: list[str], toggles: list[int]) -> None:
    run_history(texts, toggles)


def test_a_relation_that_only_a_removed_pattern_showed_is_kept_or_missed_but_never_wrong() -> None:
    p, q, r = "/*[.//b][.//c]", "/*//b/c", "//x/b/c"
    for texts in permutations((p, q, r)):
        tree = tree_of(*texts)
        check_structure(tree, [parse(text) for text in texts])
        assert set(tree.covering(parse(q))) == {p, q}
        tree.remove(q)
        assert set(tree.covering(parse(p))) == {p}


@given(st.randoms(use_true_random=False), toggles)
def test_the_structure_survives_a_test_that_is_not_transitive(
    random: Random, toggles: list[int]
) -> None:
    patterns = [parse(f"//a[.={number}]") for number in range(7)]
    relation = {pair: random.random() < 0.4 for pair in product(patterns, repeat=2)}

    def covers(p: Prepared, q: Prepared) -> bool:
        return p.pattern == q.pattern or relation.get((p.pattern, q.pattern), False)

    tree = SubscriptionTree(covers)
    present: list[Pattern] = []
    for number in toggles:
        pattern = patterns[number % len(patterns)]
        toggle(tree, present, pattern)
        check_structure(tree, present)
        tree.covered_by(pattern)


def test_a_test_that_contradicts_itself_makes_no_circle() -> None:
    names = {parse(f"//a[.={number}]"): name for number, name in enumerate("tlrsuvx")}
    # t and s cover x, l too, which is below r; and x is said to cover r.
    pairs = {"tl", "rl", "sr", "sl", "tx", "sx", "lx", "lu", "lv", "tu", "tv", "xr"}

    def covers(p: Prepared, q: Prepared) -> bool:
        return p.pattern == q.pattern or names.get(p.pattern, "?") + names[q.pattern] in pairs

    tree = SubscriptionTree(covers)
    present: list[Pattern] = []
    for pattern in names:
        tree.add(names[pattern], pattern)
        present.append(pattern)
        check_structure(tree, present)


# --- text ------------------------------------------------------------------------------------


def test_the_tree_prints_as_an_outline() -> None:
    tree = tree_of("//a", "//b", "/a/b")
    for key in ("k1", "k2", "k3"):
        tree.add(key, parse("//b"))
    assert str(tree).splitlines() == [
        "//a  (//a)",
        "  /a/b  (/a/b)",
        "//b  (//b, k1, k2 and 1 more)  also covers /a/b",
    ]
    assert repr(tree) == "<SubscriptionTree: 6 subscriptions, 3 distinct, 2 maximal>"


def test_a_long_tree_prints_in_part() -> None:
    tree = tree_of(*(f"/a{number}" for number in range(1234)))
    lines = str(tree).splitlines()
    assert len(lines) == 101
    assert lines[-1] == "… and 1,134 more"


def test_a_chain_of_thousands_needs_no_recursion() -> None:
    tree = SubscriptionTree()
    for number in range(3000, 0, -1):
        tree.add(str(number), parse(f"//a[. > {number}]"))
    assert tree.maximal() == ["1"]
    assert max(depth for depth, _, _ in tree.walk()) == 2999
    assert max(map(len, str(tree).splitlines())) < 200
    assert len(tree.covered_by(parse("//a[. > 1000]"))) == 2001
    assert "left out: 2,700 of 3,000 nodes" in tree.to_svg()
    for number in range(3000, 0, -1):
        tree.remove(str(number))
    assert tree.maximal() == []
