"""The links of a broker: calling neighbours, being called, and calling again.

Either side of a link may call the other.  The caller says who it is, the called answers with its
own name and the caller's nonce, the caller repeats the nonce of the called; then the link is up at
both ends.  Two brokers have one link at most.  If they call each other at the same time, the call
of the one whose name comes first stays.  A neighbour that calls with a later incarnation has been
started anew: the link to its former life ends.

A link belongs to the units in which both ends take part (:mod:`twigcast.hierarchy`).  Where there
is none, neither side begins it, and each has the reason with the remedy.

A caller that does not get through, or whose link ends, tries again after a while that doubles up to
some seconds, with some chance in it so that many callers do not come at once.  A neighbour that is
a group of doors has several addresses, which are tried in turn.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING, Final, NoReturn

import grpc
import grpc.aio

from twigcast.broker.call_stream import CallStream, LinkedError
from twigcast.broker.credentials import channel_credentials
from twigcast.broker.link_codec import LinkProtocolError, decode_name
from twigcast.broker.link_config import LinkConfig
from twigcast.broker.link_connection import LinkConnection, Stream, SuspectedError
from twigcast.broker.log_handler import one_line
from twigcast.broker.peers import grpc_peer
from twigcast.broker.spill_queue import SpillQueue
from twigcast.errors import AccessError, ConfigError, OverlayError
from twigcast.hierarchy import (
    Speaker,
    require_room,
    shared_units,
    unit_at,
    units_around,
    units_of,
)
from twigcast.wire import PROTOCOL, channel_options, messages, method

if TYPE_CHECKING:
    from twigcast.broker.broker import Broker

_log = logging.getLogger(__name__)

_FIRST_WAIT: Final = 0.05
_STOPS: Final = "the broker stops"
_LONGEST_WAIT: Final = 5.0
_LINK_MEMORY: Final = 4 * 1024 * 1024
_HEARD: Final = 1.0
"""How long a caller that gives up waits until the called has the reason."""
_MOST_REFUSED: Final = 100
_REFUSED_LATELY: Final = 60.0
_AGAIN: Final = 600.0
"""After how long without a call a refused caller is logged anew."""


class Links:
    """All links of one broker, by the names of the neighbours."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.up: dict[str, LinkConnection] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.problems: dict[str, str] = {}
        """Why a neighbour that is to be called is not linked, by address."""
        self._refused: dict[tuple[str, str], float] = {}
        """When a caller was last refused, by whence it called and why; the latest come last."""
        self._lost: set[str] = set()
        """The neighbours whose links have ended."""
        self._called: set[str] = set()
        """The addresses that were called, with or without success."""
        self._reached: set[str] = set()
        """Those of them at which there is a broker that this one knows."""
        self._has_called = asyncio.Event()

    def start(self) -> None:
        """Begin to call the neighbours that the configuration names."""
        self._tasks = [
            asyncio.create_task(self._keep_calling(each), name=f"link {each.address}")
            for each in self._broker.config.links
        ]

    async def close(self) -> None:
        """End all links, and call nobody any more."""
        for task in self._tasks:
            task.cancel()
        for link in list(self.up.values()):
            link.close(_STOPS)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def uncalled(self) -> list[str]:
        """The addresses to be called that were not called yet, with or without success."""
        return [each for each in self._addresses() if each not in self._called]

    @property
    def unknown(self) -> list[str]:
        """The addresses to be called at which no broker was found yet."""
        return [each for each in self._addresses() if each not in self._reached]

    def _addresses(self) -> list[str]:
        return [each.address for each in self._broker.config.links]

    async def called(self) -> None:
        """Wait until all addresses were called."""
        while self.uncalled:
            self._has_called.clear()
            await self._has_called.wait()

    def _note_called(self, address: str, *, is_reached: bool) -> None:
        self._called.add(address)
        if is_reached:
            self._reached.add(address)
            self.problems.pop(address, None)
        self._has_called.set()

    # --- calling ----------------------------------------------------------------------------------

    async def _keep_calling(self, target: LinkConfig) -> None:
        wait = _FIRST_WAIT
        for address in cycle(map(str, target.addresses)):
            began = asyncio.get_running_loop().time()
            is_linked = False
            try:
                await self._call(target, address)
                reason = "the neighbour ended the link"
            except LinkedError as error:
                is_linked, reason = True, str(error)
            except (LinkProtocolError, SuspectedError, ConfigError) as error:
                reason = str(error)
            except TimeoutError:
                reason = "the neighbour does not answer"
            except (OSError, asyncio.InvalidStateError, grpc.aio.UsageError) as error:
                reason = str(error)  # the call ended while something was written to it
            except Exception:
                # Whatever it is, a broker goes on calling its neighbours.
                _log.exception("link to %s", target.address)
                reason = "an error of this broker's, which its log has"
            if not is_linked:
                if self.problems.get(target.address) != reason:
                    _log.warning("link to %s: %s; calling again", target.address, reason)
                self.problems[target.address] = reason
            self._note_called(target.address, is_reached=is_linked)
            if asyncio.get_running_loop().time() - began > 2 * _LONGEST_WAIT:
                wait = _FIRST_WAIT
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _call(self, target: LinkConfig, address: str) -> None:
        config = self._broker.config
        options: list[tuple[str, int | str]] = [
            *channel_options(config.limits.message_bytes),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if target.server_name:
            options.append(("grpc.ssl_target_name_override", target.server_name))
        credentials = channel_credentials(config)
        channel = (
            grpc.aio.insecure_channel(address, options)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options)
        )
        metadata = [("authorization", f"Bearer {target.token}")] if target.token else []
        async with channel:
            calling: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
            calling = channel.stream_stream(method("Link"))
            call = calling(metadata=metadata)
            try:
                link = self._new_link(CallStream(call), target.cost)
                link.address = address
                nonce = secrets.token_bytes(16)
                await link.send_now(self._hello(link, nonce))
                answer = await self._receive_hello(link)
                if answer.answered != nonce:
                    raise LinkProtocolError("the answer to our call is a recording")
                if target.broker not in ("", link.name):
                    await self._give_up(
                        link,
                        f"{link.name!r} answers at {address}, not {target.broker!r}: correct "
                        "address or broker of the link",
                    )
                self._require_may_begin(link)
                await link.send_now(self._hello(link, b"", answer.nonce))
                await self._serve(link, target.address)
            finally:
                call.cancel()

    async def _give_up(self, link: LinkConnection, reason: str) -> NoReturn:
        """End a call that was answered, so that the called knows why; raises the reason."""
        await link.send_now(messages.LinkItem(refused=reason).SerializeToString())
        with suppress(LinkProtocolError, TimeoutError):
            async with asyncio.timeout(_HEARD):
                await link.receive()
        raise LinkProtocolError(reason)

    # --- being called -----------------------------------------------------------------------------

    async def accept(
        self, stream: Stream, address: str, require_link: Callable[[str], None]
    ) -> None:
        """Serve a neighbour that calls, until the link ends.

        ``require_link`` raises AccessError if the caller may not link under that name.  Raises
        LinkProtocolError, SuspectedError or TimeoutError as the link ends.
        """
        link = self._new_link(stream, 1.0)
        link.address = address
        link.is_called = True
        try:
            hello = await self._receive_hello(link)
            require_link(link.name)
            link.cost = hello.cost
            self._require_may_begin(link)
            nonce = secrets.token_bytes(16)
            await link.send_now(self._hello(link, nonce, hello.nonce))
            self._require_answered(await link.receive(), nonce, link)
            self._require_may_begin(link)
        except LinkedError:
            raise
        except (AccessError, LinkProtocolError) as error:
            self.note_refused(address, str(error))
            raise
        await self._serve(link, "")

    def _require_answered(
        self, items: list[messages.LinkItem] | None, nonce: bytes, link: LinkConnection
    ) -> None:
        """Refuse a call that does not go on with our nonce."""
        if not items:
            raise LinkProtocolError(f"{link.name!r} gives up, and does not say why")
        if items[0].WhichOneof("item") == "refused":
            raise LinkProtocolError(f"{link.name!r} gives up: {items[0].refused}")
        if items[0].WhichOneof("item") != "hello" or items[0].hello.answered != nonce:
            raise LinkProtocolError("the call is a recording")

    def note_refused(self, peer: str, reason: str) -> None:
        """Report a caller that is refused; once, though it calls again and again."""
        now = time.monotonic()
        key = grpc_peer(peer), one_line(reason)
        if now - self._refused.pop(key, -_AGAIN) >= _AGAIN:
            _log.warning("a link from %s is refused: %s", *key)
        self._refused[key] = now
        if len(self._refused) > _MOST_REFUSED:
            del self._refused[next(iter(self._refused))]

    def refused_lately(self) -> dict[str, str]:
        """Why callers were refused, by whence they called."""
        since = time.monotonic() - _REFUSED_LATELY
        return {peer: reason for (peer, reason), at in self._refused.items() if at > since}

    # --- both -------------------------------------------------------------------------------------

    def _new_link(self, stream: Stream, cost: float) -> LinkConnection:
        config = self._broker.config
        link = LinkConnection(
            stream,
            SpillQueue(memory_bytes=_LINK_MEMORY, disk_bytes=config.limits.queue_disk),
            heartbeat=config.heartbeat.interval,
            suspect_after=config.heartbeat.suspect_after,
        )
        link.cost = cost
        return link

    def _hello(self, link: LinkConnection, nonce: bytes, answered: bytes = b"") -> bytes:
        hello = messages.LinkHello(
            protocol=PROTOCOL,
            broker=self._broker.name,
            incarnation=self._broker.incarnation,
            cost=link.cost,
            strategy=self._broker.config.strategy,
            nonce=nonce,
            answered=answered,
            message_bytes=self._broker.config.limits.message_bytes,
            gateway=self._broker.config.gateway_of or "",
        )
        return messages.LinkItem(hello=hello).SerializeToString()

    async def _receive_hello(self, link: LinkConnection) -> messages.LinkHello:
        items = await link.receive()
        if not items or items[0].WhichOneof("item") != "hello":
            raise LinkProtocolError("a link begins with a hello")
        self.take_hello(items[0].hello, link)
        return items[0].hello

    def take_hello(self, hello: messages.LinkHello, link: LinkConnection) -> None:
        """Note who a neighbour is; raises LinkProtocolError if it cannot be one."""
        if hello.protocol != PROTOCOL:
            raise LinkProtocolError(
                f"the neighbour speaks version {hello.protocol} of the protocol, this broker "
                f"version {PROTOCOL}: run the same release of Twigcast on both"
            )
        name = decode_name(hello.broker)
        if name == self._broker.name:
            raise LinkProtocolError(
                f"both brokers are called {name!r}: give each a name of its own"
            )
        if hello.strategy != self._broker.config.strategy:
            raise LinkProtocolError(
                f"{name!r} spreads subscriptions by {hello.strategy!r}, this broker by "
                f"{self._broker.config.strategy!r}: all brokers of a network need the same strategy"
            )
        if not 0 < hello.cost < float("inf"):
            raise LinkProtocolError(f"the cost of a link is above 0, not {hello.cost}")
        link.name = name
        link.gateway = hello.gateway
        link.speaker = self._speaker(name, hello.gateway or None)
        link.incarnation = hello.incarnation
        link.largest = min(hello.message_bytes, self._broker.config.limits.message_bytes)

    def _speaker(self, name: str, gateway: str | None) -> Speaker:
        """What a neighbour may say; raises LinkProtocolError if no unit has the link."""
        ours = self._broker.name
        for broker, other in ((ours, name), (name, ours)):
            if broker in units_around(other):
                raise LinkProtocolError(
                    f"{broker!r} is a broker, and the unit that {other!r} is in: give the broker "
                    "another name"
                )
        try:
            shared = shared_units({ours: self._broker.config.gateway_of, name: gateway})
            units = units_of(name, gateway)
            for level in self._broker.router.levels:
                if unit_at(ours, level.depth) in shared:
                    require_room(level, name)
        except OverlayError as error:
            raise LinkProtocolError(str(error)) from None
        return Speaker(name, units, shared, self._broker.router.strategy.towards)

    def _require_may_begin(self, link: LinkConnection) -> None:
        if not self._may_begin(link):
            raise LinkedError(f"{link.name!r} is linked to {self._broker.name!r} already")

    def _may_begin(self, link: LinkConnection) -> bool:
        """Whether a link may come up beside, or instead of, what is there."""
        other = self.up.get(link.name)
        if other is None or link.incarnation != other.incarnation:
            return other is None or link.incarnation > other.incarnation
        if link.is_called == other.is_called:
            # Who calls again knows that the link has ended, even if this side does not yet.
            return link.is_called
        ours, theirs = self._broker.name, link.name
        return theirs < ours if link.is_called else ours < theirs

    async def _serve(self, link: LinkConnection, address: str) -> None:
        if link.name in self.up:
            self._end(self.up[link.name], "the neighbour has called anew")
        self.up[link.name] = link
        is_again = link.name in self._lost or address in self.problems
        if address:
            self._note_called(address, is_reached=True)
        link.is_up = True
        reason = ""
        try:
            self._broker.neighbours.link_up(link)
            level = logging.WARNING if is_again else logging.INFO
            _log.log(level, "the link to %s is up%s", link.name, " again" if is_again else "")
            if problem := self.size_problem(link):
                _log.warning("%s", problem)
            await link.serve(self._broker.neighbours.handle)
            reason = link.reason or "the neighbour ended it"
        except asyncio.CancelledError:
            reason = "the connection is lost"
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise
        finally:
            self._end(link, reason)
            link.documents.close()

    def size_problem(self, link: LinkConnection) -> str:
        """Which documents of ours a neighbour does not take; empty if it takes all."""
        ours = self._broker.config.limits.message_bytes
        if link.largest >= ours:
            return ""
        return (
            f"{link.name} takes documents of up to {link.largest:,} bytes, this broker of up to "
            f"{ours:,}: what is larger may not cross the link; set limits.message_bytes alike at "
            "both"
        )

    def _end(self, link: LinkConnection, reason: str) -> None:
        if link.is_up:
            link.is_up = False
            del self.up[link.name]
            link.close(reason)
            self._lost.add(link.name)
            self._broker.neighbours.link_down(link)
            level = logging.INFO if reason == _STOPS else logging.WARNING
            _log.log(level, "the link to %s is down: %s", link.name, reason)
