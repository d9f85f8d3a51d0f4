"""The broker benchmark: every document counts, time runs from end to end, and nothing is left."""

from __future__ import annotations

import json
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
from workloads import example

from lab.benchmarks.broker.bench import (
    FULL_BROKER,
    QUICK_BROKER,
    BrokerBench,
    BrokerSizes,
)
from lab.benchmarks.broker.latency import percentile
from lab.benchmarks.broker.load import Load
from lab.benchmarks.broker.memory import memory_of
from lab.benchmarks.broker.speed import broker_speed
from lab.benchmarks.broker.throughput import require_all
from lab.benchmarks.matching.bench import fill
from lab.benchmarks.plots import draw_goals
from lab.benchmarks.results import Result
from twigcast.errors import NetworkError
from twigcast.schema import Schema

TINY = BrokerSizes(
    name="tiny",
    documents=20,
    subscriptions=50,
    ephemeral=256,
    durable=128,
    fanned=78,
    stalled=10,
    singly=20,
    chained=128,
    timed=40,
    brokers=2,
    clients=6,
    expressions=5,
    processes=2,
    spread=4,
    spread_brokers=2,
)


ROWS = {
    "broker-ephemeral": 5_000,
    "broker-echo": None,
    "broker-echo-share": None,
    "broker-durable": 1_500,
    "fan-out": 5,
    "fan-out-durable": 20,
    "stalled": 2,
    "chain-bulk": None,
    "chain-pace": None,
    "hop-median": 1.5,
    "hop-99": 8,
    "hop-tenth-median": None,
    "hop-tenth-99": None,
    "clients-memory": 1,
    "clients-time": None,
    "clients-queues-memory": 1,
    "clients-queues-time": None,
    "subscribe-median": 20,
}


def bench(sizes: BrokerSizes = TINY) -> BrokerBench:
    return BrokerBench(example("news.dtd"), sizes, seed=1, rounds=1)


# Sizes, goals, workload


def test_the_goals_are_about_the_sizes_of_a_full_run() -> None:
    assert (FULL_BROKER.subscriptions, FULL_BROKER.brokers) == (10_000, 4)
    assert FULL_BROKER.clients * FULL_BROKER.expressions == 100_000
    assert (FULL_BROKER.clients, FULL_BROKER.spread_brokers) == (1_000, 3)
    assert FULL_BROKER.spread >= 50
    for size in fields(BrokerSizes):
        if size.name != "name":
            assert getattr(QUICK_BROKER, size.name) < getattr(FULL_BROKER, size.name)


def test_a_goal_applies_where_all_its_sizes_are_full() -> None:
    run = bench(replace(TINY, clients=FULL_BROKER.clients))
    assert run.goal(1, "clients").applies
    assert not run.goal(1, "clients", "expressions").applies


def test_what_is_held_matches_no_document_and_is_distinct() -> None:
    run = bench(replace(TINY, documents=60))
    silent = run.silent_paths(2_000)
    assert len(set(silent)) == 2_000
    assert not any(fill(silent).match_batch(run.documents))
    assert any(fill(run.paths(200)).match_batch(run.documents))
    assert all(fill([run.everything]).match_batch(run.documents))


def test_a_schema_with_few_paths_is_filled_up_with_others() -> None:
    small = Schema.from_dtd("<!ELEMENT a (b)*><!ELEMENT b (c?)><!ELEMENT c EMPTY>", "a")
    texts = BrokerBench(small, TINY, seed=1, rounds=1).paths(3_000)
    assert len(set(texts)) == 3_000
    assert sum("absent-" in text for text in texts) > 2_000


def test_documents_have_the_size_that_is_reported() -> None:
    run = bench(replace(TINY, documents=100))
    assert 4_500 < run.mean_bytes < 5_500


def test_percentiles() -> None:
    values = [float(number) for number in range(101)]
    assert (percentile(values, 50), percentile(values, 99)) == (50.0, 99.0)


def test_dropped_documents_end_the_run() -> None:
    require_all({"missed": 0}, 100)
    with pytest.raises(NetworkError, match="3 of 100 documents were dropped"):
        require_all({"missed": 3}, 100)


def test_memory_of_a_process() -> None:
    here = memory_of(os.getpid(), "VmRSS")
    assert here is None or 10_000_000 < here <= (memory_of(os.getpid(), "VmHWM") or 0)
    assert memory_of(os.getpid(), "Nonsense") is None


# Processes


def test_a_role_that_fails_says_why(tmp_path: Path) -> None:
    parameters = {"address": "nowhere", "folder": str(tmp_path)}
    with (
        Load("publish", parameters, tmp_path / "log") as load,
        pytest.raises(NetworkError, match=r"to publish has ended with status 1: [\s\S]*host"),
    ):
        load.hear()
    assert load.process.returncode == 1


def test_a_process_ends_with_its_block(tmp_path: Path) -> None:
    with Load("serve_echo", {}, tmp_path / "log") as load:
        assert load.hear()["address"].startswith("127.0.0.1:")
        assert load.ask() == {}
    assert load.process.returncode is not None


def test_a_process_ends_with_its_starter_whatever_it_does(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    with bench().network(1) as network:
        parameters = {"address": network.addresses["b0"], "folder": str(tmp_path)}
        with Load("publish", parameters, tmp_path / "log") as load:
            load.hear()
            load.order(count=10_000_000, rate=100)
            assert load.process.stdin is not None
            load.process.stdin.close()
            assert load.process.wait(20) == 0


def test_what_does_not_answer_is_given_up(tmp_path: Path) -> None:
    with Load("serve_echo", {}, tmp_path / "log") as load:
        load.hear()
        with pytest.raises(NetworkError, match=r"has not answered for 0\.01 seconds"):
            load.hear(0.01)


# A whole run


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    rows = list(broker_speed(bench()))
    assert len({result.name for result in rows}) == len(rows)
    return {result.name: result for result in rows}


def test_each_row_is_there_with_its_goal(results: dict[str, Result]) -> None:
    bounds = {name: result.goal and result.goal.bound for name, result in results.items()}
    assert bounds == ROWS
    for name, result in results.items():
        assert result.unit, name
        assert result.outcome == "", name
        json.dumps(result.as_json())
        if not name.startswith("hop"):  # noise may make a short chain quicker than one broker
            assert result.value > 0, name


def test_rows_report_what_was_done(results: dict[str, Result]) -> None:
    work = {name: result.work for name, result in results.items()}
    assert work["broker-ephemeral"].startswith("one broker, 50 subscriptions beside")
    assert work["hop-99"].startswith("a chain of 2 brokers against one, ")
    assert work["clients-memory"].startswith("6 clients, 5 expressions each, one subscription each")
    assert work["subscribe-median"].startswith("4 subscriptions, each until effective at the far")
    assert 4_000 < float(results["broker-durable"].details["bytes a document"]) < 6_000
    assert results["broker-durable"].matches == 1


def test_the_rate_is_half_of_what_the_chain_sustains(results: dict[str, Result]) -> None:
    rate = float(results["hop-median"].details["documents a second"])
    assert rate == pytest.approx(results["chain-pace"].value / 2, rel=0.01)
    assert "against one, 50% of that (" in results["hop-99"].work
    assert "against one, 10% of that (" in results["hop-tenth-99"].work


def test_the_echo_is_a_ceiling(results: dict[str, Result]) -> None:
    assert results["broker-echo"].value > results["broker-ephemeral"].value
    assert 0 < results["broker-echo-share"].value < 1


def test_a_subscription_is_not_effective_before_it_is_made(results: dict[str, Result]) -> None:
    # Brokers report the time in whole milliseconds.
    assert results["subscribe-median"].value > -1.0


def test_goals_of_brokers_are_drawn(results: dict[str, Result], tmp_path: Path) -> None:
    draw_goals(list(results.values()), tmp_path, "a note", "broker-goals")
    assert "an ephemeral subscriber" in (tmp_path / "broker-goals.svg").read_text()
