"""The reason of a failure in Spark, in one line for whoever can mend it."""

from __future__ import annotations

import re
from typing import Final

from twigcast.errors import TwigcastError

_WRAPPING: Final = re.compile(
    r"^\[STREAM_FAILED\].*?terminated with exception: |^\[FOREACH_BATCH.*?Reason: ", re.DOTALL
)
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+\s*$")
_CLASS: Final = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z])")
"""The packages before the name of an exception."""


def first_line(error: BaseException) -> str:
    """The first line of what Java or Python said."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.getMessage() or java.toString())
    lines = text.splitlines()
    return lines[0] if lines and lines[0] else type(error).__name__


def reason_of(error: BaseException) -> str:
    """One line that says what is wrong, without the stacks of Java and Python.

    If a Python worker failed, it is the last line of the worker's traceback.
    """
    if isinstance(error, TwigcastError):
        return str(error)
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    while (shorter := _WRAPPING.sub("", text, count=1)) != text:
        text = shorter
    _, is_traceback, rest = text.partition("Traceback (most recent call last):\n")
    message = rest if is_traceback else text
    for line in message.splitlines():
        if line.strip() and not line[0].isspace():
            return _CLASS.sub("", _STATE.sub("", line))
    return type(error).__name__
