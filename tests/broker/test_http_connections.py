"""Connections to the HTTP port that say nothing, say it slowly, or are too many."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from certificates import make_authority, make_certificate
from http_brokers import TIMEOUT, publish, run, serving, subscribed
from live_brokers import one_broker, until

from twigcast.broker import BrokerConfig, RunningBroker
from twigcast.broker.config import TlsConfig
from twigcast.broker.peers import grpc_peer, peer_of
from twigcast.broker.shares import Shares

HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = HALF + b"\r\n"
BODY = b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
ELSEWHERE = "127.0.0.2"
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="has only one loopback address")


def test_who_holds_many_connections_leaves_as_many_free() -> None:
    shares = Shares(100)
    held = dict.fromkeys(("a", "b", "c"), 0)
    for peer in held:
        while shares.enter(peer):
            held[peer] += 1
    assert held == {"a": 50, "b": 25, "c": 13}
    for _ in range(50):
        shares.leave("a")
    assert shares.enter("d")
    while shares.enter("c"):
        pass
    assert len(shares) <= 100
    assert Shares(0).enter("a") is False


@pytest.mark.parametrize(
    ("host", "peer"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("somewhere", "somewhere"),
    ],
)
def test_a_peer_is_an_address_or_a_network_of_one(host: str, peer: str) -> None:
    assert peer_of(host) == peer


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("ipv4:10.0.0.1:5", "10.0.0.1"),
        ("ipv6:%5B2001:db8::1%5D:80", "2001:db8::/64"),
        ("ipv6:[2001:db8::1]:80", "2001:db8::/64"),
        ("unix:/tmp/x", "unix:/tmp/x"),
        ("", ""),
    ],
)
def test_peers_as_grpc_names_them(text: str, peer: str) -> None:
    assert grpc_peer(text) == peer


def port_of(running: RunningBroker) -> int:
    assert running.http is not None
    return int(running.http.address.rpartition(":")[2])


async def lifetime(running: RunningBroker, *parts: bytes, pause: float = 0.0) -> tuple[bytes, bool]:
    """What is answered to parts of a request, and whether the broker has closed the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(running))
    answer = asyncio.create_task(reader.read())
    try:
        for part in parts:
            if answer.done():
                break
            writer.write(part)
            await asyncio.sleep(pause)
        done, _ = await asyncio.wait((answer,), timeout=TIMEOUT)
        return (answer.result(), True) if done else (b"", False)
    except ConnectionError:
        return b"", True
    finally:
        answer.cancel()
        writer.transport.abort()


def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.broker.http.connections.PATIENCE", 0.6)
    slowly = [bytes([each]) for each in HALF * 20]

    async def main() -> None:
        async with serving() as (running, _):
            began = time.monotonic()
            ended = await asyncio.gather(
                lifetime(running),
                lifetime(running, HALF),
                lifetime(running, WHOLE, HALF, pause=0.1),
                lifetime(running, *slowly, pause=0.02),
                # The answer is there before the body, which then comes slowly.
                lifetime(running, BODY, *[b"x"] * 500, pause=0.02),
            )
            assert [is_closed for _, is_closed in ended] == [True] * 5
            answered = [b"200 OK" in answer for answer, _ in ended[:4]]
            assert answered == [False, False, True, False]
            assert time.monotonic() - began < 10

    run(main)


def test_a_request_that_is_answered_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.broker.http.connections.PATIENCE", 0.6)

    async def main() -> None:
        async with serving() as (_, client), subscribed(client, xpath="//a") as events:
            await asyncio.sleep(0.8)
            await publish(client, "<a/>")
            await asyncio.sleep(0.8)
            await publish(client, "<a/>")  # on a connection that was kept
            for _ in range(2):
                await events.document()

    run(main)


@contextmanager
def silent(port: int, count: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections from here, which stay."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            opened.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)))
            opened[-1].sendall(first)
        yield opened


@needs_linux
@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "tls"])
def test_one_address_keeps_nobody_else_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_tls: bool
) -> None:
    monkeypatch.setattr("twigcast.broker.http.listening.open_files", lambda: 80)
    config = BrokerConfig(http="127.0.0.1:0")
    verify: ssl.SSLContext | bool = True
    if has_tls:
        authority = make_authority(tmp_path)
        server = make_certificate(tmp_path, authority, "server")
        config = replace(config, tls=TlsConfig(server.certificate, server.key))
        verify = ssl.create_default_context(cafile=str(authority.certificate))

    async def main() -> None:
        async with one_broker(config=config) as running:
            metrics = running.broker.metrics

            def refused() -> float:
                return metrics.value("twigcast_refused_total", {"code": "quota"})

            url = f"{'https' if has_tls else 'http'}://127.0.0.1:{port_of(running)}/health"
            with silent(port_of(running), 40):
                await until(lambda: refused() == 30)
                other = httpx.AsyncHTTPTransport(verify=verify, local_address=ELSEWHERE)
                async with httpx.AsyncClient(transport=other, timeout=TIMEOUT) as client:
                    assert (await client.get(url)).status_code == 200
            # Who has gone takes no share.
            async with httpx.AsyncClient(verify=verify, timeout=TIMEOUT) as client:
                for _ in range(100):
                    try:
                        answer = await client.get(url)
                    except httpx.TransportError:
                        await asyncio.sleep(0.05)
                    else:
                        break
                assert answer.status_code == 200

    run(main)


@needs_linux
def test_a_broker_with_few_files_outlives_silent_connections(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ports = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")
    limited = ["sh", "-c", 'ulimit -S -n 200; ulimit -H -n 400; exec "$@"', "sh"]
    command = [*limited, sys.executable, "-m", "twigcast", "broker", *ports]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            _, _, http = ready["http"].rpartition(":")
            _, _, grpc = ready["address"].rpartition(":")
            transport = httpx.HTTPTransport(local_address=ELSEWHERE)
            with (
                silent(int(grpc), 400),
                silent(int(http), 400, HALF),
                httpx.Client(transport=transport, timeout=TIMEOUT) as client,
            ):
                assert client.get(f"http://127.0.0.1:{http}/health").status_code == 200
            assert log.stat().st_size < 50_000
        finally:
            process.terminate()
    assert process.returncode == 0
