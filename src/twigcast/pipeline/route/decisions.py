"""What decides on documents: subscriptions, or a network, made ready for workers.

    subscriptions ──► index or several shards ──┐
                                                ├──► Decision ──► documents ──► verdicts
    network file  ──► frozen network ───────────┘

With several shards every document is decided by each of them: the parts of the documents times the
shards are the tasks, nothing is moved between them, and each worker maps one shard at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError, SubscriptionFileError
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
from twigcast.routing import (
    Crossing,
    FrozenNetwork,
    Network,
    NetworkPlan,
    Towards,
    read_network,
)


@dataclass(frozen=True)
class Decision:
    """Bundles that workers decide by, and what is to be told of them."""

    shards: tuple[Bundle[Index], ...] = ()
    network: Bundle[FrozenNetwork] | None = None
    at: str | None = None
    """Where documents enter the network that do not say it themselves."""
    links: tuple[Crossing, ...] = ()
    """The links of the network, each in both directions."""
    subscriptions: int = 0
    skipped: tuple[SubscriptionFileError, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def verdicts(self, documents: Documents) -> DataFrame:
        """A verdict on each document; on each document of each shard where there are several."""
        if self.network is not None:
            return documents.mapped(VerdictRows(self._route()), ROUTE_SCHEMA)
        parts = [
            documents.mapped(VerdictRows(MatchDocuments(one)), MATCH_SCHEMA) for one in self.shards
        ]
        return reduce(DataFrame.unionAll, parts)

    def written(self, documents: Documents, folder: str) -> DataFrame:
        """The tables written by workers to a folder that they see; what each has written."""
        if self.network is not None:
            work = WriteTables(self._route(), folder, routed=True)
        else:
            (only,) = self.shards
            work = WriteTables(MatchDocuments(only), folder)
        return documents.mapped(work, WRITTEN_SCHEMA)

    def _route(self) -> RouteDocuments:
        assert self.network is not None
        return RouteDocuments(self.network, self.at)

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
    has_place: bool = False,
    skip_bad: bool = False,
    shard_size: int = SHARD_SIZE,
) -> Decision:
    """Compile subscriptions, or freeze a network, and bring that to all machines.

    With a network ``subscriptions`` are added to the clients that they name as subscriber.
    Documents enter it ``at`` that broker, by default where the only producer is; ``has_place`` is
    whether they say it themselves.  A bad subscription is an error before any work; with
    ``skip_bad`` it is left out and told of.
    """
    if network is None and subscriptions is None:
        raise PipelineError("there is nothing to route by; name subscriptions, a network, or both")
    if network is None and at is not None:
        raise PipelineError("at= is a broker of a network; name the network, or leave it out")
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
            decision = _by_network(spark, _with_subscriptions(plan, loaded), at, has_place)
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
    spark: SparkSession, plan: NetworkPlan, at: str | None, has_place: bool
) -> Decision:
    producers = {client.broker for client in plan.clients if client.advertisements}
    if at is not None and at not in plan.overlay:
        known = ", ".join(plan.overlay.brokers[:10])
        raise PipelineError(f"the network has no broker {at!r} to publish at; it has: {known}")
    if at is None and len(producers) == 1:
        (at,) = producers
    if at is None and not has_place:
        raise PipelineError(
            "the network has no or several brokers with a producer; say at which one the "
            "documents enter it, or which column tells it"
        )
    warnings = []
    if at is not None and plan.strategy.towards is not Towards.EVERYONE and at not in producers:
        warnings.append(
            f"nobody at {at} advertises anything, so documents that enter there reach only "
            f"clients of {at} (strategy {plan.strategy.name})"
        )
    network_at_rest = Network.planned(plan)
    if plan.strategy.merging is not None:
        network_at_rest.merge()
    frozen = network_at_rest.freeze()
    with tempfile.TemporaryDirectory(prefix="twigcast-") as scratch:
        frozen.save(Path(scratch) / "network")
        bundle = ship(spark, Path(scratch) / "network", FrozenNetwork.load)
    links = tuple(
        crossing
        for link in plan.overlay.links
        for crossing in (Crossing(link.first, link.second), Crossing(link.second, link.first))
    )
    return Decision(
        network=bundle,
        at=at,
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
