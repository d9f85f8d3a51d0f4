"""Processes that make load for the broker benchmark, and what they are asked and answer.

    this process: Load ──orders, a JSON object a line──► role: hold, receive, publish, …
                       ◄──answers, likewise─────────────

A role says once that it is ready, then answers each order.  It ends when its standard input does,
so no process outlives the one that started it.  Times are those of the system's monotonic clock,
which all processes of a machine share; so one may say when something was sent and another when it
came.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from twigcast.errors import NetworkError

PATIENCE: Final = 180.0
"""Seconds in which an order is answered, or never will be."""

_START: Final = "from lab.benchmarks.broker.roles import main; main()"
_STOP_PATIENCE: Final = 5.0
_LAST_WORDS: Final = 2_000


class Load:
    """A process with a role; ``with`` ends it."""

    def __init__(self, role: str, parameters: Mapping[str, object], log: Path) -> None:
        self.role = role
        self.ready: dict[str, Any] = {}
        """The answer by which the process said that it is ready."""
        self._log = log
        self._unread = bytearray()
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, role, json.dumps(parameters)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env={**os.environ, "GRPC_VERBOSITY": "NONE"},
                process_group=0,
            )

    def order(self, **order: object) -> None:
        """Give an order; the answer is to be heard."""
        assert self.process.stdin is not None, "it is a pipe"
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
        except BrokenPipeError:
            raise self._ended() from None

    def hear(self, timeout: float = PATIENCE) -> dict[str, Any]:
        """The next answer.  Raises NetworkError if there is none, with what the process wrote."""
        assert self.process.stdout is not None, "it is a pipe"
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise NetworkError(
                        f"the process to {self.role} has not answered for {timeout:g} seconds"
                    )
                data = os.read(self.process.stdout.fileno(), 2**16)
                if not data:
                    raise self._ended()
                self._unread += data
        line, _, rest = self._unread.partition(b"\n")
        self._unread = rest
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **order: object) -> dict[str, Any]:
        """Give an order and wait for the answer."""
        self.order(**order)
        return self.hear()

    def close(self) -> None:
        """End the process, by force if it does not within some seconds."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.terminate()
        try:
            self.process.wait(_STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ended(self) -> NetworkError:
        self.process.wait(_STOP_PATIENCE)
        words = self._log.read_text(encoding="utf-8", errors="replace")[-_LAST_WORDS:]
        return NetworkError(
            f"the process to {self.role} has ended with status {self.process.returncode}: {words}"
        )
