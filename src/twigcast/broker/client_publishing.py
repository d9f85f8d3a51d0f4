"""What one client publishes: checked, in order, at a pace, and answered.

    publish ──► pace, room ──► checked ──► looked at together ──► flow ──► answered, once safe

A publisher is held up while more of its documents wait for the disk than is good, while too many of
its batches are not answered, when it publishes faster than it may, and, if the configuration says
so, while there is no room in the store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from twigcast.broker.access import Permission, Principal
from twigcast.broker.batches import Batch, Publication
from twigcast.broker.broker import Broker
from twigcast.broker.destinations import read_destinations
from twigcast.broker.headers import check_headers
from twigcast.broker.pace import WAITING_BYTES, taking_turns
from twigcast.broker.quotas import Quota
from twigcast.broker.session_errors import code_of, require_few
from twigcast.delivery import (
    OTHER_CONTENT,
    Answer,
    Destination,
    FullError,
    Published,
    digest_of,
)
from twigcast.errors import RefusedError, TwigcastError
from twigcast.routing import Foreseen

_UNANSWERED: Final = 16
"""How many batches of one publisher may wait for their answer."""
_LONGEST_ID: Final = 1024
_TOGETHER: Final = 32
_TOGETHER_BYTES: Final = 128 * 1024
"""How many documents are looked at in one go, at most, and of how many bytes, about."""
RETRY: Final = 0.5
"""After how many seconds something is tried again."""


def _together(publications: Iterable[Publication]) -> Iterator[list[Publication]]:
    """Publications in parts to be looked at in one go."""
    some: list[Publication] = []
    size = 0
    for each in publications:
        some.append(each)
        size += len(each.content)
        if len(some) == _TOGETHER or size >= _TOGETHER_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


class _Checked(NamedTuple):
    """A publication that may be published."""

    identity: str
    """Its id in the whole network; empty if it has none."""
    to: tuple[Destination, ...]


class ClientPublishing:
    """What one client publishes; ``link`` is what the router calls it."""

    def __init__(self, broker: Broker, principal: Principal, link: str, quota: Quota) -> None:
        self._broker = broker
        self._principal = principal
        self._link = link
        self._quota = quota
        self._publishing = asyncio.Lock()
        self._publish_at = 0.0
        self._unanswered = 0
        self._room = asyncio.Event()

    async def publish(self, publications: Sequence[Publication], *, may_wait: bool = True) -> Batch:
        """Publish documents, after those of earlier calls; the batch knows when they are safe.

        Where publishers are held back while there is no room, this waits for room if it
        ``may_wait``.  Call :meth:`answered` once the client has its answer.  Raises SessionError.
        """
        broker = self._broker
        require_few(publications, "documents")
        async with self._publishing:
            while self._unanswered > _UNANSWERED or self._is_disk_behind():
                self._room.clear()
                await self._room.wait()
            await broker.informed()
            await asyncio.sleep(max(0.0, self._publish_at - time.monotonic()))
            batch = Batch()
            for some in _together(publications):
                await self._publish_some(some, batch, may_wait=may_wait)
            self._unanswered += 1
            rate = broker.config.limits.publications_per_second
            pause = self._quota.wait_for(len(publications), rate)
            self._publish_at = time.monotonic() + pause
        return batch

    def answered(self, batch: Batch) -> None:
        """Note that the client has its answer to a batch, or is gone."""
        self._broker.metrics.acknowledged(time.perf_counter() - batch.began)
        self._unanswered -= 1
        self._room.set()

    def _is_disk_behind(self) -> bool:
        store = self._broker.store
        return bool(self._unanswered) and store is not None and store.waiting_bytes > WAITING_BYTES

    async def _publish_some(
        self, publications: Sequence[Publication], batch: Batch, *, may_wait: bool
    ) -> None:
        checked = [self._checked(each) for each in publications]
        taken = [
            publication.content
            for publication, check in zip(publications, checked, strict=True)
            if isinstance(check, _Checked)
        ]
        foreseen = iter(self._broker.flow.foresee(taken) if taken else ())
        async for publication, check in taking_turns(zip(publications, checked, strict=True)):
            if not isinstance(check, _Checked):
                self._refuse(batch, check)
            elif batch.held:  # nothing overtakes what is held back
                batch.refuse("full", batch.held)
            else:
                await self._publish(publication, check, next(foreseen), batch, may_wait=may_wait)

    async def _publish(
        self,
        publication: Publication,
        check: _Checked,
        foreseen: Foreseen,
        batch: Batch,
        *,
        may_wait: bool,
    ) -> None:
        ticket = 0
        try:
            if publication.again and await self._is_known(publication, check.identity, batch):
                return
            ticket = batch.add(self._broker.flow)
            published = Published(
                ticket,
                self._link,
                publication.content,
                check.identity,
                self._principal.name,
                publication.headers,
                publication.expires,
                foreseen,
                self._broker.depth_of_scope(publication.scope),
                check.to,
            )
            await self._publish_when_room(published, may_wait=may_wait)
        except FullError as error:
            if may_wait or not self._broker.config.store.is_held_back:
                self._refuse(batch, error, ticket)
            else:
                batch.held = str(error)
                batch.refuse("full", batch.held, ticket)
        except TwigcastError as error:
            self._refuse(batch, error, ticket)

    def _refuse(self, batch: Batch, error: TwigcastError, ticket: int = 0) -> None:
        code = code_of(error)
        self._broker.metrics.refused(code)
        batch.refuse(code, str(error), ticket)

    async def _publish_when_room(self, published: Published, *, may_wait: bool) -> None:
        """Hand a document on; where publishers are held back, not before there is room for it."""
        flow = self._broker.flow
        while True:
            try:
                return flow.publish(published)
            except FullError as error:
                if await flow.make_room(error):
                    continue
                if not may_wait or not self._broker.config.store.is_held_back:
                    raise
                with flow.holding():
                    await asyncio.sleep(RETRY)

    def _checked(self, publication: Publication) -> _Checked | TwigcastError:
        """What a publication is in the whole network, or why it may not be published."""
        try:
            return _Checked(self._check(publication), self._check_destinations(publication))
        except TwigcastError as error:
            return error

    def _check(self, publication: Publication) -> str:
        """Refuse what may not be published; the publication's id in the whole network."""
        broker = self._broker
        broker.access.require(self._principal, Permission.PUBLISH)
        content = publication.content
        if len(content) > broker.config.limits.document_bytes:
            raise RefusedError(
                f"the document has {len(content):,} bytes, more than the "
                f"{broker.config.limits.document_bytes:,} that this broker takes "
                "(limits.document_bytes)",
                "too-large",
            )
        check_headers(publication.headers)
        if not 0 <= publication.expires < 2**63:
            raise RefusedError("a document expires at a time after 1970, or never", "invalid")
        broker.access.check_document(self._principal, content)
        if not publication.id:
            return ""
        if len(publication.id) > _LONGEST_ID:
            raise RefusedError(
                f"the id of a publication has at most {_LONGEST_ID:,} characters", "invalid"
            )
        if not publication.id.isprintable():
            raise RefusedError("the id of a publication has printable characters", "invalid")
        # Nobody can use up the ids of others.
        return f"{self._principal.name}\n{publication.id}"

    def _check_destinations(self, publication: Publication) -> tuple[Destination, ...]:
        """Whom a document is addressed to; raises RefusedError and AccessError."""
        if not publication.to:
            return ()
        to = read_destinations(publication.to)
        self._broker.access.check_destinations(self._principal, map(str, to))
        return to

    async def _is_known(self, publication: Publication, identity: str, batch: Batch) -> bool:
        """Whether the store has a document under a publication's id; it is answered then."""
        store = self._broker.store
        known = None if store is None else await store.find_publication(identity)
        if known is None:
            return False
        if known[1] != digest_of(publication.content):
            raise RefusedError(OTHER_CONTENT, "taken")
        ticket = batch.add(self._broker.flow)
        self._broker.flow.answer(Answer(ticket, known[0]))
        return True
