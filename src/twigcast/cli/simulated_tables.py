"""What ``twigcast simulate`` shows: a row for each strategy, or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from twigcast.cli.console import output
from twigcast.cli.simulated_run import Setting, StrategyRun
from twigcast.cli.simulated_workload import SimulatedWorkload

_BESIDE: Final = 3
"""The characters of a table that a column takes beside its text."""
_MOST_FAULTS: Final = 10


@dataclass(frozen=True, slots=True)
class _Column:
    """A header, in lines, and what stands below it."""

    header: str
    cells: list[str]

    @property
    def width(self) -> int:
        texts = (self.header, *self.cells)
        return max(len(line) for text in texts for line in text.split("\n")) + _BESIDE


# --- for people -----------------------------------------------------------------------------------


def print_runs(workload: SimulatedWorkload, setting: Setting, runs: Sequence[StrategyRun]) -> None:
    """A few lines about the workload, tables as wide as the console, and whether all is right."""
    console = output()
    console.print(Text(_about(workload, setting)), soft_wrap=True)
    for fault in setting.faults[:_MOST_FAULTS]:
        console.print(Text(f"· {fault}"), soft_wrap=True)
    if len(setting.faults) > _MOST_FAULTS:
        console.print(f"… and {len(setting.faults) - _MOST_FAULTS:,} more")
    for table in _tables(
        _groups(setting, runs), [run.summary.strategy for run in runs], console.width
    ):
        console.print(table)
    if not any(run.wrong for run in runs):
        console.print(Text(_praise(setting, runs)), soft_wrap=True)


def _about(workload: SimulatedWorkload, setting: Setting) -> str:
    overlay, subscribers = workload.overlay, workload.subscribers
    patterns = [each for client in subscribers for each in client.subscriptions.values()]
    parts = [
        _count(len(overlay), "broker"),
        _count(len(overlay.links), "link"),
        _count(len(workload.producers), "producer"),
        _count(len(workload.documents), "document"),
        _count(len(subscribers), "subscriber"),
        f"{_count(len(patterns), 'subscription')} ({len(set(patterns)):,} distinct)",
        f"seed {setting.seed}",
    ]
    return ", ".join(parts)


def _praise(setting: Setting, runs: Sequence[StrategyRun]) -> str:
    said = "every document went once to exactly those who want it"
    if setting.faults:
        return f"right: once everything was whole again, {said}"
    return f"right: {said}, {_count(runs[0].expected, 'delivery', 'deliveries')}"


def _groups(setting: Setting, runs: Sequence[StrategyRun]) -> list[list[_Column]]:
    """Columns that stay together."""

    def column(header: str, value: Callable[[StrategyRun], int | str]) -> _Column:
        values = map(value, runs)
        return _Column(header, [f"{each:,}" if isinstance(each, int) else each for each in values])

    messages = [
        column("all\nmessages", lambda run: run.summary.received_by_brokers),
        column("advertise", lambda run: run.summary.received.advertise),
        column("unadvertise", lambda run: run.summary.received.unadvertise),
        column("subscribe", lambda run: run.summary.received.subscribe),
        column("unsubscribe", lambda run: run.summary.received.unsubscribe),
        column("publish", lambda run: run.summary.received.publish),
    ]
    if not any(run.summary.received.unadvertise for run in runs):
        del messages[2]
    documents = [
        column("over\nlinks", lambda run: run.summary.crossings),
        column("false\npositives", lambda run: run.summary.wasted),
        column("delivered", lambda run: run.summary.deliveries),
        column("mean\nhops", lambda run: f"{run.summary.mean_hops:.2f}"),
    ]
    if setting.faults:
        documents.insert(3, column("missed", lambda run: run.missed))
    if any(run.repeated for run in runs):
        documents.insert(4, column("twice", lambda run: run.repeated))
    times = [
        column("delay\nms", lambda run: _milliseconds(run.summary.delay.mean)),
        column("95 %\nms", lambda run: _milliseconds(run.summary.delay.most_of_20)),
    ]
    if setting.measured:
        times.append(column("processor\nseconds", lambda run: f"{run.processor_seconds:.2f}"))
    tables = [
        column("largest\ntable", lambda run: run.summary.tables.greatest),
        column("all\ntables", lambda run: run.summary.tables.patterns),
        column("producer's\ntable", lambda run: run.at_producers),
    ]
    groups = [messages, documents, times, tables]
    if any(run.summary.frames.sent for run in runs):
        frames = [
            column("frames\nsent", lambda run: run.summary.frames.sent),
            column("frames\nlost", lambda run: run.summary.frames.lost),
            column("sent\nagain", lambda run: run.summary.frames.resent),
        ]
        groups.append(frames)
    return groups


def _tables(groups: Sequence[list[_Column]], names: list[str], width: int) -> Iterator[Table]:
    """The columns in as few tables as have room; names are broken where they leave too little."""

    def room(name_column: _Column) -> int:
        return width - 1 - name_column.width

    first = _Column("strategy", names)
    if any(sum(column.width for column in group) > room(first) for group in groups):
        lines = [name.replace("-", "-\n", 1) for name in names]
        first = _Column("strategy", lines)
    rows: list[list[_Column]] = []
    for group in groups:
        joined = [*rows[-1], *group] if rows else []
        if joined and sum(column.width for column in joined) <= room(first):
            rows[-1] = joined
        else:
            rows.append(list(group))
    for columns in rows:
        table = Table("strategy")
        for column in columns:
            table.add_column(column.header, justify="right")
        for number, name in enumerate(first.cells):
            table.add_row(Text(name), *(column.cells[number] for column in columns))
        yield table


def _milliseconds(seconds: float) -> str:
    """With three digits, or whole."""
    return f"{1000 * seconds:#.3g}" if seconds < 0.9995 else f"{1000 * seconds:,.0f}"


def _count(count: int, word: str, many: str | None = None) -> str:
    return f"{count:,} {word if count == 1 else many or word + 's'}"


# --- for programs ---------------------------------------------------------------------------------


def as_json(
    workload: SimulatedWorkload, setting: Setting, runs: Sequence[StrategyRun]
) -> dict[str, Any]:
    """Everything that was counted."""
    subscribers = workload.subscribers
    return {
        "seed": setting.seed,
        "brokers": list(workload.overlay),
        "links": [str(link) for link in workload.overlay.links],
        "producers": {client.name: client.broker for client in workload.producers},
        "subscribers": {client.name: client.broker for client in subscribers},
        "subscriptions": sum(len(client.subscriptions) for client in subscribers),
        "documents": len(workload.documents),
        "one_by_one": setting.one_by_one,
        "by_paths": setting.by_paths,
        "measured": setting.measured,
        "loss": setting.loss,
        "faults": [str(fault) for fault in setting.faults],
        "strategies": [_run_as_json(run) for run in runs],
        "is_right": not any(run.wrong for run in runs),
    }


def _run_as_json(run: StrategyRun) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run.summary.as_json())
    told["tables"]["at_producers"] = run.at_producers
    return told | {
        "expected_deliveries": run.expected,
        "missed": run.missed,
        "repeated": run.repeated,
        "wrong": run.wrong,
        "processor_seconds": run.processor_seconds,
    }
