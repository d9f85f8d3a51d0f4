"""A broker as a process on this machine: started, asked, ended.

    arguments ──► twigcast broker … ──ready line──► address, HTTP address
                     │     ▲
               log ◄─┘     └── Status: what it knows

The process holds one end of a pipe, its standard input, and ends by itself when the other end is
gone: where whoever started it has crashed, it does not stay behind.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import grpc

from twigcast.errors import NetworkError
from twigcast.wire import messages, method

_START: Final = (
    "from twigcast.broker.local_broker import end_with_starter; end_with_starter(); "
    "from twigcast.cli import main; main()"
)
_START_PATIENCE: Final = 60.0
_STOP_PATIENCE: Final = 5.0
_LOG_LINES: Final = 8
_ENDING: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class LocalBroker:
    """One life of a broker: a process of ``twigcast broker``, whose log goes to a file."""

    def __init__(self, name: str, arguments: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        self.address = ""
        self.http_address = ""
        self.is_end_known = False
        """Whether it was ended on purpose, so that its end is not reported."""
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, "broker", "--json", "--verbose", *arguments],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                # Ctrl-C in a terminal is for whoever started the broker.
                process_group=0,
            )

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    def send(self, number: int) -> None:
        """Send a signal; returns when the process has ended, if that is what the signal means.

        Raises NetworkError if it has ended before, or does not end in time.
        """
        if not self.is_running:
            raise NetworkError(f"{self.how_ended()}; start it again first")
        self.is_end_known = self.is_end_known or number in _ENDING
        self.process.send_signal(number)
        if number in _ENDING:
            try:
                self.process.wait(_STOP_PATIENCE)
            except subprocess.TimeoutExpired:
                raise NetworkError(f"{self.name} does not end; send SIGKILL") from None
            self.close()

    def close(self) -> None:
        """Close the pipes of a process that has ended."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def status(self, timeout: float = 2.0) -> dict[str, Any] | None:
        """What the broker knows of itself; None if it does not answer in time."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        with grpc.insecure_channel(self.address, options) as channel:
            ask: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method("Status"))
            try:
                data = ask(messages.StatusRequest().SerializeToString(), timeout=timeout)
            except grpc.RpcError:
                return None
        status: dict[str, Any] = json.loads(messages.StatusAnswer.FromString(data).json)
        return status

    def how_ended(self) -> str:
        """How the process has ended, in words."""
        status = self.process.poll()
        if status is None:
            return f"{self.name} has not ended"
        if status >= 0:
            return f"{self.name} has ended with status {status}"
        try:
            return f"{self.name} was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"{self.name} was ended by signal {-status}"

    def last_words(self) -> str:
        """How the process has ended, and below that the end of its log."""
        try:
            with self.log.open(encoding="utf-8", errors="replace") as log:
                lines = [line.rstrip() for line in deque(log, _LOG_LINES)]
        except OSError:
            lines = []
        return "\n  ".join([f"{self.how_ended()}; the end of {self.log}:", *lines])

    def take_ready_line(self, line: bytes) -> None:
        """Note the addresses that the broker prints when it is ready."""
        ready = json.loads(line)
        self.address = ready["address"]
        self.http_address = ready["http"] or ""


def wait_until_ready(brokers: Iterable[LocalBroker], show: Callable[[int], object]) -> None:
    """Wait until clients can connect to each; NetworkError if one ends, or none gets on.

    ``show`` is called with the number of those that are ready, as it grows.
    """
    count = 0
    with selectors.DefaultSelector() as selector:
        for broker in brokers:
            assert broker.process.stdout is not None, "it is a pipe"
            selector.register(broker.process.stdout, selectors.EVENT_READ, (broker, bytearray()))
        while selector.get_map():
            readable = selector.select(_START_PATIENCE)
            if not readable:
                broker = next(iter(selector.get_map().values())).data[0]
                raise NetworkError(
                    f"{broker.name} is not ready after {_START_PATIENCE:g} seconds; see "
                    f"{broker.log}"
                )
            for key, _ in readable:
                broker, line = key.data
                data = os.read(key.fd, 4096)
                line += data
                if not data:
                    end_all([broker])
                    raise NetworkError(broker.last_words())
                if b"\n" in line:
                    selector.unregister(key.fileobj)
                    broker.take_ready_line(line)
                    count += 1
                    show(count)


def end_all(brokers: Iterable[LocalBroker]) -> None:
    """End processes, by force those that do not end within some seconds."""
    brokers = list(brokers)
    for broker in brokers:
        broker.is_end_known = True
        if broker.is_running:
            broker.process.terminate()
    deadline = time.monotonic() + _STOP_PATIENCE
    for broker in brokers:
        try:
            broker.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            broker.process.kill()
            broker.process.wait()
        broker.close()


def end_with_starter() -> None:
    """Let SIGTERM end this process when whoever holds the other end of its input is gone."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="starter", daemon=True).start()
