"""The live broker: one process that routes documents between clients and other brokers.

    client_stream (gRPC) ┐
    http ────────────────┴► client_session ──► flow ──┬──► router: where a document goes
                                  ▲                   ├──► store: safe, for durable subscriptions
                                  └── subscriptions ◄─┤
                                                      └──► links ──► neighbours ──► flow ...

*Transport.*  Clients and neighbours are gRPC streams (:mod:`twigcast.wire`); documents travel in
batches.  Everything runs in one event loop; the store has a thread that writes and some that read.
Every receiver has a queue of its own and sets its own pace (:mod:`~twigcast.broker.subscriptions`,
:mod:`~twigcast.broker.link_connection`): a slow one spills to a file and holds up nobody else.

*Routing* is done by :class:`twigcast.routing.Router`, which this package gives sockets.  A link
lives as long as its stream; when it comes up again, tables are sent anew.

*Guarantees.*  Ephemeral subscriptions get each document at most once, and cost no disk.  Durable
ones get every document once, whatever crashes in between and comes back: all brokers know what
durable subscriptions want (:mod:`~twigcast.broker.homes`), and the broker that has acknowledged a
publication answers for it until every broker concerned has confirmed it
(:mod:`~twigcast.broker.custody`).  Brokers in between keep nothing.

*Security.*  Who may do what is said in the configuration (:mod:`~twigcast.broker.config`,
:mod:`~twigcast.broker.access`).  Neighbours are trusted to speak for the brokers behind them.

Cost: one match for each document at each broker that it reaches; one write at the first broker and
one at each home for documents that durable subscriptions want, many in one commit.
"""

from __future__ import annotations

from twigcast.broker.access import Permission, new_token
from twigcast.broker.config import (
    BrokerConfig,
    LinkConfig,
    PrincipalConfig,
    StoreConfig,
    read_config,
)
from twigcast.broker.local_network import LocalNetwork
from twigcast.broker.safety import cautions, check_safe
from twigcast.broker.server import RunningBroker, run, start_server

__all__ = [
    "BrokerConfig",
    "LinkConfig",
    "LocalNetwork",
    "Permission",
    "PrincipalConfig",
    "RunningBroker",
    "StoreConfig",
    "cautions",
    "check_safe",
    "new_token",
    "read_config",
    "run",
    "start_server",
]
