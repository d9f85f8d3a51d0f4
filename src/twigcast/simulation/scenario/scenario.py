"""A scenario: everything that a comparison of strategies depends on, and the running of it.

    options, or a TOML file ──► Scenario ──► SimulatedWorkload ──► a StrategyRun for each strategy
                                                                            │
                                                     ScenarioResult ◄───────┘

The fields are the options of ``twigcast simulate``.  The same scenario gives the same figures, but
for processor times and for ``measured``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Final, Self

from twigcast.errors import OverlayError, ScenarioError, SchemaError
from twigcast.hierarchy import read_network
from twigcast.routing import (
    PAPER_STRATEGIES,
    Anything,
    LinkTraits,
    NetworkPlan,
    Overlay,
    Strategy,
)
from twigcast.schema import Schema
from twigcast.simulation.scenario.clients import make_clients
from twigcast.simulation.scenario.documents import draw_documents, read_documents
from twigcast.simulation.scenario.result import ScenarioResult
from twigcast.simulation.scenario.run import Progress, Setting, plan_faults, run_strategy
from twigcast.simulation.scenario.workload import SimulatedWorkload
from twigcast.simulation.topologies import parse_topology
from twigcast.tables import read_file
from twigcast.workload import Shape, ValueParameters, pattern_parameters

ALL: Final = "all"
"""Stands for the strategies of the paper."""
_DOCUMENTS: Final = 50
_MADE: Final = (
    "topology",
    "dtd",
    "xsd",
    "root",
    "subscriptions",
    "subscribers",
    "producers",
    "shape",
    "length",
    "wildcard",
    "descendant",
    "branching",
    "skew",
    "values",
)
"""Fields for clients that are made; the clients of a network file have none of them."""
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "subscriptions": (1, inf),
    "subscribers": (1, inf),
    "producers": (1, inf),
    "documents": (1, inf),
    "length": (1, 100),
    "wildcard": (0, 1),
    "descendant": (0, 1),
    "branching": (0, 1),
    "skew": (0, 10),
    "values": (0, 1),
    "most_patterns": (0, inf),
    "latency_ms": (0, inf),
    "loss": (0, 0.9),
    "faults": (0, inf),
}


def _as_text(path: Path) -> str:
    return str(path)


FileName = Annotated[str, _as_text]
"""The path of a file; in a scenario file, relative to its folder."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An overlay with clients and documents, the strategies to compare, and the faults.

    Clients are those of a ``network`` file, or they are made from a ``dtd`` or ``xsd``.  Documents
    are ``files``, or so many ``documents`` are made.  Raises
    :class:`~twigcast.errors.ScenarioError` for fields that do not go together or are out of bounds.
    """

    files: tuple[FileName, ...] = ()
    topology: str = "tree:levels=3,fanout=2"
    network: FileName | None = None
    dtd: FileName | None = None
    xsd: FileName | None = None
    root: str | None = None
    strategy: tuple[str, ...] = ()
    """Names; without them the strategy of the network file, or those of the paper."""
    subscriptions: int = 100
    """Of each subscriber."""
    subscribers: int | None = None
    """At random brokers; without it one at each broker with a single link."""
    producers: int = 1
    documents: int | None = None
    shape: Shape = Shape.PATH
    length: int = 10
    wildcard: float | None = None
    descendant: float | None = None
    branching: float = 0.1
    skew: float = 1.0
    values: float = 0.0
    """The share of subscriptions that compare a value."""
    one_by_one: bool = False
    most_patterns: int | None = None
    """What a unit sends to the outside; without it what the network file says, or everything."""
    latency_ms: float | None = None
    """Of every link; without it what the topology says."""
    loss: float = 0.0
    faults: int = 0
    measured: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not (least <= value <= most and value < inf):
                bound = f"from {least} to {most}" if most < inf else f"of {least} or more"
                bound += ", not an infinite one" if value == inf else ""
                raise ScenarioError(f"`{name}` is {value}; give a number {bound}", name)
        if self.files and self.documents is not None:
            raise ScenarioError("`documents` says how many to make; leave it out, or the files")
        if self.dtd is not None and self.xsd is not None:
            raise ScenarioError("clients are made from one schema; leave out `dtd` or `xsd`")
        if self.network is not None:
            for each in fields(self):
                if each.name in _MADE and getattr(self, each.name) != each.default:
                    raise ScenarioError(
                        f"`{each.name}` is for clients that are made, and `network` names a file "
                        f"that has them; leave one out, or use `topology` {self.network} "
                        "`dtd` … with the overlay of the file"
                    )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **changes: Any) -> Self:
        """The scenario of a TOML file, with fields that win over those of the file.

        ``network`` also replaces the fields for clients that are made.  ``files`` and ``documents``
        replace each other.
        """
        scenario = read_file(path, cls)
        if scenario.topology.endswith(".toml"):
            scenario = replace(scenario, topology=str(Path(path).parent / scenario.topology))
        defaults: dict[str, Any] = {each.name: each.default for each in fields(cls)}
        replaced = {"network": _MADE, "files": ("documents",), "documents": ("files",)}
        others = {other for name in changes for other in replaced.get(name, ())}
        return replace(scenario, **{other: defaults[other] for other in others} | changes)

    def run(self, progress: Progress = lambda work, done=0, total=0: None) -> ScenarioResult:
        """Simulate every strategy, one after another."""
        progress("preparing")
        chosen = self._strategies()
        plan = self._make_plan() if self.network is None else _read_plan(self.network)
        if not chosen:
            chosen = _named((ALL,)) if self.network is None else [plan.strategy]
        most = self.most_patterns
        if most is None:
            most = plan.strategy.most_patterns
        chosen = [replace(each, most_patterns=most or None) for each in chosen]
        if self.latency_ms is not None:
            plan = replace(plan, overlay=_with_latency(plan.overlay, self.latency_ms / 1000))
        _require_schemas(chosen, plan)
        documents = (
            read_documents(plan.clients, self.files)
            if self.files
            else draw_documents(plan.clients, self.documents or _DOCUMENTS, self.seed)
        )
        workload = SimulatedWorkload(plan, documents)
        setting = Setting(
            self.seed,
            self.loss,
            plan_faults(workload, self.faults, self.seed),
            self.measured,
            self.one_by_one,
        )
        expected = workload.expected()
        runs = [run_strategy(workload, expected, each, setting, progress) for each in chosen]
        return ScenarioResult(workload, setting, runs, self._used_fields(chosen))

    def _strategies(self) -> list[Strategy]:
        try:
            return _named(self.strategy)
        except ValueError as error:
            raise ScenarioError(
                f"{error}; {ALL} stands for the six of the paper, and several can be given",
                "strategy",
            ) from None

    def _make_plan(self) -> NetworkPlan:
        """The overlay, with clients that are made from the schema."""
        try:
            overlay = parse_topology(self.topology)
        except OverlayError as error:
            raise ScenarioError(str(error), "topology") from None
        file = self.dtd or self.xsd
        if file is None:
            raise ScenarioError(
                "clients are made from a schema; name one with `dtd` or `xsd`, for example "
                "examples/news.dtd, or a network file with `network`"
            )
        if not Path(file).is_file():
            raise ScenarioError(f"{file} is not here; name another file with `dtd` or `xsd`")
        read = Schema.from_dtd if self.dtd else Schema.from_xsd
        try:
            schema = read(file, self.root)
        except SchemaError as error:
            reason = str(error).replace("pass root= one of:", "choose one with `root`:")
            raise ScenarioError(reason if file in reason else f"{file}: {reason}") from None
        clients = make_clients(
            overlay,
            schema,
            self.seed,
            producers=self.producers,
            subscribers=self.subscribers,
            subscriptions=self.subscriptions,
            shape=self._parameters(),
            values=ValueParameters(fraction=self.values) if self.values else None,
        )
        return NetworkPlan(overlay, clients=clients)

    def _parameters(self) -> Any:
        return pattern_parameters(
            self.shape, self.length, self.wildcard, self.descendant, self.branching, self.skew
        )

    def _used_fields(self, strategies: Sequence[Strategy]) -> dict[str, Any]:
        """The fields that the figures depend on, with the values that absent ones stand for."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        parameters = self._parameters()
        values |= {
            "files": list(self.files),
            "documents": self.documents or _DOCUMENTS,
            "most_patterns": strategies[0].most_patterns,
            "shape": str(self.shape),
            "wildcard": parameters.wildcard,
            "descendant": parameters.descendant,
        }
        unused = {"strategy", "documents" if self.files else "files"}
        unused |= {"network"} if self.network is None else set(_MADE)
        unused |= {"branching"} if self.shape is Shape.PATH else set()
        used = {name: value for name, value in values.items() if name not in unused}
        return used | {"strategy": [strategy.name for strategy in strategies]}


def _named(names: Sequence[str]) -> list[Strategy]:
    """The strategies, each once, in the order in which they were named."""
    expanded = (each for name in names for each in (PAPER_STRATEGIES if name == ALL else (name,)))
    return list(dict.fromkeys(map(Strategy.named, expanded)))


def _read_plan(network: str) -> NetworkPlan:
    plan = read_network(network)
    for what, missing in (
        ("advertises", not any(client.advertisements for client in plan.clients)),
        ("subscribes to", not any(client.subscriptions for client in plan.clients)),
    ):
        if missing:
            raise ScenarioError(
                f"{network}: no client {what} anything; add one to the file, or let clients be "
                f"made: `topology` {network} `dtd` …"
            )
    return plan


def _with_latency(overlay: Overlay, seconds: float) -> Overlay:
    """The same overlay with one latency for all links."""
    links = {link: LinkTraits(traits.cost, seconds) for link, traits in overlay.links.items()}
    return Overlay(overlay.brokers, links, overlay.gateways)


def _require_schemas(strategies: Sequence[Strategy], plan: NetworkPlan) -> None:
    promises = [each for client in plan.clients for each in client.advertisements.values()]
    if all(isinstance(promise, Anything) for promise in promises):
        for strategy in strategies:
            if strategy.merging is not None:
                raise ScenarioError(
                    f"{strategy.name} counts the paths of what is advertised, and all clients "
                    "advertise anything; let one advertise a dtd or a path, or choose "
                    "`strategy` advertisements-covering"
                )
