"""Guesses of tokens are slowed, logged and counted; whoever has a token notices nothing of it."""

from __future__ import annotations

import asyncio
import logging
import time

import grpc
import pytest
from http_brokers import run, serving
from live_brokers import one_broker, until

from twigcast.broker import BrokerConfig, LinkConfig, Permission, RunningBroker, new_token
from twigcast.broker.config import PrincipalConfig, RuleConfig
from twigcast.broker.wrong_tokens import WrongTokens
from twigcast.client import connect
from twigcast.errors import TwigcastError
from twigcast.wire import messages, method

TOKEN, HASHED = new_token()
CONFIG = BrokerConfig(
    principals=(PrincipalConfig("desk", (HASHED,)),),
    rules=(RuleConfig("desk", frozenset({Permission.PUBLISH})),),
)


def test_a_few_are_answered_at_once_and_then_five_a_second() -> None:
    wrong = WrongTokens()
    assert [wrong.add("a", 100.0) for _ in range(5)] == pytest.approx([0.0] * 5)
    waits = [wrong.add("a", 100.0) for _ in range(20)]
    assert waits == pytest.approx([0.2 * number for number in range(1, 21)])
    assert wrong.add("b", 100.0) == 0.0
    # Nobody waits longer than some seconds, and what is past counts no more.
    for _ in range(1000):
        longest = wrong.add("a", 104.0)
    assert longest == pytest.approx(10.0)
    assert wrong.add("a", 200.0) == 0.0


def test_one_after_the_other_they_take_as_long() -> None:
    wrong, now = WrongTokens(), 0.0
    for _ in range(105):
        now += wrong.add("a", now)
    assert now == pytest.approx(20.0)


def test_addresses_without_end_take_bounded_memory() -> None:
    wrong = WrongTokens()
    for number in range(30_000):
        wrong.add(str(number), 0.0)
        wrong.add("always", 0.0)
    assert len(wrong) == 10_000
    assert wrong.add("always", 0.0) > 0


def counted(running: RunningBroker) -> float:
    return running.broker.metrics.value("twigcast_wrong_tokens_total")


def test_guesses_over_http_are_slowed_and_a_right_token_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, logger="twigcast")

    async def main() -> None:
        async with serving(config=CONFIG) as (running, client):

            async def guess(number: int) -> None:
                header = {"Authorization": f"Bearer twc_{number}"}
                answer = await client.get("/v1/status", headers=header)
                assert answer.status_code == 401

            began = time.monotonic()
            guesses = asyncio.gather(*(guess(number) for number in range(18)))
            await until(lambda: counted(running) == 18)
            header = {"Authorization": f"Bearer {TOKEN}"}
            assert (await client.get("/v1/status", headers=header)).status_code == 200
            assert (await client.get("/health")).status_code == 200
            assert not guesses.done()
            await guesses
            assert time.monotonic() - began > 2.5

    run(main)
    assert "wrong token from 127.0.0.1" in caplog.text
    assert "twc_" not in caplog.text


def test_guesses_over_grpc_and_of_links_are_slowed_too() -> None:
    async def main() -> None:
        async with (
            one_broker(config=CONFIG) as running,
            grpc.aio.insecure_channel(running.address) as channel,
        ):
            ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
            ask = channel.unary_unary(method("Status"))

            async def guess(number: int) -> None:
                header = [("authorization", f"Bearer twc_{number}")]
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await ask(messages.StatusRequest().SerializeToString(), metadata=header)
                assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED

            began = time.monotonic()
            guesses = asyncio.gather(*(guess(number) for number in range(10)))
            await until(lambda: counted(running) == 10)
            async with connect(running.address, token=TOKEN) as client:
                await client.publish("<a/>")
            await guesses
            assert time.monotonic() - began > 0.9
            with pytest.raises(TwigcastError, match="not known"):
                async with connect(running.address, token="twc_x") as client:
                    await client.publish("<a/>")
            calls = BrokerConfig(name="there", links=(LinkConfig(running.address, token="twc_y"),))
            async with one_broker(config=calls):
                await until(lambda: counted(running) >= 12)

    run(main)
