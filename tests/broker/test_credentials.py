"""TLS of a broker: what is opened and called with it, and what is said of files that are wrong."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import pytest
from certificates import Certificate, make_authority, make_certificate, openssl

from twigcast.broker.config import BrokerConfig, TlsConfig
from twigcast.broker.credentials import (
    certificate_names,
    channel_credentials,
    server_context,
    server_credentials,
)
from twigcast.errors import ConfigError


@dataclass(frozen=True)
class Made:
    folder: Path
    authority: Certificate
    rome: Certificate
    paris: Certificate
    stranger: Certificate
    nameless: Certificate

    def config(self, own: Certificate | None, *, required: bool = False) -> BrokerConfig:
        authority = self.authority.certificate
        if own is None:
            return BrokerConfig(tls=TlsConfig(ca=authority))
        return BrokerConfig(tls=TlsConfig(own.certificate, own.key, authority, required))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("certificates")
    authority = make_authority(folder)
    other = make_authority(folder, "other")
    return Made(
        folder,
        authority,
        make_certificate(folder, authority, "rome"),
        make_certificate(folder, authority, "paris"),
        make_certificate(folder, other, "stranger"),
        make_certificate(folder, authority, "nameless", common_name=False),
    )


@asynccontextmanager
async def serving(config: BrokerConfig) -> AsyncIterator[int]:
    """A server that answers each call with the names in the caller's certificate."""

    async def answer(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        return ",".join(certificate_names(context.auth_context())).encode()

    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(answer)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("test.Names", {"Ask": handler}),)
    )
    credentials = server_credentials(config)
    assert credentials is not None
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


async def ask(config: BrokerConfig, port: int, server_name: str = "") -> str:
    credentials = channel_credentials(config)
    assert credentials is not None
    options = [("grpc.ssl_target_name_override", server_name)] if server_name else []
    async with grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        method = channel.unary_unary("/test.Names/Ask")
        answer = await method(b"", timeout=30)
    return answer.decode()


def call(server: BrokerConfig, client: BrokerConfig, server_name: str = "") -> str:
    async def run() -> str:
        async with serving(server) as port:
            return await ask(client, port, server_name)

    return asyncio.run(run())


def test_both_sides_know_each_other_with_mutual_tls(made: Made) -> None:
    assert call(made.config(made.rome, required=True), made.config(made.paris)) == "paris"


def test_the_alternative_name_counts_where_there_is_no_common_one(made: Made) -> None:
    assert call(made.config(made.rome, required=True), made.config(made.nameless)) == "nameless"


def test_certificates_that_are_not_required_are_not_asked_for(made: Made) -> None:
    assert call(made.config(made.rome), made.config(made.paris)) == ""
    assert call(made.config(made.rome), made.config(None)) == ""


def test_who_has_no_certificate_of_the_authority_is_turned_away(made: Made) -> None:
    server = made.config(made.rome, required=True)
    for own in (None, made.stranger):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            call(server, made.config(own))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_server_that_the_authority_does_not_know_is_not_believed(made: Made) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        call(made.config(made.stranger), made.config(made.paris))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_certificate_for_another_name_needs_the_server_name(made: Made) -> None:
    server, client = made.config(made.nameless), made.config(made.paris)
    with pytest.raises(grpc.aio.AioRpcError):
        call(server, client)
    assert call(server, client, "nameless") == ""


def test_without_tls_there_are_no_credentials() -> None:
    plain = BrokerConfig()
    assert server_credentials(plain) is None
    assert channel_credentials(plain) is None
    assert server_context(plain) is None


def test_an_authority_alone_is_for_links(made: Made) -> None:
    config = made.config(None)
    assert server_credentials(config) is None
    assert server_context(config) is None
    assert channel_credentials(config) is not None


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """A handshake in memory; SSLError where one side refuses the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):
        for side in list(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert not sides, "the handshake does not end"


def test_the_http_port_asks_for_the_same_certificates(made: Made) -> None:
    client = ssl.create_default_context(cafile=made.authority.certificate)
    plain = server_context(made.config(made.rome))
    strict = server_context(made.config(made.rome, required=True))
    assert plain is not None
    assert strict is not None
    shake_hands(plain, client)
    with pytest.raises(ssl.SSLError):
        shake_hands(strict, client)
    client.load_cert_chain(made.paris.certificate, made.paris.key)
    shake_hands(strict, client)
    stranger = ssl.create_default_context(cafile=made.authority.certificate)
    stranger.load_cert_chain(made.stranger.certificate, made.stranger.key)
    with pytest.raises(ssl.SSLError):
        shake_hands(strict, stranger)


@pytest.mark.parametrize("make", [server_credentials, channel_credentials, server_context])
@pytest.mark.parametrize(
    ("wrong", "where", "reason"),
    [
        ("missing certificate", "tls.certificate", "No such file"),
        ("missing key", "tls.key", "No such file"),
        ("folder", "tls.certificate", "Is a directory"),
        ("text as certificate", "tls.certificate", "no certificate in PEM form"),
        ("key as certificate", "tls.certificate", "no certificate in PEM form"),
        ("text as key", "tls.key", "no private key in PEM form"),
        ("certificate as key", "tls.key", "no private key in PEM form"),
        ("key of another", "tls.key", "not the key of"),
        ("encrypted key", "tls.key", "encrypted"),
        ("text as authority", "tls.ca", "no certificate in PEM form"),
        ("missing authority", "tls.ca", "No such file"),
    ],
)
def test_files_that_are_wrong_are_named(
    made: Made,
    tmp_path: Path,
    make: Callable[[BrokerConfig], object],
    wrong: str,
    where: str,
    reason: str,
) -> None:
    text = tmp_path / "text"
    text.write_text("no PEM", "utf-8")
    encrypted = tmp_path / "encrypted.key"
    openssl(
        *("ec", "-aes256", "-passout", "pass:secret"),
        *("-in", str(made.rome.key), "-out", str(encrypted)),
    )
    certificate, key, authority = made.rome.certificate, made.rome.key, made.authority.certificate
    missing = tmp_path / "missing"
    files = {
        "missing certificate": (missing, key, authority),
        "missing key": (certificate, missing, authority),
        "folder": (tmp_path, key, authority),
        "text as certificate": (text, key, authority),
        "key as certificate": (key, key, authority),
        "text as key": (certificate, text, authority),
        "certificate as key": (certificate, certificate, authority),
        "key of another": (certificate, made.paris.key, authority),
        "encrypted key": (certificate, encrypted, authority),
        "text as authority": (certificate, key, text),
        "missing authority": (certificate, key, missing),
    }[wrong]
    config = BrokerConfig(tls=TlsConfig(*files, require_client_certificate=True))
    with pytest.raises(ConfigError, match=reason) as refused:
        make(config)
    assert refused.value.where == where
    assert str({"tls.certificate": files[0], "tls.key": files[1], "tls.ca": files[2]}[where]) in (
        refused.value.reason
    )
