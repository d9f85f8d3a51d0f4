"""Asking a broker for documents that it keeps: by an expression, or by their sequences in a queue.

These are calls of their own beside the stream, on the same channel.  A call that is interrupted
is not made again: the caller has part of the answer and decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import Any, Final, TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from twigcast.client.connection import Connection
from twigcast.client.events import Document
from twigcast.client.failures import BrokenStreamError, own_cancellation, translated
from twigcast.client.results import Documents
from twigcast.errors import ConnectionFailedError
from twigcast.wire import messages, method

_Question: TypeAlias = messages.AskRequest | messages.ReadRequest
_Answer = TypeVar("_Answer", bound=Message)

_CALLS: Final[dict[type[Message], tuple[str, type[Message]]]] = {
    messages.AskRequest: ("Ask", messages.AskAnswer),
    messages.ReadRequest: ("Read", messages.Deliveries),
    messages.StatusRequest: ("Status", messages.StatusAnswer),
    messages.LettersRequest: ("Letters", messages.LettersAnswer),
    messages.ReadLetterRequest: ("ReadLetter", messages.LetterAnswer),
    messages.LetterNumbers: ("DropLetters", messages.LetterNumbers),
}
"""By the kind of a question: the method of the service, and the kind of its answers."""


class Asked:
    """The documents that a broker answers with: ``async for`` takes them one by one, once.

    ``await`` gives all of them, as a list that notebooks show as a table.
    """

    def __init__(self, connection: Connection, question: _Question) -> None:
        self._connection = connection
        self._question = question
        self._examined = 0

    def __repr__(self) -> str:
        question = self._question
        if isinstance(question, messages.AskRequest):
            asked = question.expression.xpath
        else:
            asked = f"{question.durable!r} {question.first} to {question.last}"
        return f"<Asked {asked}: {self._examined:,} documents examined>"

    def __await__(self) -> Generator[Any, None, Documents]:
        return self._collect().__await__()

    async def _collect(self) -> Documents:
        return Documents([document async for document in self])

    async def count(self) -> int:
        """How many documents match; none of them is sent."""
        assert isinstance(self._question, messages.AskRequest), "a queue has numbers"
        question = messages.AskRequest()
        question.CopyFrom(self._question)
        question.count = True
        matched = 0
        async with aclosing(replies(self._connection, question)) as answers:
            async for reply in answers:
                if isinstance(reply, messages.AskAnswer):
                    self._examined, matched = reply.examined, reply.matched
        return matched

    @property
    def examined(self) -> int:
        """How many documents the broker looked at; known at the end."""
        return self._examined

    async def __aiter__(self) -> AsyncGenerator[Document, None]:
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for document in batch:
                    yield document

    async def batches(self) -> AsyncGenerator[list[Document], None]:
        """The documents as they came together."""
        async with aclosing(replies(self._connection, self._question)) as answers:
            async for reply in answers:
                if isinstance(reply, messages.AskAnswer):
                    self._examined = max(self._examined, reply.examined)
                    yield [Document(each) for each in reply.documents]
                elif isinstance(reply, messages.Deliveries):
                    yield [Document(each) for each in reply.deliveries]


async def status(connection: Connection, durable: str = "") -> messages.StatusAnswer:
    """What a broker says of itself, and of a durable subscription."""
    question = messages.StatusRequest(durable=durable)
    return await only_reply(connection, question, messages.StatusAnswer)


async def only_reply(
    connection: Connection, question: Message, kind: type[_Answer], call: str = ""
) -> _Answer:
    """The only answer of a call; its name is that of the question unless one is given."""
    async with aclosing(replies(connection, question, call)) as answers:
        async for answer in answers:
            if isinstance(answer, kind):
                return answer
    raise ConnectionFailedError(connection.address, "the broker gives no answer")


async def replies(
    connection: Connection, question: Message, call_name: str = ""
) -> AsyncGenerator[Message, None]:
    """The answers of one call.  The first must come in time; how long all take is not bounded."""
    name, reply = _CALLS[type(question)]
    address = connection.address
    call: grpc.aio.UnaryStreamCall[Any, Any] | None = None
    try:
        async with asyncio.timeout(connection.timeout):
            channel = await connection.channel()
            address = connection.address
            # A call with one answer looks to the caller like one with several.
            start: Any = channel.unary_stream(
                method(call_name or name), type(question).SerializeToString
            )
            call = start(question, metadata=connection.endpoint.metadata)
            with own_cancellation():
                data: Any = await call.read()
        while data is not grpc.aio.EOF:
            yield reply.FromString(data)
            with own_cancellation():
                data = await call.read()
    except BrokenStreamError as error:
        raise ConnectionFailedError(address, str(error)) from None
    except grpc.aio.AioRpcError as error:
        raise translated(error, address) from None
    except DecodeError:
        raise ConnectionFailedError(address, "the broker sends what is no answer") from None
    except TimeoutError:
        reason = f"no answer within {connection.timeout:g} seconds"
        raise ConnectionFailedError(address, reason) from None
    finally:
        if call is not None:
            call.cancel()
