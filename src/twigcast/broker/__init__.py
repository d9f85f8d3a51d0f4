"""The live broker: one process that routes documents between clients and other brokers.

    client_stream (gRPC) ┐
    http ────────────────┴► client_session ──► flow ◄──► Delivery: what to do about a document
                                  ▲             ├──► store: safe, for durable subscriptions
                                  └─────────────┤    subscriptions: queues, each at its own pace
                                                └──► links ──► neighbours ──► flow ...

*Transport.*  Clients and neighbours are gRPC streams (:mod:`twigcast.wire`); documents travel in
batches.  Everything runs in one event loop; the store has a thread that writes and some that read.
Every receiver has a queue of its own and sets its own pace (:mod:`~twigcast.broker.subscriptions`,
:mod:`~twigcast.broker.link_connection`): a slow one spills to a file and holds up nobody else.

*Routing* is done by :class:`twigcast.routing.Router`, which this package gives sockets, and at a
gateway by one for each unit (:mod:`twigcast.hierarchy`).  A link
lives as long as its stream; when it comes up again, tables are sent anew.

*Guarantees.*  Ephemeral subscriptions get each document at most once, and cost no disk.  Durable
ones get every document once, whatever crashes in between and comes back: all brokers know what
durable subscriptions want, and the broker that has acknowledged a publication answers for it until
every broker concerned has confirmed it.  Brokers in between keep nothing.  All that is decided in
:mod:`twigcast.delivery`, which a simulation drives too; :mod:`~twigcast.broker.flow` carries it
out.

*Security.*  Who may do what is said in the configuration (:mod:`~twigcast.broker.config`,
:mod:`~twigcast.broker.access`).  Neighbours are trusted to speak for the brokers of the units that
both take part in (:mod:`~twigcast.broker.objections`).

Cost: one match for each document at each broker that it reaches; one write at the first broker and
one at each home for documents that durable subscriptions want, many in one commit.
"""

from __future__ import annotations

from twigcast.broker.access import Permission, new_token
from twigcast.broker.config import BrokerConfig, PrincipalConfig, read_config
from twigcast.broker.door import StandingBy
from twigcast.broker.link_config import LinkConfig
from twigcast.broker.local_network import LocalNetwork
from twigcast.broker.log_handler import LimitedHandler
from twigcast.broker.safety import cautions, check_safe
from twigcast.broker.server import RunningBroker, run, start_server
from twigcast.broker.store.moving import Moved, move_store
from twigcast.broker.store_config import StoreConfig

__all__ = [
    "BrokerConfig",
    "LimitedHandler",
    "LinkConfig",
    "LocalNetwork",
    "Moved",
    "Permission",
    "PrincipalConfig",
    "RunningBroker",
    "StandingBy",
    "StoreConfig",
    "cautions",
    "check_safe",
    "move_store",
    "new_token",
    "read_config",
    "run",
    "start_server",
]
