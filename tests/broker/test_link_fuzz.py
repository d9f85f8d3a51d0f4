"""Neighbours that say anything at all: a broker refuses, or follows, and goes on serving."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_callers import calling
from live_brokers import one_broker, until

from twigcast.broker import BrokerConfig, RunningBroker, StoreConfig
from twigcast.broker.broker import Broker, Expression
from twigcast.broker.link_codec import LinkProtocolError, encode_frame
from twigcast.broker.link_connection import LinkConnection
from twigcast.broker.spill_queue import SpillQueue
from twigcast.client import connect
from twigcast.delivery.events import Published
from twigcast.wire import PROTOCOL, messages, method

_BROKERS = ["x", "y", "here", "north/x", "north/y", "north/oslo/b", "north/here"]
_LEAVES = ["north/oslo/@b", "north/@x", "north/@here", "south/@s", "^north/x", "^north/here", "^x"]
_NAMES = st.sampled_from([*_BROKERS, *_LEAVES, "", "^", "n" * 300, "client:1", "client/1", "*"])
_DEPTHS = st.sampled_from([0, 0, 1, 1, 2, 2**32 - 1])
_TEXTS = st.sampled_from(["/a", "//b[c>3]", "a[", "", "Q{urn:x}a", "/a/b", "*"])
_NUMBERS = st.integers(0, 2**64 - 1) | st.integers(0, 3)

_STATES = st.builds(
    lambda broker, incarnation, version, links, leaves: messages.LinkState(
        broker=broker, incarnation=incarnation, version=version, links=links, leaves=leaves
    ),
    _NAMES,
    _NUMBERS,
    _NUMBERS,
    st.lists(
        st.builds(
            lambda broker, cost: messages.Neighbour(broker=broker, cost=cost), _NAMES, st.floats()
        ),
        max_size=3,
    ),
    st.lists(_NAMES, max_size=2),
)
_KEYS = st.builds(
    lambda origin, client, id_: messages.AdvertisementKey(origin=origin, client=client, id=id_),
    _NAMES,
    _NAMES,
    _NAMES,
)
_ADVERTISEMENTS = st.one_of(
    st.builds(lambda key: messages.AdvertisementOf(key=key, anything=True), _KEYS),
    st.builds(lambda key, path: messages.AdvertisementOf(key=key, path=path), _KEYS, _TEXTS),
    st.builds(
        lambda key, text: messages.AdvertisementOf(key=key, dtd=messages.Dtd(text=text)),
        _KEYS,
        st.sampled_from(["<!ELEMENT a EMPTY>", "<!", "", "<!ELEMENT a (b)>"]),
    ),
)
_UPDATES = st.builds(
    lambda states, advertise, unadvertise, serve, changes, depth: messages.LinkItem(
        update=messages.Update(
            states=states,
            advertise=advertise,
            unadvertise=unadvertise,
            serve=serve,
            changes=changes,
            depth=depth,
        )
    ),
    st.lists(_STATES, max_size=3),
    st.lists(_ADVERTISEMENTS, max_size=2),
    st.lists(_KEYS, max_size=2),
    st.lists(
        st.builds(
            lambda channel, trees: messages.Serve(channel=channel, trees=trees),
            _NUMBERS,
            st.lists(_NAMES, max_size=3),
        ),
        max_size=3,
    ),
    st.lists(
        st.builds(
            lambda channel, forward, withdraw: messages.ChannelChange(
                channel=channel, forward=forward, withdraw=withdraw
            ),
            _NUMBERS,
            st.lists(_TEXTS, max_size=3),
            st.lists(_TEXTS, max_size=3),
        ),
        max_size=3,
    ),
    _DEPTHS,
)
_DOCUMENTS = st.builds(
    lambda origin, incarnation, number, tree, content, destinations, published: (
        messages.RoutedDocument(
            id=messages.DocumentId(origin=origin, incarnation=incarnation, number=number),
            tree=tree,
            content=content,
            destinations=destinations,
            published=published,
        )
    ),
    _NAMES,
    _NUMBERS,
    _NUMBERS,
    _NAMES,
    st.sampled_from([b"<a/>", b"<a>", b"", b"\xff\xfe", b"<b><c>4</c></b>"]),
    st.lists(
        st.builds(
            lambda home, settled: messages.Destination(home=home, settled=settled),
            _NAMES,
            _NUMBERS,
        ),
        max_size=2,
    ),
    st.integers(-(2**63), 2**63 - 1),
)
_HOMES = st.builds(
    lambda home, epoch, version, base, forward, withdraw, more: messages.LinkItem(
        home_state=messages.HomeState(
            home=home,
            epoch=epoch,
            version=version,
            base=base,
            forward=forward,
            withdraw=withdraw,
            more=more,
        )
    ),
    _NAMES,
    _NUMBERS,
    _NUMBERS,
    _NUMBERS,
    st.lists(_TEXTS, max_size=3),
    st.lists(_TEXTS, max_size=3),
    st.booleans(),
)
_RECEIPTS = st.builds(
    lambda home, incarnation, numbers, number: messages.Receipt(
        home=home,
        stored=[messages.DocumentNumbers(incarnation=incarnation, numbers=numbers)],
        refused=[messages.RefusedDocument(incarnation=incarnation, number=number, reason="no")],
    ),
    _NAMES,
    _NUMBERS,
    st.lists(_NUMBERS, max_size=3),
    _NUMBERS,
)
_CONTENTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    _DOCUMENTS.map(lambda document: {"document": document}),
    _RECEIPTS.map(lambda receipt: {"receipt": receipt}),
    st.builds(
        lambda epoch, version, number: {
            "home_ask": messages.HomeAsk(epoch=epoch, version=version, round=number)
        },
        _NUMBERS,
        _NUMBERS,
        _NUMBERS,
    ),
    _NUMBERS.map(lambda number: {"home_known": messages.HomeKnown(round=number)}),
)
_ADDRESSED = st.builds(
    lambda to, sender, hops, content: messages.LinkItem(
        addressed=messages.Addressed(to=to, sender=sender, hops=hops, **content)
    ),
    _NAMES,
    _NAMES,
    st.integers(0, 2**32 - 1),
    _CONTENTS,
)
_ITEMS = st.one_of(
    _UPDATES,
    _HOMES,
    _ADDRESSED,
    _DOCUMENTS.map(lambda document: messages.LinkItem(document=document)),
    st.just(messages.LinkItem(heartbeat=messages.Heartbeat())),
    st.just(messages.LinkItem(refused="no")),
    st.just(messages.LinkItem()),
    st.just(messages.LinkItem(hello=messages.LinkHello(broker="x"))),
)


class _NoStream:
    async def read(self) -> bytes | None:
        return None

    async def write(self, data: bytes) -> None:
        """Nobody hears it."""


class _Hostile:
    """A link to a neighbour that may say anything; it comes up again when it is cut."""

    def __init__(self, broker: Broker, name: str, gateway: str = "") -> None:
        self._broker = broker
        self._hello = messages.LinkHello(
            protocol=PROTOCOL, broker=name, gateway=gateway, strategy="covering", cost=1
        )
        self._up()

    def _up(self) -> None:
        self.link = link = LinkConnection(_NoStream(), SpillQueue(), heartbeat=1, suspect_after=3)
        self._broker.links.take_hello(self._hello, link)
        link.is_up = True
        self._broker.links.up[link.name] = link
        self._broker.neighbours.link_up(link)

    def down(self) -> None:
        self.link.is_up = False
        del self._broker.links.up[self.link.name]
        self._broker.neighbours.link_down(self.link)
        self.link.documents.close()

    async def say(self, item: messages.LinkItem) -> None:
        try:
            # As it would come over the wire.
            said = messages.LinkItem.FromString(item.SerializeToString())
            answer = self._broker.neighbours.handle(said, self.link)
            if answer is not None:
                await answer
        except LinkProtocolError:
            self.down()
            self._up()


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(st.tuples(st.booleans(), _ITEMS), max_size=12), st.booleans())
def test_whatever_neighbours_say_is_followed_or_refused(
    items: list[tuple[bool, messages.LinkItem]], is_gateway: bool
) -> None:
    async def scenario() -> None:
        unit: dict[str, Any] = {"unit": "north", "gateway": True} if is_gateway else {}
        config = BrokerConfig(name="here", store=StoreConfig(Path("unused")), **unit)
        broker = Broker(config, config.name_at(), None)
        broker.open_publisher("client:1")
        outside = _Hostile(broker, "x")
        inside = _Hostile(broker, "north/x", "north") if is_gateway else _Hostile(broker, "y")
        for is_inside, item in items:
            await (inside if is_inside else outside).say(item)
        inside.down()
        outside.down()
        # What the neighbour wanted, and what it said that others want, is apart from our own.
        patterns = await broker.parse_expressions({"": Expression("/own")})
        wanted = await broker.subscribe("client:1/1", 1, patterns, 8)
        broker.flow.publish(Published(0, "client:1", b"<own/>"))
        assert len(wanted.queue) == 1
        broker.unsubscribe(wanted)

    asyncio.run(scenario())


async def still_serves(running: RunningBroker) -> None:
    async with connect(running.address) as client:
        everything = client.subscribe("/a")
        await everything.ready()
        await client.publish("<a/>")
        await asyncio.wait_for(anext(everything), 30)


def test_a_recorded_call_is_not_a_link() -> None:
    async def scenario() -> None:
        async with one_broker() as running:
            async with calling(running) as (caller, _):
                await caller.link()
                await until(lambda: "x" in running.broker.links.up)
                recorded = caller.frames
            await until(lambda: not running.broker.links.up)
            async with calling(running) as (caller, call):
                assert isinstance(call, grpc.aio.StreamStreamCall)
                for frame in recorded:
                    await call.write(frame)
                await caller.hear()  # its hello
                with pytest.raises(grpc.aio.AioRpcError):
                    await caller.hear()
                assert await call.code() is grpc.StatusCode.FAILED_PRECONDITION
                assert "recording" in (await call.details() or "")
            assert not running.broker.links.up
            await still_serves(running)

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["replayed", "skipped", "damaged", "garbage"])
def test_a_link_with_a_wrong_frame_is_cut(kind: str) -> None:
    async def scenario() -> None:
        async with one_broker() as running, calling(running) as (caller, call):
            assert isinstance(call, grpc.aio.StreamStreamCall)
            await caller.link()
            await until(lambda: "x" in running.broker.links.up)
            if kind == "replayed":
                await call.write(caller.frames[-1])
            elif kind == "skipped":
                caller.sequence += 1
                await caller.say(messages.LinkItem(heartbeat=messages.Heartbeat()))
            elif kind == "damaged":
                frame = bytearray(encode_frame(3, [b"\x12\x00"]))
                frame[-1] ^= 1
                await call.write(bytes(frame))
            else:
                await call.write(b"\xff" * 100)
            await until(lambda: not running.broker.links.up)
            await still_serves(running)

    asyncio.run(scenario())


@given(st.lists(st.binary(max_size=60), max_size=4))
@settings(max_examples=60)
def test_clients_that_send_garbage_are_cut_off(frames: list[bytes]) -> None:
    async def scenario() -> None:
        async with one_broker() as running:
            async with grpc.aio.insecure_channel(running.address) as channel:
                calls: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
                calls = channel.stream_stream(method("Connect"))
                call = calls()
                hello = messages.Hello(protocol=PROTOCOL)
                await call.write(messages.ClientFrame(hello=hello).SerializeToString())
                try:
                    for frame in frames:
                        await call.write(frame)
                    await call.done_writing()
                    while isinstance(await call.read(), bytes):
                        pass
                except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    pass
                code, details = await call.code(), await call.details()
                # gRPC at this end says so of a write to a call that has just ended.
                if details != "Internal error from Core":
                    assert code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT), details
            await still_serves(running)

    asyncio.run(scenario())
