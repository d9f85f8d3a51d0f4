"""The row about two threads that match at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Final

from lab.benchmarks.matching.bench import MatchingBench, mean_matches
from lab.benchmarks.measure import measure
from lab.benchmarks.results import Result, ratio_result

_REPEATS: Final = 8
_BLOCK: Final = bytes(2**20)
_BLOCKS: Final = 50
_ONE: Final = "one thread"
_TWO: Final = "two threads"
_ONE_HASHING: Final = "one thread hashing"
_TWO_HASHING: Final = "two threads hashing"

_Calls = list[Callable[[], object]]


def two_threads(bench: MatchingBench) -> Iterator[Result]:
    """Two batches by one thread and by two, beside what two threads gain when they only hash.

    Hashing needs no memory and no lock, so its gain is what the machine has to give at the time:
    on two cores that others use as well it is below 2.
    """
    texts = bench.paths(bench.sizes.paths)
    matcher = bench.fill(texts)
    documents = bench.documents
    matches = mean_matches(matcher, documents)
    half = len(documents) // 2
    batches = (documents[:half] * _REPEATS, documents[half : 2 * half] * _REPEATS)
    matching: _Calls = [partial(matcher.match_batch, batch) for batch in batches]
    hashing: _Calls = [_hash, _hash]
    work = f"{len(texts):,} paths, speed of two threads"
    bench.progress(work)
    # The threads stay the same in all rounds: what a matcher remembers is remembered by thread.
    with ThreadPoolExecutor(2) as pair, ThreadPoolExecutor(1) as single:
        measurements = measure(
            work,
            {
                _TWO: partial(_run_together, pair, matching),
                _ONE: partial(_run_in_turn, single, matching),
                _TWO_HASHING: partial(_run_together, pair, hashing),
                _ONE_HASHING: partial(_run_in_turn, single, hashing),
            },
            units=1,
            rounds=bench.rounds,
            clock=time.perf_counter,
        )
    seconds = {one.method: one.seconds for one in measurements}
    gain = seconds[_ONE_HASHING] / seconds[_TWO_HASHING]
    yield ratio_result(
        "threads",
        f"{work} ÷ one (when hashing: {gain:.2f} ×)",
        measurements,
        _ONE,
        goal=bench.goal(1.7, "paths", least=True),
        matches=matches,
        unit="×",
        details={"machine_gives": round(gain, 2)},
    )


def _run_together(threads: ThreadPoolExecutor, calls: _Calls) -> None:
    """Let each thread do one of the calls: none can take two, since each waits for the others."""
    all_there = Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        all_there.wait()
        call()

    list(threads.map(run, calls))


def _run_in_turn(thread: ThreadPoolExecutor, calls: _Calls) -> None:
    for call in calls:
        thread.submit(call).result()


def _hash() -> None:
    # Blocks so large that the interpreter lock, which is free meanwhile, hardly matters.
    for _ in range(_BLOCKS):
        hashlib.sha256(_BLOCK)
