"""Simulation: a whole overlay in one process, in simulated time, with faults.

    attach, subscribe, publish ──► Network ──► TimedTransport ──► Router.handle ──► sends ─┐
    Fault, at(time, …) ──────────►    ▲             ▲                  │                   │
                                      │             └──────────────────┼───────────────────┘
                                      └── cut, crash …                 ▼
                                                                    Traffic ──► Summary

The routers are those of a live network, and so is what they say; only links, brokers and clocks are
not real.  A :class:`Simulation` owns a :class:`~twigcast.hierarchy.Network` and drives it over a
:class:`~twigcast.simulation.transport.TimedTransport`.  There a message takes as long as its link's
latency, and waits while the broker is busy with others; a link that loses, doubles or reorders
frames (:class:`Conditions`) has sessions at both ends, as a live one has.  :class:`Traffic` looks
on and counts what the papers' tables count.  A :class:`Fault` happens at its time;
:func:`random_faults` makes schedules of them.  Overlays come from a call such as
:func:`balanced_tree` or from a text (:func:`parse_topology`);
:func:`twigcast.drawing.draw_overlay` draws one with its traffic.  A
:class:`Scenario` compares strategies with one workload.

Invariant: the same seed and the same calls give the same :class:`Summary`, as long as the time that
a broker takes is fixed (:class:`FixedTime`, the default).  Whatever the seed, latencies, losses and
processing times are, routers get the messages of a link once each and in order, so what is
delivered of a document that is published at rest is always the same.

Cost: some microseconds for each message on top of what the router takes.  Memory: the routers'
tables, what is in transit, and what clients got.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twigcast.simulation.conditions import Conditions, FixedTime, MeasuredTime, ProcessingTime
from twigcast.simulation.counts import Counts
from twigcast.simulation.delays import Delays
from twigcast.simulation.faults import (
    Crash,
    Cut,
    Disturb,
    Fault,
    Heal,
    Restart,
    Slow,
    random_faults,
)
from twigcast.simulation.frames import FrameCounts
from twigcast.simulation.simulation import Simulation
from twigcast.simulation.summary import (
    BrokerSummary,
    DelaySummary,
    LinkSummary,
    Summary,
    TableSizes,
)
from twigcast.simulation.topologies import (
    balanced_tree,
    chain,
    draft_tree,
    hierarchy,
    parse_plan,
    parse_topology,
    random_connected,
    star,
)
from twigcast.simulation.traffic import Traffic
from twigcast.simulation.transport import TimedTransport

if TYPE_CHECKING:
    from twigcast.simulation.scenario import (
        Scenario,
        ScenarioResult,
        Setting,
        SimulatedWorkload,
        StrategyRun,
    )

__all__ = [
    "BrokerSummary",
    "Conditions",
    "Counts",
    "Crash",
    "Cut",
    "DelaySummary",
    "Delays",
    "Disturb",
    "Fault",
    "FixedTime",
    "FrameCounts",
    "Heal",
    "LinkSummary",
    "MeasuredTime",
    "ProcessingTime",
    "Restart",
    "Scenario",
    "ScenarioResult",
    "Setting",
    "SimulatedWorkload",
    "Simulation",
    "Slow",
    "StrategyRun",
    "Summary",
    "TableSizes",
    "TimedTransport",
    "Traffic",
    "balanced_tree",
    "chain",
    "draft_tree",
    "hierarchy",
    "parse_plan",
    "parse_topology",
    "random_connected",
    "random_faults",
    "star",
]


def __getattr__(name: str) -> Any:
    """Scenarios are loaded when first used: they need generators, which simulations do not."""
    if name in __all__:
        from twigcast.simulation import scenario

        return getattr(scenario, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
