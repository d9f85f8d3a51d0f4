"""``twigcast query``: which documents of an archive match an XPath."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from twigcast.cli import spark_options
from twigcast.cli.binding_options import (
    NAMESPACE,
    RELATIVE_TO,
    VARIABLE,
    XPATH_VERSION,
    chosen_bindings,
    parse_expressions,
)
from twigcast.cli.console import error_output, leaving_early, output, print_json, print_table
from twigcast.cli.documents_shown import content_fields
from twigcast.cli.spark_console import spark_session

if TYPE_CHECKING:
    from twigcast.pipeline import QueryReport, QueryResult

_MOST_SHOWN: Final = 200


def query(
    xpath: Annotated[str, typer.Argument(help="The expression that documents are to match.")],
    archive: Annotated[str, typer.Option("--archive", "-a", help="The folder of the archive.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many matches.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Not before this time: 2026-01-31, 2026-01-31T14:30, …+01:00; UTC."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    ids: Annotated[
        bool, typer.Option("--ids", help="Print the id and the source only, a line each.")
    ] = False,
    documents: Annotated[
        bool,
        typer.Option(
            "--documents",
            help="Print the documents themselves, a line feed and a null byte behind each.",
        ),
    ] = False,
    folder: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write the documents to files in this folder instead."),
    ] = None,
    namespace: NAMESPACE = None,
    variable: VARIABLE = None,
    relative_to: RELATIVE_TO = None,
    xpath_version: XPATH_VERSION = None,
    master: spark_options.MASTER = None,
    conf: spark_options.CONF = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document.")] = False,
) -> None:
    """Ask an archive which documents match an XPath expression.

    Standard error says how many documents had to be looked at.
    """
    if ids and (documents or folder is not None):
        raise typer.BadParameter("--ids goes with neither --documents nor --output")
    settings = spark_options.spark_settings(conf)
    bindings = chosen_bindings(namespace, variable, relative_to, xpath_version)
    (pattern,) = parse_expressions([xpath], bindings)
    from twigcast.pipeline import query as ask

    with spark_session("query", master, settings, quiet=True) as spark:
        result = ask(
            spark,
            archive,
            pattern,
            limit=limit,
            since=since,
            until=until,
            documents=documents or folder is not None,
        )
        is_shown = False
        with leaving_early():
            if folder is not None:
                _write_files(result, Path(folder), json=json)
            elif json:
                for row in _rows(result):
                    print_json(_as_json(row))
            elif documents:
                _print_documents(result)
            elif ids:
                for row in _rows(result):
                    sys.stdout.write(f"{row['id']}\t{row['source']}\n")
            else:
                _print_table(result)
            is_shown = True
        if not is_shown:  # the reader has gone, and the search may not be complete
            return
        summary = _summary(result.report)
    error_output().print(Text(summary))


def _rows(result: QueryResult) -> Iterator[dict[str, Any]]:
    for table in result.batches():
        for batch in table.to_batches(max_chunksize=1000):
            yield from batch.to_pylist()


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    content = row.pop("content", None)
    row["time"] = row["time"].isoformat()
    return row if content is None else row | content_fields(content)


def _write_files(result: QueryResult, folder: Path, *, json: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for row in _rows(result):
        file = folder / f"{row['id']}.xml"
        file.write_bytes(row.pop("content"))
        if json:
            print_json({**_as_json(row), "file": str(file)})
        else:
            sys.stdout.write(f"{file}\t{row['source']}\n")


def _print_documents(result: QueryResult) -> None:
    # No well-formed document but one in UTF-16 holds a null byte, and all may end in a line feed.
    for row in _rows(result):
        sys.stdout.buffer.write(row["content"] + b"\n\0")
    sys.stdout.buffer.flush()


def _print_table(result: QueryResult) -> None:
    rows: list[tuple[str | int, ...]] = []
    left_out = 0
    for row in _rows(result):
        if len(rows) == _MOST_SHOWN:
            left_out += 1
            continue
        time = row["time"].isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        rows.append((row["id"][:12], time, row["size"], row["root"], row["source"] or ""))
    if rows:
        print_table(("id", "time", "bytes", "root", "source"), rows, numbers=["bytes"])
    if left_out:
        output().print(f"… and {left_out:,} more; --ids and --json show all")


def _summary(report: QueryReport) -> str:
    verb = "matches" if report.matched == 1 else "match"
    matches = f"{report.matched:,} of {report.documents:,} documents {verb}"
    if not report.is_complete:
        matches = f"the first {report.matched:,} matches of {report.documents:,} documents"
    share = f" ({_percent(report.evaluated / report.documents)})" if report.documents else ""
    shapes = f"{report.candidate_shapes:,} of {report.shapes:,} shapes"
    return f"{matches}; looked at {report.evaluated:,}{share}, {shapes}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent == 0 or percent >= 10 else f"{percent:.2g} %"
