"""Rows of a file that is cut without understanding it, against lxml on the whole; without Spark."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.errors import PipelineError
from twigcast.pipeline.sources import rowscan
from twigcast.pipeline.sources.documents import SourceRow
from twigcast.pipeline.sources.heads import Head, _head
from twigcast.pipeline.sources.rowhead import RowHead, UnreadableHeadError, find_head
from twigcast.pipeline.sources.rows import INCOMPLETE, RowDocuments

URL = "file:/in/feed.xml"


def head_of(data: bytes, element: str) -> RowHead:
    head = find_head(URL, element, [Head(data, True)])
    assert head is not None
    return head


def cut(data: bytes, separator: bytes, places: list[int]) -> list[tuple[int, list[bytes]]]:
    """Blocks of pieces as Hadoop makes them.

    Its reader drops what comes before the first separator of a block, and reads on past the end: a
    piece belongs to the block in which the separator before it starts.
    """
    starts = [0, *sorted({place for place in places if 0 < place < len(data)})]
    blocks = []
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        place = start
        if start:
            found = data.find(separator, start)
            place = found + len(separator) if found >= 0 else len(data)
        pieces = []
        while place < len(data) and (place == 0 or place - len(separator) < end):
            found = data.find(separator, place)
            stop = found if found >= 0 else len(data)
            pieces.append(data[place:stop])
            place = stop + len(separator)
        blocks.append((start, pieces))
    return blocks


def read(data: bytes, element: str, places: list[int] | None = None) -> list[SourceRow]:
    """The rows of a file that is cut at these places."""
    head = head_of(data, element)
    documents = RowDocuments({URL: head})
    blocks = cut(data, head.scanner.separator, places or [])
    return [
        found
        for start, pieces in blocks
        for found in documents.of_block(URL, start, len(blocks) == 1, pieces)
    ]


def canonical(data: bytes) -> bytes:
    return etree.tostring(etree.fromstring(data), method="c14n")


def subtrees(data: bytes, name: str) -> list[bytes]:
    return [etree.tostring(row, method="c14n", with_tail=False) for row in rows(data, name)]


def rows(data: bytes, name: str) -> Iterator[etree._Element]:
    return etree.fromstring(data).iter(name)


def assert_equal_to_lxml(
    data: bytes, element: str, name: str, places: list[int] | None = None
) -> None:
    found = read(data, element, places)
    assert [one.problem for one in found] == [None] * len(found)
    assert [canonical(one.content or b"") for one in found] == subtrees(data, name)
    assert len({one.id for one in found}) == len(found)


TEXTS = st.sampled_from(
    [
        "",
        "one",
        " ",
        "a &gt; b",
        "é",
        "&amp;",
        "]]",
        "/>",
        "row",
        "&#60;row&#62;",
        "<b/>",
        "<!-- - -->",
    ]
)
VALUES = st.sampled_from(["", "1", "a > b", "/>", "&lt;row>", "'", "é", "xmlns=", "&lt;/row>"])


@st.composite
def contents(draw: st.DrawFn) -> str:
    text = draw(TEXTS)
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return f"<p:item a='{draw(VALUES).replace(chr(39), '')}'>{text}</p:item>"
    if kind == 1:
        return "<![CDATA[<row> & </rows> <p:row>]]>"
    if kind == 2:
        return "<!-- <row a='1'> </rows> -->"
    if kind == 3:
        return "<?do <row> ?>"
    if kind == 4:
        return f"<rowspan xmlns=''>{text}</rowspan>"
    return text


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file with rows: empty ones and others, siblings, comments, namespaces."""
    only_empty = draw(st.booleans())
    parts = []
    for _ in range(draw(st.integers(1, 12))):
        attributes = "".join(
            f' {name}{draw(st.sampled_from(["=", " = "]))}"{draw(VALUES)}"'
            for name in draw(st.lists(st.sampled_from(["a", "b", "p:c"]), unique=True))
        )
        attributes += draw(st.sampled_from(["", "", " xmlns='urn:own'", "\n\txmlns:p='urn:p2'"]))
        if only_empty or draw(st.booleans()):
            parts.append(f"<row{attributes}{draw(st.sampled_from(['', ' ', chr(10)]))}/>")
        else:
            inner = "".join(draw(st.lists(contents(), max_size=4)))
            parts.append(f"<row{attributes}>{inner}</row>")
        parts.append(
            draw(
                st.sampled_from(
                    ["", "\n", "<!-- c -->", "<other>t</other>", "<o xmlns='x'><i/></o>"]
                )
            )
        )
    space = draw(st.sampled_from(["", " "]))
    return (
        draw(st.sampled_from(["", "<!DOCTYPE rows [<!ENTITY e 'x'>]>\n", "<!-- <row/> -->"]))
        + "<rows xmlns='urn:a' xmlns:p='urn:p'><p:group xmlns:q=\"urn:'&amp;\">"
        + "".join(parts)
        + f"</p:group></rows{space}>\n"
    )


def own_rows(data: bytes) -> list[bytes]:
    """The subtrees of rows, whatever their namespace."""
    return [
        etree.tostring(row, method="c14n", with_tail=False)
        for row in etree.fromstring(data).iter("{*}row")
    ]


@given(files(), st.lists(st.integers(0, 1_500), max_size=5))
def test_rows_are_lxmls_subtrees_wherever_the_file_is_cut(text: str, places: list[int]) -> None:
    data = text.encode()
    head = head_of(data, "row")
    if head.scanner.at_start and b"<rowspan" in data:
        return
    # Spark's blocks are far larger than what comes before the first row.
    found = read(data, "row", [place for place in places if place > head.first])
    assert [one.problem for one in found] == [None] * len(found)
    assert [canonical(one.content or b"") for one in found] == own_rows(data)
    assert len({one.id for one in found}) == len(found)


@given(files(), st.integers(0, 2_000))
def test_a_truncated_file_gives_only_whole_rows(text: str, length: int) -> None:
    data = text.encode()
    part = data[: min(length, len(data) - 8)]
    try:
        head = find_head(URL, "row", [Head(data[: data.index(b"</p:group>")], False)])
    except PipelineError:
        return
    assert head is not None
    documents = RowDocuments({URL: head})
    pieces = part.split(head.scanner.separator)
    # Like Hadoop: no piece after a separator at the very end.
    found = list(documents.of_block(URL, 0, True, pieces if pieces[-1] else pieces[:-1]))
    whole = own_rows(data)
    good = [canonical(one.content) for one in found if one.content is not None]
    assert good == whole[: len(good)]
    if len(part) > head.first + 4:
        assert found[-1].problem == INCOMPLETE


def test_what_a_row_inherits_comes_along() -> None:
    text = """<?xml version="1.0" encoding="ISO-8859-2"?>
<!DOCTYPE feed SYSTEM "x.dtd" [<!ENTITY e "caf\u00e9 ]>"> <!-- ] --> <!ATTLIST p:row d CDATA "v">] >
<feed xmlns="urn:a" xmlns:q="urn:q" xmlns:n="urn:'&amp;">
 <x xmlns:q="urn:other"><list xmlns:p="urn:p" xmlns=""><p:row>\u0159 &e;<q:b/></p:row>
 <p:row xmlns="urn:z" xmlns:q = 'urn:own' a="xmlns:n=">z</p:row></list></x></feed>"""
    data = text.encode("iso-8859-2")
    assert_equal_to_lxml(data, "p:row", "{urn:p}row", [400])
    [first, _] = read(data, "p:row")
    assert first.content is not None
    assert first.content.startswith(b'<?xml version="1.0" encoding="ISO-8859-2"?><!DOCTYPE p:row [')


@pytest.mark.parametrize("encoding", ["windows-1252", "Shift_JIS", "GB18030", "EUC-JP", "koi8-r"])
def test_encodings_that_extend_ascii_can_be_cut(encoding: str) -> None:
    text = {"windows-1252": "é€", "koi8-r": "жук"}.get(encoding, "表示ソ")
    data = (
        f"<?xml version='1.0' encoding='{encoding}'?><r t='{text}'>"
        f"<row a='{text}'>{text}</row><row>2</row></r>"
    ).encode(encoding)
    found = [one.content or b"" for one in read(data, "row", [70])]
    assert [etree.fromstring(one).text for one in found] == [text, "2"]


def test_a_byte_order_mark_does_not_move_the_first_row() -> None:
    data = b"\xef\xbb\xbf<r><row>1</row><row>2</row></r>"
    assert [one.content for one in read(data, "row")] == [b"<row>1</row>", b"<row>2</row>"]
    head = head_of(data, "row")
    # Hadoop takes the mark away.
    stripped = RowDocuments({URL: head}).of_block(URL, 0, True, data[3:].split(b"</row>"))
    assert [one.content for one in stripped] == [b"<row>1</row>", b"<row>2</row>"]


@pytest.mark.parametrize(
    ("text", "good", "reason"),
    [
        ("<row>1</row ><row>2</row><row>3</row>", ["3"], rowscan.SPACED),
        ("<row>1</row><row>2</row\n>", ["1"], rowscan.SPACED),
        ("<row>1<row>2</row>3</row><row>4</row>", ["4"], rowscan.NESTED),
        ("<row>1</row><row><row/>2</row>", ["1"], rowscan.NESTED),
        ("<row><![CDATA[</row>]]></row><row>4</row>", ["4"], rowscan.OPEN),
        ("<row><!-- </row> --></row><row>4</row>", ["4"], rowscan.OPEN),
        ("<row>1</row><g xmlns='urn:g'><row>2</row></g>", ["1"], rowscan.FOREIGN),
        ("<row a='1'/><g xmlns='urn:g'><row a='2'/></g>", [None], rowscan.FOREIGN),
        ("<row a='1'/><row>1<rowspan>2</rowspan></row>", ["1"], None),
    ],
)
def test_a_row_that_cannot_be_cut_says_why(
    text: str, good: list[str | None], reason: str | None
) -> None:
    found = read(f"<r>{text}</r>".encode(), "row")
    if reason is None:
        assert all(one.problem is None for one in found)
        return
    assert [one.problem for one in found if one.problem is not None] == [reason]
    contents = [etree.fromstring(one.content).text for one in found if one.content is not None]
    assert contents == good


def test_rows_after_empty_ones_that_have_content_are_told_or_right() -> None:
    many = "<row a='1'/>" * 1_000
    data = f"<r>{many}<row>x<rowspan/>y</row><row>good</row></r>".encode()
    *_, last, good = read(data, "row")
    assert last.problem == rowscan.ENDLESS
    assert good.content == b"<row>good</row>"


def test_a_comment_between_rows_may_hold_a_row() -> None:
    data = b"<r><row>1</row><!-- <row>no</row> --><row>2</row></r>"
    assert [one.content for one in read(data, "row")] == [b"<row>1</row>", b"<row>2</row>"]


def test_a_file_that_ends_too_early_is_told_by_the_worker_that_meets_its_end() -> None:
    data = b"<r><row>1</row><row>2</row><row>3"
    whole = find_head(URL, "row", [Head(data, False)])
    assert whole is not None
    found = list(RowDocuments({URL: whole}).of_block(URL, 0, True, data.split(b"</row>")))
    assert [one.content for one in found] == [b"<row>1</row>", b"<row>2</row>", None, None]
    assert [one.problem for one in found[2:]] == [rowscan.CUT, INCOMPLETE]
    assert found[3].id == f"{URL}#end"


def test_a_row_larger_than_a_document_may_be_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.pipeline.sources.rows.LIMIT", 20)
    found = read(b"<r><row>1</row><row>%b</row></r>" % (b"x" * 20), "row")
    assert [one.content for one in found] == [b"<row>1</row>", None]
    assert "larger than" in (found[1].problem or "")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-32", "cp037"])
def test_encodings_that_do_not_extend_ascii_are_refused(codec: str) -> None:
    data = f"<?xml version='1.0' encoding='{codec}'?><r><row/></r>".encode(codec)
    with pytest.raises(PipelineError, match="convert the file to UTF-8"):
        head_of(data, "row")
    named = b"<?xml version='1.0' encoding='ISO-2022-JP'?><r><row/></r>"
    with pytest.raises(PipelineError, match="'ISO-2022-JP' cannot be cut"):
        head_of(named, "row")


def test_heads_without_a_row() -> None:
    whole, part = Head(b"<r><a/></r>", True), Head(b"<r><a/>", False)
    assert find_head(URL, "row", [part, whole]) is None
    with pytest.raises(PipelineError, match="no element row in its first"):
        find_head(URL, "row", [part])
    with pytest.raises(UnreadableHeadError, match="line 1, column 9: mismatched tag"):
        find_head(URL, "row", [Head(b"<r><a></r>", True)])
    with pytest.raises(UnreadableHeadError):
        find_head(URL, "row", [Head(b"<r>\xff<row/></r>", True)])
    with pytest.raises(PipelineError, match="root element"):
        find_head(URL, "row", [Head(b"<row><row/></row>", True)])
    later = find_head(URL, "row", [part, Head(b"<r><a/><row>1</row>", False)])
    assert later is not None
    assert later.first == 7


def test_a_compressed_head_is_decompressed_as_far_as_asked() -> None:
    data = gzip.compress(b"a" * 50) + gzip.compress(b"b" * 50)
    assert _head("x.gz", data, 20) == Head(b"a" * 20, False)
    assert _head("x.gz", data, 70) == Head(b"a" * 50 + b"b" * 20, False)
    assert _head("x.gz", data, 200) == Head(b"a" * 50 + b"b" * 50, True)
    assert not _head("x.gz", data[:-10], 200).is_whole
    bomb = zlib.compressobj(wbits=31)
    packed = bomb.compress(bytes(10_000_000)) + bomb.flush()
    assert len(_head("x.gz", packed, 1_000).data) == 1_000
    with pytest.raises(PipelineError, match="cannot be decompressed"):
        _head("x.gz", b"nonsense", 100)
