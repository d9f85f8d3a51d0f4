"""What a broker's store keeps of subscriptions, here and elsewhere: whole, or not at all."""

from __future__ import annotations

import pytest
from broker_stores import Stores, User, document, durable, fill, state_of, with_store

from twigcast.broker.store import Retention
from twigcast.delivery.writes import (
    Acknowledge,
    DropDurable,
    DurableOptions,
    Home,
    Kept,
    NoteMissed,
    PutDurable,
    PutHome,
    Version,
)
from twigcast.errors import StoreError


def put(version: int, *forward: str, withdraw: str = "", base: int, epoch: int = 1) -> PutHome:
    less = (withdraw,) if withdraw else ()
    return PutHome("far", Version(epoch, version), forward, less, base)


def test_a_change_of_a_home_is_kept_if_it_changes_what_is_kept(stores: Stores) -> None:
    async def write(user: User) -> None:
        user.do(put(3, "//a", "//b", base=0))
        user.do(put(5, "//c", withdraw="//a", base=3))
        await user.do(put(9, "//d", withdraw="//b", base=5))

    with_store(stores, write)
    assert state_of(stores).homes == {"far": Home(Version(1, 9), ("//c", "//d"))}


@pytest.mark.parametrize(("epoch", "base"), [(1, 2), (1, 4), (2, 3)])
def test_a_change_of_something_else_leaves_what_is_kept(
    stores: Stores, epoch: int, base: int
) -> None:
    async def write(user: User) -> None:
        user.do(put(3, "//a", "//b", base=0))
        user.do(put(6, "//c", base=base, epoch=epoch))
        await user.do(put(7, "//d", base=6, epoch=epoch))  # still not the whole

    async def write_whole(user: User) -> None:
        await user.do(put(8, "//e", base=0, epoch=epoch))

    with_store(stores, write)
    assert state_of(stores).homes == {"far": Home(Version(1, 3), ("//a", "//b"))}
    with_store(stores, write_whole)
    assert state_of(stores).homes == {"far": Home(Version(epoch, 8), ("//e",))}


def test_a_change_that_could_not_be_written_is_not_built_upon(stores: Stores) -> None:
    async def write(user: User) -> None:
        await user.do(put(3, "//a", base=0))
        with pytest.raises(StoreError):
            await user.do(put(4, "\ud800", withdraw="//a", base=3))
        await user.do(put(5, "//c", base=4))

    with_store(stores, write)
    assert state_of(stores).homes == {"far": Home(Version(1, 3), ("//a",))}


def test_expressions_and_options_are_replaced_and_the_queue_stays(stores: Stores) -> None:
    options = DurableOptions(True, "//key", 5)

    async def write(user: User) -> None:
        await fill(user, 3)
        await user.do(PutDurable("news", "bob", {"x": "//x"}, options))

    with_store(stores, write)
    (news,) = state_of(stores).durables
    assert (news.owner, news.expressions, news.options) == ("bob", {"x": "//x"}, options)
    assert news.last == 3


def test_a_durable_subscription_that_could_not_be_written_is_not_there(stores: Stores) -> None:
    async def write(user: User) -> None:
        await user.do(durable("old"))
        for name in ("old", "new"):
            with pytest.raises(StoreError):
                await user.do(PutDurable(name, "bob", {"k": "//b", "l": "\ud800"}))
        assert set((await user.store.figures()).queued) == {"old"}
        assert await user.keep(document(1, "new", "old")) == Kept((0, 1))

    with_store(stores, write)
    (old,) = state_of(stores).durables
    assert (old.name, old.owner, old.expressions) == ("old", "ann", {"k": "//a"})


def test_how_many_missed_documents_were_told_is_kept(stores: Stores) -> None:
    async def miss(user: User) -> None:
        await fill(user, 5)
        await user.do(Acknowledge("news", 1, (), 0))
        await user.store.trim(10**12)

    async def tell(user: User) -> None:
        user.do(NoteMissed("nowhere", 3))
        user.do(NoteMissed("news", 3))
        await user.do(NoteMissed("news", 2))  # which says nothing new

    async def tell_too_much(user: User) -> None:
        await user.do(NoteMissed("news", 2**63 - 1))

    async def begin_anew(user: User) -> None:
        user.do(DropDurable("news"))
        await user.do(durable("news"))

    def told() -> tuple[int, int]:
        (news,) = state_of(stores).durables
        return news.missed, news.missed_reported

    with_store(stores, miss, Retention(age=1.0))
    assert told() == (4, 0)
    with_store(stores, tell)
    assert told() == (4, 3)
    with_store(stores, tell_too_much)
    assert told() == (4, 4)
    with_store(stores, begin_anew)
    assert told() == (0, 0)
