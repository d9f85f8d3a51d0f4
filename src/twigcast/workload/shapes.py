"""The parameters of generated subscriptions, as two publications of the field name them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from twigcast.errors import WorkloadError
from twigcast.keywords import exact_keywords

_HIGHEST = 100
"""Patterns are walked by recursion, and the language refuses deeper ones by default."""


@exact_keywords
@dataclass(frozen=True, slots=True)
class TreeParameters:
    """Tree patterns as Chand and Felber generate them for XNET; their settings by default.

    ``height`` (h) bounds the levels of a pattern; ``wildcard`` (p*) is the chance that ``*``
    stands for a tag, ``descendant`` (p//) that an edge is ``//``, ``branching`` (pλ) that a node
    has more than one child; ``skew`` (θ) is that of the Zipf distribution by which a tag is chosen
    among the children that the DTD allows.  ``distinct`` patterns come once each.
    """

    height: int = 10
    wildcard: float = 0.1
    descendant: float = 0.05
    branching: float = 0.1
    skew: float = 1.0
    distinct: bool = True

    def __post_init__(self) -> None:
        _check("height", self.height, 1, _HIGHEST)
        _check_chance("wildcard", self.wildcard)
        _check_chance("descendant", self.descendant)
        _check_chance("branching", self.branching)
        _check("skew", self.skew, 0, 10)


@exact_keywords
@dataclass(frozen=True, slots=True)
class PathParameters:
    """Linear expressions as Li, Hou and Jacobsen use them (the generator of Diao et al.).

    ``length`` (L) bounds the steps of an expression; ``wildcard`` (W) is the chance of ``*`` at a
    step, ``descendant`` (DO) that of ``//``; ``skew`` (θ) and ``distinct`` are those of
    :class:`TreeParameters`.

    Every expression goes on to an element without children or to the full length, so without
    ``*`` and ``//`` none covers another.  With ``shortest``, the length aimed at is drawn evenly
    between the two, and many expressions are prefixes of others and cover them.
    """

    length: int = 10
    wildcard: float = 0.0
    descendant: float = 0.0
    skew: float = 0.0
    distinct: bool = True
    shortest: int | None = None

    def __post_init__(self) -> None:
        _check("length", self.length, 1, _HIGHEST)
        if self.shortest is not None and not 1 <= self.shortest <= self.length:
            raise WorkloadError(
                f"shortest must be from 1 to the length {self.length}, not {self.shortest}"
            )
        _check_chance("wildcard", self.wildcard)
        _check_chance("descendant", self.descendant)
        _check("skew", self.skew, 0, 10)


def _check(name: str, value: float, least: int, most: int) -> None:
    if not least <= value <= most:
        raise WorkloadError(f"{name} must be from {least} to {most}, not {value}")


def _check_chance(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise WorkloadError(f"{name} is a probability, from 0 to 1, not {value}")


PATHS: Final = PathParameters(wildcard=0.02, descendant=0.02)
"""With as many as trees have, a few hundred contain ``/*``, and covering leaves nothing else."""
TREES: Final = TreeParameters(wildcard=0.1, descendant=0.05)
"""XNET's."""


class Shape(StrEnum):
    """What subscriptions look like."""

    PATH = "path"
    TREE = "tree"


def pattern_parameters(
    shape: Shape,
    length: int,
    wildcard: float | None,
    descendant: float | None,
    branching: float,
    skew: float,
    *,
    distinct: bool = True,
) -> TreeParameters | PathParameters:
    """The parameters of a shape; chances that are None are those usual for it."""
    usual = TREES if shape is Shape.TREE else PATHS
    wildcard = usual.wildcard if wildcard is None else wildcard
    descendant = usual.descendant if descendant is None else descendant
    if shape is Shape.TREE:
        return TreeParameters(length, wildcard, descendant, branching, skew, distinct)
    return PathParameters(
        length=length, wildcard=wildcard, descendant=descendant, skew=skew, distinct=distinct
    )
