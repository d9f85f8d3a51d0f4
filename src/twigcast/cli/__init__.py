"""The command line: ``twigcast``.

One module a command, each a thin layer: read the arguments, call the library, show the answer as
a table for people or with ``--json`` as one JSON object a line for programs.  Results go to
standard output, progress and errors to standard error; the exit status is 0, 1 when part of the
work failed (a document that is not well-formed), or 2 when the command could not do its work.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from twigcast import __version__
from twigcast.cli.advertise import advertise
from twigcast.cli.archive import archive, compact
from twigcast.cli.ask import ask
from twigcast.cli.bench import bench
from twigcast.cli.broker import broker
from twigcast.cli.console import complain
from twigcast.cli.cover import cover
from twigcast.cli.experiment import experiment
from twigcast.cli.generate import generate
from twigcast.cli.match import match
from twigcast.cli.network import network
from twigcast.cli.publish import publish
from twigcast.cli.query import query
from twigcast.cli.route import route
from twigcast.cli.simulate import simulate
from twigcast.cli.stream import stream
from twigcast.cli.subscribe import subscribe
from twigcast.cli.token import token
from twigcast.errors import TwigcastError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Deliver XML documents to whoever's XPath they match.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
app.command()(match)
app.command()(cover)
app.command()(advertise)
app.add_typer(generate)
app.command()(route)
app.command()(stream)
app.command()(archive)
app.command()(query)
app.command()(compact)
app.command()(broker)
app.command()(publish)
app.command()(subscribe)
app.command()(ask)
app.command()(token)
app.add_typer(network)
app.command()(simulate)
app.command()(experiment)
app.command()(bench)


@app.callback()
def _show_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"twigcast {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors that a user can mend are told in a few words."""
    _open_streams()
    try:
        app()
    except TwigcastError as error:
        complain(str(error))
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has enough; nothing is left to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(2)


def _open_streams() -> None:
    """Make the standard streams usable where the caller closed them or set another encoding."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open to the end
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")
