"""What went wrong in Spark, in words for whoever can mend it."""

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


def reason_of(error: BaseException) -> str:
    """One line that says what is wrong, without the stacks of Java and Python.

    Where a worker failed, that is what its Python said last.
    """
    if isinstance(error, TwigcastError):
        return str(error)
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    while (shorter := _WRAPPING.sub("", text, count=1)) != text:
        text = shorter
    _, is_traceback, rest = text.partition("Traceback (most recent call last):\n")
    told = rest if is_traceback else text
    for line in told.splitlines():
        if line.strip() and not line[0].isspace():
            return _CLASS.sub("", _STATE.sub("", line))
    return type(error).__name__
