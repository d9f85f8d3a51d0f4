from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from document_trees import lxml_rows, read_rows
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from twigcast.documents import (
    Comment,
    DocumentLimits,
    Element,
    Instruction,
    read_document,
    reader,
)
from twigcast.errors import DocumentError
from twigcast.language import parse

XML = "http://www.w3.org/XML/1998/namespace"

HAND_CASES = (
    "<a/>",
    "<a></a>",
    "<a>text</a>",
    "<?xml version='1.0'?>\n<!-- before --><?p before?><a/><!-- after --><?p after?>\n",
    "<a>x<b/>y<b>z</b></a>",
    "<a>x<!-- c -->y</a>",
    "<a>x<?p i?>y<!-- c --></a>",
    "<a><!-- c --></a>",
    "<a>x<![CDATA[<y>&amp;]]>z</a>",
    "<a>x<![CDATA[]]>z</a>",
    "<a><![CDATA[]]></a>",
    "<a><![CDATA[x]]><![CDATA[y]]></a>",
    "<a><![CDATA[x]]]]><![CDATA[>y]]></a>",
    "<a>&lt;&#65;&#x1F600;&amp;&quot;&apos;&gt;</a>",
    "<a>one\r\ntwo\rthree\nfour&#13;five</a>",
    "<a b='one\r\ntwo\tthree&#10;four  five '/>",
    "<a b='1' c=\"it's &lt;&quot;\"/>",
    "<é ü='ß'>日本語 𝄞</é>",
    "<a xmlns='urn:a'><b c='1'/><b xmlns=''/><b xmlns='urn:b'><c/></b></a>",
    "<p:a xmlns:p='urn:a' p:x='1' x='2'><p:b xmlns:p='urn:b' p:x='3'/><p:c/></p:a>",
    "<a xmlns:p='urn:x' xmlns:q='urn:x'><p:b q:c='1'/></a>",
    "<a xml:lang='de' xml:space='preserve'/>",
    "<a xmlns:p='http://example.org/?a=1&amp;b=2#c'><p:b/></a>",
    "<!DOCTYPE a><a/>",
    "<!DOCTYPE a SYSTEM 'elsewhere.dtd'><a>&amp;</a>",
    "<!DOCTYPE a PUBLIC 'p' 'elsewhere.dtd' [ ]><a/>",
    "<!DOCTYPE a [<!ENTITY e 'text'>]><a>x&e;y<b c='&e;.&e;'/></a>",
    "<!DOCTYPE a [<!ENTITY e '<b>x</b>y'>]><a>&e;<c/>&e;z</a>",
    "<!DOCTYPE a [<!ENTITY e 'x<!-- c -->y'>]><a>1&e;2</a>",
    "<!DOCTYPE a [<!ENTITY e '&f;&f;'><!ENTITY f 'x'>]><a>&e;</a>",
    "<!DOCTYPE a [<!ENTITY e '&#38;lt;&#60;b/&#62;'>]><a>&e;</a>",
    "<!DOCTYPE a [<!ENTITY e 'first'><!ENTITY e 'second'>]><a>&e;</a>",
    "<!DOCTYPE a [<!ENTITY e ''>]><a>x&e;y</a>",
    "<!DOCTYPE a [<!ATTLIST a b CDATA 'x' c NMTOKENS ' one  two '>]><a><a b='y'/></a>",
    "<!DOCTYPE a [<!ATTLIST a b NMTOKEN #IMPLIED c ID #IMPLIED>]><a b='  x  ' c=' i '/>",
    "<!DOCTYPE a [<!ATTLIST a xmlns CDATA #FIXED 'urn:d' xmlns:p CDATA 'p'>]><a p:x=''><b/></a>",
    "<!DOCTYPE a [<!ATTLIST a p:x CDATA 'v' xmlns:p CDATA 'urn:p'>]><a><a p:x='w'/></a>",
    "<!DOCTYPE a [<!ENTITY e 'x'><!ATTLIST a b CDATA '&e;&#38;e;'>]><a/>",
    "<!DOCTYPE a [<!NOTATION n SYSTEM 'n'><!ENTITY u SYSTEM 'u' NDATA n>]><a/>",
    "<!DOCTYPE a [<!ELEMENT a (b|c)*><!ENTITY x SYSTEM 'x'><!ENTITY % p 'q'>]><a/>",
    "<!DOCTYPE a [<?p ]> ?><!-- ]> -->]><a/>",
)


@pytest.mark.parametrize("text", HAND_CASES)
def test_reads_as_libxml2_does(text: str) -> None:
    assert read_rows(text.encode()) == lxml_rows(text.encode())
    assert read_rows(text) == lxml_rows(text.encode())


def test_elements_of_entities_are_in_the_default_namespace_of_the_reference() -> None:
    text = "<!DOCTYPE a [<!ENTITY e '<b/>'>]><a xmlns='urn:a'>&e;<c xmlns='urn:c'>&e;</c></a>"
    names = [element.name for element in read_document(text).elements()]
    assert names == [("urn:a", "a"), ("urn:a", "b"), ("urn:c", "c"), ("urn:c", "b")]


def test_text_nodes_split_at_comments_only() -> None:
    root = read_document("<a>x<!--c-->y<![CDATA[z]]>&amp;<?p?></a>").root
    assert root.children == ["x", Comment("c"), "yz&", Instruction("p", "")]


def test_the_top_of_a_document() -> None:
    document = read_document("<!--1--><!DOCTYPE a [<!--2--><?p in?>]><?p 3?><a/><!--4-->")
    assert document.children == [
        Comment("1"),
        Instruction("p", "3"),
        document.root,
        Comment("4"),
    ]


def test_prefixes_and_namespaces_are_kept_as_written() -> None:
    root = read_document(
        "<p:a xmlns:p='urn:p' xmlns:q='urn:p' xmlns='urn:d' q:x='1' y='2'><b xmlns=''/></p:a>"
    ).root
    (inner,) = root.children
    assert isinstance(inner, Element)
    assert (root.prefix, inner.prefix) == ("p", "")
    assert root.prefixes == {("urn:p", "x"): "q"}
    assert root.namespaces == {"p": "urn:p", "q": "urn:p", "": "urn:d"}
    assert inner.namespaces == {"": ""}


def test_identifiers_are_those_that_the_document_declares() -> None:
    document = read_document(
        "<!DOCTYPE r [<!ATTLIST b i ID #IMPLIED><!ATTLIST p:b p:i ID #IMPLIED>]>"
        "<r xmlns:p='urn:p'><b i=' k1 '/><p:b p:i='k2'/><c i='k3' xml:id='k4'/><b i='k1'/></r>"
    )
    children = document.root.children
    assert list(document.identified) == ["k1", "k2", "k4"]
    assert list(document.identified.values()) == children[:3]


def test_long_text_is_one_node() -> None:
    text = "0123456789é" * 50_000
    assert read_document(f"<a>{text}<b/>{text}</a>").root.children[::2] == [text, text]


def test_names_are_expanded() -> None:
    root = read_document("<p:a xmlns:p='urn:p' xml:id='1' p:b='2' b='3'/>").root
    assert root.name == ("urn:p", "a")
    assert root.attributes == {(XML, "id"): "1", ("urn:p", "b"): "2", ("", "b"): "3"}


def test_parents_lead_to_the_root() -> None:
    document = read_document("<a><b><c/></b>x<d/></a>")
    assert document.root.parent is None
    for element in document.elements():
        for child in element.children:
            assert not isinstance(child, Element) or child.parent is element
    assert [element.name[1] for element in document.elements()] == ["a", "b", "c", "d"]


NAMES = st.sampled_from(("a", "b", "p:a", "q:b", "xml:c", "é"))
ATTRIBUTES = st.sampled_from(("x", "y", "p:x", "q:x", "r:y", "xml:lang"))
DECLARATIONS = st.sampled_from(
    ('xmlns="urn:d"', 'xmlns=""', 'xmlns:p="urn:p"', 'xmlns:q="urn:p"', 'xmlns:q="urn:q"')
)
TEXTS = st.sampled_from(
    ("", "t", " ", "\n", "\r\n", "é", "𝄞", "&lt;", "&#38;", "]]&gt;", "&e;", "&f;", "'", "日本")
)
MARKUP = st.sampled_from(
    ("<!---->", "<!-- & < -->", "<?p?>", "<?p > i?>", "<![CDATA[]]>", "<![CDATA[<&e;]]>")
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> str:
    name = draw(NAMES)
    attributes = draw(st.lists(ATTRIBUTES, max_size=3))  # duplicates and unbound prefixes too
    values = [f' {name}="{draw(TEXTS)}"' for name in attributes]
    declarations = "".join(f" {found}" for found in draw(st.lists(DECLARATIONS, max_size=2)))
    content = st.one_of(TEXTS, MARKUP, elements(depth - 1)) if depth else st.one_of(TEXTS, MARKUP)
    inner = "".join(draw(st.lists(content, max_size=4)))
    return f"<{name}{declarations}{''.join(values)}>{inner}</{name}>"


# No elements in entities here: libxml2 reads them outside any default namespace.
@st.composite
def documents(draw: st.DrawFn) -> str:
    prolog = draw(
        st.sampled_from(
            (
                "",
                "<!DOCTYPE a [<!ENTITY e 'ee'><!ENTITY f '&e;&#38;amp;'>]>",
                "<!DOCTYPE a [<!ENTITY f 'x'><!ENTITY e 'y<!--c-->&f;'><!ATTLIST b x CDATA 'é'>]>",
                "<!DOCTYPE a SYSTEM 'absent.dtd' [<!ENTITY e 'ee'>]>",
            )
        )
    )
    declarations = ' xmlns:p="urn:p" xmlns:q="urn:p" xmlns:r="urn:r"'
    root = draw(elements())
    return f"{prolog}<w{declarations}>{root}</w>" if draw(st.booleans()) else prolog + root


@given(documents())
def test_random_documents_read_as_libxml2_reads_them(text: str) -> None:
    data = text.encode()
    try:
        expected = lxml_rows(data)
    except etree.XMLSyntaxError:
        with pytest.raises(DocumentError):
            read_document(data)
    else:
        assert read_rows(data) == expected


@given(documents(), st.data())
def test_damaged_documents_are_refused_as_libxml2_refuses_them(
    text: str, data: st.DataObject
) -> None:
    damaged = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(damaged)))
        inserted = data.draw(st.sampled_from((b"", b"<", b">", b"&", b";", b"\xff", b'"', b"\0")))
        damaged[position : position + data.draw(st.integers(0, 2))] = inserted
    try:
        expected = lxml_rows(bytes(damaged))
    except etree.XMLSyntaxError as error:
        if "is not a valid URI" in str(error):  # namespace names need not be checked for that
            return
        with pytest.raises(DocumentError):
            read_document(damaged)
    else:
        assert read_rows(damaged) == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("", 1, 1, "no element found"),
        ("<a>", 1, 4, "no element found"),
        ("<a>\n  <b>\n</a>", 3, 3, "mismatched tag"),
        ("<a>é𝄞<b/>& </a>", 1, 11, "invalid token"),
        ("\ufeff<a>é𝄞<b/>& </a>", 1, 11, "invalid token"),
        ("\ufeff<a>\né & </a>", 2, 4, "invalid token"),
        ("<a>\r\n\r  \0</a>", 3, 3, "invalid token"),
        ("<a/>\n<b/>", 2, 1, "junk after document element"),
        ("<a b='1'\n b='2'/>", 2, 2, "duplicate attribute"),
        ("<a><p:b/></a>", 1, 4, "unbound prefix"),
        ("<a xmlns:p='urn:p'><b p:x='' q:y=''/></a>", 1, 20, "unbound prefix"),
        ("<a xmlns:p=''/>", 1, 1, "must not undeclare prefix"),
        ("<a>&b;</a>", 1, 4, "undefined entity"),
        ("<a b='<'/>", 1, 7, "invalid token"),
        ("<a>]]></a>", 1, 6, "invalid token"),
        ("<a>&#31;</a>", 1, 4, "reference to invalid character number"),
        (" <?xml version='1.0'?><a/>", 1, 2, "XML or text declaration not at start of entity"),
        ("<a><!-- -- --></a>", 1, 11, "invalid token"),
    ],
)
def test_errors_name_the_place(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert error.reason == f"the document is not well-formed: {reason}"
    with pytest.raises(DocumentError) as caught:
        read_document(text.encode())
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_separator_cannot_be_smuggled_into_a_name() -> None:
    for smuggled in (reader.SEPARATOR, f"&#{ord(reader.SEPARATOR)};"):
        with pytest.raises(DocumentError):
            read_document(f"<p:a xmlns:p='urn:{smuggled}x'/>")
        with pytest.raises(DocumentError):
            read_document(f"<!DOCTYPE a [<!ENTITY e '{smuggled}'>]><p:a xmlns:p='urn:&e;x'/>")


def test_nothing_waits_for_the_cyclic_collector_but_the_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Watched(Element):
        pass

    monkeypatch.setattr(reader, "Element", Watched)
    broken = ("<a>", "<a><b></a>", "<a><b><c/></b></a>", "<a b='' c=''/>")
    limits = DocumentLimits(depth=2, attributes=1)
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        for text in broken:
            with pytest.raises(DocumentError):
                read_document(text, limits)
        document = read_document("<a/>")
        root = weakref.ref(document.root)
        del document
        assert root() is None  # a tree of one element has no cycle
        gc.collect()
        kinds = {type(found).__name__ for found in gc.garbage}
        assert "pyexpat.xmlparser" not in kinds
        assert "xmlparser" not in kinds
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_memory_stays_the_same_over_many_documents() -> None:
    def blocks_after(count: int) -> int:
        for _ in range(count):
            read_document("<a x='1'>t<b/></a>")
            with pytest.raises(DocumentError):
                read_document("<a x='1'>t<b></a>")
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after(50)
    before = blocks_after(50)
    assert blocks_after(500) - before < 250


def test_missing_entities_are_refused_even_without_the_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "check_entities", lambda *arguments: None)
    for prolog in ("SYSTEM 'absent.dtd'", "[<!ENTITY e SYSTEM 'absent'>]"):
        with pytest.raises(DocumentError, match=r"line 1, column .*never fetched"):
            read_document(f"<!DOCTYPE a {prolog}><a>&e;</a>")


def test_real_documents_read_as_libxml2_reads_them(shared_data: Path) -> None:
    files = sorted((shared_data / "documents").rglob("*.xml"))
    assert len(files) > 500
    refused = []
    for file in files:
        data = file.read_bytes()
        try:
            expected = lxml_rows(data)
        except etree.XMLSyntaxError:
            with pytest.raises(DocumentError):
                read_document(data)
            continue
        try:
            assert read_rows(data) == expected
        except DocumentError:
            refused.append(file.name)
    # An attack: its document type declaration would fetch parameter entities.
    assert all(name.endswith("-xee.xml") for name in refused)


@pytest.mark.parametrize("wrong", [None, 5, [60, 97, 47, 62], {}, Path("a.xml")])
def test_other_types_are_refused_in_words(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a document is bytes or str, not"):
        read_document(wrong)
    with pytest.raises(TypeError, match="a document is bytes or str, not"):
        parse("/a").matches(wrong)
