"""``twigcast archive`` and ``twigcast compact``: keep documents, ordered by shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from twigcast.cli import spark_options
from twigcast.cli.console import leaving_early, output, print_figures, print_json, warn
from twigcast.cli.reader_option import READER, reader_name
from twigcast.cli.spark_console import spark_session

if TYPE_CHECKING:
    from twigcast.pipeline import ArchiveReport, Rejection

_MOST_REJECTIONS: Final = 10
_MANY_PARTS: Final = 8


def archive(
    documents: spark_options.DOCUMENTS,
    folder: Annotated[
        str, typer.Option("--archive", "-a", help="The folder of the archive, made if need be.")
    ],
    time_column: Annotated[
        str | None,
        typer.Option(help="The column of a table with the time of a document; now by default."),
    ] = None,
    input_format: spark_options.INPUT_FORMAT = None,
    column: spark_options.COLUMN = None,
    row_element: spark_options.ROW_ELEMENT = None,
    pattern: spark_options.PATTERN = None,
    master: spark_options.MASTER = None,
    conf: spark_options.CONF = None,
    reader: READER = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Add documents to an archive, for twigcast query.

    A document that is there already, byte for byte, is not added again.  A run adds all of its
    documents or none.
    """
    settings = spark_options.spark_settings(conf)
    from twigcast.pipeline import archive as add_to_archive
    from twigcast.pipeline import read_documents

    options = spark_options.source_options(
        input_format,
        column=column,
        time_column=time_column,
        row_element=row_element,
        pattern=pattern,
    )
    with spark_session("archive", master, settings) as spark:
        report = add_to_archive(
            spark,
            read_documents(spark, documents, options),
            folder,
            reader=reader_name(reader),
        )
    for rejection in report.rejections[:_MOST_REJECTIONS]:
        warn(_sentence(rejection))
    if report.rejected > _MOST_REJECTIONS:
        warn(
            f"{report.rejected:,} documents were rejected; all are in {folder}/parts/{report.part}"
        )
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
    folder: Annotated[str, typer.Argument(metavar="ARCHIVE", help="The folder of the archive.")],
    master: spark_options.MASTER = None,
    conf: spark_options.CONF = None,
    json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object.")] = False,
) -> None:
    """Join the small parts of an archive, one of which every run of twigcast archive adds.

    Queries may run meanwhile.  The next run of archive or compact, an hour later or more, removes
    the parts that were replaced.
    """
    settings = spark_options.spark_settings(conf)
    from twigcast.pipeline import compact as compact_archive

    with spark_session("compact", master, settings) as spark:
        report = compact_archive(spark, folder)
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


def _sentence(rejection: Rejection) -> str:
    position = f", line {rejection.line}" if rejection.line else ""
    position += f", column {rejection.column}" if rejection.column else ""
    return f"{rejection.source}{position}: {rejection.reason}"


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
