"""``twigcast archive`` and ``twigcast compact``: keep documents, organised by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from twigcast.cli.console import leaving_early, output, print_figures, print_json, warn
from twigcast.cli.source_options import (
    COLUMN,
    DOCUMENTS,
    INPUT_FORMAT,
    PATTERN,
    ROW_ELEMENT,
    source_options,
)
from twigcast.cli.spark_console import spark_session
from twigcast.cli.spark_options import CONF, MASTER, spark_settings

if TYPE_CHECKING:
    from twigcast.pipeline import ArchiveReport, Rejection

_MOST_REJECTIONS: Final = 10
_MANY_PARTS: Final = 8


def archive(
    documents: DOCUMENTS,
    store: Annotated[
        str, typer.Option("--store", "-s", help="The folder of the archive, made if need be.")
    ],
    time_column: Annotated[
        str | None,
        typer.Option(help="The column of a table with the time of a document; now by default."),
    ] = None,
    input_format: INPUT_FORMAT = None,
    column: COLUMN = None,
    row_element: ROW_ELEMENT = None,
    pattern: PATTERN = None,
    master: MASTER = None,
    conf: CONF = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Add documents to an archive that twigcast query asks.

    A document that is there already, byte for byte, is not added again.  What was added is there
    whole or not at all.
    """
    settings = spark_settings(conf)
    from twigcast.pipeline import archive as add_to_archive
    from twigcast.pipeline import read_documents

    options = source_options(
        input_format,
        column=column,
        time_column=time_column,
        row_element=row_element,
        pattern=pattern,
    )
    with spark_session("archive", master, settings) as session:
        report = add_to_archive(session, read_documents(session, documents, options), store)
    for rejection in report.rejections[:_MOST_REJECTIONS]:
        warn(_told(rejection))
    if report.rejected > _MOST_REJECTIONS:
        warn(f"{report.rejected:,} documents were rejected; all are in {store}/parts/{report.part}")
    if time_column is not None and report.untimed:
        warn(
            f"added without a time that can be read from the column {time_column}, so with that "
            f"of this run: {report.untimed:,}"
        )
    with leaving_early():
        if json:
            print_json(report.as_json())
        else:
            _print_summary(report)
    if report.rejected:
        raise typer.Exit(1)


def compact(
    store: Annotated[str, typer.Argument(help="The folder of the archive.")],
    master: MASTER = None,
    conf: CONF = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Join the small parts of an archive, one of which every run of twigcast archive adds.

    Queries may run meanwhile.  What was replaced is taken away by the next run of archive or
    compact that comes an hour later or after that.
    """
    settings = spark_settings(conf)
    from twigcast.pipeline import compact as compact_archive

    with spark_session("compact", master, settings) as session:
        report = compact_archive(session, store)
    with leaving_early():
        if json:
            print_json(report.as_json())
        elif report.part is None:
            output().print(f"nothing to join: {report.parts:,} parts, each well filled")
        else:
            output().print(
                f"{report.joined:,} parts with {report.documents:,} documents "
                f"({report.bytes / 1e6:,.1f} MB) are one; there are {report.parts:,} now"
            )


def _told(rejection: Rejection) -> str:
    place = f", line {rejection.line}" if rejection.line else ""
    place += f", column {rejection.column}" if rejection.column else ""
    return f"{rejection.source}{place}: {rejection.reason}"


def _print_summary(report: ArchiveReport) -> None:
    hint = "; twigcast compact makes them fewer" if report.parts > _MANY_PARTS else ""
    figures = (
        (report.added, f"added, {report.bytes / 1e6:,.1f} MB"),
        (report.already_there, "there already"),
        (report.repeated, "given more than once"),
        (report.rejected, "rejected"),
        (report.new_shapes, "shapes that are new"),
        (report.documents, f"documents of {report.shapes:,} shapes in the archive"),
        (report.parts, f"parts{hint}"),
    )
    print_figures((f"{count:,}", what) for count, what in figures)
