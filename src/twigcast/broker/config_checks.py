"""What sections of a configuration refuse, and how they say it."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NoReturn

from twigcast.broker.addresses import Address
from twigcast.errors import ConfigError


def refuse(where: str, reason: str) -> NoReturn:
    """Say what is wrong with a key, and the remedy."""
    raise ConfigError(reason, where=where) from None


def read_address(where: str, text: str) -> Address:
    """The address that a key has."""
    try:
        return Address.parse(text)
    except ValueError as error:
        refuse(where, str(error))


def require_one_of(where: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse what is none of the values that are known."""
    if value not in known:
        choices = " or ".join(f'"{each}"' for each in known)
        refuse(where, f"{value!r} is not known; write {choices}")


def require_above_zero(where: str, value: float) -> None:
    """Refuse what is not above 0."""
    if not 0 < value < inf:
        refuse(where, f"{value:g} is out of range; write more than 0")


def require_distinct(where: str, key: str, values: Iterable[str]) -> None:
    """Refuse entries that have a value in common."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            refuse(where, f"two entries have the {key} {value!r}; keep one, or change the other")
        seen.add(value)
