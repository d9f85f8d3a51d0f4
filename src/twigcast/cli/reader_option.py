"""The option of commands that read documents: by whom."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from twigcast.matching import ReaderName


class Reader(StrEnum):
    """Who reads documents."""

    CHECKED = "checked"
    EXPAT = "expat"


READER = Annotated[
    Reader | None,
    typer.Option(help="Who reads documents: checked, Twigcast's own reader, or expat alone."),
]


def reader_name(chosen: Reader | None) -> ReaderName:
    """The reader that the option says."""
    return "expat" if chosen is Reader.EXPAT else "checked"
