from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from twigcast.documents import DocumentLimits, PathPublication, decompose, read_document
from twigcast.errors import DocumentError

TEXT = "<a>t<b><c/>x<d>y</d><c/></b><b/><!-- --><c xmlns='urn:c'><d/></c><b><c/></b></a>"
ALL = ["/a/b/c", "/a/b/d", "/a/b/c", "/a/b", "/a/Q{urn:c}c/Q{urn:c}d", "/a/b/c"]


def test_paths_come_in_document_order() -> None:
    publications = list(decompose(TEXT, "one", distinct=False))
    assert [str(publication) for publication in publications] == ALL
    assert [publication.path_id for publication in publications] == list(range(6))
    assert {publication.document_id for publication in publications} == {"one"}
    assert publications[4].path == (("", "a"), ("urn:c", "c"), ("urn:c", "d"))


def test_distinct_paths_come_where_first_met() -> None:
    publications = list(decompose(TEXT.encode(), "one"))
    assert [str(publication) for publication in publications] == list(dict.fromkeys(ALL))
    assert [publication.path_id for publication in publications] == list(range(4))


def test_a_root_alone_is_a_path() -> None:
    assert list(decompose("<a>text</a>", "x")) == [PathPublication("x", 0, (("", "a"),))]


def test_documents_already_read_and_limits() -> None:
    assert list(decompose(read_document(TEXT), "d")) == list(decompose(TEXT, "d"))
    with pytest.raises(DocumentError, match="2 levels"):
        decompose(TEXT, "d", limits=DocumentLimits(depth=2))


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> str:
    name = draw(st.sampled_from("abc"))
    children = draw(st.lists(trees(depth - 1), max_size=3)) if depth else []
    return f"<{name}>{'t'.join(children)}</{name}>"


def leaf_paths(root: etree._Element) -> list[str]:
    """By libxml2: the names above each element without child elements."""
    return [
        "".join(f"/{ancestor.tag}" for ancestor in (*reversed(list(leaf.iterancestors())), leaf))
        for leaf in root.iter("*")
        if not leaf.xpath("*")
    ]


@given(trees())
def test_decomposition_finds_the_leaves_that_libxml2_finds(text: str) -> None:
    expected = leaf_paths(etree.fromstring(text))
    assert [str(found) for found in decompose(text, "d", distinct=False)] == expected
    assert [str(found) for found in decompose(text, "d")] == list(dict.fromkeys(expected))


def test_real_documents_decompose(shared_data: Path) -> None:
    files = sorted((shared_data / "documents" / "newsml").glob("*.xml"))[:50]
    assert files
    for file in files:
        root = etree.fromstring(file.read_bytes())
        leaves = [leaf for leaf in root.iter("*") if not leaf.xpath("*")]
        publications = list(decompose(file.read_bytes(), file.name, distinct=False))
        assert len(publications) == len(leaves)
        assert {found.path for found in decompose(file.read_bytes(), file.name)} == {
            found.path for found in publications
        }
