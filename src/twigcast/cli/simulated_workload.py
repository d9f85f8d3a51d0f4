"""What ``twigcast simulate`` lets clients do: who is where, who wants what, who publishes what.

    topology, DTD, counts, seed ──► NetworkPlan ─┐
    network file ─────────────────► NetworkPlan ─┼──► SimulatedWorkload ──► a run for each strategy
    files, or the advertised DTDs ─► documents ──┘

A workload is made once and is the same for all strategies, so their figures can be compared; it
depends on nothing but what it is made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from twigcast.documents import decompose
from twigcast.errors import DocumentError, NetworkError, OverlayError, WorkloadError
from twigcast.language import Pattern
from twigcast.matching import Matcher
from twigcast.routing import Anything, ClientPlan, LinkTraits, NetworkPlan, Overlay, Promise
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

_APART: Final = 1_000_003
"""Between seeds that belong together, so that other seeds near by share none of them."""


class SimulatedDocument(NamedTuple):
    """A document, who publishes it, and its name for people."""

    name: str
    producer: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Expected:
    """Who is to get what."""

    wanted: Sequence[Mapping[str, frozenset[str]]]
    """For each document the clients that want it and can be reached, and the ids of their
    subscriptions that match."""
    unreachable: int
    """The deliveries to clients that want a document and are in another part of the overlay."""

    @property
    def deliveries(self) -> int:
        """How many there are to be."""
        return sum(map(len, self.wanted))


@dataclass(frozen=True)
class SimulatedWorkload:
    """An overlay with its clients, and documents in the order of publishing."""

    plan: NetworkPlan
    documents: Sequence[SimulatedDocument]

    @property
    def overlay(self) -> Overlay:
        """The brokers and links."""
        return self.plan.overlay

    @property
    def producers(self) -> tuple[ClientPlan, ...]:
        """The clients that advertise something."""
        return tuple(client for client in self.plan.clients if client.advertisements)

    @property
    def subscribers(self) -> tuple[ClientPlan, ...]:
        """The clients that subscribe to something."""
        return tuple(client for client in self.plan.clients if client.subscriptions)

    def brokers_of(self, clients: Iterable[ClientPlan]) -> dict[str, int]:
        """How many of the clients are at each broker."""
        counts: dict[str, int] = {}
        for client in clients:
            counts[client.broker] = counts.get(client.broker, 0) + 1
        return counts

    @cached_property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The brokers that links connect with each other, the most first; usually that is all."""
        found: list[tuple[str, ...]] = []
        seen: set[str] = set()
        for start in self.overlay:
            if start not in seen:
                part = {start: None}
                waiting = [start]
                while waiting:
                    further = [
                        each for each in self.overlay.neighbours(waiting.pop()) if each not in part
                    ]
                    waiting += further
                    part |= dict.fromkeys(further)
                seen.update(part)
                found.append(tuple(part))
        return tuple(sorted(found, key=len, reverse=True))

    def expected(self) -> Expected:
        """Who is to get what, found with one matcher for all subscriptions and without a router.

        Where the overlay is in several parts, nothing gets from one to the other.
        """
        matcher = Matcher()
        holders: dict[str, list[tuple[str, str]]] = {}
        for client in self.subscribers:
            for key, pattern in client.subscriptions.items():
                found = holders.setdefault(str(pattern), [])
                if not found:
                    matcher.add(str(pattern), pattern)
                found.append((client.name, key))
        parts = {broker: number for number, part in enumerate(self.parts) for broker in part}
        part_of = {client.name: parts[client.broker] for client in self.plan.clients}
        matches = matcher.match_batch([document.content for document in self.documents])
        reachable = []
        unreachable = 0
        for document, texts in zip(self.documents, matches, strict=True):
            wanted: dict[str, set[str]] = {}
            for text in texts:
                for client_name, key in holders[text]:
                    wanted.setdefault(client_name, set()).add(key)
            here = part_of[document.producer]
            reached = {
                name: frozenset(keys) for name, keys in wanted.items() if part_of[name] == here
            }
            reachable.append(reached)
            unreachable += len(wanted) - len(reached)
        return Expected(reachable, unreachable)


# --- clients --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clients:
    """How many clients to make: without ``subscribers``, one at each broker with one link only."""

    subscriptions: int
    """Of each subscriber."""
    subscribers: int | None
    producers: int
    shape: TreeParameters | PathParameters
    values: ValueParameters | None


def place_clients(
    overlay: Overlay, schema: Schema, clients: Clients, seed: int
) -> tuple[ClientPlan, ...]:
    """Producers that advertise the schema, and subscribers that want something of it.

    The first producer is at the first broker, the others are at random ones.  Every subscriber
    draws its own subscriptions, so two of them may want the same.  Raises WorkloadError if there
    are not as many distinct ones as each is to have.
    """
    random = Random(seed)
    brokers = overlay.brokers
    sources = [brokers[0], *(random.choice(brokers) for _ in range(clients.producers - 1))]
    if clients.subscribers is None:
        places: Sequence[str] = overlay.leaves or brokers
    else:
        places = [random.choice(brokers) for _ in range(clients.subscribers)]
    found = [
        ClientPlan(name, broker, advertisements={"feed": schema})
        for name, broker in zip(_names("producer", len(sources)), sources, strict=True)
    ]
    for number, (name, broker) in enumerate(
        zip(_names("subscriber", len(places)), places, strict=True)
    ):
        drawn = _draw_subscriptions(schema, clients, _derived(seed, number))
        found.append(ClientPlan(name, broker, drawn))
    return tuple(found)


def _draw_subscriptions(schema: Schema, clients: Clients, seed: int) -> dict[str, Pattern]:
    patterns = generate_subscriptions(schema, clients.shape, seed=seed, values=clients.values)
    numbered = enumerate(islice(patterns, clients.subscriptions), start=1)
    try:
        return {f"s{number}": pattern for number, pattern in numbered}
    except WorkloadError as error:
        raise WorkloadError(
            f"{error}; ask for fewer with --subscriptions, or let more of them differ: with more "
            "* and // (--wildcard, --descendant), or longer ones (--length)"
        ) from None


def _derived(seed: int, number: int) -> int:
    """A seed for each of several; the first is the one given."""
    return seed + number * _APART


def _names(word: str, count: int) -> list[str]:
    width = len(str(count))
    return [f"{word}-{number:0{width}}" for number in range(1, count + 1)]


def with_latency(overlay: Overlay, seconds: float) -> Overlay:
    """The same overlay with one latency for all links."""
    links = {link: LinkTraits(traits.cost, seconds) for link, traits in overlay.links.items()}
    return Overlay(overlay.brokers, links)


# --- documents ------------------------------------------------------------------------------------


def draw_documents(clients: Iterable[ClientPlan], count: int, seed: int) -> list[SimulatedDocument]:
    """Documents of the schemas that clients advertise, each of these publishing in turn.

    Clients with the same schema share one sequence of documents, so how many there are does not
    change what is published.
    """
    streams: dict[Schema, Iterator[bytes]] = {}
    turns: list[tuple[str, Iterator[bytes]]] = []
    for client in clients:
        for promise in client.advertisements.values():
            if isinstance(promise, Schema):
                if promise not in streams:
                    drawn = generate_documents(
                        promise, DocumentParameters(), seed=_derived(seed, len(streams))
                    )
                    streams[promise] = drawn
                turns.append((client.name, streams[promise]))
    if not turns:
        raise WorkloadError(
            "no client advertises a DTD from which documents could be made; name files to publish"
        )
    return [
        SimulatedDocument(f"document {number}", producer, next(documents))
        for number, (producer, documents) in enumerate(islice(cycle(turns), count), start=1)
    ]


def read_documents(clients: Iterable[ClientPlan], names: Sequence[str]) -> list[SimulatedDocument]:
    """The documents of files, and of the ``.xml`` files in folders.

    Each is published by a client that has promised it, these in turn.  Raises DocumentError for
    what is not well-formed, and NetworkError for what nobody promises.
    """
    producers = [client for client in clients if client.advertisements]
    if not producers:
        raise OverlayError(
            "no client advertises anything, so none may publish; give one an advertisement, as in "
            'advertises = [{ id = "all", anything = true }]'
        )
    found = []
    turn = 0
    for name in _files(names):
        content = Path(name).read_bytes()
        try:
            paths = [each.path for each in decompose(content, name)]
        except DocumentError as error:
            raise DocumentError(f"{name}: {error}") from None
        for offset in range(len(producers)):
            client = producers[(turn + offset) % len(producers)]
            if any(_keeps(promise, paths) for promise in client.advertisements.values()):
                found.append(SimulatedDocument(name, client.name, content))
                turn += offset + 1
                break
        else:
            raise NetworkError(
                f"{name}: no client advertises such documents; leave it out, or let one advertise "
                "its DTD, or anything"
            )
    if not found:
        raise WorkloadError(f"no .xml file in {', '.join(names)}; name others")
    return found


def _files(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if Path(name).is_dir():
            yield from (str(file) for file in sorted(Path(name).rglob("*.xml")))
        else:
            yield name


def _keeps(promise: Promise, paths: Iterable[Sequence[tuple[str, str]]]) -> bool:
    """Whether a document with these paths is one that was promised, as far as paths tell."""
    if isinstance(promise, Anything):
        return True
    return all(promise.automaton.matches_path(path) for path in paths)
