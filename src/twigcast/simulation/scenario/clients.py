"""Clients that are made from a schema: where they are, what they advertise and subscribe to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from random import Random
from typing import Final

from twigcast.errors import ScenarioError, WorkloadError
from twigcast.language import Pattern
from twigcast.routing import ClientPlan, Overlay
from twigcast.schema import Schema
from twigcast.workload import (
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_subscriptions,
)

_APART: Final = 1_000_003
"""Between seeds that belong together, so that other seeds near by share none of them."""


def make_clients(
    overlay: Overlay,
    schema: Schema,
    seed: int,
    *,
    producers: int,
    subscribers: int | None,
    subscriptions: int,
    shape: TreeParameters | PathParameters,
    values: ValueParameters | None,
) -> tuple[ClientPlan, ...]:
    """Producers that advertise the schema, and subscribers with so many ``subscriptions`` each.

    The first producer is at the first broker, the others are at random ones; without a number of
    subscribers, one is at each broker with one link only.  Every subscriber draws its own
    subscriptions, so two of them may want the same.  Raises ScenarioError if there are not as many
    distinct ones as each is to have.
    """
    random = Random(seed)
    brokers = overlay.brokers
    sources = [brokers[0], *(random.choice(brokers) for _ in range(producers - 1))]
    if subscribers is None:
        at: Sequence[str] = overlay.leaves or brokers
    else:
        at = [random.choice(brokers) for _ in range(subscribers)]
    made = [
        ClientPlan(name, broker, advertisements={"feed": schema})
        for name, broker in zip(_names("producer", len(sources)), sources, strict=True)
    ]
    for number, (name, broker) in enumerate(zip(_names("subscriber", len(at)), at, strict=True)):
        own_seed = derived_seed(seed, number)
        patterns = generate_subscriptions(schema, shape, seed=own_seed, values=values)
        made.append(ClientPlan(name, broker, _numbered(islice(patterns, subscriptions))))
    return tuple(made)


def _numbered(patterns: Iterable[Pattern]) -> dict[str, Pattern]:
    try:
        return {f"s{number}": pattern for number, pattern in enumerate(patterns, start=1)}
    except WorkloadError as error:
        raise ScenarioError(
            f"{error}; ask for fewer with `subscriptions`, or let more of them differ: with more "
            "* and // (`wildcard`, `descendant`), or longer ones (`length`)"
        ) from None


def derived_seed(seed: int, number: int) -> int:
    """A seed for each of several; the first is the one given."""
    return seed + number * _APART


def _names(word: str, count: int) -> list[str]:
    width = len(str(count))
    return [f"{word}-{number:0{width}}" for number in range(1, count + 1)]
