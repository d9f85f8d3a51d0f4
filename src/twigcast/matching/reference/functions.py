"""All functions of XPath: importing the modules of functions fills the table."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from twigcast.matching.reference import (
    moment_functions,
    node_functions,
    number_functions,
    sequence_functions,
    text_functions,
)
from twigcast.matching.reference.definitions import DEFINITIONS, as_sequence

MODULES: Final[tuple[ModuleType, ...]] = (
    moment_functions,
    node_functions,
    number_functions,
    sequence_functions,
    text_functions,
)

__all__ = ["DEFINITIONS", "MODULES", "as_sequence"]
