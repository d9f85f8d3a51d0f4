"""What a broker reports of itself, for people and programs: plain values, ready for JSON."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import Any, Final

import twigcast
from twigcast.broker.access import Permission, Principal
from twigcast.broker.broker import Broker
from twigcast.broker.client_sessions import ClientSessions
from twigcast.broker.door import door_addresses
from twigcast.errors import StoreError
from twigcast.hierarchy import (
    Addresses,
    Gateway,
    common_unit,
    gateways_out,
    parts_below,
    unit_at,
)
from twigcast.routing import Router

_COUNTED: Final = (
    *("in", "matched", "filtered", "repeated", "out", "forwarded", "resent", "expired"),
)


async def status(sessions: ClientSessions, principal: Principal) -> dict[str, Any]:
    """Everything at a glance, for somebody; without figures of a store that does not answer."""
    broker = sessions.broker
    metrics = broker.metrics
    figures = None
    unread = ""
    try:
        figures = None if broker.store is None else await broker.store.figures()
    except StoreError as error:
        unread = str(error)
    return {
        "broker": broker.name,
        "bits": bits(broker),
        "gateway": broker.config.gateway_of,
        "most_patterns": broker.config.most_patterns,
        "version": twigcast.__version__,
        "uptime_seconds": round(time.time() - broker.started, 3),
        "incarnation": broker.incarnation,
        "strategy": broker.config.strategy,
        "reader": broker.config.reader,
        "documents": {
            name: int(metrics.value(f"twigcast_documents_{name}_total")) for name in _COUNTED
        },
        "tables": tables(broker),
        "clients": len(sessions),
        "durable": durable_queues(broker, principal),
        "owed": broker.owed,
        "letters": figures.letters if figures else None if unread else 0,
        "door": door_addresses(broker.config)["grpc"] if broker.config.store.door else None,
        "standing_by": list(figures.standing_by) if figures else None if unread else [],
        "homes": broker.homes.patterns,
        "links": links(broker),
        "problems": ({"store": unread} if unread else {}) | problems(broker),
        "topology": topology(broker),
        "levels": levels(broker),
    }


def tables(broker: Broker) -> dict[str, int]:
    """The sizes of the routing tables, before and after covering."""
    router = broker.router
    return {
        "subscriptions": sum(each.subscription_count for each in router.clients.values()),
        "patterns": sum(level.table_size for level in router.levels),
        "sent": sum(patterns_sent(broker).values()),
        "advertisements": len(router.advertisements()),
        "durable_patterns": broker.homes.own_count,
    }


def patterns_sent(broker: Broker) -> dict[str, int]:
    """How many patterns were sent to each neighbour."""
    sent = Counter[str]()
    for level in broker.router.levels:
        for name, neighbour in level.neighbours.items():
            if neighbour.is_broker:
                sent[name] += sum(len(channel.sent) for channel in neighbour.outgoing.values())
    return dict(sent)


def durable_queues(broker: Broker, principal: Principal) -> list[dict[str, Any]]:
    """Where the durable subscriptions of somebody stand, or all where they administer."""
    sees_all = broker.access.may(principal, Permission.ADMINISTER)
    return [
        {
            "name": each.name,
            "owner": each.owner,
            "expressions": {key: str(each_) for key, each_ in broker.keeper.wanted(each).items()},
            "first": each.queue.first,
            "last": each.queue.last,
            "acknowledged": each.queue.acknowledged,
            "waiting": each.queue.waiting,
            "missed": each.queue.missed,
            "attached": bool(each.attached),
            "shared": each.queue.options.is_shared,
            "ordered_by": each.queue.options.key or None,
            "deliveries": each.queue.options.most_attempts or None,
            "scope": unit_at(broker.name, each.queue.options.scope) or None,
        }
        for each in broker.durables.values()
        if sees_all or each.owner == principal.name
    ]


def links(broker: Broker) -> list[dict[str, Any]]:
    """The links that are up."""
    return [
        {
            "broker": link.name,
            "unit": common_unit(broker.name, link.name),
            "address": link.address,
            "called": "neighbour" if link.is_called else "here",
            "cost": link.cost,
            "up_seconds": round(time.time() - link.since, 3),
            "documents_sent": link.documents_sent,
            "documents_received": link.documents_received,
            "bytes_sent": link.bytes_sent,
            "bytes_received": link.bytes_received,
            "waiting": len(link.documents),
            "dropped": link.dropped,
        }
        for link in broker.links.up.values()
    ]


def problems(broker: Broker) -> dict[str, str]:
    """What is not as it should be, by what it is about: a link, the store, publishers, ..."""
    failing = broker.links.problems.items()
    reasons = {address: f"there is no link to {address}: {why}" for address, why in failing}
    for peer, why in broker.links.refused_lately().items():
        reasons[f"from {peer}"] = f"a link from {peer} is refused: {why}"
    for each in broker.links.up.values():
        reasons[each.name] = broker.links.size_problem(each)
    reasons["store"] = "" if broker.store is None else broker.store.full
    if broker.flow.full:
        held = broker.flow.held
        now = f"are held back ({held:,})" if held else "were just refused"
        reasons["publishers"] = f"publishers {now}: {broker.flow.full}"
    if waiting := broker.flow.machine.waiting:
        more = f"; and {len(waiting) - 1:,} more" if len(waiting) > 1 else ""
        owed = "addressed documents wait where they are owed"
        reasons["destinations"] = f"{owed}: {waiting[-1]}{more}"
    return {what: reason for what, reason in reasons.items() if reason}


def topology(broker: Broker) -> dict[str, dict[str, float]]:
    """The brokers that this one knows, and what the links between them cost."""
    known: dict[str, dict[str, float]] = {}
    for level in broker.router.levels:
        for name, links in _links_of(level).items():
            known.setdefault(name, {}).update(links)
    return known


def levels(broker: Broker) -> list[dict[str, Any]]:
    """What is known of each unit in which the broker takes part, the innermost first."""
    return [_level(each, broker.addresses) for each in broker.router.levels]


def bits(broker: Broker) -> str | None:
    """The broker's address: its bits, the outermost unit first; None if it has none."""
    return ".".join(map(str, broker.addresses.of(broker.name))) or None


def _level(level: Router, addresses: Addresses) -> dict[str, Any]:
    return {
        "unit": unit_at(level.name, level.depth),
        "bits": dict(addresses.book(level)),
        "topology": _links_of(level),
        "gateways": gateways_out(level),
        "units": {
            unit: [{"gateways": list(each.gateways), "acting": each.acting} for each in parts]
            for unit, parts in parts_below(level).items()
        },
        "crossings": asdict(level.crossings) if isinstance(level, Gateway) else None,
    }


def _links_of(level: Router) -> dict[str, dict[str, float]]:
    leaves = level.documents.view.leaves
    return {
        name: {other: cost for other, cost in links.items() if other not in leaves}
        for name, links in level.overlay.items()
        if name not in leaves
    }
