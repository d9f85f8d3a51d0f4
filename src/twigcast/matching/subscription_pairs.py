"""The forms in which a matcher takes many subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from twigcast.language import Pattern, Subscription

Subscriptions: TypeAlias = (
    Mapping[str, str | Pattern] | Iterable[tuple[str, str | Pattern] | Subscription]
)
"""Expressions or patterns by key: a mapping, pairs, or what ``read_subscriptions`` gives."""


def pairs_of(subscriptions: Subscriptions) -> Iterator[tuple[str, str | Pattern]]:
    """The keys and what each subscribes to; TypeError for every other form."""
    if isinstance(subscriptions, Mapping):
        yield from subscriptions.items()
        return
    form = "subscriptions are a mapping from keys to expressions, pairs of both, or Subscriptions"
    if isinstance(subscriptions, str | Pattern):
        raise TypeError(f"{form}; a single one is added by add(key, expression)")
    for each in subscriptions:
        try:
            key, subscription = (each.key, each.pattern) if isinstance(each, Subscription) else each
        except (TypeError, ValueError):
            raise TypeError(f"{form}, not {each!r:.60}") from None
        yield key, subscription
