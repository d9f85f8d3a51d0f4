"""Connecting: who answers, who does not, who refuses, and what the caller hears of it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from certificates import make_authority, make_certificate, openssl
from scripted_broker import Drop, ScriptedBroker, Session, broker, run, serve, serve_on, until

from twigcast.client import connect
from twigcast.errors import ConnectionFailedError, NetworkError, RefusedError, TwigcastError
from twigcast.wire import PROTOCOL


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address where something listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """An address where everybody is answered the same, and then hung up on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve_all() -> None:
            with suppress(OSError):
                while True:
                    caller, _ = listener.accept()
                    with caller, suppress(OSError):
                        caller.recv(4096)
                        caller.sendall(answer)

        serving = threading.Thread(target=serve_all)
        serving.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()


@pytest.fixture
def hanging_up() -> Iterator[str]:
    """An address where something listens and hangs up."""
    with answering(b"") as address:
        yield address


@pytest.fixture
def http() -> Iterator[str]:
    """An address where something speaks HTTP as before 2015."""
    with answering(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as address:
        yield address


@pytest.fixture
def nobody() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def failure(address: str, error: type[TwigcastError], **settings: object) -> str:
    """What connecting to an address raises, which names no gRPC."""

    async def story() -> None:
        async with connect(address, **settings):  # type: ignore[arg-type]
            pass

    with pytest.raises(error) as caught:
        run(story)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_the_broker_hears_who_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with broker() as scripted:
            async with connect(scripted.address, name="desk 7", token="t0ken") as client:
                assert (client.broker, client.address) == ("scripted", scripted.address)
            assert scripted.heard("hello")[0].client == "desk 7"
            assert scripted.heard("hello")[0].protocol == PROTOCOL
            assert scripted.metadata[0]["authorization"] == "Bearer t0ken"
            async with connect(scripted.address):
                pass
            assert "authorization" not in scripted.metadata[1]
            monkeypatch.setenv("TWIGCAST_TOKEN", "from-outside\n")
            async with connect(scripted.address):
                pass
            assert scripted.metadata[2]["authorization"] == "Bearer from-outside"

    monkeypatch.delenv("TWIGCAST_TOKEN", raising=False)
    run(story)


def test_nothing_listens(nobody: str) -> None:
    message = failure(nobody, ConnectionFailedError)
    assert nobody in message
    assert "Connection refused" in message
    assert "twigcast broker" in message


def test_nothing_answers_in_time(deaf: str) -> None:
    assert "within 0.2 seconds" in failure(deaf, ConnectionFailedError, timeout=0.2)


def test_several_addresses_are_tried_in_turn(nobody: str, deaf: str) -> None:
    async def story() -> None:
        async with broker() as scripted:
            async with connect([nobody, f" {scripted.address} "]) as client:
                assert client.address == scripted.address
            async with connect(f"{deaf},{scripted.address}", timeout=3) as client:
                assert client.address == scripted.address

    run(story)
    message = failure(f"{nobody},{deaf}", ConnectionFailedError, timeout=0.4)
    assert f"{nobody} (Connection refused): is a broker running" in message
    assert f"{deaf} within 0.2 seconds: is the address right?" in message
    dead = failure(f"127.0.0.1:1,{nobody},no-such-host.invalid:1", ConnectionFailedError, timeout=9)
    assert f"127.0.0.1:1 (Connection refused), {nobody} (Connection refused)" in dead
    assert dead.count("`twigcast broker` starts one") == 1
    assert dead.endswith("no-such-host.invalid:1: there is no host of that name")


@pytest.mark.parametrize(
    "address", ["", "localhost", "localhost:", ":7400", "a:70000", "a b:1", "a:1,"]
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:7400"):
        connect(address)


def test_an_unknown_host() -> None:
    message = failure("no-such-host.invalid:7400", ConnectionFailedError, timeout=2)
    assert message.startswith("no-such-host.invalid:7400: ")
    assert message.endswith("there is no host of that name")


def test_a_port_of_another_kind(hanging_up: str, http: str) -> None:
    assert "something listens there but hung up" in failure(hanging_up, ConnectionFailedError)
    message = failure(http, ConnectionFailedError)
    assert message.endswith("that is no broker's port; an HTTP port perhaps")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailedError, match="No such file"):
        connect("a:1", ca=tmp_path / "absent.pem")
    with pytest.raises(ValueError, match="go together"):
        connect("a:1", certificate=tmp_path / "absent.pem")
    with pytest.raises(ValueError, match="token"):
        connect("a:1", token="späher")


async def _wrong_protocol(session: Session) -> None:
    await session.welcome(protocol=PROTOCOL + 1)
    await session.read()


async def _unauthenticated(session: Session) -> None:
    raise Drop(grpc.StatusCode.UNAUTHENTICATED, "this token is not known")


async def _no_welcome(session: Session) -> None:
    await session.answer(1)
    await session.read()


async def _garbage(session: Session) -> None:
    await session.send_garbage(b"\xff\xff\xff")
    await session.read()


async def _good_bye(session: Session) -> None:
    await session.read()


async def _cancelled(session: Session) -> None:
    await session.read()
    raise Drop(grpc.StatusCode.CANCELLED, "no time")


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        (
            _wrong_protocol,
            RefusedError,
            f"speaks protocol {PROTOCOL + 1}, this client {PROTOCOL}",
        ),
        (_unauthenticated, RefusedError, "this token is not known"),
        (_no_welcome, ConnectionFailedError, "no Twigcast broker"),
        (_garbage, ConnectionFailedError, "what is no frame"),
        (_good_bye, ConnectionFailedError, "ended the connection"),
        (_cancelled, ConnectionFailedError, "no time"),
    ],
)
def test_brokers_that_do_not_let_us_in(
    script: object, error: type[TwigcastError], words: str
) -> None:
    async def story() -> None:
        async with broker(script) as scripted:  # type: ignore[arg-type]
            with pytest.raises(error, match=words):
                await connect(scripted.address).open()

    run(story)


@pytest.mark.parametrize("script", [_wrong_protocol, _unauthenticated])
def test_refusals_that_last_end_a_client_that_was_connected(script: object) -> None:
    async def drop(session: Session) -> None:
        await session.welcome()
        await session.expect("publish")
        raise Drop

    async def story() -> None:
        async with broker(drop, script) as scripted, connect(scripted.address) as client:  # type: ignore[arg-type]
            with pytest.raises(RefusedError):
                await client.publish("<a/>")
            with pytest.raises(RefusedError):
                client.subscribe("//a")
            assert scripted.count == 2

    run(story)


def test_without_reconnection_a_lost_connection_ends_the_client() -> None:
    async def drop(session: Session) -> None:
        await session.welcome()
        await session.expect("publish")
        raise Drop

    async def story() -> None:
        async with (
            broker(drop) as scripted,
            connect(scripted.address, reconnect=False) as client,
        ):
            waiting = asyncio.create_task(anext(client.subscribe("//a")))
            with pytest.raises(ConnectionFailedError):
                await client.publish("<a/>")
            with pytest.raises(ConnectionFailedError):
                await waiting
            with pytest.raises(ConnectionFailedError):
                await client.status()
            assert client.broker is None
            assert scripted.count == 1

    run(story)


@pytest.mark.parametrize("script", [_garbage, _good_bye, _no_welcome, _cancelled])
def test_passing_trouble_while_connecting_again_is_outlasted(script: object) -> None:
    async def drop(session: Session) -> None:
        await session.welcome()
        await session.expect("publish")
        raise Drop(grpc.StatusCode.CANCELLED)

    async def story() -> None:
        async with (
            broker(drop, script, script, serve) as scripted,  # type: ignore[arg-type]
            connect(scripted.address) as client,
        ):
            assert await client.publish("<a/>") == "scripted:1:1"
            assert scripted.count == 4

    run(story)


def test_a_broker_that_is_restarted_is_found_again() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            await client.publish("<a/>")
            await scripted.stop()
            await until(lambda: client.broker is None)
            publishing = asyncio.create_task(client.publish("<b/>"))
            await scripted.start()
            assert await publishing == "scripted:1:2"

    run(story)


@pytest.mark.parametrize("data", [b"\xff", b"\x12\x02\x08\x63"])
def test_a_stream_with_garbage_is_given_up(data: bytes) -> None:
    """Bytes that are no frame, and an answer to what was not asked."""

    async def spoil(session: Session) -> None:
        await session.welcome()
        await session.send_garbage(data)
        await serve_on(session)

    async def story() -> None:
        async with broker(spoil, serve) as scripted, connect(scripted.address) as client:
            await until(lambda: scripted.count == 2)
            assert await client.publish("<a/>")

    run(story)


def test_frames_of_a_later_version_are_passed_over() -> None:
    async def newer(session: Session) -> None:
        await session.welcome()
        await session.send_garbage(b"\xfa\x01\x03new")
        await serve_on(session)

    async def story() -> None:
        async with broker(newer) as scripted, connect(scripted.address) as client:
            assert await client.publish("<a/>")
            assert scripted.count == 1

    run(story)


def test_a_closed_client_says_so() -> None:
    async def story() -> None:
        async with broker() as scripted:
            client = connect(scripted.address)
            with pytest.raises(ConnectionFailedError, match="not connected yet"):
                await client.publish("<a/>")
            await client.open()
            waiting = asyncio.create_task(anext(client.subscribe("//a"), None))
            await asyncio.sleep(0)
            await client.close()
            await client.close()
            assert await waiting is None
            with pytest.raises(NetworkError, match="closed"):
                await client.publish("<a/>")
            with pytest.raises(NetworkError, match="closed"):
                await client.open()

    run(story)


def test_closing_is_quick_where_the_broker_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.client.connection._CLOSING_PATIENCE", 600)

    async def story() -> None:
        async with broker() as scripted:
            client = await connect(scripted.address).open()
            await client.publish("<a/>")
            async with asyncio.timeout(10):
                await client.close()

    run(story)


def test_closing_while_the_broker_is_away_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.client.connection._CLOSING_PATIENCE", 600)

    async def story() -> None:
        async with broker() as scripted:
            client = await connect(scripted.address).open()
            await scripted.stop()
            await until(lambda: client.broker is None)
            publishing = asyncio.create_task(client.publish("<a/>"))
            await asyncio.sleep(0)
            async with asyncio.timeout(10):
                await client.close()
            with pytest.raises(NetworkError, match="closed"):
                await publishing

    run(story)


def test_closing_does_not_wait_long_for_a_broker_that_does_not_end() -> None:
    async def stubborn(session: Session) -> None:
        await session.welcome()
        while await session.read() is not None:
            pass
        await asyncio.Event().wait()

    async def story() -> None:
        async with broker(stubborn) as scripted:
            client = await connect(scripted.address).open()
            async with asyncio.timeout(20):
                await client.close()

    run(story)


def test_cancelling_the_opening_leaves_nothing(deaf: str) -> None:
    async def story() -> None:
        opening = asyncio.create_task(connect(deaf).open())
        await asyncio.sleep(0.05)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    run(story)


def test_two_brokers_of_a_list_stand_in_for_each_other() -> None:
    async def story() -> None:
        other = ScriptedBroker(name="other")
        await other.start()
        async with broker() as scripted, connect([scripted.address, other.address]) as client:
            assert client.broker == "scripted"
            await scripted.stop()
            assert await client.publish("<a/>") == "other:1:1"
            assert client.address == other.address
        await other.stop()

    run(story)


def test_tls_with_certificates_of_both_sides(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    server, desk = (make_certificate(tmp_path, authority, name) for name in ("broker", "desk"))
    stranger = make_authority(tmp_path, "stranger")
    guest = make_certificate(tmp_path, stranger, "guest")
    credentials = grpc.ssl_server_credentials(
        [(server.key.read_bytes(), server.certificate.read_bytes())],
        root_certificates=authority.certificate.read_bytes(),
        require_client_auth=True,
    )

    async def story() -> None:
        scripted = ScriptedBroker()
        await scripted.start(credentials)
        try:
            async with connect(
                scripted.address,
                ca=authority.certificate,
                certificate=desk.certificate,
                key=desk.key,
            ) as client:
                assert await client.publish("<a/>")
            foreign = {"certificate": guest.certificate, "key": guest.key}
            hung_up = r"hung up; does it use TLS \(--ca, ca=\), or want a certificate \(--certif"
            for wrong, words in (
                ({}, hung_up),
                ({"ca": authority.certificate}, hung_up),
                ({"ca": authority.certificate, **foreign}, hung_up),
                ({"ca": stranger.certificate}, r"its certificate is not .* \(--ca, ca=\)"),
            ):
                with pytest.raises(ConnectionFailedError, match=words):
                    await connect(scripted.address, timeout=15, **wrong).open()  # type: ignore[arg-type]
        finally:
            await scripted.stop()
        async with broker() as plain:
            with pytest.raises(ConnectionFailedError, match="does not speak TLS"):
                await connect(plain.address, ca=authority.certificate).open()

    run(story)


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    desk, other = (make_certificate(tmp_path, authority, name) for name in ("desk", "other"))
    empty, locked = tmp_path / "empty.pem", tmp_path / "locked.key"
    empty.write_text("")
    openssl("pkey", "-in", str(desk.key), "-aes256", "-passout", "pass:x", "-out", str(locked))
    for settings, words in (
        ({"ca": empty}, f"{empty}: there is no certificate in PEM form"),
        ({"ca": desk.key}, f"{desk.key}: there is no certificate in PEM"),
        ({"certificate": desk.key, "key": desk.key}, f"{desk.key}: there is no certificate in PEM"),
        (
            {"certificate": desk.certificate, "key": empty},
            f"{empty}: there is no private key in PEM form",
        ),
        (
            {"certificate": desk.certificate, "key": other.key},
            f"{other.key}: this is not the key of {desk.certificate}",
        ),
        ({"certificate": desk.certificate, "key": locked}, f"{locked}: the key is encrypted"),
    ):
        with pytest.raises(ConnectionFailedError) as caught:
            connect("127.0.0.1:1", **settings)  # type: ignore[arg-type]
        assert words in str(caught.value)
