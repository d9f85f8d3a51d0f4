"""The tables of ``twigcast simulate``: a row for each strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from twigcast.cli.console import output

if TYPE_CHECKING:
    from twigcast.simulation import ScenarioResult, Setting, StrategyRun

_BESIDE: Final = 3
"""The characters of a table that a column takes beside its text."""
_MOST_FAULTS: Final = 10
_MOST_PARTS: Final = 3
_MOST_BROKERS: Final = 5


@dataclass(frozen=True, slots=True)
class _Column:
    """A header, in lines, and what stands below it."""

    header: str
    cells: list[str]

    @property
    def width(self) -> int:
        texts = (self.header, *self.cells)
        return max(len(line) for text in texts for line in text.split("\n")) + _BESIDE

    def narrowed(self, room: int) -> _Column:
        """The same, its header broken where it is too wide."""
        return self if self.width <= room else replace(self, header=_broken(self.header))


def _broken(header: str) -> str:
    return header.replace("unsub", "un-\nsub").replace("unadv", "un-\nadv")


def print_result(result: ScenarioResult) -> None:
    """A few lines about the workload, tables as wide as the console, and whether all is right."""
    console = output()
    setting, runs = result.setting, result.runs
    console.print(Text(_about(result)), soft_wrap=True)
    for fault in setting.faults[:_MOST_FAULTS]:
        console.print(Text(f"· {fault}"), soft_wrap=True)
    if len(setting.faults) > _MOST_FAULTS:
        console.print(f"… and {len(setting.faults) - _MOST_FAULTS:,} more")
    for table in _tables(
        _groups(setting, runs), [run.summary.strategy for run in runs], console.width
    ):
        # One with a single column can still be too wide; then it goes beyond the edge.
        console.width = max(console.width, table.width or 0)
        console.print(table)
    if result.is_right:
        console.print(Text(_praise(setting, runs)), soft_wrap=True)


def _about(result: ScenarioResult) -> str:
    workload, most = result.workload, result.options["most_patterns"]
    overlay, subscribers, patterns = workload.overlay, workload.subscribers, workload.patterns
    parts = [
        _count(len(overlay), "broker"),
        _count(len(overlay.links), "link"),
        _count(len(workload.producers), "producer"),
        _count(len(workload.documents), "document"),
        _count(len(subscribers), "subscriber"),
        f"{_count(len(patterns), 'subscription')} ({len(set(patterns)):,} distinct)",
        *([] if most is None else [f"at most {_count(most, 'pattern')} of a unit"]),
        f"seed {result.setting.seed}",
    ]
    return ", ".join(parts)


def about_parts(parts: Sequence[Sequence[str]]) -> str:
    """That no path leads to some brokers, of which the first few are named."""
    named = []
    for part in parts[1 : 1 + _MOST_PARTS]:
        more = len(part) - _MOST_BROKERS
        named.append(", ".join(part[:_MOST_BROKERS]) + (f" and {more:,} more" if more > 0 else ""))
    more = len(parts) - 1 - _MOST_PARTS
    if more > 0:
        named.append(f"and {_count(more, 'other')}")
    return (
        f"the overlay falls into {len(parts):,} parts, and no link leads from the largest to: "
        f"{'; '.join(named)}; no document passes between parts; add the links that are missing"
    )


def _praise(setting: Setting, runs: Sequence[StrategyRun]) -> str:
    unreachable = runs[0].unreachable
    who = "the others who want it" if unreachable else "those who want it"
    said = f"every document went once to exactly {who}"
    if setting.faults:
        said = f"once everything was whole again, {said}"
    else:
        said += f", {_count(runs[0].expected, 'delivery', 'deliveries')}"
    if not unreachable:
        return f"right: {said}"
    wanted = _count(unreachable, "wanted delivery", "wanted deliveries")
    return f"not all can be reached: no path leads to {wanted}; {said}"


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
    if any(run.unreachable for run in runs):
        documents.insert(3, column("out of\nreach", lambda run: run.unreachable))
    if any(run.repeated for run in runs):
        documents.insert(-1, column("twice", lambda run: run.repeated))
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
    """The columns in as few tables as have room; nothing in them is ever broken or cut.

    Groups stay together where they can; one that is too wide by itself goes on in the next table,
    and the next group beside its rest.
    """
    first = _Column("strategy", names)
    room = width - 1 - first.width
    rows: list[list[_Column]] = []
    is_rest = False

    def has_room(columns: Sequence[_Column]) -> bool:
        return bool(rows) and sum(column.width for column in (*rows[-1], *columns)) <= room

    for group in groups:
        if has_room(group):
            rows[-1] += group
            continue
        if not is_rest:
            rows.append([])
        tables = len(rows)
        for column in group:
            narrowed = column.narrowed(room)
            if rows[-1] and not has_room([narrowed]):
                rows.append([])
            rows[-1].append(narrowed)
        is_rest = len(rows) > tables
    for columns in rows:
        table = Table(first.header, width=1 + sum(each.width for each in (first, *columns)))
        for column in columns:
            table.add_column(column.header, justify="right")
        for number, name in enumerate(names):
            table.add_row(Text(name), *(column.cells[number] for column in columns))
        yield table


def _milliseconds(seconds: float) -> str:
    """With three digits, or whole."""
    milliseconds = 1000 * seconds
    return f"{milliseconds:#.3g}" if milliseconds < 99.95 else f"{milliseconds:,.0f}"


def _count(count: int, word: str, many: str | None = None) -> str:
    return f"{count:,} {word if count == 1 else many or word + 's'}"
