"""What decides on documents: subscriptions, or a network, made ready for workers.

    subscriptions ──► index or several shards ──┐
                                                ├──► Decision ──► documents ──► verdicts
    network file  ──► frozen network ───────────┘

With several shards every document is decided by each of them: the parts of the documents times the
shards are the tasks, nothing is moved between them, and each worker maps one shard at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError, SubscriptionFileError
from twigcast.language import OnBad, Pattern
from twigcast.pipeline.bundles import Bundle, ship
from twigcast.pipeline.documents import Documents
from twigcast.pipeline.indexes import SHARD_SIZE, Index, load_index, write_shards
from twigcast.pipeline.subscriptions import Subscriptions, load_subscriptions
from twigcast.pipeline.verdicts import (
    MATCH_SCHEMA,
    ROUTE_SCHEMA,
    MatchDocuments,
    RouteDocuments,
    VerdictRows,
)
from twigcast.pipeline.writing import WRITTEN_SCHEMA, WriteTables
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


def decide_by_subscriptions(
    spark: SparkSession,
    subscriptions: Subscriptions,
    *,
    skip_bad: bool = False,
    shard_size: int = SHARD_SIZE,
) -> Decision:
    """Compile subscriptions and bring them to all machines.

    A bad one is an error before any work; with ``skip_bad`` it is left out and told of.
    """
    if shard_size < 1:
        raise PipelineError(f"a shard has at least one subscription, not {shard_size}")
    skipped: list[SubscriptionFileError] = []
    loaded = load_subscriptions(spark, subscriptions, skipped.append if skip_bad else None)
    bundles = []
    total = 0
    with tempfile.TemporaryDirectory(prefix="twigcast-") as scratch:
        for folder, count in write_shards(loaded, Path(scratch), shard_size):
            bundles.append(ship(spark, folder, load_index))
            total += count
    return Decision(tuple(bundles), subscriptions=total, skipped=tuple(skipped))


def decide_by_network(
    spark: SparkSession,
    network: str | NetworkPlan,
    subscriptions: Subscriptions | None = None,
    *,
    at: str | None = None,
    skip_bad: bool = False,
) -> Decision:
    """Freeze a network and bring it to all machines.

    ``subscriptions`` are added to the clients of the network that they name as subscriber.
    Documents enter ``at`` that broker; by default where the only producer is.
    """
    plan = read_network(network) if isinstance(network, str) else network
    skipped: list[SubscriptionFileError] = []
    if subscriptions is not None:
        plan = _with_subscriptions(spark, plan, subscriptions, skipped.append if skip_bad else None)
    producers = {client.broker for client in plan.clients if client.advertisements}
    if at is not None and at not in plan.overlay:
        known = ", ".join(plan.overlay.brokers[:10])
        raise PipelineError(f"the network has no broker {at!r} to publish at; it has: {known}")
    if at is None and len(producers) == 1:
        (at,) = producers
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
        skipped=tuple(skipped),
        warnings=tuple(warnings),
    )


def _with_subscriptions(
    spark: SparkSession, plan: NetworkPlan, subscriptions: Subscriptions, on_bad: OnBad | None
) -> NetworkPlan:
    """The plan with subscriptions added to the clients that they name."""
    added: dict[str, dict[str, Pattern]] = {client.name: {} for client in plan.clients}
    for each in load_subscriptions(spark, subscriptions, on_bad):
        wanted = added.get(each.subscriber or "")
        if wanted is None:
            whose = f"{each.subscriber!r}" if each.subscriber else "nobody"
            raise PipelineError(
                f"the subscription {each.key!r} is of {whose}, who is no client of the network; "
                "name one in its column subscriber, or add the client"
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
