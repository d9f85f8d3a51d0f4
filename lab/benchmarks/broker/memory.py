"""Rows about memory: a broker with a thousand clients, each with a hundred expressions.

The clients are divided among a few processes; each has a connection of its own.  All expressions
are distinct.  They come as one subscription a client, and, in a broker of its own, as a
subscription for each expression, which is a queue each.  Memory is what the system reports of the
broker's process when all is there, and the most that it ever had.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lab.benchmarks.broker.bench import BrokerBench, BrokerSizes
from lab.benchmarks.results import Result
from twigcast.errors import NetworkError

_PROCESSES: Final = Path("/proc")
_FIELD: Final = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
_PATIENCE: Final = 30.0
_KILOBYTE: Final = 1024
_GIGABYTE: Final = 1e9


def memory_rows(bench: BrokerBench) -> Iterator[Result]:
    """The memory of the broker and the time until all subscriptions were there."""
    sizes = bench.sizes
    total = sizes.clients * sizes.expressions
    file = bench.file(bench.paths(total))
    goal = bench.goal(1, "clients", "expressions")
    for name, said, together in (
        ("clients", "one subscription each", sizes.expressions),
        ("clients-queues", "a subscription an expression", 1),
    ):
        work = f"{sizes.clients:,} clients, {sizes.expressions} expressions each, {said}"
        bench.progress(work)
        resident, peak, empty, seconds = _fill(bench, file, together)
        if resident is not None and peak is not None and empty is not None:
            yield Result(
                f"{name}-memory",
                f"{work}: memory of the broker",
                resident / _GIGABYTE,
                "GB",
                goal=goal,
                details={
                    "peak, GB": round(peak / _GIGABYTE, 3),
                    "before, GB": round(empty / _GIGABYTE, 3),
                    "bytes an expression": round((resident - empty) / total),
                },
            )
        yield Result(
            f"{name}-time",
            f"{work}: until all are there",
            seconds,
            "s",
            details={"expressions a second": round(total / seconds)},
        )


def _fill(
    bench: BrokerBench, file: str, together: int
) -> tuple[int | None, int | None, int | None, float]:
    """Memory of the broker in the end, at most and before, and the seconds in between."""
    sizes = bench.sizes
    with bench.network(1) as network, bench.loads() as loads:
        process = network.processes["b0"].pid
        empty = memory_of(process, "VmRSS")
        each = -(-sizes.clients // sizes.processes)
        began = time.monotonic()
        for first in range(0, sizes.clients, each):
            loads.begin(
                "hold",
                address=network.addresses["b0"],
                file=file,
                first=first * sizes.expressions,
                clients=min(each, sizes.clients - first),
                expressions=sizes.expressions,
                together=together,
            )
        loads.wait()
        seconds = time.monotonic() - began
        _require_all(network.status("b0", _PATIENCE), sizes)
        return memory_of(process, "VmRSS"), memory_of(process, "VmHWM"), empty, seconds


def _require_all(status: Mapping[str, Any] | None, sizes: BrokerSizes) -> None:
    """Clients and subscriptions that are not there would take no memory."""
    if status is None:
        raise NetworkError("the broker with all these clients does not answer")
    counts = status["clients"], status["tables"]["subscriptions"]
    if counts != (sizes.clients, sizes.clients * sizes.expressions):
        raise NetworkError("the broker has {:,} clients and {:,} expressions".format(*counts))


def memory_of(process: int, field: str) -> int | None:
    """A figure of the memory of a process; None where the system reports none."""
    try:
        text = (_PROCESSES / str(process) / "status").read_text()
    except OSError:
        return None
    return next(
        (int(size) * _KILOBYTE for name, size in _FIELD.findall(text) if name == field), None
    )
