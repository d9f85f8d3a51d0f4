"""Faults of the machine are raised, so that Spark tries again; faults of a file are problems."""

from __future__ import annotations

import errno
import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.pipeline.sources import files
from twigcast.pipeline.sources.faults import raise_passing
from twigcast.pipeline.sources.files import open_file, open_part, read_each
from twigcast.pipeline.sources.lines import read_lines
from twigcast.pipeline.sources.packed_files import read_file

CONTENT = b"<a>" + bytes(range(97, 123)) * 400 + b"</a>"


class FailingFile(io.BytesIO):
    """A file whose bytes cannot be had from the n-th reading on."""

    def __init__(self, data: bytes, readings: int, number: int) -> None:
        super().__init__(data)
        self.readings = readings
        self._number = number

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes, or the error."""
        if self.readings == 0:
            raise OSError(self._number, "the disk does not answer")
        self.readings -= 1
        return super().read(size)


def packed(name: str) -> bytes:
    """A file of that name with one document."""
    file = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.xml", CONTENT)
    elif ".t" in name:
        mode = "w" if name.endswith(".tar") else "w:gz"
        with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
            member = tarfile.TarInfo("a.xml")
            member.size = len(CONTENT)
            tar.addfile(member, io.BytesIO(CONTENT))
    else:
        return gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT
    return file.getvalue()


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EMFILE])
@pytest.mark.parametrize("name", ["a.xml", "a.xml.gz", "a.zip", "a.tar", "a.tgz"])
def test_a_disk_that_does_not_answer_rejects_nothing(name: str, number: int) -> None:
    data = packed(name)
    url = f"file:/in/{name}"
    file = FailingFile(data, 1_000, number)
    [whole] = read_file(url, file)
    assert whole.content == CONTENT
    needed = 1_000 - file.readings
    assert needed > 0
    for readings in range(needed):
        with pytest.raises(OSError, match="does not answer") as caught:
            list(read_file(url, FailingFile(data, readings, number)))
        assert caught.value.errno == number


def test_a_stream_of_lines_that_breaks_off_rejects_nothing() -> None:
    data = gzip.compress(b'{"xml": "<a/>"}\n')
    with pytest.raises(OSError, match="does not answer"):
        list(read_lines("file:/in/a.jsonl.gz", FailingFile(data, 0, errno.EIO)))


def test_what_a_reader_made_of_a_passing_fault_is_seen_through() -> None:
    error = zipfile.BadZipFile("no zip")
    error.__context__ = OSError(errno.EIO, "the disk")
    with pytest.raises(OSError, match="the disk"):
        raise_passing(error)
    for lasting in (
        OSError(errno.ENOENT, "not there"),
        OSError(errno.EINVAL, "a place before the start"),
        gzip.BadGzipFile("no header"),
        EOFError(),
    ):
        raise_passing(lasting)


def opening(url: str) -> Iterator[pa.RecordBatch]:
    return read_each(partial(open_file, read_file), iter([pa.record_batch({"path": [url]})]))


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [missing] = opening(f"file:{tmp_path}/missing.xml")
    assert missing.to_pylist()[0]["problem"] == "it cannot be opened: No such file or directory"
    pieces = tuple((f"file:{tmp_path}/missing.zip", part, 3) for part in range(3))
    [once] = read_each(partial(open_part, pieces), iter([pa.record_batch({"number": [0, 1, 2]})]))
    assert once.num_rows == 1

    def fails(url: str) -> None:
        raise OSError(errno.EMFILE, f"too many files before {url}")

    monkeypatch.setattr(files, "open_local", fails)
    with pytest.raises(OSError, match="too many files"):
        list(opening(f"file:{tmp_path}/a.xml"))
