"""Matching for destinations with and without skipping: Figure 2 of NaradaBrokering.

Profiles are spread evenly over 32 destinations.  The paper asks one after the other whether the
document matches; with skipping, only those whose destination is not found yet.  Beside that stands
what a matcher does with all of them at once: name those that match, or find the destinations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy

from lab.benchmarks.charts import Level, Line, Panel
from lab.benchmarks.measure import Measurement, followed, measure
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.published.figures import (
    NARADA,
    NARADA_DESTINATIONS,
    NARADA_DOCUMENT,
    NARADA_MATCH_MILLISECONDS,
    NARADA_SKIPPING_MILLISECONDS,
)
from twigcast import Matcher
from twigcast.language import parse
from twigcast.matching import CompactDocument, CompiledPattern, compile_pattern

_FULL: Final = (1_000, 10_000, 100_000, 1_000_000)
_QUICK: Final = (1_000, 10_000)
_COMPILED: Final = 10_000
"""One by one, so many profiles are compiled, and serve in turn where there are more."""
_NAMED: Final = 1_000_000
"""Profiles that a call is to name at most, so that a set of any size takes as long."""
_DOCUMENTS: Final = 1_000
_HIGHEST: Final = 4.0
"""Profiles ask for prices above thresholds from 0 to this; the document costs 2.90."""

ONE_BY_ONE: Final = "one by one"
SKIPPING: Final = "one by one, skipping"
NAMED: Final = "all at once, named"
DESTINATIONS: Final = "all at once, destinations"
METHODS: Final = (ONE_BY_ONE, SKIPPING, NAMED, DESTINATIONS)


@dataclass(frozen=True, slots=True)
class _Figures:
    """The times of the methods with so many profiles, and how much they looked at."""

    count: int
    times: dict[str, Measurement]
    matching: int
    evaluated: int
    looked_at: int

    def milliseconds(self, method: str) -> float:
        return self.times[method].seconds * 1e3


def destination_skipping(setting: Setting) -> Outcome:
    """Match the paper's document with sets of profiles that grow."""
    figures = [_measure(setting, count) for count in (_FULL if setting.full else _QUICK)]
    least, most = NARADA_SKIPPING_MILLISECONDS
    remarks = [
        (
            f"The document is the paper's, and profiles are like its query type: "
            f"/menu/softdrinks[price>t] with t from 0 to {_HIGHEST:g}, all distinct, in random "
            f"order, spread evenly over {NARADA_DESTINATIONS} destinations.  The paper does not "
            "say how many of its profiles match."
        ),
        (
            f"The paper's time without skipping is {NARADA_MATCH_MILLISECONDS:g} ms for each "
            f"profile; with skipping it prints {least:g} to {most:g} ms for all sizes."
        ),
        (
            "'evaluated' are the profiles asked one by one with skipping; 'looked at' are the "
            "label paths, values and patterns that the matcher looks at for the destinations."
        ),
        "All methods found the same destinations.",
    ]
    return Outcome([_sheet(figures)], [_panel(figures)], remarks)


def _measure(setting: Setting, count: int) -> _Figures:
    work = f"{count:,} profiles"
    profiles = _profiles(count, setting.seed)
    compiled = [compile_pattern(parse(text)) for text in profiles[:_COMPILED]]
    matcher = Matcher()
    for number, text in enumerate(followed(profiles, f"adding {work}", setting.progress)):
        matcher.add(str(number), text, destination=number % NARADA_DESTINATIONS)
    some = [NARADA_DOCUMENT] * max(1, _NAMED // count)
    many = [NARADA_DOCUMENT] * _DOCUMENTS
    # A matcher puts thresholds in order once it has met enough documents to pay for that.
    matcher.match_destinations([NARADA_DOCUMENT] * (count // 50))
    answers: dict[str, Callable[[], set[int]]] = {
        ONE_BY_ONE: lambda: _ask_all(compiled, count),
        SKIPPING: lambda: _ask_those_that_may_add(compiled, count)[0],
        NAMED: lambda: _name(matcher, some),
        DESTINATIONS: lambda: set(matcher.match_destinations(many)[0]),
    }
    expected = set(range(NARADA_DESTINATIONS))
    assert all(answer() == expected for answer in answers.values())
    units = {ONE_BY_ONE: 1, SKIPPING: 1, NAMED: len(some), DESTINATIONS: len(many)}
    setting.progress(f"matching with {work}")
    times = measure(work, answers, units=units, rounds=setting.rounds, clock=time.process_time)
    return _Figures(
        count,
        {one.method: one for one in times},
        len(matcher.match(NARADA_DOCUMENT)),
        _ask_those_that_may_add(compiled, count)[1],
        matcher.match_destinations([NARADA_DOCUMENT]).looked_at[0],
    )


def _profiles(count: int, seed: int) -> list[str]:
    thresholds = [_HIGHEST * (number + 0.5) / count for number in range(count)]
    Random(seed).shuffle(thresholds)
    return [f"/menu/softdrinks[price>{threshold:.9f}]" for threshold in thresholds]


def _ask_all(compiled: Sequence[CompiledPattern], count: int) -> set[int]:
    """The destinations of all profiles that match, each of which is asked."""
    document = CompactDocument(NARADA_DOCUMENT)
    return {
        number % NARADA_DESTINATIONS
        for number in range(count)
        if document.matches(compiled[number % _COMPILED])
    }


def _ask_those_that_may_add(
    compiled: Sequence[CompiledPattern], count: int
) -> tuple[set[int], int]:
    """The same without those whose destination is found; and how many were asked."""
    document = CompactDocument(NARADA_DOCUMENT)
    vector = asked = 0
    for number in range(count):
        bit = 1 << number % NARADA_DESTINATIONS
        if vector & bit:
            continue
        asked += 1
        if document.matches(compiled[number % _COMPILED]):
            vector |= bit
    return {bit for bit in range(NARADA_DESTINATIONS) if vector >> bit & 1}, asked


def _name(matcher: Matcher, documents: Sequence[bytes]) -> set[int]:
    """The destinations by the numbers of all subscriptions that the documents match."""
    numbers = numpy.asarray(matcher.match_batch(documents).ids)
    return set(numpy.flatnonzero(numpy.bincount(numbers % NARADA_DESTINATIONS)).tolist())


def _sheet(figures: Sequence[_Figures]) -> Sheet:
    least, most = NARADA_SKIPPING_MILLISECONDS
    rows: list[list[Cell]] = [
        [
            one.count,
            *(one.count * NARADA_MATCH_MILLISECONDS, f"{least:g} to {most:g}"),
            *(one.milliseconds(method) for method in METHODS),
            *(one.matching, one.evaluated, one.looked_at),
        ]
        for one in figures
    ]
    columns = (
        "profiles",
        *("paper, ms", "paper, skipping, ms"),
        *(f"{method}, ms" for method in METHODS),
        *("matching", "evaluated", "looked at"),
    )
    return Sheet("destination-skipping", "Figure 2: the time of a document", columns, rows)


def _panel(figures: Sequence[_Figures]) -> Panel:
    paper = [(one.count, one.count * NARADA_MATCH_MILLISECONDS) for one in figures]
    lines = [
        Line(method, [(one.count, one.milliseconds(method)) for one in figures], style)
        for style, method in enumerate(METHODS)
    ]
    lines.append(Line("paper, 3 ms a profile", paper, 0, published=True))
    _, most = NARADA_SKIPPING_MILLISECONDS
    level = Level(f"{NARADA}: skipping, at most", most)
    return Panel(
        "the paper's menu",
        "profiles",
        "milliseconds a document",
        lines,
        (level,),
        log_across=True,
        log_upward=True,
    )


EXPERIMENT: Final = Experiment(
    "destination-skipping",
    "the time to find the destinations of a document, with and without skipping",
    f"{NARADA}, Figure 2",
    destination_skipping,
)
