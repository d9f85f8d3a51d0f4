"""The options that describe subscriptions, for the commands that make some."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from twigcast.workload import PathParameters, TreeParameters

PATHS: Final = PathParameters(wildcard=0.02, descendant=0.02)
"""With as many as trees have, a few hundred contain ``/*``, and covering leaves nothing else."""
TREES: Final = TreeParameters(wildcard=0.1, descendant=0.05)
"""The parameters of XNET."""
_WILDCARD: Final = "The probability of * at a step"
_DESCENDANT: Final = "The probability of // at a step"


class Shape(StrEnum):
    """The shapes of generated subscriptions."""

    PATH = "path"
    TREE = "tree"


RootOption = Annotated[
    str | None, typer.Option(help="The root element, where the DTD leaves it open.")
]
ShapeOption = Annotated[
    Shape, typer.Option(help="Linear expressions (Li et al.) or tree patterns (XNET).")
]
LengthOption = Annotated[
    int, typer.Option(min=1, max=100, help="The greatest height of a tree or length of a path.")
]
WildcardOption = Annotated[float, typer.Option(min=0, max=1, help=f"{_WILDCARD}.")]
DescendantOption = Annotated[float, typer.Option(min=0, max=1, help=f"{_DESCENDANT}.")]
WildcardByShape = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help=f"{_WILDCARD}; {PATHS.wildcard} for paths and {TREES.wildcard} for trees by default.",
    ),
]
DescendantByShape = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help=f"{_DESCENDANT}; {PATHS.descendant} for paths and {TREES.descendant} for trees by "
        "default.",
    ),
]
BranchingOption = Annotated[
    float,
    typer.Option(min=0, max=1, help="Trees: the probability of more than one child at a node."),
]
SkewOption = Annotated[
    float, typer.Option(min=0, max=10, help="The Zipf exponent of the choice of tags.")
]
ValuesOption = Annotated[
    float, typer.Option(min=0, max=1, help="The share of subscriptions that compare a value.")
]


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
    """What the options say; chances that were left out are those usual for the shape."""
    usual = TREES if shape is Shape.TREE else PATHS
    wildcard = usual.wildcard if wildcard is None else wildcard
    descendant = usual.descendant if descendant is None else descendant
    if shape is Shape.TREE:
        return TreeParameters(length, wildcard, descendant, branching, skew, distinct)
    return PathParameters(
        length=length, wildcard=wildcard, descendant=descendant, skew=skew, distinct=distinct
    )
