"""Bundles: what workers decide by, made once on the driver and sent to each machine as one file.

A bundle is a folder: a compiled matcher and the names of its subscriptions, or a frozen network.
The driver packs it into an uncompressed zip file, named by a hash of the content.  Spark unpacks
the zip file on each machine that runs a task.  A worker maps the files into memory at its first
batch and keeps them; workers of one machine share the mapped pages.

    driver: folder ──zip──► twigcast-5d41…​.zip ──Spark──► machine: folder ──mmap──► worker

The zip file stays in the temporary folder of the Spark context, because machines that join later
fetch it too, and is removed with that folder.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark import SparkFiles
from pyspark.sql import SparkSession

_Loaded = TypeVar("_Loaded")

_kept: dict[str, Any] = {}
"""The bundle that this worker loaded last, by name; loading another one drops it."""


@dataclass(frozen=True, slots=True)
class Bundle(Generic[_Loaded]):
    """A folder of files that Spark has on every machine, and how to load it."""

    name: str
    load: Callable[[Path], _Loaded]
    """A function that workers can import."""

    def loaded(self) -> _Loaded:
        """The content of the bundle, loaded at the first call; for workers only."""
        if self.name not in _kept:
            _kept.clear()
            _kept[self.name] = self.load(Path(SparkFiles.get(self.name)))
        loaded: _Loaded = _kept[self.name]
        return loaded


def ship(spark: SparkSession, folder: Path, load: Callable[[Path], _Loaded]) -> Bundle[_Loaded]:
    """Bring the files of a folder to every machine of the Spark session."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    name = f"twigcast-{_digest(files)}.zip"
    context = spark.sparkContext
    target = Path(context._temp_dir) / name
    if not target.exists():
        draft = target.with_suffix(".partial")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            for path in files:
                archive.write(path, path.name)
        draft.rename(target)
        context.addArchive(str(target))
    return Bundle(name, load)


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]
