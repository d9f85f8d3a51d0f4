"""An overlay: brokers, and the links between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from twigcast.errors import OverlayError


class Link(NamedTuple):
    """Two brokers that are connected; ``first`` is the lesser name."""

    first: str
    second: str

    @staticmethod
    def between(one: str, other: str) -> Link:
        """The link between two brokers, whichever is named first."""
        return Link(one, other) if one < other else Link(other, one)

    def other(self, broker: str) -> str:
        """The broker at the other end."""
        return self.second if broker == self.first else self.first

    def __str__(self) -> str:
        return f"{self.first}-{self.second}"


class LinkTraits(NamedTuple):
    """What is known of a link: what it adds to a path, and how long a message is on it."""

    cost: float = 1.0
    latency: float = 0.001
    """In seconds."""


class Overlay:
    """Brokers by name, and links between them with costs and latencies.  Immutable.

    Where brokers are arranged in units, ``gateways`` says which brokers stand for units, and for
    which at most (:mod:`twigcast.hierarchy`).

    Not every broker need be reachable from every other one; those that are not are networks of
    their own.  Raises :class:`~twigcast.errors.OverlayError` for a link to a broker that is not
    there or to itself, for two links between the same brokers, and for costs that are not above 0.
    """

    def __init__(
        self,
        brokers: Iterable[str],
        links: Mapping[tuple[str, str], LinkTraits] | Iterable[tuple[str, str]],
        gateways: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.gateways = MappingProxyType(dict(gateways))
        self._neighbours: dict[str, dict[str, LinkTraits]] = {}
        for broker in brokers:
            if not broker:  # which is the name of the tree that all share
                raise OverlayError("a broker has a name; it must not be empty")
            if broker in self._neighbours:
                raise OverlayError(f"there are two brokers of the name {broker!r}")
            self._neighbours[broker] = {}
        self._links: dict[Link, LinkTraits] = {}
        pairs = links.items() if isinstance(links, Mapping) else ((each, None) for each in links)
        for (one, other), traits in pairs:
            self._add(one, other, LinkTraits() if traits is None else LinkTraits(*traits))

    def _add(self, one: str, other: str, traits: LinkTraits) -> None:
        for end in (one, other):
            if end not in self._neighbours:
                raise OverlayError(f"the link {one}-{other}: there is no broker {end!r}")
        if one == other:
            raise OverlayError(f"the broker {one!r} is linked to itself")
        if not 0 < traits.cost < float("inf") or not 0 <= traits.latency < float("inf"):
            raise OverlayError(
                f"the link {one}-{other}: a cost is above 0 and a latency not below, not "
                f"{traits.cost} and {traits.latency}"
            )
        link = Link.between(one, other)
        if link in self._links:
            raise OverlayError(f"there are two links between {one!r} and {other!r}")
        self._links[link] = traits
        self._neighbours[one][other] = traits
        self._neighbours[other][one] = traits

    @property
    def brokers(self) -> tuple[str, ...]:
        """The names of the brokers, in the order in which they were given."""
        return tuple(self._neighbours)

    @property
    def links(self) -> Mapping[Link, LinkTraits]:
        """The links and what is known of them."""
        return MappingProxyType(self._links)

    def neighbours(self, broker: str) -> Mapping[str, LinkTraits]:
        """The brokers that one is linked to."""
        neighbours = self._neighbours.get(broker)
        if neighbours is None:
            raise OverlayError(f"there is no broker {broker!r}")
        return MappingProxyType(neighbours)

    def link(self, one: str, other: str) -> Link:
        """The link between two brokers; OverlayError if there is none."""
        link = Link.between(one, other)
        if link not in self._links:
            raise OverlayError(f"there is no link between {one!r} and {other!r}")
        return link

    @property
    def leaves(self) -> tuple[str, ...]:
        """The brokers with one link at most."""
        return tuple(name for name, links in self._neighbours.items() if len(links) < 2)

    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The brokers that links connect with each other, the most first; usually that is all."""
        parts: list[tuple[str, ...]] = []
        seen: set[str] = set()
        for start in self:
            if start not in seen:
                part = {start: None}
                waiting = [start]
                while waiting:
                    further = [each for each in self.neighbours(waiting.pop()) if each not in part]
                    waiting += further
                    part |= dict.fromkeys(further)
                seen.update(part)
                parts.append(tuple(part))
        return tuple(sorted(parts, key=len, reverse=True))

    def __contains__(self, broker: object) -> bool:
        return broker in self._neighbours

    def __len__(self) -> int:
        """The number of brokers."""
        return len(self._neighbours)

    def __iter__(self) -> Iterator[str]:
        return iter(self.brokers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Overlay):
            return NotImplemented
        return (
            set(self) == set(other)
            and self._links == other._links
            and self.gateways == other.gateways
        )

    def __repr__(self) -> str:
        return f"<Overlay of {len(self):,} brokers and {len(self._links):,} links>"
