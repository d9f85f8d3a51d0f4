"""What an experiment is, and what it finds: sheets of figures, a plot, and remarks."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.benchmarks.charts import Panel, draw_panels
from lab.benchmarks.measure import Progress, quiet
from twigcast.schema import Schema

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of figures, the paper's beside ours."""

    name: str
    """The name of its file."""
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    every: int = 1
    """In print one row of so many, the last of them, stands for all; files have every row."""

    def as_json(self) -> dict[str, object]:
        """The sheet as a JSON object; each row is an object, too."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "rows": rows}

    def write(self, folder: Path) -> Path:
        """Write the sheet as CSV."""
        path = folder / f"{self.name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        return path


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of an experiment."""

    sheets: Sequence[Sheet]
    panels: Sequence[Panel]
    remarks: Sequence[str] = ()
    """How it was done, where that differs from the paper, and what to think of it."""

    def draw(self, folder: Path, name: str, note: str = "") -> list[Path]:
        """Draw the panels."""
        return draw_panels(self.panels, folder, name, note)


@dataclass(frozen=True, slots=True)
class Setting:
    """What an experiment is run with."""

    schema: Schema
    """News, instead of NITF or NITF itself."""
    protein: Schema | None = None
    """Proteins, instead of PSD, for experiments that need them."""
    full: bool = False
    """At the sizes of the papers; otherwise at sizes that take a minute."""
    seed: int = 1
    rounds: int = 3
    progress: Progress = field(default=quiet)

    @property
    def protein_schema(self) -> Schema:
        """The proteins, which the experiment has said that it needs."""
        assert self.protein is not None
        return self.protein


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper that can be run again."""

    name: str
    summary: str
    """One line."""
    source: str
    """The paper, and where in it."""
    run: Callable[[Setting], Outcome]
    needs_protein: bool = False
