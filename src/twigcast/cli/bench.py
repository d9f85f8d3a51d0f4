"""``twigcast bench``: our own speed, beside peers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from twigcast.cli.console import output, print_json
from twigcast.experiments import Measurement, foundation_speed
from twigcast.schema import Schema


def bench(
    dtd: Annotated[
        str, typer.Option(help="The DTD that subscriptions and documents are made from.")
    ] = "examples/news.dtd",
    root: Annotated[
        str | None, typer.Option(help="The root element, where the DTD leaves it open.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the workload.")] = 1,
    rounds: Annotated[int, typer.Option(min=2, help="How often each way is timed.")] = 7,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a measurement instead of a table.")
    ] = False,
) -> None:
    """Time what Twigcast does beside other ways to do it, in one run.

    Ratios count; absolute times depend on the machine and on what else it does.
    """
    if not Path(dtd).is_file():
        raise typer.BadParameter(f"{dtd} is not here; name a DTD with --dtd")
    schema = Schema.from_dtd(dtd, root)
    waiting = Console(stderr=True)
    with waiting.status("starting") as status:
        measurements = list(
            foundation_speed(
                schema, seed=seed, rounds=rounds, progress=lambda work: status.update(work)
            )
        )
    if json:
        for measurement in measurements:
            print_json(asdict(measurement))
    else:
        output().print(_table(measurements))


def _table(measurements: list[Measurement]) -> Table:
    table = Table("work", "by", "time", "ratio", "spread")
    for column in table.columns[2:]:
        column.justify = "right"
    last = ""
    for measurement in measurements:
        if last and measurement.work != last:
            table.add_section()
        table.add_row(
            measurement.work if measurement.work != last else "",
            measurement.way,
            f"{measurement.seconds * 1e6:,.1f} µs",
            f"{measurement.ratio:.2f}",
            f"±{measurement.spread / 2:.0%}",
        )
        last = measurement.work
    return table
