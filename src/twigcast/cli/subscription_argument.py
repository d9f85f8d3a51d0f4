"""The argument SUBSCRIPTIONS of a command: a file, or one XPath."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from twigcast.cli.console import note
from twigcast.errors import SubscriptionError, SubscriptionFileError
from twigcast.language import Subscription, parse, read_subscriptions

_ENDINGS: Final = (".txt", ".csv", ".parquet")
_LIKE_A_FILE: Final = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")


def named_subscriptions(argument: str) -> Iterator[Subscription]:
    """The subscriptions of a file, or the XPath that the argument itself is, as its own key.

    ``-`` and the name of an existing file are files; so is a name with the ending of such a file,
    since ``//desk.txt`` is an XPath too.  All else is an XPath.
    """
    is_file = argument == "-" or argument.endswith(_ENDINGS)
    if is_file or (argument and Path(argument).exists()):
        return read_subscriptions(argument)
    try:
        pattern = parse(argument)
    except SubscriptionError as error:
        reason = f"there is no such file, and as an XPath: {error}"
        raise SubscriptionFileError(reason, argument, 0) from None
    if _LIKE_A_FILE.fullmatch(argument):
        note(f"no file is called {argument}; it is read as an XPath")
    return iter((Subscription(argument, pattern, None, argument),))
