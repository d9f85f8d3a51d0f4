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

from twigcast.pipeline.sources.batching import Found
from twigcast.pipeline.sources.faults import raise_passing, said
from twigcast.pipeline.sources.packed_files import LIMIT

LONGEST: Final = 4 * LIMIT
"""The most bytes of a line; what is written as JSON is longer than it is."""

TOO_LONG: Final = f"the line is longer than {LONGEST:,} bytes"


def read_lines(url: str, file: BinaryIO) -> Iterator[Found]:
    """The lines of one open file, each as the content of ``URL#n``; one that is too long is told.

    If a compressed file is damaged, a last row with its URL says so.
    """
    packed = url.lower().endswith(".gz")
    stream: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
    try:
        for number, line in enumerate(_lines(stream), 1):
            place = f"{url}#{number}"
            yield Found(place, place, line, None if line is not None else TOO_LONG)
    except Exception as error:
        raise_passing(error)
        yield Found(url, url, None, f"it cannot be read to its end: {said(error)}")


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
