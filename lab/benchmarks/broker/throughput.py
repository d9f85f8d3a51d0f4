"""Rows about throughput: documents a second through one broker, for subscribers of either kind.

    publisher ──► broker, with 10,000 subscriptions that do not match ──► the one subscriber

Each is a process.  The time of a round is from the first document's leaving the publisher until the
subscriber has the last, and a durable one has acknowledged it.  A round before does not count.
Beside it, in the same rounds, the same batches go to a bare gRPC server and back.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lab.benchmarks.broker.bench import HELD_TOGETHER, BrokerBench, Loads
from lab.benchmarks.broker.load import Load
from lab.benchmarks.measure import spread
from lab.benchmarks.results import Detail, Goal, Result
from twigcast.errors import NetworkError

BATCH: Final = 64
"""Documents of a message, as the client sends them."""


def throughput_rows(bench: BrokerBench) -> Iterator[Result]:
    """One broker, ephemeral and durable, and the ceiling of its transport."""
    sizes = bench.sizes
    silent = bench.file(bench.silent_paths(sizes.subscriptions))
    facts: dict[str, Detail] = {"bytes a document": round(bench.mean_bytes)}
    work = f"one broker, {sizes.subscriptions:,} subscriptions beside"

    bench.progress(f"{work}: ephemeral")
    with bench.network(1) as network, bench.loads() as loads:
        pair = _Pair(bench, loads, network.addresses["b0"], silent)
        bare = _Echo(bench, loads)
        pace, ceiling = [], []
        for number in range(bench.rounds + 1):
            paces = pair.run(sizes.ephemeral), bare.run(sizes.ephemeral)
            if number:
                pace.append(paces[0])
                ceiling.append(paces[1])
    yield _row(
        "broker-ephemeral",
        f"{work}: an ephemeral subscriber",
        pace,
        bench.goal(5_000, "subscriptions", "ephemeral", least=True),
        facts,
    )
    yield _row(
        "broker-echo",
        f"the same batches, echoed by a bare gRPC server: {BATCH} a message",
        ceiling,
        None,
        facts,
    )
    shares = [ours / theirs for ours, theirs in zip(pace, ceiling, strict=True)]
    yield Result(
        "broker-echo-share",
        "an ephemeral subscriber ÷ the echo",
        statistics.median(shares),
        "×",
        spread(shares),
    )

    bench.progress(f"{work}: durable")
    with bench.network(1, store=True) as network, bench.loads() as loads:
        pair = _Pair(bench, loads, network.addresses["b0"], silent, durable="bench")
        pace = [pair.run(sizes.durable) for _ in range(bench.rounds + 1)][1:]
    yield _row(
        "broker-durable",
        f"{work}: a durable subscriber that acknowledges, sync=full",
        pace,
        bench.goal(1_500, "subscriptions", "durable", least=True),
        facts,
    )


class _Pair:
    """A publisher and a subscriber of one broker, and a client that holds other subscriptions."""

    def __init__(
        self,
        bench: BrokerBench,
        loads: Loads,
        address: str,
        silent: str,
        durable: str | None = None,
    ) -> None:
        count = bench.sizes.subscriptions
        together = min(HELD_TOGETHER, count)
        self.holder = loads.begin(
            "hold",
            address=address,
            file=silent,
            first=0,
            clients=1,
            expressions=count,
            together=together,
        )
        self.publisher = loads.begin("publish", address=address, folder=bench.document_folder)
        self.receiver = loads.begin(
            "receive", address=address, expression=bench.everything, durable=durable
        )
        loads.wait()
        self._durable = durable is not None
        self._acknowledged = 0

    def run(self, count: int) -> float:
        """Documents a second."""
        seconds, answer = transfer(self.publisher, self.receiver, count)
        if self._durable:
            self._acknowledged += count
            if answer["acknowledged"] != self._acknowledged:
                raise NetworkError(
                    f"{answer['acknowledged']:,} documents are acknowledged, not "
                    f"{self._acknowledged:,}"
                )
        return count / seconds


def transfer(publisher: Load, receiver: Load, count: int) -> tuple[float, dict[str, Any]]:
    """Publish so many documents as fast as can be and receive them all; how long it took."""
    receiver.order(count=count)
    began = publisher.ask(count=count)["began"]
    answer = receiver.hear()
    require_all(answer, count)
    return answer["last"] - began, answer


def require_all(answer: Mapping[str, Any], count: int) -> None:
    """Documents that a queue had no room for would make the others quick."""
    if answer["missed"]:
        raise NetworkError(
            f"{answer['missed']:,} of {count:,} documents were dropped before they arrived"
        )


class _Echo:
    """A bare gRPC server and its client."""

    def __init__(self, bench: BrokerBench, loads: Loads) -> None:
        server = loads.begin("serve_echo")
        loads.wait()
        self._client = loads.begin(
            "echo",
            address=server.ready["address"],
            folder=bench.document_folder,
            batch=BATCH,
        )
        loads.wait()

    def run(self, count: int) -> float:
        """Documents a second, there and back."""
        whole = max(count // BATCH, 1) * BATCH
        return whole / float(self._client.ask(count=whole)["seconds"])


def _row(
    name: str, work: str, pace: list[float], goal: Goal | None, facts: Mapping[str, Detail]
) -> Result:
    return Result(
        name,
        work,
        statistics.median(pace),
        "documents a second",
        spread(pace),
        goal,
        1.0,
        details={**facts, **{f"round {n}": round(one) for n, one in enumerate(pace, 1)}},
    )
