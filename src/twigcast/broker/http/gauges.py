"""The figures for Prometheus that stand in a broker's tables, queues, links and store anyway.

Counters and histograms are kept as documents pass, in :mod:`~twigcast.broker.metrics`.  What the
store knows is asked of its threads first, so that looking does not wait for the disk.

Cost: a walk over clients, durable subscriptions and links, and one read of the store, each time
somebody asks.  Clients are added up, for there may be thousands; durable subscriptions, neighbours
and homes have a label each.
"""

from __future__ import annotations

from collections.abc import Iterator

from twigcast.broker import status as report
from twigcast.broker.client_session import ClientSessions
from twigcast.broker.metrics import Figure
from twigcast.broker.store.records import StoreFigures
from twigcast.broker.subscriptions import EphemeralSubscription


class Gauges:
    """What to look up at one broker."""

    def __init__(self, sessions: ClientSessions) -> None:
        self._broker = sessions.broker
        self._sessions = sessions
        self._stored: StoreFigures | None = None

    async def look_at_store(self) -> None:
        """Ask the store how much it has; raises StoreError."""
        if self._broker.store is not None:
            self._stored = await self._broker.store.figures()

    def look(self) -> Iterator[Figure]:
        """All figures."""
        yield _one("start_seconds", "When the broker started, since 1970.", self._broker.started)
        yield from self._tables()
        yield from self._clients()
        yield from self._durable()
        yield from self._links()
        yield from self._store()

    def _tables(self) -> Iterator[Figure]:
        broker, sizes = self._broker, report.tables(self._broker)
        yield _one(
            "table_subscriptions",
            "Expressions of clients and durable subscriptions here, before covering.",
            sizes["subscriptions"],
        )
        yield _one(
            "table_patterns", "Different patterns that documents are matched by.", sizes["patterns"]
        )
        sent = {
            name: sum(len(channel.sent) for channel in neighbour.outgoing.values())
            for name, neighbour in broker.router.neighbours.items()
        }
        yield Figure(
            "table_sent", "Patterns sent to a neighbour, after covering.", sent, "neighbour"
        )
        yield _one(
            "table_advertisements", "Advertisements that are known.", sizes["advertisements"]
        )
        yield _one(
            "durable_expressions",
            "Expressions of the durable subscriptions here, before covering.",
            sum(len(each.patterns) for each in broker.durables.values()),
        )
        yield _one(
            "durable_patterns",
            "Patterns sent to all brokers for them, after covering.",
            sizes["durable_patterns"],
        )
        yield Figure(
            "home_patterns",
            "Patterns that the durable subscriptions at another broker want.",
            broker.homes.patterns,
            "home",
        )
        yield _one("brokers", "Brokers that are known, this one too.", len(broker.router.overlay))

    def _clients(self) -> Iterator[Figure]:
        held = [each for session in self._sessions for each in session.subscriptions()]
        queues = [each.queue for each in held if isinstance(each, EphemeralSubscription)]
        yield _one("clients", "Connected clients.", len(self._sessions))
        yield _one("client_subscriptions", "Subscriptions that clients hold.", len(held))
        yield _one(
            "client_waiting_documents",
            "Documents in the queues of clients' ephemeral subscriptions.",
            sum(len(queue) for queue in queues),
        )
        yield _one(
            "client_waiting_bytes", "Their bytes.", sum(queue.waiting_bytes for queue in queues)
        )
        yield _one(
            "client_waiting_longest",
            "Documents in the longest of these queues.",
            max((len(queue) for queue in queues), default=0),
        )

    def _durable(self) -> Iterator[Figure]:
        durables = self._broker.durables
        yield Figure(
            "durable_waiting_documents",
            "Documents of a durable subscription that are not acknowledged.",
            {name: each.waiting for name, each in durables.items()},
            "durable",
        )
        yield Figure(
            "durable_attached",
            "Whether a client takes from a durable subscription.",
            {name: float(each.attached is not None) for name, each in durables.items()},
            "durable",
        )
        yield Figure(
            "durable_missed",
            "Documents of a durable subscription that retention took, not acknowledged.",
            {name: each.missed for name, each in durables.items()},
            "durable",
            is_counted=True,
        )
        yield Figure(
            "owed_documents",
            "Documents published here that another broker has not confirmed.",
            self._broker.flow.custody.owed,
            "home",
        )

    def _links(self) -> Iterator[Figure]:
        links = self._broker.links
        yield _one("links_up", "Links that are up.", len(links.up))
        yield _one(
            "links_failing", "Configured links that were called in vain.", len(links.problems)
        )
        for name, text, key, is_counted in (
            ("waiting_documents", "Documents that wait for a neighbour.", "waiting", False),
            ("up_seconds", "For how long the link has been up.", "up_seconds", False),
            ("documents_sent", "Documents sent since it is up.", "documents_sent", True),
            ("documents_received", "Documents received since.", "documents_received", True),
            ("bytes_sent", "Bytes sent since.", "bytes_sent", True),
            ("bytes_received", "Bytes received since.", "bytes_received", True),
        ):
            values = {each["broker"]: each[key] for each in report.links(self._broker)}
            yield Figure(f"link_{name}", text, values, "neighbour", is_counted)

    def _store(self) -> Iterator[Figure]:
        store = self._broker.store
        if store is None or self._stored is None:
            return
        yield _one("store_documents", "Documents that are kept.", self._stored.documents)
        yield _one("store_bytes", "Their bytes.", self._stored.bytes)
        yield _one(
            "store_unwritten_bytes", "Bytes that are still to be written.", store.waiting_bytes
        )


def _one(name: str, text: str, value: float) -> Figure:
    return Figure(name, text, {"": value})
