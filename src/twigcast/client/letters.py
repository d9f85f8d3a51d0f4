"""Letters: documents that a broker has set aside, and what a client does with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from twigcast.client import asking
from twigcast.client.connection import Connection
from twigcast.client.events import Document
from twigcast.times import to_datetime
from twigcast.wire import messages


@dataclass(frozen=True, slots=True)
class Letter:
    """A document that was set aside, with the reason.

    ``id`` is that of the document.  ``durable``, ``sequence`` and ``keys`` say in which queue it
    was, ``home`` to which broker it was owed; they are empty where it was in none, or owed to none.
    ``document`` is there if the letter was read.
    """

    number: int
    id: str
    durable: str
    sequence: int
    keys: tuple[str, ...]
    home: str
    reason: str
    at: datetime
    size: int
    document: Document | None = None


async def list_letters(connection: Connection, durable: str) -> list[Letter]:
    """The letters of a durable subscription, or all that this client may see."""
    question = messages.LettersRequest(durable=durable)
    return [
        _letter(each)
        async for answer in asking.replies(connection, question)
        if isinstance(answer, messages.LettersAnswer)
        for each in answer.letters
    ]


async def read_letter(connection: Connection, number: int) -> Letter:
    """A letter with its document."""
    question = messages.ReadLetterRequest(number=number)
    answer = await asking.only_reply(connection, question, messages.LetterAnswer)
    return _letter(answer.letter, Document(answer.document))


async def replay_letters(connection: Connection, numbers: Iterable[int], durable: str) -> list[int]:
    """The numbers of letters that were given back to their queues, or published anew."""
    return await _change(connection, "ReplayLetters", numbers, durable)


async def drop_letters(connection: Connection, numbers: Iterable[int], durable: str) -> list[int]:
    """The numbers of letters that were dropped."""
    return await _change(connection, "DropLetters", numbers, durable)


async def _change(
    connection: Connection, method: str, numbers: Iterable[int], durable: str
) -> list[int]:
    question = messages.LetterNumbers(numbers=numbers, durable=durable)
    if bool(question.numbers) == bool(durable):
        raise ValueError("name letters by their numbers, or a durable subscription for all of its")
    answer = await asking.only_reply(connection, question, messages.LetterNumbers, method)
    return list(answer.numbers)


def _letter(message: messages.Letter, document: Document | None = None) -> Letter:
    return Letter(
        message.number,
        message.id,
        message.durable,
        message.sequence,
        tuple(message.keys),
        message.home,
        message.reason,
        to_datetime(message.at),
        message.size,
        document,
    )
