"""A client at its broker: what it has subscribed to and advertised."""

from __future__ import annotations

from collections.abc import Sequence

from twigcast.covering import Subscribers
from twigcast.language import Pattern
from twigcast.routing.promises import Promise


class Client:
    """A client, which is a source of interests, and perhaps of documents."""

    def __init__(self, name: str, source: int) -> None:
        self.name = name
        self.source = source
        self.subscriptions = Subscribers()
        self.advertised: dict[str, Promise] = {}

    def ids_of(self, patterns: Sequence[Pattern]) -> tuple[str, ...]:
        """The ids of the client's subscriptions to these patterns."""
        keys_of = self.subscriptions.keys_of
        if len(patterns) == 1:
            return tuple(keys_of(patterns[0]))
        return tuple([key for pattern in patterns for key in keys_of(pattern)])
