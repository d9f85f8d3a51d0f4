from __future__ import annotations

import encodings
import time
from typing import Any

import pytest
from document_trees import lxml_rows, read_rows
from lxml import etree

from twigcast import Matcher
from twigcast.documents import DEFAULT_LIMITS, read_document, to_parsable
from twigcast.documents.charsets import codec_for
from twigcast.errors import DocumentError

# Text that the encoding can spell, the name declared, the codec that writes it.
WRITTEN = (
    ("Grüße", "UTF-8", "utf-8"),
    ("Grüße", "utf8", "utf-8"),
    ("Grüße 日本 𝄞", "UTF-8", "utf-8-sig"),
    ("Grüße 日本 𝄞", "UTF-16", "utf-16"),
    ("Grüße 日本 𝄞", "UTF-16LE", "utf-16-le"),
    ("Grüße 日本 𝄞", "UTF-16BE", "utf-16-be"),
    ("Grüße 日本 𝄞", "UTF-16", "utf-16-be"),
    ("Grüße 日本 𝄞", "UTF-32", "utf-32"),
    ("Grüße 日本 𝄞", "UTF-32LE", "utf-32-le"),
    ("Grüße 日本 𝄞", "UTF-32BE", "utf-32-be"),
    ("Grüße 日本", "ISO-10646-UCS-2", "utf-16"),
    ("Grüße", "ISO-8859-1", "latin-1"),
    ("Grüße", "latin1", "latin-1"),
    ("Gruesse", "US-ASCII", "ascii"),
    ("Gruesse", "ASCII", "ascii"),
    ("Grüße €", "windows-1252", "cp1252"),
    ("Żółć", "windows-1250", "cp1250"),
    ("Привет", "windows-1251", "cp1251"),
    ("Γειά", "windows-1253", "cp1253"),
    ("şöyle", "windows-1254", "cp1254"),
    ("Żółć", "ISO-8859-2", "iso8859-2"),
    ("Привет", "ISO-8859-5", "iso8859-5"),
    ("Γειά", "ISO-8859-7", "iso8859-7"),
    ("שלום", "ISO-8859-8", "iso8859-8"),
    ("Grüße €", "ISO-8859-15", "iso8859-15"),
    ("Привет", "KOI8-R", "koi8-r"),
    ("日本語 ソース", "Shift_JIS", "shift-jis"),
    ("日本語 ソース", "EUC-JP", "euc-jp"),
    ("日本語 ソース", "ISO-2022-JP", "iso2022-jp"),
    ("中文 𝄞 €", "GB18030", "gb18030"),
    ("中文", "GB2312", "gb2312"),
    ("中文", "Big5", "big5"),
    ("한국어", "EUC-KR", "euc-kr"),
    ("Gruesse [x]", "IBM037", "cp037"),
    ("Grüße", "ebcdic-cp-be", "cp500"),
    ("Grüße €", "IBM1140", "cp1140"),
    ("ö", "IBM273", "cp273"),
)
BODY = "<a x='{0}'><!-- {0} -->{0}\n<b>{0}</b>&amp;</a>"


def write(text: str, name: str, codec: str) -> bytes:
    body = BODY.format(text)
    return f"<?xml version='1.0' encoding='{name}'?>{body}".encode(codec)


@pytest.mark.parametrize(("text", "name", "codec"), WRITTEN)
def test_every_encoding_gives_the_same_tree(text: str, name: str, codec: str) -> None:
    data = write(text, name, codec)
    expected = read_rows(BODY.format(text))
    assert read_rows(data) == expected
    assert read_rows(bytearray(data)) == expected
    assert read_rows(memoryview(data)) == expected
    assert read_rows(write(text, name.swapcase(), codec)) == expected
    try:
        by_libxml2 = lxml_rows(data)
    except etree.XMLSyntaxError as error:
        if "Unsupported encoding" not in str(error):
            raise
    else:
        assert by_libxml2 == expected


@pytest.mark.parametrize(("text", "name", "codec"), WRITTEN)
def test_errors_name_the_position_in_every_encoding(text: str, name: str, codec: str) -> None:
    before = f"<?xml version='1.0' encoding='{name}'?>\n<a>{text}"
    with pytest.raises(DocumentError) as caught:
        read_document(f"{before}<b></a>".encode(codec))
    assert "mismatched tag" in caught.value.reason
    assert (caught.value.line, caught.value.column) == (2, len(f"<a>{text}<b></") + 1)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_needs_no_declaration_and_beats_one(codec: str) -> None:
    for start in ("", "<?xml version='1.0'?>", "<?xml version='1.0' encoding='ISO-8859-1'?>"):
        text = f"{start}<a>Grüße</a>"
        assert read_document(f"\ufeff{text}".encode(codec)).root.children == ["Grüße"]
        assert read_document(f"\ufeff{text}".encode()).root.children == ["Grüße"]


def test_a_str_needs_no_encoding() -> None:
    for declared in ("UTF-16", "ISO-8859-1", "US-ASCII", "no-such-thing"):
        text = f"<?xml version='1.0' encoding='{declared}'?><a>Grüße 日本 𝄞</a>"
        assert read_document(text).root.children == ["Grüße 日本 𝄞"]
        assert read_document(f"\ufeff{text}").root.children == ["Grüße 日本 𝄞"]


@pytest.mark.parametrize(
    "name",
    [
        *("zip", "zlib", "bz2", "hex", "base64", "uu", "quopri", "rot13", "rot_13"),
        *("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined"),
        *("mbcs", "oem", "charmap", "no-such-encoding", "x", "os.path", "n" * 100_000),
    ],
)
def test_what_is_no_known_character_encoding_is_refused(name: str) -> None:
    data = f"<?xml version='1.0'\n encoding='{name}'?><a/>".encode()
    known = len(encodings._cache)
    with pytest.raises(DocumentError, match="is not known; convert") as caught:
        read_document(data)
    assert (caught.value.line, caught.value.column) == (2, 12)
    assert len(str(caught.value)) < 200
    assert len(encodings._cache) == known


@pytest.mark.parametrize(
    ("data", "line", "column", "reason"),
    [
        (b"<a>\n\xc3\xa9 \xff</a>", 2, 3, "not valid utf-8"),
        (b"<a>\xed\xa0\x80</a>", 1, 4, "not valid utf-8"),
        (b"<?xml version='1.0' encoding='US-ASCII'?>\n<a>\xe9</a>", 2, 4, "invalid token"),
        (b"<?xml version='1.0' encoding='windows-1252'?>\n<a>\xe9\x81</a>", 2, 5, "cp1252"),
        (b"<?xml version='1.0' encoding='Shift_JIS'?>\n<a>\x83\x5c\xff</a>", 2, 5, "shift-jis"),
        ("\ufeff<a>é".encode("utf-16-le") + b"\x00\xd8</", 1, 5, "utf-16-le"),
        (b"\0\0\xfe\xff\0\0\0<\0\xff\xff\xff", 1, 2, "utf-32-be"),
    ],
)
def test_undecodable_bytes_are_refused_with_their_position(
    data: bytes, line: int, column: int, reason: str
) -> None:
    with pytest.raises(DocumentError, match=reason) as caught:
        read_document(data)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("UTF-16", "ascii"),
        ("UTF-32", "ascii"),
        ("IBM037", "ascii"),
        ("UTF-8", "utf-16-le"),
        ("UTF-16BE", "utf-16-le"),
        ("UTF-16", "utf-32-be"),
        ("UTF-8", "cp037"),
    ],
)
def test_a_declaration_that_cannot_be_true_is_refused(declared: str, codec: str) -> None:
    with pytest.raises(DocumentError, match=r"not valid|another encoding"):
        read_document(write("text", declared, codec))


@pytest.mark.parametrize("name", ["utf-8", "utf-16", "iso-8859-1", "shift_jis", "unheard-of"])
def test_a_version_of_any_bytes_is_refused_like_all_else(name: str) -> None:
    for version in (b"1.\xe9", b"1.\xc3\xa9", b"1 0", b"'\xff\xfe"):
        document = b'<?xml version="%s" encoding="%s"?><a/>' % (version, name.encode())
        with pytest.raises(DocumentError):
            read_document(document)
        batch = Matcher({"a": "/a"}).match_batch([document, b"<a/>"])
        assert (batch[1], list(batch.errors)) == (["a"], [0])


def test_encodings_without_mark_and_declaration_are_refused() -> None:
    for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "cp037"):
        with pytest.raises(DocumentError):
            read_document("<a/>".encode(codec))
        with pytest.raises(DocumentError):
            read_document(" <a/>".encode(codec))
    with pytest.raises(DocumentError, match="EBCDIC but declares no encoding"):
        read_document("<?xml version='1.0'?><a/>".encode("cp037"))


def test_nothing_makes_expat_guess_utf_16() -> None:
    for text in ("\0<\0a\0/\0>", "<\0a\0/\0>\0", " \0<\0a\0/\0>\0", "\0", "<\0"):
        with pytest.raises(DocumentError):
            read_document(text)
        with pytest.raises(DocumentError):
            read_document(text.encode())


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(DocumentError, match=r"U\+D800 is half of a surrogate pair") as caught:
        read_document("<a>\n x\ud800</a>")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_usual_documents_are_not_copied() -> None:
    for start in (b"", b"<?xml version='1.0' encoding='UTF-8'?>", b"<?xml version='1.0'?>"):
        data = start + b"<a>" + b"<b>text</b>" * 1_000 + b"</a>"
        parsable, forced = to_parsable(data, DEFAULT_LIMITS)
        assert parsable is data
        assert forced is None


def test_the_look_at_a_large_document_is_short() -> None:
    data = b"<a>" + b"<b c='d'>text</b>" * 3_000_000 + b"</a>"
    started = time.process_time()
    to_parsable(data, DEFAULT_LIMITS)
    assert time.process_time() - started < 0.2


def test_names_lead_to_codecs_of_python() -> None:
    wanted: dict[str, Any] = {
        "ISO-8859-1": "latin_1",
        "iso8859-1": "latin_1",
        "ANSI_X3.4-1968": "ascii",
        "Windows-31J": "cp932",
        "windows-874": "cp874",
        "x-sjis": "shift_jis",
        "macintosh": "mac_roman",
        "GBK": "gbk",
        "rot13": None,
    }
    assert {name: codec_for(name) for name in wanted} == wanted


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_one_byte_order_mark_is_enough(codec: str) -> None:
    assert read_document("\ufeff<a/>".encode(codec)).root.name == ("", "a")
    with pytest.raises(DocumentError):
        read_document("\ufeff\ufeff<a/>".encode(codec))
