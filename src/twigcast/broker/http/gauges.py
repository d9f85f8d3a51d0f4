"""The figures for Prometheus that stand in a broker's tables, queues, links and store anyway.

Counters and histograms are kept as documents pass, in :mod:`~twigcast.broker.metrics`.  What the
store knows is asked of its threads first, so that looking does not wait for the disk.

Cost: a walk over clients, durable subscriptions and links, and one read of the store, each time
somebody asks.  Clients are added up, for there may be thousands; durable subscriptions, neighbours
and homes have a label each.  The names of durable subscriptions are for those who administer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Final

from twigcast.broker import status as report
from twigcast.broker.client_sessions import ClientSessions
from twigcast.broker.ephemeral import EphemeralSubscription
from twigcast.broker.metrics import Figure
from twigcast.broker.outbox import Outbox
from twigcast.broker.shared_queues import DocumentQueue
from twigcast.broker.store.records import StoreFigures
from twigcast.errors import StoreError
from twigcast.hierarchy import Crossings, Gateway

_TEXTS: Final = {
    "start_seconds": "When the broker started, since 1970.",
    "table_subscriptions": "Expressions of clients and durable subscriptions, before covering.",
    "table_patterns": "Different patterns that documents are matched by.",
    "table_sent": "Patterns sent to a neighbour, after covering.",
    "table_advertisements": "Advertisements that are known.",
    "durable_expressions": "Expressions of the durable subscriptions here, before covering.",
    "durable_patterns": "Patterns sent to all brokers for them, after covering.",
    "home_patterns": "Patterns that the durable subscriptions at another broker want.",
    "brokers": "Brokers that are known, this one too.",
    "clients": "Connected clients.",
    "client_subscriptions": "Subscriptions that clients hold.",
    "client_waiting_documents": "Documents that wait for clients, but for those in stores.",
    "client_waiting_bytes": "Bytes of these documents.",
    "client_waiting_longest": "Documents in the longest of these queues.",
    "durable_waiting_documents": "Documents of a durable subscription that are not acknowledged.",
    "durable_attached": "Clients that take from a durable subscription.",
    "durable_missed": "Documents that a durable subscription lost to retention, unacknowledged.",
    "owed_documents": "Documents published here that another broker has not confirmed.",
    "links_up": "Links that are up.",
    "links_failing": "Configured links that were called in vain.",
    "link_waiting_documents": "Documents that wait for a neighbour.",
    "link_up_seconds": "For how long the link has been up.",
    "link_documents_sent": "Documents sent since the link is up.",
    "link_documents_received": "Documents received since the link is up.",
    "link_bytes_sent": "Bytes sent since the link is up.",
    "link_bytes_received": "Bytes received since the link is up.",
    "unit_documents_out": "Documents that left a unit here.",
    "unit_documents_into": "Documents that came into a unit here.",
    "unit_documents_in_vain": "Documents that came into a unit here, and nobody inside wanted.",
    "unit_documents_turned_away": "Documents from outside that had been inside.",
    "publishers_held": "Publishers that are held back, since there is no room in the store.",
    "store_answers": "Whether the store can be read and written: 1 or 0.",
    "store_documents": "Documents that are kept.",
    "store_bytes": "Bytes of these documents.",
    "store_letters": "Documents that were set aside.",
    "doors_standing_by": "Other doors of the group, ready to take over.",
    "store_unwritten_bytes": "Bytes that are still to be written.",
}
_PASSED: Final = ("documents_sent", "documents_received", "bytes_sent", "bytes_received")
_CROSSINGS: Final = tuple(field.name for field in fields(Crossings))
_GROWING: Final = {
    "durable_missed",
    *(f"link_{each}" for each in _PASSED),
    *(f"unit_documents_{each}" for each in _CROSSINGS),
}


class Gauges:
    """What to look up at one broker."""

    def __init__(self, sessions: ClientSessions) -> None:
        self._broker = sessions.broker
        self._sessions = sessions
        self._stored: StoreFigures | None = None

    async def look_at_store(self) -> None:
        """Ask the store how much it has; what does not answer has no figures."""
        self._stored = None
        if self._broker.store is not None:
            with suppress(StoreError):
                self._stored = await self._broker.store.figures()

    def look(self, *, names_durables: bool) -> Iterator[Figure]:
        """All figures; those of durable subscriptions by name, or added up."""
        for name, value in self._of_broker().items():
            yield Figure(name, _TEXTS[name], {"": value})
        durables = self._of_durables()
        if not names_durables:
            durables = {name: {"": sum(values.values())} for name, values in durables.items()}
        for label, figures in (
            ("neighbour", self._of_neighbours()),
            ("durable" if names_durables else "", durables),
            ("home", self._of_homes()),
            ("unit", self._of_units()),
        ):
            for name, values in figures.items():
                yield Figure(name, _TEXTS[name], values, label, name in _GROWING)

    def _of_broker(self) -> dict[str, float]:
        broker, tables = self._broker, report.tables(self._broker)
        held = [each for session in self._sessions for each in session.subscriptions()]
        waiting: list[DocumentQueue | Outbox] = [each.outbox for each in self._sessions]
        waiting += [each.queue for each in held if isinstance(each, EphemeralSubscription)]
        figures = {
            "start_seconds": broker.started,
            "table_subscriptions": tables["subscriptions"],
            "table_patterns": tables["patterns"],
            "table_advertisements": tables["advertisements"],
            "durable_expressions": sum(
                len(broker.keeper.wanted(each)) for each in broker.durables.values()
            ),
            "durable_patterns": tables["durable_patterns"],
            "brokers": len(report.topology(broker)),
            "clients": len(self._sessions),
            "client_subscriptions": len(held),
            "client_waiting_documents": sum(map(len, waiting)),
            "client_waiting_bytes": sum(each.waiting_bytes for each in waiting),
            "client_waiting_longest": max(map(len, waiting), default=0),
            "links_up": len(broker.links.up),
            "links_failing": len(broker.links.problems),
            "publishers_held": broker.flow.held,
        }
        if broker.store is not None:
            figures["store_answers"] = float(self._stored is not None and not broker.store.full)
        if broker.store is not None and self._stored is not None:
            figures["store_documents"] = self._stored.documents
            figures["store_bytes"] = self._stored.bytes
            figures["store_letters"] = self._stored.letters
            if broker.config.store.door:
                figures["doors_standing_by"] = len(self._stored.standing_by)
            figures["store_unwritten_bytes"] = broker.store.waiting_bytes
        return figures

    def _of_neighbours(self) -> dict[str, Mapping[str, float]]:
        links = report.links(self._broker)
        return {
            "table_sent": report.patterns_sent(self._broker),
            "link_waiting_documents": {each["broker"]: each["waiting"] for each in links},
            **{
                f"link_{key}": {each["broker"]: each[key] for each in links}
                for key in ("up_seconds", *_PASSED)
            },
        }

    def _of_durables(self) -> dict[str, Mapping[str, float]]:
        durables = self._broker.durables
        return {
            "durable_waiting_documents": {
                name: each.queue.waiting for name, each in durables.items()
            },
            "durable_attached": {name: len(each.attached) for name, each in durables.items()},
            "durable_missed": {name: each.queue.missed for name, each in durables.items()},
        }

    def _of_units(self) -> dict[str, Mapping[str, float]]:
        """What crossed the borders of the units that the broker is a gateway of."""
        crossings = {
            level.unit: asdict(level.crossings)
            for level in self._broker.router.levels
            if isinstance(level, Gateway)
        }
        return {
            f"unit_documents_{kind}": {unit: counts[kind] for unit, counts in crossings.items()}
            for kind in _CROSSINGS
            if crossings
        }

    def _of_homes(self) -> dict[str, Mapping[str, float]]:
        return {
            "home_patterns": self._broker.homes.patterns,
            "owed_documents": self._broker.owed,
        }
