"""Questions that a broker answers once: subscribe, advertise, and the ends of both."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from twigcast.client.connection import Connection, Speaker
from twigcast.client.failures import fresh, refused
from twigcast.errors import RefusedError, TwigcastError
from twigcast.wire import MESSAGE_SLACK, messages

Question: TypeAlias = (
    messages.Subscribe
    | messages.Unsubscribe
    | messages.Advertise
    | messages.Unadvertise
    | messages.Acknowledge
)
Result: TypeAlias = messages.Answer | TwigcastError | None
"""What becomes of a question: an answer, why there is none, or None if its stream is over."""


class Request:
    """A question that is not answered yet.

    ``hear`` is called with the result before anything further is read.  A ``lasting`` question is
    asked again on the next stream; the others are over with the stream on which they were asked.
    """

    __slots__ = ("_done", "_hear", "asked", "lasting", "question")

    def __init__(
        self,
        question: Question,
        hear: Callable[[Result], None] | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        self.question = question
        self.lasting = lasting
        self.asked = 0
        self._hear = hear
        self._done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def end(self, result: Result) -> None:
        """Give the result to who asked, and to who waits."""
        if not self._done.done():
            self._done.set_result(result)
            if self._hear is not None:
                self._hear(result)

    @property
    def is_given_up(self) -> bool:
        """Whether nobody wants to know any more."""
        return self._done.done()

    async def done(self) -> messages.Answer | None:
        """The answer, or None if the stream is over; raises RefusedError for one that says no."""
        result = await self._done
        if isinstance(result, TwigcastError):
            raise fresh(result)
        if result is not None and result.problems:
            raise refused(result.problems[0])
        return result


class Requests(Speaker):
    """The questions of a client, sent in the order in which they are asked."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[Request] = deque()
        self._asked: dict[Request, None] = {}

    def ask(self, request: Request) -> Request:
        """Queue a question for sending."""
        self._waiting.append(request)
        self._connection.wake()
        return request

    def frames(self) -> Iterator[messages.ClientFrame]:
        """The questions that wait."""
        while self._waiting:
            request = self._waiting.popleft()
            question = request.question
            if request.is_given_up:
                continue
            if (size := question.ByteSize()) > self._largest():
                request.end(
                    RefusedError(
                        f"this takes {size:,} bytes, more than the broker accepts in one message; "
                        "divide it into several",
                        "too-large",
                    )
                )
                continue
            self._asked[request] = None
            request.asked += 1
            question.request = self._connection.number(partial(self._on_answer, request))
            # A field of a frame is called as its message is.
            content: dict[str, Any] = {type(question).__name__.lower(): question}
            yield messages.ClientFrame(**content)

    def on_lost(self) -> None:
        """Ask again what lasts; the rest is over."""
        interrupted = [*self._asked, *self._waiting]
        self._asked.clear()
        self._waiting = deque(request for request in interrupted if request.lasting)
        for request in interrupted:
            if not request.lasting:
                request.end(None)
            elif isinstance(request.question, messages.Unsubscribe):
                request.question.subscription = 0  # one of the stream that is gone

    def on_failed(self, error: TwigcastError) -> None:
        """Nothing will be answered any more."""
        interrupted = [*self._asked, *self._waiting]
        self._asked.clear()
        self._waiting.clear()
        for request in interrupted:
            request.end(error)

    def _on_answer(self, request: Request, answer: messages.Answer) -> None:
        self._asked.pop(request, None)
        request.end(answer)

    def _largest(self) -> int:
        welcome = self._connection.welcome
        return (welcome.message_bytes if welcome is not None else 0) + MESSAGE_SLACK - 64
