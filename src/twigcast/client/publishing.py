"""Publishing: documents wait, go out in batches, and are answered one by one.

    publish ──► reserve room ──► waiting ──one frame of many──► sent ──answer──► result
                    ▲                ▲                            │
                    └── room again   └──────── stream lost ───────┘

Everything that waits goes into the next frame, up to 64 documents or half of what a message may
have; so a lone document goes at once, and many together cost little each.  No more than so many
documents and bytes are unanswered at a time; who publishes beyond waits its turn.

Invariant: a publication keeps its id for good, so when a stream is lost before the answer it is
sent again, before those that came after it, and a broker that had it takes it once.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from twigcast.client.connection import Connection, Speaker, log
from twigcast.client.events import Moment, until_when
from twigcast.client.failures import BrokenStreamError, fresh, refused
from twigcast.documents import Source
from twigcast.errors import DocumentError, RefusedError, TwigcastError
from twigcast.wire import messages

Headers: TypeAlias = Mapping[str, str] | None
To: TypeAlias = str | Sequence[str]
"""One destination, or several."""

MOST_DOCUMENTS: Final = 1024
MOST_BYTES: Final = 16 * 2**20
"""What may be unanswered at a time."""

_PATIENCE: Final = 3.0
"""After how many seconds without an answer a publisher is warned."""
_BATCH: Final = 64
_FEW: Final = 2
"""How many frames are on their way before another waits to be full."""
_LONGEST_ID: Final = 1024

_DECLARED_ENCODING: Final = re.compile(
    r"(\ufeff?<\?xml\s[^>]*?\bencoding\s*=\s*)(?:\"[^\">]*\"|'[^'>]*')"
)


class Outgoing(NamedTuple):
    """A document to publish with what is said beside it, for ``publish_all``.

    ``id``, ``headers``, ``expires``, ``scope`` and ``to`` are those of ``Client.publish``.
    """

    document: Source
    id: str = ""
    headers: Headers = None
    expires: Moment | None = None
    scope: str = ""
    to: To = ()


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What became of a document: its event ``id``, or the ``error`` with which it was refused."""

    id: str = ""
    error: TwigcastError | None = None


class Publication:
    """A document that is not answered yet."""

    __slots__ = (
        *("again", "content", "expires", "headers", "id", "is_sent", "result", "scope", "size"),
        "to",
    )

    def __init__(
        self,
        content: bytes,
        identity: str,
        again: bool,
        headers: Mapping[str, str],
        expires: int,
        scope: str,
        to: tuple[str, ...],
    ) -> None:
        self.content = content
        self.size = _size(content, headers, to)
        self.id = identity
        self.headers = headers
        self.expires = expires
        self.scope = scope
        self.to = to
        self.is_sent = False
        self.again = again
        """Whether a broker may have it already."""
        self.result: asyncio.Future[PublishResult] = asyncio.get_running_loop().create_future()


class Publisher(Speaker):
    """Publishes a client's documents."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._prefix = uuid.uuid4().hex
        self._count = 0
        self._waiting: deque[Publication] = deque()
        self._sent: dict[int, list[Publication]] = {}
        self._turns: deque[tuple[asyncio.Future[None], int]] = deque()
        self._documents = 0
        self._bytes = 0
        self._largest = 0
        self._batch_bytes = 0
        self._patience: asyncio.TimerHandle | None = None

    async def publish(self, document: Outgoing) -> str:
        """Publish one document and wait for its event id."""
        publication = await self.submit(document)
        try:
            result = await publication.result
        except asyncio.CancelledError:
            self.withdraw(publication)
            raise
        if result.error is not None:
            raise fresh(result.error)
        return result.id

    async def submit(self, document: Source | Outgoing) -> Publication:
        """Queue a document for sending, when there is room."""
        document, identity, said, expires, scope, destinations = (
            document if isinstance(document, Outgoing) else Outgoing(document)
        )
        content = to_bytes(document)
        headers = _checked(said)
        to = _listed(destinations)
        _require_characters("id", identity)
        _require_characters("scope", scope)
        until = 0 if expires is None else until_when(expires)
        if len(identity) > _LONGEST_ID:
            raise ValueError(f"the id of a publication has at most {_LONGEST_ID} characters")
        self._connection.require()
        await self._reserve(_size(content, headers, to))
        again = bool(identity)  # the caller may have published it before
        if not identity:
            self._count += 1
            identity = f"{self._prefix}-{self._count}"
        publication = Publication(content, identity, again, headers, until, scope, to)
        self._waiting.append(publication)
        self._connection.wake()
        return publication

    def frames(self) -> Iterator[messages.ClientFrame]:
        """One frame with what waits; then it is the turn of others.

        While some are on their way, more waits until it fills a frame, nothing can be added to it,
        or an answer comes.
        """
        if len(self._sent) >= _FEW and not self._turns and not self._is_full():
            return
        batch = self._next_batch()
        if not batch:
            return
        frame = messages.ClientFrame()
        frame.publish.request = request = self._connection.number(
            lambda answer: self._on_answer(request, answer)
        )
        self._sent[request] = batch
        self._expect_answers()
        add = frame.publish.publications.add
        for publication in batch:
            publication.is_sent = True
            add(
                content=publication.content,
                id=publication.id,
                again=publication.again,
                headers=publication.headers,
                expires=publication.expires,
                scope=publication.scope,
                to=publication.to,
            )
        yield frame

    def on_connected(self, welcome: messages.Welcome) -> None:
        """Batches are as large as this broker wants them."""
        message_bytes = welcome.message_bytes or welcome.document_bytes
        self._largest = min(welcome.document_bytes or message_bytes, message_bytes)
        self._batch_bytes = message_bytes // 2

    def on_lost(self) -> None:
        """What was not answered goes out again, in its old order."""
        for batch in reversed(self._sent.values()):
            for publication in reversed(batch):
                if publication.result.done():
                    self._release(publication.size)
                else:
                    publication.is_sent = False
                    publication.again = True
                    self._waiting.appendleft(publication)
        self._sent.clear()
        self._expect_answers()

    def on_failed(self, error: TwigcastError) -> None:
        """Whoever waits gets the error."""
        for publication in chain(*self._sent.values(), self._waiting):
            _settle(publication, PublishResult(error=error))
        self._sent.clear()
        self._expect_answers()
        self._waiting.clear()
        for turn, _ in self._turns:
            if not turn.done():
                turn.set_result(None)
        self._turns.clear()

    def _is_full(self) -> bool:
        """Whether what waits fills a frame."""
        size = 0
        for count, each in enumerate(self._waiting, 1):
            size += each.size
            if count == _BATCH or size >= self._batch_bytes:
                return True
        return False

    def _next_batch(self) -> list[Publication]:
        batch: list[Publication] = []
        size = 0
        waiting = self._waiting
        while waiting and len(batch) < _BATCH:
            publication = waiting[0]
            if not publication.result.done():
                if len(publication.content) > self._largest:
                    self._refuse_large(publication)
                elif batch and size + publication.size > self._batch_bytes:
                    break
                else:
                    batch.append(publication)
                    size += publication.size
            waiting.popleft()
        return batch

    def _refuse_large(self, publication: Publication) -> None:
        size = len(publication.content)
        reason = (
            f"the document has {size:,} bytes; the broker takes {self._largest:,} "
            "(document_bytes and message_bytes of its limits)"
        )
        _settle(publication, PublishResult(error=RefusedError(reason, "too-large")))
        self._release(publication.size)

    def _on_answer(self, request: int, answer: messages.Answer) -> None:
        batch = self._sent[request]
        ids = list(answer.ids)
        problems = {problem.index: problem for problem in answer.problems}
        if len(ids) != len(batch):
            if len(problems) != len(batch):
                raise BrokenStreamError("the broker answers for other documents than were sent")
            ids = [""] * len(batch)
        del self._sent[request]
        self._expect_answers()
        for index, (publication, identity) in enumerate(zip(batch, ids, strict=True)):
            self._documents -= 1
            self._bytes -= publication.size
            result = PublishResult(identity)
            if index in problems:
                result = PublishResult(error=refused(problems[index]))
            _settle(publication, result)
        if self._waiting:
            self._connection.wake()
        self._grant()

    def _expect_answers(self) -> None:
        """Warn once if the broker does not answer for a while."""
        if self._patience is not None:
            self._patience.cancel()
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(_PATIENCE, self._warn) if self._sent else None

    def _warn(self) -> None:
        log.warning(
            "the broker has not answered for %g s to %s documents: perhaps it holds publishers "
            "back, because there is no room; its status says so (twigcast network status)",
            _PATIENCE,
            f"{sum(map(len, self._sent.values())):,}",
        )

    def withdraw(self, publication: Publication) -> None:
        """Nobody waits for it any more; unless it is sent already it never will be."""
        if not publication.is_sent and publication.result.cancelled():
            publication.content = b""
            self._release(publication.size)

    def _has_room(self, size: int) -> bool:
        return self._documents < MOST_DOCUMENTS and (
            self._bytes + size <= MOST_BYTES or not self._documents
        )

    async def _reserve(self, size: int) -> None:
        """Take room for a document, once there is some and nobody who came earlier waits."""
        if not self._turns and self._has_room(size):
            self._documents += 1
            self._bytes += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append((turn, size))
        self._connection.wake()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._release(size)
            raise
        self._connection.require()

    def _release(self, size: int) -> None:
        self._documents -= 1
        self._bytes -= size
        self._grant()

    def _grant(self) -> None:
        """Give room to those whose turn it is."""
        turns = self._turns
        while turns:
            turn, size = turns[0]
            if not turn.done():
                if not self._has_room(size):
                    return
                self._documents += 1
                self._bytes += size
                turn.set_result(None)
            turns.popleft()


def to_bytes(document: Source) -> bytes:
    """The bytes that are published: those given, or a text in UTF-8 that says so itself."""
    if isinstance(document, bytes):
        return document
    if isinstance(document, bytearray | memoryview):
        return bytes(document)
    if not isinstance(document, str):
        raise TypeError(f"a document is bytes or str, not {type(document).__name__}")
    declared = _DECLARED_ENCODING.match(document)
    if declared is not None:
        document = f'{declared[1]}"UTF-8"{document[declared.end() :]}'
    try:
        return document.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DocumentError(f"the document has a lone surrogate at {error.start}") from None


def _size(content: bytes, headers: Mapping[str, str], to: Sequence[str]) -> int:
    """What a publication takes in a message, about."""
    said = sum(len(name) + len(value) for name, value in headers.items())
    return len(content) + said + sum(map(len, to))


def _listed(to: To) -> tuple[str, ...]:
    """A destination list; TypeError for what is none.  Where there are such the broker says."""
    listed = (to,) if isinstance(to, str) else tuple(to)
    for each in listed:
        if not isinstance(each, str):
            raise TypeError(f"a document is addressed to texts as 'oslo:inbox', not {each!r}")
        _require_characters("destination", each)
    return listed


def _checked(headers: Headers) -> Mapping[str, str]:
    """A copy of headers; TypeError for what are none.  Which names there may be the broker says."""
    if not headers:
        return {}
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers are a mapping from names to texts, not {headers!r}")
    for name, value in headers.items():
        if not all(isinstance(each, str) for each in (name, value)):
            raise TypeError(f"a header is a name and a text, not {name!r}: {value!r}")
        _require_characters("name of a header", name)
        _require_characters(f"header {name}", value)
    return dict(headers)


def _require_characters(what: str, text: str) -> None:
    """ValueError for half a character, which cannot be sent."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the {what} has a lone surrogate at {error.start}") from None


def _settle(publication: Publication, result: PublishResult) -> None:
    """Give the publisher its result; the content is not needed any more."""
    publication.content = b""
    if not publication.result.done():
        publication.result.set_result(result)
