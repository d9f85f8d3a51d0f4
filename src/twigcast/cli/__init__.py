"""The command line: ``twigcast``.

One module a command, each a thin layer: read the arguments, call the library, show the answer as
a table for people or with ``--json`` as one JSON object a line for programs.  Results go to
standard output, progress and errors to standard error; the exit status is 0, 1 when part of the
work failed (a document that is not well-formed), or 2 when the command could not do its work.

Nothing is loaded before :func:`main` is called, so that Ctrl-C finds somebody who takes it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from twigcast.cli.commands import app

__all__ = ["app", "main"]

_INTERRUPTED: Final = 130
"""The status by which shells tell that Ctrl-C has ended a command."""


def main() -> None:
    """Run the command line; errors that a user can mend are told in a few words."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _run() -> None:
    _open_streams()
    from twigcast.cli.commands import app
    from twigcast.errors import TwigcastError

    _show_warnings()
    try:
        app()
    except TwigcastError as error:
        _complain(str(error))
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has enough; nothing is left to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(2)


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


def _complain(message: str) -> None:
    from twigcast.cli.console import complain

    complain(message)


def _open_streams() -> None:
    """Make the standard streams usable where the caller closed them or set another encoding."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open to the end
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")


def __getattr__(name: str) -> Any:
    """The commands for programs that call them: all are loaded, as with any import."""
    if name == "app":
        from twigcast.cli.commands import app, load_all

        load_all()
        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
