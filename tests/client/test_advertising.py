"""Advertising: what the broker hears, and that a schema survives the way there."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_broker import Drop, Session, broker, run, serve, serve_on, until

from twigcast import Advertisement, Schema
from twigcast.client import connect
from twigcast.client.advertising import Promised, to_question
from twigcast.errors import AdvertisementError, RefusedError, SchemaError

STOCK = """<!ENTITY % text "(#PCDATA)">
<!ELEMENT Stock (Symbol, Price?, (Note | Split)*)>
<!ATTLIST Stock market (XETRA | NYSE) "XETRA" note CDATA #IMPLIED id ID #REQUIRED
  version CDATA #FIXED "a &quot;b&quot; &#38; c">
<!ELEMENT Symbol %text;> <!ELEMENT Price %text;>
<!ELEMENT Note (#PCDATA | Symbol)*> <!ELEMENT Split EMPTY>
"""


@pytest.mark.parametrize("name", ["text", "path", "spelled path", "schema"])
def test_a_schema_travels_as_a_dtd_that_needs_no_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "stock.dtd"
    path.write_text(STOCK, "utf-8")
    schema = Schema.from_dtd(STOCK)
    given: dict[str, Promised] = {
        "text": STOCK,
        "path": path,
        "spelled path": str(path),
        "schema": schema,
    }
    question = to_question(given[name], None)
    assert question.dtd.root == "Stock"
    assert "ENTITY" not in question.dtd.text
    assert Schema.from_dtd(question.dtd.text, question.dtd.root) == schema


def test_an_xsd_travels_as_declarations(tmp_path: Path) -> None:
    text = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
        '<xs:element name="a" type="xs:int"/><xs:element name="b"/></xs:schema>'
    )
    path = tmp_path / "a.xsd"
    path.write_text(text)
    for promised in (text, path, str(path), Schema.from_xsd(path, "a")):
        question = to_question(promised, "a")
        assert Schema.from_json(question.schema) == Schema.from_xsd(text, "a")


def test_another_root_can_be_chosen() -> None:
    for given in (STOCK, Schema.from_dtd(STOCK)):
        question = to_question(given, "Note")
        assert question.dtd.root == "Note"
        assert Schema.from_dtd(question.dtd.text, "Note") == Schema.from_dtd(STOCK, "Note")


def test_real_schemas_survive_the_way(shared_data: Path) -> None:
    paths = sorted(shared_data.rglob("*.dtd"))
    compared = 0
    for path in paths:
        try:
            schema = Schema.from_dtd(path)
        except SchemaError:
            continue  # a part of another DTD, or one with several roots
        question = to_question(schema, None)
        assert Schema.from_dtd(question.dtd.text, question.dtd.root) == schema, path
        compared += 1
    assert compared


def test_advertisements_travel_as_text() -> None:
    assert to_question("/a(/b)+/c", None).path == "/a(/b)+/c"
    assert to_question(Advertisement.parse("/a/b"), None).path == "/a/b"
    assert to_question(None, None).anything


def test_what_is_no_promise_is_told_here(tmp_path: Path) -> None:
    with pytest.raises(AdvertisementError):
        to_question("/a(/b", None)
    with pytest.raises(SchemaError, match="No such file"):
        to_question(str(tmp_path / "missing.dtd"), None)
    with pytest.raises(SchemaError, match="No such file"):
        to_question(tmp_path / "missing", None)
    for promised in (None, "/a/b"):
        with pytest.raises(ValueError, match="root"):
            to_question(promised, "a")


def test_an_advertisement_holds_until_it_is_ended() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            kept = await client.advertise("/a/b")
            ended = await client.advertise()
            await ended.end()
            await ended.end()
            assert scripted.kinds() == ["hello", "advertise", "advertise", "unadvertise"]
            scripted.frames.clear()
            await scripted.stop()
            await until(lambda: client.broker is None)
            await scripted.start()
            await until(lambda: scripted.heard("advertise"))
            (again,) = scripted.heard("advertise")
            assert again.path == "/a/b"
            await kept.end()

    run(story)


def test_a_refused_advertisement_raises_and_is_not_made_again() -> None:
    async def strict(session: Session) -> None:
        await session.welcome()
        advertise = await session.expect("advertise")
        await session.refuse(advertise.request, "quota", "100 advertisements are enough")
        await session.expect("publish")
        raise Drop

    async def story() -> None:
        async with broker(strict, serve) as scripted, connect(scripted.address) as client:
            with pytest.raises(RefusedError, match="enough") as caught:
                await client.advertise("/a")
            assert caught.value.code == "quota"
            await client.publish("<a/>")
            assert len(scripted.heard("advertise")) == 1

    run(story)


def test_advertising_survives_a_lost_connection() -> None:
    async def forgetful(session: Session) -> None:
        await session.welcome()
        await session.expect("advertise")
        raise Drop

    async def refusing_later(session: Session) -> None:
        await session.welcome()
        advertise = await session.expect("advertise")
        await session.refuse(advertise.request, "not-allowed", "no more")
        await serve_on(session)

    async def story() -> None:
        async with (
            broker(forgetful, serve, refusing_later) as scripted,
            connect(scripted.address) as client,
        ):
            await client.advertise("/a")
            assert len(scripted.heard("advertise")) == 2
            await scripted.stop()
            await until(lambda: client.broker is None)
            await scripted.start()
            await until(lambda: len(scripted.heard("advertise")) == 3)
            assert await client.publish("<a/>")  # what else there is goes on

    run(story)
