"""The output of a stream: its batches, each published by one renaming.

    OUTPUT/_stream.json                       which stream writes here, and in which format
    OUTPUT/_checkpoint/                       what Spark has taken so far, unless it is elsewhere
    OUTPUT/.batch=00000012.5f3a….partial/     being written
    OUTPUT/batch=00000012/                    there whole
        deliveries/  documents/  rejected/  [links/]  batch.json

Spark numbers the batches and keeps in the checkpoint which documents each of them has, before it
runs one.  After a crash Spark runs the last batch again under the same number; if that batch is
there already, it is left alone.  So a document is in exactly one batch.

That holds only as long as an output and a checkpoint belong together: with another checkpoint the
numbers would begin anew, and new documents would be taken for delivered ones.  Both carry the same
id, and a pair with different ids is refused.  Two processes with one checkpoint write to folders of
their own, and one of them renames first; the other one fails.  All batches have one format, since
together they are read as one table.
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        self.folder = Location(spark, output)
        self.checkpoint = (
            Location(spark, checkpoint) if checkpoint else self.folder.child(CHECKPOINT)
        )
        self._token = secrets.token_hex(8)
        self._leftovers: dict[str, list[Location]] = defaultdict(list)
        """Folders of runs that were killed, by the name of the batch they were to become."""

    def claim(self, format: Format) -> None:  # noqa: A002 - as Spark's own writer calls it
        """Check that output and checkpoint belong together, or pair them; remove leftovers."""
        here, there = _identity(self.folder), _identity(self.checkpoint)
        if here is None and there is None:
            self._refuse_strangers()
            # The checkpoint first: without Spark's own file in it, no stream has begun.
            there = self._sign(self.checkpoint, uuid.uuid4().hex, format)
        if here is None and there is not None:
            if self.checkpoint.child(_OF_SPARK).exists():
                raise PipelineError(
                    f"the checkpoint {self.checkpoint.url} goes with the output {there['output']}, "
                    f"and {self.folder.url} is another one or has been emptied; choose a new "
                    "checkpoint to begin anew"
                )
            here = self._sign(self.folder, there["stream"], format)
        assert here is not None
        if there is None or here["stream"] != there["stream"]:
            raise PipelineError(
                f"the output {self.folder.url} goes with the checkpoint {here['checkpoint']}, and "
                f"{self.checkpoint.url} is not or no longer that one; go on with it, or choose a "
                "new output"
            )
        if here["format"] != format:
            raise PipelineError(
                f"the batches of {self.folder.url} are in the format {here['format']!r}, and the "
                f"stream would go on in {format!r}; keep to the former, or begin anew with a new "
                "output and a new checkpoint"
            )
        self.stream = str(here["stream"])
        self._find_leftovers()

    def _refuse_strangers(self) -> None:
        if self.checkpoint.child(_OF_SPARK).exists():
            raise PipelineError(
                f"{self.checkpoint.url} is the checkpoint of another query; choose another folder"
            )
        if any(entry.name != self.checkpoint.name for entry in self.folder.entries()):
            raise PipelineError(
                f"{self.folder.url} is there already, and no stream has written it; choose another "
                "folder"
            )

    def _sign(self, folder: Location, stream: str, format: Format) -> dict[str, Any]:  # noqa: A002
        identity = {
            "stream": stream,
            "output": self.folder.url,
            "checkpoint": self.checkpoint.url,
            "format": format,
        }
        # Whole or not at all, as everything here.
        draft = folder.child(f".{_IDENTITY}.{self._token}")
        draft.write_text(json.dumps(identity) + "\n")
        draft.rename(folder.child(_IDENTITY))
        return identity

    def _find_leftovers(self) -> None:
        for entry in self.folder.entries():
            if entry.name.startswith(f".{_PREFIX}"):
                batch = entry.name[1:].partition(".")[0]
                self._leftovers[batch].append(self.folder.child(entry.name))
        for batch in list(self._leftovers):
            # Those of a batch that is still to come may be another process's, which fails as
            # soon as that batch is there.
            if self.folder.child(batch).exists():
                self._clear(batch)

    def _clear(self, batch: str) -> None:
        for folder in self._leftovers.pop(batch, ()):
            folder.remove()

    def batch(self, number: int) -> Location:
        """The location of a batch, there or not."""
        return self.folder.child(f"{_PREFIX}{number:08d}")

    def check(self) -> None:
        """Raise unless the folder is still there and still belongs to this stream."""
        identity = _identity(self.folder)
        if identity is None or identity["stream"] != self.stream:
            raise PipelineError(
                f"the output {self.folder.url} has been taken away while the stream ran; put it "
                "back, or begin anew with a new output and a new checkpoint"
            )

    @contextmanager
    def writing(self, number: int) -> Iterator[Location]:
        """A folder to write a batch to, published by renaming; if that fails, nothing is left."""
        target = self.batch(number)
        staging = self.folder.child(f".{target.name}.{self._token}.partial")
        try:
            staging.remove()
            yield staging
            self.check()
            if target.exists():
                raise PipelineError(
                    f"{target.url} has been written by another process meanwhile; let only one "
                    "run with this checkpoint"
                )
            staging.rename(target)
        except BaseException:
            with suppress(PipelineError):
                # The next start removes what cannot be removed now.
                staging.remove()
            raise
        self._clear(target.name)


def _identity(folder: Location) -> dict[str, Any] | None:
    """The stream that a folder belongs to; None if it says none."""
    file = folder.child(_IDENTITY)
    if not file.exists():
        return None
    text = file.read_text()
    try:
        identity = json.loads(text)
        if {"stream", "output", "checkpoint", "format"} <= identity.keys():
            return dict(identity)
    except (ValueError, AttributeError):
        pass
    raise PipelineError(f"{file.url} does not say which stream it belongs to: it is damaged")
