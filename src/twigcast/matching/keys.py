"""The keys and the destinations of subscriptions, checked, as the kernel has them."""

from __future__ import annotations

import operator

from twigcast.matching._kernel import DESTINATION_COUNT, NO_DESTINATION


def key_bytes(key: str, errors: str = "surrogatepass") -> bytes:
    """A key that may be in a matcher."""
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not {type(key).__name__}")
    return key.encode(errors=errors)


def destination_number(destination: int | None) -> int:
    """A destination as the kernel has it."""
    if destination is None:
        return NO_DESTINATION
    number = operator.index(destination)
    if not 0 <= number < DESTINATION_COUNT:
        raise ValueError(
            f"destinations are numbers from 0 to {DESTINATION_COUNT - 1:,}, not {number:,}; "
            "number them from 0"
        )
    return number


def new_key(key: str) -> bytes:
    """A key that comes into a matcher."""
    try:
        return key_bytes(key, "strict")
    except UnicodeEncodeError:
        raise ValueError(f"the key {key!r} has half a character, which UTF-8 cannot hold") from None
