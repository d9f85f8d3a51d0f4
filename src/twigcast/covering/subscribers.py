"""Which keys stand behind which pattern."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twigcast.errors import DuplicateKeyError, UnknownKeyError
from twigcast.language import Pattern


class Subscribers:
    """Patterns by key, and the keys of each pattern, in the order in which they came."""

    __slots__ = ("_keys", "_patterns")

    def __init__(self) -> None:
        self._patterns: dict[str, Pattern] = {}
        self._keys: dict[Pattern, dict[str, None]] = {}

    def add(self, key: str, pattern: Pattern) -> bool:
        """Put a key behind a pattern; whether it is the first."""
        if not isinstance(key, str):
            raise TypeError(f"a key is a str, not {type(key).__name__}")
        if key in self._patterns:
            raise DuplicateKeyError(key)
        self._patterns[key] = pattern
        keys = self._keys.get(pattern)
        if keys is None:
            self._keys[pattern] = {key: None}
            return True
        keys[key] = None
        return False

    @contextmanager
    def undone_on_error(self, key: str) -> Iterator[None]:
        """Take the key away again where what follows its addition fails."""
        try:
            yield
        except BaseException:
            self.remove(key)
            raise

    def remove(self, key: str) -> tuple[Pattern, bool]:
        """Take a key away; the pattern it stood behind, and whether nobody else does."""
        pattern = self._patterns.pop(key, None)
        if pattern is None:
            raise UnknownKeyError(key)
        keys = self._keys[pattern]
        del keys[key]
        if keys:
            return pattern, False
        del self._keys[pattern]
        return pattern, True

    def keys_of(self, pattern: Pattern) -> dict[str, None]:
        """The keys behind a pattern, which change with additions and removals."""
        return self._keys.get(pattern, {})

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The distinct patterns."""
        return tuple(self._keys)

    def __len__(self) -> int:
        return len(self._patterns)

    def __contains__(self, key: object) -> bool:
        return key in self._patterns

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._patterns))

    def __getitem__(self, key: str) -> Pattern:
        pattern = self._patterns.get(key)
        if pattern is None:
            raise UnknownKeyError(key)
        return pattern


class SubscriptionSet:
    """What all sets of subscriptions under keys have in common: they are read like a mapping."""

    __slots__ = ("_subscribers",)

    def __init__(self) -> None:
        self._subscribers = Subscribers()

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._subscribers)

    def __contains__(self, key: object) -> bool:
        return key in self._subscribers

    def __iter__(self) -> Iterator[str]:
        """The keys, as they are at the start."""
        return iter(self._subscribers)

    def __getitem__(self, key: str) -> Pattern:
        """The pattern of a subscription."""
        return self._subscribers[key]
