"""A record: the figures of a run, with what they depend on, as a small file of JSON.

The file has its names in order and four digits a figure, so that two records differ only where
figures do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from lab.benchmarks.matching.bench import DOCUMENTS, parse_all
from lab.benchmarks.measure import timed
from lab.benchmarks.results import Result
from twigcast.schema import Schema
from twigcast.workload import generate_documents

FOLDER: Final = Path(__file__).parent

_TIMED_DOCUMENTS: Final = 200
_TIMED_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class Figure:
    """What a row was."""

    value: float
    spread: float
    """The interquartile range of its rounds, as a share of the value."""
    unit: str

    @classmethod
    def of(cls, result: Result) -> Figure:
        """The figure of a result, with as many digits as are worth keeping."""
        return cls(_short(result.value), _short(result.spread), result.unit)


@dataclass(frozen=True, slots=True)
class Record:
    """The figures of one subject in one run."""

    workload: Mapping[str, str | int]
    """The DTD, its root and the seed: figures of other workloads say nothing."""
    machine: Mapping[str, str | int | float]
    expat_microseconds: float
    """What a bare parse of a generated document took."""
    figures: Mapping[str, Figure]

    @classmethod
    def of(
        cls,
        results: Iterable[Result],
        workload: Mapping[str, str | int],
        machine: Mapping[str, str | int | float],
        expat_microseconds: float,
    ) -> Record:
        """The record of a run."""
        # How busy the machine was does not describe it.
        lasting = {name: fact for name, fact in machine.items() if name != "load"}
        figures = {result.name: Figure.of(result) for result in results}
        return cls(workload, lasting, _short(expat_microseconds), figures)


def write_record(subject: str, record: Record, folder: Path = FOLDER) -> Path:
    """Keep it as the record of the subject; where it is."""
    path = folder / f"{subject}.json"
    text = json.dumps(asdict(record), indent=2, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read_record(subject: str, folder: Path = FOLDER) -> Record | None:
    """The record of the subject; None if there is none."""
    path = folder / f"{subject}.json"
    if not path.is_file():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    figures = {name: Figure(**figure) for name, figure in stored.pop("figures").items()}
    return Record(**stored, figures=figures)


def expat_time(schema: Schema, seed: int) -> float:
    """The microseconds that a bare parse of a generated document takes here: the least of some."""
    documents = list(islice(generate_documents(schema, DOCUMENTS, seed=seed), _TIMED_DOCUMENTS))
    rounds = (timed(lambda: parse_all(documents), time.process_time) for _ in range(_TIMED_ROUNDS))
    return min(rounds) / len(documents) * 1e6


def _short(value: float) -> float:
    return float(f"{value:.4g}")
