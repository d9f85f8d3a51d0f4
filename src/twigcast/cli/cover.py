"""``twigcast cover``: the subscriptions that stand for all, and who covers whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from twigcast.cli import spark_options
from twigcast.cli.console import output as console_output
from twigcast.cli.console import print_json, print_table, read_schema, showing_work, with_progress
from twigcast.cli.cover_on_spark import cover_on_spark
from twigcast.cli.subscription_argument import SKIP_BAD, report_skipped
from twigcast.covering import (
    CoveringTable,
    MergedSet,
    Merger,
    PathCounter,
    SubscriptionTree,
    replaced_patterns,
)
from twigcast.errors import SubscriptionFileError
from twigcast.language import Pattern, read_subscriptions

if TYPE_CHECKING:
    from twigcast.drawing import Diagram

_MOST_ROWS: Final = 40
_MOST_GROUPS: Final = 10
_MOST_NAMED: Final = 5
_MOST_WIDE: Final = 3
"""Patterns that the last lines name where few stand for all."""
_FEW: Final = 0.1
"""Few are forwarded where they are at most this share of the patterns."""
_DEPTH: Final = 10
_MOST_IN_TREE: Final = 1_000
"""Patterns up to which the whole order is drawn; of more, one covering pattern for each."""


@dataclass(slots=True)
class _Covering:
    """What covers what in a file of subscriptions."""

    table: CoveringTable
    replaced: dict[Pattern, Pattern]
    """For each pattern that is not forwarded one that covers it."""
    forwarded: list[Pattern]
    """The patterns that stand for all, in the order of the file."""
    mergers: list[Merger] = field(default_factory=list)
    merged: list[Pattern] | None = None
    """What is forwarded after merging, if that was asked for."""
    _tops: dict[Pattern, Pattern] = field(default_factory=dict)

    def top(self, pattern: Pattern) -> Pattern:
        """The forwarded pattern that stands for one."""
        chain = []
        while pattern not in self._tops:
            chain.append(pattern)
            above = self.replaced.get(pattern)
            if above is None:
                self._tops[pattern] = pattern
            else:
                pattern = above
        top = self._tops[pattern]
        self._tops.update(dict.fromkeys(chain, top))
        return top

    def covered_keys(self) -> Iterable[tuple[str, Pattern, Pattern]]:
        """The keys behind patterns that are not forwarded, with these and what covers them."""
        for key in self.table:
            pattern = self.table[key]
            if pattern in self.replaced:
                yield key, pattern, self.top(pattern)


def cover(
    subscriptions: Annotated[
        str, typer.Argument(help="A file of subscriptions: text, .csv or .parquet; - reads text.")
    ],
    dtd: Annotated[
        str | None,
        typer.Option(
            "--dtd",
            "--xsd",
            help="The DTD or XSD from whose paths the degree of mergers is counted.",
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option(help="The root element, where the schema leaves it open.")
    ] = None,
    merge: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Merge what is left, up to this degree: the share of a merger's paths, of at most "
            "--depth elements, that none of its members matches.  With 0 there are no false "
            "positives in documents of up to that many levels.  Needs --dtd or --xsd.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=200,
            help="The elements of the longest paths that count for --merge; "
            f"{_DEPTH} by default.  Deeper documents may get false positives.",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object with everything instead of tables.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="A file for a drawing of the order.")] = None,
    dot: Annotated[
        Path | None, typer.Option(help="A file for the order in the language of Graphviz.")
    ] = None,
    spark: Annotated[
        bool, typer.Option("--spark", help="Let Spark do it: for millions of subscriptions.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(help="A folder for what is forwarded, as Parquet.  Goes with --spark."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is in the folder.")
    ] = False,
    skip_bad: SKIP_BAD = False,
    master: spark_options.MASTER = None,
    conf: spark_options.CONF = None,
) -> None:
    """Show which subscriptions stand for all of them, and who covers whom.

    One subscription covers another when every document that matches the other matches it.
    """
    if overwrite and output is None:
        raise typer.BadParameter("--overwrite goes with --output")
    if spark:
        here = {"dtd": dtd, "root": root, "merge": merge, "depth": depth, "svg": svg, "dot": dot}
        _refuse(here, "does not go with --spark, which shows only what is forwarded")
        cover_on_spark(
            subscriptions,
            folder=output,
            overwrite=overwrite,
            skip_bad=skip_bad,
            master=master,
            settings=spark_options.spark_settings(conf),
            json=json,
        )
        return
    there = {"output": output, "master": master, "conf": conf or None}
    _refuse(there, "goes with --spark")
    if merge is not None and dtd is None:
        raise typer.BadParameter(
            "--merge counts the paths of a schema; name one with --dtd or --xsd"
        )
    if dtd is not None and merge is None:
        raise typer.BadParameter("--dtd goes with --merge; for example --merge 0")
    if depth is not None and merge is None:
        raise typer.BadParameter("--depth goes with --merge; for example --merge 0")
    if root is not None and dtd is None:
        raise typer.BadParameter("--root goes with --dtd")
    schema = None if dtd is None else read_schema(dtd, root)
    covering = _cover(subscriptions, skip_bad)
    if schema is not None and merge is not None:
        _merge(covering, PathCounter(schema, depth or _DEPTH), merge)
    _draw(covering, svg, dot)
    if json:
        print_json(_as_json(covering))
    else:
        _print_tables(covering)


def _refuse(options: Mapping[str, object], why: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"--{option} {why}")


def _cover(file: str, skip_bad: bool) -> _Covering:
    table = CoveringTable()
    skipped: list[SubscriptionFileError] = []
    named = read_subscriptions(file, skipped.append if skip_bad else None)
    for subscription in with_progress(named, "covering"):
        table.add(subscription.key, subscription.pattern)
    report_skipped(skipped)
    replaced = replaced_patterns(table)
    forwarded = [pattern for pattern in table.patterns if pattern not in replaced]
    return _Covering(table, replaced, forwarded)


def _merge(covering: _Covering, counter: PathCounter, degree: float) -> None:
    merged = MergedSet(counter, degree)
    merged.update(covering.forwarded, ())
    with showing_work() as show:
        merged.merge(lambda done, total: show("merging", done, total))
    covering.mergers = sorted(
        merged.mergers(), key=lambda one: (-len(one.members), str(one.pattern))
    )
    left = set(merged.forwarded)
    order = dict.fromkeys((*(one.pattern for one in covering.mergers), *covering.forwarded))
    covering.merged = [pattern for pattern in order if pattern in left]


def _draw(covering: _Covering, svg: Path | None, dot: Path | None) -> None:
    if svg is None and dot is None:
        return
    from twigcast.drawing import to_dot, to_svg

    table = covering.table
    as_svg: Callable[[], str]
    if len(table.patterns) <= _MOST_IN_TREE:
        tree = SubscriptionTree()
        for key in with_progress(table, "arranging", len(table)):
            tree.add(key, table[key])
        as_svg, as_dot = tree.to_svg, tree.to_dot
    else:
        diagram = _diagram(covering)
        as_svg, as_dot = partial(to_svg, diagram), partial(to_dot, diagram)
    if svg is not None:
        svg.write_text(as_svg(), encoding="utf-8")
    if dot is not None:
        dot.write_text(as_dot(), encoding="utf-8")


def _diagram(covering: _Covering) -> Diagram:
    """Each pattern below one that covers it; the order has more than that."""
    from twigcast.drawing import Diagram, DiagramNode

    table = covering.table
    numbers = {pattern: number for number, pattern in enumerate(table.patterns)}
    edges = [(numbers[above], numbers[pattern]) for pattern, above in covering.replaced.items()]
    return Diagram(
        [
            DiagramNode(number, str(pattern), f"{len(table.keys_of(pattern)):,}")
            for pattern, number in numbers.items()
        ],
        edges,
        caption="pattern and number of subscriptions; each is below one that covers it",
    )


def _as_json(covering: _Covering) -> dict[str, Any]:
    table = covering.table
    fields: dict[str, Any] = {
        "subscriptions": len(table),
        "patterns": len(table.patterns),
        "forwarded": [
            {"pattern": str(pattern), "keys": table.keys_of(pattern)}
            for pattern in covering.forwarded
        ],
        "covered": [
            {"key": key, "pattern": str(pattern), "by": table.keys_of(top)}
            for key, pattern, top in covering.covered_keys()
        ],
    }
    if covering.merged is not None:
        fields["merged"] = [str(pattern) for pattern in covering.merged]
        fields["mergers"] = [
            {
                "pattern": str(one.pattern),
                "degree": float(one.degree),
                "rule": one.rule.value,
                "members": sorted(map(str, one.members)),
            }
            for one in covering.mergers
        ]
    return fields


def _print_tables(covering: _Covering) -> None:
    console = console_output()
    table = covering.table
    below: dict[Pattern, int] = {}
    for pattern in table.patterns:
        top = covering.top(pattern)
        below[top] = below.get(top, -1) + 1
    rows = [
        (str(pattern), _named(table.keys_of(pattern)), below[pattern])
        for pattern in covering.forwarded[:_MOST_ROWS]
    ]
    print_table(
        ("forwarded", "keys", "stands for"),
        rows,
        numbers=["stands for"],
        total=len(covering.forwarded),
    )
    groups = _covered_groups(covering)
    if groups:
        shown = [
            (_named(table.keys_of(top)), len(covered), _named(covered, "\n"))
            for top, covered in groups[:_MOST_GROUPS]
        ]
        columns = ("by", "covered", "key and pattern")
        print_table(columns, shown, numbers=["covered"], total=len(groups))
    if covering.mergers:
        merged = [
            (
                str(one.pattern),
                _named(sorted(map(str, one.members)), "\n"),
                _degree(one.degree),
                one.rule.value,
            )
            for one in covering.mergers[:_MOST_ROWS]
        ]
        headers = ("merger", "members", "degree", "rule")
        print_table(headers, merged, numbers=["degree"], total=len(covering.mergers))
    console.print(_summary(covering))
    if len(covering.forwarded) <= _FEW * len(table.patterns):
        for pattern in sorted(covering.forwarded, key=lambda one: -below[one])[:_MOST_WIDE]:
            if below[pattern]:
                names = _named(table.keys_of(pattern))
                console.print(Text.assemble(names, f" {pattern} stands for {below[pattern]:,}"))


def _covered_groups(covering: _Covering) -> list[tuple[Pattern, list[str]]]:
    """What each forwarded pattern covers, key and pattern in a line; the widest comes first."""
    groups: dict[Pattern, list[str]] = {}
    for key, pattern, top in covering.covered_keys():
        groups.setdefault(top, []).append(f"{key}  {pattern}")
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _named(names: Sequence[str], between: str = ", ") -> Text:
    """As many names as people read."""
    text = Text(between.join(names[:_MOST_NAMED]))
    if len(names) > _MOST_NAMED:
        text.append(f"{between.strip(',')}… and {len(names) - _MOST_NAMED:,} more", style="dim")
    return text


def _summary(covering: _Covering) -> str:
    parts = [
        f"{len(covering.table):,} subscriptions",
        f"{len(covering.table.patterns):,} distinct",
        f"{len(covering.forwarded):,} forwarded",
    ]
    if covering.merged is not None:
        parts.append(f"{len(covering.merged):,} after merging")
    return ", ".join(parts)


def _degree(degree: Fraction) -> str:
    """A degree with three digits; one just below 1 is not 1."""
    text = f"{float(degree):.3g}"
    return "> 0.999" if text == "1" and degree < 1 else text
