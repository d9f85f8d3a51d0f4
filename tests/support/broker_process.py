"""A broker in a process of its own, to be killed and started again at the same address."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

import twigcast.broker.broker
from twigcast.broker import BrokerConfig, StoreConfig, start_server

_ports = iter(range(20_000 + os.getpid() % 10_000, 32_000))


def free_port() -> int:
    """A port that nobody has, and that nobody else gets while the broker is away."""
    for port in _ports:
        with socket.socket() as trying, suppress(OSError):
            trying.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class BrokerProcess:
    """A broker with a store in a folder; at some port, which it keeps."""

    def __init__(
        self, folder: Path, port: int = 0, acknowledged_age: float = 3_600.0, unit: str = ""
    ) -> None:
        self.folder = folder
        self.unit = unit
        self.port = port or free_port()
        self.acknowledged_age = acknowledged_age
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; returns when clients can connect."""
        assert self._process is None
        self._process = process = subprocess.Popen(
            [
                sys.executable,
                __file__,
                str(self.folder),
                str(self.port),
                str(self.acknowledged_age),
                self.unit,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said, "the broker does not start"

    def kill(self) -> None:
        """End it without a chance to tidy up; does nothing if it has ended."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(30)
            assert process.stdout is not None
            process.stdout.close()

    def restart(self) -> None:
        """Kill it and start it again, with its store and at its port."""
        self.kill()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


async def main(folder: str, port: str, acknowledged_age: str, unit: str) -> None:
    """Serve until the end; what retention takes goes soon."""
    vars(twigcast.broker.broker)["_TRIM_EACH"] = 0.2
    running = await start_server(
        BrokerConfig(
            name="here",
            unit=unit,
            listen=f"127.0.0.1:{port}",
            # Enough for the end of a process, which is all that happens here.
            store=StoreConfig(
                Path(folder), sync="normal", acknowledged_age=float(acknowledged_age)
            ),
        )
    )
    sys.stdout.write(f"{running.address}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
