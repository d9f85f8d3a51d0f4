"""``twigcast-lab bench``: our own speed, beside peers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from lab.benchmarks.broker import FULL_BROKER, QUICK_BROKER, BrokerBench, broker_speed
from lab.benchmarks.covering import (
    FULL_COVERING,
    QUICK_COVERING,
    CoveringBench,
    covering_speed,
    draw_search_times,
)
from lab.benchmarks.foundation import foundation_speed
from lab.benchmarks.machine import machine_facts
from lab.benchmarks.matching import (
    FULL_SIZES,
    QUICK_SIZES,
    MatchingBench,
    Sizes,
    draw_growth,
    matching_growth,
    matching_speed,
)
from lab.benchmarks.measure import Measurement
from lab.benchmarks.pipeline import FULL_PIPELINE, QUICK_PIPELINE, PipelineBench, pipeline_speed
from lab.benchmarks.plots import draw_goals
from lab.benchmarks.record import (
    Change,
    Record,
    compare,
    expat_time,
    read_record,
    write_record,
)
from lab.benchmarks.results import GrowthPoint, Result, readable
from twigcast.cli import print_json, read_schema, showing_work, wide_output
from twigcast.schema import Schema

_SHARED_DOCUMENTS: Final = Path("../shared/data/documents")
_SHARED_RULES: Final = Path("../shared/data/expressions/schematron-business.tsv")
_FURTHER_DTDS: Final = (Path("examples/news.dtd"), Path("examples/protein.dtd"))
"""Where they are near, the archive has documents of these too."""
_ROUNDS: Final = 7
_LONG_ROUNDS: Final = 3
_QUICK: Final = "quick run: smaller sizes than those that the goals are about"
_STYLES: Final = {"met": "green", "missed": "bold red", "": ""}


class _Name(StrEnum):
    """What can be measured."""

    FOUNDATION = "foundation"
    MATCHING = "matching"
    COVERING = "covering"
    PIPELINE = "pipeline"
    BROKER = "broker"


_LONG: Final = (_Name.PIPELINE, _Name.BROKER)
"""What takes long, and so is timed less often."""


@dataclass(slots=True)
class _Report:
    """The figures of a run, with what they depend on."""

    workload: dict[str, object]
    sizes: Sizes
    machine: dict[str, str | int | float] = field(default_factory=machine_facts)
    foundation: list[Measurement] = field(default_factory=list)
    matching: list[Result] = field(default_factory=list)
    growth: list[GrowthPoint] = field(default_factory=list)
    covering: list[Result] = field(default_factory=list)
    covering_growth: list[GrowthPoint] = field(default_factory=list)
    pipeline: list[Result] = field(default_factory=list)
    broker: list[Result] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changes: dict[str, list[Change]] = field(default_factory=dict)
    """What became of the rows of each subject since the last release."""

    @property
    def subjects(self) -> dict[str, list[Result]]:
        """The rows that were measured."""
        names = (_Name.MATCHING, _Name.COVERING, _Name.PIPELINE, _Name.BROKER)
        return {str(name): rows for name in names if (rows := getattr(self, name))}

    @property
    def is_quick(self) -> bool:
        """Whether figures with goals come from smaller sizes."""
        judged = self.matching or self.covering or self.pipeline or self.broker
        return bool(judged) and self.sizes.name != FULL_SIZES.name

    def parts(self) -> dict[str, list[dict[str, object]]]:
        apart = {"pipeline": self.pipeline, "broker": self.broker}
        asked = {name: [one.as_json() for one in rows] for name, rows in apart.items() if rows}
        if self.notes:
            asked["notes"] = [{"note": note} for note in self.notes]
        if self.changes:
            asked["comparison"] = [
                {"subject": subject} | change.as_json()
                for subject, changes in self.changes.items()
                for change in changes
            ]
        return asked | {
            "foundation": [asdict(one) for one in self.foundation],
            "matching": [one.as_json() for one in self.matching],
            "growth": [one.as_json() for one in self.growth],
            "covering": [one.as_json() for one in self.covering],
            "covering-growth": [one.as_json() for one in self.covering_growth],
        }


def bench(
    name: Annotated[
        _Name | None,
        typer.Argument(
            help="What to measure; by default all but pipeline, which needs Java, and broker, "
            "which starts many processes."
        ),
    ] = None,
    dtd: Annotated[
        str,
        typer.Option(
            "--dtd", "--xsd", help="The DTD or XSD that subscriptions and documents are made from."
        ),
    ] = "examples/news.dtd",
    root: Annotated[
        str | None, typer.Option(help="The root element, where the DTD leaves it open.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the workload.")] = 1,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help=f"How often each method is timed; {_ROUNDS} times by default, and {_LONG_ROUNDS} "
            "for pipeline and broker.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller sizes: a minute or two instead of ten or more.")
    ] = False,
    documents: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder of real documents to match as well; can be given several times.  By "
            f"default those in {_SHARED_DOCUMENTS}, if there are any."
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            help="A file of real expressions for these documents: one a line, a tab, its "
            f"namespaces as JSON.  By default {_SHARED_RULES}, if it is there.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Keep the figures, of a full run, as those of the release that later runs are "
            "compared with.",
        ),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--output", help="A folder for results.json and the plots, PNG and SVG."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a figure instead of tables.")
    ] = False,
) -> None:
    """Time what Twigcast does beside other methods to do it, in one run.

    Ratios count; absolute times depend on the machine and on what else it does.
    """
    if not Path(dtd).is_file():
        raise typer.BadParameter(f"{dtd} is not here; name a DTD with --dtd")
    if record and quick:
        raise typer.BadParameter("--record is for full runs; leave out --quick")
    if record and name is _Name.FOUNDATION:
        raise typer.BadParameter("the rows of foundation have no goals, and are not recorded")
    folders = _real_folders(documents)
    schema = read_schema(dtd, root)
    sizes = QUICK_SIZES if quick else FULL_SIZES
    covering_sizes = QUICK_COVERING if quick else FULL_COVERING
    if rounds is None:
        rounds = _LONG_ROUNDS if name in _LONG else _ROUNDS
    report = _Report(
        {
            "dtd": Path(dtd).name,
            "root": schema.root,
            "seed": seed,
            "rounds": rounds,
            "real documents": [path.name for path in folders],
            "sizes": asdict(sizes),
            "covering sizes": asdict(covering_sizes),
        },
        sizes,
    )
    with showing_work() as progress:
        if name in (None, _Name.FOUNDATION):
            report.foundation += foundation_speed(
                schema, seed=seed, rounds=rounds, progress=progress
            )
        if name in (None, _Name.MATCHING):
            run = MatchingBench(schema, sizes, seed=seed, rounds=rounds, progress=progress)
            near = _SHARED_RULES if documents is None and _SHARED_RULES.is_file() else None
            report.matching += matching_speed(run, folders, rules or near)
            report.growth += matching_growth(run)
            report.notes += run.notes
        if name in (None, _Name.COVERING):
            report.covering, report.covering_growth = covering_speed(
                CoveringBench(schema, covering_sizes, seed=seed, rounds=rounds, progress=progress)
            )
        if name is _Name.PIPELINE:
            pipeline_sizes = QUICK_PIPELINE if quick else FULL_PIPELINE
            schemas = [schema, *_further_schemas(dtd)]
            report.workload["pipeline sizes"] = asdict(pipeline_sizes)
            report.workload["roots in the archive"] = [one.root for one in schemas]
            report.pipeline += pipeline_speed(
                PipelineBench(schemas, pipeline_sizes, seed=seed, rounds=rounds, progress=progress)
            )
            report.machine["spark"] = version("pyspark")
        if name is _Name.BROKER:
            broker_sizes = QUICK_BROKER if quick else FULL_BROKER
            report.workload["broker sizes"] = asdict(broker_sizes)
            report.broker += broker_speed(
                BrokerBench(schema, broker_sizes, seed=seed, rounds=rounds, progress=progress)
            )
            report.machine["grpc"] = version("grpcio")
        if not quick:
            progress("comparing with the record")
            _compare(report, schema, seed, record=record)
        if folder is not None:
            progress("drawing")
            _store(report, folder)
    if as_json:
        for part, lines in report.parts().items():
            for line in lines:
                which = {} if part == "foundation" else {"sizes": sizes.name}
                print_json({"benchmark": part} | which | line)
    else:
        _print_tables(report)


def _real_folders(chosen: list[Path] | None) -> list[Path]:
    if chosen is None:
        near = _SHARED_DOCUMENTS.iterdir() if _SHARED_DOCUMENTS.is_dir() else ()
        return sorted(path for path in near if path.is_dir())
    for path in chosen:
        if not any(path.rglob("*.xml")):
            raise typer.BadParameter(f"no .xml file in {path}")
    return chosen


def _compare(report: _Report, schema: Schema, seed: int, *, record: bool) -> None:
    """Find out what became of the rows since the last release; keep them where that is wanted."""
    workload: dict[str, str | int] = {
        "dtd": str(report.workload["dtd"]),
        "root": schema.root,
        "seed": seed,
    }
    speed = None
    for subject, rows in report.subjects.items():
        before = read_record(subject)
        if before is None or before.workload != workload:
            reason = "the record is of another workload" if before else "there is no record"
            report.notes.append(f"{subject} is not compared with the last release: {reason}")
            before = None
        if before or record:
            speed = speed or expat_time(schema, seed)
            if before:
                report.changes[subject] = compare(rows, before, speed)
            if record:
                path = write_record(subject, Record.of(rows, workload, report.machine, speed))
                report.notes.append(f"{subject} is recorded in {path.name}")


def _further_schemas(dtd: str) -> list[Schema]:
    return [
        read_schema(str(path), None)
        for path in _FURTHER_DTDS
        if path.is_file() and not path.samefile(dtd)
    ]


def _store(report: _Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    results = {"workload": report.workload, "machine": report.machine} | report.parts()
    text = json.dumps(results, indent=2, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    note = _machine_line(report)
    if report.matching:
        draw_goals(report.matching, folder, note)
        draw_growth(report.growth, folder, note)
    if report.covering:
        draw_goals(report.covering, folder, note, "covering-goals")
        draw_search_times(report.covering_growth, folder, note)
    if report.pipeline:
        draw_goals(report.pipeline, folder, note, "pipeline-goals")
    if report.broker:
        draw_goals(report.broker, folder, note, "broker-goals")


def _machine_line(report: _Report) -> str:
    machine, workload = report.machine, report.workload
    line = (
        f"{workload['dtd']}, seed {workload['seed']}; {machine['processor']}, {machine['cores']} "
        f"cores, load {machine['load']}; {machine['python']}, expat {machine['expat']}, lxml "
        f"{machine['lxml']}"
    )
    if "spark" in machine:
        line += f", Spark {machine['spark']}"
    if "grpc" in machine:
        line += f", gRPC {machine['grpc']}"
    return f"{_QUICK}; {line}" if report.is_quick else line


def _print_tables(report: _Report) -> None:
    console = wide_output()
    title = _QUICK if report.is_quick else None
    if report.foundation:
        console.print(_foundation_table(report.foundation))
    if report.matching:
        console.print(_results_table(report.matching, "matches", title))
        console.print(
            _growth_table(report.growth, "subscriptions", "a document", "expat", "matches")
        )
        console.print(f"{_goals(report.matching)}; matches are subscriptions a document")
    if report.covering:
        console.print(_results_table(report.covering, "coverings", title))
        console.print(
            _growth_table(report.covering_growth, "patterns", "a search", "ours", "coverings")
        )
        console.print(
            f"{_goals(report.covering)}; coverings are the patterns that a search returns, equal "
            "for ours and for Linear on every query that both were asked"
        )
    if report.pipeline:
        console.print(_results_table(report.pipeline, "matches", title))
        console.print(
            f"{_goals(report.pipeline)}; matches are subscriptions a document, or documents a "
            "query; every count that was timed equals that of the other methods"
        )
    if report.broker:
        console.print(_results_table(report.broker, "matches", title))
        console.print(
            f"{_goals(report.broker)}; matches are subscriptions a document; brokers and "
            "clients share the cores of this machine"
        )
    for subject, changes in report.changes.items():
        console.print(Text(_changes_text(subject, changes)))
    for note in report.notes:
        console.print(Text(note))
    console.print(Text(_machine_line(report)))


def _goals(results: Sequence[Result]) -> str:
    outcomes = [result.outcome for result in results if result.goal is not None]
    text = f"{outcomes.count('met')} goals met, {outcomes.count('missed')} missed"
    if unjudged := outcomes.count(""):
        text += f", {unjudged} not judged: they are about the sizes of a full run"
    return text


def _changes_text(subject: str, changes: Sequence[Change]) -> str:
    """How many rows changed since the last release, and all but those that are alike."""
    verdicts = Counter(change.verdict for change in changes)
    order = ("worse", "better", "alike", "new", "missing")
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in order)
    told = (f"  {change}" for change in changes if change.verdict != "alike")
    return "\n".join([f"{subject} since the last release: {counts}", *told])


def _foundation_table(measurements: Sequence[Measurement]) -> Table:
    table = Table("work", "by", "time", "ratio", "spread")
    for column in table.columns[2:]:
        column.justify = "right"
    last = ""
    for measurement in measurements:
        if last and measurement.work != last:
            table.add_section()
        table.add_row(
            measurement.work if measurement.work != last else "",
            measurement.method,
            f"{measurement.seconds * 1e6:,.1f} µs",
            f"{measurement.ratio:.2f}",
            f"±{measurement.spread / 2:.0%}",
        )
        last = measurement.work
    return table


def _results_table(results: Sequence[Result], counted: str, title: str | None) -> Table:
    table = Table("work", "figure", "spread", "goal", "met?", counted, title=title)
    for column in (2, 3, 5):
        table.columns[column].justify = "right"
    for result in results:
        table.add_row(
            Text(result.work),
            Text(result.figure),
            f"±{result.spread / 2:.0%}" if result.spread else "",
            "" if result.goal is None else str(result.goal),
            Text(result.outcome, style=_STYLES[result.outcome]),
            "" if result.matches is None else readable(result.matches),
        )
    return table


def _growth_table(
    points: Sequence[GrowthPoint], what: str, piece: str, yardstick: str, counted: str
) -> Table:
    table = Table(what, "by", f"time {piece}", f"÷ {yardstick}", counted)
    for column in (0, 2, 3, 4):
        table.columns[column].justify = "right"
    last = 0
    for point in sorted(points, key=lambda point: (point.subscriptions, point.seconds)):
        if last and point.subscriptions != last:
            table.add_section()
        table.add_row(
            f"{point.subscriptions:,}" if point.subscriptions != last else "",
            point.method,
            f"{point.seconds * 1e6:,.1f} µs",
            readable(point.ratio),
            readable(point.matches) if point.matches else "",
        )
        last = point.subscriptions
    return table
