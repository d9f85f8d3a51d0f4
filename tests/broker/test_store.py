"""The store of a broker, write by write, in every database."""

from __future__ import annotations

import asyncio
import threading
from hashlib import blake2b

import pytest
from broker_stores import Stores, User, document, durable, fill, identity, state_of, with_store

from twigcast.broker.store import Retention, StoreFigures, Trimmed
from twigcast.delivery.writes import (
    Acknowledge,
    Confirm,
    DropDurable,
    DropHome,
    DropLetters,
    Entry,
    Kept,
    Line,
    NoteAttempts,
    NoteReceived,
    Parcel,
    PutHome,
    Replay,
    Replayed,
    SetAside,
    SetAsideOwed,
    SetHomeVersion,
    Version,
)
from twigcast.errors import StoreError
from twigcast.routing import DocumentId

HOUR = 3_600_000


def digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


# ---- documents -----------------------------------------------------------------------------------


def test_a_document_is_read_from_each_queue_and_home(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(durable("news"))
        user.do(durable("other"))
        write = document(
            *(1, "news", "other", "nowhere", "news"),
            content=b"<a/>",
            stored=9,
            homes=("far",),
            headers=(("kind", "test"),),
            publisher="ann",
        )
        assert await user.keep(write) == Kept((1, 1, 0, 0))
        (news,) = await user.store.read_queue("news", 1, 9, limit=5, max_bytes=100)
        assert (news.sequence, news.keys) == (1, ("k",))
        assert news.document == ("o:1:1", b"<a/>", 7, 9, (("kind", "test"),), 0, 0, ())
        owed = await user.store.read_owed("far", [identity(1), identity(2)], max_bytes=9)
        assert owed == ([write.parcel], (identity(2),))
        assert await user.store.read_owed("nowhere", [identity(1)], max_bytes=9) == (
            [],
            (identity(1),),
        )
        assert await user.store.read_queue("nowhere", 1, 9, limit=5, max_bytes=100) == []
        figures = StoreFigures(1, 4, {"news": 1, "other": 1}, {"far": 1}, 0, {"ann": 4})
        assert await user.store.figures() == figures

    with_store(stores, use)


def test_an_id_that_is_there_adds_only_what_newly_refers_to_it(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(durable("news"))
        user.do(durable("other"))
        await user.keep(document(1, "news", content=b"first"))
        for number in range(2, 6):
            await user.keep(document(number, "other"))
        assert await user.keep(document(1, "news", "other", content=b"second")) == Kept(
            (0, 5), is_added=False
        )
        assert await user.keep(document(1, "news", "other")) == Kept((0, 0), is_added=False)
        read = await user.store.read_queue("other", 1, 9, limit=9, max_bytes=99)
        assert [(each.sequence, each.document.id) for each in read] == [
            *((1, "o:1:2"), (2, "o:1:3"), (3, "o:1:4"), (4, "o:1:5"), (5, "o:1:1"))
        ]
        assert read[-1].document.content == b"first"

    with_store(stores, use)


def test_of_two_documents_of_a_publication_the_first_counts(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(durable("news"))
        await user.keep(document(1, "news", content=b"a", publication="p"))
        again = await user.keep(document(1, "news", content=b"a", publication="p"))
        same = await user.keep(document(2, "news", content=b"a", publication="p", homes=("far",)))
        other = await user.keep(
            document(3, "news", content=b"b", publication="p", settled=1, aside="another's")
        )
        assert again == Kept((0,), is_added=False)
        assert same == Kept((0,), "o:1:1", False, is_added=False)
        assert other == Kept((0,), "o:1:1", True, is_added=False)
        assert await user.store.find_publication("p") == ("o:1:1", digest(b"a"))
        assert await user.store.figures() == StoreFigures(1, 1, {"news": 1}, {}, 0, {})

    with_store(stores, use)
    assert state_of(stores).received == {("o", 1): Line(1, frozenset({3}))}


def test_a_publication_of_another_origin_is_still_owed(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(durable("news"))
        await user.keep(document(1, "news", content=b"a", publication="p"))
        elsewhere = document(2, "news", content=b"a", publication="p", homes=("far",))
        parcel = elsewhere.parcel._replace(id=DocumentId("other", 7, 1))
        kept = await user.keep(elsewhere._replace(parcel=parcel))
        assert kept == Kept((0,), "o:1:1", False)
        figures = await user.store.figures()
        assert (figures.documents, figures.queued, figures.owed) == (2, {"news": 1}, {"far": 1})

    with_store(stores, use)
    assert state_of(stores).owed == {"far": (DocumentId("other", 7, 1),)}


def test_a_publication_outlives_its_document(stores: Stores) -> None:
    async def use(user: User) -> None:
        await user.keep(document(1, content=b"a", stored=0, publication="p"))
        await user.store.trim(1)
        assert (await user.store.trim(2 * HOUR)).documents == 1
        assert await user.keep(document(2, content=b"b", publication="p")) == Kept(
            (), "o:1:1", True, is_added=False
        )
        assert await user.keep(document(1, content=b"a", publication="p")) == Kept(
            (), is_added=False
        )
        await user.store.trim(24 * HOUR + 1)
        assert await user.store.find_publication("p") is None
        assert await user.keep(document(2, content=b"b", publication="p")) == Kept(())

    with_store(stores, use, Retention(age=24 * 3600.0))


def test_a_publication_goes_into_queues_once_whatever_is_kept_of_it(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(durable("news"))
        assert await user.keep(document(1, "news", publication="p")) == Kept((1,))
        await user.do(Acknowledge("news", 1, (), 0))
        await user.store.trim(1)
        assert (await user.store.trim(2 * HOUR)).documents == 1
        for_others = document(1, publication="p", homes=("far",), settled=0)
        assert await user.keep(for_others) == Kept(())
        assert await user.keep(document(1, "news", publication="p")) == Kept((0,), is_added=False)

    with_store(stores, use, Retention(age=24 * 3600.0))


def test_a_publication_is_found_also_while_it_is_written(stores: Stores) -> None:
    async def use(user: User) -> None:
        written = user.keep(document(1, publication="mine"))
        assert not written.done()
        assert await user.store.find_publication("mine") == ("o:1:1", digest(b"x"))
        assert written.done()
        assert await user.store.find_publication("yours") is None
        both = [user.store.find_publication("two") for _ in range(2)]
        user.do(document(2, publication="two"))
        found = await asyncio.gather(*both)
        assert set(found) <= {None, ("o:1:2", digest(b"x"))}

    with_store(stores, use)


# ---- queues and homes ----------------------------------------------------------------------------


def test_state_is_the_same_after_opening_again(stores: Stores) -> None:
    async def write(user: User) -> int:
        await fill(user, 6)
        user.do(Acknowledge("news", 2, (4, 6), 0))
        user.do(NoteAttempts("news", {2: 5, 3: 1, 5: 2, 7: 1}))
        user.do(document(7, homes=("far", "near"), publisher="ann"))
        user.do(document(8, homes=("far", "near"), publisher="bob", content=b"yes"))
        user.do(Confirm("far", (identity(7),), 0))
        user.do(Confirm("near", (identity(8), identity(7), identity(99)), 0))
        user.do(PutHome("far", Version(1, 3), ("//b", "//a"), (), 0))
        user.do(PutHome("far", Version(1, 4), ("//c",), ("//a",), 3))
        user.do(NoteReceived(identity(5, 9), 3))
        user.do(NoteReceived(identity(4, 9), 2))
        await user.do(SetHomeVersion(Version(2, 17)))
        return user.state.incarnation

    incarnation = with_store(stores, write)
    state = state_of(stores)
    (news,) = state.durables
    assert (news.first, news.last, news.acknowledged, news.beyond) == (1, 6, 2, frozenset({4, 6}))
    assert (news.attempts, news.revived) == ({3: 1, 5: 2}, frozenset())
    assert state.owed == {"far": (identity(8),)}
    assert state.homes == {"far": (Version(1, 4), ("//b", "//c"))}
    assert state.received == {("o", 9): Line(3, frozenset({4, 5}))}
    assert (state.home_version, state.bytes) == (Version(2, 17), 64)
    assert state.publishers == {"ann": 1, "bob": 3}
    assert state.incarnation > incarnation


def test_acknowledged_moves_over_what_was_acknowledged_one_by_one(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 6)
        user.do(Acknowledge("news", 0, (2, 3, 3, 99), 0))
        await user.do(Acknowledge("news", 1, (), 0))
        assert (await user.store.figures()).queued == {"news": 3}
        await user.do(Acknowledge("nowhere", 3, (), 0))

    with_store(stores, use)
    (news,) = state_of(stores).durables
    assert (news.acknowledged, news.beyond) == (3, frozenset())

    async def acknowledge_all(user: User) -> None:
        await user.do(Acknowledge("news", 2**64 - 1, (2**64 - 1,), 0))
        assert (await user.store.figures()).queued == {"news": 0}

    with_store(stores, acknowledge_all)
    assert state_of(stores).durables[0].acknowledged == 6


def test_what_is_dropped_is_gone_and_names_can_be_used_again(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 50)
        user.do(document(1, homes=("far", "near")))
        user.do(PutHome("far", Version(1, 3), ("//a",), (), 0))
        user.do(DropDurable("news"))
        user.do(DropDurable("nowhere"))
        user.do(durable("news"))
        user.do(DropHome("far"))
        user.do(DropHome("nowhere"))
        assert await user.keep(document(2, "news")) == Kept((1,), is_added=False)
        (entry,) = await user.store.read_queue("news", 1, 2000, limit=2000, max_bytes=10**6)
        assert entry.document.id == "o:1:2"
        figures = await user.store.figures()
        assert (figures.queued, figures.owed) == ({"news": 1}, {"near": 1})
        await user.store.trim(1)
        assert (await user.store.trim(2 * HOUR)).documents == 48

    with_store(stores, use)
    assert state_of(stores).owed == {"near": (identity(1),)}


# ---- letters -------------------------------------------------------------------------------------


def test_letters_are_set_aside_read_and_given_back(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 4)
        user.do(document(5, homes=("far",)))
        user.do(document(6, aside="nobody wants it", stored=3))
        user.do(Acknowledge("news", 1, (), 0))
        user.do(SetAside("news", (1, 2, 9), "too often", 11))
        user.do(SetAsideOwed("far", identity(5), "refused", 12))
        await user.do(SetAsideOwed("far", identity(4), "refused", 12))
        letters = await user.store.letters()
        assert [each[1:] for each in letters] == [
            ("o:1:6", "", "", 0, (), "nobody wants it", 3, 1),
            ("o:1:2", "news", "", 2, ("k",), "too often", 11, 10),
            ("o:1:5", "", "far", 0, (), "refused", 12, 1),
        ]
        unrouted, queued, owed = (each.number for each in letters)
        assert [each.number for each in await user.store.letters(durable="news")] == [queued]
        assert [each.number for each in await user.store.letters(home="far")] == [owed]
        assert [each.number for each in await user.store.letters(after=unrouted, limit=1)] == [
            queued
        ]
        read = await user.store.read_letter(queued)
        assert read is not None
        assert (read[0], read[1].content) == (letters[1], bytes([2]) * 10)
        assert await user.store.read_letter(99) is None
        replayed = await user.do(Replay((unrouted, queued, owed, 99), 20))
        assert replayed == Replayed((("news", 2),))
        assert [each.number for each in await user.store.letters()] == [unrouted, owed]
        await user.do(DropLetters((unrouted, owed, 99), 30))
        figures = await user.store.figures()
        assert (figures.queued, figures.owed, figures.letters) == ({"news": 3}, {"far": 0}, 0)

    with_store(stores, use)
    (news,) = state_of(stores).durables
    assert (news.acknowledged, news.revived) == (2, frozenset({2}))

    async def acknowledge(user: User) -> None:
        await user.do(Acknowledge("news", 3, (), 0))  # which does not name what was revived
        assert (await user.store.figures()).queued == {"news": 2}
        await user.do(Acknowledge("news", 3, (2,), 0))

    with_store(stores, acknowledge)
    (news,) = state_of(stores).durables
    assert (news.acknowledged, news.revived) == (3, frozenset())


def test_a_letter_of_a_queue_that_is_gone_stays(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 1)
        user.do(SetAside("news", (1,), "too often", 1))
        user.do(DropDurable("news"))
        user.do(durable("news"))
        await user.do(SetHomeVersion(Version(0, 0)))
        (letter,) = await user.store.letters()
        assert await user.do(Replay((letter.number,), 1)) == Replayed(())
        assert len(await user.store.letters(durable="news")) == 1

    with_store(stores, use)


# ---- retention -----------------------------------------------------------------------------------


def test_trim_keeps_what_is_needed_until_it_is_too_old(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 4)
        user.do(document(5, content=b"owed", homes=("far",), publisher="ann"))
        user.do(document(6, content=b"nobody's", publisher="bob"))
        user.do(document(7, content=b"letter", aside="because"))
        await user.do(Acknowledge("news", 2, (), 0))
        assert await user.store.trim(100) == Trimmed()
        assert await user.store.trim(100 + HOUR) == Trimmed()
        trimmed = await user.store.trim(101 + HOUR)
        assert trimmed == Trimmed(3, 28, {}, {"news": 3}, {}, {"bob": 8})
        assert await user.store.trim(24 * HOUR) == Trimmed()
        trimmed = await user.store.trim(24 * HOUR + 5)
        owed = {"far": (identity(5),)}
        assert trimmed == Trimmed(4, 30, {"news": 2}, {"news": 5}, owed, {"ann": 4})
        assert await user.store.figures() == StoreFigures(0, 0, {"news": 0}, {"far": 0}, 0, {})
        assert await user.keep(document(9, "news")) == Kept((5,))

    with_store(stores, use, Retention(age=24 * 3600.0))
    (news,) = state_of(stores).durables
    assert (news.first, news.last, news.acknowledged, news.missed) == (5, 5, 4, 2)


def test_beyond_its_size_a_store_drops_what_nobody_needs(stores: Stores) -> None:
    async def use(user: User) -> None:
        await fill(user, 1500, size=10)
        assert await user.store.trim(1) == Trimmed()
        await user.do(Acknowledge("news", 0, tuple(range(11, 1501)), 0))
        trimmed = await user.store.trim(1)
        assert (trimmed.documents, trimmed.bytes) == (1397, 13970)
        assert (trimmed.lost, trimmed.first) == ({}, {"news": 1})
        read = await user.store.read_queue("news", 1, 2000, limit=2000, max_bytes=10**6)
        assert [each.sequence for each in read] == [*range(1, 11), *range(1408, 1501)]
        assert (await user.store.figures()).queued == {"news": 10}

    with_store(stores, use, Retention(size=1035))


def test_a_document_that_is_needed_anew_is_kept(stores: Stores) -> None:
    async def use(user: User) -> None:
        await user.do(document(1))
        await user.store.trim(1)
        await user.do(document(1, homes=("far",)))
        assert (await user.store.trim(2 * HOUR)).documents == 0
        await user.do(Confirm("far", (identity(1),), 0))
        assert (await user.store.trim(3 * HOUR)).documents == 0
        assert (await user.store.trim(4 * HOUR + 1)).documents == 1

    with_store(stores, use)


def test_retention_cannot_be_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        Retention(age=-1)


# ---- the door ------------------------------------------------------------------------------------


def test_a_write_that_cannot_be_done_fails_alone_and_in_its_place(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(durable("news"))
        written = []
        for number in range(1, 101):
            write = document(number, "news")
            if number in (30, 71):
                headers = (("odd", "\ud800"),)
                parcel = Parcel(identity(number), b"x", 1, "\ud800", headers)
                write = write._replace(parcel=parcel)
            written.append(user.keep(write))
        results = await asyncio.gather(*written, return_exceptions=True)
        failed = [n for n, result in enumerate(results, start=1) if not isinstance(result, Kept)]
        assert failed == [30, 71]
        assert all(isinstance(results[number - 1], StoreError) for number in failed)
        kept = [result.sequences[0] for result in results if isinstance(result, Kept)]
        assert kept == list(range(1, 99))
        assert user.tickets == list(range(1, 102))
        assert (await user.store.figures()).queued == {"news": 98}
        assert user.store.waiting_bytes == 0

    with_store(stores, use)


def test_bytes_wait_until_they_are_committed(stores: Stores) -> None:
    async def use(user: User) -> None:
        user.do(document(1, content=b"x" * 1000))
        second = user.do(document(2, content=b"x" * 500))
        assert 1500 < user.store.waiting_bytes < 5000
        await second
        assert user.store.waiting_bytes == 0

    with_store(stores, use)


def test_closing_writes_what_is_queued_and_refuses_the_rest(stores: Stores) -> None:
    async def run() -> None:
        store = stores.open(Retention())
        with pytest.raises(StoreError, match="not started"):
            store.submit(1, DropDurable("news"))
        user = User(store)
        with pytest.raises(StoreError, match="once"):
            User(store)
        written = [user.do(document(number)) for number in range(3000)]
        await store.close()
        await store.close()
        assert [each.exception() for each in written] == [None] * 3000
        with pytest.raises(StoreError, match="closed"):
            user.do(document(1))
        with pytest.raises(StoreError, match="closed"):
            await store.figures()
        with pytest.raises(StoreError, match="closed"):
            await store.trim(1)

    asyncio.run(run())
    assert not [each for each in threading.enumerate() if each.name.startswith("store")]
    stores.audit()

    async def look(user: User) -> None:
        assert (await user.store.figures()).documents == 3000

    with_store(stores, look)


def test_a_store_that_was_never_started_can_be_closed(stores: Stores) -> None:
    for _ in range(2):
        asyncio.run(stores.open(Retention()).close())


def test_many_queues_of_one_document(stores: Stores) -> None:
    names = [f"queue {number}" for number in range(300)]

    async def use(user: User) -> None:
        for name in names:
            user.do(durable(name))
        for number in range(1, 6):
            write = document(number)._replace(entries=tuple(Entry(name, ()) for name in names))
            assert await user.keep(write) == Kept((number,) * 300)
        for name in names:
            user.do(Acknowledge(name, 4, (), 0))
        await user.do(Acknowledge(names[0], 4, (), 0))
        assert set((await user.store.figures()).queued.values()) == {1}

    with_store(stores, use)
