"""Files of subscriptions: one a line, or a table.

Text (UTF-8): ``key<TAB>xpath``; a line without a tab is an expression whose key is the line's
number; ``#`` starts a comment line; ``xmlns:cap = urn:…`` binds a prefix for the lines below.
Files named ``.csv`` or ``.parquet`` have the columns ``key`` and ``xpath`` and may have
``subscriber`` and ``namespaces`` (prefixes and their names, as a JSON object or a Parquet map).

Reading is lazy, a line at a time.  An expression that does not parse is a
:class:`~twigcast.errors.SubscriptionFileError` that names file and line and shows the place.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twigcast.errors import SubscriptionError, SubscriptionFileError
from twigcast.language.parser import parse
from twigcast.language.pattern import Pattern
from twigcast.language.tokens import NAME

_BINDING = re.compile(rf"xmlns:({NAME})[ \t]*=[ \t]*(\S+)[ \t]*")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A pattern under the key of whoever asked for it."""

    key: str
    pattern: Pattern
    subscriber: str | None = None
    xpath: str = field(default="", compare=False)
    """The expression as it was written."""


def read_subscriptions(path: str | Path) -> Iterator[Subscription]:
    """The subscriptions of a file; ``-`` is standard input, read as text."""
    name = str(path)
    if name == "-":
        yield from _from_lines(sys.stdin, "standard input")
    elif name.endswith(".parquet"):
        yield from _from_rows(_parquet_rows(name), name)
    elif name.endswith(".csv"):
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            yield from _from_rows(_csv_rows(file, name), name)
    else:
        with Path(path).open(encoding="utf-8-sig") as file:
            yield from _from_lines(file, name)


def _from_lines(lines: Iterable[str], name: str) -> Iterator[Subscription]:
    namespaces: dict[str, str] = {}
    for number, line in _decoded(lines, name):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        binding = _BINDING.fullmatch(stripped)
        if binding is not None:
            namespaces[binding[1]] = binding[2]
            continue
        key, tab, xpath = line.rstrip("\r\n").partition("\t")
        if not tab:
            key, xpath = str(number), stripped
        yield _parsed(key.strip(), xpath, namespaces, None, name, number)


def _decoded(lines: Iterable[str], name: str) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            yield number, line
    except UnicodeDecodeError as error:
        reason = f"this is not UTF-8 text ({error.reason})"
        raise SubscriptionFileError(reason, name, number + 1) from error


def _csv_rows(file: Iterable[str], name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(file)
    _require_columns(reader.fieldnames or (), name)
    for row in reader:
        yield reader.line_num, row


def _parquet_rows(name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        reason = "reading Parquet needs pyarrow: pip install 'twigcast[spark]'"
        raise SubscriptionFileError(reason, name, 0) from error
    with parquet.ParquetFile(name) as file:
        wanted = ("key", "xpath", "subscriber", "namespaces")
        present = [column for column in wanted if column in file.schema_arrow.names]
        _require_columns(present, name)
        number = 0
        for batch in file.iter_batches(columns=present):
            for row in batch.to_pylist():
                number += 1
                yield number, row


def _require_columns(columns: Iterable[str], name: str) -> None:
    missing = [column for column in ("key", "xpath") if column not in columns]
    if missing:
        raise SubscriptionFileError(f"the column {' and '.join(missing)} is missing", name, 1)


def _from_rows(rows: Iterable[tuple[int, Mapping[str, Any]]], name: str) -> Iterator[Subscription]:
    for number, row in rows:
        if row["key"] is None or row["xpath"] is None:
            raise SubscriptionFileError("the key or the xpath is empty", name, number)
        namespaces = _namespaces(row.get("namespaces"), name, number)
        subscriber = row.get("subscriber") or None
        yield _parsed(str(row["key"]), str(row["xpath"]), namespaces, subscriber, name, number)


def _namespaces(value: Any, name: str, number: int) -> dict[str, str]:
    """A cell of the column ``namespaces``: JSON text, or the pairs of a Parquet map."""
    if not value:
        return {}
    try:
        pairs = json.loads(value) if isinstance(value, str) else value
        return {str(prefix): str(uri) for prefix, uri in dict(pairs).items()}
    except (ValueError, TypeError) as error:
        reason = 'namespaces must be a JSON object such as {"cap": "urn:…"}'
        raise SubscriptionFileError(reason, name, number) from error


def _parsed(
    key: str,
    xpath: str,
    namespaces: Mapping[str, str],
    subscriber: str | None,
    name: str,
    number: int,
) -> Subscription:
    try:
        return Subscription(key, parse(xpath, namespaces), subscriber, xpath.strip())
    except SubscriptionError as error:
        raise SubscriptionFileError(str(error), name, number) from error
