"""``twigcast match``: which subscriptions match which document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer
from rich.text import Text

from twigcast.cli.binding_options import (
    NAMESPACE,
    RELATIVE_TO,
    VARIABLE,
    XPATH_VERSION,
    chosen_bindings,
)
from twigcast.cli.console import (
    complain,
    print_json,
    print_table,
    read_bytes,
    with_progress,
    xml_files,
)
from twigcast.cli.explain import choose_subscriptions, explain_files
from twigcast.cli.reader_option import READER, Reader, reader_name
from twigcast.cli.subscription_argument import SKIP_BAD, named_subscriptions, report_skipped
from twigcast.errors import DocumentError, SubscriptionFileError
from twigcast.matching import Matcher

_MOST_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class _Answer:
    """The keys of the subscriptions that a document matches, or why it could not be read."""

    document: str
    keys: list[str]
    error: str | None = None


def match(
    subscriptions: Annotated[
        str,
        typer.Argument(
            help="A file of subscriptions (text, .csv, .parquet; - reads text), or an XPath."
        ),
    ],
    documents: Annotated[
        list[str], typer.Argument(help="XML files, folders of .xml files, or - for standard input.")
    ],
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="One JSON object a document instead of a table; with --explain, one a document "
            "and subscription.",
        ),
    ] = False,
    explaining: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show which step, value and text makes a subscription match or fail."
        ),
    ] = False,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", help="Explain this subscription only; can be given several times."),
    ] = None,
    skip_bad: SKIP_BAD = False,
    namespace: NAMESPACE = None,
    variable: VARIABLE = None,
    relative_to: RELATIVE_TO = None,
    xpath_version: XPATH_VERSION = None,
    reader: READER = None,
) -> None:
    """Show which subscriptions match which documents."""
    if [subscriptions, *documents].count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read once only")
    if keys and not explaining:
        raise typer.BadParameter("--key goes with --explain")
    if explaining and reader is Reader.CHECKED:
        raise typer.BadParameter("--explain always reads with expat")
    bindings = chosen_bindings(namespace, variable, relative_to, xpath_version)
    skipped: list[SubscriptionFileError] = []
    named = named_subscriptions(subscriptions, bindings, skipped.append if skip_bad else None)
    if explaining:
        try:
            chosen = choose_subscriptions(named, subscriptions, keys or [])
        finally:
            report_skipped(skipped)
        explain_files(chosen, _files_to_match(documents), json=json)
        return
    matcher = Matcher(reader=reader_name(reader))
    order: dict[str, int] = {}
    for subscription in with_progress(named, "reading"):
        matcher.add(subscription.key, subscription.pattern)
        order[subscription.key] = len(order)
    report_skipped(skipped)
    names = _files_to_match(documents)
    work = with_progress(names, "matching", len(names), printing=json)
    answers = (_answer(matcher, order, name) for name in work)
    failed = _print_json_lines(answers) if json else _print_table(answers)
    if failed:
        raise typer.Exit(1)


def _files_to_match(documents: list[str]) -> list[str]:
    names = list(xml_files(documents))
    if not names:
        complain(f"no .xml file in {', '.join(documents)}")
        raise typer.Exit(1)
    return names


def _answer(matcher: Matcher, order: dict[str, int], name: str) -> _Answer:
    """The keys that a file matches, in the order of the subscriptions."""
    try:
        keys = matcher.match(read_bytes(name))
    except DocumentError as error:
        return _Answer(name, [], str(error))
    except OSError as error:
        return _Answer(name, [], error.strerror or str(error))
    return _Answer(name, sorted(keys, key=order.__getitem__))


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
    rows: list[tuple[str, int | str, Text]] = []
    for answer in answers:
        if answer.error is None:
            rows.append((answer.document, len(answer.keys), _shown(answer.keys)))
        else:
            failed = True
            rows.append((answer.document, "", Text(answer.error, style="red")))
    print_table(("document", "matches", "subscriptions"), rows, numbers=["matches"])
    return failed


def _shown(keys: list[str]) -> Text:
    """As many keys as people read."""
    text = Text(", ".join(keys[:_MOST_SHOWN]))
    if len(keys) > _MOST_SHOWN:
        text.append(f" … and {len(keys) - _MOST_SHOWN:,} more", style="dim")
    return text
