"""The argument SUBSCRIPTIONS of a command: a file, or one XPath."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from twigcast.cli.binding_options import parse_expressions
from twigcast.cli.console import note, warn
from twigcast.errors import SubscriptionError, SubscriptionFileError
from twigcast.language import Bindings, OnBad, Subscription, read_subscriptions

SKIP_BAD = Annotated[
    bool, typer.Option("--skip-bad", help="Leave bad subscriptions out instead of stopping.")
]

_MOST_SKIPPED: Final = 10
_MOST_LINES: Final = 100
_ENDINGS: Final = (".txt", ".csv", ".parquet")
_LIKE_A_FILE: Final = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")


def report_skipped(errors: Sequence[SubscriptionFileError]) -> None:
    """Say which subscriptions were left out."""
    for error in errors[:_MOST_SKIPPED]:
        warn(f"left out: {error}")
    others = [str(error.line) for error in errors[_MOST_SKIPPED:]]
    if others:
        lines = ", ".join(others[:_MOST_LINES]) + (", …" if others[_MOST_LINES:] else "")
        warn(f"left out, {len(errors):,} in all: also lines {lines}")


def named_subscriptions(
    argument: str, bindings: Bindings, on_bad: OnBad | None = None
) -> Iterator[Subscription]:
    """The subscriptions of a file, or the XPath that the argument itself is, as its own key.

    ``-`` and the name of an existing file are files; so is a name with the ending of such a file,
    since ``//desk.txt`` is an XPath too.  All else is an XPath, with these bindings.
    """
    is_file = argument == "-" or argument.endswith(_ENDINGS)
    if is_file or (argument and Path(argument).exists()):
        if bindings:
            raise typer.BadParameter(
                "--namespace, --variable, --relative-to and --xpath-version go with an XPath; "
                "a file of subscriptions says these itself"
            )
        return read_subscriptions(argument, on_bad)
    try:
        (pattern,) = parse_expressions([argument], bindings)
    except SubscriptionError as error:
        reason = f"there is no such file, and as an XPath: {error}"
        raise SubscriptionFileError(reason, argument, 0) from None
    if _LIKE_A_FILE.fullmatch(argument):
        note(f"no file is called {argument}; it is read as an XPath")
    return iter((Subscription(argument, pattern, None, argument),))
