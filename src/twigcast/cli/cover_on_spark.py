"""``twigcast cover --spark``: covering of more subscriptions than one machine takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from twigcast.cli.console import output, print_json, print_table, warn
from twigcast.cli.spark_console import spark_session

if TYPE_CHECKING:
    from twigcast.pipeline import CoverResult

_MOST_ROWS: Final = 40
_MOST_REFUSED: Final = 5


def cover_on_spark(
    subscriptions: str,
    *,
    folder: str | None,
    overwrite: bool,
    skip_bad: bool,
    master: str | None,
    settings: dict[str, str],
    json: bool,
) -> None:
    """Compute on Spark the patterns that cover all others, and print them."""
    from twigcast import pipeline  # which starts with pyspark, and other commands do without

    with spark_session("cover", master, settings) as spark:
        result = pipeline.cover(
            spark, subscriptions, skip_bad=skip_bad, output=folder, overwrite=overwrite
        )
        rows = result.frame.orderBy("position").limit(_MOST_ROWS).collect()
        first = [row.asDict() for row in rows]
        if result.skipped:
            _warn_refused(result, subscriptions)
    if json:
        print_json(_as_json(result, first, folder))
    else:
        _print_table(result, first, folder)


def _warn_refused(result: CoverResult, file: str) -> None:
    for row in result.refused.orderBy("position").limit(_MOST_REFUSED).collect():
        warn(f"{file}, line {row.position}: {row.problem}")
    if result.skipped > _MOST_REFUSED:
        warn(f"… and {result.skipped - _MOST_REFUSED:,} more were skipped")


def _as_json(
    result: CoverResult, first: list[dict[str, Any]], folder: str | None
) -> dict[str, Any]:
    return {
        "subscriptions": result.subscriptions,
        "patterns": result.distinct,
        "forwarded": result.forwarded,
        "skipped": result.skipped,
        "first": first,
        "output": folder,
    }


def _print_table(result: CoverResult, first: list[dict[str, Any]], folder: str | None) -> None:
    print_table(
        ("forwarded", "position", "keys"),
        [(row["pattern"], row["position"], row["keys"]) for row in first],
        numbers=["position", "keys"],
        total=result.forwarded,
    )
    parts = [
        f"{result.subscriptions:,} subscriptions",
        f"{result.distinct:,} distinct",
        f"{result.forwarded:,} forwarded",
    ]
    if result.skipped:
        parts.append(f"{result.skipped:,} skipped")
    output().print(", ".join(parts))
    if folder is not None:
        output().print(Text(f"written to {folder}"))
