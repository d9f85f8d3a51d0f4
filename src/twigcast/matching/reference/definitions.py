"""The table of functions that the modules of functions fill.

    @define("contains", "text", "text")
    def contains(text: str, part: str) -> bool: …

says that ``contains()`` takes two texts, converted as :mod:`parameters` has it.  Arguments at the
end may be left out if the Python function has defaults for them.  A Python value that is returned
stands for the XPath value of the type that fits; None is the empty sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from twigcast.matching.reference.items import Atomic, Plain, Sequence, atomic
from twigcast.matching.reference.nodes import Node
from twigcast.matching.reference.parameters import convert_argument
from twigcast.matching.reference.setting import Setting

_NOT_ATOMIZED: Final = ("items", "nodes", "node?", "boolean")

Returned: TypeAlias = Plain | Atomic | Node | Sequence | None
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Definition:
    """A function and the kinds of its parameters; the last repeats if there are more arguments."""

    function: Callable[..., Any]
    parameters: tuple[str, ...]
    needs_setting: bool

    def call(self, setting: Setting, arguments: list[Sequence]) -> Sequence:
        """The value of the function."""
        kinds = [self.parameters[min(n, len(self.parameters) - 1)] for n in range(len(arguments))]
        for kind, argument in zip(kinds, arguments, strict=True):
            if kind not in _NOT_ATOMIZED:
                setting.charge(argument)
        converted = [
            convert_argument(kind, argument, is_version_2=setting.is_version_2)
            for kind, argument in zip(kinds, arguments, strict=True)
        ]
        result: Returned = self.function(*[setting] * self.needs_setting, *converted)
        return as_sequence(result)


DEFINITIONS: Final[dict[str, Definition]] = {}


def define(name: str, *parameters: str, needs_setting: bool = False) -> Callable[[F], F]:
    """Enter a function into the table."""

    def enter(function: F) -> F:
        DEFINITIONS[name] = Definition(function, parameters, needs_setting)
        return function

    return enter


def as_sequence(value: Returned) -> Sequence:
    """What a function returned, as a sequence."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    return [value if isinstance(value, Node | Atomic) else atomic(value)]
