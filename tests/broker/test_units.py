"""Brokers in units: who is linked with whom, and who may speak for whom."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import grpc.aio
import pytest
from certificates import make_authority, make_certificate
from link_callers import calling
from live_brokers import PATIENCE, QUICK, until
from live_units import site

from twigcast.broker import (
    BrokerConfig,
    LinkConfig,
    Permission,
    PrincipalConfig,
    StoreConfig,
    start_server,
    status,
)
from twigcast.broker.broker import Broker
from twigcast.broker.client_sessions import ClientSessions
from twigcast.broker.config import RuleConfig, TlsConfig
from twigcast.broker.debts_codec import Known, read_debts
from twigcast.broker.http.gauges import Gauges
from twigcast.broker.http.models import Level
from twigcast.client import connect
from twigcast.delivery import Debt
from twigcast.hierarchy import parts_below
from twigcast.routing import LinkKind, LinkState, LinkUp
from twigcast.wire import messages


def test_brokers_know_the_units_in_which_they_take_part(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("north/b", calls="north/a")
            await brokers.start("c", calls="north/a")
            inside, outside = ["north/a", "north/b"], ["c", "north/a"]
            await until(lambda: brokers.known("north/a") == [inside, outside])
            await until(lambda: brokers.known("north/b") == [inside])
            await until(lambda: brokers.known("c") == [outside])
            documents = brokers.running["c"].broker.router.documents
            await until(lambda: documents.view.leaves == {"north/@a": ["north/a"]})
            await brokers.running["north/b"].close()
            await until(lambda: brokers.links("north/a") == ["c"])

    asyncio.run(scenario())


def test_the_status_of_a_gateway_has_a_level_for_each_unit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("north/b", "north", calls="north/a")
            await brokers.start("south/c", "south", calls="north/a")
            broker = brokers.running["north/a"].broker
            above = broker.router.levels[1]
            three = ["north/a", "north/b", "south/c"]
            await until(lambda: above.documents.view.brokers == three)
            await until(lambda: list(map(len, parts_below(above).values())) == [1, 1])
            bits = {"north": {"north/a": 0, "north/b": 1}, "": {"north": 0, "south": 1}}
            await until(lambda: status.bits(broker) == "0.0")
            said = {level["unit"]: level["bits"] for level in status.levels(broker)}
            assert said == bits
            below = brokers.running["north/b"].broker
            await until(lambda: status.bits(below) == "0.1")
            inside, outside = status.levels(broker)
            for each in (inside, outside):
                Level.model_validate(each)
                del each["bits"]
            linked = {"north/a": {"north/b": 1.0}, "north/b": {"north/a": 1.0}}
            nothing = {"out": 0, "into": 0, "in_vain": 0, "turned_away": 0}
            assert inside == {
                "unit": "north",
                "topology": linked,
                "gateways": ["north/a", "north/b"],
                "units": {},
                "crossings": nothing,
            }
            crossing = {"north/a": {"north/b": 1.0, "south/c": 1.0}, "south/c": {"north/a": 1.0}}
            assert outside == {
                "unit": "",
                "topology": linked | crossing,
                "gateways": [],
                "units": {
                    "north": [{"gateways": ["north/a", "north/b"], "acting": {"south": "north/a"}}],
                    "south": [{"gateways": ["south/c"], "acting": {"north": "south/c"}}],
                },
                "crossings": None,
            }
            assert status.topology(broker) == linked | crossing

    asyncio.run(scenario())


def test_a_gateway_has_the_budget_of_its_configuration(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = StoreConfig(tmp_path)
        config = BrokerConfig(name="a", unit="north", gateway=True, most_patterns=3, store=store)
        running = await start_server(replace(config, listen="127.0.0.1:0"))
        try:
            levels = running.broker.router.levels
            assert [level.strategy.most_patterns for level in levels] == [3, 3]
            assert levels[0].strategy.name == "covering"
        finally:
            await running.close()

    asyncio.run(scenario())


def test_a_link_that_no_unit_has_is_refused_at_both_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    remedy = "make 'north/b' a gateway of 'north', or link others"

    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("c")
            await brokers.start("north/b", calls="c")
            assert remedy in await brokers.problem("north/b")
            assert brokers.links("c") == brokers.links("north/b") == []

    asyncio.run(scenario())
    said = [each.getMessage() for each in caplog.records if remedy in each.getMessage()]
    assert any(each.startswith("a link from 127.0.0.1 is refused: ") for each in said)
    assert any(each.startswith("link to 127.0.0.1") for each in said)


def test_a_broker_that_is_called_like_a_unit_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north")
            await brokers.start("north/b", "north", calls="north")
            assert "give the broker another name" in await brokers.problem("north/b")

    asyncio.run(scenario())


def test_a_thirty_third_member_is_refused_at_both_ends(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            level = brokers.running["north/a"].broker.router.levels[0]
            names = [f"north/m{number}" for number in range(31)]
            for each in names:
                level.handle(LinkUp(LinkKind.BROKER, 1.0, (1,)), each)
            links = (("north/a", 1.0),)
            level.learn([LinkState(each, 1, 1, links) for each in names], 1)
            await brokers.start("north/z", calls="north/a")
            assert "'north/z' would be one more than the 32" in await brokers.problem("north/z")
            assert "north/z" not in brokers.links("north/a")

    asyncio.run(scenario())


def test_who_answers_under_another_name_than_expected_is_not_linked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("c", calls="north/a", broker="south/a")
            assert "'north/a' answers at 127.0.0.1" in await brokers.problem("c")
            await brokers.start("d", calls="north/a", broker="north/a")
            await until(lambda: brokers.links("north/a") == ["d"])
            assert brokers.links("c") == []

    asyncio.run(scenario())


def update(depth: int, *states: messages.LinkState) -> messages.LinkItem:
    return messages.LinkItem(update=messages.Update(depth=depth, states=states))


def state(broker: str, *leaves: str, links: tuple[str, ...] = ()) -> messages.LinkState:
    return messages.LinkState(
        broker=broker,
        incarnation=1,
        version=9,
        links=[messages.Neighbour(broker=each, cost=1) for each in links],
        leaves=leaves,
    )


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (update(1, state("north/b")), "speaks of a unit of depth 1"),
        (update(0, state("south/c", links=("^north/a",))), "a path of up to 4 names"),
        (update(0, state("south/d", "north/@a")), "'south/d' stands for 'north/@a'"),
        (update(0, state("south/c")), ""),
        (update(0, state("south/c", "south/@c"), state("east/d", "east/@d")), ""),
        (update(0, state("south/c", "^south/c")), "'south/c' stands for '^south/c'"),
        (
            messages.LinkItem(
                update=messages.Update(
                    advertise=[
                        messages.AdvertisementOf(
                            key=messages.AdvertisementKey(origin="north/b"), anything=True
                        )
                    ]
                )
            ),
            "'north/b' advertises in the whole network",
        ),
    ],
)
def test_a_gateway_of_another_unit_that_speaks_of_this_one_is_cut_off(
    said: messages.LinkItem, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    caplog.set_level(logging.WARNING, "twigcast")

    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            running = brokers.running["north/a"]
            before = [level.link_state for level in running.broker.router.levels]
            async with calling(running) as (caller, _):
                await caller.link("south/c", "south")
                await until(lambda: brokers.links("north/a") == ["south/c"])
                await caller.say(said, messages.LinkItem(refused="that was all"))
                await until(lambda: "that was all" in caplog.text or not brokers.links("north/a"))
                assert bool(reason) == (not brokers.links("north/a"))
            await until(lambda: not brokers.links("north/a"))
            inside = running.broker.router.levels[0]
            assert inside.link_state == before[0]
            assert brokers.known("north/a")[0] == ["north/a"]
        assert reason in caplog.text

    asyncio.run(scenario())


def test_a_neighbour_without_a_unit_in_common_gets_the_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            for name, gateway, reason in (
                ("south/c", "", "make 'south/c' a gateway of 'south'"),
                ("south/c", "north", "'south/c' is not in the unit 'north'"),
                ("north", "", "give the broker another name"),
                ("a/b/c/d/e", "", "a path of up to 4 names"),
                ("north/@a", "", "a path of up to 4 names"),
                ("^north/a", "", "a path of up to 4 names"),
                ("north/a", "north", "both brokers are called 'north/a'"),
            ):
                async with calling(brokers.running["north/a"]) as (caller, call):
                    assert isinstance(call, grpc.aio.StreamStreamCall)
                    with pytest.raises(grpc.aio.AioRpcError):
                        await caller.link(name, gateway)
                    assert reason in (await call.details() or "")

    asyncio.run(scenario())


def test_a_gateway_links_under_its_own_name_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One authority; each site has a certificate of its own, and the principal that it shows."""
    authority = make_authority(tmp_path)
    for name in ("north-a", "south-c"):
        make_certificate(tmp_path, authority, name)

    def tls(name: str) -> TlsConfig:
        files = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        return TlsConfig(*files, tmp_path / "authority.pem", require_client_certificate=True)

    async def scenario() -> None:
        north = BrokerConfig(
            name="a",
            unit="north",
            gateway=True,
            listen="127.0.0.1:0",
            heartbeat=QUICK,
            store=StoreConfig(tmp_path / "north"),
            tls=tls("north-a"),
            principals=(PrincipalConfig("south/c", certificate="south-c"),),
            rules=(RuleConfig("south/c", frozenset({Permission.LINK})),),
        )
        async with AsyncExitStack() as stack:
            running = await start_server(north)
            stack.push_async_callback(running.close)
            for unit, name in (("south", "d"), ("east", "c"), ("north", "b"), ("south", "c")):
                south = BrokerConfig(
                    name=name,
                    unit=unit,
                    gateway=True,
                    listen="127.0.0.1:0",
                    heartbeat=QUICK,
                    store=StoreConfig(tmp_path / f"{unit}+{name}"),
                    tls=tls("south-c"),
                    links=(LinkConfig(running.address, broker="north/a"),),
                )
                caller = await start_server(south)
                stack.push_async_callback(caller.close)
                if (unit, name) == ("south", "c"):
                    await until(lambda: list(running.broker.links.up) == ["south/c"])
                    continue
                problems = caller.broker.links.problems
                await until(partial(bool, problems))
                said = f"south/c may not link as the broker '{unit}/{name}'"
                assert said in next(iter(problems.values()))
                assert f"a link from 127.0.0.1 is refused: {said}" in caplog.text

    asyncio.run(scenario())


def document(origin: str, number: int, tree: str = "", depth: int = 0) -> messages.LinkItem:
    identity = messages.DocumentId(origin=origin, incarnation=1, number=number)
    content = f"<a>{number}</a>".encode()
    return messages.LinkItem(
        document=messages.RoutedDocument(id=identity, tree=tree, content=content, depth=depth)
    )


def test_a_document_of_a_broker_inside_does_not_come_in_from_outside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            await brokers.start("north/b", calls="north/a")
            await until(lambda: brokers.known("north/a")[0] == ["north/a", "north/b"])
            gateway = brokers.running["north/a"]
            async with connect(brokers.running["north/b"].address) as client:
                desk = client.subscribe("/a")
                await desk.ready()
                above = gateway.broker.router.levels[1]
                await until(lambda: above.table_size == 1)
                async with calling(gateway) as (caller, _):
                    await caller.link("south/c", "south")
                    await until(lambda: brokers.links("north/a") == ["north/b", "south/c"])
                    await caller.say(document("north/b", 1), document("south/d", 2))
                    event = await asyncio.wait_for(anext(desk), PATIENCE)
                    assert (event.id, event.content) == ("south/d:1:2", b"<a>2</a>")
                    assert "come over the link to south/c from outside, under the" in caplog.text
                    crossings = status.levels(gateway.broker)[0]["crossings"]
                    assert crossings == {"out": 0, "into": 1, "in_vain": 0, "turned_away": 1}
                    await caller.say(document("south/d", 3, tree="^"))
                    await until(lambda: brokers.links("north/a") == ["north/b"])
        assert "'south/c' sends a document along '^', which is no tree" in caplog.text

    asyncio.run(scenario())


def test_what_crosses_the_border_is_counted_for_prometheus(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("north/a", "north")
            broker = brokers.running["north/a"].broker
            figures = Gauges(ClientSessions(broker)).look(names_durables=True)
            text = broker.metrics.text(figures).decode()
            for kind in ("out", "into", "in_vain", "turned_away"):
                assert f'twigcast_unit_documents_{kind}_total{{unit="north"}} 0.0' in text

    asyncio.run(scenario())


def test_homes_of_a_unit_are_named_by_their_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[tuple[bool, tuple[str, ...]]] = []

    def read(said: messages.RoutedDocument, known: Known | None) -> tuple[Debt, ...]:
        debts = read_debts(said, known)
        came.append((said.HasField("members"), tuple(sorted(each.home for each in debts))))
        return debts

    monkeypatch.setattr("twigcast.broker.delivery_codec.read_debts", read)
    monkeypatch.setattr("twigcast.broker.debts_codec._FEWEST", 2)

    async def scenario() -> None:
        async with site(tmp_path) as brokers, AsyncExitStack() as stack:
            await brokers.start("north/a", "north")
            desks = []
            for name, calls in (("north/b", "north/a"), ("north/c", "north/b")):
                await brokers.start(name, calls=calls)
                await until(lambda: name in brokers.known("north/a")[0])  # noqa: B023
                client = await stack.enter_async_context(connect(brokers.running[name].address))
                desks.append(client.subscribe("/a", durable="d"))
                await desks[-1].ready()
            for running in brokers.running.values():
                await until(lambda: len(running.broker.flow.numberings.now(1).bits) == 3)  # noqa: B023
            publisher = await stack.enter_async_context(connect(brokers.running["north/a"].address))
            await publisher.publish("<a/>")
            for desk in desks:
                assert (await asyncio.wait_for(anext(desk), PATIENCE)).content == b"<a/>"

    asyncio.run(scenario())
    assert came == [(True, ("north/b", "north/c"))] * 2


def _owed(brokers: Iterable[Broker]) -> int:
    return sum(sum(each.owed.values()) for each in brokers)


def _received_and_resent(brokers: Iterable[Broker]) -> Counter[str]:
    resent = (each.metrics.value("twigcast_documents_resent_total") for each in brokers)
    return Counter(
        resent=int(sum(resent)),
        **{
            broker.name: sum(each["documents_received"] for each in status.links(broker))
            for broker in brokers
        },
    )


def test_what_is_owed_crosses_each_link_once_where_units_have_several_gateways(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with site(tmp_path) as brokers:
            await brokers.start("s1/c1/b", "s1")
            await brokers.start("s1/c2/b", "s1", calls="s1/c1/b")
            await brokers.start("s2/c1/b", "s2", calls="s1/c1/b")
            await brokers.start("s2/c2/b", "s2", calls="s2/c1/b s1/c2/b")
            await until(lambda: all(len(brokers.links(each)) == 2 for each in brokers.running))
            running = {name: each.broker for name, each in brokers.running.items()}
            async with (
                connect(brokers.running["s1/c1/b"].address) as subscriber,
                connect(brokers.running["s2/c2/b"].address) as publisher,
            ):
                desk = subscriber.subscribe("/a", durable="desk")
                await desk.ready()
                await until(lambda: all(each.homes.patterns for each in running.values()))
                news: Counter[str] = Counter(resent=1)
                # What is in transit while links come up, or the machine is busy, is sent again.
                for _ in range(5):
                    before = _received_and_resent([*running.values()])
                    await publisher.publish_all([b"<a/>"] * 5)
                    for _ in range(5):
                        await asyncio.wait_for(anext(desk), PATIENCE)
                    await until(lambda: not _owed(running.values()))
                    news = _received_and_resent([*running.values()])
                    news.subtract(before)
                    if not news["resent"]:
                        break
                assert news["resent"] == 0
                assert news["s1/c1/b"] == 5

    asyncio.run(scenario())
