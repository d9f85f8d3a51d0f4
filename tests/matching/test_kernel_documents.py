"""The compiled kernel reads documents as libxml2 and the plain reader do, and refuses the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from document_trees import Row, lxml_rows, read_rows
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents

from twigcast.documents import DocumentLimits, Source
from twigcast.errors import DocumentError
from twigcast.matching import CompactDocument

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def kernel_rows(document: CompactDocument) -> list[Row]:
    """The document's elements as ``document_trees`` writes them down; checks the arrays as well."""
    nodes = [document.node(index) for index in range(len(document))]
    rows: dict[int, Row] = {}
    assert nodes[0][:3] == ("document", "", "")
    assert nodes[0][3] is None
    for index, (kind, namespace, local, parent, end, depth, value) in enumerate(nodes):
        if parent is None:
            continue
        assert parent < index < end <= nodes[parent][4]
        assert depth == nodes[parent][5] + 1
        if kind == "element":
            rows[index] = ((namespace, local), {}, [], value)
        else:
            assert end == index + 1
        if parent == 0:
            continue
        _, attributes, children, _ = rows[parent]
        if kind == "attribute":
            assert not children
            attributes[namespace, local] = value
        elif kind == "text":
            assert value
            children.append(value)
        elif kind == "element":
            children.append((namespace, local))
    return list(rows.values())


def in_order(rows: list[Row]) -> list[list[tuple[str, str]]]:
    """The names of each element's attributes, in the order in which they come."""
    return [list(attributes) for _, attributes, _, _ in rows]


HAND_CASES = (
    "<a/>",
    "<?xml version='1.0' encoding='utf-8'?>\n<!-- c --><?p i?><a/><!-- c -->\n",
    "<a>x<b/>y<b>z</b></a>",
    "<a>x<!--c-->y<?p i?>z<![CDATA[<u>]]>&amp;v</a>",
    "<a>x<![CDATA[]]>z</a>",
    "<a>one\r\ntwo\rthree\nfour&#13;five</a>",
    "<a b='one\r\ntwo\tthree&#10;four  five ' c=''/>",
    "<é ü='ß'>日本語 𝄞</é>",
    "<a xmlns='urn:a'><b c='1'/><b xmlns=''/><b xmlns='urn:b'><c/></b></a>",
    "<p:a xmlns:p='urn:a' p:x='1' x='2'><p:b xmlns:p='urn:b' p:x='3'/><p:c/></p:a>",
    "<urn xmlns:p='urn'><p:urn p:urn='' urn=''/></urn>",
    "<a xml:lang='de'/>",
    "<!DOCTYPE a SYSTEM 'elsewhere.dtd'><a>&amp;</a>",
    "<!DOCTYPE a [<!ENTITY e 'text'>]><a>x&e;y<b c='&e;.&e;'/></a>",
    "<!DOCTYPE a [<!ENTITY e '<b>x</b>y'>]><a>&e;<c/>&e;z</a>",
    "<!DOCTYPE a [<!ATTLIST a b CDATA 'x' c NMTOKENS ' one  two '>]><a><a b='y'/></a>",
)


@pytest.mark.parametrize("text", HAND_CASES)
def test_reads_as_libxml2_does(text: str) -> None:
    expected = lxml_rows(text.encode())
    for form in (text.encode(), text, bytearray(text.encode()), text.encode("utf-16")):
        assert kernel_rows(CompactDocument(form)) == expected


@given(documents())
def test_reads_random_documents_as_libxml2_does(text: str) -> None:
    rows = kernel_rows(CompactDocument(text))
    expected = lxml_rows(text.encode())
    assert rows == expected
    assert in_order(rows) == in_order(expected)


@pytest.mark.parametrize("kind", ["cap", "iso20022", "newsml", "ubl"])
def test_reads_real_documents_as_the_plain_reader_does(shared_data: Path, kind: str) -> None:
    paths = sorted((shared_data / "documents" / kind).iterdir())[::7]
    assert paths
    for path in paths:
        data = path.read_bytes()
        assert outcome(kernel_rows_of, data) == outcome(read_rows, data), path.name


def kernel_rows_of(data: Source) -> list[Row]:
    return kernel_rows(CompactDocument(data))


def outcome(read: Callable[[Source], list[Row]], data: Source) -> list[Row] | tuple[object, ...]:
    try:
        return read(data)
    except DocumentError as error:
        return error.args


MALFORMED = (
    b"",
    b"<",
    b"<a",
    b"<a>\n  <b></a>",
    b"<a>\xff</a>",
    b"<a>\xc3</a>",
    b"\xef\xbb\xbf<a>\xff</a>",
    b"<?xml version='1.0' encoding='iso-8859-1'?><\xf7/>",
    b"<?xml version='1.0' encoding='utf-8'?><a>\xe4\xf6</a>",
    b"<?xml version='1.0' encoding='nonsense'?><a/>",
    b"<a>\r\n\r\xc3\xa9\xc3\xa9&undeclared;</a>",
    b"<a b='1' b='2'/>",
    b"<p:a/>",
    b"<a>]]></a>",
    b"<a>&#1;</a>",
    b"<a/><b/>",
    b"<!-- -- --><!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
    b"<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
    b"<!DOCTYPE a SYSTEM 'a.dtd'><a>&e;</a>",
    b"<!DOCTYPE a SYSTEM 'a.dtd'><a b='&e;'/>",
    b"<!DOCTYPE a [<!ENTITY e '<b>'>]><a>&e;</b></a>",
)


@pytest.mark.parametrize("data", MALFORMED)
def test_refuses_in_the_words_of_the_plain_reader(data: bytes) -> None:
    refusal = outcome(kernel_rows_of, data)
    assert isinstance(refusal, tuple)
    assert refusal == outcome(read_rows, data)


@given(
    documents(), st.lists(st.tuples(st.integers(0), st.sampled_from(b"<>/!?-&;'\"= a\xc3\xa9\n")))
)
def test_damaged_documents_fare_as_in_the_plain_reader(
    text: str, damages: list[tuple[int, int]]
) -> None:
    damaged = bytearray(text.encode())
    for place, byte in damages:
        damaged[place % len(damaged)] = byte
    data = bytes(damaged)
    expected = outcome(read_rows, data)
    assert outcome(kernel_rows_of, data) == expected
    assert outcome(kernel_rows_of, damaged) == expected


# A document is handed to expat as it is or prepared first; both must be the same document.
PROLOGUES = (
    b"",
    b"\n",
    b"<?xml version='1.0'?>",
    b"<?xml version='1.0' encoding='UTF-8'?>",
    b"<?xml version='1.0' encoding = \"utf-8\" standalone='yes'?>\n",
    b"<?xml version='1.0' encoding='iso-8859-1'?>",
    b"<?xml version='1.0' encoding=\"ISO-8859-1\"?>",
    b"\xef\xbb\xbf<?xml version='1.0' encoding='ISO-8859-1'?>",
    b"<?xml version='1.0' encoding='ISO-8859-15'?>",
    b"<?xml version='1.0' encoding='latin-1'?>",
    b"<?xml version='1.0' encoding='Us-Ascii'?>",
    b"<?xml version='1.0' encoding='us-ascii?>",
    b"<?xml encoding='iso-8859-1'?>",
    b"<?xml version=\"encoding='utf-8'\" encoding='iso-8859-1'?>",
    b"<?xml version='1.0' encoding='utf-7'?>",
    b"<?xml version='1.0' encoding='utf8'?>",
    b"\xef\xbb\xbf",
    b"<!DOCTYPE a [<!ENTITY e 'x'>]>",
    b"<!-- <!DOCTYPE --><?p <!DOCTYPE ?>",
    b"<!-- --> <!DOCTYPE a [<!ENTITY e 'x'>]>",
    b"<?xml-stylesheet encoding='utf-16'?>",
    b"<![CDATA[]]>",
)


@pytest.mark.parametrize("prologue", PROLOGUES)
@pytest.mark.parametrize("body", [b"<a>\xc3\xa9</a>", b"<a>\xe9</a>", b"<a b='&e;'/>", b""])
def test_documents_taken_as_they_are_are_those_that_need_no_preparation(
    prologue: bytes, body: bytes
) -> None:
    data = prologue + body
    expected = outcome(read_rows, data)
    assert outcome(kernel_rows_of, data) == expected
    assert outcome(kernel_rows_of, bytearray(data)) == expected


@pytest.mark.parametrize(
    ("limits", "accepted", "refused"),
    [
        (DocumentLimits(depth=2), "<a><b/><b/></a>", "<a>\n<b><c/></b></a>"),
        (DocumentLimits(attributes=1), "<a x='' xmlns='u'/>", "<a>\n<a x='' y=''/></a>"),
        (DocumentLimits(name_length=4), "<éééé/>", "<a>\n<ééééé/></a>"),
        (DocumentLimits(name_length=4), "<a xmlns='urn'/>", "<a>\n<a xmlns='urns'/></a>"),
        (DocumentLimits(name_length=4), "<a éééé=''/>", "<a>\n<a ééééé=''/></a>"),
        (DocumentLimits(size=10), "<a>123</a>", "<a>1234</a>"),
        (
            DocumentLimits(entity_expansion=4),
            "<!DOCTYPE a [<!ENTITY e '12'>]><a>&e;&e;</a>",
            "<!DOCTYPE a [<!ENTITY e '12'>]><a>&e;&e;&e;</a>",
        ),
    ],
)
def test_limits(limits: DocumentLimits, accepted: str, refused: str) -> None:
    for form in (str.encode, str):
        assert kernel_rows(CompactDocument(form(accepted), limits))
        with pytest.raises(DocumentError) as refusal:
            CompactDocument(form(refused), limits)
        with pytest.raises(DocumentError) as expected:
            read_rows(form(refused), limits)
        assert refusal.value.args == expected.value.args


def test_long_tags_meet_the_limits_before_expat_does() -> None:
    tag = b"<a %s/>" % b" ".join(b"x%d=''" % number for number in range(2_000))
    with pytest.raises(DocumentError, match="more than 1,000 attributes"):
        CompactDocument(b"<a>%s</a>" % tag)
    document = CompactDocument(b"<a>%s</a>" % tag, DocumentLimits(attributes=2_000))
    assert len(document) == 2_003


def test_names_below_a_long_namespace_stay_small() -> None:
    count, namespace = 20_000, "n" * 3_900
    tags = "".join(f"<t{number}/>" for number in range(count))
    document = CompactDocument(f"<a xmlns='{namespace}'>{tags}</a>")
    assert document.node(2)[1:3] == (namespace, "t0")
    assert document.node(count + 1)[1:3] == (namespace, f"t{count - 1}")
    assert document.byte_size < 200 * count
