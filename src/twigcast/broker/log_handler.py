"""The log of a broker, which nobody can flood.

    records ──► of each kind the first ten of a second ──► stream
            └─► the others are counted ──when the second is over──► "… and 989 more like it"

Whoever reaches a port can make a broker log as quickly as they call.  So a kind of message comes
ten times a second at most, whatever logs it: the broker, gRPC, uvicorn or asyncio.  Messages are of
one kind if their first lines, before values are put in, differ in numbers only.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass
from typing import Final, TextIO, TypeAlias

WINDOW: float = 1.0
"""For how many seconds messages are counted together."""
_MOST: Final = 10
_MOST_KINDS: Final = 1_000
_LONGEST: Final = 200
_DIGITS: Final = re.compile(r"[0-9]+")

_Kind: TypeAlias = tuple[str, int, str]


def one_line(text: str) -> str:
    """A text of somebody else's as it can stand in the log: a short line that forges no other."""
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in short)


@dataclass(slots=True)
class _Count:
    """How many messages of a kind have come, and the last of them."""

    last: logging.LogRecord
    number: int = 0


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes to a stream, of each kind of message a few a second."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._counts: dict[_Kind, _Count] = {}
        self._began = time.monotonic()
        self.reporting: threading.Timer | None = None
        """What reports, when the second is over, how many were withheld."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it."""
        if time.monotonic() - self._began > WINDOW:
            self._begin_anew()
        count = self._counts.setdefault(self._kind(record), _Count(record))
        count.number += 1
        count.last = record
        if count.number <= _MOST:
            super().emit(record)
        elif self.reporting is None:
            self.reporting = threading.Timer(WINDOW, self._report)
            self.reporting.daemon = True
            self.reporting.start()

    def close(self) -> None:
        """Report what was withheld, and write nothing more."""
        self._report()
        super().close()

    def _kind(self, record: logging.LogRecord) -> _Kind:
        first, _, _ = str(record.msg).partition("\n")
        kind = (record.name, record.levelno, _DIGITS.sub("0", first[:_LONGEST]))
        is_room = kind in self._counts or len(self._counts) < _MOST_KINDS
        return kind if is_room else ("", record.levelno, "")

    def _report(self) -> None:
        with self.lock or threading.RLock():
            self._begin_anew()

    def _begin_anew(self) -> None:
        counts, self._counts = self._counts, {}
        self._began = time.monotonic()
        if self.reporting is not None:
            self.reporting.cancel()
            self.reporting = None
        for each in counts.values():
            others = each.number - _MOST - 1
            if others >= 0:
                super().emit(_summary(each.last, others) if others else each.last)


def _summary(last: logging.LogRecord, others: int) -> logging.LogRecord:
    """A record that stands for others; the last of them is its example."""
    first, _, _ = last.getMessage().partition("\n")
    return logging.makeLogRecord(
        {
            "name": last.name,
            "levelno": last.levelno,
            "levelname": last.levelname,
            "msg": "%s … and %s more like it",
            "args": (first[:_LONGEST], f"{others:,}"),
        }
    )
