"""An observer of a history: sees everything, and says what every durable subscriber must have.

Each document that was acknowledged at a broker which had been told of a subscription, or that is
addressed to it, must be in its queue, unless a disk that was replaced took it along, or it has
expired.  More may be there, if it is wanted and not addressed; nothing may be there twice, unless
it was published several times without an id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from twigcast.delivery import KeepDocument, Parcel
from twigcast.hierarchy import unit_of
from twigcast.simulation.delivery.consumers import Consumers
from twigcast.simulation.delivery.errors import HistoryError
from twigcast.simulation.delivery.knowledge import leads_to, version_known
from twigcast.simulation.delivery.promises import Paper, Subscription
from twigcast.simulation.delivery.world import SimulatedBroker, World

WANTED: Final = {
    "//a": {"a", "ab"},
    "//b": {"b", "ab"},
    "/*": {"a", "b", "ab"},
}
"""What kinds of documents an expression wants."""


class Observer:
    """What was published and subscribed in a world, and what is excused."""

    def __init__(
        self, world: World, homes: list[str], consumers: Consumers, counts: Counter[str]
    ) -> None:
        self._world = world
        self._homes = homes
        self._consumers = consumers
        self._counts = counts
        self.papers: dict[str, Paper] = {}
        self.subscriptions: dict[str, Subscription] = {}

    def knows(self, subscription: Subscription, broker: SimulatedBroker) -> bool:
        """Whether a broker has ever been told of a subscription, and kept it."""
        if subscription.confirmed is None:
            return False
        if broker.name not in subscription.knowing and subscription.is_in_unit_of(broker.name):
            known = version_known(broker, subscription.home)
            # A home that has lost its disk may have had a higher epoch before.
            is_ours = known is not None and known.epoch == subscription.confirmed.epoch
            if known is not None and is_ours and known >= subscription.confirmed:
                subscription.knowing.add(broker.name)
        return broker.name in subscription.knowing

    def excuse_passing(self, names: set[str]) -> None:
        """Let documents be lost that may come to a gateway which does not know who wants them.

        These are all that are owed to somebody, and were published in another unit.
        """
        for broker in self._world.brokers.values():
            writes = [write for _, write in broker.writes if isinstance(write, KeepDocument)]
            passing = [each.parcel for each in writes if each.homes]
            if broker.disk is not None:
                documents = broker.disk.documents
                for owed in broker.disk.owed.values():
                    passing += [documents[str(each)] for each in owed]
            for paper in map(self.paper, passing):
                if paper.to:  # whoever it comes to need not know who wants it
                    continue
                paper.must = {
                    name
                    for name in paper.must or ()
                    if name not in names or paper.units == {unit_of(self.subscriptions[name].home)}
                }

    def excuse(self, home: str, parcels: Iterable[Parcel]) -> None:
        """Let documents be owed to a home no more."""
        names = {each.name for each in self.subscriptions.values() if leads_to(home, each.home)}
        for parcel in parcels:
            paper = self.paper(parcel)
            paper.must = (paper.must or set()) - names

    def paper(self, parcel: Parcel) -> Paper:
        """What a document was published as."""
        return self.papers[re.findall(rb"p\d+", parcel.content)[0].decode()]

    def forget(self, broker: SimulatedBroker) -> None:
        """Expect no more that a broker knows of any subscription."""
        for subscription in self.subscriptions.values():
            self.forget_subscription(broker, subscription)

    def forget_subscription(self, broker: SimulatedBroker, subscription: Subscription) -> None:
        """Expect no more that a broker knows of a subscription, nor brokers beyond a gateway."""
        subscription.knowing.discard(broker.name)
        subscription.forgot.add(broker.name)
        if broker.name in self._world.overlay.gateways:  # documents may go by it
            beyond = {
                each.name
                for each in self._world.brokers.values()
                if not subscription.is_in_unit_of(each.name)
            }
            subscription.knowing -= beyond
            subscription.forgot |= beyond

    def look(self) -> None:
        """Raise HistoryError for what is in queues and must not be, or the other way round."""
        for subscription in self.subscriptions.values():
            home = self._world.brokers[subscription.home]
            assert home.disk is not None, "a home has one"
            if subscription.is_over or subscription.name not in home.disk.queues:
                if subscription.confirmed is not None and not subscription.is_over:
                    raise HistoryError(f"{subscription.name} is not there")
                continue
            self._consumers.look(home, subscription.name)
            entries = home.disk.queues[subscription.name].entries.values()
            papers = Counter(self.paper(home.disk.documents[each]).name for each, _ in entries)
            self._counts["delivered"] += papers.total()
            for name, times in papers.items():
                paper = self.papers[name]
                if times > (1 if paper.publication else paper.attempts):
                    raise HistoryError(f"{name} is in {subscription.name} {times} times")
                if paper.to and subscription.name not in {each.durable for each in paper.to}:
                    raise HistoryError(f"{name} is in {subscription.name}, and not addressed to it")
                if not paper.to and not any(subscription.may_get(*each) for each in paper.origins):
                    raise HistoryError(f"{name} of {paper.origins} is in {subscription.name}")
                if not paper.to and paper.kind not in subscription.wanted:
                    raise HistoryError(f"{name} is in {subscription.name}, which does not want it")
            for paper in self.papers.values():
                must = paper.is_acknowledged and subscription.name in (paper.must or ())
                self._counts["must"] += must
                self._counts["must, within a unit"] += must and bool(
                    paper.scope or subscription.scope
                )
                self._counts["must, addressed"] += must and bool(paper.to)
                is_far = unit_of(subscription.home) not in paper.units
                self._counts["must, from another unit"] += must and is_far and not paper.to
                self._counts["must, addressed from another unit"] += (
                    must and is_far and bool(paper.to)
                )
                if must and paper.name not in papers and paper.name not in subscription.expired:
                    raise HistoryError(f"{paper.name} is not in {subscription.name}")
