"""Documents that a client publishes together, and what became of each."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import NamedTuple

from twigcast.broker.flow import DocumentFlow
from twigcast.delivery import Answer, Headers


class Publication(NamedTuple):
    """A document, and the publisher's id for it; ``again`` if it may have been published before."""

    content: bytes
    id: str
    again: bool
    headers: Headers = ()
    expires: int = 0
    scope: str = ""
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A document of a batch that was refused, or could not be stored."""

    index: int
    code: str
    reason: str


class Batch:
    """Documents that were published together, and what became of them."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.held = ""
        """Why documents are held back by who publishes, from the first of them on."""
        self._ids: list[str] = []
        self._problems: list[Problem] = []
        self._waiting: dict[int, int] = {}
        self._settled = asyncio.Event()
        self._settled.set()

    def add(self, flow: DocumentFlow) -> int:
        """The ticket under which the next document is answered."""
        ticket = flow.ticket(self)
        self._waiting[ticket] = len(self._ids)
        self._ids.append("")
        self._settled.clear()
        return ticket

    def refuse(self, code: str, reason: str, ticket: int = 0) -> None:
        """Note that a document was refused: the next, or the one of a ticket."""
        if not ticket:
            self._problems.append(Problem(len(self._ids), code, reason))
            self._ids.append("")
        else:
            self.answered(Answer(ticket, code=code, reason=reason))

    def answered(self, answer: Answer) -> None:
        """Note what has become of a document."""
        index = self._waiting.pop(answer.ticket)
        self._ids[index] = answer.id
        if answer.code:
            self._problems.append(Problem(index, answer.code, answer.reason))
        if not self._waiting:
            self._settled.set()

    @property
    def is_safe(self) -> bool:
        """Whether everything is stored, or could not be."""
        return not self._waiting

    async def wait(self) -> None:
        """Return when everything is stored, or could not be."""
        await self._settled.wait()

    def outcome(self) -> tuple[list[str], list[Problem]]:
        """The event id of each document, empty for those with a problem; and the problems."""
        return self._ids, self._problems
