"""``twigcast publish``: documents to a live broker."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final, NamedTuple

import typer
from rich.text import Text

from twigcast.cli import broker_options
from twigcast.cli.broker_options import ClientOptions, parse_expiry, reporting_connection
from twigcast.cli.console import (
    WorkShown,
    error_output,
    leaving_early,
    print_json,
    read_schema,
    showing_work,
    xml_files,
)
from twigcast.cli.interruptible import run_interruptible
from twigcast.schema import Schema

if TYPE_CHECKING:
    from twigcast.client import Client

_BATCH: Final = 64
_BATCH_BYTES: Final = 1 << 20
_BATCHES: Final = 4
"""What is read ahead of what the broker takes."""
_CHUNK: Final = 1 << 16
_ANYTHING: Final = "anything"


class _Item(NamedTuple):
    """A document, or why there is none, under the name of where it comes from."""

    name: str
    content: bytes = b""
    error: str | None = None


class _Said(NamedTuple):
    """What is said beside each document."""

    id: str
    """Of the only document; empty for none."""
    headers: dict[str, str]
    expires: datetime | timedelta | None
    scope: str
    to: tuple[str, ...]


def publish(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="XML files, folders of .xml files, or - for one document from standard input.",
        ),
    ],
    broker: broker_options.BROKER = broker_options.DEFAULT_ADDRESS,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line of the files, or of -, is a document.")
    ] = False,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="SCHEMA|anything",
            help="Advertise first that documents are of this DTD or XSD, or may be anything; "
            "networks whose strategy uses advertisements want that.",
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option(help="The root element of the schema, where that is not plain.")
    ] = None,
    identity: Annotated[
        str,
        typer.Option(
            "--id",
            help="An id of yours for one document, unique among all publishers: to publish it "
            "again under the same id does no harm.",
        ),
    ] = "",
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Said beside each document, and carried to subscribers; may be repeated.",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="From when on nobody wants the documents: a time as 2026-01-31T14:30 (UTC), or "
            "how long from now as 2h.",
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            callback=broker_options.require_scope,
            help="Keep the documents, and what --advertise says, within a unit that the broker is "
            "in: its name, or cluster, super-cluster or super-super-cluster.",
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BROKER:NAME",
            help="A durable subscription that the documents are addressed to, by its broker's full "
            "name and its own, as north/oslo/b3:inbox; nobody else gets them. May be repeated.",
        ),
    ] = None,
    token: broker_options.TOKEN = None,
    ca: broker_options.CA = None,
    certificate: broker_options.CERTIFICATE = None,
    key: broker_options.KEY = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a document.")] = False,
) -> None:
    """Publish documents: a broker sends each to whoever's XPath it matches, or to --to.

    Prints the id of each, and where it came from, once the broker has it safely.
    """
    if files.count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read once only")
    if root is not None and advertise in (None, _ANYTHING):
        raise typer.BadParameter("--root goes with --advertise, which names the schema")
    options = ClientOptions(broker, token, ca, certificate, key)
    promised: Schema | bool = advertise == _ANYTHING
    if advertise is not None and not promised:
        promised = read_schema(advertise, root)
    until = None if expires is None else parse_expiry(expires)
    said = _Said(identity, _headers(header or []), until, scope or "", tuple(to or ()))
    names = list(xml_files(files))
    if not names:
        raise typer.BadParameter(f"there is no .xml file in {', '.join(files)}")
    if identity and (lines or len(names) > 1):
        raise typer.BadParameter("--id is of one document; publish each with a command of its own")
    total = 0 if lines else len(names)
    batches = _lines_of(names) if lines else _documents_of(names)
    with showing_work(printing=True) as show:
        reports = _Reports(show, total, json=json)
        with reporting_connection():
            run_interruptible(_publish(options.connect(), promised, batches, said, reports))
    if reports.failed:
        raise typer.Exit(1)


def _headers(given: list[str]) -> dict[str, str]:
    """Headers by their names, in small letters."""
    headers: dict[str, str] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not name or not sign:
            raise typer.BadParameter(f"--header takes a name and a value as level=9, not {each!r}")
        if name.lower() in headers:
            raise typer.BadParameter(f"--header {name} is there twice; give one")
        headers[name.lower()] = value
    return headers


class _Reports:
    """Prints for each document its id or its error, and counts."""

    def __init__(self, show: WorkShown, total: int, *, json: bool) -> None:
        self._show = show
        self._total = total
        self._json = json
        self._done = 0
        self.failed = 0

    def print_published(self, name: str, identity: str) -> None:
        """A document is safe at the broker."""
        with leaving_early():
            if self._json:
                print_json({"document": name, "id": identity})
            else:
                sys.stdout.write(f"{identity}\t{name}\n")
        self._count()

    def print_error(self, name: str, error: str) -> None:
        """A document cannot be read, or is refused."""
        self.failed += 1
        if self._json:
            with leaving_early():
                print_json({"document": name, "error": error})
        error_output().print(Text(f"{name}: {error}", style="red"))
        self._count()

    def _count(self) -> None:
        self._done += 1
        if self._total:
            self._show("publishing", self._done, self._total)
        else:
            self._show(f"publishing: {self._done:,}")


async def _publish(
    client: Client,
    promised: Schema | bool,
    batches: Iterator[list[_Item]],
    said: _Said,
    reports: _Reports,
) -> None:
    """Publish everything in its order, many documents at a time.

    ``promised`` is advertised first; True stands for anything, False for nothing.
    """
    from twigcast.client import Outgoing

    unanswered: deque[str] = deque()

    async def contents() -> AsyncIterator[Outgoing]:
        async for batch in _read_aside(batches):
            for item in batch:
                if item.error is None:
                    unanswered.append(item.name)
                    yield Outgoing(item.content, *said)
                else:
                    reports.print_error(item.name, item.error)

    async with client:
        if promised:
            await client.advertise(None if promised is True else promised, scope=said.scope)
        async for result in client.publish_all(contents()):
            name = unanswered.popleft()
            if result.error is None:
                reports.print_published(name, result.id)
            else:
                reports.print_error(name, _with_option(str(result.error)))


def _with_option(reason: str) -> str:
    """A reason that names the option, where there is one that mends it."""
    return reason.replace(
        "advertise first", "say what will come, with --advertise SCHEMA or --advertise anything"
    )


async def _read_aside(batches: Iterator[list[_Item]]) -> AsyncIterator[list[_Item]]:
    """Batches that a thread of its own reads, since standard input may keep it waiting.

    Nobody waits for that thread: Ctrl-C ends the command while it reads.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[list[_Item] | Exception | None] = asyncio.Queue()
    room = threading.Semaphore(_BATCHES)

    def put(value: list[_Item] | Exception | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: the command ends
            loop.call_soon_threadsafe(queue.put_nowait, value)

    def read() -> None:
        try:
            for batch in batches:
                room.acquire()
                put(batch)
        except Exception as error:
            put(error)
        else:
            put(None)

    threading.Thread(target=read, name="twigcast reader", daemon=True).start()
    while (batch := await queue.get()) is not None:
        if isinstance(batch, Exception):
            raise batch
        room.release()
        yield batch


def _documents_of(names: list[str]) -> Iterator[list[_Item]]:
    """Files in batches that do not fill the memory; each file is a document."""
    batch: list[_Item] = []
    size = 0
    for name in names:
        try:
            with _open(name) as file:
                batch.append(_Item(name, file.read()))
        except OSError as error:
            batch.append(_Item(name, error=error.strerror or str(error)))
        size += len(batch[-1].content)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _lines_of(names: list[str]) -> Iterator[list[_Item]]:
    """The lines of files in batches; those that have come so far, where more are to come."""
    for name in names:
        try:
            with _open(name) as file:
                number = 1
                for lines in _come_so_far(file):
                    items = iter(
                        [
                            _Item(f"{name}:{at}", line)
                            for at, line in enumerate(lines, start=number)
                            if line.strip()
                        ]
                    )
                    number += len(lines)
                    while batch := list(islice(items, _BATCH)):
                        yield batch
        except OSError as error:
            yield [_Item(name, error=error.strerror or str(error))]


def _open(name: str) -> BinaryIO:
    """A file whose reads return what is there; standard input stays open behind it."""
    if name == "-":
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    return Path(name).open("rb", buffering=0)


def _come_so_far(file: BinaryIO) -> Iterator[list[bytes]]:
    """Whole lines as soon as they can be read."""
    parts: list[bytes] = []
    while chunk := file.read(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        if whole:
            yield [b"".join([*parts, whole[0]]), *whole[1:]]
            parts = []
        parts.append(rest)
    if last := b"".join(parts):
        yield [last]
