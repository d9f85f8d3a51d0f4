"""``twigcast simulate``: an overlay of brokers in one process, strategy by strategy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from twigcast.cli.console import complain, leaving_early, print_json, showing_work, warn
from twigcast.cli.simulate_tables import about_parts, print_result
from twigcast.cli.workload_options import (
    BranchingOption,
    DescendantByShape,
    LengthOption,
    RootOption,
    ShapeOption,
    SkewOption,
    ValuesOption,
    WildcardByShape,
)
from twigcast.errors import ScenarioError
from twigcast.workload import Shape

if TYPE_CHECKING:
    from twigcast.simulation import ScenarioResult

_MOST_SHOWN: Final = 10
_NOT_FIELDS: Final = ("svg", "json")


def simulate(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="A scenario file (.toml), whose fields are these options; options given beside "
            "it win.  XML files and folders to publish, instead of documents of the schema."
        ),
    ] = None,
    topology: Annotated[
        str,
        typer.Option(
            help="The overlay: tree:levels=3,fanout=2, chain:count=5, star:count=9, draft, "
            "random:count=20,extra=5,seed=1, hierarchy:2x3x4,gateways=2 or a network file; "
            "latency=5 sets milliseconds."
        ),
    ] = "tree:levels=3,fanout=2",
    network: Annotated[
        str | None, typer.Option(help="A network file (.toml) with overlay, strategy and clients.")
    ] = None,
    dtd: Annotated[str | None, typer.Option(help="The DTD that producers advertise.")] = None,
    xsd: Annotated[str | None, typer.Option(help="The XSD that they advertise instead.")] = None,
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
        int, typer.Option(min=1, help="Producers: one at the first broker, more at random ones.")
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
            "subscriber.  Brokers then send more, since what is sent first may be covered later; "
            "and it takes longer.",
        ),
    ] = False,
    most_patterns: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many patterns a unit of brokers sends to the outside at most, 0 for no "
            "limit; wider ones stand for what does not fit.",
        ),
    ] = None,
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
    from twigcast.simulation import Scenario  # which the help of other commands does not need

    names = {"strategies": "strategy"}
    given: dict[str, Any] = {
        names.get(name, name): tuple(value) if isinstance(value, list) else value
        for name, value in context.params.items()
        if name not in _NOT_FIELDS and _was_given(context, name)
    }
    scenarios = [name for name in files or () if name.endswith(".toml")]
    if len(scenarios) > 1:
        raise typer.BadParameter(f"{scenarios[1]} is a second scenario; run one at a time")
    if scenarios:
        remaining = tuple(name for name in given.pop("files") if name not in scenarios)
        given |= {"files": remaining} if remaining else {}
    try:
        with showing_work() as show:
            scenario = Scenario.from_file(scenarios[0], **given) if scenarios else Scenario(**given)
            result = scenario.run(show)
    except ScenarioError as error:
        reason = _with_options(str(error))
        if error.field is None:
            raise ScenarioError(reason) from None
        option = _with_options(f"`{error.field}`")
        raise typer.BadParameter(reason, param_hint=option) from None
    if svg is not None:
        _draw(result, svg)
    parts = result.workload.overlay.parts()
    if len(parts) > 1:
        warn(about_parts(parts))
    elif any(run.unreachable for run in result.runs):
        warn(
            "some documents cannot reach who wants them: no path leads through a unit from outside "
            "to outside; link the gateways of that unit with each other, or the others directly"
        )
    with leaving_early():
        if json:
            print_json(result.as_json())
        else:
            print_result(result)
    _exit_if_wrong(result)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _with_options(message: str) -> str:
    """The message, with options where it names fields: `latency_ms` is --latency-ms."""
    return re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", message)


def _draw(result: ScenarioResult, svg: Path) -> None:
    from twigcast.drawing import draw_overlay

    workload = result.workload
    clients = workload.brokers_of(workload.plan.clients)
    for run in result.runs:
        name = run.summary.strategy
        path = svg
        if len(result.runs) > 1:
            path = svg.with_name(f"{svg.stem}-{name.replace(':', '-')}{svg.suffix or '.svg'}")
        drawing = draw_overlay(
            workload.overlay,
            {link: messages for link, (messages, _) in run.by_link.items()},
            clients=clients,
            wasted={link: wasted for link, (_, wasted) in run.by_link.items()},
            title=f"{name}: messages between brokers",
        )
        path.write_text(drawing, encoding="utf-8")


def _exit_if_wrong(result: ScenarioResult) -> None:
    wrong = [f"{run.summary.strategy}: {each}" for run in result.runs for each in run.wrong]
    for each in wrong[:_MOST_SHOWN]:
        complain(each)
    if len(wrong) > _MOST_SHOWN:
        complain(f"… and {len(wrong) - _MOST_SHOWN:,} more")
    if wrong:
        raise typer.Exit(1)
