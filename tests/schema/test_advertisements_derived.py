"""The advertisements of a schema: every path promised, nothing else where they say so."""

from __future__ import annotations

import random
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_oracle import SmallDtd, small_dtds

from twigcast.schema import Advertisement, Advertisements, Schema

FEWER = settings(max_examples=max(1, settings().max_examples // 4))


def _texts(advertisements: Advertisements) -> list[str]:
    return [str(each) for each in advertisements]


@pytest.mark.parametrize(
    ("dtd", "expected"),
    [
        ("<!ELEMENT a (b, c?)><!ELEMENT b EMPTY><!ELEMENT c (b?)>", ["/a/b", "/a/c", "/a/c/b"]),
        ("<!ELEMENT a (a?)>", ["(/a)+"]),
        ("<!ELEMENT r (a)><!ELEMENT a (a?, b)><!ELEMENT b EMPTY>", ["/r(/a)+/b"]),
        (
            "<!ELEMENT r (u)><!ELEMENT u (x?)><!ELEMENT x (y)><!ELEMENT y (u)>",
            ["/r/u", "/r/u(/x/y/u)+"],
        ),
        (
            "<!ELEMENT r (u)><!ELEMENT u (x)><!ELEMENT x (u?)>",
            ["/r(/u/x)+"],
        ),
        (
            "<!ELEMENT r (a)><!ELEMENT a (a|b)><!ELEMENT b (b|c)><!ELEMENT c EMPTY>",
            ["/r(/a)+(/b)+/c"],
        ),
        (
            "<!ELEMENT r (b)><!ELEMENT b (#PCDATA|i)*><!ELEMENT i (#PCDATA|b)*>",
            ["/r/b", "/r/b(/i/b)+", "/r(/b/i)+"],
        ),
        (
            "<!ELEMENT r (b)><!ELEMENT b (#PCDATA|b|i)*><!ELEMENT i (#PCDATA|b|i)*>",
            ["/r/b", "/r/b/b", "/r/b(/b|/i)+/b", "/r/b/i", "/r/b(/b|/i)+/i"],
        ),
        (  # a cycle within a cycle
            "<!ELEMENT r (b)><!ELEMENT b (c)><!ELEMENT c (c|d)><!ELEMENT d (b?)>",
            ["/r(/b(/c)+/d)+"],
        ),
        ("<!ELEMENT a ANY>", ["(/a)+"]),
    ],
)
def test_plain_schemas_are_written_exactly(dtd: str, expected: list[str]) -> None:
    advertisements = Schema.from_dtd(dtd).advertisements()
    assert sorted(_texts(advertisements)) == sorted(expected)
    assert advertisements.exact
    assert advertisements.complete
    assert advertisements.count() == len(expected)


@FEWER
@given(small_dtds())
def test_every_path_is_promised(dtd: SmallDtd) -> None:
    schema = Schema.from_dtd(dtd.text, root="a")
    advertisements = schema.advertisements()
    made = list(advertisements)
    assert len(set(made)) == len(made) == advertisements.count()
    leaf_paths = set(dtd.leaf_paths(6))
    for path in leaf_paths:
        assert any(each.matches_path(path) for each in made), path
    if advertisements.exact:
        for length in range(1, 6):
            for path in product("abc", repeat=length):
                if path not in leaf_paths:
                    assert not any(each.matches_path(path) for each in made), path
    for each in made:
        assert Advertisement.parse(str(each)) == each


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[str, dict[str, set[str]]]:
    """A DTD of up to seven elements that may all be leaves, and its graph."""
    size = draw(st.integers(4, 7))
    names = [f"e{number}" for number in range(size)]
    graph = {
        name: set(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))) for name in names
    }
    lines = [f"<!ELEMENT {name} ({'|'.join(sorted(graph[name]))})*>" for name in names]
    return "".join(lines), graph


@FEWER
@given(_graphs())
def test_larger_graphs(case: tuple[str, dict[str, set[str]]]) -> None:
    text, graph = case
    advertisements = Schema.from_dtd(text, root="e0").advertisements()
    assert advertisements.count() == sum(1 for _ in advertisements)
    made = advertisements.take(400)
    if len(made) == 400:
        return
    level: list[tuple[str, ...]] = [("e0",)]
    promised = set()
    for _ in range(5):
        promised.update(level)
        level = [(*path, child) for path in level for child in graph[path[-1]]]
    assert all(any(each.matches_path(path) for each in made) for path in promised)
    if advertisements.exact:
        outside = {
            (*path, name) for path in promised for name in graph if name not in graph[path[-1]]
        }
        assert not any(each.matches_path(path) for each in made for path in outside)


def test_a_tangled_component_is_promised_in_full_and_says_so() -> None:
    names = [f"e{number}" for number in range(12)]
    text = "".join(
        f"<!ELEMENT {name} ({'|'.join(names[(at + step) % 12] for step in (1, 3, 4, 7))})*>"
        for at, name in enumerate(names)
    )
    schema = Schema.from_dtd(text, root="e0")
    advertisements = schema.advertisements()
    assert not advertisements.exact
    assert advertisements.complete
    made = list(advertisements)
    assert len(made) == advertisements.count() < 40
    assert {each.kind for each in made} == {"non-recursive", "embedded"}
    assert any(each.matches_path(["e0", "e1", "e5", "e0"]) for each in made)
    assert any(each.matches_path(["e0", "e2", "e5"]) for each in made)  # too much: e0 has no e2
    assert not schema.automaton.matches_path(["e0", "e2", "e5"])


@FEWER
@given(small_dtds(), st.integers(0, 6))
def test_paths_to_a_depth(dtd: SmallDtd, depth: int) -> None:
    schema = Schema.from_dtd(dtd.text, root="a")
    advertisements = schema.advertisements(max_depth=depth)
    expected = {"".join(f"/{name}" for name in path) for path in dtd.leaf_paths(depth)}
    made = _texts(advertisements)
    assert len(made) == len(expected) == advertisements.count()
    assert set(made) == expected
    longer = any(len(path) == depth + 1 for path in dtd.paths(depth + 1))
    assert advertisements.complete is advertisements.exact is (not longer)


def test_iteration_is_lazy_and_repeatable() -> None:
    names = [f"e{number}" for number in range(40)]
    text = "".join(
        f"<!ELEMENT {name} ({'|'.join(names[at + 1 :])})*>" for at, name in enumerate(names[:-1])
    )
    advertisements = Schema.from_dtd(f"{text}<!ELEMENT e39 EMPTY>").advertisements()
    assert advertisements.count() == 2**39
    assert list(islice(advertisements, 3)) == advertisements.take(3)
    assert advertisements.take(0) == []
    assert str(advertisements.take(2)[1]) == "/e0/e1"


def test_depth_bounded_iteration_does_not_wander() -> None:
    """Leaves lie at depth 3 only; below, all paths go on too long to end within the bound."""
    names = "".join(f"<!ELEMENT w{number} (w{number + 1}, v{number + 1})>" for number in range(40))
    other = "".join(
        f"<!ELEMENT v{number} (w{number + 1}, v{number + 1})>" for number in range(1, 40)
    )
    text = f"<!ELEMENT a (b, w0)><!ELEMENT b (c)><!ELEMENT c EMPTY>{names}{other}"
    schema = Schema.from_dtd(f"{text}<!ELEMENT w40 EMPTY><!ELEMENT v40 EMPTY>", root="a")
    assert _texts(schema.advertisements(max_depth=35)) == ["/a/b/c"]


def test_namespaced_schemas_promise_local_names() -> None:
    schema = Schema.from_dtd(
        '<!ELEMENT p:a (p:b)><!ELEMENT p:b EMPTY><!ATTLIST p:a xmlns:p CDATA #FIXED "urn:p">'
    )
    (advertisement,) = schema.advertisements()
    assert str(advertisement) == "/*:a/*:b"
    assert advertisement.matches_path([("urn:p", "a"), ("urn:p", "b")])


def _random_path(schema: Schema, chance: random.Random) -> list[str]:
    path = [schema.root]
    while not schema.can_be_leaf(path[-1]) or (schema.children(path[-1]) and chance.random() < 0.8):
        path.append(chance.choice(schema.children(path[-1])))
    return path


@pytest.mark.parametrize(
    ("file", "root", "exact"), [("auction.dtd", "site", True), ("NewsMLv1.2.dtd", "NewsML", False)]
)
def test_real_dtds(shared_data: Path, file: str, root: str, exact: bool) -> None:
    schema = Schema.from_dtd(shared_data / "dtd" / file, root=root)
    advertisements = schema.advertisements()
    made = list(advertisements)
    assert len(set(made)) == len(made) == advertisements.count()
    assert advertisements.exact is exact
    assert {each.kind for each in made} == {"non-recursive", "simple", "embedded"}
    chance = random.Random(7)
    for _ in range(100):
        path = _random_path(schema, chance)
        assert any(each.matches_path(path) for each in made), path


def test_a_large_real_dtd_is_enumerated_lazily(shared_data: Path) -> None:
    schema = Schema.from_dtd(shared_data / "dtd" / "nitf-2-5.dtd")
    advertisements = schema.advertisements()
    assert advertisements.count() > 100_000
    assert str(advertisements.take(10)[0]) == "/nitf/head"
    to_depth = schema.advertisements(max_depth=10)
    assert to_depth.count() == schema.count_paths(10, leaves_only=True) == 743_942
    assert all(
        schema.automaton.matches_path(str(each)[1:].split("/")) for each in to_depth.take(99)
    )
