"""Asking a broker for documents that it keeps: by an expression, or by their sequences in a queue.

These are calls of their own beside the stream, on the same channel.  A call that is interrupted
is not made again: the caller has part of the answer and decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from twigcast.client.connection import Connection
from twigcast.client.events import Document
from twigcast.client.failures import BrokenStreamError, own_cancellation, translated
from twigcast.client.results import Documents
from twigcast.errors import ConnectionFailedError
from twigcast.wire import messages, method

_Reply = TypeVar("_Reply", messages.AskAnswer, messages.Deliveries, messages.StatusAnswer)


class Asked:
    """The documents that a broker answers with: ``async for`` takes them one by one, once.

    ``await`` gives all of them, as a list that notebooks show as a table.
    """

    def __init__(
        self, question: str, batches: Callable[[Asked], AsyncGenerator[list[Document], None]]
    ) -> None:
        self._question = question
        self._batches = batches
        self._examined = 0

    def __repr__(self) -> str:
        return f"<Asked {self._question}: {self._examined:,} documents examined>"

    def __await__(self) -> Generator[Any, None, Documents]:
        return self._collect().__await__()

    async def _collect(self) -> Documents:
        return Documents([document async for document in self])

    @property
    def examined(self) -> int:
        """How many documents the broker looked at; known at the end."""
        return self._examined

    async def __aiter__(self) -> AsyncGenerator[Document, None]:
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for document in batch:
                    yield document

    def batches(self) -> AsyncGenerator[list[Document], None]:
        """The documents as they came together."""
        return self._batches(self)

    def count_examined(self, examined: int) -> None:
        """Note how many documents the broker has looked at."""
        self._examined = max(self._examined, examined)


def ask(connection: Connection, question: messages.AskRequest) -> Asked:
    """The stored documents that match an expression."""

    async def batches(asked: Asked) -> AsyncGenerator[list[Document], None]:
        replies = _replies(connection, "Ask", question, messages.AskAnswer.FromString)
        async with aclosing(replies):
            async for answer in replies:
                asked.count_examined(answer.examined)
                yield [Document(each) for each in answer.documents]

    return Asked(question.expression.xpath, batches)


def read(connection: Connection, question: messages.ReadRequest) -> Asked:
    """The documents of a range of a queue."""

    async def batches(asked: Asked) -> AsyncGenerator[list[Document], None]:
        replies = _replies(connection, "Read", question, messages.Deliveries.FromString)
        async with aclosing(replies):
            async for deliveries in replies:
                yield [Document(delivery) for delivery in deliveries.deliveries]

    return Asked(f"{question.durable!r} {question.first} to {question.last}", batches)


async def status(connection: Connection, durable: str = "") -> messages.StatusAnswer:
    """What a broker says of itself, and of a durable subscription."""
    question = messages.StatusRequest(durable=durable)
    replies = _replies(connection, "Status", question, messages.StatusAnswer.FromString)
    async with aclosing(replies):
        async for answer in replies:
            return answer
    raise ConnectionFailedError(connection.address, "the broker gives no status")


async def _replies(
    connection: Connection, name: str, question: Message, parse: Callable[[bytes], _Reply]
) -> AsyncGenerator[_Reply, None]:
    """The answers of one call.  The first must come in time; how long all take is not bounded."""
    address = connection.address
    call: grpc.aio.UnaryStreamCall[Any, Any] | None = None
    try:
        async with asyncio.timeout(connection.timeout):
            channel = await connection.channel()
            address = connection.address
            # A call with one answer looks to the caller like one with several.
            start: Any = channel.unary_stream(method(name), type(question).SerializeToString)
            call = start(question, metadata=connection.endpoint.metadata)
            with own_cancellation():
                data: Any = await call.read()
        while data is not grpc.aio.EOF:
            yield parse(data)
            with own_cancellation():
                data = await call.read()
    except BrokenStreamError as error:
        raise ConnectionFailedError(address, str(error)) from None
    except grpc.aio.AioRpcError as error:
        raise translated(error, address) from None
    except DecodeError:
        raise ConnectionFailedError(address, "the broker sends what is no answer") from None
    except TimeoutError:
        raise _no_answer(address, connection.timeout) from None
    finally:
        if call is not None:
            call.cancel()


def _no_answer(address: str, timeout: float) -> ConnectionFailedError:
    return ConnectionFailedError(address, f"no answer within {timeout:g} seconds")
