"""A client at its broker: what it has subscribed to and advertised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from twigcast.covering import Subscribers
from twigcast.language import Pattern
from twigcast.routing.messages import AdvertisementKey
from twigcast.routing.promises import Promise


class Wants:
    """What a client subscribes to within one scope, which is a source of interests."""

    def __init__(self, client: str, scope: int, source: int) -> None:
        self.client = client
        self.scope = scope
        self.source = source
        self.subscriptions = Subscribers()

    def ids_of(self, patterns: Sequence[Pattern]) -> tuple[str, ...]:
        """The ids of the subscriptions to these patterns."""
        keys_of = self.subscriptions.keys_of
        if len(patterns) == 1:
            return tuple(keys_of(patterns[0]))
        return tuple([key for pattern in patterns for key in keys_of(pattern)])


class Client:
    """A client: sources of interests, one for each scope, and perhaps a source of documents."""

    def __init__(self, name: str, new_source: Callable[[int], int]) -> None:
        self.name = name
        self._new_source = new_source
        self._wants = {0: Wants(name, 0, new_source(0))}
        self.advertised: dict[str, Promise] = {}
        self._kept_within: dict[str, int] = {}
        """The scopes of advertisements that have one."""

    @property
    def wants(self) -> Iterator[Wants]:
        """What it subscribes to, by scope."""
        return iter(self._wants.values())

    @property
    def subscription_count(self) -> int:
        """How many subscriptions it has."""
        return sum(len(each.subscriptions) for each in self._wants.values())

    def within(self, scope: int) -> Wants:
        """What it subscribes to within a scope; perhaps nothing yet."""
        wants = self._wants.get(scope)
        if wants is None:
            wants = self._wants[scope] = Wants(self.name, scope, self._new_source(scope))
        return wants

    def wants_with(self, key: str) -> Wants | None:
        """Those that a subscription is among; None where there is no such subscription."""
        return next((each for each in self._wants.values() if key in each.subscriptions), None)

    def drop_empty(self, wants: Wants) -> bool:
        """Go on without wants in a scope if there are none any more; whether that is so."""
        if wants.scope == 0 or len(wants.subscriptions):
            return False
        del self._wants[wants.scope]
        return True

    def advertise(self, key: str, promise: Promise, scope: int) -> None:
        """Note what the client promises."""
        self.advertised[key] = promise
        if scope:
            self._kept_within[key] = scope

    def unadvertise(self, key: str) -> bool:
        """Note that the client promises something no longer; whether it did."""
        self._kept_within.pop(key, None)
        return self.advertised.pop(key, None) is not None

    def advertisements(self, broker: str) -> Mapping[AdvertisementKey, Promise]:
        """What the client promises at a broker, as it is called in the network."""
        scopes = self._kept_within
        return {
            AdvertisementKey(broker, self.name, key, scopes.get(key, 0)): promise
            for key, promise in self.advertised.items()
        }
