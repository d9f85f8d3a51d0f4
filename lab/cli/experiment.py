"""``twigcast-lab experiment``: the papers' tables and figures, run again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from lab.benchmarks.machine import machine_facts
from lab.benchmarks.results import readable
from lab.experiments import EXPERIMENTS, Cell, Experiment, Outcome, Setting, Sheet
from twigcast.cli import output, print_json, read_schema, showing_work, wide_output
from twigcast.schema import Schema

_NEWS: Final = "examples/news.dtd"
_PROTEIN: Final = "examples/protein.dtd"
_FOLDER: Final = Path("twigcast-experiments")
_BESIDE: Final = 3
"""The characters of a table that a column takes beside its text."""


def experiment(
    name: Annotated[
        str | None, typer.Argument(help="Which one to run; without a name they are listed.")
    ] = None,
    dtd: Annotated[str, typer.Option(help="The DTD instead of NITF, or NITF itself.")] = _NEWS,
    root: Annotated[
        str | None, typer.Option(help="Its root element, where the DTD leaves it open.")
    ] = None,
    protein_dtd: Annotated[
        str, typer.Option(help="The DTD instead of PSD, for experiments with both.")
    ] = _PROTEIN,
    seed: Annotated[int, typer.Option(help="The seed of the workload.")] = 1,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="The sizes of the paper, or sizes for a minute."),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help=f"A folder for results.json, CSV and plots; {_FOLDER}/NAME by default.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object instead of tables.")
    ] = False,
) -> None:
    """Run a table or figure of a paper again, and show the paper's figures beside ours."""
    if name is None:
        _list(as_json)
        return
    chosen = EXPERIMENTS.get(name)
    if chosen is None:
        raise typer.BadParameter(f"there is no {name}; choose one of: {', '.join(EXPERIMENTS)}")
    news = _schema(dtd, root, "--dtd")
    protein = _schema(protein_dtd, None, "--protein-dtd") if chosen.needs_protein else None
    with showing_work() as progress:
        outcome = chosen.run(Setting(news, protein, full, seed, progress=progress))
    remarks = [*outcome.remarks, *_stand_in(dtd)]
    if not full:
        remarks.append("A quick run: smaller than the paper's; --full has its sizes.")
    where = f"{Path(dtd).name}, seed {seed}"
    record = {
        "experiment": chosen.name,
        "source": chosen.source,
        "sizes": "full" if full else "quick",
        "dtd": Path(dtd).name,
        "seed": seed,
        "machine": machine_facts(),
        "sheets": [sheet.as_json() for sheet in outcome.sheets],
        "remarks": remarks,
    }
    folder = folder or _FOLDER / chosen.name
    files = _store(chosen, outcome, record, folder, f"{where}; {'full' if full else 'quick'} run")
    if as_json:
        print_json(record)
    else:
        _print(chosen, outcome, remarks, files)


def _schema(dtd: str, root: str | None, option: str) -> Schema:
    if not Path(dtd).is_file():
        raise typer.BadParameter(f"{dtd} is not here; name a DTD with {option}")
    return read_schema(dtd, root)


def _stand_in(dtd: str) -> list[str]:
    if dtd != _NEWS:
        return []
    return [f"{_NEWS} stands in for NITF, which the papers used; name another DTD with --dtd."]


def _list(as_json: bool) -> None:
    if as_json:
        for one in EXPERIMENTS.values():
            print_json({"name": one.name, "summary": one.summary, "source": one.source})
        return
    table = Table("experiment", "what it shows", "from")
    for one in EXPERIMENTS.values():
        table.add_row(one.name, one.summary, one.source)
    output().print(table)


def _store(
    chosen: Experiment, outcome: Outcome, record: dict[str, Any], folder: Path, note: str
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = [sheet.write(folder) for sheet in outcome.sheets]
    path = folder / "results.json"
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    files.append(path)
    return files + outcome.draw(folder, chosen.name, note)


def _print(chosen: Experiment, outcome: Outcome, remarks: list[str], files: list[Path]) -> None:
    console = wide_output()
    console.print(Text(f"{chosen.name}: {chosen.summary} ({chosen.source})"))
    for sheet in outcome.sheets:
        for table in _tables(sheet, console.width):
            console.print(table)
    for remark in remarks:
        console.print(Text(f"· {remark}"))
    names = ", ".join(path.name for path in files)
    console.print(Text(f"· written to {files[0].parent}: {names}"))


def _tables(sheet: Sheet, width: int) -> Iterator[Table]:
    """A sheet as tables of that width at most; each but the first begins with its first column."""
    shown = [[_shown(cell) for cell in row] for row in sheet.rows[sheet.every - 1 :: sheet.every]]
    least = [
        max(len(text) for text in (*header.split(), *(row[column] for row in shown))) + _BESIDE
        for column, header in enumerate(sheet.columns)
    ]
    chosen = [0]
    title = sheet.title
    for column in range(1, len(least)):
        if sum(least[each] for each in (*chosen, column)) >= width and len(chosen) > 1:
            yield _table(sheet, shown, chosen, width, title)
            chosen, title = [0], f"{sheet.title}, continued"
        chosen.append(column)
    yield _table(sheet, shown, chosen, width, title)


def _table(
    sheet: Sheet, shown: Sequence[Sequence[str]], chosen: Sequence[int], width: int, title: str
) -> Table:
    rows = [[row[each] for each in chosen] for row in shown]
    table = Table(*_headers([sheet.columns[each] for each in chosen], rows, width), title=title)
    for number, column in zip(chosen, table.columns, strict=True):
        column.overflow = "fold"
        if all(not isinstance(row[number], str) for row in sheet.rows):
            column.justify = "right"
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _headers(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The headers in as few lines as a table of that width allows, broken between words only."""
    cells = [max((len(row[number]) for row in rows), default=0) for number in range(len(columns))]
    headers = list(columns)
    for most in range(max(map(len, columns)), 0, -1):
        widths = [
            max(cell, most, *map(len, column.split()))
            for column, cell in zip(columns, cells, strict=True)
        ]
        headers = [fill(column, each) for column, each in zip(columns, widths, strict=True)]
        needed = [
            max(cell, *map(len, header.split("\n")))
            for header, cell in zip(headers, cells, strict=True)
        ]
        if sum(needed) + _BESIDE * len(columns) < width:
            break
    return headers


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else readable(cell)
