"""Commands of the live network as processes, for tests: started, watched, ended by their ids."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 30.0
COMMAND = (sys.executable, "-c", "from twigcast.cli import main; main()")


class Command:
    """A command that runs, with what it has printed so far."""

    def __init__(self, folder: Path, arguments: tuple[str, ...], stdin: int | None) -> None:
        self._output = folder / f"{time.monotonic_ns()}"
        with self._output.open("wb") as out, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=out,
                stderr=errors,
            )

    @property
    def _errors(self) -> Path:
        return self._output.with_suffix(".errors")

    @property
    def content(self) -> bytes:
        return self._output.read_bytes()

    @property
    def output(self) -> str:
        return self.content.decode()

    @property
    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8")

    def json_lines(self) -> list[dict[str, Any]]:
        """The whole lines so far."""
        return [json.loads(line) for line in self.output.splitlines(True) if line.endswith("\n")]

    def has_printed(self, text: str) -> bool:
        return text in self.output

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for something; fails if the command ends before."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.errors
            if self.process.poll() is not None:
                assert condition(), self.errors
                return
            time.sleep(0.02)

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal; the status with which it ends."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def command(folder: Path, *arguments: str, stdin: int | None = None) -> Iterator[Command]:
    """A command that is killed at the end if it still runs."""
    running = Command(folder, arguments, stdin)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.wait(PATIENCE)
        if running.process.stdin is not None:
            running.process.stdin.close()


def run_command(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command that ends by itself."""
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, timeout=60, check=False
    )
