"""Two sets of linear expressions that differ in how many of them another one covers.

Li, Hou and Jacobsen measure with 100,000 distinct expressions of NITF, at most ten steps long: in
Set A nine of ten are covered, in Set B every other.  They name W, the chance of ``*`` at a step,
and DO, that of ``//``, as what they varied, and not its values; :func:`find_setting` looks for
them, with W = DO.

Few expressions decide: one ``/nitf/*/*`` covers nearly all others, so W and DO are small, and the
same setting gives another share with another seed.  Hence a set is a setting *and* a seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from lab.benchmarks.generated import Generated
from lab.benchmarks.measure import Progress, quiet
from twigcast.covering import CoveringTable
from twigcast.language import Pattern
from twigcast.schema import Schema
from twigcast.workload import PathParameters, generate_subscriptions

_HIGHEST: Final = 0.05
_MOST_TRIES: Final = 12
_MOST_SEEDS: Final = 3
_CLOSE: Final = 0.01


@dataclass(frozen=True, slots=True)
class ExpressionSet:
    """A set of linear expressions: how it is generated, and the share that is covered."""

    name: str
    parameters: PathParameters
    seed: int
    share: float
    """The share of expressions that another one of the set covers."""
    count: int
    """How many expressions that share was measured with."""

    def take(self, schema: Schema, count: int) -> list[Pattern]:
        """So many expressions, or all that the schema has."""
        source = generate_subscriptions(schema, self.parameters, seed=self.seed)
        return Generated("expressions", source).take(count)


SET_A: Final = ExpressionSet(
    "Set A", PathParameters(wildcard=0.000536, descendant=0.000536), 1, 0.9, 100_000
)
"""Of the DTD of NITF 2.5: 89.56 % are covered."""
SET_B: Final = ExpressionSet(
    "Set B", PathParameters(wildcard=0.00011, descendant=0.00011), 1, 0.5, 100_000
)
"""Likewise: 50.03 %."""
PROTEIN: Final = ExpressionSet("proteins", PathParameters(descendant=0.5), 1, 0.92, 1_000)
"""For the protein DTD, which has so few paths that a single ``*`` at the right step covers nearly
everything: only ``//`` makes expressions differ.  92 % of a thousand are covered."""


def covered_share(patterns: Iterable[Pattern]) -> float:
    """The share of distinct patterns that are not maximal; of equivalent ones, one is."""
    table = CoveringTable()
    for number, pattern in enumerate(patterns):
        table.add(str(number), pattern)
    return 1 - len(table.forwarded) / len(table) if len(table) else 0.0


def find_setting(
    schema: Schema,
    share: float,
    count: int,
    *,
    name: str = "set",
    seed: int = 1,
    base: PathParameters | None = None,
    progress: Progress = quiet,
) -> ExpressionSet:
    """The setting with which so many expressions come nearest to a share that is covered.

    W = DO is halved in, and the search ends within a percent of the share.  More ``*`` and ``//``
    cover more on the whole, but by leaps, when an expression comes that covers very many; where
    one leaps over the share, the next seed is tried.  The nearest of all tries counts.
    """
    base = base or PathParameters()
    best: ExpressionSet | None = None
    for tried_seed in range(seed, seed + _MOST_SEEDS):
        low, high = 0.0, _HIGHEST
        for _ in range(_MOST_TRIES):
            # Few digits, so that the setting can be written down.
            chance = float(f"{(low + high) / 2:.3g}")
            progress(f"{name}: {count:,} expressions with W = DO = {chance:g}")
            parameters = replace(base, wildcard=chance, descendant=chance)
            candidate = ExpressionSet(name, parameters, tried_seed, 0.0, count)
            patterns = candidate.take(schema, count)
            # A small schema may not have so many, and looking for more takes long.
            count = len(patterns)
            candidate = replace(candidate, share=covered_share(patterns), count=count)
            if best is None or abs(candidate.share - share) < abs(best.share - share):
                best = candidate
            if abs(candidate.share - share) <= _CLOSE:
                return candidate
            low, high = (chance, high) if candidate.share < share else (low, chance)
    assert best is not None
    return best


def fitted(
    wanted: ExpressionSet, schema: Schema, count: int, progress: Progress = quiet
) -> ExpressionSet:
    """The set itself, if so many of its expressions have its share; else one that has.

    A setting fits one schema and one number of expressions.
    """
    if count == wanted.count:
        progress(f"{wanted.name}: {count:,} expressions")
        share = covered_share(wanted.take(schema, count))
        if abs(share - wanted.share) <= _CLOSE:
            return replace(wanted, share=share)
    return find_setting(
        schema, wanted.share, count, name=wanted.name, seed=wanted.seed, progress=progress
    )
