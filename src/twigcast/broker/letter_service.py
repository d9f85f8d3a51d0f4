"""The calls of the wire about letters."""

from __future__ import annotations

from twigcast.broker.access import Principal
from twigcast.broker.letters import Letters
from twigcast.broker.store import Letter
from twigcast.broker.subscriptions import encode_common
from twigcast.wire import messages


async def list_letters(letters: Letters, principal: Principal, data: bytes) -> list[bytes]:
    """The answers to a question for letters, some letters in each."""
    said = messages.LettersRequest.FromString(data)
    listed = await letters.listed(principal, said.durable, said.after, said.limit)
    return [
        messages.LettersAnswer(
            letters=[_encode(each) for each in listed[start : start + _AT_ONCE]]
        ).SerializeToString()
        for start in range(0, len(listed), _AT_ONCE)
    ]


async def read_letter(letters: Letters, principal: Principal, data: bytes) -> bytes:
    """A letter with its document."""
    said = messages.ReadLetterRequest.FromString(data)
    letter, document = await letters.read(principal, said.number)
    answer = messages.LetterAnswer(letter=_encode(letter))
    answer.document.MergeFromString(encode_common(document))
    return answer.SerializeToString()


async def replay_letters(letters: Letters, principal: Principal, data: bytes) -> bytes:
    """The numbers of letters that were replayed."""
    said = messages.LetterNumbers.FromString(data)
    numbers = await letters.replay(principal, said.numbers, said.durable)
    return messages.LetterNumbers(numbers=numbers).SerializeToString()


async def drop_letters(letters: Letters, principal: Principal, data: bytes) -> bytes:
    """The numbers of letters that were dropped."""
    said = messages.LetterNumbers.FromString(data)
    numbers = await letters.drop(principal, said.numbers, said.durable)
    return messages.LetterNumbers(numbers=numbers).SerializeToString()


def _encode(letter: Letter) -> messages.Letter:
    return messages.Letter(**letter._asdict())


_AT_ONCE = 500
"""How many letters one message has, at most."""
