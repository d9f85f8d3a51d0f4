"""Names of files: the formats of their endings, patterns, and URLs as Hadoop writes them."""

from __future__ import annotations

import posixpath
from typing import Final

from pyspark.sql import SparkSession

from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.options import CSV, FILES, JSON_LINES, PARQUET, ROWS
from twigcast.pipeline.sources.packed_files import ARCHIVES

ENDINGS: Final = {
    FILES: (".xml", ".xml.gz", *ARCHIVES),
    PARQUET: (".parquet",),
    JSON_LINES: (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
    CSV: (".csv", ".csv.gz"),
    ROWS: (".xml", ".xml.gz"),
}
"""The endings of names, by format."""

_BY_LENGTH: Final = sorted(
    ((ending, kind) for kind, endings in ENDINGS.items() if kind != ROWS for ending in endings),
    key=lambda pair: -len(pair[0]),
)
KNOWN: Final = tuple(ending for ending, _ in _BY_LENGTH)
"""All endings that have a format, the longest first."""

_GLOB: Final = frozenset("*?[]{}")
_ESCAPED: Final = _GLOB | {"\\", ","}


def kind_of(name: str) -> str | None:
    """The format of a name by its ending; None if the ending is not known."""
    lower = name.lower()
    return next((kind for ending, kind in _BY_LENGTH if lower.endswith(ending)), None)


def ending_pattern(name: str) -> str:
    """A pattern for names like this one: with its ending, or this name where it has none."""
    last = name.rpartition("/")[2]
    lower = last.lower()
    for ending in KNOWN:
        if lower.endswith(ending):
            return f"*{escape(last[len(last) - len(ending) :])}"
    stem, dot, ending = last.rpartition(".")
    return f"*.{escape(ending)}" if dot and stem else escape(last)


def is_pattern(path: str) -> bool:
    """Whether Hadoop would take it for more than one path."""
    return not _GLOB.isdisjoint(path)


def escape(path: str) -> str:
    """A path in which no character has a meaning beyond itself, for Hadoop's patterns."""
    return "".join(f"\\{one}" if one in _ESCAPED else one for one in path)


def unescape(path: str) -> str:
    """What :func:`escape` was given."""
    return path.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")


def as_hadoop(url: str) -> str:
    """``file:///a`` and ``file:/a`` are the same URL; Hadoop writes the second."""
    return f"file:/{url.removeprefix('file:').lstrip('/')}" if url.startswith("file:") else url


def file_system(url: str) -> str:
    """The scheme of a full URL, with the host or bucket if there is one."""
    scheme, _, rest = url.partition(":")
    host = rest.split("/")[2] if rest.startswith("//") else ""
    return f"{scheme}://{host}" if host else f"{scheme}:"


class Qualifier:
    """Full URLs as Hadoop would write them, without a call of Java for every path."""

    def __init__(self, spark: SparkSession) -> None:
        self._here = Location(spark, ".").url.rstrip("/")

    def __call__(self, path: str) -> str:
        scheme, colon, _ = path.partition(":")
        if not (colon and "/" not in scheme):
            above = file_system(self._here) if path.startswith("/") else f"{self._here}/"
            path = above + path
        system = file_system(path)
        # Hadoop drops steps like .. and doubled slashes too.
        rest = path.removeprefix(system).lstrip("/")
        return system + posixpath.normpath(f"/{rest}")
