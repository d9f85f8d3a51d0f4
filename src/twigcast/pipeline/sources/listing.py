"""What the inputs stand for: which files are there, and how each is to be read.

    inputs ──Spark lists──► names of all files ──endings──► readings: format, roots, name filter

Spark does the listing, in parallel and on any file system, and hands over all names as one string;
names alone decide the format.  An input that is itself a file is taken whatever its name is; in a
folder, names with an ending that is not known are left alone.  A *reading* then is what Spark loads
in one go: roots, and a filter on names that is made of their endings, so that a folder with a
million files is never spelled out.

Invariant: each file belongs to exactly one reading.  Cost: one listing here, one in each reading.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from urllib.parse import unquote

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from twigcast.errors import PipelineError
from twigcast.pipeline.failures import first_line
from twigcast.pipeline.locations import Location
from twigcast.pipeline.sources.blocks import load_apart
from twigcast.pipeline.sources.names import (
    ENDINGS,
    KNOWN,
    Qualifier,
    as_hadoop,
    ending_pattern,
    escape,
    file_system,
    is_pattern,
    kind_of,
    unescape,
)
from twigcast.pipeline.sources.options import FILES, ROWS, TABLES, SourceOptions
from twigcast.pipeline.sources.packed_files import ARCHIVES

_FEW_ROOTS: Final = 32
"""More roots than this Spark lists by a job, as by its own settings."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Files that Spark loads in one go: all of one format and one file system."""

    format: str
    roots: tuple[str, ...]
    files: tuple[str, ...]
    name_filter: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether workers can open the files themselves."""
        return self.files[0].startswith("file:")

    @property
    def is_partitioned(self) -> bool:
        """Whether folders below the root are named for the values of columns."""
        return len(self.roots) == 1 and _is_partitioned(self.roots[0], self.files)

    def load(
        self,
        spark: SparkSession,
        source: str,
        schema: StructType | None = None,
        options: Mapping[str, str] | None = None,
    ) -> DataFrame:
        """The frame of a Spark source over these files, folders at any depth included."""
        given = dict(options or {})
        if self.name_filter is not None:
            given["pathGlobFilter"] = self.name_filter
        if source == "binaryFile" or not self.is_partitioned:
            given["recursiveFileLookup"] = "true"

        try:
            return _load(spark, source, self.roots, given, schema)
        except PySparkException as error:
            raise PipelineError(f"{unescape(self.roots[0])}: {first_line(error)}") from None


def find_readings(
    spark: SparkSession, inputs: Sequence[str], options: SourceOptions
) -> list[Reading]:
    """The readings that give every file of the inputs once."""
    plain: list[str] = []
    globs: list[str] = []
    for given in dict.fromkeys(inputs):
        # Square brackets and the like may also be part of a name.
        if is_pattern(given) and not Location(spark, escape(given)).matching():
            globs.append(given)
        else:
            plain.append(given)
    readings = list(_of_plain(spark, plain, options)) if plain else []
    for pattern in globs:
        readings += _of_glob(spark, pattern, options)
    _require_once(readings)
    return readings


def _of_plain(
    spark: SparkSession, given: Sequence[str], options: SourceOptions
) -> Iterator[Reading]:
    """Files and folders that are named as they are."""
    full = Qualifier(spark)
    urls = _without_nested({full(one): one for one in given})
    names = list_files(spark, [escape(url) for url in urls], None)
    listed = set(names)
    explicit = [url for url in urls if url in listed]
    folders = [url for url in urls if url not in listed]
    for kind, named in _by_kind(explicit, options).items():
        for system in _systems(named):
            yield Reading(kind, tuple(map(escape, system)), tuple(system))
    if not folders:
        return
    if options.pattern is not None:
        names = list_files(spark, [escape(url) for url in folders], options.pattern)
    names.sort()
    inside = {url: _below(url, names) for url in folders}
    for url in folders:
        if not inside[url]:
            raise _nothing(urls[url], options)
        _require_one_kind(urls[url], inside[url], options)
    every = [name for url in folders for name in inside[url]]
    for kind, (chosen, name_filter) in _choose([], every, given[0], options).items():
        for system in _systems(folders):
            roots = {url: mine for url in system if (mine := chosen.intersection(inside[url]))}
            # Spark finds the columns of a partitioned table below one root only.
            apart = any(_is_partitioned(url, files) for url, files in roots.items())
            for some in [[url] for url in roots] if apart else [list(roots)]:
                files = tuple(name for url in some for name in sorted(roots[url]))
                if files:
                    yield Reading(kind, tuple(map(escape, some)), files, name_filter)


def _of_glob(spark: SparkSession, pattern: str, options: SourceOptions) -> Iterator[Reading]:
    """What a pattern stands for: files themselves, and folders with what is in them."""
    url = Qualifier(spark)(pattern)
    names = list_files(spark, [url], options.pattern)
    if not names:
        raise _nothing(pattern, options)
    depth = url.count("/")
    explicit = [name for name in names if name.count("/") == depth]
    inside = [name for name in names if name.count("/") != depth]
    for folder, members in groupby(sorted(inside), lambda name: name.split("/")[: depth + 1]):
        _require_one_kind("/".join(folder), members, options)
    for kind, (chosen, name_filter) in _choose(explicit, inside, pattern, options).items():
        yield Reading(kind, (url,), tuple(sorted(chosen)), name_filter)


def _choose(
    explicit: Sequence[str], inside: Sequence[str], shown: str, options: SourceOptions
) -> dict[str, tuple[set[str], str]]:
    """The files to read, by format, each with the filter that leaves just these.

    Of those that are not named themselves, the ones with a known ending, or all that the user's
    pattern took.
    """
    wanted = options.wanted_format
    if options.pattern is not None:
        kinds = _by_kind([*explicit, *inside], options)
        if len(kinds) > 1:
            raise PipelineError(
                f"{shown}: the pattern {options.pattern!r} takes files of several formats, "
                f"{', '.join(sorted(kinds))}; name the format"
            )
        return {kind: (set(files), options.pattern) for kind, files in kinds.items()}
    known = ENDINGS[wanted] if wanted else KNOWN
    taken = [*explicit, *(name for name in inside if name.lower().endswith(known))]
    if not taken and wanted in TABLES:
        taken = list(inside)  # a table's files may have any name
    if not taken:
        raise PipelineError(
            f"{shown}: no file there ends in {', '.join(sorted(known))}; "
            "say by a pattern which files are meant"
        )
    chosen = {}
    for kind, files in _by_kind(taken, options).items():
        endings = {ending_pattern(name) for name in files}
        fitting = {name for name in (*explicit, *inside) if ending_pattern(name) in endings}
        chosen[kind] = (fitting, "{" + ",".join(sorted(endings)) + "}")
    return chosen


def _require_one_kind(folder: str, names: Iterable[str], options: SourceOptions) -> None:
    """Raise where a folder holds, say, XML and a table: nothing says which of them is meant."""
    if options.wanted_format is not None or options.pattern is not None:
        return
    kinds = {kind: name for name in names if (kind := kind_of(name)) is not None}
    if len(kinds) > 1:
        seen = ", ".join(sorted(name.rpartition("/")[2] for name in kinds.values()))
        raise PipelineError(
            f"{folder}: it holds files of several formats, such as {seen}; "
            "name the format, or say by a pattern which files are meant"
        )


def _by_kind(names: Iterable[str], options: SourceOptions) -> dict[str, list[str]]:
    """Files by format: the one that is asked for, or that of the ending, or XML."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kind = options.wanted_format or kind_of(name) or FILES
        if kind == ROWS and name.lower().endswith(ARCHIVES):
            raise PipelineError(f"{name}: an archive cannot be cut at an element; unpack it first")
        kinds.setdefault(kind, []).append(name)
    return kinds


def _systems(urls: Sequence[str]) -> list[list[str]]:
    """The URLs by file system, since workers open local files themselves."""
    systems: dict[str, list[str]] = {}
    for url in urls:
        systems.setdefault(file_system(url), []).append(url)
    return list(systems.values())


def _below(folder: str, names: Sequence[str]) -> Sequence[str]:
    """Those of the sorted names that lie in the folder."""
    first = f"{folder.rstrip('/')}/"
    start = bisect_left(names, first)
    return names[start : bisect_left(names, first[:-1] + chr(ord("/") + 1), start)]


def _is_partitioned(root: str, files: Iterable[str]) -> bool:
    """Whether each file lies in a folder below the root that is named ``column=value``.

    Of a table of which only some files do, Spark would read only those.
    """
    depth = root.rstrip("/").count("/") + 1
    return all(any(map(_is_value, file.split("/")[depth:-1])) for file in files)


def _is_value(step: str) -> bool:
    column, _, value = step.partition("=")
    return bool(column and value)


def list_files(spark: SparkSession, roots: Sequence[str], pattern: str | None) -> list[str]:
    """The files at and below the roots, as Hadoop writes them; hidden ones are not among them."""
    given = {"recursiveFileLookup": "true"}
    if pattern is not None:
        given["pathGlobFilter"] = pattern
    try:
        frame = _load(spark, "binaryFile", roots, given)
    except Exception as error:
        if not isinstance(error, AnalysisException) or error.getCondition() != "PATH_NOT_FOUND":
            # File systems raise many kinds of errors if they cannot be reached.
            raise PipelineError(f"{unescape(roots[0])}: {first_line(error)}") from None
        missing = (error.getMessageParameters() or {}).get("path", roots[0])
        raise PipelineError(
            f"{unescape(missing)}: nothing is there; check the path, or quote a pattern"
        ) from None
    return _input_files(frame)


def empty_files(frame: DataFrame) -> list[str]:
    """Those files of a frame over ``binaryFile`` that have no byte; Spark has no rows for them.

    Spark's listing has their number at once; only if there are some, a job lists the others.
    """
    java: Any = frame._jdf
    jvm: Any = frame.sparkSession._jvm
    index = java.queryExecution().analyzed().relation().location()
    nothing = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.ArrayList()).toSeq()
    folders = index.listFiles(nothing, nothing)
    filled = sum(folders.apply(number).files().size() for number in range(folders.size()))
    if filled == index.allFiles().size():
        return []
    others = {row.path for row in frame.select("path").collect()}
    return sorted(set(_input_files(frame)) - others)


def _input_files(frame: DataFrame) -> list[str]:
    """All files of a frame, taken from Java as one string: a call for each takes too long."""
    jvm: Any = frame.sparkSession._jvm
    java: Any = frame._jdf
    text: Any = jvm.org.apache.hadoop.util.StringUtils
    joined = str(text.join("\n", java.inputFiles()))
    return [as_hadoop(unquote(name)) for name in joined.split("\n")] if joined else []


def _load(
    spark: SparkSession,
    source: str,
    roots: Sequence[str],
    options: Mapping[str, str],
    schema: StructType | None = None,
) -> DataFrame:
    """What is loaded from the roots; to list many, Spark would start a task for each."""

    def load(spark: SparkSession) -> DataFrame:
        reader = spark.read.format(source).options(**options)
        return (reader if schema is None else reader.schema(schema)).load(list(roots))

    if len(roots) <= _FEW_ROOTS:
        return load(spark)
    tasks = str(4 * spark.sparkContext.defaultParallelism)
    settings = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": tasks}
    return load_apart(spark, load, settings)


def _without_nested(urls: dict[str, str]) -> dict[str, str]:
    """The URLs that lie in no other of them."""
    kept: dict[str, str] = {}
    for url, given in urls.items():
        parent = url.rpartition("/")[0]
        while parent and parent not in urls:
            parent = parent.rpartition("/")[0]
        if not parent:
            kept[url] = given
    return kept


def _require_once(readings: Sequence[Reading]) -> None:
    met: set[str] = set()
    for reading in readings:
        both = met.intersection(reading.files)
        if both:
            raise PipelineError(f"{min(both)}: two of the inputs stand for it; leave one out")
        met.update(reading.files)


def _nothing(shown: str, options: SourceOptions) -> PipelineError:
    fitting = f" that fits {options.pattern!r}" if options.pattern is not None else ""
    return PipelineError(
        f"{shown}: no file is there{fitting}; names that start with '.' or '_' are hidden from "
        "Spark"
    )
