"""Addresses: which texts are some, which are of this machine, and names made of them."""

from __future__ import annotations

import socket

import pytest

from twigcast.broker.addresses import Address
from twigcast.broker.config import BrokerConfig


@pytest.mark.parametrize(
    ("text", "address", "is_loopback"),
    [
        ("127.0.0.1:7400", Address("127.0.0.1", 7400), True),
        ("127.9.9.9:0", Address("127.9.9.9", 0), True),
        ("localhost:65535", Address("localhost", 65535), True),
        ("LocalHost.:1", Address("LocalHost.", 1), True),
        ("[::1]:7400", Address("::1", 7400), True),
        ("[::]:7400", Address("::", 7400), False),
        ("[fe80::1%eth0]:7400", Address("fe80::1%eth0", 7400), False),
        ("[::ffff:127.0.0.1]:1", Address("::ffff:127.0.0.1", 1), False),
        ("0.0.0.0:7400", Address("0.0.0.0", 7400), False),
        ("192.168.1.7:7400", Address("192.168.1.7", 7400), False),
        ("broker-1.example:7400", Address("broker-1.example", 7400), False),
        ("localhost.example:7400", Address("localhost.example", 7400), False),
    ],
)
def test_addresses(text: str, address: Address, is_loopback: bool) -> None:
    assert Address.parse(text) == address
    assert str(address) == text
    assert address.is_loopback is is_loopback


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "write host:port"),
        ("7400", "write host:port"),
        ("localhost", "write host:port"),
        ("localhost:", "write host:port"),
        ("localhost:65536", "write host:port"),
        ("localhost:-1", "write host:port"),
        ("localhost:７", "write host:port"),
        ("local host:1", "write host:port"),
        ("localhost:1\n", "write host:port"),
        ("127.0.0.256:1", "write host:port"),
        ("127.1:1", "write host:port"),
        ("-a:1", "write host:port"),
        (":7400", "0.0.0.0:7400"),
        ("*:7400", "0.0.0.0:7400"),
        ("::1:7400", "in brackets"),
        ("[::g]:7400", "IPv6"),
        ("[127.0.0.1]:7400", "IPv6"),
        ("unix:/tmp/socket", "not served"),
        ("/tmp/socket", "not served"),
        ("http://localhost:1", "leave out"),
    ],
)
def test_no_addresses(text: str, remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        Address.parse(text)


def test_a_broker_without_a_name_is_named_for_where_it_listens() -> None:
    assert BrokerConfig(name="rome").name_at(5) == "rome"
    assert BrokerConfig().name_at() == "127.0.0.1-7400"
    assert BrokerConfig(listen="127.0.0.1:0").name_at(50123) == "127.0.0.1-50123"
    assert BrokerConfig(listen="[::1]:7400").name_at() == "__1-7400"
    everywhere = BrokerConfig(listen="0.0.0.0:7400").name_at()
    assert everywhere.startswith(socket.gethostname())
    assert BrokerConfig(name=everywhere).name_at() == everywhere
