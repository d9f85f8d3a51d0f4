"""The lines of one file, numbered, for files that arrive in a stream.

Spark cuts files of lines by its settings, so that a line of a stream would have no number that
stays; and as one text, a file would have to fit into memory.  So a worker reads the lines, as Spark
does when it reads at once: they end in LF, CRLF or CR, and those with nothing but white space do
not count.

Cost: memory for one line; no line is read further than a limit.
"""

from __future__ import annotations

import gzip
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import BinaryIO, Final

from twigcast.pipeline.failures import first_line
from twigcast.pipeline.sources.documents import SourceRow
from twigcast.pipeline.sources.faults import raise_passing
from twigcast.pipeline.sources.packed_files import LIMIT

LONGEST: Final = 4 * LIMIT
"""The most bytes of a line; a document is longer when it is written as JSON."""

TOO_LONG: Final = f"the line is longer than {LONGEST:,} bytes"


def read_lines(url: str, file: BinaryIO) -> Iterator[SourceRow]:
    """The lines of one open file, each as the content of ``URL#n``.

    A line that is too long is a row with a problem.  If a compressed file is damaged, a last row
    with its URL says so.
    """
    packed = url.lower().endswith(".gz")
    stream: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
    try:
        for number, line in enumerate(_lines(stream), 1):
            name = f"{url}#{number}"
            yield SourceRow(name, name, line, None if line is not None else TOO_LONG)
    except Exception as error:
        raise_passing(error)
        yield SourceRow(url, url, None, f"it cannot be read to its end: {first_line(error)}")


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Lines with something in them; None for one that is too long."""
    piece = stream.readline(LONGEST + 1).removeprefix(BOM_UTF8)
    while piece:
        if len(piece) > LONGEST:
            yield None
            while piece and not piece.endswith(b"\n"):
                piece = stream.readline(LONGEST)
        else:
            yield from (line for one in piece.split(b"\r") if (line := one.strip(b" \t\n")))
        piece = stream.readline(LONGEST + 1)
