"""Rows about very many subscriptions: what more of them cost in time and in memory."""

from __future__ import annotations

import ctypes
import gc
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from lab.benchmarks.machine import resident_bytes
from lab.benchmarks.matching.bench import MatchingBench, fill, mean_matches
from lab.benchmarks.measure import measure
from lab.benchmarks.results import Detail, Result, ratio_result

_STEP: Final = re.compile(r"//?(?:Q\{[^}]*\})?[^/]+")
_ABSENT_NAMES: Final = 1_000


def many_against_few(bench: MatchingBench) -> Iterator[Result]:
    """The time with very many subscriptions as a multiple of that with few, matches being equal.

    The many are the few and generated ones that match no document, filled up, where these do not
    suffice, with beginnings of the few that go on to a name that no document has.
    """
    sizes, documents = bench.sizes, bench.documents
    texts = bench.paths(sizes.many)
    few = texts[: sizes.few]
    batch = bench.fill(texts).match_batch(documents)
    matching = {int(batch.key(number)[1:]) for number in set(batch.ids)}
    del batch
    silent = [
        text for number, text in enumerate(texts[len(few) :], len(few)) if number not in matching
    ]
    absent = absent_paths(few, sizes.many - len(few) - len(silent), bench.seed)
    many = [*few, *silent, *absent]
    Random(bench.seed).shuffle(many)
    small, large = bench.fill(few), bench.fill(many)
    work = f"{len(many):,} paths against {len(few):,}"
    bench.progress(work)
    matches = mean_matches(large, documents)
    assert matches == mean_matches(small, documents)
    measurements = measure(
        work,
        {
            f"{len(few):,}": lambda: small.match_batch(documents),
            f"{len(many):,}": lambda: large.match_batch(documents),
        },
        units=len(documents),
        rounds=bench.quick_rounds,
        clock=time.process_time,
    )
    yield ratio_result(
        "paths-many",
        work,
        measurements,
        f"{len(many):,}",
        goal=bench.goal(1.1, "many"),
        matches=matches,
        unit="× the few",
        details={"generated": len(silent), "with_absent_names": len(absent)},
    )


def absent_paths(texts: list[str], count: int, seed: int) -> list[str]:
    """Distinct paths that begin like these and end in names that are in no document."""
    random = Random(seed)
    names = [f"absent-{number}" for number in range(max(_ABSENT_NAMES, count // len(texts) * 4))]
    made: dict[str, None] = {}
    while len(made) < count:
        steps = _STEP.findall(random.choice(texts))
        beginning = "".join(steps[: random.randint(1, len(steps))])
        made[f"{beginning}/{random.choice(names)}"] = None
    return list(made)


def memory(bench: MatchingBench) -> Iterator[Result]:
    """What a distinct linear subscription takes, by the matcher's report and by the system's."""
    texts = bench.paths(bench.sizes.many)
    work = f"memory of a subscription, {len(texts):,} paths"
    bench.progress(work)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paths"
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        # In a process of its own: here, freed memory that is used again would hide the growth.
        done = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import weigh; weigh()", str(file)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    figures: dict[str, Detail] = json.loads(done.stdout)
    bound = bench.goal(300, "many")
    yield Result(
        "memory-reported",
        f"{work}, as reported by stats()",
        float(figures.pop("reported")),
        "bytes",
        goal=bound,
    )
    resident = figures.pop("resident", None)
    if resident is not None:
        yield Result(
            "memory-resident",
            f"{work}, as the process grows",
            float(resident),
            "bytes",
            goal=bound,
            details=figures,
        )


def weigh() -> None:
    """Write, as JSON, the bytes that a subscription of the file given as an argument takes."""
    file = Path(sys.argv[1])
    with file.open(encoding="utf-8") as lines:
        # Whatever is imported or made at the first use is not counted.
        fill([next(lines).rstrip("\n")]).match("<a/>")
    give_back_memory()
    before = resident_bytes()
    with file.open(encoding="utf-8") as lines:
        matcher = fill(line.rstrip("\n") for line in lines)
    after = resident_bytes()
    stats = matcher.stats()
    weights: dict[str, Detail] = {
        "reported": stats.bytes / len(matcher),
        "states": stats.states,
        "subscriptions": len(matcher),
    }
    if before is not None and after is not None:
        weights["resident"] = (after - before) / len(matcher)
    sys.stdout.write(json.dumps(weights))


def give_back_memory() -> None:
    """Return what is free to the system, so that using it again shows as growth."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)
