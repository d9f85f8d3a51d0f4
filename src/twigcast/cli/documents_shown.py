"""Documents that come from a broker, shown one after the other.

For people a line about each and the document below it, for programs a JSON object a line, or each
in a file of its own.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import stat
import struct
import sys
import termios
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from twigcast.cli.console import print_json
from twigcast.times import show_time

if TYPE_CHECKING:
    from twigcast.client import Document

Show: TypeAlias = "Callable[[Document], None]"

_PAUSE: Final = 0.0001


def shown(*, json: bool, folder: Path | None = None) -> Show:
    """A function that shows a document; the document is written when the function returns."""
    if folder is None:
        return _print_json if json else _print
    folder.mkdir(parents=True, exist_ok=True)
    target = folder

    def write(document: Document) -> None:
        file = _write(document, target)
        if json:
            print_json({**about(document), "file": str(file)})
        else:
            sys.stdout.write(f"{file}\t{document.id}\n")
        sys.stdout.flush()

    return write


def require_reader() -> None:
    """Raise BrokenPipeError if nobody reads what is printed any more.

    Otherwise only the next document would show it, and that may take long.
    """
    output = _output()
    if output is not None:
        watch = select.poll()
        watch.register(output, 0)
        if any(events & (select.POLLERR | select.POLLHUP) for _, events in watch.poll(0)):
            raise BrokenPipeError


def wait_for_reader(patience: float) -> bool:
    """Wait until the reader of a pipe has taken what was printed; whether it has, in that time.

    Raises BrokenPipeError if the reader has gone.
    """
    output = _output()
    if output is None or not stat.S_ISFIFO(os.fstat(output).st_mode):
        require_reader()
        return True
    deadline = time.monotonic() + patience
    while _unread(output):
        require_reader()
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)
    return True


def _output() -> int | None:
    try:
        return sys.stdout.fileno()
    except OSError:  # no file at all, as in tests
        return None


def _unread(pipe: int) -> int:
    """The number of bytes in a pipe that are not read yet."""
    count: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
    return count


def about(document: Document) -> dict[str, Any]:
    """The facts of a document, without its content."""
    facts: dict[str, Any] = {
        "id": document.id,
        "published": show_time(document.published),
    }
    if document.expires is not None:
        facts["expires"] = show_time(document.expires)
    if document.headers:
        facts["headers"] = dict(sorted(document.headers.items()))
    if document.keys:
        facts["keys"] = sorted(document.keys)
    if document.sequence:
        facts["sequence"] = document.sequence
    return facts


def content_fields(content: bytes) -> dict[str, str]:
    """The bytes of a document as fields of a JSON object, as over HTTP: in base64 if not UTF-8."""
    try:
        return {"content": content.decode(), "encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"content": b64encode(content).decode("ascii"), "encoding": "base64"}


def _print_json(document: Document) -> None:
    print_json(about(document) | content_fields(document.content))
    sys.stdout.flush()


def _print(document: Document) -> None:
    parts = [document.id, show_time(document.published)]
    if document.sequence:
        parts.append(f"#{document.sequence:,}")
    if document.keys:
        parts.append(", ".join(sorted(document.keys)))
    typer.secho("  ".join(parts), bold=True)
    for name, value in sorted(document.headers.items()):
        typer.secho(f"{name}: {value}", dim=True)
    if document.expires is not None:
        typer.secho(f"expires at {show_time(document.expires)}", dim=True)
    content = document.content
    sys.stdout.buffer.write(content if content.endswith(b"\n") else content + b"\n")
    sys.stdout.buffer.flush()


def _write(document: Document, folder: Path) -> Path:
    """Write a document to a file, which is there whole or not at all."""
    file = folder / f"{_file_name(document.id)}.xml"
    part = folder / f".{file.name}.{os.getpid()}.part"
    try:
        part.write_bytes(document.content)
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return file


def _file_name(id_: str) -> str:
    """The id of a document as a name; no name of a broker has a ``+``, so none becomes another."""
    return re.sub(r"[^\w.+-]", "-", id_.replace("/", "+"))
