"""One file to the documents in it, hostile archives above all; without Spark."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.pipeline.sources import packed_files
from twigcast.pipeline.sources.documents import SourceRow, to_batches
from twigcast.pipeline.sources.forward import ForwardFile
from twigcast.pipeline.sources.packed_files import TOO_LARGE, open_local, read_file

SMALL_LIMIT = 1_000


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents may have a thousand bytes, so that bombs can be small."""
    monkeypatch.setattr(packed_files, "LIMIT", SMALL_LIMIT)


def read(name: str, data: bytes, part: int = 0, parts: int = 1) -> list[SourceRow]:
    return list(read_file(f"file:/in/{name}", io.BytesIO(data), part, parts))


def contents(found: Iterable[SourceRow]) -> list[tuple[str, bytes | None]]:
    return [(one.id.rpartition("/in/")[2], one.content) for one in found]


def zipped(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch, zipfile.ZipFile(file, "w", method) as archive:
        patch.setattr("warnings.warn", lambda *_args, **_named: None)  # duplicate names
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members: Iterable[tuple[str, bytes]], mode: str = "w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


MEMBERS = [
    ("a.xml", b"<a/>"),
    ("folder/b.XML", b"<b/>"),
    ("c.xml.gz", gzip.compress(b"<c/>")),
    ("README.txt", b"no"),
    (".hidden.xml", b"<no/>"),
    ("./.git/x.xml", b"<no/>"),
    ("__MACOSX/a.xml", b"<no/>"),
    ("inner.zip", b"no"),
    ("../../etc/d.xml", b"<d/>"),
    ("/etc/e.xml", b"<e/>"),
    ("a.xml", b"<second/>"),
    ("./f.xml", b"<f/>"),
]
WANTED = [
    ("a.xml", b"<a/>"),
    ("folder/b.XML", b"<b/>"),
    ("c.xml.gz", b"<c/>"),
    ("../../etc/d.xml", b"<d/>"),
    ("/etc/e.xml", b"<e/>"),
    ("a.xml#2", b"<second/>"),
    ("./f.xml", b"<f/>"),
]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.zip", zipped(MEMBERS)),
        ("x.ZIP", zipped(MEMBERS, zipfile.ZIP_STORED)),
        ("x.tar.gz", tarred(MEMBERS)),
        ("x.tgz", tarred(MEMBERS)),
        ("x.tar", tarred(MEMBERS, "w")),
        ("x.tar.gz", tarred(MEMBERS, "w")),  # not compressed, whatever its name says
    ],
    ids=["zip", "stored zip", "tar.gz", "tgz", "tar", "tar named tar.gz"],
)
def test_members_come_out_in_order_with_distinct_ids(name: str, data: bytes) -> None:
    found = read(name, data)
    assert contents(found) == [(f"{name}!{member}", content) for member, content in WANTED]
    assert all(one.problem is None and one.source == one.id for one in found)


def test_plain_and_compressed_files_are_one_document() -> None:
    assert contents(read("a.xml", b"<a/>")) == [("a.xml", b"<a/>")]
    assert contents(read("feed.rss", b"<r/>")) == [("feed.rss", b"<r/>")]
    twice = gzip.compress(b"<a>") + gzip.compress(b"</a>")
    assert contents(read("a.XML.GZ", twice)) == [("a.XML.GZ", b"<a></a>")]


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_parts_of_a_zip_divide_its_members(parts: int) -> None:
    members = [(f"{number % 9}.xml", b"<a>%d</a>" % number * number) for number in range(40)]
    data = zipped(members, zipfile.ZIP_STORED)
    whole = read("x.zip", data)
    pieces = [read("x.zip", data, part, parts) for part in range(parts)]
    assert [one for piece in pieces for one in piece] == whole
    assert len({one.id for one in whole}) == len(members)
    if parts in (2, 3, 7):
        assert all(pieces)


@pytest.mark.usefixtures("small_limit")
def test_bombs_are_not_read_to_their_end() -> None:
    bomb = b"<a>" + b" " * 10_000_000 + b"</a>"
    good = b"<a>" + b"x" * (SMALL_LIMIT - 7) + b"</a>"
    packed = gzip.compress(bomb)
    members = [("1.xml", bomb), ("2.xml", good), ("3.xml.gz", packed), ("4.xml", good + b" ")]
    for name, data in [("x.zip", zipped(members)), ("x.tgz", tarred(members))]:
        found = read(name, data)
        assert contents(found)[1] == (f"{name}!2.xml", good)
        assert [one.content is None for one in found] == [True, False, True, True]
        # The compressed member of a tar is larger than a document may be, as it is.
        assert {found[place].problem for place in (0, 2, 3)} == {TOO_LARGE}
    for name, data in [("a.xml", bomb), ("a.xml.gz", packed), ("a.xml", good + b" ")]:
        assert [(one.content, one.problem) for one in read(name, data)] == [(None, TOO_LARGE)]


@pytest.mark.usefixtures("small_limit")
def test_a_zip_that_lies_about_sizes_is_found_out() -> None:
    data = zipped([("a.xml", b" " * 100_000), ("b.xml", b"<b/>")])
    size = struct.pack("<I", 100_000)
    assert data.count(size) == 2
    lie = data.replace(size, struct.pack("<I", 100))
    found = read("x.zip", lie)
    assert found[0].content is None
    assert "cannot be read" in (found[0].problem or "")
    assert found[1].content == b"<b/>"


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_tar_header_cannot_ask_for_all_memory(kind: bytes) -> None:
    header = tarfile.TarInfo("long")
    header.type = kind
    header.size = 1 << 33
    data = (
        tarred([("a.xml", b"<a/>")], "w")[:1024] + header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)
    )
    found = read("x.tar", data)
    assert contents(found) == [("x.tar!a.xml", b"<a/>"), ("x.tar", None)]
    assert "8,589,934,592 bytes at once" in (found[1].problem or "")


def test_an_encrypted_member_is_told() -> None:
    data = bytearray(zipped([("a.xml", b"<a/>"), ("b.xml", b"<b/>")], zipfile.ZIP_STORED))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    found = read("x.zip", bytes(data))
    assert contents(found) == [("x.zip!a.xml", None), ("x.zip!b.xml", b"<b/>")]
    assert "encrypted" in (found[0].problem or "")


def test_a_damaged_member_takes_no_other_with_it() -> None:
    data = zipped([("a.xml", b"<aaaa/>"), ("b.xml", b"<b/>")], zipfile.ZIP_STORED)
    found = read("x.zip", data.replace(b"<aaaa/>", b"<aXaa/>"))
    assert contents(found) == [("x.zip!a.xml", None), ("x.zip!b.xml", b"<b/>")]
    assert "CRC" in (found[0].problem or "")


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.tar", "a.xml.gz"])
@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x1f\x8b\x08nonsense", b"PK\x03\x04" * 40])
def test_what_is_no_archive_is_one_problem(name: str, data: bytes) -> None:
    [found] = read(name, data)
    if name == "a.xml.gz" and not data:
        # No compressed stream at all is an empty one, and that is an empty document.
        assert (found.content, found.problem) == (b"", None)
        return
    assert (found.id, found.content) == (f"file:/in/{name}", None)
    assert found.problem
    assert "\n" not in found.problem


def test_the_other_parts_of_what_is_no_archive_are_empty() -> None:
    assert [len(read("x.zip", b"nonsense", part, 3)) for part in range(3)] == [1, 0, 0]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_truncated_tar_keeps_what_came_before(mode: str) -> None:
    noise = [
        bytes((number * 7919 + place * place) % 251 for place in range(700)) for number in range(6)
    ]
    members = [(f"{number}.xml", b"<a>%b</a>" % content) for number, content in enumerate(noise)]
    data = tarred(members, mode)
    end = len(data) if mode == "w:gz" else 6 * 1536 + 512
    for length in range(0, end, 97 if mode == "w:gz" else 256):
        *before, last = read("x.tar", data[:length])
        assert contents(before) == [(f"x.tar!{name}", one) for name, one in members[: len(before)]]
        assert last.id == "file:/in/x.tar"
        assert last.content is None
        assert "cannot be read to its end" in (last.problem or "")
    assert len(read("x.tar", data)) == 6


def test_a_damaged_header_does_not_end_a_tar_quietly() -> None:
    data = bytearray(tarred([("a.xml", b"<a/>"), ("b.xml", b"<b/>")], "w"))
    data[1024 + 148] ^= 0xFF
    found = read("x.tar", bytes(data))
    assert contents(found) == [("x.tar!a.xml", b"<a/>"), ("x.tar", None)]


def test_links_and_folders_in_a_tar_are_no_documents() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo("a.xml")
            member.type = kind
            member.linkname = "/etc/passwd"
            archive.addfile(member)
    assert read("x.tar", file.getvalue()) == []


def test_names_that_are_no_text_are_escaped() -> None:
    member = tarfile.TarInfo("a\udcff.xml")
    data = member.tobuf(encoding="utf-8", errors="surrogateescape") + bytes(1024)
    [found] = read("x.tar", data)
    assert found.id == "file:/in/x.tar!a\\udcff.xml"
    assert sum(batch.num_rows for batch in to_batches([found])) == 1


def test_empty_archives_hold_nothing() -> None:
    assert read("x.zip", zipped([])) == []
    assert read("x.tgz", tarred([])) == []


def test_batches_are_bounded_in_rows_and_bytes() -> None:
    large = b"x" * (1024 * 1024)
    found = [SourceRow(str(number), "", large if number < 40 else b"") for number in range(2_540)]
    batches = list(to_batches(iter(found)))
    assert [batch.num_rows for batch in batches] == [8, 8, 8, 8, 8, 1_000, 1_000, 500]
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == [
        one.id for one in found
    ]


def test_a_local_file_is_opened_by_the_url_that_hadoop_writes(tmp_path: Path) -> None:
    path = tmp_path / "a b%20+é.xml"
    path.write_bytes(b"<a/>")
    for url in (f"file:{path}", f"file://{path}"):
        with open_local(url) as file:
            assert file.read() == b"<a/>"


def test_a_forward_file_does_not_go_back() -> None:
    file = ForwardFile(io.BytesIO(b"0123456789"), 100)
    assert file.seek(4) == 4
    assert file.read(2) == b"45"
    with pytest.raises(tarfile.ReadError, match="backwards"):
        file.seek(2)
    assert file.seek(50) == 10
