"""Rows of the tables of a broker, to look at: the papers' routing tables."""

from __future__ import annotations

from typing import NamedTuple

from twigcast.language import Pattern
from twigcast.routing.messages import AdvertisementKey
from twigcast.routing.promises import Promise


class AdvertisementEntry(NamedTuple):
    """A row of the subscription routing table."""

    key: AdvertisementKey
    promise: Promise
    last_hop: str


class SubscriptionEntry(NamedTuple):
    """A row of the publication routing table."""

    pattern: Pattern
    last_hop: str
    trees: frozenset[str] | None
    """The trees whose documents it is for; None for a client, who takes all."""
