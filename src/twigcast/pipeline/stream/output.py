"""Where a stream leaves its batches, each put in place by one renaming, once and for all.

    OUTPUT/_stream.json                       which stream writes here, and in which format
    OUTPUT/_checkpoint/                       what Spark has taken so far, unless it is elsewhere
    OUTPUT/.batch=00000012.5f3a….partial/     being written
    OUTPUT/batch=00000012/                    there whole
        deliveries/  documents/  rejected/  [links/]  batch.json

Spark numbers the batches and keeps in the checkpoint which documents each of them has, before it
runs one.  After a crash it runs the last one again under the same number; if that is in place
already it is left alone.  So a document is in exactly one batch.

That holds only as long as an output and a checkpoint belong together: with another checkpoint the
numbers would begin anew and documents would be taken for delivered.  Both carry the same id, and
whatever does not is refused.  Two processes with one checkpoint write to folders of their own, and
one of them renames first; the other one fails.  All batches have one format, since together they
are read as one table.
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from pyspark.sql import SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.locations import Location
from twigcast.pipeline.route.results import Format

BATCH_FILE: Final = "batch.json"
CHECKPOINT: Final = "_checkpoint"
_IDENTITY: Final = "_stream.json"
_OF_SPARK: Final = "metadata"
"""What Spark writes to a checkpoint when a query begins."""
_PREFIX: Final = "batch="


class StreamOutput:
    """The folder of a stream, claimed for one checkpoint."""

    def __init__(self, spark: SparkSession, output: str, checkpoint: str | None = None) -> None:
        self.place = Location(spark, output)
        self.checkpoint = (
            Location(spark, checkpoint) if checkpoint else self.place.child(CHECKPOINT)
        )
        self._token = secrets.token_hex(8)
        self._leftovers: dict[str, list[Location]] = defaultdict(list)
        """Folders of runs that were killed, by the name of the batch they were to become."""

    def claim(self, format: Format) -> None:  # noqa: A002 - as Spark's own writer calls it
        """See that output and checkpoint belong together, or make them so; clear what is left."""
        here, there = _identity(self.place), _identity(self.checkpoint)
        if here is None and there is None:
            self._refuse_strangers()
            # The checkpoint first: without Spark's own file there it tells that nothing has begun.
            there = self._sign(self.checkpoint, uuid.uuid4().hex, format)
        if here is None and there is not None:
            if self.checkpoint.child(_OF_SPARK).exists():
                raise PipelineError(
                    f"the checkpoint {self.checkpoint.url} goes with the output {there['output']}, "
                    f"and {self.place.url} is another one or has been emptied; choose a new "
                    "checkpoint to begin anew"
                )
            here = self._sign(self.place, there["stream"], format)
        assert here is not None
        if there is None or here["stream"] != there["stream"]:
            raise PipelineError(
                f"the output {self.place.url} goes with the checkpoint {here['checkpoint']}, and "
                f"{self.checkpoint.url} is not or no longer that one; go on with it, or choose a "
                "new output"
            )
        if here["format"] != format:
            raise PipelineError(
                f"the batches of {self.place.url} are in the format {here['format']!r}, and the "
                f"stream would go on in {format!r}; keep to the former, or begin anew with a new "
                "output and a new checkpoint"
            )
        self.stream = str(here["stream"])
        self._find_leftovers()

    def _refuse_strangers(self) -> None:
        if self.checkpoint.child(_OF_SPARK).exists():
            raise PipelineError(
                f"{self.checkpoint.url} is the checkpoint of some other query; choose another place"
            )
        if any(entry.name != self.checkpoint.name for entry in self.place.entries()):
            raise PipelineError(
                f"{self.place.url} is there already, and no stream has written it; choose another "
                "place"
            )

    def _sign(self, folder: Location, stream: str, format: Format) -> dict[str, Any]:  # noqa: A002
        identity = {
            "stream": stream,
            "output": self.place.url,
            "checkpoint": self.checkpoint.url,
            "format": format,
        }
        # Whole or not at all, as everything here.
        draft = folder.child(f".{_IDENTITY}.{self._token}")
        draft.write_text(json.dumps(identity) + "\n")
        draft.rename(folder.child(_IDENTITY))
        return identity

    def _find_leftovers(self) -> None:
        for entry in self.place.entries():
            if entry.name.startswith(f".{_PREFIX}"):
                batch = entry.name[1:].partition(".")[0]
                self._leftovers[batch].append(self.place.child(entry.name))
        for batch in list(self._leftovers):
            # Those of a batch that is still to come may be another process's, which is beaten as
            # soon as that batch is in place.
            if self.place.child(batch).exists():
                self._clear(batch)

    def _clear(self, batch: str) -> None:
        for folder in self._leftovers.pop(batch, ()):
            folder.remove()

    def batch(self, number: int) -> Location:
        """Where a batch is, or will be."""
        return self.place.child(f"{_PREFIX}{number:08d}")

    def check(self) -> None:
        """See that the folder is still there and still that of this stream."""
        found = _identity(self.place)
        if found is None or found["stream"] != self.stream:
            raise PipelineError(
                f"the output {self.place.url} has been taken away while the stream ran; put it "
                "back, or begin anew with a new output and a new checkpoint"
            )

    def put(self, number: int, write: Callable[[Location], None]) -> None:
        """Have a batch written, and put it in place; nothing is left if that fails."""
        target = self.batch(number)
        staging = self.place.child(f".{target.name}.{self._token}.partial")
        try:
            staging.remove()
            write(staging)
            self.check()
            if target.exists():
                raise PipelineError(
                    f"{target.url} has been written by another process meanwhile; let only one "
                    "run with this checkpoint"
                )
            staging.rename(target)
        except BaseException:
            with suppress(PipelineError):
                # What cannot be removed now is found at the next start.
                staging.remove()
            raise
        self._clear(target.name)


def _identity(folder: Location) -> dict[str, Any] | None:
    """What the folder says of the stream that it belongs to."""
    file = folder.child(_IDENTITY)
    if not file.exists():
        return None
    text = file.read_text()
    try:
        found = json.loads(text)
        if {"stream", "output", "checkpoint", "format"} <= found.keys():
            return dict(found)
    except (ValueError, AttributeError):
        pass
    raise PipelineError(f"{file.url} does not tell which stream it belongs to: it is damaged")
