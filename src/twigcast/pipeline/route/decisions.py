"""Decisions: subscriptions or a network, compiled for the workers that decide on documents.

    subscriptions ──► index or several shards ──┐
                                                ├──► Decision ──► documents ──► verdicts
    network file  ──► frozen network ───────────┘

With several shards, each shard decides on every document.  There is one task for each pair of a
shard and a part of the documents.  Nothing moves between tasks, and a worker maps one shard at a
time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError, SubscriptionFileError
from twigcast.hierarchy import Network, common_unit, read_network
from twigcast.language import Pattern, Subscription
from twigcast.pipeline.progress import describe
from twigcast.pipeline.route.bundles import Bundle, ship
from twigcast.pipeline.route.indexes import SHARD_SIZE, Index, load_index, write_shards
from twigcast.pipeline.route.verdicts import (
    MATCH_SCHEMA,
    ROUTE_SCHEMA,
    MatchDocuments,
    RouteDocuments,
    VerdictRows,
)
from twigcast.pipeline.route.writing import WRITTEN_SCHEMA, WriteTables
from twigcast.pipeline.sources.documents import Documents
from twigcast.pipeline.subscriptions import Subscriptions, load_subscriptions
from twigcast.routing import FrozenNetwork, NetworkPlan, Towards, depth_of_scope


@dataclass(frozen=True)
class Decision:
    """The bundles that workers decide by, and what a report says about them."""

    shards: tuple[Bundle[Index], ...] = ()
    network: Bundle[FrozenNetwork] | None = None
    at: str | None = None
    """The broker where a document enters the network, unless its own column says it."""
    scope: str = ""
    """The unit that documents do not leave, as it is named at the broker where they enter."""
    links: tuple[tuple[str, str, str], ...] = ()
    """The links of the network, each in both directions: sender, receiver, and their unit."""
    subscriptions: int = 0
    skipped: tuple[SubscriptionFileError, ...] = ()
    warnings: tuple[str, ...] = ()

    def verdicts(self, documents: Documents) -> DataFrame:
        """One verdict for each document and shard; with a network, one for each document."""
        if self.network is not None:
            return documents.mapped(VerdictRows(self._route()), ROUTE_SCHEMA)
        parts = [
            documents.mapped(VerdictRows(MatchDocuments(one)), MATCH_SCHEMA) for one in self.shards
        ]
        return reduce(DataFrame.unionAll, parts)

    def written(self, documents: Documents, folder: str) -> DataFrame:
        """Let workers write the tables to a folder that they see; one row a task."""
        if self.network is not None:
            work = WriteTables(self._route(), folder, routed=True)
        else:
            (only,) = self.shards
            work = WriteTables(MatchDocuments(only), folder)
        return documents.mapped(work, WRITTEN_SCHEMA)

    def _route(self) -> RouteDocuments:
        assert self.network is not None
        return RouteDocuments(self.network, self.at, self.scope)

    @property
    def is_sharded(self) -> bool:
        """Whether a document has several verdicts."""
        return len(self.shards) > 1


def decide(
    spark: SparkSession,
    subscriptions: Subscriptions | None,
    network: str | NetworkPlan | None,
    *,
    at: str | None = None,
    names_broker: bool = False,
    scope: str = "",
    skip_bad: bool = False,
    shard_size: int = SHARD_SIZE,
) -> Decision:
    """Compile the subscriptions or freeze the network, and send the bundles to all machines.

    With a network, each of the ``subscriptions`` is added to the client that it names as
    subscriber.  Documents enter the network at the broker ``at``, by default at the broker of the
    only producer; ``names_broker`` says whether a column of the documents names the broker.  They
    do not leave the unit ``scope`` of that broker.  A bad subscription is an error before any work;
    with ``skip_bad`` it is left out and listed in ``skipped``.
    """
    if network is None and subscriptions is None:
        raise PipelineError("there is nothing to route by; name subscriptions, a network, or both")
    if network is None and at is not None:
        raise PipelineError("at= is a broker of a network; name the network, or leave it out")
    if network is None and scope:
        raise PipelineError("scope= is a unit of a network; name the network, or leave it out")
    skipped: list[SubscriptionFileError] = []
    on_bad = skipped.append if skip_bad else None
    describe(spark, "compiling subscriptions" if network is None else "freezing the network")
    try:
        loaded: Iterable[Subscription] = ()
        if subscriptions is not None:
            loaded = load_subscriptions(spark, subscriptions, on_bad)
        if network is None:
            decision = _by_subscriptions(spark, loaded, shard_size)
        else:
            plan = read_network(network) if isinstance(network, str) else network
            decision = _by_network(
                spark, _with_subscriptions(plan, loaded), at, names_broker, scope
            )
    finally:
        describe(spark, None)
    return replace(decision, skipped=tuple(skipped))


def _by_subscriptions(
    spark: SparkSession, loaded: Iterable[Subscription], shard_size: int
) -> Decision:
    if shard_size < 1:
        raise PipelineError(f"a shard has at least one subscription, not {shard_size}")
    bundles = []
    total = 0
    with tempfile.TemporaryDirectory(prefix="twigcast-") as scratch:
        for folder, count in write_shards(loaded, Path(scratch), shard_size):
            bundles.append(ship(spark, folder, load_index))
            total += count
    return Decision(tuple(bundles), subscriptions=total)


def _by_network(
    spark: SparkSession, plan: NetworkPlan, at: str | None, names_broker: bool, scope: str
) -> Decision:
    producers = {client.broker for client in plan.clients if client.advertisements}
    if at is not None and at not in plan.overlay:
        known = ", ".join(plan.overlay.brokers[:10])
        raise PipelineError(f"the network has no broker {at!r} to publish at; it has: {known}")
    if at is None and len(producers) == 1:
        (at,) = producers
    if at is None and not names_broker:
        raise PipelineError(
            "the network has no or several brokers with a producer; say at which one the "
            "documents enter it, or which column names it"
        )
    if at is not None and not names_broker:
        depth_of_scope(at, scope)  # otherwise documents whose broker is not in it are rejected
    warnings = []
    if at is not None and plan.strategy.towards is not Towards.EVERYONE and at not in producers:
        warnings.append(
            f"nobody at {at} advertises anything, so documents that enter there reach only "
            f"clients of {at} (strategy {plan.strategy.name})"
        )
    frozen = Network.planned(plan).freeze()
    with tempfile.TemporaryDirectory(prefix="twigcast-") as scratch:
        frozen.save(Path(scratch) / "network")
        bundle = ship(spark, Path(scratch) / "network", FrozenNetwork.load)
    links = tuple(
        (sender, link.other(sender), common_unit(*link))
        for link in plan.overlay.links
        for sender in link
    )
    return Decision(
        network=bundle,
        at=at,
        scope=scope,
        links=links,
        subscriptions=sum(len(client.subscriptions) for client in plan.clients),
        warnings=tuple(warnings),
    )


def _with_subscriptions(plan: NetworkPlan, loaded: Iterable[Subscription]) -> NetworkPlan:
    """The plan with subscriptions added to the clients that they name."""
    added: dict[str, dict[str, Pattern]] = {client.name: {} for client in plan.clients}
    for each in loaded:
        wanted = added.get(each.subscriber or "")
        if wanted is None:
            whose = f"{each.subscriber!r}, no client" if each.subscriber else "no subscriber"
            raise PipelineError(
                f"the subscription {each.key!r} names {whose} of the network; name a client in the "
                "column subscriber"
            )
        wanted[each.key] = each.pattern
    clients = []
    for client in plan.clients:
        both: Mapping[str, Pattern] = {**client.subscriptions, **added[client.name]}
        if len(both) < len(client.subscriptions) + len(added[client.name]):
            twice = sorted(client.subscriptions.keys() & added[client.name].keys())
            raise PipelineError(
                f"client {client.name!r} has the subscription {twice[0]!r} in the network file "
                "and in the subscriptions; keep one"
            )
        clients.append(replace(client, subscriptions=both))
    return replace(plan, clients=tuple(clients))
