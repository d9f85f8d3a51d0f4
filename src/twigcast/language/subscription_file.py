"""Files of subscriptions: one a line, or a table.

Text (UTF-8): ``key<TAB>xpath``; a line without a tab is an expression whose key is the line's
number; ``#`` starts a comment line; lines such as ``xmlns:cap = urn:…``, ``$limit = 5`` and
``version = 2.0`` bind for the lines below (``binding_texts``).  Files named ``.csv`` or
``.parquet`` have the columns ``key`` and ``xpath`` and may have ``subscriber``, ``namespaces``,
``variables``, ``relative_to`` and ``version``.

Reading is lazy, a line at a time; only the keys are kept, since one that stands twice is a
mistake.  That, like an expression that does not parse, is a
:class:`~twigcast.errors.SubscriptionFileError` that names file and line and shows the position.
With ``on_bad`` such a line is left out, and ``on_bad`` is called with the error; a line that binds
is not left out, since the lines below would mean something else.  At the end of the file,
comparisons that never hold and bindings that no line uses are warnings.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twigcast.errors import SubscriptionFileError, SubscriptionWarning
from twigcast.language.binding_texts import BINDING_COLUMNS, bind_line, bindings_of_row
from twigcast.language.bindings import NO_BINDINGS, Bindings
from twigcast.language.parser import read_bound
from twigcast.language.pattern import Pattern
from twigcast.language.warning import Notices

SUBSCRIPTION_COLUMNS = ("key", "xpath", "subscriber", *BINDING_COLUMNS)
"""The columns of a table of subscriptions; the first two must be there."""
_MARK = b"\xef\xbb\xbf"
_LIKE_A_KEY = re.compile(r"[^\s/(\[]+ +/\S")
_NO_TAB = "a tab, not blanks, stands between a key and its expression"


@dataclass(frozen=True, slots=True)
class Subscription:
    """A pattern under the key of whoever asked for it."""

    key: str
    pattern: Pattern
    subscriber: str | None = None
    xpath: str = field(default="", compare=False)
    """The expression as it was written."""


OnBad = Callable[[SubscriptionFileError], None]


def read_subscriptions(path: str | Path, on_bad: OnBad | None = None) -> Iterator[Subscription]:
    """The subscriptions of a file; ``-`` is standard input, read as text."""
    name = str(path)
    ending = name.lower().rpartition(".")[2]
    if name == "-":
        yield from subscriptions_of_lines(sys.stdin.buffer, "standard input", on_bad)
    elif ending == "parquet":
        yield from _distinct(_Reader(name).rows(_parquet_rows(name)), name, on_bad)
    else:
        with Path(path).open("rb") as file:
            reader = _Reader(name)
            rows = reader.rows(_csv_rows(file, name)) if ending == "csv" else reader.text(file)
            yield from _distinct(rows, name, on_bad)


def subscriptions_of_lines(
    lines: Iterable[bytes], name: str, on_bad: OnBad | None = None
) -> Iterator[Subscription]:
    """The subscriptions of a text, wherever it comes from; ``name`` says where, for errors."""
    return _distinct(_Reader(name).text(lines), name, on_bad)


def subscriptions_of_rows(
    rows: Iterable[Mapping[str, Any]], name: str, on_bad: OnBad | None = None
) -> Iterator[Subscription]:
    """The subscriptions of a table's rows, with the columns that such a file would have."""
    return _distinct(_Reader(name).rows(enumerate(rows, start=1)), name, on_bad)


_Numbered = Iterator[tuple[int, Subscription | SubscriptionFileError]]


def _distinct(subscriptions: _Numbered, name: str, on_bad: OnBad | None) -> Iterator[Subscription]:
    """The subscriptions, each of which must be good and have a key of its own."""
    keys: dict[str, int] = {}
    for number, each in subscriptions:
        if isinstance(each, SubscriptionFileError):
            error = each
        elif not each.key:
            error = SubscriptionFileError("the key is empty", name, number)
        elif each.key in keys:
            first = keys[each.key]
            reason = f"the key {each.key!r} stands for the subscription of line {first} already"
            error = SubscriptionFileError(reason, name, number)
        else:
            keys[each.key] = number
            yield each
            continue
        if on_bad is None:
            raise error
        on_bad(error)


def _lines(file: Iterable[bytes], name: str) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 text, counted from 1."""
    for number, line in enumerate(file, start=1):
        if number == 1:
            line = line.removeprefix(_MARK)
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            reason = f"this is not UTF-8 text ({error.reason})"
            raise SubscriptionFileError(reason, name, number) from error


def _csv_rows(file: Iterable[bytes], name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(line for _, line in _lines(file, name))
    try:
        _require_columns(reader.fieldnames or (), name)
        for row in reader:
            if None in row:
                cells = len(reader.fieldnames or ()) + len(row[None])
                reason = f"{cells} cells where the first line has {len(reader.fieldnames or ())}"
                remedy = "put an expression with a comma in double quotes"
                raise SubscriptionFileError(f"{reason}; {remedy}", name, reader.line_num)
            yield reader.line_num, row
    except csv.Error as error:
        raise SubscriptionFileError(str(error), name, reader.line_num + 1) from error


def _parquet_rows(name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        reason = "reading Parquet needs pyarrow: pip install 'twigcast[spark]'"
        raise SubscriptionFileError(reason, name, 0) from error
    number = 0
    try:
        with parquet.ParquetFile(name) as file:
            names = file.schema_arrow.names
            _require_columns(names, name)
            present = [column for column in SUBSCRIPTION_COLUMNS if column in names]
            for batch in file.iter_batches(columns=present):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except ArrowException as error:
        raise SubscriptionFileError(f"this is no Parquet file: {error}", name, number) from error


def _require_columns(columns: Iterable[str], name: str) -> None:
    """Refuse a table without a column that must be there, or with the name of one misspelt."""
    found = list(columns)
    for column in found:
        meant = column.strip().lower().replace("-", "_").replace("xpath_version", "version")
        if meant in SUBSCRIPTION_COLUMNS and column not in SUBSCRIPTION_COLUMNS:
            raise SubscriptionFileError(f"write the column {column!r} as {meant}", name, 1)
    for column in ("key", "xpath"):
        if column not in found:
            reason = f"the column {column} is missing; there is {', '.join(map(repr, found))}"
            raise SubscriptionFileError(reason, name, 1)


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


class _Reader:
    """Reads the subscriptions of one file, and issues warnings at its end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._notices = Notices()

    def text(self, file: Iterable[bytes]) -> _Numbered:
        """The subscriptions of a text."""
        bindings = NO_BINDINGS
        for number, line in _lines(file, self._name):
            stripped = line.strip()
            if not stripped or stripped.startswith("#"):
                continue
            try:
                below = bind_line(bindings, line.rstrip("\r\n"))
            except ValueError as error:
                raise SubscriptionFileError(str(error), self._name, number) from None
            if below is not None:
                bindings = below
                self._notices.bind(bindings, self._where(number))
                continue
            key, tab, xpath = line.rstrip("\r\n").partition("\t")
            hint = ""
            if not tab:
                key, xpath = str(number), stripped
                hint = _NO_TAB if _LIKE_A_KEY.match(stripped) else ""
            yield number, self._read(key.strip(), xpath, bindings, None, number, hint)
        self._notices.issue(self._name)

    def rows(self, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> _Numbered:
        """The subscriptions of a table."""
        for number, row in rows:
            key, xpath, subscriber = map(_cell, (row["key"], row["xpath"], row.get("subscriber")))
            if key is None or xpath is None:
                reason = "the key or the xpath is empty"
                yield number, SubscriptionFileError(reason, self._name, number)
                continue
            try:
                bindings = bindings_of_row(row)
            except ValueError as error:
                yield number, SubscriptionFileError(str(error), self._name, number)
                continue
            self._notices.bind(bindings, self._where(number))
            yield number, self._read(key, xpath, bindings, subscriber or None, number)
        self._notices.issue(self._name)

    def _read(
        self,
        key: str,
        xpath: str,
        bindings: Bindings,
        subscriber: str | None,
        number: int,
        hint: str = "",
    ) -> Subscription | SubscriptionFileError:
        try:
            reading = read_bound(xpath, bindings)
        except ValueError as error:
            reason = f"{error}\n  {hint}" if hint else str(error)
            return SubscriptionFileError(reason, self._name, number)
        if hint:
            warning = SubscriptionWarning(f"the whole line is read as an expression; {hint}", xpath)
            reading = reading._replace(warnings=[*reading.warnings, warning])
        if reading.warnings or reading.prefixes or reading.variables:
            self._notices.add(reading, bindings, self._where(number))
        return Subscription(key, reading.pattern, subscriber, xpath.strip())

    def _where(self, number: int) -> str:
        return f"{self._name}, line {number}"
