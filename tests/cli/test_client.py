"""``twigcast publish`` and ``subscribe`` with brokers that go away, or want to know what comes."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from live_commands import command, run_command

from twigcast.cli.interruptible import run_interruptible


def test_a_lost_connection_is_told_once_and_so_is_the_next(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    serve = ("broker", "--listen", listen, "--store", str(tmp_path / "store"), "--json")
    with command(tmp_path, *serve) as first:
        first.until(first.json_lines)
        follow = ("subscribe", "//a", "--durable", "d", "--broker", listen)
        with command(tmp_path, *follow) as subscribing:
            subscribing.until(lambda: "subscribed as d" in subscribing.errors)
            first.end(signal.SIGKILL)
            subscribing.until(lambda: "; connecting again" in subscribing.errors)
            with command(tmp_path, *serve) as second:
                second.until(second.json_lines)
                subscribing.until(lambda: "connected again to" in subscribing.errors)
                assert subscribing.errors.count("lost") == 1
                assert subscribing.end() == 0


def test_a_network_with_advertisements_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    with command(
        tmp_path, "broker", "--listen", "127.0.0.1:0", "--strategy", "advertisements", "--json"
    ) as running:
        running.until(running.json_lines)
        publish = ("publish", str(tmp_path / "a.xml"), "--broker")
        address = running.json_lines()[0]["address"]
        refused = run_command(*publish, address)
        assert refused.returncode == 1
        assert b"--advertise SCHEMA or --advertise anything" in refused.stderr
        assert run_command(*publish, address, "--advertise", "anything").returncode == 0


def test_an_interrupt_is_noticed_while_nothing_else_happens() -> None:
    """The signal goes to another thread: as if the loop had looked for signals just before."""

    def interrupt() -> None:
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    async def wait() -> None:
        threading.Thread(target=interrupt, daemon=True).start()
        await asyncio.sleep(40)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(wait())
    assert time.monotonic() - began < 30
