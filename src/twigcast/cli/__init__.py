"""The command line: ``twigcast``.

One module a command, each a thin layer: read the arguments, call the library, show the answer as
a table for people or with ``--json`` as one JSON object a line for programs.  Results go to
standard output, progress and errors to standard error; the exit status is 0, 1 when part of the
work failed (a document that is not well-formed), or 2 when the command could not do its work.
"""

from __future__ import annotations

import os
import sys

import typer

from twigcast.cli.advertise import advertise
from twigcast.cli.bench import bench
from twigcast.cli.console import complain
from twigcast.cli.generate import generate
from twigcast.cli.match import match
from twigcast.errors import TwigcastError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Deliver XML documents to whoever's XPath they match.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(match)
app.command()(advertise)
app.add_typer(generate)
app.command()(bench)


def main() -> None:
    """Run the command line; errors that a user can mend are told in a few words."""
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
