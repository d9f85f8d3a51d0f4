"""Locations: paths and URLs that Spark can read and write, through Hadoop's file systems.

A location may be a path, ``file:``, ``hdfs:``, ``s3a:`` or any other URL that the Hadoop of
the Spark session knows.  Only the driver uses this module, for small things: whether something is
there, what is in a folder, the head of a file, and above all renaming a folder when it is complete.

A result is written to a *staging* folder beside its target, then renamed::

    .out.partial-5f…/deliveries, documents, …   ──rename──►   out/deliveries, documents, …

A file system renames a folder in one step (object stores excepted, which copy), so readers see all
of it or nothing.  A job that is killed leaves only the hidden folder, and the next job that writes
to the same target removes it.  So if two jobs write to one target at once, the first one notices at
its end that its mark in the hidden folder is gone, and fails.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.failures import first_line

_MARK: Final = "_unfinished"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder, with its full URL."""

    url: str
    is_folder: bool
    size: int
    modified_ms: int

    @property
    def name(self) -> str:
        return self.url.rstrip("/").rpartition("/")[2]


class Location:
    """A path or URL, as the Hadoop of the Spark session resolves it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        jvm: Any = spark._jvm
        try:
            plain = jvm.org.apache.hadoop.fs.Path(path)
            self._files = plain.getFileSystem(spark._jsc.hadoopConfiguration())
            self._path = self._files.makeQualified(plain)
        except Exception as error:
            raise PipelineError(f"{path}: {first_line(error)}") from None

    @property
    def url(self) -> str:
        return str(self._path.toString())

    @property
    def name(self) -> str:
        return str(self._path.getName())

    @property
    def local_path(self) -> str | None:
        """The path on this machine, where the location is one of its files."""
        uri = self._path.toUri()
        return str(uri.getPath()) if uri.getScheme() == "file" else None

    @property
    def is_folder(self) -> bool:
        with self._reporting():
            return self.exists() and bool(self._files.getFileStatus(self._path).isDirectory())

    @property
    def size(self) -> int:
        with self._reporting():
            return int(self._files.getFileStatus(self._path).getLen())

    def child(self, name: str) -> Location:
        """The location of this name within this folder."""
        return Location(self._spark, f"{self.url.rstrip('/')}/{name}")

    def beside(self, name: str) -> Location:
        """The location of this name in the folder that holds this one."""
        parent = self._path.getParent()
        if parent is None:
            raise PipelineError(f"{self.url} is in no folder; choose a folder within it")
        return Location(self._spark, f"{str(parent.toString()).rstrip('/')}/{name}")

    def exists(self) -> bool:
        with self._reporting():
            return bool(self._files.exists(self._path))

    def entries(self) -> list[Entry]:
        """The entries of the folder, by name; none if the folder is not there."""
        with self._reporting():
            if not self._files.exists(self._path):
                return []
            return sorted(map(_entry, self._files.listStatus(self._path)), key=lambda one: one.url)

    def matching(self) -> list[Entry]:
        """The entries that fit the path, read as a pattern with ``*``, ``?``, ``[…]``, ``{…}``."""
        with self._reporting():
            return [_entry(status) for status in self._files.globStatus(self._path) or ()]

    def read_head(self, size: int) -> bytes:
        with self._opened() as stream:
            return bytes(stream.readNBytes(size))

    def read_tail(self, size: int) -> bytes:
        with self._opened() as stream:
            stream.seek(max(0, self.size - size))
            return bytes(stream.readNBytes(size))

    def sha256(self) -> str:
        """The SHA-256 of a file, as ``sha256sum`` prints it."""
        if self.local_path is not None:
            with Path(self.local_path).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        jvm: Any = self._spark._jvm
        with self._opened() as stream:
            return str(jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))

    def write_text(self, text: str) -> None:
        """Make a file, or replace it."""
        with self._reporting():
            stream = self._files.create(self._path, True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()

    def read_text(self) -> str:
        with self._opened() as stream:
            return bytes(stream.readAllBytes()).decode()

    def remove(self) -> None:
        """Remove it with everything in it, if it is there."""
        with self._reporting():
            self._files.delete(self._path, True)

    def rename(self, target: Location) -> None:
        """Rename it to a target that is not there yet."""
        if target.exists():
            # Hadoop would move it into that folder.
            raise PipelineError(f"{target.url} is there already")
        with self._reporting():
            done = bool(self._files.rename(self._path, target._path))
        if not done:
            raise PipelineError(f"{self.url} could not be renamed to {target.url}")

    @contextmanager
    def staged(self, *, overwrite: bool = False) -> Iterator[Location]:
        """A folder to write to: renamed to this one at the end, removed if anything fails."""
        former = self._former()
        if former.exists():
            # A job was killed between two renames.
            if self.exists():
                former.remove()
            else:
                former.rename(self)
        if not overwrite and self.exists():
            raise PipelineError(
                f"{self.url} is there already; choose another folder, or overwrite it"
            )
        hidden = f".{self.name}.partial-"
        for entry in self.beside("").entries():
            if entry.name.startswith(hidden):
                self.beside(entry.name).remove()
        staging = self.beside(hidden + secrets.token_hex(8))
        mark = staging.child(_MARK)
        mark.write_text("")
        try:
            yield staging
            if not mark.exists():
                raise PipelineError(f"another job has begun to write to {self.url} meanwhile")
            mark.remove()
            if not staging.entries():
                raise PipelineError(f"nothing was written that could become {self.url}")
            if overwrite and self.exists():
                self._replace(staging)
            else:
                staging.rename(self)
        except BaseException:
            staging.remove()
            raise

    def require_replaceable(
        self, inputs: Iterable[str], is_result: Callable[[Location], bool]
    ) -> None:
        """Refuse to replace a folder that holds an input, or that is no result."""
        whole = f"{self.url.rstrip('/')}/"
        for path in inputs:
            if f"{Location(self._spark, path).url.rstrip('/')}/".startswith(whole):
                raise PipelineError(
                    f"{self.url} would be replaced, and {path} is in it; choose another folder"
                )
        if self.exists() and self.entries() and not is_result(self):
            raise PipelineError(
                f"{self.url} is no result such as the one that would replace it; choose another "
                "folder, or remove it"
            )

    def _former(self) -> Location:
        return self.beside(f".{self.name}.former")

    def _replace(self, staging: Location) -> None:
        former = self._former()
        self.rename(former)
        try:
            staging.rename(self)
        except BaseException:
            former.rename(self)
            raise
        former.remove()

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with self._reporting():
            stream = self._files.open(self._path)
            try:
                yield stream
            finally:
                stream.close()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise PipelineError(f"{self.url}: {first_line(error)}") from None

    def __repr__(self) -> str:
        return f"<Location {self.url}>"


def _entry(status: Any) -> Entry:
    return Entry(
        str(status.getPath().toString()),
        bool(status.isDirectory()),
        int(status.getLen()),
        int(status.getModificationTime()),
    )
