"""Brokers and clients that must show who they are: tokens, certificates, and what each may do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from certificates import make_authority, make_certificate
from live_brokers import QUICK, is_whole, one_broker, until

from twigcast.broker import BrokerConfig, LinkConfig, Permission, StoreConfig, start_server
from twigcast.broker.config import PrincipalConfig, RuleConfig, TlsConfig
from twigcast.broker.tokens import new_token
from twigcast.client import Client, connect
from twigcast.errors import ConfigError, ConnectionFailedError, RefusedError, TwigcastError

EVERYTHING = frozenset(Permission)
NOTHING: frozenset[Permission] = frozenset()


def open_house(*rules: RuleConfig, tokens: dict[str, str]) -> BrokerConfig:
    """A broker that knows principals by the hashes of their tokens."""
    return BrokerConfig(
        principals=tuple(PrincipalConfig(name, (hashed,)) for name, hashed in tokens.items()),
        rules=rules,
    )


async def can(client: Client, permission: Permission) -> bool:
    """Whether the broker lets a client do something; any refusal must be about access."""
    try:
        if permission is Permission.PUBLISH:
            await client.publish("<a/>")
        elif permission is Permission.SUBSCRIBE:
            await client.subscribe("/a").ready()
        elif permission is Permission.ADVERTISE:
            await client.advertise()
        else:
            [each async for each in client.ask("/a")]
    except RefusedError as error:
        if error.code not in ("not-allowed", "unauthenticated"):
            raise
        return False
    return True


_ASKED = [Permission.PUBLISH, Permission.SUBSCRIBE, Permission.ASK, Permission.ADVERTISE]


@pytest.mark.parametrize("allowed", [*(frozenset({each}) for each in _ASKED), EVERYTHING])
def test_a_client_may_do_what_its_rules_say(allowed: frozenset[Permission], tmp_path: Path) -> None:
    async def scenario() -> None:
        token, hashed = new_token()
        config = open_house(RuleConfig("desk-*", allowed), tokens={"desk-7": hashed})
        async with (
            one_broker(tmp_path, config) as running,
            connect(running.address, token=token) as client,
        ):
            for permission in _ASKED:
                assert await can(client, permission) == (permission in allowed)

    asyncio.run(scenario())


@pytest.mark.parametrize("token", [None, "twc_wrong", "x" * 1000])
def test_who_shows_no_token_or_a_wrong_one_gets_nothing(
    token: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TWIGCAST_TOKEN", raising=False)

    async def scenario() -> None:
        _, hashed = new_token()
        config = open_house(tokens={"desk-7": hashed})
        async with one_broker(tmp_path, config) as running:
            with pytest.raises(TwigcastError, match="token"):
                async with connect(running.address, token=token):
                    pass

    asyncio.run(scenario())


def test_documents_with_other_roots_than_allowed_are_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        token, hashed = new_token()
        rule = RuleConfig(
            "agency", frozenset({Permission.PUBLISH}), roots=frozenset({("", "news")})
        )
        config = open_house(rule, tokens={"agency": hashed})
        async with (
            one_broker(tmp_path, config) as running,
            connect(running.address, token=token) as client,
        ):
            results = await client.publish_all(["<news/>", "<alert/>", "<news><alert/></news>"])
            assert [result.error is None for result in results] == [True, False, True]
            assert "alert" in str(results[1].error)

    asyncio.run(scenario())


def test_a_durable_subscription_is_its_owners(tmp_path: Path) -> None:
    async def scenario() -> None:
        tokens = {name: new_token() for name in ("one", "other", "boss")}
        everyday = frozenset({Permission.SUBSCRIBE, Permission.PUBLISH})
        config = open_house(
            RuleConfig("one", everyday, durable=("one-*",)),
            RuleConfig("other", everyday),
            RuleConfig("boss", EVERYTHING),
            tokens={name: hashed for name, (_, hashed) in tokens.items()},
        )
        async with (
            one_broker(tmp_path, config) as running,
            connect(running.address, token=tokens["one"][0]) as one,
            connect(running.address, token=tokens["other"][0]) as other,
            connect(running.address, token=tokens["boss"][0]) as boss,
        ):
            await one.subscribe("/a", durable="one-desk").ready()
            with pytest.raises(RefusedError, match="desk"):
                await one.subscribe("/a", durable="desk").ready()
            for attempt in (
                other.subscribe("/a", durable="one-desk").ready(),
                other.queue_state("one-desk"),
                other.forget("one-desk"),
            ):
                with pytest.raises(RefusedError, match="belongs to 'one'") as caught:
                    await attempt
                assert caught.value.code == "not-allowed"
            with pytest.raises(RefusedError, match="belongs to 'one'"):
                [each async for each in other.read_queue("one-desk", 1, 9)]
            assert (await boss.queue_state("one-desk")).last == 0
            await boss.forget("one-desk")

    asyncio.run(scenario())


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, another one that nobody trusts, and certificates of both."""
    folder = tmp_path_factory.mktemp("papers")
    for place in ("trusted", "other"):
        (folder / place).mkdir()
        authority = make_authority(folder / place)
        for name in ("rome", "paris", "desk-7"):
            make_certificate(folder / place, authority, name)
    return folder


def tls(folder: Path, name: str) -> TlsConfig:
    return TlsConfig(folder / f"{name}.pem", folder / f"{name}.key", folder / "authority.pem", True)


def test_links_with_certificates(papers: Path, tmp_path: Path) -> None:
    trusted = papers / "trusted"

    async def scenario() -> None:
        rome = BrokerConfig(name="rome", tls=tls(trusted, "rome"))
        async with one_broker(tmp_path / "rome", rome) as first:
            paris = BrokerConfig(
                name="paris",
                tls=tls(trusted, "paris"),
                links=(LinkConfig(first.address),),
                listen="127.0.0.1:0",
                heartbeat=QUICK,
                store=StoreConfig(tmp_path / "paris"),
            )
            second = await start_server(paris)
            try:
                await until(lambda: is_whole(first, 1) and is_whole(second, 1))
                connect_as_desk = partial(
                    connect,
                    ca=trusted / "authority.pem",
                    certificate=trusted / "desk-7.pem",
                    key=trusted / "desk-7.key",
                )
                async with (
                    connect_as_desk(first.address) as publisher,
                    connect_as_desk(second.address) as client,
                ):
                    desk = client.subscribe("/a", durable="d")
                    await desk.ready()
                    await until(lambda: first.broker.router.table_size == 1)
                    await publisher.publish("<a/>")
                    await asyncio.wait_for(anext(desk), 30)
                    assert second.broker.durables["d"].owner == "desk-7"
            finally:
                await second.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("folder", "certificate", "name", "server_name", "reason"),
    [
        ("other", "paris", "paris", "", "by the authority that is trusted here; correct tls.ca"),
        ("trusted", "paris", "oslo", "", "paris may not link as the broker 'oslo'"),
        ("", "", "paris", "", "look at [tls] of both"),
        ("trusted", "paris", "paris", "milan", "has as server_name of the link"),
    ],
)
def test_a_broker_that_is_not_who_it_says_is_not_linked(
    papers: Path, folder: str, certificate: str, name: str, server_name: str, reason: str
) -> None:
    async def scenario() -> None:
        rome = BrokerConfig(name="rome", tls=tls(papers / "trusted", "rome"))
        async with one_broker(config=rome) as first:
            shown = tls(papers / folder, certificate) if folder else TlsConfig()
            link = LinkConfig(first.address, server_name=server_name)
            calling = BrokerConfig(name=name, links=(link,), tls=shown)
            async with one_broker(config=calling) as second:
                problems = second.broker.links.problems
                await until(lambda: first.address in problems)
                await asyncio.sleep(0.3)
                assert not first.broker.links.up
                assert reason in problems[first.address]

    asyncio.run(scenario())


def test_a_client_without_a_certificate_is_refused(papers: Path) -> None:
    async def scenario() -> None:
        rome = BrokerConfig(name="rome", tls=tls(papers / "trusted", "rome"))
        async with one_broker(config=rome) as running:
            for ca in (
                None,
                papers / "trusted" / "authority.pem",
                papers / "other" / "authority.pem",
            ):
                with pytest.raises(ConnectionFailedError):
                    async with connect(running.address, timeout=2, ca=ca):
                        pass

    asyncio.run(scenario())


def test_links_with_tokens() -> None:
    async def scenario() -> None:
        token, hashed = new_token()
        link = frozenset({Permission.LINK})
        config = replace(
            open_house(RuleConfig("paris", link), tokens={"paris": hashed}), name="rome"
        )
        async with one_broker(config=config) as first:
            for name, shown, is_linked in (
                ("paris", token, True),
                ("oslo", token, False),
                ("paris", "twc_wrong", False),
                ("paris", "", False),
            ):
                calling = BrokerConfig(name=name, links=(LinkConfig(first.address, token=shown),))
                async with one_broker(config=calling) as second:
                    if is_linked:
                        await until(lambda: is_whole(first, 1))
                    else:
                        await until(lambda: first.address in second.broker.links.problems)
                        assert not first.broker.links.up
                await until(lambda: not first.broker.links.up)

    asyncio.run(scenario())


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_a_broker_is_not_opened_to_the_network_without_authentication(listen: str) -> None:
    with pytest.raises(ConfigError, match="insecure"):
        asyncio.run(start_server(BrokerConfig(listen=listen)))
