"""What the commands share: where they write, progress bars, and how they read a schema."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from twigcast.errors import SchemaError
from twigcast.schema import Schema

_Item = TypeVar("_Item")
_NARROWEST = 110


class _Output(Console):
    """A console that leaves it to the command what a reader who goes away means."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise  # the BrokenPipeError, in whose handler this is called


def output() -> Console:
    """The console for results."""
    return _Output(highlight=False, soft_wrap=False)


def wide_output() -> Console:
    """The console for tables of figures, which a narrow one would cut."""
    console = output()
    console.width = max(console.width, _NARROWEST)
    return console


def error_output() -> Console:
    """The console for messages, on standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def complain(message: str) -> None:
    """Print an error."""
    error_output().print(f"[bold red]error:[/] {escape(message)}")


def warn(message: str) -> None:
    """Print a warning about what is no error, but hardly meant."""
    error_output().print(f"[bold yellow]warning:[/] {escape(message)}")


def note(text: str) -> None:
    """Print a line about the progress."""
    error_output().print(Text(text, style="dim"))


@contextmanager
def leaving_early() -> Iterator[None]:
    """Print to a reader who may go away; the rest is then dropped, and that is no failure.

    For commands whose exit status has another meaning, which a closed pipe must not have.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The stream still holds what could not be written, and is flushed once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One JSON value on a line of its own."""
    is_unicode = "utf" in (sys.stdout.encoding or "").lower()
    sys.stdout.write(json.dumps(value, ensure_ascii=not is_unicode) + "\n")


def with_progress(
    items: Iterable[_Item], what: str, total: int | None = None, *, printing: bool = False
) -> Iterator[_Item]:
    """The items, with a progress bar on standard error while they are worked on.

    The bar appears only on a terminal, and goes when the work is done.  ``printing`` says that
    results are printed meanwhile: on a terminal they show the progress themselves.
    """
    console = Console(stderr=True)
    if not _is_shown(console, printing):
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # Standard output is not the bar's to redirect: it may be a file.
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress:
        task = progress.add_task(what, total=total)
        for item in items:
            yield item
            progress.advance(task)


def _is_shown(console: Console, printing: bool) -> bool:
    return console.is_terminal and not (printing and sys.stdout.isatty())


class WorkShown(Protocol):
    """Called with what is being done at the moment and, where that is known, how much of it."""

    def __call__(self, work: str, done: int = 0, total: int = 0) -> None: ...


@contextmanager
def showing_work(*, printing: bool = False) -> Iterator[WorkShown]:
    """A line on standard error with the work in progress and a bar; on a terminal only.

    Its thread takes processor time, so it draws seldom: what is measured meanwhile counts.
    ``printing`` is that of :func:`with_progress`.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn())
    with Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=False,
        refresh_per_second=2,
        disable=not _is_shown(console, printing),
    ) as progress:
        task = progress.add_task("starting", total=None)

        def show(work: str, done: int = 0, total: int = 0) -> None:
            description = f"{work}: {done:,} of {total:,}" if total else work
            # A bar without a total moves to and fro.
            progress.update(
                task, description=escape(description), completed=done, total=total or None
            )

        yield show


def read_bytes(name: str) -> bytes:
    """A file, or standard input where the name is ``-``."""
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def xml_files(names: Iterable[str]) -> Iterator[str]:
    """The files named, with folders replaced by the XML files in them."""
    for name in names:
        path = Path(name)
        if name != "-" and path.is_dir():
            yield from (str(file) for file in sorted(path.rglob("*.xml")))
        else:
            yield name


def read_schema(dtd: str, root: str | None) -> Schema:
    """The schema of a DTD or an XSD; errors name the file, and the option that mends them."""
    try:
        return Schema.of(dtd, root)
    except SchemaError as error:
        reason = str(error).replace("pass root= one of:", "choose one with --root:")
        raise SchemaError(reason if dtd in reason else f"{dtd}: {reason}") from None


def make_table(
    columns: Iterable[str],
    rows: Iterable[Sequence[str | int | Text]] = (),
    *,
    numbers: Collection[str] = (),
    title: str | None = None,
) -> Table:
    """A table; where it is narrow, words are folded, and the columns of ``numbers`` are not."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        if column in numbers:
            table.add_column(column, justify="right", no_wrap=True)
        else:
            table.add_column(column, overflow="fold")
    for row in rows:
        cells = (f"{cell:,}" if isinstance(cell, int) else cell for cell in row)
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in cells))
    return table


def print_table(
    columns: Iterable[str],
    rows: Sequence[Sequence[str | int | Text]],
    *,
    numbers: Collection[str] = (),
    total: int = 0,
) -> None:
    """Print a table of the first rows, and how many of ``total`` are left out."""
    console = output()
    console.print(make_table(columns, rows, numbers=numbers))
    if total > len(rows):
        console.print(f"… and {total - len(rows):,} more")


def print_figures(figures: Iterable[tuple[str, str]]) -> None:
    """Numbers, one below the other, each with what it is the number of."""
    table = Table(show_header=False, box=None)
    table.add_column(justify="right")
    table.add_column()
    for number, what in figures:
        table.add_row(number, Text(what))
    output().print(table)


def readable_count(count: int) -> str:
    """A count in full where that can be read, in powers of ten beyond."""
    return f"{count:,}" if count < 10**12 else f"{count:.1e}"
