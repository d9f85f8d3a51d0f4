"""A skeleton has the label paths of its document, each once, and is written in one way only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import parse_tree
from strategies import documents

from twigcast.documents import DocumentLimits
from twigcast.errors import DocumentError
from twigcast.matching import (
    LARGEST_SKELETON,
    SKELETON_LIMITS,
    CompactDocument,
    Matcher,
    Skeleton,
    skeletons_of,
)

if TYPE_CHECKING:
    from pathlib import Path

XML_SPACE = "{http://www.w3.org/XML/1998/namespace}"


def skeleton_of(document: str | bytes, largest: int = LARGEST_SKELETON) -> Skeleton:
    batch = skeletons_of([document], largest=largest)
    assert not batch.errors
    assert batch.numbers == [0]
    return batch.skeletons[0]


def text_of(document: str | bytes) -> str:
    text = skeleton_of(document).text
    assert text is not None
    return text.decode()


def paths_of(document: str | bytes) -> list[str]:
    """The label paths of all nodes, as libxml2 reads them, in document order."""
    paths: list[str] = []
    for element in parse_tree(document).iter("*"):
        path = "/".join(
            ["", *(str(above.tag) for above in [*element.iterancestors()][::-1]), str(element.tag)]
        )
        paths.append(path)
        paths.extend(f"{path}/@{name!s}" for name in element.attrib)
    return paths


@pytest.mark.parametrize(
    ("document", "skeleton"),
    [
        ("<a/>", "<a/>"),
        ("<a>text<!-- c --><?p i?></a>", "<a/>"),
        ('<a><b x="1">p</b><b><c/></b></a>', '<a><b x=""><c/></b></a>'),
        ("<a><c/><b/><c><b/></c></a>", "<a><b/><c><b/></c></a>"),
        ("<a y='1' x='2'><a y='1'/><a x='2'/></a>", '<a x="" y=""><a x="" y=""/></a>'),
        ("<a xmlns='urn:a'><b xmlns=''/></a>", '<n0:a xmlns:n0="urn:a"><b/></n0:a>'),
        (
            "<a xmlns:p='urn:z' xmlns:q='urn:y' p:x=''><q:b/><b/></a>",
            '<a xmlns:n0="urn:y" xmlns:n1="urn:z" n1:x=""><b/><n0:b/></a>',
        ),
        ("<a xmlns:unused='urn:a' xml:lang='de'><xml:b/></a>", '<a xml:lang=""><xml:b/></a>'),
        (
            "<a xmlns='1 &amp;&lt;&quot;&#9;&#10;&#13;>'/>",
            '<n0:a xmlns:n0="1 &amp;&lt;&quot;&#9;&#10;&#13;>"/>',
        ),
        ("<é ü='ß'/>", '<é ü=""/>'),
        ("<!DOCTYPE a [<!ENTITY e '<b/>'><!ATTLIST b c CDATA 'd'>]><a>&e;</a>", '<a><b c=""/></a>'),
    ],
)
def test_what_a_skeleton_looks_like(document: str, skeleton: str) -> None:
    assert text_of(document) == skeleton
    assert text_of(document.encode("utf-16")) == skeleton


@given(documents())
def test_a_skeleton_has_the_paths_of_its_document_each_once(document: str) -> None:
    skeleton = text_of(document)
    paths = paths_of(skeleton)
    assert len(set(paths)) == len(paths)
    assert set(paths) == set(paths_of(document))
    assert text_of(skeleton) == skeleton


@given(st.lists(documents(depth=2), min_size=2, max_size=8))
def test_skeletons_are_equal_exactly_if_the_sets_of_paths_are(several: list[str]) -> None:
    batch = skeletons_of(several)
    sets = [frozenset(paths_of(document)) for document in several]
    assert len(batch.skeletons) == len(set(sets)) == len({one.text for one in batch.skeletons})
    for one, number in zip(sets, batch.numbers, strict=True):
        for other, other_number in zip(sets, batch.numbers, strict=True):
            assert (one == other) == (number == other_number)
    # In a batch or alone makes no difference.
    for document, number in zip(several, batch.numbers, strict=True):
        assert batch.skeletons[number] == skeleton_of(document)


def test_the_name_of_the_root_is_told() -> None:
    assert skeleton_of("<a><b/></a>") == Skeleton(b"<a><b/></a>", "", "a")
    named = skeleton_of("<p:é xmlns:p='urn:p'/>")
    assert (named.namespace, named.local) == ("urn:p", "é")


def test_bad_documents_are_refused_as_a_matcher_refuses_them() -> None:
    bad: list[bytes | None] = [
        b"<a/>",
        b"<a><b></a>",
        None,
        b"",
        b"<a>&e;</a>",
        b"<!DOCTYPE a [<!ENTITY e SYSTEM 'f'>]><a>&e;</a>",
        b"<a>" * 600 + b"</a>" * 600,
        b"<b/>",
    ]
    expected = Matcher().match_batch(bad).errors
    assert set(expected) == {1, 2, 3, 4, 5, 6}
    for given_as in (bad, pyarrow.array(bad, pyarrow.binary())):
        batch = skeletons_of(given_as)
        assert {at: error.args for at, error in batch.errors.items()} == {
            at: error.args for at, error in expected.items()
        }
        assert batch.numbers == [0, -1, -1, -1, -1, -1, -1, 1]
        assert [one.text for one in batch.skeletons] == [b"<a/>", b"<b/>"]


@pytest.mark.parametrize(
    ("limits", "refused"),
    [
        (DocumentLimits(depth=2), "<a><b><c/></b></a>"),
        (DocumentLimits(attributes=1), "<a x='' y=''/>"),
        (DocumentLimits(name_length=4), "<ééééé/>"),
        (DocumentLimits(size=3), "<ab/>"),
    ],
)
def test_limits(limits: DocumentLimits, refused: str) -> None:
    (error,) = skeletons_of([refused], limits).errors.values()
    with pytest.raises(DocumentError) as expected:
        CompactDocument(refused, limits)
    assert error.args == expected.value.args


def test_a_skeleton_that_is_too_large_is_not_written() -> None:
    names = [f"name{number}" for number in range(1000)]
    wide = "<a>" + "".join(f"<{name}/>" for name in names) + "</a>"
    backwards = "<a>" + "".join(f"<{name}/>" for name in reversed(names)) + "</a>"
    size = len(text_of(wide))
    assert size == len(wide)
    for document in (wide, backwards):
        assert skeleton_of(document, largest=size).text is not None
        assert skeleton_of(document, largest=size - 1) == Skeleton(None, "", "a")
    batch = skeletons_of([wide, "<b/>", backwards, f"<b>{wide}</b>", wide], largest=1000)
    assert batch.numbers == [0, 1, 0, 2, 0]
    assert [(one.text, one.local) for one in batch.skeletons] == [
        (None, "a"),
        (b"<b/>", "b"),
        (None, "b"),
    ]
    spaces = "".join(f"<b xmlns='{'u' * 90}{number}'/>" for number in range(20))
    assert skeleton_of(f"<a>{spaces}</a>", largest=1500) == Skeleton(None, "", "a")
    # What comes behind is still read.
    broken = wide.removesuffix("</a>") + "</b>"
    assert set(skeletons_of([broken], largest=1000).errors) == {0}


def test_two_hundred_thousand_paths_cost_no_more_than_parsing() -> None:
    document = ("<a>" + "".join(f"<b{n}/>" for n in range(200_000)) + "</a>").encode()
    start = time.process_time()
    CompactDocument(document)
    parsing = time.process_time() - start
    start = time.process_time()
    assert skeleton_of(document).text is None
    assert time.process_time() - start < 5 * parsing + 0.05


def test_more_attributes_than_one_element_may_have_can_be_asked_for() -> None:
    halves = [" ".join(f"x{n}=''" for n in range(900 * half, 900 * (half + 1))) for half in (0, 1)]
    text = skeleton_of("".join(["<a>", *(f"<b {half}/>" for half in halves), "</a>"])).text
    assert text is not None
    with pytest.raises(DocumentError):
        CompactDocument(text)
    matcher = Matcher(limits=SKELETON_LIMITS)
    matcher.add("first", "/a/b[@x0][@x1799]")
    matcher.add("none", "/a/b[@x1800]")
    assert matcher.match(text) == ["first"]


def test_many_kinds_of_paths_do_not_fill_the_memory_of_a_batch() -> None:
    # Paths are forgotten from time to time; what is told of each document is the same.
    batch = skeletons_of(
        [
            "<a>" + "".join(f"<n{number}_{n}{'x' * 400}/>" for n in range(150)) + "</a>"
            for number in range(700)
        ]
    )
    assert len(batch.skeletons) == 700
    assert batch.numbers == list(range(700))
    assert batch.skeletons[699].text is not None


@pytest.mark.parametrize("kind", ["cap", "iso20022", "newsml", "ubl"])
def test_real_documents(shared_data: Path, kind: str) -> None:
    files = sorted((shared_data / "documents" / kind).iterdir())[::3]
    batch = skeletons_of([file.read_bytes() for file in files])
    assert files
    for at, file in enumerate(files):
        if at in batch.errors:
            continue
        text = batch.skeletons[batch.numbers[at]].text
        assert text is not None
        assert set(paths_of(text)) == set(paths_of(file.read_bytes())), file.name
