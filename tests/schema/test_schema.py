"""Schemas: the element graph, roots, recursion, path counts."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from schema_oracle import ANY, SmallDtd, small_dtds

from twigcast.errors import SchemaError
from twigcast.schema import Schema

REAL = [  # file, root, elements, recursive elements, label paths to depth 10
    ("nitf-2-5.dtd", "nitf", 123, 26, 798_487),
    ("auction.dtd", "site", 77, 5, 1_922),
    ("NewsMLv1.2.dtd", "NewsML", 118, 12, None),
]


@given(small_dtds())
def test_the_graph_is_what_documents_can_have(dtd: SmallDtd) -> None:
    schema = Schema.from_dtd(dtd.text, root="a")
    for name in "abc":
        assert set(schema.children(name)) == dtd.children[name]
        if dtd.words[name]:
            assert schema.can_be_leaf(name) == ("" in dtd.models[name].words)


@given(small_dtds())
def test_counts_and_recursion(dtd: SmallDtd) -> None:
    schema = Schema.from_dtd(dtd.text, root="a")
    for depth in (0, 1, 2, 5, 7):
        assert schema.count_paths(depth) == len(list(dtd.paths(depth)))
        assert schema.count_paths(depth, leaves_only=True) == len(list(dtd.leaf_paths(depth)))
    repeated = {path[-1] for path in dtd.paths(6) if path[-1] in path[:-1]}
    assert schema.recursive_elements == repeated
    assert schema.is_recursive == bool(repeated)


@given(small_dtds())
def test_the_automaton_holds_the_root_to_leaf_paths(dtd: SmallDtd) -> None:
    automaton = Schema.from_dtd(dtd.text, root="a").automaton
    leaf_paths = set(dtd.leaf_paths(5))
    for path in SmallDtd(dict.fromkeys("abc", ANY), {}).paths(5):
        assert automaton.matches_path(path) == (path in leaf_paths)
    assert not automaton.matches_path(())
    assert not automaton.matches_path([("urn:other", "a")])


def test_an_element_that_needs_itself_never_occurs() -> None:
    schema = Schema.from_dtd(
        "<!ELEMENT a (b | c | d)*><!ELEMENT b (b)><!ELEMENT c (d, b)><!ELEMENT d EMPTY>"
    )
    assert schema.children("a") == ("d",)
    assert schema.children("b") == ()
    assert not schema.is_recursive


def test_a_root_that_needs_itself() -> None:
    with pytest.raises(SchemaError, match="no document can be valid: the root 'a'"):
        Schema.from_dtd("<!ELEMENT a (b)><!ELEMENT b (a)>", root="a")


def test_any_holds_every_element_in_order_of_declaration() -> None:
    schema = Schema.from_dtd("<!ELEMENT c EMPTY><!ELEMENT a ANY><!ELEMENT b (#PCDATA)>")
    assert schema.root == "a"
    assert schema.children("a") == ("c", "a", "b")


def test_children_that_are_not_declared_are_empty_leaves() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (ghost, b)><!ELEMENT b EMPTY>")
    assert schema.children("a") == ("ghost", "b")
    assert schema.children("ghost") == ()
    assert schema.can_be_leaf("ghost")
    assert list(schema.elements) == ["a", "b"]


def test_unknown_names_are_refused() -> None:
    schema = Schema.from_dtd("<!ELEMENT a EMPTY>")
    with pytest.raises(SchemaError, match="no element 'z'"):
        schema.children("z")
    with pytest.raises(SchemaError, match="no element 'z' to be the root"):
        Schema.from_dtd("<!ELEMENT a EMPTY>", root="z")


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("<!ELEMENT b EMPTY><!ELEMENT a (b)>", "a"),
        ("<!ELEMENT a (a | b)*><!ELEMENT b (b?)>", "a"),  # contained by itself only
        ("<!ELEMENT r (x)><!ELEMENT x ANY>", "r"),  # ANY names nobody in particular
        ("<!ELEMENT a ANY><!ELEMENT b EMPTY>", "a"),  # but here it decides
    ],
)
def test_a_plain_root_is_found(text: str, root: str) -> None:
    assert Schema.from_dtd(text).root == root


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("<!ELEMENT a (c)><!ELEMENT b (c)><!ELEMENT c EMPTY>", "a, b"),
        ("<!ELEMENT a (b?)><!ELEMENT b (a?)>", "a, b"),  # a cycle without a beginning
        ("<!ELEMENT a EMPTY><!ELEMENT b (c?)><!ELEMENT c (b?)>", "a, b, c"),
        ("".join(f"<!ELEMENT e{number} EMPTY>" for number in range(25)), "e19 and 5 more"),
    ],
)
def test_a_doubtful_root_lists_the_candidates(text: str, candidates: str) -> None:
    with pytest.raises(SchemaError, match=f"pass root= one of: .*{candidates}$"):
        Schema.from_dtd(text)


def test_counting_does_not_enumerate() -> None:
    schema = Schema.from_dtd("<!ELEMENT a ANY><!ELEMENT b ANY>", root="a")
    assert schema.count_paths(1_000) == 2**1_000 - 1
    assert schema.count_paths(1_000, leaves_only=True) == 2**1_000 - 1


def test_a_deeply_nested_dtd() -> None:
    depth = 3_000
    lines = [f"<!ELEMENT e{level} (e{level + 1})>" for level in range(depth)]
    schema = Schema.from_dtd("\n".join([*lines, f"<!ELEMENT e{depth} EMPTY>"]))
    assert schema.root == "e0"
    assert schema.count_paths(depth + 5, leaves_only=True) == 1
    (advertisement,) = schema.advertisements()
    assert str(advertisement).endswith(f"/e{depth}")


def test_what_a_schema_looks_like() -> None:
    text = "<!ELEMENT a (b*)><!ELEMENT b (b?)>"
    assert repr(Schema.from_dtd(text)) == "<Schema a: 2 elements, 1 recursive>"
    assert str(Schema.from_dtd(text).automaton) == ">. 0 a -> 1\n . 1 b -> 1"


def test_a_schema_survives_pickling() -> None:
    schema = Schema.from_dtd("<!ELEMENT a (b*)><!ELEMENT b (b?)>")
    schema.advertisements().take(1)
    again = pickle.loads(pickle.dumps(schema))
    assert again.root == "a"
    assert again.elements == schema.elements


@pytest.mark.parametrize(("file", "root", "elements", "recursive", "paths"), REAL)
def test_real_dtds(
    shared_data: Path, file: str, root: str, elements: int, recursive: int, paths: int | None
) -> None:
    schema = Schema.from_dtd(shared_data / "dtd" / file, root=root)
    assert len(schema.elements) == elements
    assert len(schema.recursive_elements) == recursive
    if paths is not None:
        assert schema.count_paths(10) == paths


def test_the_roots_of_real_dtds(shared_data: Path) -> None:
    assert Schema.from_dtd(shared_data / "dtd" / "nitf-2-5.dtd").root == "nitf"
    with pytest.raises(SchemaError, match="site, income, status, amount"):
        Schema.from_dtd(shared_data / "dtd" / "auction.dtd")


def test_an_expression_that_was_not_parsed_is_refused_in_words() -> None:
    schema = Schema.from_dtd("<!ELEMENT a EMPTY>")
    text: Any = "//a"
    with pytest.raises(TypeError, match=r"make one with twigcast.parse\(\)"):
        schema.overlaps(text)
    with pytest.raises(TypeError, match=r"make one with twigcast.parse\(\)"):
        schema.advertisements().take(1)[0].overlaps(text)
    assert repr(schema.advertisements()) == "<1 advertisements>"


def test_schemas_are_equal_by_what_they_declare() -> None:
    text = "<!ELEMENT a (b?, c)> <!ELEMENT b EMPTY> <!ELEMENT c (#PCDATA)> <!ATTLIST c x CDATA 'y'>"
    schema = Schema.from_dtd(text)
    same = pickle.loads(pickle.dumps(schema))
    assert same == schema
    assert same is not schema
    assert hash(same) == hash(schema)
    assert Schema.from_dtd(text, root="c") != schema
    assert Schema.from_dtd(text.replace("b?", "b*")) != schema
    assert Schema.from_dtd(text.replace("'y'", "'z'")) != schema
    assert schema != text
