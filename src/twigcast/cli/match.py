"""``twigcast match``: which subscriptions match which document."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from twigcast.cli.console import complain, output, print_json, with_progress
from twigcast.errors import DocumentError
from twigcast.language import read_subscriptions
from twigcast.matching import CompactDocument, CompiledPattern, compile_pattern


@dataclass(frozen=True, slots=True)
class _Answer:
    """The keys of the subscriptions that a document matches, or why it could not be read."""

    document: str
    keys: list[str]
    error: str | None = None


def match(
    subscriptions: Annotated[
        str, typer.Argument(help="A file of subscriptions: text, .csv or .parquet; - reads text.")
    ],
    documents: Annotated[
        list[str],
        typer.Argument(help="XML files, folders of .xml files, or - for standard input."),
    ],
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a document instead of a table.")
    ] = False,
) -> None:
    """Tell which subscriptions match which documents."""
    if [subscriptions, *documents].count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read once only")
    table = [
        (subscription.key, compile_pattern(subscription.pattern))
        for subscription in with_progress(read_subscriptions(subscriptions), "reading")
    ]
    names = list(_files(documents))
    if not names:
        complain(f"no .xml file in {', '.join(documents)}")
        raise typer.Exit(1)
    work = with_progress(names, "matching", len(names), printing=json)
    answers = (_answer(table, name) for name in work)
    failed = _print_json_lines(answers) if json else _print_table(answers)
    if failed:
        raise typer.Exit(1)


def _files(documents: list[str]) -> Iterator[str]:
    """The files named, with folders replaced by the XML files in them."""
    for name in documents:
        path = Path(name)
        if name != "-" and path.is_dir():
            yield from (str(file) for file in sorted(path.rglob("*.xml")))
        else:
            yield name


def _answer(table: list[tuple[str, CompiledPattern]], name: str) -> _Answer:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        document = CompactDocument(data)
    except DocumentError as error:
        return _Answer(name, [], str(error))
    except OSError as error:
        return _Answer(name, [], error.strerror or str(error))
    return _Answer(name, [key for key, twig in table if document.matches(twig)])


def _print_json_lines(answers: Iterator[_Answer]) -> bool:
    failed = False
    for answer in answers:
        line: dict[str, object] = {"document": answer.document, "matches": answer.keys}
        if answer.error is not None:
            failed = True
            line["error"] = answer.error
        print_json(line)
    return failed


def _print_table(answers: Iterator[_Answer]) -> bool:
    failed = False
    table = Table("document", "matches", "subscriptions")
    table.columns[0].overflow = table.columns[2].overflow = "fold"
    table.columns[1].justify = "right"
    for answer in answers:
        if answer.error is None:
            table.add_row(
                Text(answer.document), str(len(answer.keys)), Text(", ".join(answer.keys))
            )
        else:
            failed = True
            table.add_row(Text(answer.document), "", Text(answer.error, style="red"))
    output().print(table)
    return failed
