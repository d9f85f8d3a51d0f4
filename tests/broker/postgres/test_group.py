"""Brokers of a group share queues, and hear of each other's writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest
from broker_stores import document, durable
from postgres_server import PostgresServer

from twigcast.broker.store.postgres import PostgresDatabase
from twigcast.broker.store.postgres.group import Group
from twigcast.broker.store.postgres.news import (
    Acknowledged,
    DurableChanged,
    Grown,
    MaybeMissed,
    News,
)
from twigcast.delivery.writes import Acknowledge, DropDurable, Replay, SetAside
from twigcast.errors import StoreError

Outcome = TypeVar("Outcome")


class Member:
    """A broker of a group, and what it hears."""

    def __init__(self, url: str) -> None:
        self.store = PostgresDatabase(url, broker="group", sync="full", is_shared=True)
        self.news: asyncio.Queue[News] = asyncio.Queue()
        self.lost = asyncio.Event()
        self.group: Group = self.store.join_group(
            on_news=self.news.put_nowait, on_lost=self.lost.set
        )

    async def hear(self, count: int) -> list[News]:
        return [await asyncio.wait_for(self.news.get(), 10) for _ in range(count)]


@asynccontextmanager
async def members(url: str) -> AsyncIterator[tuple[Member, Member]]:
    both = Member(url), Member(url)
    try:
        yield both
    finally:
        for each in both:
            await each.group.close()
            each.store.close()


def with_members(url: str, use: Callable[[Member, Member], Awaitable[Outcome]]) -> Outcome:
    async def run() -> Outcome:
        async with members(url) as both:
            return await use(*both)

    return asyncio.run(run())


def test_a_queue_is_served_by_one(postgres_url: str) -> None:
    async def use(first: Member, second: Member) -> None:
        first.store.write([durable("news"), durable("sport")])
        assert await first.group.lock_queue("news")
        assert await first.group.lock_queue("news"), "whoever has it keeps it"
        assert not await second.group.lock_queue("news")
        assert await second.group.lock_queue("sport")
        await first.group.unlock_queue("news")
        assert await second.group.lock_queue("news")
        await second.group.close()
        assert await first.group.lock_queue("sport")

    with_members(postgres_url, use)


def test_a_queue_that_there_is_not_is_not_served(postgres_url: str) -> None:
    async def use(first: Member, second: Member) -> None:
        assert not await first.group.lock_queue("news")
        first.store.write([durable("news")])
        assert await first.group.lock_queue("news")
        first.store.write([DropDurable("news"), durable("news")])
        assert await second.group.lock_queue("news"), "this is another queue"
        assert not await first.group.lock_queue("news")

    with_members(postgres_url, use)


def test_others_hear_what_was_committed(postgres_url: str) -> None:
    async def use(first: Member, second: Member) -> None:
        first.store.write([durable("news"), durable("sport")])
        assert await second.hear(2) == [DurableChanged("news"), DurableChanged("sport")]
        first.store.write([document(1, "news", "sport"), document(2, "news")])
        assert await second.hear(2) == [Grown("news", 2), Grown("sport", 1)]
        first.store.write([document(1, "news"), Acknowledge("news", 1, (), 0)])
        assert await second.hear(1) == [Acknowledged("news")]
        first.store.write([SetAside("news", (2,), "broken", 0)])
        first.store.write([Replay((1,), 0)])
        assert await second.hear(2) == [Acknowledged("news")] * 2
        second.store.write([DropDurable("news")])
        assert await first.hear(1) == [DurableChanged("news")]
        assert second.news.empty()

    with_members(postgres_url, use)


def test_a_server_that_was_killed_takes_the_locks(
    postgres: PostgresServer, postgres_url: str
) -> None:
    async def use(first: Member, second: Member) -> None:
        first.store.write([durable("news")])
        assert await second.hear(1)
        assert await first.group.lock_queue("news")
        postgres.kill()
        postgres.start()
        await asyncio.wait_for(first.lost.wait(), 10)
        assert await first.hear(1) == [MaybeMissed()]
        assert await second.hear(1) == [MaybeMissed()]
        assert await second.group.lock_queue("news")
        assert not await first.group.lock_queue("news")

    with_members(postgres_url, use)


def test_while_the_server_is_away_nobody_serves(
    postgres: PostgresServer, postgres_url: str
) -> None:
    async def use(first: Member, second: Member) -> None:
        first.store.write([durable("news")])
        postgres.stop()
        try:
            await asyncio.wait_for(first.lost.wait(), 10)
            with pytest.raises(StoreError, match="see that PostgreSQL runs"):
                await first.group.lock_queue("news")
        finally:
            postgres.start()
        assert (await first.hear(1))[-1] == MaybeMissed()
        assert await first.group.lock_queue("news")

    with_members(postgres_url, use)


def test_who_has_left_the_group_is_told_so(postgres_url: str) -> None:
    async def use(first: Member, second: Member) -> None:
        await first.group.close()
        with pytest.raises(StoreError, match="the group is closed"):
            await first.group.lock_queue("news")

    with_members(postgres_url, use)
