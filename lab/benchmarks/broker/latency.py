"""Rows about latency: what a hop between brokers adds, and how soon a subscription takes effect.

*A hop.*  A chain of four brokers and a network of one, both up all the time; publisher and
subscriber are at the ends.  Documents go one by one, at a steady pace, each with the time at which
it was sent.  First the benchmark searches for the pace that the chain sustains: paces grow by half,
until the publisher falls behind or documents begin to queue.  (Many a message, a document costs a
fraction of that; how many a second pass then is reported too.)  Then, in turn, each network carries
documents at half that pace, and at a tenth.  What a hop adds is the difference of the two medians,
divided by the links of the chain, round by round; and likewise that of the 99th percentiles.

*A subscription.*  On a chain of three, somebody publishes at one end every half millisecond, and at
the other somebody subscribes.  It was effective when the broker at the far end had the first
document that came, which that broker reports to the millisecond.  The time at which it was sent
would flatter: on a busy machine documents wait for the broker, and what was sent before anybody
subscribed may then come.  No subscription covers another, and each is gone before the next.  What
is still in transit because of one must not count for the next; so subscriptions to even and to odd
elements take turns, and so do documents with either.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from lab.benchmarks.broker.bench import BrokerBench, Loads
from lab.benchmarks.broker.load import PATIENCE, Load
from lab.benchmarks.broker.throughput import require_all, transfer
from lab.benchmarks.measure import spread
from lab.benchmarks.results import Goal, Result
from twigcast.errors import NetworkError

if TYPE_CHECKING:
    from twigcast.broker import LocalNetwork

_SHARES: Final = {"half": 0.5, "tenth": 0.1}
"""Of the pace that the chain sustains; the goals are about half of it."""
_PROBES_PER_SECOND: Final = 2_000
_PROBES: Final = 10_000_000
"""More than will be needed; who publishes them is ended."""
_MILLISECOND: Final = 1e-3
_EACH: Final = 0.02
"""Seconds between two looks at a routing table."""
_FEWEST: Final = 200
_LONGEST: Final = 5.0
"""Seconds that one measurement takes, unless it would have too few documents."""
_SLOWEST: Final = 100.0
_FASTER: Final = 1.5
_KEPT_UP: Final = 0.97
_QUEUED: Final = 5e-3
"""Seconds more at the end of a round than at its beginning; then documents are queueing."""


def hop_rows(bench: BrokerBench) -> Iterator[Result]:
    """What a hop adds at half of what the chain sustains, and what that is."""
    sizes = bench.sizes
    links = sizes.brokers - 1
    work = f"a chain of {sizes.brokers} brokers"
    bench.progress(work)
    with bench.network(1) as single, bench.network(sizes.brokers) as chain, bench.loads() as loads:
        near = _ends(bench, loads, single)
        far = _ends(bench, loads, chain)
        paces = []
        for number in range(bench.rounds + 1):
            seconds, _ = transfer(*far, sizes.chained)
            if number:
                paces.append(sizes.chained / seconds)
        bulk = statistics.median(paces)
        bench.progress(f"{work}: the pace that it sustains")
        pace = _sustained(far, sizes.timed)
        timed: dict[str, list[list[_Timed]]] = {name: [] for name in _SHARES}
        for number in range(bench.rounds + 1):
            bench.progress(f"{work}: latency", number, bench.rounds + 1)
            for name, share in _SHARES.items():
                taken = [_timed(pair, sizes.timed, share * pace) for pair in (near, far)]
                if number:
                    timed[name].append(taken)
    yield Result(
        "chain-bulk",
        f"{work}: from one end to the other, many a message",
        bulk,
        "documents a second",
        spread(paces),
        matches=1.0,
        details={"bytes a document": round(bench.mean_bytes)},
    )
    yield Result(
        "chain-pace",
        f"{work}: from one end to the other, one by one, without queueing",
        pace,
        "documents a second",
        0.0,
        matches=1.0,
    )
    median, rare = bench.goal(1.5, "brokers", "timed"), bench.goal(8, "brokers", "timed")
    yield _hop_row("hop-median", work, links, 50, timed["half"], pace, median)
    yield _hop_row("hop-99", work, links, 99, timed["half"], pace, rare)
    yield _hop_row("hop-tenth-median", work, links, 50, timed["tenth"], pace)
    yield _hop_row("hop-tenth-99", work, links, 99, timed["tenth"], pace)


def _hop_row(
    name: str,
    work: str,
    links: int,
    rank: int,
    rounds: list[list[_Timed]],
    pace: float,
    goal: Goal | None = None,
) -> Result:
    """What a hop adds to that percentile, round by round."""
    ones, chains = (
        [percentile(taken[side].latencies, rank) / _MILLISECOND for taken in rounds]
        for side in (0, 1)
    )
    added = [(far - near) / links for near, far in zip(ones, chains, strict=True)]
    rate = rounds[0][1].wanted
    reached = statistics.median(far.reached for _, far in rounds)
    return Result(
        name,
        f"{work} against one, {rate / pace:.0%} of that ({rate:,.0f} a second): added by a hop, "
        f"{'median' if rank == 50 else f'{rank}th percentile'}",
        statistics.median(added),
        "ms",
        spread(added),
        goal,
        details={
            "one broker, ms": round(statistics.median(ones), 3),
            "the chain, ms": round(statistics.median(chains), 3),
            "documents a second": round(rate),
            "those reached on the chain": round(reached),
        },
    )


def _ends(bench: BrokerBench, loads: Loads, network: LocalNetwork) -> tuple[Load, Load]:
    """A publisher at the first broker, and a subscriber at the last whom the first knows of."""
    first, *_, last = (*network.addresses, *network.addresses)
    publisher = loads.begin(
        "publish", address=network.addresses[first], folder=bench.document_folder
    )
    receiver = loads.begin("receive", address=network.addresses[last], expression=bench.everything)
    loads.wait()
    _wait_for_pattern(network, first)
    return publisher, receiver


def _wait_for_pattern(network: LocalNetwork, broker: str) -> None:
    """Wait until a broker has a pattern in its routing table.

    A subscription is ready when the broker beside the subscriber has it.  What is published
    elsewhere before it has spread goes nowhere, and the receiver would wait for it in vain.
    """
    deadline = time.monotonic() + PATIENCE
    while not ((status := network.status(broker)) and status["tables"]["patterns"]):
        if time.monotonic() > deadline:
            raise NetworkError(f"no subscription has reached {broker} in {PATIENCE:g} seconds")
        time.sleep(_EACH)


def _sustained(pair: tuple[Load, Load], count: int) -> float:
    """The highest of growing paces at which documents, one by one, do not queue."""
    rate = _SLOWEST
    while True:
        taken = _timed(pair, count, rate * _FASTER)
        quarter = max(1, len(taken.latencies) // 4)
        first, last = (
            statistics.median(each)
            for each in (taken.latencies[:quarter], taken.latencies[-quarter:])
        )
        if taken.reached < _KEPT_UP * taken.wanted or last > 2 * first + _QUEUED:
            return rate
        rate *= _FASTER


class _Timed(NamedTuple):
    """What documents took, the rate that was wanted, and the one that the publisher came to."""

    latencies: list[float]
    wanted: float
    reached: float


def _timed(pair: tuple[Load, Load], count: int, rate: float) -> _Timed:
    publisher, receiver = pair
    count = min(count, max(_FEWEST, round(rate * _LONGEST)))
    receiver.order(count=count, latencies=True)
    sent = publisher.ask(count=count, rate=rate)
    answer = receiver.hear()
    require_all(answer, count)
    return _Timed(answer["latencies"], rate, count / (sent["ended"] - sent["began"]))


def percentile(values: Sequence[float], rank: int) -> float:
    """The value that so many of a hundred do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[rank - 1]


def spread_rows(bench: BrokerBench) -> Iterator[Result]:
    """How long a subscription takes to the other end of a chain."""
    count, brokers = bench.sizes.spread, bench.sizes.spread_brokers
    work = f"{count} subscriptions, each until effective at the far end of {brokers} brokers"
    bench.progress(work)
    with (
        tempfile.TemporaryDirectory() as folder,
        bench.network(brokers) as network,
        bench.loads() as loads,
    ):
        for parity in (0, 1):
            probes = "".join(f"<s{number}/>" for number in range(parity, count, 2))
            (Path(folder) / f"{parity}.xml").write_text(f"<probe>{probes}</probe>")
        addresses = list(network.addresses.values())
        publisher = loads.begin("publish", address=addresses[-1], folder=folder)
        subscriber = loads.begin("resubscribe", address=addresses[0])
        loads.wait()
        publisher.order(count=_PROBES, rate=_PROBES_PER_SECOND)
        subscriber.ask(count=2)  # whatever is done at the first use is not counted
        answer = subscriber.ask(count=count)
    taken, sent = ([each / _MILLISECOND for each in answer[key]] for key in ("taken", "sent"))
    yield Result(
        "subscribe-median",
        f"{work}: median",
        statistics.median(taken),
        "ms",
        spread(taken),
        bench.goal(20, "spread", "spread_brokers"),
        details={
            "largest, ms": round(max(taken), 2),
            "by the time of sending, ms": round(statistics.median(sent), 2),
        },
    )
