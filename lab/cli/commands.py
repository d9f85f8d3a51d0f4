"""The two commands of the laboratory."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli.bench import bench
from lab.cli.experiment import experiment
from twigcast import __version__

app = typer.Typer(
    help="Measure Twigcast, and run the papers' tables and figures again.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
app.command()(experiment)
app.command()(bench)


@app.callback()
def _show_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"twigcast-lab {__version__}")
        raise typer.Exit
