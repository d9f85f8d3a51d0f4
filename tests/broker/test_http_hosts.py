"""Under which names the HTTP port answers: a page whose name is pointed at it gets nothing."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from http_brokers import refusal, run, serving

from twigcast.broker import BrokerConfig, StoreConfig
from twigcast.broker.config import AccessConfig, TlsConfig
from twigcast.broker.http.hosts import KnownHosts
from twigcast.errors import ConfigError

HERE = BrokerConfig(http="127.0.0.1:7480")
WIDE = replace(HERE, http="0.0.0.0:7480", access=AccessConfig(insecure=True))
NAMED = replace(HERE, listen="rome.example:7400", http="http.rome.example:7480")


@pytest.mark.parametrize("config", [HERE, WIDE])
@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        *(("127.0.0.1", True), ("127.0.0.1:7480", True), ("10.1.2.3:80", True)),
        *(("[::1]", True), ("[::1]:7480", True), ("[2001:db8::5]:1", True)),
        *(("localhost", True), ("LOCALHOST:7480", True), ("localhost.", True)),
        *(("rome.localhost", True), (socket.gethostname(), True)),
        *(("evil.example", False), ("evil.example:7480", False), ("localhost.evil.example", False)),
        *(("127.0.0.1.evil.example", False), ("", False), (":7480", False), ("[::1", False)),
        *(("[evil.example]", False), ("127.0.0.1@evil.example", False), ("0x7f.1", False)),
        *(("evil.example, 127.0.0.1", False), ("127.0.0.1:x", False), ("[fe80::1%25eth0]", False)),
    ],
)
def test_addresses_and_names_of_this_machine_are_known(
    config: BrokerConfig, host: str, is_known: bool
) -> None:
    assert KnownHosts(config).knows(host) is is_known


def test_names_where_it_listens_and_names_that_are_configured_are_known() -> None:
    hosts = KnownHosts(replace(NAMED, http_hosts=("Broker.Example", "proxy")))
    for host in ("rome.example", "http.rome.example:7480", "broker.example.", "PROXY:80"):
        assert hosts.knows(host), host
    for host in ("example", "other.rome.example", "sub.broker.example", "proxy.evil.example"):
        assert not hosts.knows(host), host


def test_with_tls_the_certificate_decides_about_names(tmp_path: Path) -> None:
    tls = TlsConfig(tmp_path / "certificate", tmp_path / "key")
    assert KnownHosts(replace(HERE, tls=tls)).knows("rome.example")


@pytest.mark.parametrize("name", ["rome.example:7480", "http://rome", "", "*", "a b", "[::1]"])
def test_what_is_no_name_of_a_host_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="http_hosts"):
        BrokerConfig(http_hosts=(name,))


REQUESTS = [
    ("POST", "/v1/publish"),
    ("GET", "/v1/ask?xpath=//a"),
    ("GET", "/v1/subscribe?xpath=//a"),
    ("POST", "/v1/backup"),
    ("DELETE", "/v1/subscriptions/desk"),
    *(("GET", path) for path in ("/v1/status", "/metrics", "/health", "/ready", "/openapi.json")),
    *(("GET", path) for path in ("/", "/no-such-page")),
]


def test_nothing_is_answered_under_another_name(tmp_path: Path) -> None:
    config = BrokerConfig(store=StoreConfig(keep="all", sync="normal"), http_hosts=("proxy",))
    evil = {"Host": "evil.example", "Twigcast-Request": "1"}

    async def main() -> None:
        async with serving(tmp_path, config) as (running, client):
            for method, path in REQUESTS:
                answer = await client.request(method, path, headers=evil, content=b"<a/>")
                reason = refusal(answer, 403, "not-allowed")
                assert "'evil.example'" in reason
                assert "http_hosts" in reason
            # As a page would that the name was pointed away from.
            own = {**evil, "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}
            answer = await client.post("/v1/publish", content=b"<a/>", headers=own)
            refusal(answer, 403, "not-allowed")
            metrics = running.broker.metrics
            assert metrics.value("twigcast_documents_in_total") == 0
            assert metrics.value("twigcast_refused_total", {"code": "not-allowed"}) == 13
            assert not (tmp_path / "backups").exists()
            for name in ("localhost", "proxy", "10.0.0.7:80"):
                answer = await client.get("/health", headers={"Host": name})
                assert answer.status_code == 200, name

    run(main)
