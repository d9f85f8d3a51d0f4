"""A set of subscriptions under keys, asked for coverings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Unpack

from twigcast.covering.search import ItemSearch
from twigcast.covering.subscribers import SubscriptionSet
from twigcast.keywords import exact_keywords
from twigcast.language import BindingKeywords, Pattern, as_pattern

_FEW = 4
_Keys = tuple[str, ...] | dict[str, None]
"""The keys of a pattern: a few in a tuple, which is close together, many as they are kept."""


@dataclass(frozen=True, slots=True)
class CoverIndexStats:
    """How large an index is."""

    subscriptions: int
    patterns: int
    """Distinct ones: what is searched, however many keys each has."""
    trie_nodes: int
    """The nodes of the factorization tree: steps of all patterns, shared beginnings once."""


@exact_keywords
class CoverIndex(SubscriptionSet):
    """Subscriptions under keys, and which of them a pattern covers or is covered by.

    >>> index = CoverIndex()
    >>> index.add("alice", "//Stock[Price > 15]")
    >>> index.add("bob", "/Quotes/Stock[Price > 20]/Symbol")
    >>> index.covering("/Quotes/Stock[Price > 30]")
    ['alice']
    >>> sorted(index.covered_by("//Stock"))
    ['alice', 'bob']

    The answers are those of :func:`twigcast.covers`, pair by pair: always true, and on linear
    expressions complete.  A pattern covers itself.  One thread at a time may use an index.
    """

    __slots__ = ("_search",)

    def __init__(self) -> None:
        super().__init__()
        self._search: ItemSearch[_Keys] = ItemSearch()

    def add(
        self,
        key: str,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> None:
        """Add a subscription under a key of its own, with bindings as for :func:`twigcast.parse`.

        Raises :class:`~twigcast.errors.DuplicateKeyError` if the key is taken, and
        :class:`~twigcast.errors.SubscriptionError` for an expression outside the language.
        """
        pattern = as_pattern(subscription, namespaces, **bindings)
        if self._subscribers.add(key, pattern):
            with self._subscribers.undone_on_error(key):
                self._search.put(pattern, self._keys_of(pattern))
        else:
            self._search.replace(pattern, self._keys_of(pattern))

    def remove(self, key: str) -> None:
        """End a subscription; raises :class:`~twigcast.errors.UnknownKeyError` if there is none."""
        pattern, is_gone = self._subscribers.remove(key)
        if is_gone:
            self._search.remove(pattern)
        else:
            self._search.replace(pattern, self._keys_of(pattern))

    def _keys_of(self, pattern: Pattern) -> _Keys:
        keys = self._subscribers.keys_of(pattern)
        return tuple(keys) if len(keys) <= _FEW else keys

    def covered_by(
        self,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> list[str]:
        """The keys of the subscriptions that the given one covers, in no order."""
        pattern = as_pattern(subscription, namespaces, **bindings)
        return list(chain.from_iterable(self._search.covered_by(pattern)))

    def covering(
        self,
        subscription: str | Pattern,
        namespaces: Mapping[str, str] | None = None,
        **bindings: Unpack[BindingKeywords],
    ) -> list[str]:
        """The keys of the subscriptions that cover the given one, in no order."""
        pattern = as_pattern(subscription, namespaces, **bindings)
        return list(chain.from_iterable(self._search.covering(pattern)))

    def stats(self) -> CoverIndexStats:
        """How large the index is."""
        return CoverIndexStats(len(self._subscribers), len(self._search), self._search.trie_nodes)

    def __repr__(self) -> str:
        return f"<CoverIndex of {len(self):,} subscriptions, {len(self._search):,} patterns>"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (tuple((key, self[key]) for key in self),)


def _restored(subscriptions: tuple[tuple[str, Pattern], ...]) -> CoverIndex:
    index = CoverIndex()
    for key, pattern in subscriptions:
        index.add(key, pattern)
    return index
