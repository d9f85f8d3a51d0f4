"""The folder of an archive: parts that appear in one step, and are never changed.

    archive/
      twigcast-archive.json           what this is, and the version of the layout
      parts/
        000001-000012/                made by a compaction of the parts 1 to 12
        000013-000013/                made by the thirteenth run of ``archive``
          part.json                   how much is in it
          documents/  shapes/  rejected/    Parquet; ``tables`` lists the columns
        .writing-5f0c…/               what somebody is writing

A part is written aside and renamed in one step, so its tables appear together.  A wider part
replaces the parts within its range: readers ignore them from then on.  The next writer removes them
after an hour, so that a query that has begun to read them can end.

Two runs that write at once choose the same number for their part, and the second to finish is
refused: it has not seen what the first one added.  It leaves nothing behind, and can be run again.
A run looks whether the name is free before it renames, which excludes nobody; so ``part.json``
holds a token of its writer, and a run that reads another token afterwards was the second.

No run removes what another may have made: a first run that fails leaves empty folders, which the
next run uses.  The head is written with the first part.
"""

from __future__ import annotations

import json
import re
import time
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location

VERSION: Final = 1
PART_SHIFT: Final = 32
"""A shape's number has that of its part above these bits, so it is unique in the archive."""

_FORMAT: Final = "twigcast archive"
_HEAD: Final = "twigcast-archive.json"
_FACTS: Final = "part.json"
_TOKEN: Final = "token"
_STAGING: Final = ".writing-"
_NAME: Final = re.compile(r"(\d{6,})-(\d{6,})")
_HOUR_MS: Final = 3_600_000
_GRACE_MS: Final = _HOUR_MS
_ABANDONED_MS: Final = 24 * _HOUR_MS

_SETTINGS: Final = {
    # Times are instants, and statistics of them are kept, which Spark's default lacks.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.filterPushdown": "true",
    # All candidates may lie in one file: more than one task should read it.
    "spark.sql.files.openCostInBytes": "65536",
    # Folders of files are listed here; a job would take longer.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
    # Documents are large rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    # A collection of rows to the driver uses Arrow.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}

_own: weakref.WeakKeyDictionary[SparkSession, SparkSession] = weakref.WeakKeyDictionary()


def own_spark_session(spark: SparkSession) -> SparkSession:
    """A Spark session of the same application with settings of our own; ``spark`` is unchanged."""
    own = _own.get(spark)
    if own is None:
        own = spark.newSession()
        for key, value in _SETTINGS.items():
            own.conf.set(key, value)
        tasks = 4 * spark.sparkContext.defaultParallelism
        own.conf.set("spark.sql.files.minPartitionNum", str(tasks))
        _own[spark] = own
    return own


@dataclass(frozen=True, slots=True)
class PartFacts:
    """How much is in a part."""

    documents: int
    bytes: int
    shapes: int
    rejected: int
    created: str


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an archive; ``first`` and ``last`` are the numbers of the runs that made it."""

    first: int
    last: int
    location: Location
    facts: PartFacts

    @property
    def name(self) -> str:
        return _part_name(self.first, self.last)

    def table(self, name: str) -> str:
        """The URL of one of its tables."""
        return self.location.child(name).url

    def has_shape(self, first: int, last: int) -> bool:
        """Whether a shape of this part can have a number in that range."""
        return self.first << PART_SHIFT <= last and first < (self.first + 1) << PART_SHIFT


class ArchiveFolder:
    """The folder of an archive, as it is at the moment."""

    def __init__(self, spark: SparkSession, path: str, *, create: bool = False) -> None:
        self.spark = own_spark_session(spark)
        self.location = Location(spark, path)
        self._parts = self.location.child("parts")
        self._head = self.location.child(_HEAD)
        if self._head.exists():
            self._check_version()
        elif not create:
            raise PipelineError(
                f"{self.location.url}: there is no archive here; make one with archive"
            )
        elif not self._is_free():
            raise PipelineError(
                f"{self.location.url} is not an archive, and holds something else; "
                "choose an empty folder, or one that is not there yet"
            )

    @property
    def url(self) -> str:
        return self.location.url

    def _is_free(self) -> bool:
        """Whether nothing is there but what runs are writing, or have left."""
        return all(
            entry.name == self._parts.name and entry.is_folder for entry in self.location.entries()
        ) and all(entry.name.startswith(_STAGING) for entry in self._parts.entries())

    def _check_version(self) -> None:
        head = self._head
        try:
            said = json.loads(head.read_text())
            is_ours = said["format"] == _FORMAT
            version = said["version"]
        except (ValueError, KeyError, TypeError):
            is_ours = False
        if not is_ours:
            raise PipelineError(
                f"{head.url} is not the head of an archive; was it changed by hand?"
            )
        if version != VERSION:
            raise PipelineError(
                f"{self.url} has the layout {version}, and this Twigcast reads {VERSION} only; "
                "use the Twigcast that wrote it, or archive its documents anew"
            )

    def _ranges(self) -> dict[tuple[int, int], int]:
        """All parts that are there, those replaced included, and when each was made."""
        ranges = {}
        for entry in self._parts.entries():
            name = _NAME.fullmatch(entry.name)
            if name is not None and entry.is_folder:
                ranges[int(name[1]), int(name[2])] = entry.modified_ms
        return ranges

    def parts(self) -> list[Part]:
        """The parts that together are the archive, oldest first."""
        return [self._part(*numbers) for numbers in _visible(self._ranges())]

    def _part(self, first: int, last: int) -> Part:
        location = self._parts.child(_part_name(first, last))
        said = _read_facts(location)
        del said[_TOKEN]
        return Part(first, last, location, PartFacts(**said))

    def still_has(self, parts: Sequence[Part]) -> bool:
        """Whether all of these parts are still there."""
        ranges = self._ranges()
        return all((part.first, part.last) in ranges for part in parts)

    def next_number(self) -> int:
        """The number of the part that the next run adds."""
        return max((last for _, last in self._ranges()), default=0) + 1

    @contextmanager
    def writing(self) -> Iterator[Location]:
        """A folder to write a part to, which goes at the end unless :meth:`put` has moved it."""
        staging = self._parts.child(_STAGING + uuid.uuid4().hex)
        try:
            yield staging
            self._write_head()
        finally:
            staging.remove()

    def _write_head(self) -> None:
        if not self._head.exists():
            head = {"format": _FORMAT, "version": VERSION}
            self._head.write_text(json.dumps(head) + "\n")

    def put(
        self, staging: Location, facts: PartFacts, first: int, last: int, replaced: Sequence[Part]
    ) -> Part:
        """Make what was written a part of the archive."""
        token = staging.name
        staging.child(_FACTS).write_text(json.dumps({**asdict(facts), _TOKEN: token}) + "\n")
        part = Part(first, last, self._parts.child(_part_name(first, last)), facts)
        visible = _visible(self._ranges())
        overtaken = [old for old in replaced if (old.first, old.last) not in visible]
        newer = [numbers for numbers in visible if numbers[1] >= first] if not replaced else []
        if overtaken or newer:
            raise self._refusal()
        self._write_head()
        staging.rename(part.location)
        if _read_facts(part.location)[_TOKEN] != token:
            # Another part got there first, and Hadoop has moved ours into it.
            part.location.child(staging.name).remove()
            raise self._refusal()
        if any(_cross((first, last), other) for other in self._ranges()):
            # Two compactions of overlapping ranges; what they would have replaced is still there.
            part.location.remove()
            raise self._refusal()
        return part

    def _refusal(self) -> PipelineError:
        return PipelineError(
            f"{self.url}: somebody else has changed the archive meanwhile; "
            "nothing was done, run it again"
        )

    def tidy(self) -> int:
        """Remove parts that were replaced long ago, and what killed runs left behind."""
        now_ms = int(time.time() * 1000)
        ranges = self._ranges()
        visible = _visible(ranges)
        old = []
        for numbers in set(ranges) - set(visible):
            made = [ranges[wider] for wider in visible if _contains(wider, numbers)]
            if made and now_ms - max(made) > _GRACE_MS:
                old.append(self._parts.child(_part_name(*numbers)))
        old.extend(
            self._parts.child(entry.name)
            for entry in self._parts.entries()
            if entry.name.startswith(_STAGING)
            and now_ms - entry.modified_ms > _ABANDONED_MS
            and now_ms - _last_change_ms(self._parts.child(entry.name)) > _ABANDONED_MS
        )
        for location in old:
            location.remove()
        return len(old)


def _part_name(first: int, last: int) -> str:
    return f"{first:06}-{last:06}"


def _read_facts(part: Location) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(part.child(_FACTS).read_text())
    return said


def _last_change_ms(folder: Location) -> int:
    """When something within was last written; a folder's own time does not cover deeper changes."""
    return max(
        (
            max(entry.modified_ms, _last_change_ms(folder.child(entry.name)))
            if entry.is_folder
            else entry.modified_ms
            for entry in folder.entries()
        ),
        default=0,
    )


def _cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether the ranges share numbers, and neither holds the other."""
    first, second = sorted((one, other))
    return first[0] < second[0] <= first[1] < second[1]


def _contains(wider: tuple[int, int], numbers: tuple[int, int]) -> bool:
    return wider != numbers and wider[0] <= numbers[0] and numbers[1] <= wider[1]


def _visible(ranges: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    return sorted(one for one in ranges if not any(_contains(other, one) for other in ranges))
