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

from twigcast.cli.console import output, print_json, with_progress
from twigcast.documents import DEFAULT_LIMITS
from twigcast.errors import DocumentError
from twigcast.language import Subscription, read_subscriptions
from twigcast.matching import CompactDocument, CompiledPattern, compiled


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
    table = [
        (subscription, compiled(subscription.pattern))
        for subscription in read_subscriptions(subscriptions)
    ]
    names = list(_files(documents))
    answers = (_answer(table, name) for name in with_progress(names, "matching", len(names)))
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


def _answer(table: list[tuple[Subscription, CompiledPattern]], name: str) -> _Answer:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        document = CompactDocument(data, DEFAULT_LIMITS)
    except DocumentError as error:
        return _Answer(name, [], str(error))
    return _Answer(
        name, [subscription.key for subscription, twig in table if document.matches(twig)]
    )


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
    table.columns[0].overflow = "fold"
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
