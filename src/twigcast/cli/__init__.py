"""The command line: ``twigcast``.

One module a command, each a thin layer: read the arguments, call the library, show the answer as
a table for people or with ``--json`` as one JSON object a line for programs.  Results go to
standard output, progress and errors to standard error; the exit status is 0, 1 when part of the
work failed (a document that is not well-formed), or 2 when the command could not do its work.

Nothing is loaded before :func:`main` is called, so that Ctrl-C finds somebody who takes it.

Other command lines, such as that of the laboratory, use :func:`run` and the console's functions
that this package exports, and so behave alike.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

    from twigcast.cli.commands import app
    from twigcast.cli.console import output, print_json, read_schema, showing_work, wide_output

__all__ = [
    "app",
    "main",
    "output",
    "print_json",
    "read_schema",
    "run",
    "showing_work",
    "wide_output",
]

_INTERRUPTED: Final = 130
"""The status by which shells report that Ctrl-C has ended a command."""


def main() -> None:
    """Run ``twigcast``."""
    run(_commands)


def run(load: Callable[[], typer.Typer]) -> None:
    """Run a command line; an error that the user can mend is reported in a few words.

    The commands are loaded within, so that Ctrl-C ends the loading as quietly as the work.
    """
    try:
        _run(load)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except RuntimeError as error:
        # So Python 3.11 reports Ctrl-C while it makes a dataclass.
        if isinstance(error.__cause__, KeyboardInterrupt):
            sys.exit(_INTERRUPTED)
        raise


def _commands() -> typer.Typer:
    from twigcast.cli.commands import app

    return app


def _run(load: Callable[[], typer.Typer]) -> None:
    _open_streams()
    from twigcast.errors import TwigcastError

    _show_warnings()
    try:
        load()()
    except TwigcastError as error:
        _exit_with(str(error))
    except BrokenPipeError:
        # Whoever read our output has enough; nothing is left to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _exit_with(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _show_warnings() -> None:
    """Print what is hardly meant in a subscription as the other messages of a command."""
    import warnings

    from twigcast.errors import SubscriptionWarning

    show = warnings.showwarning

    def print_warning(
        message: Warning | str, category: type[Warning], *where: Any, **stream: Any
    ) -> None:
        if not issubclass(category, SubscriptionWarning):
            show(message, category, *where, **stream)
            return
        from twigcast.cli.console import warn

        warn(str(message))

    warnings.simplefilter("always", SubscriptionWarning)
    warnings.showwarning = print_warning


def _exit_with(message: str) -> NoReturn:
    from twigcast.cli.console import complain

    complain(message)
    sys.exit(2)


def _open_streams() -> None:
    """Make the standard streams usable where the caller closed them or set another encoding."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open to the end
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")


def __getattr__(name: str) -> Any:
    """What programs call: the commands, of which all are loaded then, and the console."""
    if name == "app":
        from twigcast.cli.commands import app, load_all

        load_all()
        return app
    if name in __all__:
        from twigcast.cli import console

        return getattr(console, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
