"""Publishing: ids, batches, back pressure, refusals, and lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from scripted_broker import Drop, Session, broker, run, serve, serve_on, until

from twigcast.client import PublishResult, connect
from twigcast.client.publishing import MOST_BYTES, MOST_DOCUMENTS, to_bytes
from twigcast.errors import DocumentError, NetworkError, RefusedError
from twigcast.wire import messages


def contents(publishes: list[messages.Publish]) -> list[bytes]:
    return [one.content for publish in publishes for one in publish.publications]


def test_bytes_and_texts_are_published() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            assert await client.publish(b"<a/>") == "scripted:1:1"
            assert await client.publish("<ä/>") == "scripted:1:2"
            assert await client.publish(memoryview(b"<b/>"), id="mine") == "scripted:1:3"
            assert await client.publish(b"<b/>", id="mine") == "scripted:1:3"
            heard = [one for publish in scripted.heard("publish") for one in publish.publications]
            assert [one.content for one in heard[:3]] == [b"<a/>", "<ä/>".encode(), b"<b/>"]
            assert heard[2].id == "mine"
            assert len({one.id for one in heard}) == 3

    run(story)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<ä/>", "<ä/>"),
        ('<?xml version="1.0"?><ä/>', '<?xml version="1.0"?><ä/>'),
        (
            "<?xml version='1.0' encoding = 'latin-1' standalone='yes'?><ä/>",
            "<?xml version='1.0' encoding = \"UTF-8\" standalone='yes'?><ä/>",
        ),
        ('<a encoding="latin-1"/>', '<a encoding="latin-1"/>'),
        ('<?xml version="1.0"?><a encoding="x"/>', '<?xml version="1.0"?><a encoding="x"/>'),
    ],
)
def test_a_text_says_itself_that_it_is_utf_8(text: str, expected: str) -> None:
    assert to_bytes(text) == expected.encode()


def test_what_is_no_document() -> None:
    with pytest.raises(TypeError, match="bytes or str, not int"):
        to_bytes(7)  # type: ignore[arg-type]
    with pytest.raises(DocumentError, match="surrogate"):
        to_bytes("<a>\ud800</a>")


def test_a_refused_document_raises_and_the_others_pass() -> None:
    async def choosy(session: Session) -> None:
        await session.welcome()
        while (frame := await session.read()) is not None:
            publications = frame.publish.publications
            bad = [i for i, one in enumerate(publications) if b"bad" in one.content]
            await session.answer(
                frame.publish.request,
                ids=["" if i in bad else f"id{i}" for i in range(len(publications))],
                problems=[messages.Problem(index=i, code="malformed", reason="no") for i in bad],
            )

    async def story() -> None:
        async with broker(choosy) as scripted, connect(scripted.address) as client:
            with pytest.raises(RefusedError, match="no") as caught:
                await client.publish("<bad/>")
            assert caught.value.code == "malformed"
            results = await client.publish_all(["<a/>", "<bad/>", "<b/>"])
            assert [bool(result.id) for result in results] == [True, False, True]
            assert isinstance(results[1].error, RefusedError)

    run(story)


def test_documents_too_large_for_the_broker_are_refused_here() -> None:
    async def small(session: Session) -> None:
        await session.welcome(document_bytes=100, message_bytes=1000)
        await serve_on(session)

    async def story() -> None:
        async with broker(small) as scripted, connect(scripted.address) as client:
            with pytest.raises(RefusedError, match="101 bytes; the broker takes 100") as caught:
                await client.publish(b"x" * 101)
            assert caught.value.code == "too-large"
            results = await client.publish_all([b"x" * size for size in (100, 101, 50)])
            assert [result.error is None for result in results] == [True, False, True]
            assert scripted.count == 1
            with pytest.raises(ValueError, match="characters"):
                await client.publish("<a/>", id="x" * 2000)

    run(story)


def test_what_waits_goes_out_together_within_the_limits() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            documents = [b"<a>%d</a>" % number for number in range(1000)]
            results = await client.publish_all(documents)
            assert [result.id for result in results] == [f"scripted:1:{n + 1}" for n in range(1000)]
            heard = scripted.heard("publish")
            assert contents(heard) == documents
            assert max(len(publish.publications) for publish in heard) == 64
            assert len(heard) < 40
            scripted.frames.clear()
            await client.publish_all([b"x" * 1_000_000] * 12)
            sizes = [len(publish.publications) for publish in scripted.heard("publish")]
            assert max(sizes) == 2

    run(story)


def test_single_publishers_share_batches() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            ids = await asyncio.gather(*(client.publish(f"<a>{n}</a>") for n in range(200)))
            assert len(set(ids)) == 200
            assert len(scripted.heard("publish")) <= 5

    run(story)


@pytest.mark.parametrize(
    ("document", "most"), [(b"<a/>", MOST_DOCUMENTS), (b"x" * 2**20, MOST_BYTES // 2**20)]
)
def test_no_more_is_unanswered_than_allowed(document: bytes, most: int) -> None:
    gate = asyncio.Event()

    async def slow(session: Session) -> None:
        await session.welcome()
        held: list[messages.Publish] = []
        while sum(len(publish.publications) for publish in held) < most:
            held.append(await session.expect("publish"))
        gate.set()
        await asyncio.sleep(0.05)  # nothing more may come; whatever does is counted below
        count = sum(len(publish.publications) for publish in session.broker.heard("publish"))
        assert count == most
        for publish in held:
            await session.answer(publish.request, ids=["id"] * len(publish.publications))
        await serve_on(session)

    async def story() -> None:
        read = 0

        def source() -> Iterator[bytes]:
            nonlocal read
            for _ in range(most + 20):
                read += 1
                yield document

        async with broker(slow) as scripted, connect(scripted.address) as client:
            publishing = asyncio.ensure_future(_collect(client.publish_all(source())))
            await gate.wait()
            assert read <= most + 1
            assert len(await publishing) == most + 20

    run(story)


async def _collect(results: object) -> list[PublishResult]:
    return [result async for result in results]  # type: ignore[attr-defined]


def test_results_come_while_a_slow_source_waits() -> None:
    async def story() -> None:
        more = asyncio.Event()

        async def source() -> AsyncIterator[str]:
            yield "<a/>"
            await more.wait()
            yield "<b/>"

        async with broker() as scripted, connect(scripted.address) as client:
            results = aiter(client.publish_all(source()))
            assert (await anext(results)).id == "scripted:1:1"
            more.set()
            assert (await anext(results)).id == "scripted:1:2"
            with pytest.raises(StopAsyncIteration):
                await anext(results)

    run(story)


def test_a_source_that_fails_is_told_after_the_results_before() -> None:
    def source() -> Iterator[str]:
        yield "<a/>"
        raise OSError("the disk is gone")

    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            seen = []
            with pytest.raises(OSError, match="the disk is gone"):  # noqa: PT012 - both are the point
                async for result in client.publish_all(source()):
                    seen.append(result.id)  # noqa: PERF401
            assert seen == ["scripted:1:1"]
            with pytest.raises(TypeError, match="bytes or str"):
                await client.publish_all([7])  # type: ignore[list-item]

    run(story)


def test_leaving_off_stops_the_source() -> None:
    async def story() -> None:
        read = 0

        def source() -> Iterator[bytes]:
            nonlocal read
            while True:
                read += 1
                yield b"<a/>"

        async with broker() as scripted, connect(scripted.address) as client:
            results = client.publish_all(source()).__aiter__()
            await anext(results)
            await results.aclose()  # type: ignore[attr-defined]
            before = read
            assert await client.publish("<b/>")
            assert read == before
            assert len(scripted.published) <= read + 1

    run(story)


def test_what_was_not_answered_is_sent_again_under_the_same_ids() -> None:
    async def forgetful(session: Session) -> None:
        """Takes a batch, and is gone before the answer."""
        await session.welcome()
        publish = await session.expect("publish")
        for publication in publish.publications:
            session.broker.accept(publication)
        raise Drop

    async def story() -> None:
        async with (
            broker(forgetful, forgetful, serve) as scripted,
            connect(scripted.address) as client,
        ):
            documents = [b"<a>%d</a>" % number for number in range(300)]
            results = await client.publish_all(documents)
            assert len(scripted.published) == 300
            assert [one.content for one in scripted.published.values()] == documents
            assert len({result.id for result in results}) == 300
            assert len(contents(scripted.heard("publish"))) > 300
            assert scripted.count == 3

    run(story)


def test_an_answer_for_other_documents_is_no_answer() -> None:
    async def confused(session: Session) -> None:
        await session.welcome()
        publish = await session.expect("publish")
        await session.answer(publish.request, ids=["a", "b", "c"])
        await session.read()

    async def story() -> None:
        async with broker(confused, serve) as scripted, connect(scripted.address) as client:
            assert await client.publish("<a/>") == "scripted:1:1"

    run(story)


def test_cancelling_a_publication_leaves_the_client_usable() -> None:
    answer = asyncio.Event()

    async def slow(session: Session) -> None:
        await session.welcome()
        while (frame := await session.read()) is not None:
            await answer.wait()
            await session.handle(frame)

    async def story() -> None:
        async with broker(slow) as scripted, connect(scripted.address) as client:
            first = asyncio.create_task(client.publish("<first/>"))
            await until(lambda: scripted.heard("publish"))
            # More than there is room for: some are sent, some wait, some wait for their turn.
            crowd = [
                asyncio.create_task(client.publish(f"<a>{number}</a>"))
                for number in range(MOST_DOCUMENTS + 100)
            ]
            await asyncio.sleep(0)
            for task in crowd:
                task.cancel()
            await asyncio.wait(crowd)
            assert all(task.cancelled() for task in crowd)
            last = asyncio.create_task(client.publish("<last/>"))
            answer.set()
            await first
            await last
            # The room that they had is free again, all of it.
            assert len(await client.publish_all(["<b/>"] * (2 * MOST_DOCUMENTS))) > MOST_DOCUMENTS
            publisher = client._publisher
            assert (publisher._documents, publisher._bytes, len(publisher._turns)) == (0, 0, 0)

    run(story)


def test_cancelled_publications_are_not_sent_again() -> None:
    async def forgetful(session: Session) -> None:
        await session.welcome()
        await session.expect("publish")
        await session.read()
        raise Drop

    async def story() -> None:
        async with broker(forgetful, serve) as scripted, connect(scripted.address) as client:
            first = asyncio.create_task(client.publish("<first/>"))
            await until(lambda: scripted.heard("publish"))
            first.cancel()
            assert await client.publish("<second/>")
            assert [one.content for one in scripted.published.values()] == [b"<second/>"]
            assert (client._publisher._documents, client._publisher._bytes) == (0, 0)

    run(story)


def test_what_is_cancelled_while_the_broker_is_away_gives_its_room_back() -> None:
    async def deaf(session: Session) -> None:
        await session.welcome()
        await session.read()
        await asyncio.Event().wait()

    async def story() -> None:
        async with broker(deaf, serve) as scripted, connect(scripted.address) as client:
            publishing = asyncio.create_task(client.publish("<a/>"))
            await until(lambda: scripted.heard("publish"))
            await scripted.stop()
            await until(lambda: client._publisher._waiting)  # to be sent again
            publishing.cancel()
            await asyncio.wait({publishing})
            await scripted.start()
            assert await client.publish("<b/>")
            assert [one.content for one in scripted.published.values()] == [b"<b/>"]
            assert (client._publisher._documents, client._publisher._bytes) == (0, 0)

    run(story)


def test_a_turn_that_comes_together_with_a_cancellation_is_passed_on() -> None:
    async def story() -> None:
        async with broker() as scripted, connect(scripted.address) as client:
            publisher = client._publisher
            publisher._documents = MOST_DOCUMENTS  # no room
            crowd = [asyncio.create_task(client.publish(f"<a>{n}</a>")) for n in range(3)]
            await asyncio.sleep(0)
            assert len(publisher._turns) == 3
            publisher._release(0)  # room for the first, which is cancelled before it knows
            crowd[0].cancel()
            await asyncio.wait(crowd[:1])
            assert await crowd[1]
            assert await crowd[2]
            assert publisher._documents == MOST_DOCUMENTS - 1

    run(story)


def test_closing_tells_those_who_wait() -> None:
    async def deaf(session: Session) -> None:
        await session.welcome()
        while await session.read() is not None:
            pass

    async def story() -> None:
        async with broker(deaf) as scripted:
            client = await connect(scripted.address).open()
            publishing = asyncio.create_task(client.publish("<a/>"))
            many = asyncio.ensure_future(_collect(client.publish_all(["<b/>"] * 2000)))
            await until(lambda: len(contents(scripted.heard("publish"))) > 500)
            await client.close()
            for waiting in (publishing, many):
                with pytest.raises(NetworkError, match="closed"):
                    await waiting

    run(story)
