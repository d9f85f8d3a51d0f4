"""Routing: what brokers send to each other, and where a document goes.

                         ┌──────────── Router, one for each broker ────────────┐
    LinkUp, LinkDown ──► │ link states ──► trees ──────┐                       │
    Advertise ─────────► │ advertisements ─────────────┼──► channels ──► Update│──► neighbours
    Subscribe ─────────► │ interests ──────────────────┘                       │
    Publish, Document ─► │ interests, trees ──────────────────────► Document   │──► neighbours
                         └────────────────────────────────────────► Deliver ───┘──► clients

A :class:`Router` decides and does nothing else: a message and a link in, messages and links out.
A :class:`Network` drives the routers of an overlay in one process; a simulation and a live broker
drive them too.  A :class:`FrozenNetwork` is a snapshot of all tables, with which documents are
routed by the million.  A :class:`Strategy` says how far subscriptions are sent, and how aggregated.

*Control.*  Every broker knows the overlay, since link states are flooded, and hence the
shortest-path tree from each broker.  An advertisement goes down the tree of the broker where it was
made.  Up that tree each broker sends its parent what its subtree wants of what is advertised, over
channels (:mod:`~twigcast.routing.channels`); without advertisements, over one tree that all share,
in both directions.  Channels gather changes until their broker flushes, which merges them where the
strategy allows it.  A broker keeps by link what a neighbour wants (:mod:`~twigcast.routing.
interests`) until the neighbour withdraws it or the link goes down.  Both ends of a link that is
down remember its channels, so that it carries the difference when it is up again
(:mod:`~twigcast.routing.journal`).

*Documents* (:mod:`~twigcast.routing.document_router`).  A document goes down the tree of the broker
where it was published, over those links whose channels want it.  Each broker passes on a document
once (:mod:`~twigcast.routing.recent`), so nothing goes round while brokers disagree about the
trees.  The last broker asks the client's own subscriptions, so a client gets what it asked for and
nothing else, whatever was merged at brokers in between.

Invariants, once all messages have arrived: every interested client gets a document once; it crosses
a link only if somebody beyond wants it, unless imperfect mergers are allowed (or elements nest
deeper than mergers are counted); what is sent on a channel is a function of what is subscribed to
below and advertised above, whatever happened before, unless it is merged.  A document that is
published while that changes may reach too few or too many brokers, but no client twice, unless the
client's broker has crashed in between; one that is on a link or in a broker when that fails is lost
there.

Cost: a subscription takes a search of a covering table at each broker, and for each channel, to
which it is news; a document takes one match of the table at each broker that it reaches.  What
concerns one tree (an advertisement, a channel) costs as much as the broker has neighbours in it; a
change of the links costs all trees of producers anew.
"""

from __future__ import annotations

from twigcast.routing.aggregates import Counters
from twigcast.routing.document_router import NOBODY, Copy, DocumentRouter, Recipients, Routed
from twigcast.routing.entries import AdvertisementEntry, SubscriptionEntry
from twigcast.routing.frozen import ClientDelivery, Crossing, FrozenNetwork, Route, freeze
from twigcast.routing.interests import Foreseen, Interests, Wanting
from twigcast.routing.link_sessions import Frame, LinkSession
from twigcast.routing.messages import (
    OUTER,
    Advertise,
    AdvertisementKey,
    Deliver,
    Document,
    DocumentId,
    LinkDown,
    LinkKind,
    LinkState,
    LinkUp,
    Mark,
    Message,
    Publish,
    Refused,
    Send,
    Serve,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Update,
    is_outer,
)
from twigcast.routing.neighbour import LEAF_CHANNEL
from twigcast.routing.network import (
    Delivery,
    Network,
    NetworkClient,
    Observer,
)
from twigcast.routing.network_file import ClientPlan, NetworkPlan, read_network
from twigcast.routing.overlay import Link, LinkTraits, Overlay
from twigcast.routing.planning import SHARED_TREE, tree_from
from twigcast.routing.promises import ANYTHING, Anything, Promise
from twigcast.routing.router import GATHERING, Router
from twigcast.routing.scopes import SCOPES, depth_of_scope, shared_depth
from twigcast.routing.strategy import PAPER_STRATEGIES, STRATEGIES, Strategy, Towards
from twigcast.routing.transport import Envelope, Flush, InstantTransport, Transport
from twigcast.routing.trees import View

__all__ = [
    "ANYTHING",
    "GATHERING",
    "LEAF_CHANNEL",
    "NOBODY",
    "OUTER",
    "PAPER_STRATEGIES",
    "SCOPES",
    "SHARED_TREE",
    "STRATEGIES",
    "Advertise",
    "AdvertisementEntry",
    "AdvertisementKey",
    "Anything",
    "ClientDelivery",
    "ClientPlan",
    "Copy",
    "Counters",
    "Crossing",
    "Deliver",
    "Delivery",
    "Document",
    "DocumentId",
    "DocumentRouter",
    "Envelope",
    "Flush",
    "Foreseen",
    "Frame",
    "FrozenNetwork",
    "InstantTransport",
    "Interests",
    "Link",
    "LinkDown",
    "LinkKind",
    "LinkSession",
    "LinkState",
    "LinkTraits",
    "LinkUp",
    "Mark",
    "Message",
    "Network",
    "NetworkClient",
    "NetworkPlan",
    "Observer",
    "Overlay",
    "Promise",
    "Publish",
    "Recipients",
    "Refused",
    "Route",
    "Routed",
    "Router",
    "Send",
    "Serve",
    "Strategy",
    "Subscribe",
    "SubscriptionEntry",
    "Towards",
    "Transport",
    "Unadvertise",
    "Unsubscribe",
    "Update",
    "View",
    "Wanting",
    "depth_of_scope",
    "freeze",
    "is_outer",
    "read_network",
    "shared_depth",
    "tree_from",
]
