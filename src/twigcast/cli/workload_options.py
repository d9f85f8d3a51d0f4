"""The options that describe subscriptions, for the commands that make some."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from twigcast.workload import PATHS, TREES, Shape

_WILDCARD: Final = "The probability of * at a step"
_DESCENDANT: Final = "The probability of // at a step"


RootOption = Annotated[
    str | None, typer.Option(help="The root element, where the schema leaves it open.")
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
