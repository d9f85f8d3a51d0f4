"""Counting the paths that patterns match, against enumerating them."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_oracle import NAMES, SmallDtd, selects, small_dtds

from twigcast import Schema, decompose, parse
from twigcast.covering.merging import counting
from twigcast.covering.merging.counting import PathCounter
from twigcast.errors import CountingBudgetError
from twigcast.workload import PathParameters, generate_subscriptions

_STEPS = st.tuples(st.sampled_from(("/", "/", "//")), st.sampled_from((*NAMES, "*", "zoo")))
EXPRESSIONS = st.lists(_STEPS, min_size=1, max_size=4).map(
    lambda steps: "".join(axis + name for axis, name in steps)
)


def matched(expressions: list[str], paths: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    return {path for path in paths if any(selects(each, path) for each in expressions)}


def broader(expression: str, chance: random.Random) -> str:
    """An expression that selects a node on every path on which the given one does."""
    tokens = expression.replace("//", "/~").split("/")[1:]
    return "".join(
        ("//" if token[0] == "~" or chance.random() < 0.3 else "/")
        + ("*" if chance.random() < 0.5 else token.removeprefix("~"))
        for token in tokens
    )


@given(small_dtds(), st.lists(EXPRESSIONS, max_size=4), st.integers(1, 6))
def test_counts_are_those_of_enumeration(dtd: SmallDtd, expressions: list[str], depth: int) -> None:
    paths = list(dtd.leaf_paths(depth))
    counter = PathCounter(Schema.from_dtd(dtd.text, root="a"), depth)
    expected = len(matched(expressions, paths))
    assert counter.count(map(parse, expressions)) == expected
    for each in expressions:  # with what is remembered by now
        assert counter.count([parse(each)]) == len(matched([each], paths))
    assert counter.count(map(parse, expressions)) == expected


@given(small_dtds(), EXPRESSIONS, st.randoms(use_true_random=False))
def test_the_degree_is_the_share_of_paths_that_no_member_matches(
    dtd: SmallDtd, member: str, chance: random.Random
) -> None:
    paths = list(dtd.leaf_paths(5))
    merger = broader(member, chance)
    others = [
        each
        for each in ("/a/b", "/a//c", "/*/a", "//b/*", "/a/b/c")
        if matched([each], paths) <= matched([merger], paths)
    ]
    members = [member, *others]
    schema = Schema.from_dtd(dtd.text, root="a")
    counter = PathCounter(schema, 5)
    degree = counter.degree(parse(merger), map(parse, members))
    all_paths = matched([merger], paths)
    missed = all_paths - matched(members, paths)
    # Of paths that are all longer nothing is known.
    unknown = Fraction(int(schema.overlaps(parse(merger))))
    assert degree == (Fraction(len(missed), len(all_paths)) if all_paths else unknown)
    for threshold in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        if counter.exceeds(parse(merger), [parse(each) for each in members], threshold):
            assert degree > threshold


@given(
    st.dictionaries(
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map(tuple),
        st.integers(0, 20),
        max_size=12,
    ),
    EXPRESSIONS,
    st.randoms(use_true_random=False),
)
def test_weights_make_the_degree_that_of_what_was_seen(
    weights: dict[tuple[str, ...], int], member: str, chance: random.Random
) -> None:
    schema = Schema.from_dtd("".join(f"<!ELEMENT {name} ANY>" for name in NAMES), root="a")
    merger = broader(member, chance)
    bag = Counter(weights)
    seen = sum(bag[path] for path in matched([merger], list(bag)))
    kept = sum(bag[path] for path in matched([member], list(bag)))
    degree = PathCounter(schema, 5, weights).degree(parse(merger), [parse(member)])
    if seen:
        assert degree == Fraction(seen - kept, seen)
    else:
        assert degree == PathCounter(schema, 5).degree(parse(merger), [parse(member)])


def test_weights_may_come_from_documents() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b|c)*><!ELEMENT b EMPTY><!ELEMENT c EMPTY>")
    documents = ("<a><b/><b/><c/></a>", "<a><b/></a>")
    weights = Counter(
        publication.path
        for number, document in enumerate(documents)
        for publication in decompose(document, str(number), distinct=False)
    )
    counter = PathCounter(schema, weights=weights)
    assert counter.degree(parse("/a/*"), [parse("/a/b")]) == Fraction(1, 4)
    assert PathCounter(schema).degree(parse("/a/*"), [parse("/a/b")]) == Fraction(1, 2)


SIBLINGS = "<!ELEMENT r (a|b|c)><!ELEMENT a EMPTY><!ELEMENT b EMPTY><!ELEMENT c (a?)>"


@pytest.mark.parametrize(
    ("merger", "members", "degree"),
    [
        ("/r/*", ["/r/a", "/r/b", "/r/c"], Fraction(0)),
        ("/r/*", ["/r/a", "/r/b"], Fraction(2, 4)),  # /r/c and /r/c/a are missed
        ("/r/*", ["/r/c/a", "/r/b"], Fraction(2, 4)),
        ("/r//a", ["/r/a", "/r/c/a"], Fraction(0)),
        ("/r/*", ["/r/zoo"], Fraction(1)),
        ("/zoo/*", ["/zoo/a", "/zoo/b"], Fraction(0)),  # matches no path, so no false positive
        ("/r/*", [], Fraction(1)),
    ],
)
def test_degrees_of_siblings(merger: str, members: list[str], degree: Fraction) -> None:
    counter = PathCounter(Schema.from_dtd(SIBLINGS))
    assert counter.degree(parse(merger), map(parse, members)) == degree


def test_depth_bounds_the_paths_of_a_recursive_schema() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (a?)>", root="a")
    assert [PathCounter(schema, depth).count([parse("//a/a")]) for depth in (1, 2, 60)] == [
        0,
        1,
        59,
    ]
    assert PathCounter(schema, 200).count([parse("/a/a")]) == 199
    for depth in (0, -1, 201, 10**9):
        with pytest.raises(ValueError, match=f"1 to 200 elements are counted: depth is {depth}"):
            PathCounter(schema, depth)
    for wrong in ("3", 3.0, True, None):
        with pytest.raises(TypeError, match=f"a depth is an int, not {type(wrong).__name__}"):
            PathCounter(schema, wrong)  # type: ignore[arg-type]


def test_where_namespaces_are_open_perfect_is_perfect_in_all_of_them() -> None:
    schema = Schema.from_dtd("<!ELEMENT n:r (n:a|n:b)><!ELEMENT n:a EMPTY><!ELEMENT n:b EMPTY>")
    counter = PathCounter(schema)
    everything = parse("/*:r/*")
    one = {"p": "urn:one"}
    assert counter.count([parse("/p:r/p:a", one)]) == 1
    assert counter.degree(everything, [parse("/*:r/*:a"), parse("/*:r/*:b")]) == 0
    assert counter.degree(everything, [parse("/p:r/p:a", one), parse("/p:r/p:b", one)]) == 1
    assert counter.degree(everything, [parse("/*:r/*:a"), parse("/*:r/p:b", one)]) == Fraction(1, 2)


def test_patterns_that_are_no_paths_are_refused() -> None:
    counter = PathCounter(Schema.from_dtd(SIBLINGS))
    for text in ("/r[a][b]", "/r/@x", "/r/a | /r/b", "/r/b[2]", "/r[not(a)]"):
        with pytest.raises(ValueError, match="only paths"):
            counter.count([parse(text)])


def test_a_single_pattern_and_texts_are_refused() -> None:
    counter = PathCounter(Schema.from_dtd(SIBLINGS))
    pattern = parse("/r/a")
    for single in (pattern, "/r/a", 7):
        for refused in (
            lambda single=single: counter.count(single),
            lambda single=single: counter.degree(pattern, single),
        ):
            with pytest.raises(TypeError, match=f"not one {type(single).__name__}; put it into a"):
                refused()
    for wrong in ("/r/a", None, ["/r/a"]):
        for refused in (
            lambda wrong=wrong: counter.count([pattern, wrong]),
            lambda wrong=wrong: counter.degree(wrong, [pattern]),
            lambda wrong=wrong: counter.degree(pattern, [wrong]),
            lambda wrong=wrong: counter.exceeds(wrong, [pattern], Fraction(0)),
        ):
            with pytest.raises(TypeError, match=f"needed here, not {type(wrong).__name__}"):
                refused()
    with pytest.raises(TypeError, match="a threshold is a Fraction here, not float"):
        counter.exceeds(pattern, [pattern], 0.5)  # type: ignore[arg-type]


def test_a_budget_is_a_number_of_states() -> None:
    counter = PathCounter(Schema.from_dtd(SIBLINGS))
    pattern = parse("/r/a")
    for wrong, error in ((0, ValueError), (-1, ValueError), (True, TypeError), (9.0, TypeError)):
        for refused in (
            lambda wrong=wrong: counter.count([pattern], budget=wrong),
            lambda wrong=wrong: counter.degree(pattern, [pattern], budget=wrong),
            lambda wrong=wrong: counter.exceeds(pattern, [pattern], Fraction(0), budget=wrong),
        ):
            with pytest.raises(error, match="a budget is"):
                refused()


def test_a_counter_is_made_of_a_schema_and_says_what_it_counts() -> None:
    schema = Schema.from_dtd(SIBLINGS)
    for wrong in ("x", None, SIBLINGS):
        with pytest.raises(TypeError, match=r"a Schema is needed here, not .*Schema\.of"):
            PathCounter(wrong)  # type: ignore[arg-type]
    assert repr(PathCounter(schema)) == "<PathCounter: r, paths of up to 10 elements>"
    seen = PathCounter(schema, 1, weights={("r",): 3, ("r", "a"): 1})
    assert repr(seen) == "<PathCounter: r, paths of up to 1 element, 2 observed paths>"


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ({("r", "a"): -1}, ValueError, "not -1"),
        ({("r", "a"): 0.5}, TypeError, "an int, not float"),
        ({("r", "a"): "2"}, TypeError, "an int, not str"),
        ({("r", "a"): True}, TypeError, "an int, not bool"),
        ({"/r/a": 1}, TypeError, "a path is a tuple of names"),
        ({("r", 1): 1}, TypeError, "a path is a tuple of names"),
        ({("r", ("urn:x",)): 1}, TypeError, "a path is a tuple of names"),
        ([("r", "a")], TypeError, "a mapping from paths to how often each was seen, not list"),
    ],
)
def test_weights_that_are_no_counts_of_paths_are_refused(
    weights: dict[tuple[str, ...], int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PathCounter(Schema.from_dtd(SIBLINGS), weights=weights)


def nitf(shared_data: Path) -> Schema:
    return Schema.from_dtd(shared_data / "dtd" / "nitf-2-5.dtd", root="nitf")


def test_a_real_schema_agrees_with_enumeration(shared_data: Path) -> None:
    schema = nitf(shared_data)
    depth = 5
    paths: list[tuple[str, ...]] = []
    level: list[tuple[str, ...]] = [(schema.root,)]
    for _ in range(depth):
        paths += [path for path in level if schema.can_be_leaf(path[-1])]
        level = [(*path, child) for path in level for child in schema.children(path[-1])]
    counter = PathCounter(schema, depth)
    assert counter.count([parse("/*")]) == len(paths) == schema.count_paths(depth, True)
    parameters = PathParameters(length=5, wildcard=0.3, descendant=0.3, shortest=2)
    patterns = list(islice(generate_subscriptions(schema, parameters, seed=3), 60))
    for group in (patterns[place : place + 3] for place in range(0, len(patterns), 3)):
        expected = len(matched([str(pattern) for pattern in group], paths))
        assert counter.count(group) == expected, group


def test_a_count_that_needs_too_many_states_is_refused_and_harms_nothing() -> None:
    schema = Schema.from_dtd("<!ELEMENT a ANY><!ELEMENT b ANY>", root="a")
    # Which of the last eleven elements were an a must be known: 2048 states.
    pattern = parse("//a/*/*/*/*/*/*/*/*/*/*/b")
    counter = PathCounter(schema, 16)
    with pytest.raises(CountingBudgetError, match="budget of 60 states") as caught:
        counter.count([pattern], budget=60)
    assert caught.value.patterns == (str(pattern),)
    for _ in range(2):
        with pytest.raises(CountingBudgetError):
            counter.degree(parse("/a"), [pattern], budget=60)
        with pytest.raises(CountingBudgetError):
            counter.degree(pattern, [], budget=60)
        assert not counter.exceeds(parse("/a"), [pattern], Fraction(0), budget=60)
    assert counter.count([parse("/a/b")], budget=60) == 2**15 - 1
    assert counter.degree(pattern, []) == 1
    assert counter.exceeds(parse("/a"), [pattern], Fraction(0))
    assert counter.count([pattern]) == PathCounter(schema, 16).count([pattern])


def test_what_is_remembered_is_bounded_and_may_be_forgotten(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = nitf(shared_data)
    parameters = PathParameters(wildcard=0.1, descendant=0.1)
    patterns = list(islice(generate_subscriptions(schema, parameters, seed=4), 300))
    counter = PathCounter(schema)
    expected = [counter.count([pattern]) for pattern in patterns]
    monkeypatch.setattr(counting, "MOST_NUMBERS", 2_000)
    forgetful = PathCounter(schema)
    assert [forgetful.count([pattern]) for pattern in patterns] == expected
    most = max(1, len(forgetful._states))
    assert most < len(counter._states) / 4


def test_what_only_longer_paths_match_is_not_called_perfect() -> None:
    schema = Schema.from_dtd(
        "<!ELEMENT a (b)><!ELEMENT b (c|d|e)>"
        "<!ELEMENT c EMPTY><!ELEMENT d EMPTY><!ELEMENT e EMPTY>",
        root="a",
    )
    merger, members = parse("/a/b/*"), [parse("/a/b/c"), parse("/a/b/d")]
    assert PathCounter(schema, 2).degree(merger, members) == 1
    assert PathCounter(schema, 3).degree(merger, members) == Fraction(1, 3)
    assert PathCounter(schema, 2).degree(parse("/x/*"), []) == 0
