"""Views of a matcher that is changed by others while somebody looks."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

from twigcast.language import Pattern


class Items(ItemsView[str, Pattern]):
    """The items of a matcher, for as long as they are there."""

    _mapping: Mapping[str, Pattern]

    def __iter__(self) -> Iterator[tuple[str, Pattern]]:
        for key in self._mapping:
            pattern = self._mapping.get(key)
            if pattern is not None:
                yield key, pattern


class Values(ValuesView[Pattern]):
    """The values of a matcher, for as long as they are there."""

    _mapping: Mapping[str, Pattern]

    def __iter__(self) -> Iterator[Pattern]:
        return (pattern for _, pattern in self._mapping.items())
