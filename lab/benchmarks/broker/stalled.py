"""The row about subscribers that take nothing: what they cost those who publish.

    publisher ──► broker ──► 1,000 subscriptions, each with one document in transit for ever
    publisher ──► broker     likewise, without them

Both brokers have the same publisher's documents, in turns, each document when the one before is
answered.  Each matches all of these subscriptions, and waits for them until there is no room.  The
room is small, and a round before does not count; after it, each document that comes costs an older
one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from lab.benchmarks.broker.bench import BrokerBench
from lab.benchmarks.broker.load import Load
from lab.benchmarks.measure import spread
from lab.benchmarks.results import Result

_FILLER: Final = 10_000
"""Bytes of a document."""
_DOCUMENTS: Final = 100
_SETTINGS: Final = "[limits]\nqueues_memory = 8_000_000\nqueues_disk = 1_000_000\n"


def stalled_rows(bench: BrokerBench) -> Iterator[Result]:
    """How much longer it takes to publish beside subscribers that take nothing."""
    sizes = bench.sizes
    work = f"{sizes.stalled:,} subscriptions that take nothing"
    bench.progress(work)
    folder = bench.folder_of(
        f"<order><number>{number}</number><text>{'x' * _FILLER}</text></order>".encode()
        for number in range(_DOCUMENTS)
    )
    expressions = bench.file([f"/order[number or x{each}]" for each in range(sizes.stalled)])
    with (
        bench.network(1, settings=_SETTINGS) as beside,
        bench.network(1, settings=_SETTINGS) as alone,
        bench.loads() as loads,
    ):
        loads.begin(
            "hold",
            address=beside.addresses["b0"],
            file=expressions,
            first=0,
            clients=1,
            expressions=sizes.stalled,
            together=1,
            window=1,
        )
        publishers = [
            loads.begin("publish", address=each.addresses["b0"], folder=folder)
            for each in (beside, alone)
        ]
        loads.wait()
        ratios = []
        for number in range(bench.rounds + 1):
            seconds, without = (_publish(each, sizes.singly) for each in publishers)
            if number:
                ratios.append(seconds / without)
    yield Result(
        "stalled",
        f"{work}: publishing one by one ÷ without them",
        statistics.median(ratios),
        "×",
        spread(ratios),
        bench.goal(2, "stalled", "singly"),
        matches=sizes.stalled,
    )


def _publish(publisher: Load, count: int) -> float:
    answer = publisher.ask(count=count, singly=True)
    return float(answer["ended"] - answer["began"])
