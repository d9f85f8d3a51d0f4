"""``twigcast simulate``: an overlay of brokers in one process, strategy by strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from twigcast.cli.console import (
    complain,
    leaving_early,
    print_json,
    read_schema,
    showing_work,
    warn,
)
from twigcast.cli.simulated_run import Setting, StrategyRun, plan_faults, run_strategy
from twigcast.cli.simulated_tables import about_parts, as_json, print_runs
from twigcast.cli.simulated_workload import (
    Clients,
    SimulatedWorkload,
    draw_documents,
    place_clients,
    read_documents,
    with_latency,
)
from twigcast.cli.workload_options import (
    BranchingOption,
    DescendantByShape,
    LengthOption,
    RootOption,
    Shape,
    ShapeOption,
    SkewOption,
    ValuesOption,
    WildcardByShape,
    pattern_parameters,
)
from twigcast.errors import OverlayError
from twigcast.routing import (
    PAPER_STRATEGIES,
    Anything,
    NetworkPlan,
    Strategy,
    read_network,
)
from twigcast.simulation.drawing import draw_overlay
from twigcast.simulation.topologies import parse_topology
from twigcast.workload import ValueParameters

_ALL: Final = "all"
_TOPOLOGY: Final = "tree:levels=3,fanout=2"
_MOST_TOLD: Final = 10
_OF_GENERATED: Final = (
    "topology",
    "dtd",
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
"""Options for clients that are made, and for none that a network file has."""


def simulate(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(help="XML files and folders to publish, instead of documents of the DTD."),
    ] = None,
    topology: Annotated[
        str,
        typer.Option(
            help="The overlay: tree:levels=3,fanout=2, chain:count=5, star:count=9, draft, "
            "random:count=20,extra=5,seed=1 or a network file; latency=5 sets milliseconds."
        ),
    ] = _TOPOLOGY,
    network: Annotated[
        str | None,
        typer.Option(help="A network file (.toml) with overlay, strategy and clients."),
    ] = None,
    dtd: Annotated[str | None, typer.Option(help="The DTD that producers advertise.")] = None,
    root: RootOption = None,
    strategies: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            help="A strategy by name (imperfect-merging:0.2 sets the degree), or all for the six "
            "of Li, Hou and Jacobsen; can be given several times.",
        ),
    ] = None,
    subscriptions: Annotated[
        int, typer.Option(min=1, help="The subscriptions of each subscriber.")
    ] = 100,
    subscribers: Annotated[
        int | None,
        typer.Option(min=1, help="Subscribers, at random brokers; otherwise one at each leaf."),
    ] = None,
    producers: Annotated[
        int,
        typer.Option(min=1, help="Producers: one at the first broker, more at random ones."),
    ] = 1,
    documents: Annotated[int, typer.Option(min=1, help="The documents to publish.")] = 50,
    shape: ShapeOption = Shape.PATH,
    length: LengthOption = 10,
    wildcard: WildcardByShape = None,
    descendant: DescendantByShape = None,
    branching: BranchingOption = 0.1,
    skew: SkewOption = 1.0,
    values: ValuesOption = 0.0,
    one_by_one: Annotated[
        bool,
        typer.Option(
            "--one-by-one",
            help="Subscribe with a message for each subscription instead of one for all of a "
            "subscriber.  Brokers then tell more, since what is told first may be covered later; "
            "and it takes longer.",
        ),
    ] = False,
    latency_ms: Annotated[
        float | None, typer.Option(min=0, help="The latency of every link, in milliseconds.")
    ] = None,
    loss: Annotated[
        float, typer.Option(min=0, max=0.9, help="The share of frames that links lose.")
    ] = 0.0,
    faults: Annotated[
        int,
        typer.Option(
            min=0,
            help="Let so many random things fail and be repaired (brokers, links) while documents "
            "are published.",
        ),
    ] = 0,
    measured: Annotated[
        bool,
        typer.Option(
            "--measured",
            help="Let a broker be busy as long as this machine really is, for delays; otherwise "
            "0.1 ms with each message, so that a run can be repeated.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.")] = 1,
    svg: Annotated[
        Path | None,
        typer.Option(
            help="A file for a drawing of the overlay and its traffic; of several strategies, "
            "NAME-STRATEGY.svg."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object with everything instead of tables.")
    ] = False,
) -> None:
    """Simulate a network of brokers, and compare strategies by messages, tables and delays."""
    if files and _was_given(context, "documents"):
        raise typer.BadParameter("--documents says how many to make; leave it out, or the files")
    chosen = _choose(strategies)
    with showing_work() as show:
        show("preparing")
        if network is not None:
            plan = _read_plan(context, network)
            chosen = chosen or [plan.strategy]
        else:
            clients = Clients(
                subscriptions,
                subscribers,
                producers,
                pattern_parameters(shape, length, wildcard, descendant, branching, skew),
                ValueParameters(fraction=values) if values else None,
            )
            plan = _make_plan(topology, dtd, root, clients, seed)
            chosen = chosen or _choose([_ALL])
        if latency_ms is not None:
            plan = replace(plan, overlay=with_latency(plan.overlay, latency_ms / 1000))
        _require_schemas(chosen, plan)
        published = (
            read_documents(plan.clients, files)
            if files
            else draw_documents(plan.clients, documents, seed)
        )
        workload = SimulatedWorkload(plan, published)
        schedule = plan_faults(workload, faults, seed)
        setting = Setting(seed, loss, schedule, measured, one_by_one)
        expected = workload.expected()
        runs = [run_strategy(workload, expected, each, setting, show) for each in chosen]
    if svg is not None:
        _draw(workload, runs, svg)
    if len(workload.parts) > 1:
        warn(about_parts(workload.parts))
    with leaving_early():
        if json:
            print_json(as_json(workload, setting, runs, _options(context, chosen)))
        else:
            print_runs(workload, setting, runs)
    _exit_if_wrong(runs)


# --- the workload ---------------------------------------------------------------------------------


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _options(context: typer.Context, strategies: Sequence[Strategy]) -> dict[str, Any]:
    """What was run, by the names of the options, those included that were left out."""
    given = dict(context.params)
    shape = Shape(given["shape"])
    names = ("length", "wildcard", "descendant", "branching", "skew")
    parameters = pattern_parameters(shape, *(given[name] for name in names))
    given |= {"wildcard": parameters.wildcard, "descendant": parameters.descendant}
    without = {"json", "svg", "strategies"}
    without |= set(_OF_GENERATED) if given["network"] is not None else {"network"}
    without |= {"documents"} if given["files"] else {"files"}
    without |= {"branching"} if shape is Shape.PATH else set()
    told = {name: value for name, value in given.items() if name not in without}
    return told | {"strategy": [strategy.name for strategy in strategies]}


def _read_plan(context: typer.Context, network: str) -> NetworkPlan:
    given = [name for name in _OF_GENERATED if _was_given(context, name)]
    if given:
        raise typer.BadParameter(
            f"--{given[0]} is for clients that are made, and --network names a file that has them; "
            f"leave one out, or use --topology {network} --dtd … with the overlay of the file"
        )
    plan = read_network(network)
    for what, missing in (
        ("advertises", not any(client.advertisements for client in plan.clients)),
        ("subscribes to", not any(client.subscriptions for client in plan.clients)),
    ):
        if missing:
            raise typer.BadParameter(
                f"{network}: no client {what} anything; add one to the file, or let clients be "
                f"made: --topology {network} --dtd …"
            )
    return plan


def _make_plan(
    topology: str, dtd: str | None, root: str | None, clients: Clients, seed: int
) -> NetworkPlan:
    try:
        overlay = parse_topology(topology)
    except OverlayError as error:
        raise typer.BadParameter(str(error), param_hint="--topology") from None
    if dtd is None:
        raise typer.BadParameter(
            "clients are made from a DTD; name one with --dtd, for example examples/news.dtd, or a "
            "network file with --network"
        )
    if not Path(dtd).is_file():
        raise typer.BadParameter(f"{dtd} is not here; name another DTD with --dtd")
    schema = read_schema(dtd, root)
    return NetworkPlan(overlay, clients=place_clients(overlay, schema, clients, seed))


def _choose(names: list[str] | None) -> list[Strategy]:
    """The strategies, each once, in the order in which they were named."""
    found: dict[Strategy, None] = {}
    for name in names or ():
        try:
            several = PAPER_STRATEGIES if name == _ALL else (name,)
            found.update(dict.fromkeys(map(Strategy.named, several)))
        except ValueError as error:
            raise typer.BadParameter(
                f"{error}; {_ALL} stands for the six of the paper, and --strategy can be repeated",
                param_hint="--strategy",
            ) from None
    return list(found)


def _require_schemas(strategies: Sequence[Strategy], plan: NetworkPlan) -> None:
    promises = [each for client in plan.clients for each in client.advertisements.values()]
    if all(isinstance(promise, Anything) for promise in promises):
        for strategy in strategies:
            if strategy.merging is not None:
                raise typer.BadParameter(
                    f"{strategy.name} counts the paths of what is advertised, and all clients "
                    "advertise anything; let one advertise a dtd or a path, or choose "
                    "--strategy advertisements-covering"
                )


# --- the outcome ----------------------------------------------------------------------------------


def _draw(workload: SimulatedWorkload, runs: Sequence[StrategyRun], svg: Path) -> None:
    clients = workload.brokers_of(workload.plan.clients)
    for run in runs:
        name = run.summary.strategy
        path = svg
        if len(runs) > 1:
            path = svg.with_name(f"{svg.stem}-{name.replace(':', '-')}{svg.suffix or '.svg'}")
        drawing = draw_overlay(
            workload.overlay,
            {link: messages for link, (messages, _) in run.by_link.items()},
            clients=clients,
            wasted={link: wasted for link, (_, wasted) in run.by_link.items()},
            title=f"{name}: messages between brokers",
        )
        path.write_text(drawing, encoding="utf-8")


def _exit_if_wrong(runs: Sequence[StrategyRun]) -> None:
    wrong = [f"{run.summary.strategy}: {each}" for run in runs for each in run.wrong]
    for each in wrong[:_MOST_TOLD]:
        complain(each)
    if len(wrong) > _MOST_TOLD:
        complain(f"… and {len(wrong) - _MOST_TOLD:,} more")
    if wrong:
        raise typer.Exit(1)
