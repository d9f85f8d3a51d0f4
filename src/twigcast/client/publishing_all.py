"""Publishing many documents: read from a source while the answers to earlier ones come in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable
from contextlib import aclosing
from time import monotonic
from typing import Any, Final, TypeAlias

from twigcast.client.failures import fresh
from twigcast.client.publishing import (
    MOST_DOCUMENTS,
    Outgoing,
    Publication,
    Publisher,
    PublishResult,
)
from twigcast.documents import Source
from twigcast.errors import RefusedError

Documents: TypeAlias = Iterable[Source | Outgoing] | AsyncIterable[Source | Outgoing]

_LONGEST_TURN: Final = 0.002
"""Seconds that a source that is no asynchronous one may keep the event loop."""


class PublishAll:
    """The publication of many documents, which begins when it is awaited or iterated over.

    Awaited, it gives the list of results; iterated over, each result as it comes.  Results are in
    the order of the documents.  A document that the broker refuses is a result with its error;
    what ends the client, or the source, is raised after the results of what came before.
    """

    def __init__(self, publisher: Publisher, documents: Documents) -> None:
        self._publisher = publisher
        self._documents = documents

    def __repr__(self) -> str:
        return f"<PublishAll of a {type(self._documents).__name__}; await it, or iterate over it>"

    def __await__(self) -> Generator[Any, None, list[PublishResult]]:
        return self._collect().__await__()

    def __aiter__(self) -> AsyncIterator[PublishResult]:
        return self._results()

    async def _collect(self) -> list[PublishResult]:
        async with aclosing(self._results()) as results:
            return [result async for result in results]

    async def _results(self) -> AsyncGenerator[PublishResult, None]:
        # Results that nobody takes stop the source, so that memory stays bounded.
        submitted: asyncio.Queue[Publication | Exception | None] = asyncio.Queue(MOST_DOCUMENTS)
        feeder = asyncio.create_task(self._feed(submitted), name="twigcast publish_all")
        unanswered: Publication | None = None
        try:
            while (publication := await submitted.get()) is not None:
                if isinstance(publication, Exception):
                    raise publication
                unanswered = publication
                result = await publication.result
                if result.error is not None and not isinstance(result.error, RefusedError):
                    raise fresh(result.error)
                yield result
        finally:
            feeder.cancel()
            await asyncio.wait({feeder})
            self._give_up(unanswered)
            while not submitted.empty():
                self._give_up(submitted.get_nowait())

    async def _feed(self, submitted: asyncio.Queue[Publication | Exception | None]) -> None:
        end: Exception | None = None
        try:
            async with aclosing(_steadily(self._documents)) as documents:
                async for document in documents:
                    await submitted.put(await self._publisher.submit(document))
        except Exception as error:
            end = error
        await submitted.put(end)

    def _give_up(self, publication: Publication | Exception | None) -> None:
        """Nobody wants to know of it any more; if it is not sent yet it is not published."""
        if isinstance(publication, Publication) and publication.result.cancel():
            self._publisher.withdraw(publication)


async def _steadily(documents: Documents) -> AsyncGenerator[Source | Outgoing, None]:
    """The documents of a source of either kind; others get their turns in between."""
    if isinstance(documents, AsyncIterable):
        async for document in documents:
            yield document
        return
    began = monotonic()
    for document in documents:
        yield document
        if monotonic() - began > _LONGEST_TURN:
            await asyncio.sleep(0)
            began = monotonic()
