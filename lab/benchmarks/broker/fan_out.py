"""Rows about fan-out: what a broker spends on a delivery where a document goes to hundreds.

    publisher ──► broker ──► one client with 10,000 subscriptions, of which each document has 257

Each document is an order of one of 39 regions, and the subscriptions are to these regions, in turn.
The figure is the processor time of the broker, with all that it does for the document, divided by
the deliveries: as it is spent by the process, whatever else runs on the machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lab.benchmarks.broker.bench import BrokerBench
from lab.benchmarks.measure import spread
from lab.benchmarks.results import Result
from twigcast.errors import NetworkError

_REGIONS: Final = 39
_FILLER: Final = 5_000
"""Bytes of a document."""
_MICROSECONDS: Final = 1e6
_NANOSECONDS: Final = 1e9


def fan_out_rows(bench: BrokerBench) -> Iterator[Result]:
    """The cost of a delivery, ephemeral and durable."""
    sizes = bench.sizes
    regions = [f"r{number}" for number in range(_REGIONS)]
    asked = [
        f"/order[region = '{regions[number % _REGIONS]}'][not(closed)]"
        for number in range(sizes.subscriptions)
    ]
    each_region = [asked.count(asked[number]) for number in range(min(_REGIONS, len(asked)))]
    folder = bench.folder_of(
        f"<order><region>{region}</region><text>{'x' * _FILLER}</text></order>".encode()
        for region in regions
    )
    count = sizes.fanned
    deliveries = sum(
        each_region[number % _REGIONS] if number % _REGIONS < len(each_region) else 0
        for number in range(count)
    )
    for name, is_durable, bound in (("fan-out", False, 5), ("fan-out-durable", True, 20)):
        kind = "durable" if is_durable else "ephemeral"
        work = f"{sizes.subscriptions:,} {kind} subscriptions, {deliveries / count:.0f} a document"
        bench.progress(work)
        with (
            bench.network(1, store=is_durable, settings=_settings(bench)) as network,
            bench.loads() as loads,
        ):
            address = network.addresses["b0"]
            process = network.processes["b0"].pid
            receiver = loads.begin(
                "receive_many", address=address, file=bench.file(asked), is_durable=is_durable
            )
            publisher = loads.begin("publish", address=address, folder=folder)
            loads.wait()
            spent = []
            for number in range(bench.rounds + 1):
                before = processor_time(process)
                receiver.order(count=deliveries)
                publisher.ask(count=count)
                answer = receiver.hear()
                if answer["missed"]:
                    raise NetworkError(f"{answer['missed']:,} documents were dropped")
                if number:
                    seconds = processor_time(process) - before
                    spent.append(seconds / deliveries * _MICROSECONDS)
        yield Result(
            name,
            f"{work}: processor time of a delivery",
            statistics.median(spent),
            "µs",
            spread(spent),
            bench.goal(bound, "subscriptions", "fanned"),
            matches=deliveries / count,
        )


def _settings(bench: BrokerBench) -> str:
    return f"[limits]\nsubscriptions_per_client = {bench.sizes.subscriptions}\n"


def processor_time(process: int) -> float:
    """The seconds that the threads of a process have spent on processors so far."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / _NANOSECONDS
