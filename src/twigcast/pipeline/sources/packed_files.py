"""The documents of one file: a plain one, a compressed one, or an archive of many.

    a.xml, any other ending   one document
    a.xml.gz                  one document
    a.zip                     each member .xml or .xml.gz, read by random access
    a.tar.gz, a.tgz, a.tar    each member .xml or .xml.gz, in one pass from start to end

Archives come from anywhere, so nothing in them is believed: no document is read further than the
limit on its size, whatever sizes and ratios are declared; names serve as ids only and never reach
a file system; whatever an archive's reader raises about it becomes the ``problem`` of a row, and
the members before it stay.  Only faults of the machine that may pass are raised.

Invariant: ids of one file are distinct and depend on the file alone, also when a zip is read in
parts: the parts divide its members.  Cost: memory for one document and the names of the members.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from twigcast.documents import DEFAULT_LIMITS
from twigcast.pipeline.failures import first_line
from twigcast.pipeline.sources.documents import SourceRow
from twigcast.pipeline.sources.faults import raise_passing
from twigcast.pipeline.sources.forward import ForwardFile

LIMIT: Final = DEFAULT_LIMITS.size
"""The most bytes that one document may have."""

TOO_LARGE: Final = f"it is larger than {LIMIT:,} bytes, the limit on one document"

ZIP: Final = (".zip",)
TAR: Final = (".tar.gz", ".tgz", ".tar")
ARCHIVES: Final = ZIP + TAR

_MEMBERS: Final = (".xml", ".xml.gz")


def read_file(url: str, file: BinaryIO, part: int = 0, parts: int = 1) -> Iterator[SourceRow]:
    """The documents of one open file; of a zip, those of one of ``parts`` parts."""
    name = url.lower()
    if name.endswith(ZIP):
        yield from _zip(url, file, part, parts)
    elif name.endswith(TAR):
        yield from _tar(url, file)
    else:
        yield _document(url, name, file)


def open_local(url: str) -> BinaryIO:
    """A file of this machine, by its ``file:`` URL as Hadoop writes it."""
    return Path("/" + url.removeprefix("file:").lstrip("/")).open("rb")


def _document(url: str, name: str, file: BinaryIO) -> SourceRow:
    """A file or member that is one document; compressed if ``name`` ends in ``.gz``."""
    try:
        if name.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as inner:
                content = inner.read(LIMIT + 1)
        else:
            content = file.read(LIMIT + 1)
    except Exception as error:
        raise_passing(error)
        return SourceRow(url, url, None, f"it cannot be read: {first_line(error)}")
    if len(content) > LIMIT:
        return _too_large(url)
    return SourceRow(url, url, content)


def _zip(url: str, file: BinaryIO, part: int, parts: int) -> Iterator[SourceRow]:
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:
        raise_passing(error)
        if part == 0:
            yield SourceRow(url, url, None, f"the archive cannot be read: {first_line(error)}")
        return
    with archive:
        members = archive.infolist()
        total = sum(member.compress_size for member in members) or 1
        before = 0
        ids = _Ids(url)
        for member in members:
            mine = min(before * parts // total, parts - 1) == part
            before += member.compress_size
            if member.is_dir() or not _is_document(member.filename):
                continue
            # Every part counts all names, so that a repeated one has the same number in each.
            identity = ids.of(member.filename)
            if mine:
                yield _zip_member(identity, archive, member)


def _zip_member(identity: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> SourceRow:
    if member.flag_bits & 1:
        problem = "it is encrypted; unpack the archive with its password"
        return SourceRow(identity, identity, None, problem)
    if member.file_size > LIMIT:
        return _too_large(identity)
    try:
        with archive.open(member) as inner:
            return _document(identity, member.filename.lower(), inner)  # type: ignore[arg-type]
    except Exception as error:
        raise_passing(error)
        return SourceRow(identity, identity, None, f"it cannot be read: {first_line(error)}")


def _tar(url: str, file: BinaryIO) -> Iterator[SourceRow]:
    compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    inner: BinaryIO = gzip.GzipFile(fileobj=file) if compressed else file  # type: ignore[assignment]
    stream = ForwardFile(inner, LIMIT)
    try:
        with tarfile.open(fileobj=stream, mode="r:") as archive:
            yield from _tar_members(url, archive)
        stream.require_end()
    except Exception as error:
        raise_passing(error)
        yield SourceRow(
            url, url, None, f"the archive cannot be read to its end: {first_line(error)}"
        )


def _tar_members(url: str, archive: tarfile.TarFile) -> Iterator[SourceRow]:
    ids = _Ids(url)
    while (member := archive.next()) is not None:
        # Otherwise the reader keeps all members; the attribute is documented but not in the stubs.
        archive.members.clear()  # type: ignore[attr-defined]
        if not member.isreg() or not _is_document(member.name):
            continue
        identity = ids.of(member.name)
        if member.size > LIMIT:
            yield _too_large(identity)
            continue
        # Errors of the archive end it; those of a compressed member do not reach further.
        inner = archive.extractfile(member)
        content = inner.read(LIMIT + 1) if inner is not None else b""
        if len(content) < member.size:
            raise tarfile.ReadError("unexpected end of data")
        yield _document(identity, member.name.lower(), io.BytesIO(content))


def _is_document(name: str) -> bool:
    """Whether a member is wanted: XML, not hidden, not what a Mac adds."""
    if not name.lower().endswith(_MEMBERS):
        return False
    steps = name.replace("\\", "/").split("/")
    return not any(
        step == "__MACOSX" or (step.startswith(".") and step not in (".", "..")) for step in steps
    )


class _Ids:
    """Distinct ids of the members: a name that comes again gets a number.

    Members end in ``.xml`` or ``.gz``, so that no name is another one with its number.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._met: Counter[str] = Counter()

    def of(self, name: str) -> str:
        # Names may hold bytes that are no text; those are written as escapes.
        text = name.encode("utf-8", "backslashreplace").decode()
        self._met[text] += 1
        count = self._met[text]
        return f"{self._url}!{text}" if count == 1 else f"{self._url}!{text}#{count}"


def _too_large(identity: str) -> SourceRow:
    return SourceRow(identity, identity, None, TOO_LARGE)
