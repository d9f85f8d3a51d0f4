"""The versions of the subscriptions while a stream runs, each compiled when it appears.

    files ──size, times──► the same: go on as before
                      └──► changed ──sha256──► other content ──► compiled ──► the next version
                                                             └──► bad: one warning; the last
                                                                  good version stays

A version is named by the first digits of the SHA-256 of its content, as ``sha256sum`` prints it for
a file: that of the subscriptions, then after a ``+`` that of the network where there is one.  A
folder or a network that names other files has the sum of a list such as ``sha256sum`` prints, and
what a program hands over as an object is just called ``given``.

Invariants: a version is compiled from what its name says, since files that change meanwhile are
read again at the next batch; a batch is decided by one whole version.

Cost: one look at each file a batch; reading and compiling where the content changed.  Spark keeps
the bundles until the Spark session ends, because machines that join later ask for all of them.  So
each version takes its compiled size on disk, and a restart frees it.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.failures import reason_of
from twigcast.pipeline.locations import Entry, Location
from twigcast.pipeline.route.decisions import Decision, decide
from twigcast.pipeline.subscriptions import Subscriptions
from twigcast.routing import NetworkPlan

_DIGITS: Final = 12
_GIVEN: Final = "given"
"""The name of a version that was given as objects."""
_MOST_SKIPPED: Final = 5
_UNFINISHED: Final = "_temporary"
"""An entry that Spark keeps in a folder until all files of a table are there."""


@dataclass(frozen=True, slots=True)
class Version:
    """Which subscriptions a batch was decided by."""

    name: str
    changed: str | None
    """When the newest of its files was changed; None where they were given as objects."""
    subscriptions: int


@dataclass(frozen=True, slots=True)
class _Stamp:
    """The facts of a file that change when its content does."""

    url: str
    size: int
    modified_ms: int
    inode: tuple[int, int] = (0, 0)
    """Of a local file the inode and the time of its last change, which no tool sets back."""


class SubscriptionVersions:
    """Watches the files of subscriptions and of a network, and compiles what is new.

    Subscriptions or a network given as objects have one version.  A bad first version is an error.
    """

    def __init__(
        self,
        spark: SparkSession,
        subscriptions: Subscriptions | None,
        network: str | NetworkPlan | None,
        *,
        at: str | None = None,
        names_broker: bool = False,
        scope: str = "",
        skip_bad: bool = False,
    ) -> None:
        if subscriptions == "-":
            raise PipelineError(
                "a stream looks at its subscriptions again and again, which standard input does "
                "not allow; put them into a file"
            )
        self._spark = spark
        if subscriptions is not None and not isinstance(subscriptions, str | DataFrame):
            # They may be asked for again when the network changes.
            subscriptions = tuple(subscriptions)
        self._subscriptions = subscriptions
        self._network = network
        self._compile = partial(
            decide,
            spark,
            subscriptions,
            network,
            at=at,
            names_broker=names_broker,
            scope=scope,
            skip_bad=skip_bad,
        )
        self._known = self._look()
        """How the files looked whose content is that of the version, or was refused."""
        self._refused: str | None = None
        self._complaint: str | None = None
        name = self._name()
        self.decision = self._compile()
        self.version = self._version(name, self._known)
        if self._look() != self._known:
            raise PipelineError("the subscriptions were changed while they were read; start again")
        self.warnings = _warnings(self.decision)
        """Warnings about the first version."""

    def renew(self) -> tuple[str, ...]:
        """Take up the newest version; returns the warnings about it."""
        try:
            seen = self._look()
            if seen == self._known:
                return ()
            return self._take(seen)
        except Exception as error:  # The stream goes on with the last good version.
            return self._keep(reason_of(error))

    def _take(self, seen: tuple[_Stamp, ...]) -> tuple[str, ...]:
        name = self._name()
        if name in (self.version.name, self._refused):
            self._known = seen
            if name == self.version.name:
                self._complaint = None
            return ()
        try:
            decision = self._compile()
        except ValueError as error:
            # The content is bad, and looking at it again would not mend it.
            if self._look() == seen:
                self._known, self._refused = seen, name
            return self._keep(reason_of(error))
        if self._look() != seen:
            return self._keep("they are being changed while they are read")
        self._known, self.decision = seen, decision
        self._complaint = self._refused = None
        self.version = self._version(name, seen)
        return _warnings(decision)

    def _keep(self, problem: str) -> tuple[str, ...]:
        if problem == self._complaint:
            return ()
        self._complaint = problem
        return (
            f"the new subscriptions are not used, version {self.version.name} stays: {problem}",
        )

    def _version(self, name: str, seen: tuple[_Stamp, ...]) -> Version:
        changed = None
        if seen:
            newest = max(stamp.modified_ms for stamp in seen) / 1000
            changed = datetime.fromtimestamp(newest, UTC).isoformat(timespec="milliseconds")
        return Version(name, changed, self.decision.subscriptions)

    def _look(self) -> tuple[_Stamp, ...]:
        """All files, as they are now."""
        return tuple(
            _stamp(self._spark, entry)
            for path in (*self._paths(self._subscriptions), *self._paths(self._network))
            for entry in _entries(self._spark, path)
        )

    def _paths(self, given: object) -> list[str]:
        """The paths of what is given, and those that a network file names."""
        if not isinstance(given, str):
            return []
        if given is not self._network:
            return [given]
        # A network is read from this machine, wherever the Hadoop of the Spark session looks by
        # default.
        network = Path(given).absolute()
        return [f"file:{path}" for path in (network, *_named_files(network))]

    def _name(self) -> str:
        """The name of the version that the files hold now."""
        given = [one for one in (self._subscriptions, self._network) if one is not None]
        return "+".join(
            self._sum(self._paths(one))[:_DIGITS] if isinstance(one, str) else _GIVEN
            for one in given
        )

    def _sum(self, paths: list[str]) -> str:
        sums = [
            (Location(self._spark, entry.url).sha256(), entry.name)
            for path in paths
            for entry in _entries(self._spark, path)
        ]
        if len(sums) == 1:
            return sums[0][0]
        listed = "".join(f"{digest}  {name}\n" for digest, name in sums)
        return hashlib.sha256(listed.encode()).hexdigest()


def _warnings(decision: Decision) -> tuple[str, ...]:
    warnings = [f"skipped: {error}" for error in decision.skipped[:_MOST_SKIPPED]]
    if len(decision.skipped) > _MOST_SKIPPED:
        warnings.append(f"… and {len(decision.skipped) - _MOST_SKIPPED:,} more were skipped")
    if not decision.subscriptions:
        warnings.append("there are no subscriptions, so nobody gets anything")
    return (*warnings, *decision.warnings)


def _entries(spark: SparkSession, path: str) -> Iterator[Entry]:
    """The file, or the files of a folder that Spark would read."""
    location = Location(spark, path)
    if not location.exists():
        raise PipelineError(f"{path}: there is no such file")
    if not location.is_folder:
        yield from location.entries()
        return
    entries = location.entries()
    if any(entry.name == _UNFINISHED for entry in entries):
        raise PipelineError(f"{path}: it is being written")
    for entry in entries:
        if not entry.name.startswith(("_", ".")):
            if entry.is_folder:
                yield from _entries(spark, entry.url)
            else:
                yield entry


def _stamp(spark: SparkSession, entry: Entry) -> _Stamp:
    local = Location(spark, entry.url).local_path
    if local is None:
        return _Stamp(entry.url, entry.size, entry.modified_ms)
    status = Path(local).stat()
    inode = status.st_ino, status.st_ctime_ns
    return _Stamp(entry.url, status.st_size, status.st_mtime_ns // 1_000_000, inode)


def _named_files(network: Path) -> list[Path]:
    """The files that a network file names; one that cannot be read names none."""
    try:
        clients = tomllib.loads(network.read_text(encoding="utf-8"))["clients"]
        named = [client.get("subscriptions_file") for client in clients]
        promised = [one for client in clients for one in client.get("advertises", ())]
        named += [one.get(kind) for one in promised for kind in ("dtd", "xsd")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return [network.parent / name for name in dict.fromkeys(named) if isinstance(name, str)]
